"""The order is total, antisymmetric up to the class of NaN, and transitive; the key that runs has this order.

Line 57 as printed has a third zero between +0 and -0: that is refuted.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

import z3

from sonnx.numerics import order
from sonnx.proofs.float_order import Definitions, classes, greater, in_both_forms, on_bits, same
from sonnx.prover.float_patterns import SymbolicFormat
from sonnx.prover.terms import conjunction
from sonnx.prover.theorem import Counterexample, Obligation, ReplayFailed, Theorem, mutated

CONCERNS = ("ArgMax", "Max", "ReduceMax")


def is_total(f: SymbolicFormat, d: Definitions) -> Iterator[Obligation]:
    x, y = f.patterns("x y")
    yield Obligation("total", f.hypotheses, z3.Or(d.greater(x, y, f), d.greater(y, x, f), same(x, y, f)))


def is_antisymmetric(f: SymbolicFormat, d: Definitions) -> Iterator[Obligation]:
    x, y = f.patterns("x y")
    yield Obligation("never both", f.hypotheses, z3.Not(z3.And(d.greater(x, y, f), d.greater(y, x, f))))
    yield Obligation("never of one value", (*f.hypotheses, same(x, y, f)), z3.Not(d.greater(x, y, f)))


def is_transitive(f: SymbolicFormat, d: Definitions) -> Iterator[Obligation]:
    x, y, z = f.patterns("x y z")
    over = (*f.hypotheses, d.greater(x, y, f))
    yield Obligation("greater", (*over, d.greater(y, z, f)), d.greater(x, z, f))
    yield Obligation("at least", (*over, z3.Not(d.greater(z, y, f))), d.greater(x, z, f))


def has_classes(f: SymbolicFormat, d: Definitions) -> Iterator[Obligation]:
    (x,) = f.patterns("x")
    classes = d.classes(x, f)
    yield Obligation("one at least", f.hypotheses, z3.Or(classes))
    yield Obligation(
        "one at most", f.hypotheses, conjunction(z3.Not(z3.And(a, b)) for a, b in combinations(classes, 2))
    )


def has_chain(f: SymbolicFormat, d: Definitions) -> Iterator[Obligation]:
    x, y = f.patterns("x y")
    of_x, of_y = d.classes(x, f), d.classes(y, f)
    chain = conjunction(z3.Implies(z3.And(a, b), d.greater(x, y, f)) for a, b in zip(of_x, of_y[1:], strict=False))
    yield Obligation("each class is above the next", f.hypotheses, chain)
    places = [f.infinity + 1, f.infinity, 1, 0, f.sign, f.sign + 1, f.sign + f.infinity]
    for i, place in enumerate(places):
        yield Obligation(f"class {i} is not empty", (*f.hypotheses, x == place), of_x[i])


def key_is_order(f: SymbolicFormat, d: Definitions) -> Iterator[Obligation]:
    x, y = f.patterns("x y")
    yield from f.obligations(d.key)
    yield Obligation("isomorphism", f.hypotheses, d.greater(x, y, f) == (f.value(d.key, x) > f.value(d.key, y)))


def key_is_injective(f: SymbolicFormat, d: Definitions) -> Iterator[Obligation]:
    x, y = f.patterns("x y")
    left, right = f.value(d.key, x), f.value(d.key, y)
    yield Obligation("injective", f.hypotheses, (left == right) == same(x, y, f))
    yield Obligation("bounded", f.hypotheses, z3.And(left >= -1 - f.infinity, left <= f.infinity + 1))


def nothing_between_zeros(f: SymbolicFormat, d: Definitions) -> Iterator[Obligation]:
    (x,) = f.patterns("x")
    plus, minus = f.pattern("plus"), f.pattern("minus")
    zeros = (*f.hypotheses, plus == 0, minus == f.sign)
    yield Obligation("empty", zeros, z3.Not(z3.And(d.greater(plus, x, f), d.greater(x, minus, f))))


def third_zero(f: SymbolicFormat, d: Definitions) -> Iterator[Obligation]:
    zero, plus, minus = f.patterns("zero plus minus")
    hypotheses = (*f.hypotheses, plus == 0, minus == f.sign, z3.Or(zero == 0, zero == f.sign))
    yield Obligation("between", hypotheses, z3.And(d.greater(plus, zero, f), d.greater(zero, minus, f)))


def show_third_zero(found: Counterexample) -> str:
    """No zero is both below +0 and above -0."""
    sign, infinity = found.get("sign", 1 << 15), found.get("infinity", 31 << 10)
    places = [order.key(pattern, sign, infinity) for pattern in (0, found["zero"], sign)]
    if places[0] > places[1] > places[2]:
        raise ReplayFailed(f"the keys {places} do descend")
    return f"pattern {found['zero']} is a zero; the keys of +0, it and -0 are {places}, which do not descend strictly"


def agrees_with_ieee(f: SymbolicFormat, d: Definitions) -> Iterator[Obligation]:
    x, y = f.patterns("x y")
    a, b = f.number(x), f.number(y)
    numbers = z3.Not(z3.Or(z3.fpIsNaN(a), z3.fpIsNaN(b), z3.And(z3.fpIsZero(a), z3.fpIsZero(b))))
    yield Obligation("order", (*f.hypotheses, numbers), d.greater(x, y, f) == (a > b))


def classes_are_ieee(f: SymbolicFormat, d: Definitions) -> Iterator[Obligation]:
    (x,) = f.patterns("x")
    a, below = f.number(x), z3.fpIsNegative(f.number(x))
    whole = [z3.fpIsNaN(a), z3.fpIsInf(a), z3.Or(z3.fpIsNormal(a), z3.fpIsSubnormal(a)), z3.fpIsZero(a)]
    meant = [whole[0], *(z3.And(part, z3.Not(below)) for part in whole[1:])]
    meant += [z3.And(whole[i], below) for i in (3, 2, 1)]
    yield Obligation("classes", f.hypotheses, conjunction(c == m for c, m in zip(d.classes(x, f), meant, strict=True)))


def usual_order(f: SymbolicFormat, d: Definitions) -> Iterator[Obligation]:
    x, y = f.patterns("x y")
    a, b = f.number(x), f.number(y)
    left, right = f.value(d.equal_zeros_key, x), f.value(d.equal_zeros_key, y)
    yield from f.obligations(d.equal_zeros_key)
    top = z3.And(z3.fpIsNaN(a), z3.Not(z3.fpIsNaN(b)))
    yield Obligation("greater", f.hypotheses, (left > right) == z3.Or(top, a > b))
    both = z3.And(z3.fpIsNaN(a), z3.fpIsNaN(b))
    yield Obligation("equal", f.hypotheses, (left == right) == z3.Or(both, z3.fpEQ(a, b)))


NO_NAN_ON_TOP = Definitions(greater=mutated(greater, "range(len(of_x) - 1)", "range(1, len(of_x) - 1)"))
FLIPPED = Definitions(greater=mutated(greater, "x < y", "x > y"))
UNORDERED = Definitions(greater=mutated(greater, ", z3.And(of_x[5], of_y[5], x < y)", ""))
REFLEXIVE = Definitions(greater=mutated(greater, "x > y)", "x >= y)"))
NAN_AS_INFINITY = Definitions(key=mutated(order.key, "magnitude > infinity", "magnitude >= infinity"))
EQUAL_ZEROS = Definitions(key=order.equal_zeros_key)
SIGN_LOST = Definitions(key=mutated(order.key, "return -1 - magnitude", "return -1"))
ZEROS_KEPT = Definitions(equal_zeros_key=mutated(order.equal_zeros_key, "place == -1", "place == -2"))
ONE_UP = Definitions(key=mutated(order.key, "return infinity + 1", "return infinity + 2"))
SAME_ZEROS = Definitions(greater=mutated(greater, "z3.Or(*by_class", "z3.Or(z3.And(of_x[3], of_y[3]), *by_class"))
CLASSES_CUT = Definitions(greater=mutated(greater, "of_y[i + 1 :]", "of_y[i + 1 : i + 3]"))
WIDE = Definitions(
    classes=mutated(classes, "z3.And(negative, size > 0, size < f.infinity)", "z3.And(negative, size > 0)")
)
NARROW = Definitions(classes=mutated(classes, "z3.And(positive, size == f.infinity)", "z3.BoolVal(False)"))
FUNCTIONS = (classes, greater)


def theorems() -> Iterator[Theorem]:
    """The order of floating-point values."""
    yield from in_both_forms(
        "order.classes", "Each pattern is in exactly one of the seven classes.", "∃! c. x ∈ c", has_classes,
        {"infinity also a number": WIDE, "+Inf in no class": NARROW},
        sources=FUNCTIONS, concerns=CONCERNS,
    )  # fmt: skip
    yield from in_both_forms(
        "order.total", "Of two values that are not one and the same, one is greater.",
        "x > y ∨ y > x ∨ x = y ∨ (NaN(x) ∧ NaN(y))", is_total, {"negative numbers not ordered": UNORDERED},
        sources=FUNCTIONS, concerns=CONCERNS,
    )  # fmt: skip
    yield from in_both_forms(
        "order.antisymmetric",
        "No two values are each above the other, and none above itself; NaN is one value.",
        "¬(x > y ∧ y > x)",
        is_antisymmetric,
        {"positive numbers above themselves": REFLEXIVE},
        sources=FUNCTIONS,
        concerns=CONCERNS,
    )
    yield from in_both_forms(
        "order.transitive", "The order is transitive.", "x > y ∧ y ≥ z ⇒ x > z", is_transitive,
        {"only neighbouring classes ordered": CLASSES_CUT}, sources=FUNCTIONS, concerns=CONCERNS,
    )  # fmt: skip
    yield from in_both_forms(
        "order.chain", "Each class is above the next, and none is empty.",
        "NaN > +Inf > positive > +0 > -0 > negative > -Inf", has_chain, {"NaN not on top": NO_NAN_ON_TOP},
        sources=FUNCTIONS, concerns=CONCERNS,
    )  # fmt: skip
    yield from in_both_forms(
        "order.key", "The key that runs has the order of the values.", "x > y ⇔ key(x) > key(y)", key_is_order,
        {"infinity as NaN": NAN_AS_INFINITY, "both zeros equal": EQUAL_ZEROS, "negative numbers equal": SIGN_LOST},
        sources=(*FUNCTIONS, order.key), concerns=CONCERNS,
    )  # fmt: skip
    yield from in_both_forms(
        "order.key-injective",
        "Only NaNs share a key, and a key fits the integer of the format's width.",
        "key(x) = key(y) ⇔ x = y ∨ (NaN(x) ∧ NaN(y)),  -1 - infinity ≤ key ≤ infinity + 1",
        key_is_injective,
        {"NaN one place higher": ONE_UP, "both zeros equal": EQUAL_ZEROS},
        sources=(*FUNCTIONS, order.key),
        concerns=CONCERNS,
    )
    yield from in_both_forms(
        "order.no-third-zero", "Nothing lies between +0 and -0.", "¬∃x. +0 > x > -0", nothing_between_zeros,
        {"+0 above itself": SAME_ZEROS}, sources=FUNCTIONS, concerns=CONCERNS,
    )  # fmt: skip
    yield from in_both_forms(
        "order.third-zero",
        "A zero lies between +0 and -0, as line 57 is printed.",
        "+0 > 0 > -0",
        third_zero,
        {},
        sources=FUNCTIONS,
        expected="refuted",
        replay=show_third_zero,
        erratum="three-zeros",
        because="There are two zeros; whichever the 0 without a sign is, it is not strictly between them.",
        concerns=CONCERNS,
    )
    yield from _ieee()


def _ieee() -> Iterator[Theorem]:
    yield on_bits(
        "order.ieee", "Where IEEE 754 decides, the order is its comparison.",
        "x, y not NaN, not both zero: x > y ⇔ fp.gt(x, y)", agrees_with_ieee,
        {"negative numbers the other way": FLIPPED}, "float", sources=FUNCTIONS, concerns=CONCERNS,
    )  # fmt: skip
    yield on_bits(
        "order.ieee-classes", "The classes are those of IEEE 754.", "x ∈ c ⇔ fp.isNaN, isInf, isZero, … of x",
        classes_are_ieee, {"+Inf in no class": NARROW}, "float", sources=(classes,), concerns=CONCERNS,
    )  # fmt: skip
    yield on_bits(
        "order.usual", "The key with equal zeros has the usual order of IEEE 754, NaN on top.",
        "key0(x) > key0(y) ⇔ fp.gt(x, y) ∨ (NaN(x) ∧ ¬NaN(y))", usual_order,
        {"zeros kept apart": ZEROS_KEPT}, "float", sources=(order.key, order.equal_zeros_key), concerns=CONCERNS,
    )  # fmt: skip
