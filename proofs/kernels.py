"""The bit formulas of the fast kernels equal the definitions.

The three formulas are functions of integers, numpy arrays and terms alike.  The behaviour of numpy is an assumption of
the theorems: `numpy_maximum` is the larger number, the first NaN, and of two zeros either.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import z3

from sonnx.numerics import order
from sonnx.proofs.float_order import Change, Definitions, FormatClaim, nan, on_bits
from sonnx.proofs.maximum import largest
from sonnx.prover.float_patterns import SymbolicFormat
from sonnx.prover.symbolic_execution import Term
from sonnx.prover.theorem import Counterexample, Obligation, ReplayFailed, Sort, Theorem, mutated

CONCERNS = ("ArgMax", "Max", "ReduceMax")


def with_common_sign(largest: Term, every: Term, sign: int) -> Term:
    """The maximum of numbers: the larger one, its sign kept only where all operands have it; `every` is their AND."""
    return largest & (every | (sign - 1))


def of_extremes(greatest: Term, least: Term, shift: int) -> Term:
    """The maximum of numbers from the greatest and the least of their patterns as signed integers."""
    return greatest ^ ((greatest ^ least) & (greatest >> shift))


def ordered(pattern: Term, shift: int, sign: int) -> Term:
    """An integer in the order of the numbers: a negative one with all bits but its sign turned."""
    return ((pattern >> shift) & (sign - 1)) ^ pattern


Formula = Callable[..., Term]


class Raw:
    """A pattern as a kernel has it, `bits` of the exact width, and as the definition has it, `wide`."""

    def __init__(self, f: SymbolicFormat, name: str) -> None:
        self.bits = z3.BitVec(name, f.width)
        self.wide = z3.ZeroExt(2, self.bits)


def raw(f: SymbolicFormat, names: str) -> list[Raw]:
    """Arbitrary patterns of these names."""
    return [Raw(f, name) for name in names.split()]


def wide(bits: Term) -> Term:
    """The pattern of bits."""
    return z3.ZeroExt(2, bits)


def numpy_maximum(f: SymbolicFormat, x: Term, y: Term, either: z3.BoolRef) -> Term:
    """The assumed result of numpy.maximum: the larger number, the first NaN, of two zeros the one `either` chooses."""
    a, b = f.number(wide(x)), f.number(wide(y))
    number = z3.If(a > b, x, z3.If(b > a, y, z3.If(either, x, y)))
    return z3.If(z3.fpIsNaN(a), x, z3.If(z3.fpIsNaN(b), y, number))


def is_zero(bits: Term, f: SymbolicFormat) -> z3.BoolRef:
    """+0 or -0."""
    return z3.Or(bits == 0, bits == f.sign)


def numpy_is_maximum(f: SymbolicFormat, d: Definitions) -> Iterator[Obligation]:
    x, y = raw(f, "x y")
    fast = numpy_maximum(f, x.bits, y.bits, z3.Bool("either"))
    zeros = z3.And(is_zero(x.bits, f), is_zero(y.bits, f))
    yield Obligation("equal", (z3.Not(zeros),), wide(fast) == largest(f, d, x.wide, y.wide))


def numpy_on_zeros(f: SymbolicFormat, d: Definitions) -> Iterator[Obligation]:
    x, y = raw(f, "x y")
    fast = numpy_maximum(f, x.bits, y.bits, z3.Bool("either"))
    yield Obligation("equal", (), wide(fast) == largest(f, d, x.wide, y.wide))


def show_zeros(found: Counterexample) -> str:
    """The definition gives +0 for both orders of the zeros."""
    if order.maximum(found["x"], found["y"], 1 << 15, 31 << 10) != 0:
        raise ReplayFailed("the definition gives no +0")
    return f"the maximum of the zeros {found['x']} and {found['y']} is +0; a comparison of numbers may give the other"


def _invariant(f: SymbolicFormat, formula: Formula, fast: Term, every: Term, best: Term) -> z3.BoolRef:
    """The invariant after each operand, of numpy's fold, of the AND of the operands, and of the defined maximum."""
    numbers = z3.And(
        z3.Not(nan(wide(fast), f)),
        wide(formula(fast, every, f.sign)) == best,
        z3.Or(wide(fast) == best, z3.And(is_zero(fast, f), is_zero(best, f))),
        z3.Implies(fast & f.sign == 0, every & f.sign == 0),
    )
    return z3.If(nan(best, f), wide(fast) == best, numbers)


