"""The distance of values from the exact ones, and the first difference of two arrays.

Floating-point distance is counted in units in the last place (ulp): the number of steps from one representable value
to the next that lead from the exact value to the actual one; +0 and -0 are the same place.  A complex number is its
two parts.  NaN, infinities and the sign of zero have no distance: where they differ, that is counted separately, with
an example.  So is every integer, bool and string that differs.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Final, Literal

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from sonnx.base.escaping import quote
from sonnx.base.reported import HIDDEN, OptionalText, reported_as
from sonnx.numerics import small_floats
from sonnx.numerics.draws import least_normal
from sonnx.numerics.formats import NAMES, TEXT, Array, Format, format_of, is_small_float, patterns, widened
from sonnx.profile.definitions import DeviationKind
from sonnx.profile.text_types import Limit, Number

NAN: Final = "NaN"
INFINITY: Final = "infinity"
ZERO: Final = "sign of zero"
NUMBER: Final = "number"
SUBNORMAL: Final = "subnormal"
UNDERFLOW: Final = "underflow"
INTEGER: Final = "integer"
BOOL: Final = "bool"
STRING: Final = "string"
KINDS: tuple[DeviationKind, ...] = (NAN, INFINITY, INTEGER, BOOL, STRING, NUMBER, SUBNORMAL, UNDERFLOW, ZERO)
"""The kinds in which elements differ; floating-point numbers that differ otherwise have a distance."""
FLUSHED: frozenset[DeviationKind] = frozenset({SUBNORMAL, UNDERFLOW})
"""Kinds of numbers that are more than one step away from 0, and are 0 in the runtime: a subnormal one, and another."""
LEAST_FLUSHED = 2
"""Steps from 0 of the least number that counts as flushed: of the least one a single rounding error may make 0."""


class SpecialMismatch(Struct, frozen=True):
    """Elements that differ in kind, such as in being NaN, in the sign of a zero, or as integers."""

    kind: DeviationKind
    """What differs."""
    number: Annotated[int, Limit(ge=1)]
    """How many."""
    at: tuple[Number, ...]
    """The index of the first."""
    exact: str
    """The exact element there, with its bits."""
    found: str
    """The runtime's element there, with its bits."""


class UlpDistance(Struct, frozen=True):
    """Distances in steps between representable values, over the measured elements."""

    largest: Number
    """The largest distance."""
    mean: float
    """The mean distance."""


class AbsoluteDistance(Struct, frozen=True):
    """Distances of the numbers, in float64; the string "infinity" where JSON has no such number."""

    largest: float | Literal["infinity"]
    """The largest distance."""
    mean: float | Literal["infinity"]
    """The mean over the measured elements."""


class Distance(Struct, frozen=True):
    """How far the values of one or several runs are from the exact ones."""

    elements: Number
    """Elements of all runs."""
    identical: Number
    """Elements that are the same bit for bit, all NaNs being one value."""
    measured: Number
    """Elements that are finite on both sides."""
    ulp: Annotated[int | None, HIDDEN]
    """The largest distance in ulp of a measured element; None for integers, bool and strings."""
    ulp_sum: Annotated[float, HIDDEN]
    absolute: Annotated[float, HIDDEN]
    """The largest absolute distance of a measured element."""
    absolute_sum: Annotated[float, HIDDEN]
    at: tuple[Number, ...] | None = None
    """The index of the largest distance; null where there is none."""
    exact: OptionalText = ""
    """The exact element there, with its bits."""
    found: OptionalText = ""
    """The runtime's element there, with its bits."""
    specials: tuple[SpecialMismatch, ...] = ()
    """Elements whose kind differs."""

    @property
    def ulp_mean(self) -> float:
        """The mean distance in ulp over the measured elements."""
        return self.ulp_sum / self.measured if self.measured else 0.0

    @property
    @reported_as("ulp")
    def ulp_distance(self) -> UlpDistance | None:
        """Distances in ulp; null for integers, bool and strings."""
        return None if self.ulp is None else UlpDistance(self.ulp, self.ulp_mean)

    @property
    @reported_as("absolute")
    def absolute_distance(self) -> AbsoluteDistance:
        """Distances of the numbers."""
        mean = self.absolute_sum / self.measured if self.measured else 0.0
        return AbsoluteDistance(_finite(self.absolute), _finite(mean))

    def __add__(self, other: Distance) -> Distance:
        """The distances of two runs together, with the example of the run that is worse."""
        worse = self if _rank(self) >= _rank(other) else other
        ulp = None if self.ulp is None or other.ulp is None else max(self.ulp, other.ulp)
        return Distance(
            self.elements + other.elements,
            self.identical + other.identical,
            self.measured + other.measured,
            ulp,
            self.ulp_sum + other.ulp_sum,
            max(self.absolute, other.absolute),
            self.absolute_sum + other.absolute_sum,
            worse.at,
            worse.exact,
            worse.found,
            tuple(_merged(self.specials, other.specials)),
        )


def _finite(value: float) -> float | Literal["infinity"]:
    """JSON has no infinity."""
    return value if value - value == 0 else "infinity"


