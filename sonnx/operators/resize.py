"""Resize: Y[i] = the sum of w_k X[k] over the elements X[k] about the place of i in X, their weights adding up to 1.

ONNX Resize-10 to Resize-19; no SONNX text yet.  The place on each axis follows from coordinate_transformation_mode, the
weights from mode: all for the element nearest to it, or those of a linear or cubic filter, on several axes their
products.  Places and weights are exact, and the exact sum is rounded once (decision 0007).  An element of weight 0 does
not enter.  Elements of other types than floating-point numbers are moved by nearest only.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import product
from math import isfinite, prod
from typing import Any

import numpy as np

from sonnx.base.errors import NotExecutable
from sonnx.numerics.application import Application, Kernel, optional, required
from sonnx.numerics.certified_rounding import UNIT, certify
from sonnx.numerics.enclosures import arithmetic, layout, sums
from sonnx.numerics.enclosures.values import Context, Transfer, Value
from sonnx.numerics.exact_sums import Number, numbers, rounded, store, times, total
from sonnx.numerics.formats import ELEMENTS, NAMES, Array, format_of, patterns
from sonnx.numerics.sampling import COORDINATES, CROPPING, LINEAR, NEAREST, Axis, Filter, Taps, around, cubic, taps
from sonnx.numerics.summation import round_total, total_of
from sonnx.operators.operator import Operator

STATED_SINCE = 11
"""The version from which the text says where the places lie (erratum resize-10-without-places)."""

OUTPUT_ELEMENTS = 1 << 18
"""Elements of the output that are computed at a time; at least one plane."""

MIN_WEIGHT = Fraction(1, 2**700)
"""Products with no smaller weight, of elements of at most 32 bits, are normal numbers of float64 or 0."""

MAX_EXACT_DIGITS = 53 - 24
"""Digits of a weight whose product with an element of at most 32 bits is exact in float64."""

BY_RESIZED_LENGTH = ("align_corners", "pytorch_half_pixel", "half_pixel_symmetric", CROPPING)
"""Where the place depends on length_resized, of which implementations take off the fractional part."""

SCALE_ROUNDED = Fraction(1, 2**23)
"""How far a resized length may be from a whole one, relative, because its scale is rounded to float."""

EXACT_BY_POWERS = ("half_pixel", "pytorch_half_pixel", "asymmetric", "tf_half_pixel_for_nn")
"""Where the place is a quotient by the scale and a half, exact in float for a scale that is a power of two."""

MAX_EXACT_PLACES = 1 << 20
"""Places of an axis with a scale that is a power of two up to which float has each of them."""

Sampling = tuple[Taps | None, ...]
"""For each place of an axis the elements that are sampled; None where extrapolation_value stands."""


def define(application: Application, inputs: Sequence[Array | None]) -> tuple[Array]:
    """Y, of the type of X."""
    [X] = required(inputs, 1)
    sampled = samplings(application, inputs)
    Y = np.zeros([len(sampling) for sampling in sampled], X.dtype)
    if Y.size and moves_only(sampled):
        Y = moved(X, sampled)
    elif Y.size:
        elements = np.array(numbers(X), object).reshape(X.shape)
        for index in np.ndindex(Y.shape):
            store_sum(Y, index, elements, sampled)
    fill(application, Y, sampled)
    return (Y,)


def samplings(application: Application, inputs: Sequence[Array | None]) -> list[Sampling]:
    """For each axis of X what its places sample; nothing where Y has no element.

    Raises:
        NotExecutable: no text says what they sample.
    """
    [X], names = required(inputs, 1), application.names
    if format_of(X.dtype) is None and names["mode"] != "nearest":
        raise NotExecutable(f"no text says how an average of elements of type {NAMES[X.dtype]} is rounded")
    for flag in ("exclude_outside", "antialias"):
        number = application.parameter(flag)
        if number not in (0, 1):
            raise NotExecutable(f"{flag} is {number}, and no text says what a number but 0 and 1 means")
    samplings: list[Sampling] = [tuple(((i, Fraction(1)),) for i in range(extent)) for extent in X.shape]
    counts = dict(zip(names["named"], names["resized"], strict=False))
    if 0 in counts.values() or 0 in [extent for k, extent in enumerate(X.shape) if k not in counts]:
        return [(None,) * counts.get(k, extent) for k, extent in enumerate(X.shape)]
    for axis, k in zip(axes(application, X, inputs[1]), counts, strict=True):
        samplings[k] = tuple(place(application, x, axis) for x in range(axis.count))
    return samplings


def axes(application: Application, X: Array, roi: Array | None) -> list[Axis]:
    """The axes that are resized, in the order in which they are named.

    Raises:
        NotExecutable: one has no element.
    """
    names = application.names
    lengths, counts, sizes = [X.shape[k] for k in names["named"]], names["resized"], application.parameter("sizes")
    if 0 in lengths:
        raise NotExecutable(f"axis {names['named'][lengths.index(0)]} of X has no element to sample")
    crops = names.get("coordinate_transformation_mode") == CROPPING
    regions = region(roi, len(lengths)) if crops else [(Fraction(0), Fraction(1))] * len(lengths)
    if len(sizes):
        scales = wanted(sizes, lengths, application.parameter("keep_aspect_ratio_policy"))
        resized = [length * scale for length, scale in zip(lengths, scales, strict=True)]
    else:
        scales = [Fraction(scale) for scale in names["scales"]]
        sides = zip(lengths, scales, regions, strict=False)
        resized = [length * scale * (end - start) for length, scale, (start, end) in sides]
    return [Axis(*row) for row in zip(lengths, counts, scales, resized, regions, strict=False)]


def wanted(sizes: Sequence[int], lengths: Sequence[int], policy: str) -> list[Fraction]:
    """The scales that sizes mean: length_resized / length_original, one for all axes where the policy says so."""
    ratios = [Fraction(size, length) for size, length in zip(sizes, lengths, strict=True)]
    if policy == "stretch":
        return ratios
    return [min(ratios) if policy == "not_larger" else max(ratios)] * len(ratios)


def region(roi: Array | None, count: int) -> list[tuple[Fraction, Fraction]]:
    """Start and end of the region on each axis.

    Raises:
        NotExecutable: it is missing, or has a number that is not finite.
    """
    if roi is None or roi.shape != (2 * count,):
        raise NotExecutable("roi does not name a start and an end for each axis that is resized")
    with np.errstate(all="ignore"):
        values = roi.astype(np.float64).tolist()
    if not all(map(isfinite, values)):
        raise NotExecutable("roi has a number that is not finite")
    return [(Fraction(start), Fraction(end)) for start, end in zip(values[:count], values[count:], strict=True)]


def place(application: Application, x: int, axis: Axis) -> Taps | None:
    """The elements that one place of an axis samples, with their weights; None for extrapolation."""
    names, stated = application.names, application.version >= STATED_SINCE
    how = names["coordinate_transformation_mode"] if stated else "asymmetric"
    at = COORDINATES[how](x, axis)
    if how == CROPPING and not 0 <= at <= axis.length_original - 1:
        return None
    exclude = bool(application.parameter("exclude_outside"))
    if names["mode"] == "nearest":
        pick = names["nearest_mode"] if stated else "floor" if axis.scale >= 1 else "ceil"
        return taps({NEAREST[pick](at): Fraction(1)}, axis.length_original, exclude)
    stretch = 1 / min(axis.scale, Fraction(1)) if application.parameter("antialias") else Fraction(1)
    return taps(around(at, filter_of(application), stretch), axis.length_original, exclude)


def filter_of(application: Application) -> Filter:
    """The filter of mode linear or cubic.

    Raises:
        NotExecutable: cubic_coeff_a is not finite.
    """
    if application.names["mode"] == "linear":
        return LINEAR
    coefficient = application.names["cubic_coeff_a"]
    if not isfinite(coefficient):
        raise NotExecutable(f"cubic_coeff_a is {coefficient}, which is not finite")
    return cubic(Fraction(coefficient))


def moves_only(sampled: Sequence[Sampling]) -> bool:
    """Whether each element of Y is one of X, or extrapolation_value."""
    return all(each is None or len(each) == 1 for sampling in sampled for each in sampling)


def moved(X: Array, sampled: Sequence[Sampling]) -> Array:
    """Y where it is that; where extrapolation_value stands, any element."""
    Y = X.copy()
    for k, sampling in enumerate(sampled):
        from_ = [row[0][0] if row else 0 for row in sampling]
        if from_ != list(range(X.shape[k])):
            Y = np.take(Y, from_, k)
    return Y


def store_sum(Y: Array, index: Sequence[int], elements: Array, sampled: Sequence[Sampling]) -> None:
    """Put one weighted sum into Y; `elements` are the numbers of X."""
    addends: list[Number] = []
    for choice in product(*[sampling[i] or () for sampling, i in zip(sampled, index, strict=True)]):
        weight = prod((w for _, w in choice), start=Fraction(1))
        addends.append(times(weight, elements[tuple(i for i, _ in choice)]))
    store(Y, tuple(index), total(addends))


def fill(application: Application, Y: Array, sampled: Sequence[Sampling]) -> None:
    """Write extrapolation_value where it stands."""
    for k, sampling in enumerate(sampled):
        outside = [i for i, each in enumerate(sampling) if each is None]
        if outside and Y.size:
            value = extrapolation(application.names["extrapolation_value"], Y.dtype)
            patterns(np.moveaxis(Y, k, 0))[outside] = value


def extrapolation(value: float, kind: np.dtype[Any]) -> int:
    """extrapolation_value as an element: of a floating-point type rounded once.

    Raises:
        NotExecutable: an integer type does not have it.
    """
    if format_of(kind) is not None:
        return rounded(Fraction(value) if isfinite(value) and value else value, 0, kind)
    limits = (0, 1) if kind == np.bool_ else (int(np.iinfo(kind).min), int(np.iinfo(kind).max))
    if not isfinite(value) or value != int(value) or not limits[0] <= value <= limits[1]:
        raise NotExecutable(f"extrapolation_value is {value}, which no element of type {NAMES[kind]} is")
    return int(value)


def kernel(application: Application) -> Kernel:
    """Of at most 32 bits: for each combination of sampling locations one shifted X with its weights, added up.

    A weight of few binary digits is exact in float64, as those of most scales by powers of two are; then so are the
    products, and `summation.py` decides their sum, halfway cases too.  Otherwise each addend is off by a factor of
    (1 + 2^-53) for each axis and once for the product, each sum by one more, and the whole by the sum of absolute
    values times the number of these steps.  A location that an element does not have enters as -0, which changes no
    sum.
    """

    def resize(inputs: Sequence[Array], out: Array) -> Array:
        X, sampled = inputs[0], samplings(application, inputs)
        narrow = format_of(X.dtype) is not None and X.dtype != np.float64
        if not narrow or not out.size or moves_only(sampled) or not _weights_in_range(sampled):
            np.copyto(out, define(application, inputs)[0])
            if out.size and not moves_only(sampled):
                application.count(out.size, out.size)
            return out
        application.count(out.size, _interpolate(X, sampled, out, application.block(OUTPUT_ELEMENTS)))
        fill(application, out, sampled)
        return out

    return resize


def _weights_in_range(sampled: Sequence[Sampling]) -> bool:
    """Whether no product with a weight is subnormal and none overflows."""
    weights = [[abs(w) for each in sampling if each for _, w in each] for sampling in sampled]
    least = prod((min(weight, default=Fraction(1)) for weight in weights), start=Fraction(1))
    return (
        least >= MIN_WEIGHT
        and prod((max(weight, default=Fraction(1)) for weight in weights), start=Fraction(1)) <= 1 / MIN_WEIGHT
    )


class Located:
    """One axis as arrays: at location t its place x samples the element index[t, x] with weight[t, x]; 0 for none."""

    def __init__(self, sampling: Sampling) -> None:
        most = max(1, *(len(each or ()) for each in sampling))  # one where all of the axis is extrapolated
        self.index = np.zeros((most, len(sampling)), np.intp)
        self.weight = np.zeros((most, len(sampling)))
        for x, each in enumerate(sampling):
            for t, (i, w) in enumerate(each or ()):
                self.index[t, x], self.weight[t, x] = i, float(w)


def _interpolate(X: Array, sampled: Sequence[Sampling], out: Array, block: int) -> int:
    """Y in `out`; how many elements were added up exactly."""
    first = next(k for k, sampling in enumerate(sampled) if not _stays(sampling, X.shape[k]))
    planes, array = X.reshape(-1, *X.shape[first:]), out.reshape(-1, *out.shape[first:])
    located, exactly = [Located(sampling) for sampling in sampled[first:]], _products_are_exact(sampled)
    step, exact = max(1, block // array[0].size), 0
    for start in range(0, len(planes), step):
        part = slice(start, start + step)
        array[part], open_ = _sums(planes[part], located, exactly, out)
        for plane in np.flatnonzero(open_.reshape(len(open_), -1).any(axis=1)).tolist():
            elements = np.array(numbers(planes[start + plane]), object).reshape(planes.shape[1:])
            for index in np.argwhere(open_[plane]).tolist():
                store_sum(array[start + plane], index, elements, sampled[first:])
                exact += 1
    return exact


def _stays(sampling: Sampling, extent: int) -> bool:
    """Whether each place of an axis is the element with its number."""
    return len(sampling) == extent and all(
        row is not None and len(row) == 1 and row[0][0] == x for x, row in enumerate(sampling)
    )


def _products_are_exact(sampled: Sequence[Sampling]) -> bool:
    """Whether every weight is whole over a power of two, with few digits."""
    digits = 0
    for sampling in sampled:
        weights = {w for each in sampling if each for _, w in each}
        if any(w.denominator & w.denominator - 1 for w in weights):
            return False
        digits += max((w.numerator.bit_length() for w in weights), default=0)
    return digits <= MAX_EXACT_DIGITS


def _sums(planes: Array, located: Sequence[Located], exactly: bool, out: Array) -> tuple[Array, Array]:
    """The weighted sums of each plane, rounded once, and where that is open."""
    count = prod(len(row.index) for row in located)
    if exactly:
        return round_total(total_of(_addends(planes, located)), count, 1.0, out.dtype)
    array, size = np.full((), -0.0), np.zeros(())
    for addend in _addends(planes, located):
        array, size = array + addend, size + np.abs(addend)
    return certify(array, size * ((count + 2 * len(located)) * UNIT * (1 + 2.0**-20)), out.dtype)


def _addends(planes: Array, located: Sequence[Located]) -> Iterator[Array]:
    """For each combination of locations the elements there times their weights, in float64."""
    for combination in product(*[range(len(each.index)) for each in located]):
        elements, weight = planes, np.ones(())
        for k, (t, row) in enumerate(zip(combination, located, strict=True)):
            elements = np.take(elements, row.index[t], k + 1)
            weight = np.multiply.outer(weight, row.weight[t])
        with np.errstate(all="ignore"):
            yield np.where(weight == 0, -0.0, elements.astype(np.float64) * weight)


def bound(context: Context, inputs: Sequence[Value | None]) -> list[Transfer]:
    """The transfer function of ranges and errors: moved elements, or sums with constant weights.

    An implementation computes the place of an output in float, with a few roundings.  For `nearest` each place must be
    further from where another element becomes nearest, or be a number that float has with its parts; a weighted sum
    changes by at most the difference of the elements times what the weights change.

    Raises:
        NotExecutable: a parameter varies, or the weights are those of a cubic filter or of antialiasing.
    """
    [X] = required(inputs, 1)
    if any(operand is not None and operand.exact is None for operand in inputs[1:]):
        raise NotExecutable("Resize has a bound for constant parameters only")
    application = context.application
    operands = [
        np.empty(X.shape, ELEMENTS[X.element]),
        *[None if operand is None else operand.exact for operand in inputs[1:]],
    ]
    sampled = samplings(application, operands)
    if not (context.hypotheses.rounds_once or whole_lengths(application, operands)):
        raise NotExecutable(
            "Resize has no bound where a place depends on the length of a resized axis that is not whole: "
            "implementations differ in that length"
        )
    if any(each is None for sampling in sampled for each in sampling):
        raise NotExecutable("Resize has a bound without extrapolation only")
    if moves_only(sampled):
        detail = "no place is where float may find another nearest element"
        if context.hypotheses.rounds_once or context.require("place", steady_places(application, operands), detail):
            return layout.moving(define)(context.into(X.element), inputs)
        return [sums.not_known(tuple(map(len, sampled)))]
    if application.names["mode"] != "linear" or application.parameter("antialias"):
        raise NotExecutable("Resize has a bound for nearest, and for linear without antialiasing only")
    context.require_floats()
    matrices = [matrix_of(sampling, extent) for sampling, extent in zip(sampled, X.shape, strict=True)]
    moved_axes = [k for k, sampling in enumerate(sampled) if not _stays(sampling, X.shape[k])]

    def interpolated(weights: Sequence[Array], x: Array) -> Array:
        for k in moved_axes:
            x = np.moveaxis(np.tensordot(weights[k], x, (1, k)), 0, k)
        return x

    def pull(rows: Array) -> Array:
        for k in moved_axes:
            rows = np.moveaxis(np.tensordot(matrices[k].T, rows, (1, k + 1)), 0, k + 1)
        return rows

    terms = 2 ** len(moved_axes)
    shift = 0.0 if context.hypotheses.rounds_once else place_error(application, operands)
    off = sums.term(X).absolute
    weights = (1 + 2 * shift) ** len(moved_axes) - 1  # two weights of each axis, which add up to 1
    changed = arithmetic.grown(1.01 * weights * float(off.max(initial=0.0)) * np.ones(()), 8)
    return [sums.weighted(context, X, lambda x: interpolated(matrices, x), pull, terms, len(moved_axes) + 1, changed)]


def matrix_of(sampling: Sampling, extent: int) -> Array:
    """The weights of one axis, (places, elements), rounded to float64; none is negative."""
    array = np.zeros((len(sampling), extent))
    for x, each in enumerate(sampling):
        for i, weight in each or ():
            array[x, i] += float(weight)
    return array


def whole_lengths(application: Application, inputs: Sequence[Any]) -> bool:
    """Whether no place depends on a resized length that is not whole, but for the rounding of a scale to float."""
    stated = application.version >= STATED_SINCE
    if not stated or application.names["coordinate_transformation_mode"] not in BY_RESIZED_LENGTH:
        return True
    return all(
        abs(axis.length_resized - axis.count) <= axis.count * SCALE_ROUNDED
        and (axis.length_resized > 1) == (axis.count > 1)
        for axis in axes(application, inputs[0], *optional(inputs, 1))
    )


def place_error(application: Application, inputs: Sequence[Any]) -> float:
    """How far a place computed in float can be from the exact one: six roundings of numbers up to twice the axis, and
    a resized length without its fractional part (`SCALE_ROUNDED`).

    Weights are the distances from a place to its neighbours, so they change by as much.
    """
    resized = axes(application, inputs[0], *optional(inputs, 1))
    longest = max((float(end) for axis in resized for end in (axis.length_original, axis.length_resized, axis.count)),
                  default=0.0)  # fmt: skip
    return (12 + 4) * 2.0**-24 * (longest + 1)


def steady_places(application: Application, inputs: Sequence[Any]) -> bool:
    """Whether float finds the nearest element of each place: it is far from a change, or exact in a few digits."""
    error = Fraction(place_error(application, inputs))
    stated = application.version >= STATED_SINCE
    how = application.names["coordinate_transformation_mode"] if stated else "asymmetric"
    for axis in axes(application, inputs[0], *optional(inputs, 1)):
        dyadic = how in EXACT_BY_POWERS and all(
            part & (part - 1) == 0 for part in (axis.scale.numerator, axis.scale.denominator)
        )
        for x in range(axis.count):
            at = COORDINATES[how](x, axis)
            halves = 2 * at
            if abs(halves - round(halves)) <= 2 * error and not (dyadic and axis.count < MAX_EXACT_PLACES):
                return False
    return True


OPERATOR = Operator(name="Resize", define=define, kernel=kernel, bound=bound)
