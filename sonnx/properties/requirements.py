"""Properties in the words of a project: a TOML file with the box and what is required, or robustness at a point.

input = ["x=[-1,1]"]                      # as sonnx bound --box

[[require]]
largest = 3                               # element 3 stays the largest

[[require]]
output = 0                                # element 0 of the output ...
below = 1.5                               # ... stays below 1.5; also above

[[require]]
difference = [0, 1]                       # element 0 minus element 1
above = 0
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from math import isfinite
from pathlib import Path
from typing import Any

import numpy as np

from sonnx.base.errors import BadInput
from sonnx.bounds.box import Box, ReadArray, box_of_texts
from sonnx.executor.model_inputs import required_inputs
from sonnx.model.ir import Model
from sonnx.numerics.formats import Array
from sonnx.profile.toml_files import read_value
from sonnx.properties.property import Atom, Property, Task, UnsafeSet, elements_of, output_of


def property_of_toml(path: Path, model: Model, read: ReadArray) -> Property:
    """The property that a file states about a model; files of arrays are named relative to it.

    Raises:
        BadInput: the file states something else, or about other inputs or outputs.
        UsageError: it cannot be read, or is not TOML.
    """
    document, _ = read_value(path)
    if not isinstance(document, dict) or set(document) - {"input", "require"} or not document.get("require"):
        raise BadInput(f"{path.name} has the keys input, a list of texts NAME=BOX, and require, a list of tables")
    texts, tables = document.get("input", []), document["require"]
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        raise BadInput(f"{path.name}: input is a list of texts NAME=BOX, as sonnx bound --box takes")
    if not isinstance(tables, list):
        raise BadInput(f"{path.name}: require is a list of tables, each written [[require]]")
    size = elements_of(output_of(model))
    unsafe = [
        atoms
        for number, table in enumerate(tables, 1)
        for atoms in _unsafe(table, size, f"{path.name}, requirement {number}")
    ]
    return Property(path.name, (Task(box_of_texts(model, texts, read), tuple(unsafe)),))


def _unsafe(table: Any, size: int, place: str) -> list[UnsafeSet]:
    """The sets of outputs that contradict a requirement; they include their ends."""
    keys = set(table) if isinstance(table, dict) else set()
    ends = keys & {"below", "above"}
    if keys == {"largest"}:
        return largest(_element(table["largest"], size, place), size)
    if not ends or keys - ends not in ({"output"}, {"difference"}):
        raise BadInput(f"{place} has largest, or output or difference with below or above")
    if "output" in table:
        row: dict[int, int] = {_element(table["output"], size, place): 1}
    else:
        pair = table["difference"]
        if not isinstance(pair, list) or len(pair) != 2 or pair[0] == pair[1]:
            raise BadInput(f"{place}: difference is a list of two different elements")
        row = {_element(pair[0], size, place): 1, _element(pair[1], size, place): -1}
    sets: list[UnsafeSet] = []
    for end, sign in (("below", -1), ("above", 1)):
        if end in table:
            sets.append((_atom(row, sign, _number(table[end], f"{place}: {end}")),))
    return sets


def _atom(row: Mapping[int, int], sign: int, end: Fraction) -> Atom:
    """Sign · row · y <= sign · end: `above` is contradicted by what is at most the end."""
    return Atom(tuple((index, Fraction(sign * factor)) for index, factor in row.items()), sign * end)


def _element(number: Any, size: int, place: str) -> int:
    if not isinstance(number, int) or isinstance(number, bool) or not 0 <= number < size:
        raise BadInput(f"{place}: the output has the elements 0 to {size - 1}, not {number!r}")
    return number


def _number(value: Any, place: str) -> Fraction:
    """The decimal that a file states: the shortest one that is read as its float64."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not isfinite(value):
        raise BadInput(f"{place} is a finite number, not {value!r}")
    return Fraction(repr(value))


def largest(element: int, size: int) -> list[UnsafeSet]:
    """What contradicts that an element is larger than every other one.

    Raises:
        BadInput: there is no other one.
    """
    if size == 1:
        raise BadInput("the output has one element: there is no other that it could be larger than")
    one = Fraction(1)
    return [(Atom(((element, one), (other, -one)), Fraction(0)),) for other in range(size) if other != element]


def robustness(model: Model, point: Array, radius: float, place: int, name: str) -> Property:
    """The property that the largest element of the output stays the largest within a radius around an input.

    Args:
        model: a model with one input.
        point: the input.
        radius: of the box around it.
        place: the largest element at the point.
        name: of the property.

    Raises:
        BadInput: the model has another number of inputs, or the radius is not a positive number.
    """
    inputs = required_inputs(model)
    if len(inputs) != 1:
        raise BadInput(f"robustness is about a model with one input; this one has {len(inputs)}")
    if not (isfinite(radius) and radius > 0):
        raise BadInput(f"the radius is {radius:g}, not a positive number")
    box: Box = box_of_texts(model, [f"{inputs[0].name}={name}+-{radius!r}"], lambda text: point)
    return Property(f"{name}, radius {radius:g}", (Task(box, tuple(largest(place, elements_of(output_of(model))))),))


def largest_element(values: Array) -> int:
    """The flat number of the largest element.

    Raises:
        BadInput: two elements are the largest, or one is NaN.
    """
    flat = np.asarray(values, np.float64).reshape(-1)
    if np.isnan(flat).any() or not flat.size or int((flat == flat.max()).sum()) != 1:
        raise BadInput("the output has no largest element at the point: robustness is not defined")
    return int(flat.argmax())