def mends_zeros(f: SymbolicFormat, d: Definitions, formula: Formula = with_common_sign) -> Iterator[Obligation]:
    """For any number of operands: base and step of the invariant, and the claim it gives at the end."""
    fast, every, x, first = (each.bits for each in raw(f, "fast every x first"))
    best, either = f.pattern("best"), z3.Bool("either")
    yield Obligation("base", (), _invariant(f, formula, first, first, wide(first)))
    after = _invariant(f, formula, numpy_maximum(f, fast, x, either), every & x, largest(f, d, best, wide(x)))
    before = (_invariant(f, formula, fast, every, best),)
    yield Obligation("step", before, after)
    mended = z3.If(nan(wide(fast), f), fast, formula(fast, every, f.sign))
    yield Obligation("end", before, wide(mended) == best)
    yield Obligation("unmended: right unless -0", (*before, fast != f.sign), wide(fast) == best)


def _extremes(greatest: Term, least: Term, best: Term) -> z3.BoolRef:
    return z3.And(least <= greatest, wide(z3.If(greatest >= 0, greatest, least)) == best)


def by_extremes(f: SymbolicFormat, d: Definitions, formula: Formula = of_extremes) -> Iterator[Obligation]:
    s, m, x, first = (each.bits for each in raw(f, "greatest least x first"))
    best, number = f.pattern("best"), z3.Not(nan(wide(x), f))
    chosen = formula(s, m, f.width - 1)
    yield Obligation("formula", (), chosen == z3.If(s >= 0, s, m))
    yield Obligation("base", (), _extremes(first, first, wide(first)))
    step = _extremes(z3.If(x > s, x, s), z3.If(x < m, x, m), largest(f, d, best, wide(x)))
    yield Obligation("step", (number, z3.Not(nan(best, f)), _extremes(s, m, best)), step)
    yield Obligation("a positive NaN shows", (x >= 0,), nan(wide(x), f) == (x > f.infinity))
    yield Obligation("a negative NaN shows", (x < 0,), nan(wide(x), f) == z3.UGT(x, f.sign + f.infinity))


def by_keys(f: SymbolicFormat, d: Definitions, formula: Formula = ordered) -> Iterator[Obligation]:
    x, y = raw(f, "x y")
    numbers = (z3.Not(nan(x.wide, f)), z3.Not(nan(y.wide, f)))
    a, b = (formula(side.bits, f.width - 1, f.sign) for side in (x, y))
    yield Obligation("order", numbers, (a > b) == (f.value(d.key, x.wide) > f.value(d.key, y.wide)))
    yield Obligation("NaN shows", (), nan(x.wide, f) == z3.Or(a > f.infinity, a < -f.infinity - 1))
    yield Obligation("a number is below the key of NaN", numbers[:1], a < f.sign - 1)


def by_keys_with_equal_zeros(f: SymbolicFormat, d: Definitions, formula: Formula = ordered) -> Iterator[Obligation]:
    x, y = raw(f, "x y")
    shift, numbers = f.width - 1, (z3.Not(nan(x.wide, f)), z3.Not(nan(y.wide, f)))
    a, b = (formula(side.bits, shift, f.sign) - (side.bits >> shift) for side in (x, y))
    defined = [f.value(d.equal_zeros_key, side.wide) for side in (x, y)]
    yield Obligation("greater", numbers, (a > b) == (defined[0] > defined[1]))
    yield Obligation("equal", numbers, (a == b) == (defined[0] == defined[1]))
    yield Obligation("NaN shows", (), nan(x.wide, f) == z3.Or(a > f.infinity, a < -f.infinity))


