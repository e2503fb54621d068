"""A property: boxes of inputs, and for each the sets of outputs that must not occur.

A set is a conjunction of atoms row · y <= bound over the elements of the outputs, in the order of the model.  The
property holds if no input of a box gives an output in a set of that box.
"""

from __future__ import annotations

import shlex
from collections.abc import Collection, Mapping, Sequence
from fractions import Fraction
from math import inf, lcm, nextafter, prod
from sys import float_info
from typing import NamedTuple

import numpy as np

from sonnx.base.errors import BadInput
from sonnx.base.escaping import quote
from sonnx.bounds.box import Box, box_of_arrays
from sonnx.executor.model_inputs import required_inputs
from sonnx.model.ir import Model, ValueInfo
from sonnx.numerics.enclosures.arithmetic import FORMATS
from sonnx.numerics.formats import ELEMENTS, Array
from sonnx.numerics.rounding import nearest, pattern_is_infinite, real

MAX_FLOAT = Fraction(float_info.max)
MAX_PLACES = 60
"""Digits behind the point of a number that is shown as a decimal."""
Interval = tuple[Fraction | None, Fraction | None]
"""The least and the largest value of an input element, None where none is stated."""


class Atom(NamedTuple):
    """Σ coefficients · y <= bound, or < where it is strict, over elements of the output by their flat numbers."""

    coefficients: tuple[tuple[int, Fraction], ...]
    bound: Fraction
    is_strict: bool = False

    def __str__(self) -> str:
        """The atom as `Y_1 - Y_0 <= 0.5`."""
        text = ""
        for index, factor in self.coefficients:
            sign = "-" if factor < 0 else "+"
            size = "" if abs(factor) == 1 else f"{_text(abs(factor))} "
            text += f" {sign} {size}Y_{index}" if text else f"{'-' if factor < 0 else ''}{size}Y_{index}"
        return f"{text or '0'} {'<' if self.is_strict else '<='} {_text(self.bound)}"


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
    """The tasks of a property, and the name of its source.

    Attributes:
        name: of the source.
        tasks: what is decided.
        empty_boxes: how many cases of the source are about no input, and are in no task.
        rounded_inputs: how many input elements of the tasks are fixed to a decimal that was rounded to their type.
    """

    name: str
    tasks: tuple[Task, ...]
    empty_boxes: int = 0
    rounded_inputs: int = 0


def elements_of(value: ValueInfo) -> int:
    """The number of elements of a graph input or output of a model with a stated shape.

    Raises:
        BadInput: the shape is not stated in numbers.
    """
    shape = value.type.shape
    if shape is None or not all(isinstance(extent, int) for extent in shape):
        raise BadInput(
            f"{quote(value.name)} is declared as {value.type}; a property needs a shape in numbers{_binding(shape)}"
        )
    return prod(extent for extent in shape if isinstance(extent, int))


def _binding(shape: Sequence[int | str | None] | None) -> str:
    """The options that give numbers to the symbols of a shape: 1 to a batch, the first of several dimensions."""
    numbers: dict[str, str] = {}
    for axis, extent in enumerate(shape or ()):
        if isinstance(extent, str):
            numbers.setdefault(extent, "NUMBER" if axis else "1")
    listed = " ".join(f"--bind {shlex.quote(f'{symbol}={number}')}" for symbol, number in numbers.items())
    return f": add {listed}" if listed else ""


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


def require_not_empty(ends: Mapping[int, Interval]) -> None:
    """Refuse ends that exclude each other.

    Raises:
        BadInput: no number lies between those of an element.
    """
    for index, (least, most) in ends.items():
        if least is not None and most is not None and least > most:
            raise BadInput(f"the box is empty: X_{index} is at least {_text(least)} and at most {_text(most)}")


class StatedBox(NamedTuple):
    """A box, and how many of its elements were rounded to a number of their type."""

    box: Box
    rounded: int


