"""The order of patterns is the order of the real numbers they stand for, from first principles and for every format.

The value of a pattern with exponent field E and fraction M of `W` = 2^m values is, in units of the smallest subnormal,
V(E, M) = M where E = 0, else (W + M) * 2^(E - 1)   (IEEE 754-2019, 3.4).  2^k is a function P with P(0) = 1 and
P(k + 1) = 2 P(k); its properties are proved by induction, then used at the places that occur.  Products are related by
the lemma `keeps_order` at the places that occur, so that every solver decides each case.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import z3

from sonnx.proofs.float_order import classes, greater
from sonnx.prover.float_patterns import all_formats
from sonnx.prover.symbolic_execution import Term
from sonnx.prover.terms import conjunction, keeps_order, result_not_negative
from sonnx.prover.theorem import Mutant, Obligation, Theorem, mutated

CONCERNS = ("ArgMax", "Max", "ReduceMax")

P = z3.Function("P", z3.IntSort(), z3.IntSort())
W = z3.Int("W")


def value(exponent: Term, fraction: Term) -> Term:
    """V(E, M)."""
    return z3.If(exponent == 0, fraction, (W + fraction) * P(exponent - 1))


def powers() -> Iterator[Obligation]:
    """P(k) ≥ 1, and a < b ⇒ P(b) ≥ 2 P(a): induction on k and on b."""
    k, a, b = z3.Ints("k a b")
    double = P(k + 1) == 2 * P(k)
    yield Obligation("at least 1: base", (P(0) == 1,), P(0) >= 1)
    yield Obligation("at least 1: step", (k >= 0, double, P(k) >= 1), P(k + 1) >= 1)
    yield Obligation("doubles: base", (a >= 0, P(a + 1) == 2 * P(a)), P(a + 1) >= 2 * P(a))
    known = (a >= 0, a < b, P(b + 1) == 2 * P(b), P(b) >= 1, P(b) >= 2 * P(a))
    yield Obligation("doubles: step", known, P(b + 1) >= 2 * P(a))


def products() -> Iterator[Obligation]:
    """The one lemma on products: a ≥ b and c ≥ 0 give ac ≥ bc."""
    a, b, c = z3.Ints("a b c")
    yield Obligation("a difference is not negative", (a >= b, c >= 0), (a - b) * c >= 0)
    yield Obligation("so products keep the order", ((a - b) * c >= 0,), a * c >= b * c)


def magnitudes(of: Callable[[Term, Term], Term] = value) -> Iterator[Obligation]:
    """E W + M is the pattern of a magnitude: its order is that of V."""
    d, e, m, n = z3.Ints("D E M N")
    fields = (W >= 1, e >= 0, m >= 0, m < W, n >= 0, n < W)
    power = z3.Implies(e >= 1, P(e - 1) >= 1)
    higher = (d >= e + 1, P(d - 1) >= 1, z3.Implies(e >= 1, P(d - 1) >= 2 * P(e - 1)))
    same = (*fields, power, keeps_order(W + m, W + n + 1, P(e - 1)), keeps_order(W + n, W + m + 1, P(e - 1)),
            keeps_order(W + m, W + n, P(e - 1)), keeps_order(W + n, W + m, P(e - 1)))  # fmt: skip
    yield Obligation("one exponent", same, (m > n) == (of(e, m) > of(e, n)))
    yield Obligation("higher exponent: pattern", (*fields, d >= e + 1, keeps_order(d, e + 1, W)), d * W + m > e * W + n)
    places = (
        keeps_order(P(d - 1), 2 * P(e - 1), W),
        keeps_order(W, n + 1, P(e - 1)),
        keeps_order(P(d - 1), z3.IntVal(1), W),
        keeps_order(W + m, W, P(d - 1)),
    )
    yield Obligation("higher exponent, of a subnormal", (*fields, *higher, *places, e == 0), of(d, m) > of(e, n))
    yield Obligation("higher exponent, of a normal", (*fields, *higher, power, *places, e >= 1), of(d, m) > of(e, n))
    unit = keeps_order(W + m, z3.IntVal(1), P(e - 1))
    yield Obligation("zero only of zero", (*fields, power, unit, of(e, m) == 0), z3.And(e == 0, m == 0))


def signs(above: Callable[..., z3.BoolRef] = greater) -> Iterator[Obligation]:
    """With a sign: finite patterns are ordered as their values; only the zeros share a value."""
    f = all_formats()
    size = z3.Function("size", z3.IntSort(), z3.IntSort())
    x, y = f.patterns("x y")
    a, b = (z3.If(side >= f.sign, side - f.sign, side) for side in (x, y))
    known = [size(a) >= 0, size(b) >= 0, (size(a) == 0) == (a == 0), (size(b) == 0) == (b == 0),
             (size(a) > size(b)) == (a > b), (size(b) > size(a)) == (b > a)]  # fmt: skip
    u, v = (z3.If(p >= f.sign, -size(q), size(q)) for p, q in ((x, a), (y, b)))
    finite = [z3.Not(z3.Or(classes(side, f)[0], classes(side, f)[1], classes(side, f)[6])) for side in (x, y)]
    hypotheses = (*f.hypotheses, *known, *finite)
    yield Obligation("greater value", (*hypotheses, u > v), above(x, y, f))
    yield Obligation("equal value", (*hypotheses, u == v), z3.Or(x == y, conjunction([a == 0, b == 0])))


def shares_signs() -> Iterator[Obligation]:
    """Products and quotients satisfy `result_not_negative`."""
    left, right = z3.Ints("left right")
    yield Obligation("product", (), result_not_negative("product", left, right, left * right))
    yield Obligation("quotient", (), result_not_negative("quotient", left, right, left / right))


def _of_any() -> Iterator[Obligation]:
    left, right = z3.Ints("left right")
    yield Obligation("product", (), left * right >= 0)


def theorems() -> Iterator[Theorem]:
    """From patterns to real numbers."""
    text = "IEEE 754-2019, 3.4: the value of a binary interchange format"
    no_hidden_bit = mutated(value, "(W + fraction)", "fraction")
    yield Theorem(
        "values.powers",
        "2^k is at least 1, and a larger power at least twice a smaller one.",
        "a < b ⇒ 2^b ≥ 2 · 2^a",
        powers,
        (text,),
        mutants=(Mutant("not doubled", _not_doubled),),
        concerns=CONCERNS,
    )
    yield Theorem("values.products", "Products by a number that is not negative keep the order.",
                  "a ≥ b ∧ c ≥ 0 ⇒ ac ≥ bc", products, (keeps_order,),
                  mutants=(Mutant("any number", _any_factor),), concerns=CONCERNS)  # fmt: skip
    yield Theorem(
        "values.magnitudes",
        "Magnitudes are ordered as the real numbers they stand for, in every format.",
        "E·W + M > E'·W + M' ⇔ V(E, M) > V(E', M')",
        magnitudes,
        (text, value),
        mutants=(Mutant("no hidden bit", partial(magnitudes, no_hidden_bit)),),
        concerns=CONCERNS,
    )
    flipped = mutated(greater, "x < y", "x > y")
    yield Theorem(
        "values.order",
        "Finite patterns are ordered as their real numbers; only the zeros share one.",
        "V(x) > V(y) ⇒ x > y,  V(x) = V(y) ⇒ x = y ∨ both are ±0",
        signs,
        (text, greater),
        mutants=(Mutant("negative numbers the other way", partial(signs, flipped)),),
        concerns=CONCERNS,
    )
    yield Theorem(
        "values.not-negative", "Of numbers that are not negative, products and quotients are not negative.",
        "a ≥ 0 ∧ b ≥ 0 ⇒ a b ≥ 0, a ≥ 0 ∧ b > 0 ⇒ a // b ≥ 0", shares_signs, (result_not_negative,),
        mutants=(Mutant("of any numbers", _of_any),),
        because="Theorems about shapes use only this about products and quotients.", concerns=CONCERNS,
    )  # fmt: skip


def _not_doubled() -> Iterator[Obligation]:
    a = z3.Int("a")
    yield Obligation("doubles: base", (a >= 0, P(a + 1) == P(a) + 1), P(a + 1) >= 2 * P(a))


def _any_factor() -> Iterator[Obligation]:
    a, b, c = z3.Ints("a b c")
    yield Obligation("a difference is not negative", (a >= b,), (a - b) * c >= 0)