def zeros_as_integers(f: SymbolicFormat, d: Definitions) -> Iterator[Obligation]:
    """If the maximum by numpy is -0, no element is NaN or positive: a +0 is the largest integer."""
    (x,) = raw(f, "x")
    low = f.value(d.key, x.wide) <= 0
    yield Obligation("+0 is the largest", (low,), z3.And(x.bits <= 0, (x.bits == 0) == (x.wide == 0)))
    yield Obligation("-0 is the least integer", (), x.bits >= -f.sign)


SMALLER = Definitions(maximum=mutated(order.maximum, ") > key(", ") < key("))
ZEROS_EQUAL = Definitions(maximum=mutated(order.maximum, "key(y", "key(y", key=order.equal_zeros_key))
ZERO_KEPT = Definitions(equal_zeros_key=order.key)
SIGN_OF_ANY = partial(mends_zeros, formula=mutated(with_common_sign, "sign - 1)", "sign)"))
NEVER_LEAST = partial(by_extremes, formula=mutated(of_extremes, ">> shift", ">> shift - 1"))
ALL_TURNED = partial(by_keys, formula=mutated(ordered, "sign - 1", "sign"))
TURNED = partial(by_keys_with_equal_zeros, formula=mutated(ordered, "& (sign - 1)", "& (sign - 2)"))
NAN_LOWEST = Definitions(key=mutated(order.key, "return infinity + 1", "return -infinity - 2"))

STATED: list[tuple[str, str, str, FormatClaim, dict[str, Change], Sort, tuple[Callable[..., Any], ...]]] = [
    ("numpy-maximum", "numpy.maximum is the maximum, but for two zeros.",
     "¬(x = ±0 ∧ y = ±0) ⇒ np.maximum(x, y) = max(x, y)",
     numpy_is_maximum, {"smaller": SMALLER}, "float", (order.maximum,)),
    ("mended-zeros", "numpy's fold with the sign that all operands share is the maximum, bit for bit, of any number.",
     "Y and (AND of X, or all bits but the sign) = max(X)", mends_zeros,
     {"sign of any": SIGN_OF_ANY, "both zeros equal": ZEROS_EQUAL}, "float", (with_common_sign, order.maximum)),
    ("extremes", "The greatest or least pattern as signed integers is the maximum of any number of numbers.",
     "S if S >= 0 else M = S xor ((S xor M) and (S >> shift)) = max(X)", by_extremes,
     {"never the least": NEVER_LEAST, "both zeros equal": ZEROS_EQUAL}, "bits", (of_extremes, order.maximum)),
    ("keys", "The integer keys of the kernels have the order of the numbers, and a NaN shows.",
     "k(x) > k(y) ⇔ x > y,  k(x) = ((x >> shift) and (sign - 1)) xor x", by_keys, {"all bits turned": ALL_TURNED},
     "bits", (ordered, order.key)),
    ("keys-with-equal-zeros", "The integer keys of the kernels less their sign have the usual order, and a NaN shows.",
     "k(x) - (x >> shift) > k(y) - (y >> shift) ⇔ x > y", by_keys_with_equal_zeros,
     {"other bits turned": TURNED, "zeros kept apart": ZERO_KEPT}, "bits", (ordered, order.equal_zeros_key)),
    ("zeros-as-integers", "Among zeros and negative numbers, +0 is the largest and -0 the least integer.",
     "x ≤ +0 ⇒ signed(x) ≤ 0 ∧ (signed(x) = 0 ⇔ x = +0)", zeros_as_integers, {"NaN lowest": NAN_LOWEST}, "bits",
     (order.key,)),
]  # fmt: skip


def theorems() -> Iterator[Theorem]:
    """The formulas of the kernels against the definitions."""
    for name, statement, formula, claim, mutants, sort, sources in STATED:
        yield on_bits(f"kernel.{name}", statement, formula, claim, mutants, sort, sources=sources, concerns=CONCERNS)
    yield on_bits(
        "kernel.numpy-maximum-exactly",
        "numpy.maximum is the maximum.",
        "np.maximum(x, y) = max(x, y)",
        numpy_on_zeros,
        {},
        "float",
        sources=(order.maximum,),
        expected="refuted",
        replay=show_zeros,
        because="A comparison of numbers does not order the zeros; measured, runtimes differ even inside one array.",
        concerns=CONCERNS,
    )
