"""Judging what an implementation gave: the kinds of its deviations from expected outputs, element by element."""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from sonnx.executor.distance import BOOL, INFINITY, INTEGER, NAN, NUMBER, STRING, ZERO, Incomparable, distance, show
from sonnx.numerics.draws import least_normal
from sonnx.numerics.formats import NAMES, TEXT, Array, format_of, is_small_float, patterns, widened
from sonnx.suite.expected import Ends

TYPE, SHAPE, MISSING = "type", "shape", "missing output"
ROUNDING, SUBNORMAL, VALUE = "rounding", "subnormal", "value"
REFUSED, FAULT, TIMES, ACCEPTED = "refused", "fault", "nondeterministic", "accepted"
KINDS = (
    NAN, INFINITY, ZERO, SUBNORMAL, ROUNDING, VALUE, INTEGER, BOOL, STRING, TYPE, SHAPE, MISSING, REFUSED, FAULT,
    TIMES, ACCEPTED,
)  # fmt: skip
"""The kinds of deviations: of elements, of outputs, and of runs."""


class JudgedDifference(Struct, frozen=True):
    """Elements of one kind of deviation: the first of them."""

    kind: str
    """What differs."""
    output: int
    """The number of the output."""
    at: tuple[int, ...] = ()
    """The index of the first element."""
    expected: str = ""
    """The expected element, type or shape."""
    actual: str = ""
    """What the implementation gave."""

    @property
    def stated_kind(self) -> str:
        """The kind by which an erratum states it: a number is a number, whether it has to be exact or not."""
        return NUMBER if self.kind in (VALUE, ROUNDING) else self.kind


def differences(number: int, actual: Array | None, expected: Array, ends: Ends | None) -> list[JudgedDifference]:
    """The deviations of one output; `ends` is None where it must be exact."""
    if actual is None:
        return [JudgedDifference(MISSING, number)]
    if actual.dtype != expected.dtype:
        names = (NAMES.get(array.dtype, str(array.dtype)) for array in (expected, actual))
        return [JudgedDifference(TYPE, number, (), *names)]
    if actual.shape != expected.shape:
        return [JudgedDifference(SHAPE, number, (), str([*expected.shape]), str([*actual.shape]))]
    return _exact(number, actual, expected) if ends is None else _within(number, actual, expected, ends)


def _exact(number: int, actual: Array, expected: Array) -> list[JudgedDifference]:
    try:
        apart = distance(actual, expected)
    except Incomparable as error:  # pragma: no cover  (type and shape are equal)
        return [JudgedDifference(TYPE, number, (), "", str(error))]
    judged_differences = [
        JudgedDifference(special.kind, number, special.at, special.exact, special.found)
        for special in apart.specials
        if special.kind != NAN
    ]
    judged_differences += _not_a_number(number, actual, expected)
    if apart.ulp and apart.at is not None:
        kind = SUBNORMAL if _flushed(actual[apart.at], expected[apart.at]) else VALUE
        judged_differences.append(JudgedDifference(kind, number, apart.at, apart.exact, apart.found))
    return judged_differences


def _not_a_number(number: int, actual: Array, expected: Array) -> list[JudgedDifference]:
    """A NaN for another element, and another element for a NaN: different errors, which different readings explain."""
    if format_of(expected.dtype) is None and not is_small_float(expected.dtype) and expected.dtype.kind != "c":
        return []
    with np.errstate(invalid="ignore"):  # a signaling NaN
        actual_nan, expected_nan = np.isnan(widened(actual)), np.isnan(widened(expected))
    return [
        _first(NAN, number, mask, actual, expected)
        for mask in (actual_nan & ~expected_nan, expected_nan & ~actual_nan)
        if mask.any()
    ]


def _first(kind: str, number: int, mask: Array, actual: Array, expected: Array) -> JudgedDifference:
    at = tuple(int(each) for each in np.argwhere(mask)[0])
    return JudgedDifference(kind, number, at, show(expected, at), show(actual, at))


def _flushed(actual: Array, expected: Array) -> bool:
    """Whether a zero was given where a subnormal number is expected."""
    number_format = format_of(expected.dtype)
    if number_format is None or expected.dtype == TEXT:
        return False
    magnitude = int(patterns(np.asarray(expected))) & (number_format.sign - 1)
    return bool(widened(np.asarray(actual)) == 0) and 0 < magnitude < least_normal(number_format)


def _within(number: int, actual: Array, expected: Array, ends: Ends) -> list[JudgedDifference]:
    """A NaN must be a NaN, and an element with ends must be between them; any other element passes."""
    wide, exact = widened(actual).astype(np.float64), widened(expected)
    outside = ~np.isnan(ends.lower) & ~((ends.lower <= wide) & (wide <= ends.upper))
    infinite, missing = np.isinf(wide) | np.isinf(exact), np.isnan(wide)
    masks = (
        (NAN, outside & missing),
        (NAN, np.isnan(exact) & ~missing),
        (INFINITY, outside & ~missing & infinite),
        (ROUNDING, outside & ~missing & ~infinite),
    )
    return [_first(kind, number, mask, actual, expected) for kind, mask in masks if mask.any()]
