"""What rules know of an array: its element type, its shape, and the elements of a short list."""

from __future__ import annotations

from typing import Any

import numpy as np

from sonnx.graph.environment import MAX_RULE_ELEMENTS
from sonnx.language.evaluator import MAX_PARAMETER_ELEMENTS, RUN_TIME, TensorFacts, Unknown, UnknownCause
from sonnx.numerics.formats import MAX_AXES, NAMES, Array, format_of, is_integer, is_small_float

MAX_LISTED_FLOATS = 2 * MAX_AXES
"""Floating-point elements of a list that rules get: a scale, or a start and an end, for each axis."""

MAX_LISTED_BOOLS = 1
"""Truth values that rules get: a parameter is one of them, never a list."""


class ActualValues:
    """The elements of an array, read when a rule needs them."""

    __slots__ = ("array",)

    def __init__(self, array: Array) -> None:
        self.array = array

    def read(self) -> tuple[Any, ...] | Unknown:
        """The elements in row-major order; unknown where they are too many, or not numbers."""
        if not listable(self.array.dtype):
            return Unknown(UnknownCause.NOT_STATED, "the value is not a list of numbers")
        if self.array.size > MAX_RULE_ELEMENTS:
            return Unknown(UnknownCause.NOT_STATED, "the value is too large to read")
        return tuple(self.array.reshape(-1).tolist())


def listable(kind: np.dtype[Any]) -> bool:
    """Whether rules read the elements of a type: numbers that have an order."""
    return is_integer(kind) or is_small_float(kind) or format_of(kind) is not None


def facts_of_array(array: Array, *, all_values: bool = False) -> TensorFacts:
    """The facts of an array: type, shape, and the elements of a short list or a scalar; of any array if `all_values`.

    Rules read elements where these are a parameter: axes, a shape, a scale, a bound.  A longer list is data: operators
    decide the rules about its elements (`Operator.error_conditions`), and calls that differ in data only are prepared
    once.
    """
    kind = array.dtype
    if is_integer(kind):
        most = MAX_PARAMETER_ELEMENTS
    elif kind == np.bool_:
        most = MAX_LISTED_BOOLS
    else:
        most = MAX_LISTED_FLOATS if listable(kind) else 0
    if most and array.size <= most and (all_values or array.ndim <= 1):
        values: Any = tuple(array.reshape(-1).tolist())
    else:
        values = ActualValues(array) if all_values else RUN_TIME
    return TensorFacts(NAMES[kind], array.shape, values)
