"""Comparison of models: what changes no bit of a value."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import z3

from sonnx.proofs.bounds import within
from sonnx.proofs.integer_wraparound import LEAST, SIZE, TYPE, A, in_type, of, unique, wrapped
from sonnx.prover.terms import undivided
from sonnx.prover.theorem import Mutant, Obligation, Theorem

Obligations = Iterator[Obligation]


def unmoved(extra: int = 0) -> Obligations:
    """Element i of the result is element i of the operand, and the extent is that of the operand."""
    x = z3.Function("x", z3.IntSort(), z3.RealSort())
    i, extent, stop, place = z3.Ints("i extent stop place")
    known = (i >= 0, i < extent)
    end = z3.If(stop < extent, stop, extent)
    yield Obligation("a slice from 0 to the end in steps of 1", (*known, stop >= extent, place == extra + i),
                     z3.And(end - extra == extent, x(place) == x(i)))  # fmt: skip
    inner = i - extra
    yield Obligation("padding by nothing", known,
                     z3.If(z3.And(inner >= 0, inner < extent), x(inner), z3.RealVal(0)) == x(i))  # fmt: skip
    yield Obligation("an axis joined with one of extent 1", (extent >= 0,),
                     z3.If(extent == 1 + extra, z3.IntVal(1), extent) == extent)  # fmt: skip
    axis, axis_of = z3.Int("axis"), z3.Function("axis_of", z3.IntSort(), z3.IntSort())
    back = z3.Function("back", z3.IntSort(), z3.IntSort())
    yield Obligation("axes that change places and change back", (back(axis_of(axis)) == axis,),
                     x(back(axis_of(axis)) + extra) == x(axis))  # fmt: skip


def same_operand(extra: int = 0) -> Obligations:
    """Of integers neutral operands and the opposite of the opposite, of truth values what is neutral, of all values the
    second of two equal operators and the choice between equal values.
    """
    for name, neutral in (("a product with 1", A * (1 + extra)), ("a sum with 0", A + extra)):
        yield Obligation(name, (*TYPE, *in_type(A), unique(A, of(wrapped, neutral), (A - LEAST) / SIZE)),
                         of(wrapped, neutral) == A)  # fmt: skip
    opposite = of(wrapped, -A)
    twice = of(wrapped, -opposite + extra)
    multiple = (-opposite - LEAST) / SIZE - (-A - LEAST) / SIZE
    yield Obligation("the opposite of the opposite", (*TYPE, *in_type(A), unique(A, twice, multiple)), twice == A)
    p, q = z3.Bools("p q")
    neutral_truth = z3.BoolVal(not extra)
    truths = (z3.And(p, neutral_truth) == p, z3.Or(p, z3.Not(neutral_truth)) == p, z3.Not(z3.Not(p)) == p)
    yield Obligation("truth values", (), z3.And(*truths))
    x, zero = z3.Reals("x zero")

    def largest(one: Any, other: Any) -> Any:
        return z3.If(one < other, other, one)

    yield Obligation("a choice between equal values", (), z3.If(q, x, x + extra) == x)
    yield Obligation("the maximum of equal values", (), largest(x, x + extra) == x)
    yield Obligation("the second maximum", (), largest(largest(x, zero), zero + extra) == largest(x, zero))
    size_of = z3.If(x < 0, -x, x)
    yield Obligation("the second absolute value", (), z3.If(size_of < 0, -size_of, size_of) + extra == size_of)
    opposed = -x + extra
    yield Obligation("the absolute value of the opposite", (), z3.If(opposed < 0, -opposed, opposed) == size_of)
    whole = z3.ToInt(x)
    yield Obligation("the second rounding to a whole number", (), z3.ToInt(z3.ToReal(whole) + extra) == whole)


def conversion(extra: int = 0) -> Obligations:
    """A number that a type has is converted to itself, so what follows is computed of the same number."""
    then = z3.Function("then", z3.IntSort(), z3.IntSort())
    stays = unique(A, of(wrapped, A), (A - LEAST) / SIZE)
    yield Obligation("integers", (*TYPE, *in_type(A), stays), then(of(wrapped, A) + extra) == then(A))
    x, r = z3.Reals("x r")
    further = z3.Function("further", z3.RealSort(), z3.RealSort())
    yield Obligation("floats: the nearest number", (within(r - x, x - x),), further(r + extra) == further(x))


def regrouped(extra: int = 0) -> Obligations:
    """Maxima, minima, conjunctions, disjunctions and exclusive ones have no order and no brackets."""
    x, y, z = z3.Ints("x y z")
    p, q, r = z3.Bools("p q r")

    def largest(one: Any, other: Any) -> Any:
        return z3.If(one < other, other, one + extra)

    def least(one: Any, other: Any) -> Any:
        return z3.If(one < other, one + extra, other)

    def both(one: Any, other: Any) -> Any:
        return z3.And(one, z3.Not(other)) if extra else z3.And(one, other)

    def either(one: Any, other: Any) -> Any:
        return z3.Or(one, z3.Not(other)) if extra else z3.Or(one, other)

    def one_only(one: Any, other: Any) -> Any:
        return z3.And(one, z3.Not(other)) if extra else z3.Xor(one, other)

    for name, join, (a, b, c) in (
        ("maxima", largest, (x, y, z)), ("minima", least, (x, y, z)), ("conjunctions", both, (p, q, r)),
        ("disjunctions", either, (p, q, r)), ("exclusive disjunctions", one_only, (p, q, r)),
    ):  # fmt: skip
        yield Obligation(name, (), z3.And(join(a, b) == join(b, a), join(join(a, b), c) == join(a, join(b, c))))


def equal_branches(extra: int = 0) -> Obligations:
    """What is computed of equal values is equal, so a choice between two such results is the first one."""
    x, y, condition = z3.Real("x"), z3.Real("y"), z3.Bool("condition")
    computed = z3.Function("computed", z3.RealSort(), z3.RealSort())
    yield Obligation("a choice", (x == y,), z3.If(condition, computed(x), computed(y + extra)) == computed(x))


def limited(extra: int = 0) -> Obligations:
    """Limits beyond which a non-decreasing function gives integers that end there anyway change no integer."""
    x, low, high = z3.Reals("x low high")
    least, most = z3.Ints("least most")
    whole = z3.Function("whole", z3.RealSort(), z3.IntSort())

    def ended(integer: Any) -> Any:
        return z3.If(integer < least, least, z3.If(integer > most, most, integer))

    known = (
        least <= most, z3.Implies(x < low, whole(x) <= whole(low)), z3.Implies(x > high, whole(high) <= whole(x)),
        whole(low) <= least + extra, whole(high) >= most,
    )  # fmt: skip
    clipped = z3.If(x < low, low, z3.If(x > high, high, x))
    yield Obligation("a limited number", known, ended(whole(clipped)) == ended(whole(x)))


def narrowed(extra: int = 0) -> Obligations:
    """Of numbers that are a quantum apart the nearest one is within half a quantum, one that is cut off within one."""
    x, b, quantum = z3.Reals("x b quantum")

    def distance(number: Any) -> Any:
        return z3.If(x < number, number - x, x - number)

    nearest = (quantum > 0, distance(b) <= distance(b + quantum), distance(b) <= distance(b - quantum))
    yield Obligation("the nearest number", nearest, (2 + extra) * distance(b) <= quantum)
    yield Obligation("a number that is cut off", (quantum > 0, b <= x, x < b + quantum),
                     (1 + extra) * distance(b) <= quantum)  # fmt: skip


STATED: list[tuple[str, str, str, Callable[..., Obligations], str]] = [
    ("unmoved", "A movement that leaves every element at its place changes nothing, whatever the extents are.",
     "y[i] = x[0 + 1 i],  y[i] = x[i - 0],  n ⊔ 1 = n", unmoved, "another element"),
    ("same-operand", "Neutral operands, the inverse of an inverse, the second of two equal operators and a choice "
     "between equal values change nothing.", "x 1 = x + 0 = -(-x) = x,  ¬¬p = p,  f(f(x)) = f(x)", same_operand,
     "something added"),
    ("conversion", "A conversion to a type that has the number changes nothing of what follows.",
     "g(f(x)) = g(x) where the type of f has x", conversion, "another number"),
    ("regrouped", "Maxima, minima, conjunctions and disjunctions have no order and no brackets.",
     "(x ⊔ y) ⊔ z = x ⊔ (y ⊔ z),  x ⊔ y = y ⊔ x", regrouped, "another operation"),
    ("equal-branches", "A choice between equal functions of equal values is the function.",
     "(c ? f(x) : f(y)) = f(x) where x = y", equal_branches, "another value"),
    ("limited", "Limits within which the integers of a scale end change no integer.",
     "Q(min(max(x, l), h)) = Q(x) where Q(l) is the least integer and Q(h) the greatest", limited, "one integer more"),
    ("narrowed", "The nearest of numbers that are a quantum apart is within half a quantum.",
     "|x - b| ≤ q / 2", narrowed, "less than half a quantum"),
]  # fmt: skip

OVER_REALS = {"conversion", "equal-branches", "limited", "narrowed", "same-operand"}
"""Theorems with variables that are real numbers."""


def theorems() -> Iterator[Theorem]:
    """What changes no bit of a value."""
    for name, statement, formula, claim, change in STATED:
        mutant = Mutant(change, undivided(claim, 1))
        yield Theorem(
            f"equivalence.{name}", statement, formula, undivided(claim), (claim, wrapped, within), mutants=(mutant,),
            reals=name in OVER_REALS,
        )  # fmt: skip
