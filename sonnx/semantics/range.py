"""Range: Y[i] = S + i * D for 0 <= i < K, K = max(ceil((L - S) / D), 0); rounded once.

SONNX Range of 2026-08; ONNX Range-11 to Range-27.  K is exact, over the rationals (erratum range-length-exact); so is
the sum, which is rounded once (erratum range-element-rounding).
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from sonnx.semantics.application import Application, NoValue
from sonnx.semantics.elementwise import elements, whole
from sonnx.semantics.formats import Array, format_of
from sonnx.semantics.reals import array, is_infinite, is_nan, nearest, number

OPERATOR = "Range"
RULES = ("Range.delta-not-zero", "Range.numbers-finite")


def evaluate(application: Application, inputs: Sequence[Array]) -> tuple[Array]:
    """Y, of rank 1 and the type of S, L and D.

    Raises:
        NoValue: Range.delta-not-zero, Range.numbers-finite.
    """
    kind = inputs[0].dtype
    S, L, D = parameters(inputs)
    K = length(S, L, D)
    if format_of(kind) is None:
        return (whole([S + i * D for i in range(K)], kind, (K,)),)
    return (np.array([item(i, S, D, kind) for i in range(K)], kind),)


def parameters(inputs: Sequence[Array]) -> list[Any]:
    """S, L and D.

    Raises:
        NoValue: Range.delta-not-zero, Range.numbers-finite.
    """
    S, L, D = ends = [elements(each)[0] for each in inputs]
    if format_of(inputs[0].dtype) is not None and any(is_nan(each) or is_infinite(each) for each in ends):
        raise NoValue(RULES[1], f"start, limit and step are {S}, {L}, {D}")
    if D == 0:
        raise NoValue(RULES[0], "the step is 0")
    return ends


def item(i: int, S: Any, D: Any, kind: np.dtype[Any]) -> Any:
    """Element i of floats."""
    return array([nearest(kind).fma(number(i), D, S)], kind, [1])[0]


def length(S: Any, L: Any, D: Any) -> int:
    """The number of elements."""
    s, ell, d = (Fraction(*map(int, each.as_integer_ratio())) for each in (S, L, D))
    return max(-((s - ell) // d), 0)
