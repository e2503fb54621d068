"""An oracle of exact sums of products by other means: fractions, and no code of the package.

A value is a Fraction or an integer, or a Python float for zeros, infinities and NaN.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Any, TypeAlias

import numpy

from tests.support.oracle import FLOATS, KINDS, Array, bits, name_of, number, scaled

Value: TypeAlias = Fraction | int | float

FORMATS = {"float16": "float16", "bfloat16": "bfloat16", "float": "float32", "double": "float64"}


def decoded(array: Array) -> list[Any]:
    """The elements as values, row-major; integers as integers."""
    name = name_of(array)
    if name not in FLOATS:
        return [int(each) for each in array.ravel()]
    return [number(name, int(pattern)) for pattern in bits(array).ravel()]


def rounded(name: str, value: Value) -> int:
    """The pattern of a value rounded to nearest even; a NaN is the positive quiet one without payload."""
    exponent_bits, significand_bits = FLOATS[name]
    top = 1 << exponent_bits - 1
    infinity = ((1 << exponent_bits) - 1) << significand_bits
    sign = 1 << exponent_bits + significand_bits
    if isinstance(value, float):
        if math.isnan(value):
            return infinity | 1 << significand_bits - 1
        return (sign if math.copysign(1, value) < 0 else 0) + (infinity if value else 0)
    magnitude = abs(Fraction(value))
    digits = magnitude.numerator.bit_length() - magnitude.denominator.bit_length()
    exponent = min(max(2 - top, digits - 1), top) if magnitude else 2 - top  # at most the largest with 2^e <= magnitude
    while magnitude >= scaled(1, exponent + 1) and exponent < top:
        exponent += 1
    whole = round(magnitude * scaled(1, significand_bits - exponent))  # halfway goes to the even one
    if exponent > 2 - top:
        whole += (exponent + top - 2) << significand_bits  # a carry runs into the exponent
    return (sign if value < 0 else 0) + min(whole, infinity)


def product(*factors: Value) -> Value:
    """IEEE 754 but for the rounding."""
    if all(isinstance(each, Fraction | int) for each in factors):
        return math.prod(factors)
    return math.prod(each if isinstance(each, float) else 1.0 if each > 0 else -1.0 for each in factors)


def summed(addends: Iterable[Value]) -> Value:
    """IEEE 754 but for the rounding; a sum of 0 is +0 unless all addends are -0."""
    addends = list(addends)
    numbers = [each for each in addends if not isinstance(each, float)]
    others = [each for each in addends if isinstance(each, float)]
    if not math.isfinite(special := sum(others)):
        return special
    whole = sum(numbers)
    if whole:
        return whole
    return -0.0 if others and not numbers and all(math.copysign(1, each) < 0 for each in others) else 0.0


def array(kind: numpy.dtype[Any], values: Iterable[Value], shape: Sequence[int]) -> Array:
    """An array of values, each rounded once; integers wrap around."""
    name = next(key for key, each in KINDS.items() if each == kind)
    if name not in FLOATS:
        patterns = [int(each) % 2 ** (8 * kind.itemsize) for each in values]
        return numpy.array(patterns, f"u{kind.itemsize}").view(kind).reshape(shape)
    patterns = [rounded(name, each) for each in values]
    return numpy.array(patterns, f"u{kind.itemsize}").view(kind).reshape(shape)


def matrix_product(A: Array, B: Array) -> Array:
    """The product of two matrices."""
    rows = [decoded(row) for row in A]
    columns = [decoded(column) for column in B.T]
    sums = [summed([product(*pair) for pair in zip(row, column, strict=True)]) for row in rows for column in columns]
    return array(A.dtype, sums, (len(A), B.shape[1]))


def hard(name: str, shape: tuple[int, ...], seed: int) -> Array:
    """Elements that are hard to add up: every pattern of sampling by turns, by the seed."""
    kind, draw = KINDS[FORMATS.get(name, name)], numpy.random.default_rng(seed)
    if FORMATS.get(name) is None:
        limits = numpy.iinfo(kind)
        return draw.integers(limits.min, limits.max, shape, dtype=kind, endpoint=True)
    exponent_bits, significand_bits = FLOATS[FORMATS[name]]
    largest = 2.0 ** (2 ** (exponent_bits - 1) - 1)
    tiny = 2.0 ** (3 - 2 ** (exponent_bits - 1) - significand_bits + 1)
    how = random.Random(seed).choice(HOW)
    with numpy.errstate(all="ignore"):
        if how == "normal":
            made = draw.standard_normal(shape)
        elif how == "few digits":  # sums that are halfway, or exactly 0
            made = draw.integers(-4, 5, shape) * 2.0 ** draw.integers(-significand_bits, 2, shape)
        elif how == "wide":
            made = draw.standard_normal(shape) * 2.0 ** draw.integers(
                -(2 ** (exponent_bits - 2)), 2 ** (exponent_bits - 2), shape
            )
        elif how == "zeros":
            made = draw.choice([0.0, -0.0, 0.0, -0.0, 1.0], shape)
        elif how == "negative zeros":
            made = draw.choice([-0.0, -1.0], shape)
        elif how == "subnormal":
            made = draw.integers(-3, 4, shape) * draw.choice([tiny, 8 * tiny, 0.5, 1.0], shape)
        elif how == "overflow":
            made = draw.choice([1.0, -1.0, 0.5, 1.5, 2.0**-significand_bits], shape) * draw.choice(
                [largest, 1.0], shape
            )
        else:
            made = draw.choice([numpy.nan, numpy.inf, -numpy.inf, 0.0, -0.0, 1.0, -1.0, 3.0], shape)
        values = made.astype(kind)
        nan = numpy.isnan(made) & (draw.random(shape) < 0.7)  # of either sign, with a payload
        payload = [5 | number % 2 << 8 * kind.itemsize - 1 for number in numpy.flatnonzero(nan).tolist()]
        bits(values)[nan] |= numpy.array(payload, bits(values).dtype)
        return values


HOW = ("normal", "few digits", "wide", "zeros", "negative zeros", "subnormal", "overflow", "special")