class Incomparable(Exception):
    """The two arrays differ in type or shape; the message says how."""


def distance(actual: Array, exact: Array, further: Collection[DeviationKind] = ()) -> Distance:
    """The distance of every element of `actual` from that of `exact`, of the same type and shape.

    Args:
        actual: the elements of the runtime.
        exact: the exact elements.
        further: the kinds among `NUMBER` and those of `FLUSHED` that are counted: they are faults of some operators,
            and what rounding does to others.

    Raises:
        Incomparable: another type or shape.
    """
    for what, of_actual, of_exact in (
        ("type", NAMES.get(actual.dtype, str(actual.dtype)), NAMES.get(exact.dtype, str(exact.dtype))),
        ("shape", list(actual.shape), list(exact.shape)),
    ):
        if of_actual != of_exact:
            raise Incomparable(f"its {what} is {of_actual}, not {of_exact}")
    actual, exact = (np.ascontiguousarray(array).reshape(array.shape) for array in (actual, exact))
    with np.errstate(all="ignore"):  # an array of rank 0 warns of integers that wrap around
        if exact.dtype == TEXT:
            return _strings(actual, exact)
        if exact.dtype.kind == "c":
            return distance(_parts(actual), _parts(exact), further)
        if format_of(exact.dtype) is not None or is_small_float(exact.dtype):
            return _floating(actual, exact, further)
        return _integers(widened(actual), widened(exact))


def _strings(actual: Array, exact: Array) -> Distance:
    """Strings are identical or not; none has a distance."""
    same = actual == exact
    distance = Distance(
        exact.size,
        int(np.count_nonzero(same)),
        0,
        None,
        0.0,
        0.0,
        0.0,
        specials=_mismatches({STRING: ~same}, actual, exact),
    )
    return distance if same.all() else _at(distance, _first(~same), actual, exact)


def _parts(values: Array) -> Array:
    """Complex numbers as their real and imaginary parts, along a last axis."""
    return np.stack([values.real, values.imag], -1)


def _integers(actual: Array, exact: Array) -> Distance:
    same = actual == exact
    high, low = np.maximum(actual, exact), np.minimum(actual, exact)
    apart = high.astype(np.uint64) - low.astype(np.uint64)  # of 64-bit integers it is at most an unsigned one
    at = _first(apart == apart.max()) if apart.size and not same.all() else None
    distance = Distance(
        elements=exact.size,
        identical=int(np.count_nonzero(same)),
        measured=exact.size,
        ulp=None,
        ulp_sum=0.0,
        absolute=float(apart.max()) if apart.size else 0.0,
        absolute_sum=float(apart.sum(dtype=np.float64)),
        specials=_mismatches({BOOL if exact.dtype == np.bool_ else INTEGER: ~same}, actual, exact),
    )
    return distance if at is None else _at(distance, at, actual, exact)


def _floating(actual: Array, exact: Array, further: Collection[DeviationKind]) -> Distance:
    """The distance of floating-point numbers, in steps between representable values and as real numbers."""
    number_format = format_of(exact.dtype)
    if number_format is None:
        places, steps = _listed_places(actual, exact)
    else:
        places, steps = _places(actual, exact, number_format)
    nan, infinite = ([test(widened(array)) for array in (actual, exact)] for test in (np.isnan, np.isinf))
    same = (patterns(actual) == patterns(exact)) | (nan[0] & nan[1])
    plain = ~(nan[0] | nan[1] | infinite[0] | infinite[1])
    apart = np.abs(widened(actual).astype(np.float64) - widened(exact).astype(np.float64))
    steps, apart = np.where(plain, steps, 0), np.where(plain, apart, 0.0)
    largest = int(steps.max()) if steps.size else 0
    differ: dict[DeviationKind, Array] = {
        NAN: nan[0] != nan[1],
        INFINITY: (infinite[0] | infinite[1]) & ~same & ~nan[0] & ~nan[1],
        ZERO: (places[0] == 0) & (places[1] == 0) & ~same,
    }
    if NUMBER in further:
        differ[NUMBER] = plain & (steps != 0)
    if number_format is not None and FLUSHED.intersection(further):
        flushed = plain & (places[0] == 0) & (places[1] >= LEAST_FLUSHED)
        is_subnormal = places[1] < least_normal(number_format)
        differ |= {SUBNORMAL: flushed & is_subnormal, UNDERFLOW: flushed & ~is_subnormal}
    result = Distance(
        elements=exact.size,
        identical=int(np.count_nonzero(same)),
        measured=int(np.count_nonzero(plain)),
        ulp=largest,
        ulp_sum=float(steps.sum(dtype=np.float64)),
        absolute=float(apart.max()) if apart.size else 0.0,
        absolute_sum=float(apart.sum()),
        specials=_mismatches(differ, actual, exact),
    )
    return _at(result, _first(steps == largest), actual, exact) if largest else result


