"""Where Resize samples an axis: the place of each output in the coordinates of the input, and the weights there.

All of it is exact: scales, regions and coefficients are the rationals that their floats are (decision 0007).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor
from typing import TypeAlias

from sonnx.base.errors import NotExecutable

Taps: TypeAlias = tuple[tuple[int, Fraction], ...]
"""Elements of the input along an axis, by their indices, with weights that are not 0 and add up to 1."""

HALF = Fraction(1, 2)


@dataclass(frozen=True, slots=True)
class Axis:
    """An axis that is resized: `length_original` elements become `count`.

    `length_resized` is length_original * scale, where a region is cut out times its extent, and need not be whole.
    `region` is its start and end, in parts of the axis.
    """

    length_original: int
    count: int
    scale: Fraction
    length_resized: Fraction
    region: tuple[Fraction, Fraction]


def _half_pixel(x: int, axis: Axis) -> Fraction:
    return (x + HALF) / axis.scale - HALF


def _half_pixel_symmetric(x: int, axis: Axis) -> Fraction:
    adjustment = axis.count / axis.length_resized
    return Fraction(axis.length_original, 2) * (1 - adjustment) + _half_pixel(x, axis)


def _pytorch_half_pixel(x: int, axis: Axis) -> Fraction:
    return _half_pixel(x, axis) if axis.length_resized > 1 else Fraction(0)


def _align_corners(x: int, axis: Axis) -> Fraction:
    """Of an axis of one element, where the formula is 0 / 0, the first (erratum resize-one-corner)."""
    return x * (axis.length_original - 1) / (axis.length_resized - 1) if x else Fraction(0)


def _asymmetric(x: int, axis: Axis) -> Fraction:
    return x / axis.scale


def _tf_half_pixel_for_nn(x: int, axis: Axis) -> Fraction:
    return (x + HALF) / axis.scale


def _tf_crop_and_resize(x: int, axis: Axis) -> Fraction:
    last, (start, end) = axis.length_original - 1, axis.region
    if axis.length_resized > 1:
        return start * last + x * (end - start) * last / (axis.length_resized - 1)
    return HALF * (start + end) * last


CROPPING = "tf_crop_and_resize"

COORDINATES: Mapping[str, Callable[[int, Axis], Fraction]] = {
    "half_pixel": _half_pixel,
    "half_pixel_symmetric": _half_pixel_symmetric,
    "pytorch_half_pixel": _pytorch_half_pixel,
    "align_corners": _align_corners,
    "asymmetric": _asymmetric,
    "tf_half_pixel_for_nn": _tf_half_pixel_for_nn,
    CROPPING: _tf_crop_and_resize,
}
"""x_original of x_resized, by coordinate_transformation_mode."""


def _round_prefer_floor(x: Fraction) -> int:
    return ceil(x - HALF)


def _round_prefer_ceil(x: Fraction) -> int:
    return floor(x + HALF)


NEAREST: Mapping[str, Callable[[Fraction], int]] = {
    "round_prefer_floor": _round_prefer_floor,
    "round_prefer_ceil": _round_prefer_ceil,
    "floor": floor,
    "ceil": ceil,
}
"""The element next to a place, by nearest_mode."""


@dataclass(frozen=True, slots=True)
class Filter:
    """The weight of an element by its distance from a place, 0 from `reach` on."""

    weight: Callable[[Fraction], Fraction]
    reach: int


def _linear(distance: Fraction) -> Fraction:
    return 1 - distance


LINEAR = Filter(_linear, 1)


def cubic(a: Fraction) -> Filter:
    """R. Keys, "Cubic Convolution Interpolation for Digital Image Processing", 1981, equation (4), for any a."""

    def weight(distance: Fraction) -> Fraction:
        if distance <= 1:
            return ((a + 2) * distance - (a + 3)) * distance**2 + 1
        return ((distance - 5) * distance + 8) * distance * a - 4 * a

    return Filter(weight, 2)


def around(x: Fraction, filter_: Filter, stretch: Fraction) -> dict[int, Fraction]:
    """The elements about a place with their weights; the filter is stretched by a factor, the weights have any sum."""
    reach = filter_.reach * stretch
    return {i: filter_.weight(abs(i - x) / stretch) for i in range(floor(x - reach) + 1, ceil(x + reach))}


def taps(weights: Mapping[int, Fraction], extent: int, exclude_outside: bool) -> Taps:
    """Sampling locations as elements of the axis.

    Beyond an end stands the last element there is (erratum resize-beyond-the-ends), or nothing with exclude_outside;
    what stays is brought to a sum of 1.

    Raises:
        NotExecutable: it cannot be.
    """
    kept = {i: w for i, w in weights.items() if w and (not exclude_outside or 0 <= i < extent)}
    whole = sum(kept.values())
    if whole == 0:
        raise NotExecutable("the weights of an element add up to 0, and no text says what is sampled there")
    return tuple((min(max(i, 0), extent - 1), w / whole) for i, w in kept.items())
