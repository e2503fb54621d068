"""Mistakes that kernels make, as tables: what is read in place of an input, written in place of an output, and taken in
place of a parameter.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from sonnx.numerics.draws import least_normal
from sonnx.numerics.formats import ELEMENTS, NAMES, TEXT, WIDER, Array, format_of, is_integer, limits_of, patterns

LANES = (8, 16, 32)
"""Elements of a vector register, or of an unrolled loop of them."""
LIMITS = (256, 10_000)
"""Elements of a block of a cache, and of a tensor that one thread computes."""
BLOCK = 4
"""Elements of a vector register whose rest a kernel may treat in another way."""
Change = Callable[[Array], Array]


class Mistake(NamedTuple):
    """What is made of an array of some types."""

    family: str
    name: str
    admits: Callable[[np.dtype[Any]], bool]
    change: Change


# ------------------------------------------------------------------ types


def floats(kind: np.dtype[Any]) -> bool:
    """The formats of IEEE 754, and bfloat16."""
    return format_of(kind) is not None


def integers(kind: np.dtype[Any]) -> bool:
    """The integers with arithmetic in numpy."""
    return is_integer(kind) and kind not in WIDER


def numbers(kind: np.dtype[Any]) -> bool:
    """The types in which numpy has numbers."""
    return floats(kind) or integers(kind)


def every(kind: np.dtype[Any]) -> bool:
    """Every type."""
    return True


def only(*names: str) -> Callable[[np.dtype[Any]], bool]:
    """The types of these names."""
    return lambda kind: NAMES[kind] in names


signed = only("int8", "int16", "int32", "int64")
unsigned = only("uint8", "uint16", "uint32", "uint64")

# ------------------------------------------------------------------ arrays


def where(marks: Change, value: Change | float) -> Change:
    """Another value at the marked elements."""

    def change(values: Array) -> Array:
        other = value(values) if callable(value) else np.full(values.shape, value).astype(values.dtype)
        return np.where(marks(values), other, values).astype(values.dtype)

    return change


def infinite(values: Array) -> Array:
    """The infinities."""
    return np.asarray(np.isinf(values))


def zero(values: Array) -> Array:
    """Both zeros."""
    return np.asarray(values == 0)


def subnormal(values: Array) -> Array:
    """The subnormal numbers."""
    number_format = format_of(values.dtype)
    assert number_format is not None  # the tables ask for floats
    magnitude = patterns(np.ascontiguousarray(values)) & number_format.unsigned.type(number_format.sign - 1)
    return np.asarray((magnitude > 0) & (magnitude < least_normal(number_format))).reshape(values.shape)


def largest(values: Array) -> Array:
    """The largest number of the type with the signs of the values."""
    number_format = format_of(values.dtype)
    assert number_format is not None
    return np.copysign(np.array(number_format.infinity - 1, number_format.unsigned).view(values.dtype), values)


def greatest(values: Array) -> Array:
    """The greatest number of an integer type."""
    return np.full(values.shape, limits_of(values.dtype)[1], values.dtype)


def is_least(values: Array) -> Array:
    """The least number of an integer type."""
    return np.asarray(values == limits_of(values.dtype)[0])


def through(name: str) -> Change:
    """Converted to another type and back; integers that do not fit wrap."""
    return lambda values: values.astype(ELEMENTS[name]).astype(values.dtype)


def saturated(name: str) -> Change:
    """Limited to the numbers of a narrower integer type."""
    least, most = limits_of(ELEMENTS[name])
    return lambda values: np.clip(values.astype(object), least, most).astype(values.dtype)


def truncated(values: Array) -> Array:
    """The lower half of the bits of a float is 0."""
    return (values.view(np.uint32) & np.uint32(0xFFFF0000)).view(np.float32)


def at(place: int, axis: int, inner: Change) -> Change:
    """A change at one place of an axis alone."""

    def change(values: Array) -> Array:
        if values.ndim < abs(axis) or not values.size or values.shape[axis] < 2:
            return values
        index = [slice(None)] * values.ndim
        index[axis] = slice(place, None if place == -1 else place + 1)
        made = values.copy()
        made[tuple(index)] = inner(made[tuple(index)])
        return made

    return change


def flat(inner: Change, least: int = 2) -> Change:
    """A change of the elements in row-major order, if there are enough of them."""
    return lambda values: inner(values.reshape(-1)).reshape(values.shape) if values.size >= least else values


def along(axis: int, inner: Change) -> Change:
    """A change of an array that has an axis with two elements or more."""
    return lambda values: inner(values) if values.ndim >= abs(axis) and values.shape[axis] > 1 else values


def rest_of(lanes: int, inner: Change) -> Change:
    """A change of what is left over of the last axis after whole vectors of some lanes, behind the first one."""

    def change(values: Array) -> Array:
        extent = values.shape[-1] if values.ndim else 0
        if extent <= lanes or extent % lanes == 0:
            return values
        made = values.copy()
        made[..., extent // lanes * lanes :] = inner(made[..., extent // lanes * lanes :])
        return made

    return change


def beyond(least: int, inner: Change) -> Change:
    """A change of the elements behind the first ones, in row-major order."""
    return flat(lambda values: np.concatenate([values[:least], inner(values[least:])]), least + 1)


def nothing(values: Array) -> Array:
    """Zeros, or empty strings."""
    return none_from(0)(values)


def with_element(to: int, by: int) -> Change:
    """One element in place of another one."""

    def change(values: Array) -> Array:
        made = values.copy()
        made[to] = made[by]
        return made

    return change


def none_from(first: int) -> Change:
    """No value in the elements from a place on."""

    def change(values: Array) -> Array:
        made = values.copy()
        made[first:] = "" if values.dtype == TEXT else 0
        return made

    return change


def column_major(values: Array) -> Array:
    """The elements in the other order of the axes."""
    return np.ascontiguousarray(values.reshape(-1).reshape(values.shape[::-1]).T)


def stepped(values: Array, up: bool) -> Array:
    """The next representable number."""
    if integers(values.dtype):
        return values + values.dtype.type(1) if up else values - values.dtype.type(1)
    return np.nextafter(values, values.dtype.type(np.inf if up else -np.inf))


isnan: Change = lambda values: np.asarray(np.isnan(values))  # noqa: E731
NAN_AS_ZERO = where(isnan, 0.0)

SPECIAL = (
    Mistake("NaN", "a NaN as 0", floats, NAN_AS_ZERO),
    Mistake("NaN", "a NaN as -inf", floats, where(isnan, -np.inf)),
    Mistake("NaN", "a NaN as +inf", floats, where(isnan, np.inf)),
    Mistake("infinity", "an infinity as the largest number", floats, where(infinite, largest)),
    Mistake("infinity", "an infinity as NaN", floats, where(infinite, np.nan)),
    Mistake("zero", "-0 as +0", floats, where(zero, 0.0)),
    Mistake("zero", "+0 as -0", floats, where(zero, -0.0)),
    Mistake("subnormal", "a subnormal number as 0", floats, where(subnormal, 0.0)),
    Mistake("width", "double through float", only("double"), through("float")),
    Mistake("width", "float through bfloat16", only("float"), through("bfloat16")),
    Mistake("width", "float cut to 16 bits", only("float"), truncated),
    Mistake("width", "float16 through bfloat16", only("float16"), through("bfloat16")),
    Mistake("width", "int64 through double", only("int64", "uint64"), lambda values: np.where(
        np.abs(values.astype(np.float64)) < 2.0**63, values.astype(np.float64).astype(np.int64).astype(values.dtype),
        values,
    )),
    Mistake("width", "int64 through int32", only("int64"), through("int32")),
    Mistake("width", "uint64 through uint32", only("uint64"), through("uint32")),
    Mistake("width", "int32 through float", only("int32"), lambda values: np.where(
        np.abs(values.astype(np.float64)) < 2.0**30, values.astype(np.float32).astype(np.int32), values
    )),
    Mistake("width", "int32 through int16", only("int32"), through("int16")),
    Mistake("width", "int16 through int8", only("int16"), through("int8")),
    Mistake("saturation", "int64 limited to int32", only("int64"), saturated("int32")),
    Mistake("saturation", "int32 limited to int16", only("int32"), saturated("int16")),
    Mistake("saturation", "unsigned limited to the greatest signed number", unsigned, lambda values: np.minimum(
        values, values.dtype.type(limits_of(values.dtype)[1] // 2)
    )),
    Mistake("saturation", "the least number as the greatest", signed, where(is_least, greatest)),
    Mistake("zero", "true as false at the end", only("bool"), flat(at(-1, -1, lambda values: values & False))),
    Mistake("zero", "not", only("bool"), lambda values: ~values),
)  # fmt: skip

ORDER = (
    Mistake("order", "the last axis reversed", every, along(-1, lambda values: values[..., ::-1].copy())),
    Mistake("order", "the first axis reversed", every, along(1, lambda values: values[::-1].copy())),
    Mistake("order", "column-major", every, column_major),
    Mistake("off by one", "the last element as the one before", every, flat(with_element(-1, -2))),
    Mistake("off by one", "the first element as the second", every, flat(with_element(0, 1))),
    Mistake("off by one", "every element one place further", every, flat(lambda values: np.roll(values, 1))),
    Mistake("off by one", f"nothing after {BLOCK} elements", every, flat(none_from(BLOCK), BLOCK + 1)),
)

READINGS = (
    *SPECIAL, *ORDER,
    *(Mistake("size", f"a NaN in the rest after {lanes} lanes as -inf", floats, rest_of(lanes, where(isnan, -np.inf)))
      for lanes in LANES),
    *(Mistake("size", f"nothing in the rest after {lanes} lanes", every, rest_of(lanes, nothing)) for lanes in LANES),
    *(Mistake("size", f"nothing behind {number} elements", every, beyond(number, nothing)) for number in LIMITS),
    Mistake("NaN", "a NaN in the first place of the last axis as -inf", floats, at(0, -1, where(isnan, -np.inf))),
    Mistake("NaN", "a NaN in the last place of the last axis as -inf", floats, at(-1, -1, where(isnan, -np.inf))),
    Mistake("NaN", "a NaN in the last place of the first axis as -inf", floats, at(-1, 0, where(isnan, -np.inf))),
    Mistake("sign", "without sign", lambda kind: floats(kind) or signed(kind), np.abs),
    Mistake("broadcast", "the first element for all", every, lambda values: np.broadcast_to(
        values.reshape(-1)[:1] if values.ndim else values, values.shape).copy() if values.size else values),
    Mistake("broadcast", "the first row for all", every, along(1, lambda values: np.repeat(
        values[:1], len(values), 0))),
    Mistake("broadcast", "the first column for all", every, along(-1, lambda values: np.repeat(
        values[..., :1], values.shape[-1], -1))),
    Mistake("rank", "0 where the rank is 0", numbers, lambda values: values if values.ndim else np.zeros_like(values)),
)  # fmt: skip

WRITINGS = (
    *SPECIAL, *ORDER,
    *(Mistake("size", f"nothing in the rest after {lanes} lanes", every, rest_of(lanes, nothing)) for lanes in LANES),
    *(Mistake("size", f"nothing behind {number} elements", every, beyond(number, nothing)) for number in LIMITS),
    Mistake("size", "the last element not written behind 16 elements", every, flat(none_from(-1), 17)),
    Mistake("NaN", "NaN everywhere if a NaN is anywhere", floats, lambda values: np.full_like(
        values, np.nan) if np.isnan(values).any() else values),
    Mistake("saturation", "the largest number as an infinity", floats, where(
        lambda values: np.abs(values) == np.abs(largest(values)), lambda values: np.copysign(
            values.dtype.type(np.inf), values))),
    Mistake("off by one", "the first element not written", numbers, flat(lambda values: none_from(0)(
        values[:1]).repeat(1) if len(values) == 1 else np.concatenate([np.zeros_like(values[:1]), values[1:]]), 1)),
    Mistake("off by one", "the last element not written", numbers, flat(none_from(-1), 1)),
    Mistake("rounding", "a step too high", only("float16", "float", "double", "int8", "int16", "int32", "int64",
                                                "uint8", "uint16", "uint32", "uint64"), partial(stepped, up=True)),
    Mistake("rounding", "a step too low", only("float16", "float", "double", "int8", "int16", "int32", "int64",
                                               "uint8", "uint16", "uint32", "uint64"), partial(stepped, up=False)),
    Mistake("rounding", "one element a step too high", only("float16", "float", "double", "int32", "int64"), flat(
        at(1, 0, partial(stepped, up=True)))),
    Mistake("rank", "[1] in place of rank 0", every, lambda values: values if values.ndim else values.reshape(1)),
    Mistake("rank", "an axis of extent 1 at the end is lost", every, lambda values: values.reshape(
        values.shape[:-1]) if values.ndim and values.shape[-1] == 1 else values),
    Mistake("rank", "an axis of extent 1 at the beginning is lost", every, lambda values: values.reshape(
        values.shape[1:]) if values.ndim and values.shape[0] == 1 else values),
    Mistake("empty", "an element where there is none", every, lambda values: values if values.size else np.zeros(
        [max(1, extent) for extent in values.shape], values.dtype)),
    Mistake("empty", "rank 1 where there is no element", every, lambda values: values if values.size else values
            .reshape(-1)),
    Mistake("width", "a wider type", only("float", "float16", "int32", "int8", "uint8"), lambda values: values.astype(
        np.float64 if floats(values.dtype) else np.int64)),
)  # fmt: skip

INTEGER_PARAMETERS: tuple[tuple[str, str, Callable[[Sequence[int]], Sequence[int]]], ...] = (
    ("off by one", "one more", lambda given: [each + 1 for each in given]),
    ("off by one", "one less", lambda given: [each - 1 for each in given]),
    ("off by one", "the last one more", lambda given: [*given[:-1], *(each + 1 for each in given[-1:])]),
    ("negative", "negated", lambda given: [-each for each in given]),
    ("negative", "without sign", lambda given: [abs(each) for each in given]),
    ("negative", "a negative number as 0", lambda given: [max(0, each) for each in given]),
    ("negative", "a negative number one less", lambda given: [each - (each < 0) for each in given]),
    ("axis", "reversed", lambda given: given[::-1]),
    ("axis", "sorted", sorted),
    ("axis", "the first for all", lambda given: [*given[:1]] * len(given)),
    ("axis", "the last as 0", lambda given: [*given[:-1], *([0] if given else [])]),
    ("axis", "the last as 1", lambda given: [*given[:-1], *([1] if given else [])]),
    ("axis", "halves exchanged", lambda given: [*given[len(given) // 2 :], *given[: len(given) // 2]]),
    ("axis", "pairs exchanged", lambda given: [given[place ^ 1] for place in range(len(given))] if len(
        given) % 2 == 0 else given),
    ("axis", "0", lambda given: [0] * len(given)),
    ("axis", "1", lambda given: [1] * len(given)),
)  # fmt: skip
FLOAT_PARAMETERS: tuple[tuple[str, str, Callable[[float], float]], ...] = (
    ("sign", "negated", lambda given: -given),
    ("zero", "0", lambda given: 0.0),
    ("zero", "1", lambda given: 1.0),
    ("width", "doubled", lambda given: 2 * given),
)