def box_of_ends(model: Model, ends: Mapping[int, Interval], *, round_inputs: bool = False) -> StatedBox:
    """The box of the ends of each input element, by the flat numbers of all inputs in order.

    Args:
        model: whose inputs they are.
        ends: by number.
        round_inputs: an element with one value that its type does not have takes the nearest number of the type.

    Raises:
        BadInput: an element has no end, the ends exclude each other, or no number of the type lies between them.
    """
    require_not_empty(ends)
    arrays: dict[str, tuple[Array, Array]] = {}
    first = rounded = 0
    for value in required_inputs(model):
        size, element = elements_of(value), value.type.element or ""
        low, high = np.empty(size), np.empty(size)
        for index in range(size):
            least, most = ends.get(first + index, (None, None))
            name = f"X_{first + index}"
            if least is None or most is None:
                raise BadInput(f"{name} has no {'lower' if least is None else 'upper'} bound")
            if least == most and (near := _nearest(least, element, name)) != least:
                if not round_inputs:
                    raise BadInput(
                        f"the box is empty: {name} is {_text(least)}, which is not a number of type {element}; "
                        "--round-inputs takes the nearest one"
                    )
                rounded += 1
                least = most = near
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
    return StatedBox(box_of_arrays(model, arrays), rounded)


def _nearest(number: Fraction, element: str, name: str) -> Fraction:
    """The number of an element type that is nearest to a number, ties to even; the number itself for other types."""
    if element not in FORMATS:
        return number
    pattern = nearest(number, ELEMENTS[element])
    if pattern_is_infinite(pattern, ELEMENTS[element]):
        raise BadInput(f"{name} is {_text(number)}, beyond the numbers of type {element}")
    return real(pattern, ELEMENTS[element])


def float_below(number: Fraction) -> float:
    """The largest finite float64 that is not above a number; minus infinity where there is none."""
    if abs(number) > MAX_FLOAT:
        return float_info.max if number > 0 else -inf
    near = float(number)
    return near if Fraction(near) <= number else nextafter(near, -inf)


def float_above(number: Fraction) -> float:
    """The least finite float64 that is not below a number; infinity where there is none."""
    return -float_below(-number)


class RowValues(NamedTuple):
    """Atoms as rows of float64.

    An atom is multiplied by a positive number that leaves its coefficients float64, where there is one.

    Attributes:
        rows: the coefficients, of shape (atoms, elements).
        off: how far they are from the stated ones at most, of the same shape.
        bounds: of the atoms, multiplied likewise.
    """

    rows: Array
    off: Array
    bounds: tuple[Fraction, ...]


def rows_of(atoms: Collection[Atom], size: int) -> RowValues:
    """Atoms over an output of a number of elements as rows of float64.

    Raises:
        BadInput: an element does not exist.
    """
    rows, off, bounds = np.zeros((len(atoms), size)), np.zeros((len(atoms), size)), list[Fraction]()
    for place, atom in enumerate(atoms):
        scale = _scale([factor for _, factor in atom.coefficients])
        bounds.append(atom.bound * scale)
        for index, factor in atom.coefficients:
            if not 0 <= index < size:
                raise BadInput(f"the output has {size} elements; the property names Y_{index}")
            rows[place, index] = near = float(factor * scale)
            off[place, index] = float_above(abs(Fraction(near) - factor * scale))
    return RowValues(rows, off, tuple(bounds))


def _scale(factors: Sequence[Fraction]) -> Fraction:
    """A positive number that makes float64 of factors; where there is none, their largest size becomes about 1."""
    if all(abs(factor) <= MAX_FLOAT and Fraction(float(factor)) == factor for factor in factors):
        return Fraction(1)
    whole = Fraction(lcm(*(factor.denominator for factor in factors)))
    largest = max(abs(factor) * whole for factor in factors)
    if largest <= MAX_FLOAT and all(Fraction(float(factor * whole)) == factor * whole for factor in factors):
        return whole
    most = max(map(abs, factors))
    return Fraction(2) ** (most.denominator.bit_length() - most.numerator.bit_length())
