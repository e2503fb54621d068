"""A property: boxes of inputs, and for each the sets of outputs that must not occur.

A set is a conjunction of atoms row · y <= bound over the elements of the outputs, in the order of the model.  The
property holds if no input of a box gives an output in a set of that box.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from fractions import Fraction
from math import inf, nextafter, prod
from sys import float_info
from typing import NamedTuple

import numpy as np

from sonnx.base.errors import BadInput
from sonnx.base.escaping import quote
from sonnx.bounds.box import Box, box_of_arrays
from sonnx.executor.model_inputs import required_inputs
from sonnx.model.ir import Model, ValueInfo
from sonnx.numerics.formats import Array

MAX_FLOAT = Fraction(float_info.max)
MAX_PLACES = 60
"""Digits behind the point of a number that is shown as a decimal."""


class Atom(NamedTuple):
    """Σ coefficients · y <= bound, over elements of the output by their flat numbers."""

    coefficients: tuple[tuple[int, Fraction], ...]
    bound: Fraction

    def __str__(self) -> str:
        """The atom as `Y_1 - Y_0 <= 0.5`."""
        text = ""
        for index, factor in self.coefficients:
            sign = "-" if factor < 0 else "+"
            size = "" if abs(factor) == 1 else f"{_text(abs(factor))} "
            text += f" {sign} {size}Y_{index}" if text else f"{'-' if factor < 0 else ''}{size}Y_{index}"
        return f"{text or '0'} <= {_text(self.bound)}"


def _text(number: Fraction) -> str:
    """A decimal that is the number exactly; a ratio where no decimal is, or the shortest one is long."""
    near = repr(float(number)) if abs(number) < MAX_FLOAT else ""
    if near and Fraction(near) == number:
        return near.removesuffix(".0")
    for places in range(MAX_PLACES):
        scaled = number * 10**places
        if scaled.denominator == 1:
            digits = str(abs(scaled.numerator)).rjust(places + 1, "0")
            whole, part = digits[: len(digits) - places], digits[len(digits) - places :]
            return f"{'-' if number < 0 else ''}{whole}.{part}"
    return str(number)


UnsafeSet = tuple[Atom, ...]
"""A conjunction of atoms."""


class Task(NamedTuple):
    """A box and the sets of outputs that must not occur on it."""

    box: Box
    unsafe: tuple[UnsafeSet, ...]


class Property(NamedTuple):
    """The tasks of a property, and the name of its source."""

    name: str
    tasks: tuple[Task, ...]


def elements_of(value: ValueInfo) -> int:
    """The number of elements of a graph input or output of a model with a stated shape.

    Raises:
        BadInput: the shape is not stated in numbers.
    """
    shape = value.type.shape
    if shape is None or not all(isinstance(extent, int) for extent in shape):
        raise BadInput(f"{quote(value.name)} is declared as {value.type}; a property needs a shape in numbers (--bind)")
    return prod(extent for extent in shape if isinstance(extent, int))


def output_of(model: Model) -> ValueInfo:
    """The output that properties are about.

    Raises:
        BadInput: the model has none, or more than one.
    """
    if len(model.graph.outputs) != 1:
        raise BadInput(
            f"a property is about the output of a model that has one; this one has {len(model.graph.outputs)}"
        )
    return model.graph.outputs[0]


def box_of_ends(model: Model, ends: Mapping[int, tuple[Fraction | None, Fraction | None]]) -> Box:
    """The box of the ends of each input element, by the flat numbers of all inputs in order.

    Raises:
        BadInput: an element has no end, or the ends exclude each other.
    """
    arrays: dict[str, tuple[Array, Array]] = {}
    first = 0
    for value in required_inputs(model):
        size = elements_of(value)
        low, high = np.empty(size), np.empty(size)
        for index in range(size):
            least, most = ends.get(first + index, (None, None))
            name = f"X_{first + index}"
            if least is None or most is None:
                raise BadInput(f"{name} has no {'lower' if least is None else 'upper'} bound")
            if least > most:
                raise BadInput(f"the box is empty: {name} is at least {_text(least)} and at most {_text(most)}")
            if float_above(least) > float_below(most):
                between = f"from {_text(least)} to {_text(most)}"
                raise BadInput(f"the box is empty: no number of type double lies {between}, where {name} is")
            low[index], high[index] = float_above(least), float_below(most)  # a number of the type is a float64
        shape = tuple(number for number in value.type.shape or () if isinstance(number, int))
        arrays[value.name] = low.reshape(shape), high.reshape(shape)
        first += size
    extra = [end for end in ends if end >= first]
    if extra:
        raise BadInput(f"the model has {first} input elements; the property names X_{max(extra)}")
    return box_of_arrays(model, arrays)


def float_below(number: Fraction) -> float:
    """The largest float64 that is not above a number."""
    near = float(number)
    return near if Fraction(near) <= number else nextafter(near, -inf)


def float_above(number: Fraction) -> float:
    """The least float64 that is not below a number."""
    near = float(number)
    return near if Fraction(near) >= number else nextafter(near, inf)


def rows_of(atoms: Collection[Atom], shape: Sequence[int]) -> Array:
    """The coefficients of atoms as an array of shape (atoms, *shape).

    Raises:
        BadInput: an element does not exist, or a coefficient is not a float64.
    """
    size = prod(shape)
    rows = np.zeros((len(atoms), size))
    for place, atom in enumerate(atoms):
        for index, factor in atom.coefficients:
            if not 0 <= index < size:
                raise BadInput(f"the output has {size} elements; the property names Y_{index}")
            if Fraction(float(factor)) != factor:
                raise BadInput(f"the coefficient {factor} of Y_{index} is not a number of type double")
            rows[place, index] = float(factor)
    return rows.reshape(len(atoms), *shape)
