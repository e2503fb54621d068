"""Range: Y[i] = S + i * D for 0 <= i < K, K = max(ceil((L - S) / D), 0); rounded once.

SONNX Range of 2026-08; ONNX Range-11 to Range-27.  K is exact, over the rationals (erratum range-length-exact); so is
the sum, which is rounded once (erratum range-element-rounding).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np

from sonnx.base.errors import NotExecutable
from sonnx.numerics.application import Application, Definition, Kernel, NoValue
from sonnx.numerics.blocks import BLOCK_ELEMENTS
from sonnx.numerics.certified_rounding import Bound, certify_block
from sonnx.numerics.correctly_rounded import from_mpfr, is_infinite, is_nan, rounding_context, to_mpfr
from sonnx.numerics.elementwise import elements, integer_array
from sonnx.numerics.enclosures import sums
from sonnx.numerics.enclosures.values import Context, Transfer, Value
from sonnx.numerics.formats import ELEMENTS, Array, format_of
from sonnx.operators.operator import Operator

DELTA_NOT_ZERO, NUMBERS_FINITE = "Range.delta-not-zero", "Range.numbers-finite"

BOUND = Bound(2.0**-52)

MAX_ROUNDED_LENGTH = 1 << 20
"""Elements of a result by another reading."""

MAX_APPROXIMATED = 1 << 29
"""Elements up to which i has no more digits than float leaves of float64."""


def define(application: Application, inputs: Sequence[Array]) -> tuple[Array]:
    """Y, of rank 1 and the type of S, L and D.

    Raises:
        NoValue: Range.delta-not-zero, Range.numbers-finite.
    """
    kind = inputs[0].dtype
    S, L, D = parameters(inputs)
    return (_items(S, D, length(S, L, D), kind),)


def _items(S: Any, D: Any, K: int, kind: np.dtype[Any]) -> Array:
    """The first K elements."""
    if format_of(kind) is None:
        return integer_array([S + i * D for i in range(K)], kind, (K,))
    return np.array([item(i, S, D, kind) for i in range(K)], kind)


def parameters(inputs: Sequence[Array]) -> list[Any]:
    """S, L and D.

    Raises:
        NoValue: Range.delta-not-zero, Range.numbers-finite.
    """
    S, L, D = ends = [elements(operand)[0] for operand in inputs]
    if format_of(inputs[0].dtype) is not None and any(is_nan(end) or is_infinite(end) for end in ends):
        raise NoValue(NUMBERS_FINITE, f"start, limit and step are {S}, {L}, {D}")
    if D == 0:
        raise NoValue(DELTA_NOT_ZERO, "the step is 0")
    return ends


def item(i: int, S: Any, D: Any, kind: np.dtype[Any]) -> Any:
    """Element i of floats."""
    return from_mpfr([rounding_context(kind).fma(to_mpfr(i), D, S)], kind, [1])[0]


def length(S: Any, L: Any, D: Any) -> int:
    """The number of elements."""
    s, ell, d = (Fraction(*map(int, part.as_integer_ratio())) for part in (S, L, D))
    return max(-((s - ell) // d), 0)


Quotient: TypeAlias = Callable[[Array, Array, Array], float]
"""(L - S) / D with rounding."""

QUOTIENTS: tuple[Quotient, ...] = (
    lambda S, L, D: math.nan if format_of(S.dtype) is None else float((L - S) / D),
    lambda S, L, D: float((L.astype(np.float64) - S.astype(np.float64)) / D.astype(np.float64)),
    lambda S, L, D: float((_fraction(L) - _fraction(S)) / _fraction(D)),
)
"""In the element type of floats; in double; and the exact quotient rounded to double.  A difference of integers that
wraps around is none of them.
"""


def with_rounded_length(quotient: Quotient) -> Definition:
    """Y with as many elements as a rounded quotient says, a reading of erratum range-length-exact."""

    def define_with_length(application: Application, inputs: Sequence[Array]) -> tuple[Array]:
        S, _, D = parameters(inputs)
        rounded = quotient(*inputs)
        if not abs(rounded) < MAX_ROUNDED_LENGTH:
            raise NoValue(NUMBERS_FINITE, f"{rounded} elements")
        return (_items(S, D, max(math.ceil(rounded), 0), inputs[0].dtype),)

    return define_with_length


def _fraction(number: Array) -> Fraction:
    return Fraction(*map(int, elements(number)[0].as_integer_ratio()))


def kernel(application: Application) -> Kernel:
    """S + i D in float64, where the product is exact and the sum rounded once; integers modulo 2^n."""

    def ranged(inputs: Sequence[Any], out: Array) -> Array:
        S, _, D = parameters(inputs)
        if format_of(out.dtype) is None:
            np.multiply(np.arange(out.size).astype(out.dtype), inputs[2], out=out)
            np.add(out, inputs[0], out=out)
        elif out.dtype == ELEMENTS["double"] or out.size > MAX_APPROXIMATED:
            np.copyto(out, define(application, inputs)[0])
        else:
            application.count(out.size, _real(S, D, out, application.block(BLOCK_ELEMENTS)))
        return out

    return ranged


def _real(S: Any, D: Any, out: Array, block: int) -> int:
    """The elements of floats; how many took the exact path."""
    count = 0
    for start in range(0, out.size, block):
        piece = out[start : start + block]
        y = np.arange(start, start + piece.size) * float(D) + float(S)
        undecided = certify_block(y, BOUND, piece)
        zero = y == 0  # the definition decides its sign
        places = np.nonzero(zero if undecided is None else zero | undecided)[0]
        for i in places:
            piece[i] = item(start + int(i), S, D, out.dtype)
        count += len(places)
    return count


def bound(context: Context, inputs: Sequence[Value | None]) -> list[Transfer]:
    """The transfer function of ranges and errors: of constants, S + i D or S with D added i times.

    Raises:
        NotExecutable: a number is not constant.
    """
    if any(operand is None or operand.exact is None for operand in inputs):
        raise NotExecutable("Range has a bound for constants only")
    S, L, D = (float(operand.low) for operand in inputs if operand is not None)
    return [sums.progression(context, S, D, length(S, L, D))]


OPERATOR = Operator(
    name="Range",
    define=define,
    kernel=kernel,
    bound=bound,
    other_readings={"range-length-exact": tuple(map(with_rounded_length, QUOTIENTS))},
)
