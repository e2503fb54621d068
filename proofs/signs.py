"""Neg, Abs, Relu, LeakyRelu and Where on bit patterns, NaN, infinities and both zeros included.

The functions transcribe the texts for patterns of every IEEE 754 format: `sign` is the pattern of -0, `infinity` that
of +Inf, as in numerics/order.py.  Tests compare them with numpy and the executor over all 16-bit patterns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import z3

from sonnx.numerics import order
from sonnx.proofs.float_order import Definitions, classes, in_both_forms, nan, on_bits
from sonnx.proofs.maximum import largest
from sonnx.prover.float_patterns import SymbolicFormat, all_formats
from sonnx.prover.symbolic_execution import Term
from sonnx.prover.theorem import Counterexample, Mutant, Obligation, ReplayFailed, Theorem, mutated

Obligations = Iterator[Obligation]
Function = Callable[..., Any]


def negated(pattern: int, sign: int, infinity: int) -> int:
    """-x: the sign turned, of NaN and zeros too (Neg of 2026-10)."""
    return pattern - sign if pattern >= sign else pattern + sign


def absolute(pattern: int, sign: int, infinity: int) -> int:
    """|x|: the sign cleared; -0 gives +0, -Inf gives +Inf (Abs of 2026-08)."""
    return pattern - sign if pattern >= sign else pattern


def rectified(pattern: int, sign: int, infinity: int) -> int:
    """+0 for a negative number, else x: -0 is not negative, and NaN stays NaN (Relu of 2026-08)."""
    return 0 if sign < pattern <= sign + infinity else pattern


def chosen(condition: bool, x: Term, y: Term) -> Term:
    """X where the condition is true, else Y, bit for bit (Where of 2026-08)."""
    return x if condition else y


def _same_class(f: SymbolicFormat, x: Term, y: Term) -> z3.BoolRef:
    """NaN where the other is NaN."""
    return nan(x, f) == nan(y, f)


def is_opposite(f: SymbolicFormat, d: Definitions, function: Function = negated) -> Obligations:
    x, y = f.patterns("x y")
    minus = partial(f.value, function)
    yield from f.obligations(function)
    yield Obligation("twice is x", f.hypotheses, minus(minus(x)) == x)
    yield Obligation("NaN stays", f.hypotheses, _same_class(f, minus(x), x))
    numbers = (*f.hypotheses, z3.Not(nan(x, f)), z3.Not(nan(y, f)))
    turned = d.greater(x, y, f) == d.greater(minus(y), minus(x), f)
    yield Obligation("turns the order", numbers, turned)
    mirrored = z3.And([a == b for a, b in zip(classes(minus(x), f)[1:], reversed(classes(x, f)[1:]), strict=True)])
    yield Obligation("mirrors the classes", f.hypotheses, mirrored)


def is_magnitude(f: SymbolicFormat, d: Definitions, function: Function = absolute) -> Obligations:
    (x,) = f.patterns("x")
    size = f.value(function, x)
    yield from f.obligations(function)
    yield Obligation("without a sign", f.hypotheses, size < f.sign)
    yield Obligation("x or -x", f.hypotheses, z3.Or(size == x, size == f.value(negated, x)))
    yield Obligation("of -x the same", f.hypotheses, f.value(function, f.value(negated, x)) == size)
    yield Obligation("twice is once", f.hypotheses, f.value(function, size) == size)
    yield Obligation("not below x", (*f.hypotheses, z3.Not(nan(x, f))), z3.Not(d.greater(x, size, f)))


def is_rectified(f: SymbolicFormat, d: Definitions, function: Function = rectified) -> Obligations:
    x, y = f.patterns("x y")
    of = partial(f.value, function)
    yield from f.obligations(function)
    negative = z3.Or(classes(x, f)[5:])
    yield Obligation("+0 for what is negative", f.hypotheses, z3.Implies(negative, of(x) == 0))
    yield Obligation("else bit for bit", f.hypotheses, z3.Implies(z3.Not(negative), of(x) == x))
    yield Obligation("never negative", f.hypotheses, z3.Not(z3.Or(classes(of(x), f)[5:])))
    yield Obligation("twice is once", f.hypotheses, of(of(x)) == of(x))
    keeps = (*f.hypotheses, f.value(order.equal_zeros_key, x) >= f.value(order.equal_zeros_key, y))
    monotone = f.value(order.equal_zeros_key, of(x)) >= f.value(order.equal_zeros_key, of(y))
    yield Obligation("keeps the usual order", keeps, monotone)


def rectified_is_maximum(f: SymbolicFormat, d: Definitions) -> Obligations:
    (x,), zero = f.patterns("x"), f.pattern("zero")
    yield Obligation("equal", (*f.hypotheses, zero == 0), f.value(rectified, x) == largest(f, d, x, zero))


def show_maximum(found: Counterexample) -> str:
    """Relu and Max with +0 on the real definitions."""
    sign, infinity, x = found.get("sign", 1 << 15), found.get("infinity", 31 << 10), found["x"]
    relu, most = rectified(x, sign, infinity), order.maximum(x, 0, sign, infinity)
    if relu == most:
        raise ReplayFailed(f"both give {relu}")
    return f"pattern {x} is -0 where {sign} is: Relu keeps {relu}, Max with +0 gives {most}"


def copies(f: SymbolicFormat, d: Definitions, function: Function = chosen) -> Obligations:
    x, y = f.patterns("x y")
    c = z3.Bool("c")
    of = partial(_chosen, function)
    yield Obligation("one of them", f.hypotheses, z3.If(c, of(c, x, y) == x, of(c, x, y) == y))
    yield Obligation("both alike", f.hypotheses, of(c, x, x) == x)
    yield Obligation("turned", f.hypotheses, of(z3.Not(c), y, x) == of(c, x, y))


def _copies_of(function: Function) -> Callable[[], Obligations]:
    """The claim in every format at once; a format collects hypotheses, so each call needs its own."""
    return lambda: copies(all_formats(), Definitions(), function)


def _chosen(function: Function, condition: z3.BoolRef, x: Term, y: Term) -> Term:
    """Both results of a function of a condition, as one term."""
    return z3.If(condition, function(True, x, y), function(False, x, y))


# Against IEEE 754


def plus_zero(f: SymbolicFormat) -> Term:
    """+0, by its bits: not every solver can read the numeral of every format."""
    return f.number(z3.BitVecVal(0, f.width + 2))


def _equal(f: SymbolicFormat, pattern: Term, number: Term) -> z3.BoolRef:
    """The pattern is that of a number of the theory of floating point, NaN as a class."""
    return f.number(pattern) == number


def is_ieee(
    f: SymbolicFormat,
    d: Definitions,
    minus: Function = negated,
    size: Function = absolute,
    relu: Function = rectified,
) -> Obligations:
    (x,) = f.patterns("x")
    number = f.number(x)
    yield Obligation("fp.neg", (), _equal(f, f.value(minus, x), z3.fpNeg(number)))
    yield Obligation("fp.abs", (), _equal(f, f.value(size, x), z3.fpAbs(number)))
    zero = plus_zero(f)
    yield Obligation("fp.lt 0", (), _equal(f, f.value(relu, x), z3.If(number < zero, zero, number)))


def leaky(f: SymbolicFormat, x: Term, alpha: Term) -> Term:
    """LeakyRelu over the theory of floating point: x, or where x < 0 the product with alpha, rounded once."""
    number = f.number(x)
    return z3.If(number < plus_zero(f), z3.fpMul(z3.RNE(), f.number(alpha), number), number)


def leaks(f: SymbolicFormat, d: Definitions, of: Callable[[SymbolicFormat, Term, Term], Term] = leaky) -> Obligations:
    """The product itself is not computed: its class and sign follow from those of its factors."""
    x, alpha = f.patterns("x alpha")
    number, a, result = f.number(x), f.number(alpha), of(f, x, alpha)
    zero = plus_zero(f)
    yield Obligation("x where not negative", (z3.Not(number < zero),), result == number)
    product = z3.Or(z3.fpIsNaN(a), z3.And(z3.fpIsZero(a), z3.fpIsInf(number)))
    yield Obligation("NaN", (), z3.fpIsNaN(result) == z3.Or(z3.fpIsNaN(number), z3.And(number < zero, product)))
    turned = z3.fpIsNegative(result) == z3.fpIsPositive(a)
    yield Obligation("the sign turned by that of alpha", (number < zero,), z3.Or(z3.fpIsNaN(result), turned))


def leaks_no_nan(f: SymbolicFormat, d: Definitions) -> Obligations:
    """As the page says: NaN only from an element that is NaN, or from a negative one with alpha NaN."""
    x, alpha = f.patterns("x alpha")
    number, a = f.number(x), f.number(alpha)
    named = z3.Or(z3.fpIsNaN(number), z3.And(number < plus_zero(f), z3.fpIsNaN(a)))
    yield Obligation("named", (z3.Not(named),), z3.Not(z3.fpIsNaN(leaky(f, x, alpha))))


def show_leak(found: Counterexample) -> str:
    """The product of 0 and an infinity in numpy."""
    import numpy as np

    patterns = np.array([found["x"], found["alpha"]], np.uint16).view(np.float16)
    with np.errstate(all="ignore"):
        leaked = patterns[0] * patterns[1]
    if not np.isnan(leaked):
        raise ReplayFailed(f"{patterns[0]} * {patterns[1]} is {leaked}")
    return f"in float16 alpha = {patterns[1]} and the element {patterns[0]}: their product is NaN"


def _leaks_at_zero(f: SymbolicFormat, x: Term, alpha: Term) -> Term:
    number = f.number(x)
    negative = number <= plus_zero(f)
    return z3.If(negative, z3.fpMul(z3.RNE(), f.number(alpha), number), number)


SIGN_KEPT = mutated(negated, "pattern - sign if", "pattern if")
ZERO_KEPT = mutated(absolute, ">= sign", "> sign")
MINUS_ZERO_LOST = mutated(rectified, "sign < pattern", "sign <= pattern")
NAN_LOST = mutated(rectified, " <= sign + infinity", " <= sign + infinity + 1")
FIRST = mutated(chosen, "else y", "else x")


def theorems() -> Iterator[Theorem]:
    """Operators that touch the sign alone, or choose."""
    for theorem in _theorems():
        operator = theorem.id.partition(".")[2].partition("-")[0]
        yield replace(theorem, concerns=("Abs", "Neg", "Relu") if operator == "signs" else (operator,))


def _theorems() -> Iterator[Theorem]:
    yield from in_both_forms(
        "value.Neg", "Neg turns the sign of every value, zeros, infinities and NaN included; so it turns the order.",
        "-(-x) = x,  x > y ⇔ -y > -x", is_opposite, {"sign kept": partial(is_opposite, function=SIGN_KEPT)},
        sources=(negated,),
    )  # fmt: skip
    yield from in_both_forms(
        "value.Abs", "Abs clears the sign: x or -x, never below x, and the same for both.",
        "|x| ∈ {x, -x},  |-x| = |x|,  |x| ≥ x", is_magnitude, {"-0 kept": partial(is_magnitude, function=ZERO_KEPT)},
        sources=(absolute, negated),
    )  # fmt: skip
    yield from in_both_forms(
        "value.Relu", "Relu gives +0 for negative numbers and all else bit for bit: -0 and NaN stay.",
        "Relu(x) = +0 if x < 0 else x", is_rectified,
        {"+0 for -0": partial(is_rectified, function=MINUS_ZERO_LOST),
         "0 for a NaN": partial(is_rectified, function=NAN_LOST)},
        sources=(rectified, order.equal_zeros_key),
    )  # fmt: skip
    yield from in_both_forms(
        "value.Relu-is-maximum", "Relu is the maximum of Max with +0.", "Relu(x) = max(x, +0)",
        rectified_is_maximum, {}, sources=(rectified, order.maximum), expected="refuted",
        replay=show_maximum, erratum="relu-sign-of-zero",
        because="The page of Relu keeps -0, which is not negative; Max orders +0 above it.",
    )  # fmt: skip
    yield Theorem(
        "value.Where", "Where copies the chosen element with its bits, of any format.",
        "Where(c, x, y) = x if c else y", _copies_of(chosen), (chosen,),
        mutants=(Mutant("always the first", _copies_of(FIRST)),), erratum="where-copies-bits",
    )  # fmt: skip
    yield on_bits(
        "value.signs-ieee", "Neg, Abs and Relu are those of IEEE 754, NaN as a class.",
        "Neg = fp.neg,  Abs = fp.abs,  Relu(x) = +0 if fp.lt(x, 0) else x", is_ieee,
        {"sign kept": partial(is_ieee, minus=SIGN_KEPT), "-0 kept": partial(is_ieee, size=ZERO_KEPT)},
        "float", sources=(negated, absolute, rectified),
    )  # fmt: skip
    yield on_bits(
        "value.LeakyRelu", "LeakyRelu changes negative elements only; NaN also comes of alpha = 0 with -Inf.",
        "Y = x if ¬(x < 0) else alpha · x", leaks, {"-0 multiplied": partial(leaks, of=_leaks_at_zero)}, "float",
        sources=(leaky,),
    )  # fmt: skip
    yield on_bits(
        "value.LeakyRelu-nan", "NaN comes only of an element that is NaN, or of a negative one with alpha NaN.",
        "NaN(Y) ⇒ NaN(x) ∨ (x < 0 ∧ NaN(alpha))", leaks_no_nan, {}, "float",
        formats=("float16",), sources=(leaky,), expected="refuted", replay=show_leak, erratum="leakyrelu-nan",
        because="The product of 0 and an infinity is NaN.",
    )  # fmt: skip
