"""False statements of the texts about floating-point values, refuted in the theory of floating point.

The counterexamples are patterns of float16, the smallest format of the profile, and are confirmed by numpy.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import z3

from sonnx.profile.catalogue import errata
from sonnx.proofs.float_order import Definitions
from sonnx.proofs.maximum import largest
from sonnx.proofs.signs import plus_zero
from sonnx.prover.float_patterns import SymbolicFormat, bit_format
from sonnx.prover.symbolic_execution import Term
from sonnx.prover.theorem import Counterexample, Obligation, ReplayFailed, Theorem

Claim = Callable[[SymbolicFormat], tuple[list[z3.BoolRef], z3.BoolRef]]
"""Hypotheses and goal; the hypotheses may fix an operand for which the statement fails, so that it is found fast."""
Numbers = Callable[..., tuple[bool, str]]
"""Whether the statement fails for numbers of numpy, and a sentence that shows it."""


def finite(number: Term) -> z3.BoolRef:
    """Neither infinite nor NaN."""
    return z3.Not(z3.Or(z3.fpIsInf(number), z3.fpIsNaN(number)))


def _numbers(f: SymbolicFormat, names: str) -> list[Term]:
    return [f.number(pattern) for pattern in f.patterns(names)]


def _pattern(f: SymbolicFormat, bits: int) -> Term:
    """The number of a pattern."""
    return f.number(z3.BitVecVal(bits, f.width + 2))


def _no_nan(operation: Callable[[Term, Term], Term]) -> Claim:
    def claim(f: SymbolicFormat) -> tuple[list[z3.BoolRef], z3.BoolRef]:
        a, b = _numbers(f, "a b")
        return [z3.fpIsInf(a), z3.Not(z3.fpIsNaN(b))], z3.Not(z3.fpIsNaN(operation(a, b)))

    return claim


def quotient_is_number(f: SymbolicFormat) -> tuple[list[z3.BoolRef], z3.BoolRef]:
    a, b = _numbers(f, "a b")
    return [z3.fpIsInf(a), z3.Not(z3.fpIsNaN(b))], z3.Not(z3.fpIsNaN(z3.fpDiv(z3.RNE(), a, b)))


def quotient_by_zero(f: SymbolicFormat) -> tuple[list[z3.BoolRef], z3.BoolRef]:
    """The case of the page: a divisor that is 0, a dividend that is not."""
    a, b = _numbers(f, "a b")
    return [z3.fpIsZero(b), z3.Not(z3.fpIsZero(a))], z3.fpIsInf(z3.fpDiv(z3.RNE(), a, b))


def sign_of_zero_quotient(f: SymbolicFormat) -> tuple[list[z3.BoolRef], z3.BoolRef]:
    a, b = _numbers(f, "a b")
    known = [z3.fpIsZero(a), z3.Not(z3.fpIsZero(b)), z3.Not(z3.fpIsNaN(b))]
    return known, z3.fpIsNegative(z3.fpDiv(z3.RNE(), a, b)) == z3.fpIsNegative(b)


def maximum_is_above(f: SymbolicFormat) -> tuple[list[z3.BoolRef], z3.BoolRef]:
    x, y = f.patterns("a b")
    return [], f.number(largest(f, Definitions(), x, y)) >= f.number(x)


def scale_is_finite(f: SymbolicFormat) -> tuple[list[z3.BoolRef], z3.BoolRef]:
    (a,) = _numbers(f, "a")
    return [z3.Not(z3.fpEQ(a, plus_zero(f)))], finite(a)


def quotient_is_finite(f: SymbolicFormat) -> tuple[list[z3.BoolRef], z3.BoolRef]:
    a, b = _numbers(f, "a b")
    most, least = _pattern(f, LARGEST), _pattern(f, 1)
    return [z3.fpEQ(a, most), z3.fpEQ(b, least), finite(a), finite(b)], finite(z3.fpDiv(z3.RNE(), a, b))


def is_within_one(f: SymbolicFormat) -> tuple[list[z3.BoolRef], z3.BoolRef]:
    (a,) = _numbers(f, "a")
    one = _pattern(f, ONE)
    return [z3.fpIsNaN(a)], z3.And(z3.fpNeg(one) <= a, a <= one)


def _float(pattern: int) -> tuple[Term, z3.BoolRef]:
    """A float `e`, and the condition that it is this pattern."""
    bits = z3.BitVec("e", 32)
    return z3.fpBVToFP(bits, z3.Float32()), bits == pattern


def epsilon_stays_positive(f: SymbolicFormat) -> tuple[list[z3.BoolRef], z3.BoolRef]:
    """Epsilon is a float, which float16 rounds."""
    epsilon, is_small = _float(BILLIONTH)
    zero = z3.fpBVToFP(z3.BitVecVal(0, 32), z3.Float32())
    return [epsilon > zero, is_small], z3.fpFPToFP(z3.RNE(), epsilon, z3.Float16()) > plus_zero(f)


def alpha_stays(f: SymbolicFormat) -> tuple[list[z3.BoolRef], z3.BoolRef]:
    """The default of ONNX."""
    alpha, is_default = _float(HUNDREDTH)
    there = z3.fpFPToFP(z3.RNE(), alpha, z3.Float16())
    return [is_default], z3.fpEQ(z3.fpFPToFP(z3.RNE(), there, z3.Float32()), alpha)


def scaling_commutes(f: SymbolicFormat) -> tuple[list[z3.BoolRef], z3.BoolRef]:
    """Three times the reciprocal of b, or three divided by b."""
    (b,) = _numbers(f, "b")
    one, three = _pattern(f, ONE), _pattern(f, THREE)
    first = z3.fpMul(z3.RNE(), three, z3.fpDiv(z3.RNE(), one, b))
    return [z3.fpEQ(b, _pattern(f, ABOVE_ONE))], z3.fpEQ(first, z3.fpDiv(z3.RNE(), three, b))


ONE, ABOVE_ONE, THREE, LARGEST = 0x3C00, 0x3C01, 0x4200, 0x7BFF
"""Patterns of float16."""
BILLIONTH, HUNDREDTH = 0x3089705F, 0x3C23D70A
"""Patterns of float: the numbers nearest to 1e-9 and 0.01."""


def _shown(fails: Numbers) -> Callable[[Counterexample], str]:
    def show(found: Counterexample) -> str:
        import numpy as np

        kinds = {"a": (np.uint16, np.float16), "b": (np.uint16, np.float16), "e": (np.uint32, np.float32)}
        known = {name: kind for name, kind in kinds.items() if name in found}
        numbers = {name: np.array([found[name]], raw).view(kind)[0] for name, (raw, kind) in known.items()}
        with np.errstate(all="ignore"):
            failed, sentence = fails(np, **numbers)
        if not failed:
            raise ReplayFailed(f"numpy shows no failure: {sentence}")
        return sentence

    return show


def _sum(np: Any, a: Any, b: Any) -> tuple[bool, str]:
    return bool(np.isnan(a + b)), f"{a} + {b} is {a + b}"


def _difference(np: Any, a: Any, b: Any) -> tuple[bool, str]:
    return bool(np.isnan(a - b)), f"{a} - {b} is {a - b}"


def _product(np: Any, a: Any, b: Any) -> tuple[bool, str]:
    return bool(np.isnan(a * b)), f"{a} * {b} is {a * b}"


def _quotient(np: Any, a: Any, b: Any) -> tuple[bool, str]:
    return bool(np.isnan(a / b)), f"{a} / {b} is {a / b}"


def _by_zero(np: Any, a: Any, b: Any) -> tuple[bool, str]:
    return not np.isinf(a / b), f"{a} / {b} is {a / b}"


def _sign(np: Any, a: Any, b: Any) -> tuple[bool, str]:
    return bool(np.signbit(a / b) != np.signbit(b)), f"{a} / {b} is {a / b}"


def _above(np: Any, a: Any, b: Any) -> tuple[bool, str]:
    return not np.maximum(a, b) >= a, f"the maximum of {a} and {b} is {np.maximum(a, b)}, which is not >= {a}"


def _scale(np: Any, a: Any) -> tuple[bool, str]:
    return bool(a != 0 and not np.isfinite(a)), f"a scale of {a} is not 0"


def _overflow(np: Any, a: Any, b: Any) -> tuple[bool, str]:
    return not np.isfinite(a / b), f"in float16 {a} / {b} is {a / b}"


def _within(np: Any, a: Any) -> tuple[bool, str]:
    return not -1 <= a <= 1, f"{a} does not lie in [-1, 1]"


def _epsilon(np: Any, e: Any) -> tuple[bool, str]:
    return not np.float16(e) > 0, f"epsilon = {e} rounded to float16 is {np.float16(e)}"


def _alpha(np: Any, e: Any) -> tuple[bool, str]:
    return bool(np.float16(e) != e), f"alpha = {e} rounded to float16 is {np.float16(e)}"


def _scaling(np: Any, b: Any) -> tuple[bool, str]:
    one, three = np.float16(1), np.float16(3)
    first, last = three * (one / b), three / b
    return bool(first != last), f"in float16 3 * (1 / {b}) is {first}, 3 / {b} is {last}"


PAGES: list[tuple[str, str, str, Claim, Numbers, str, str]] = [
    ("Add-nan", "A sum of two numbers is a number.", "¬NaN(a + b)",
     _no_nan(lambda a, b: z3.fpAdd(z3.RNE(), a, b)), _sum, "add-not-a-number-from-infinities",
     "Infinities of opposite signs have no sum."),
    ("Sub-nan", "A difference of two numbers is a number.", "¬NaN(a - b)",
     _no_nan(lambda a, b: z3.fpSub(z3.RNE(), a, b)), _difference, "sub-special-values-not-said",
     "An infinity has no difference to itself."),
    ("Mul-nan", "A product of two numbers is a number.", "¬NaN(a · b)", _no_nan(lambda a, b: z3.fpMul(z3.RNE(), a, b)),
     _product, "mul-values-not-said", "0 times an infinity is NaN."),
    ("Div-nan", "Only 0 / 0 makes NaN of numbers.", "¬(a = 0 ∧ b = 0) ⇒ ¬NaN(a / b)", quotient_is_number, _quotient,
     "div-not-a-number-from-infinities", "So does an infinity divided by an infinity."),
    ("Div-by-zero", "What is not 0 divided by 0 is an infinity.", "b = 0 ∧ ¬(a = 0) ⇒ a / b = ±Inf", quotient_by_zero,
     _by_zero, "div-cases-of-not-a-number", "NaN is not 0 and stays NaN."),
    ("Div-zero-sign", "The sign of a quotient that is 0 is that of the divisor.", "sign(±0 / b) = sign(b)",
     sign_of_zero_quotient, _sign, "div-sign-of-zero", "The signs of both operands decide."),
    ("Max-above", "The maximum is at least each operand in the comparison of IEEE 754.", "max(a, b) ≥ a",
     maximum_is_above, _above, "max-formal-property", "NaN compares with nothing, and is the maximum where it occurs."),
    ("QuantizeLinear-scale", "A scale other than 0 is finite.", "s ≠ 0 ⇒ s finite", scale_is_finite, _scale,
     "quantize-scale-only-not-zero", "Infinities and NaN differ from 0."),
    ("QuantizeLinear-quotient", "The quotient of a finite element by a finite scale is finite.",
     "x, s finite, s ≠ 0 ⇒ x / s finite", quotient_is_finite, _overflow, "quantize-quotient-overflows",
     "It overflows for a small scale."),
    ("Acos-nan", "An element that is NaN lies in [-1, 1].", "NaN(x) ⇒ -1 ≤ x ≤ 1", is_within_one, _within,
     "acos-of-not-a-number", "NaN lies in no interval."),
    ("BatchNormalization-epsilon", "A positive epsilon stays positive in the type of X.", "ε > 0 ⇒ float16(ε) > 0",
     epsilon_stays_positive, _epsilon, "batch-normalization-epsilon-rounds-to-zero", "A small one rounds to 0."),
    ("BatchNormalization-order", "Scaling before or after the division gives the same.", "3 · (1 / b) = 3 / b",
     scaling_commutes, _scaling, "batch-normalization-order", "The quotient is rounded, and then the product."),
    ("LeakyRelu-alpha", "alpha means the same in the type of X.", "float16(α) = α", alpha_stays, _alpha,
     "leakyrelu-alpha-conversion", "It is stored as a float."),
]  # fmt: skip


def theorems() -> Iterator[Theorem]:
    """Statements of the texts about values, refuted."""
    for name, statement, formula, claim, fails, erratum, because in PAGES:
        yield Theorem(
            f"printed.{name}", statement, formula, _applied(claim), (errata()[erratum].place,), "refuted",
            "float16", "float",
            replay=_shown(fails), erratum=erratum, because=because,
        )  # fmt: skip


def _applied(claim: Claim) -> Callable[[], Iterator[Obligation]]:
    def obligations() -> Iterator[Obligation]:
        hypotheses, goal = claim(bit_format("float16"))
        yield Obligation("as printed", tuple(hypotheses), goal)

    return obligations