def _mismatches(differ: Mapping[DeviationKind, Array], actual: Array, exact: Array) -> tuple[SpecialMismatch, ...]:
    """The elements of each kind, where there are any."""
    return tuple(
        SpecialMismatch(kind, number, at := _first(mask), show(exact, at), show(actual, at))
        for kind, mask in differ.items()
        if (number := int(np.count_nonzero(mask)))
    )


def _places(actual: Array, exact: Array, number_format: Format) -> tuple[list[Array], Array]:
    """The magnitudes of both as integers, and the steps between them; both zeros are one place."""
    magnitudes, signed = [], []
    for values in (actual, exact):
        pattern = patterns(values).astype(np.uint64)
        magnitude = pattern & np.uint64(number_format.sign - 1)
        magnitudes.append(magnitude)
        signed.append(
            np.where(pattern >= np.uint64(number_format.sign), np.uint64(0) - magnitude, magnitude).view(np.int64)
        )
    high, low = np.maximum(*signed), np.minimum(*signed)
    return magnitudes, high.view(np.uint64) - low.view(np.uint64)


def _listed_places(actual: Array, exact: Array) -> tuple[list[Array], Array]:
    """As `_places`, for a type of at most eight bits: a magnitude is its place among all magnitudes of the type."""
    every = np.abs(np.array(small_floats.numbers(NAMES[exact.dtype])))
    listed = np.unique(every[np.isfinite(every)])
    wide = [widened(array).astype(np.float64) for array in (actual, exact)]
    places = [np.searchsorted(listed, np.abs(array)) * (array != 0) for array in wide]
    signed = [np.where(np.signbit(array), -place, place) for array, place in zip(wide, places, strict=True)]
    return places, np.abs(signed[0] - signed[1])


def _at(distance: Distance, at: tuple[int, ...], actual: Array, exact: Array) -> Distance:
    return replace(distance, at=at, exact=show(exact, at), found=show(actual, at))


def _first(mask: Array) -> tuple[int, ...]:
    """The index of the first true element."""
    index = np.unravel_index(int(np.argmax(mask)), mask.shape) if mask.ndim else ()
    return tuple(int(coordinate) for coordinate in index)


def _rank(distance: Distance) -> tuple[float, float]:
    return (distance.ulp or 0, distance.absolute)


def _merged(
    first_run: tuple[SpecialMismatch, ...], second_run: tuple[SpecialMismatch, ...]
) -> Iterator[SpecialMismatch]:
    for kind in KINDS:
        of_kind = [mismatch for mismatch in (*first_run, *second_run) if mismatch.kind == kind]
        if of_kind:
            example = of_kind[0]
            yield SpecialMismatch(
                kind,
                sum(mismatch.number for mismatch in of_kind),
                example.at,
                example.exact,
                example.found,
            )


@dataclass(frozen=True, slots=True)
class Difference:
    """The first difference in row-major order, as text, and how many elements differ."""

    place: str
    found: str
    wanted: str
    number: int
    of: int


def first_difference(actual: Array, expected: Array, *, bits: bool = False) -> Difference | None:
    """Compare type, shape and elements; all NaNs are one value unless `bits` asks for every bit.

    +0 and -0 are different values.
    """
    for place, of_actual, of_expected in (
        ("type", _type(actual), _type(expected)),
        ("shape", actual.shape, expected.shape),
    ):
        if of_actual != of_expected:
            return Difference(
                f"in its {place}", str(_listed(of_actual)), str(_listed(of_expected)), actual.size, actual.size
            )
    differs = np.atleast_1d(_differing(actual, expected, bits))
    number = int(np.count_nonzero(differs))
    if not number:
        return None
    index = np.unravel_index(int(np.argmax(differs)), differs.shape)[: actual.ndim]
    at = tuple(int(coordinate) for coordinate in index)
    return Difference(f"at {list(at)}", show(actual, at), show(expected, at), number, actual.size)


def _listed(value: object) -> object:
    return list(value) if isinstance(value, tuple) else value


def _type(values: Array) -> str:
    return NAMES.get(values.dtype, str(values.dtype))


def _differing(actual: Array, expected: Array, bits: bool) -> Array:
    number_format = format_of(actual.dtype)
    if actual.dtype.kind == "c":
        either: Array = np.any(_differing(_parts(actual), _parts(expected), bits), axis=-1)
        return either
    differs: Array = patterns(actual) != patterns(expected)
    if bits:
        return differs
    if number_format is None:
        small = is_small_float(actual.dtype)
        return differs & ~(np.isnan(widened(actual)) & np.isnan(widened(expected))) if small else differs
    are_nan = [
        values & (number_format.sign - 1) > number_format.infinity for values in (patterns(actual), patterns(expected))
    ]
    return differs & ~(are_nan[0] & are_nan[1])


def show(values: Array, at: tuple[int, ...]) -> str:
    """An element as its value and, for floating point, its bits."""
    element = values[at]
    if values.dtype == TEXT:
        return quote(element)
    if format_of(values.dtype) is None and not is_small_float(values.dtype):
        return str(element)
    return f"{element} (0x{int(patterns(values)[at]):0{2 * values.dtype.itemsize}x})"
