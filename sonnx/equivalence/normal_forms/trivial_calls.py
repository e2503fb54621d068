"""Calls that are a simpler call of their first input, because of the numbers of attributes and inputs."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files

import numpy as np
from msgspec import Struct, convert

from sonnx.equivalence.terms.store import Term
from sonnx.model.ir import Node
from sonnx.numerics.formats import format_of


class TrivialCall(Struct, frozen=True, forbid_unknown_fields=True):
    """Calls of an operator that are a simpler one, as the file has them."""

    operator: str
    becomes: str
    exact: bool
    since: int = 1
    inputs: int | None = None
    where: Mapping[str, str | float | int] = {}
    unless_absent: tuple[str, ...] = ()
    constants: Mapping[str, float] = {}
    absent: tuple[int, ...] = ()
    floats: bool = False

    def fits(self, node: Node, operands: Sequence[Term | None], operator_set: int | None) -> bool:
        """Whether this is said of a call on these operands."""
        first = operands[0] if operands else None
        if first is None or operator_set is None or operator_set < self.since or any(node.outputs[1:]):
            return False
        if self.inputs not in (None, len(operands)) or (self.floats and not first.is_float):
            return False
        written = {attribute.name: attribute.value for attribute in node.attributes}
        for name, number in self.where.items():
            if name not in written and name not in self.unless_absent:
                return False
            if name in written and not _is(written[name], number, first):
                return False
        known = {place: operands[place] if place < len(operands) else None for place in range(1, len(operands) + 1)}
        if any(not _is_constant(known.get(int(place)), number) for place, number in self.constants.items()):
            return False
        return all(_is_left_out(known.get(place), node, place) for place in self.absent)


@cache
def trivial_calls() -> tuple[TrivialCall, ...]:
    """What the file says."""
    data = tomllib.loads(files(__package__).joinpath("trivial_calls.toml").read_text("utf-8"))
    return tuple(convert(data["call"], list[TrivialCall]))


@cache
def _by_operator() -> Mapping[str, tuple[TrivialCall, ...]]:
    return {
        operator: tuple([each for each in trivial_calls() if each.operator == operator])
        for operator in {each.operator for each in trivial_calls()}
    }


def trivial_call(node: Node, operands: Sequence[Term | None], operator_set: int | None) -> TrivialCall | None:
    """What a call of the standard domain is; None where nothing is said of it."""
    if any(attribute.reference for attribute in node.attributes):
        return None
    listed = _by_operator().get(node.operator, ())
    return next((each for each in listed if each.fits(node, operands, operator_set)), None)


def _is(value: object, number: str | float, first: Term) -> bool:
    """Whether an attribute has a number, or is a list of ones, of zeros, or of the spatial extents of the input."""
    if number == "whole":
        return first.shape is not None and value == first.shape[2:]
    if number in ("ones", "zeros"):
        return isinstance(value, tuple) and all(each == (1 if number == "ones" else 0) for each in value)
    return bool(value == number)


def _is_constant(operand: Term | None, number: float) -> bool:
    """Whether an operand is one element with this number; 0 is +0."""
    array = None if operand is None else operand.array
    if array is None or array.size != 1 or array.ndim or format_of(array.dtype) is None:
        return False
    value = array.astype(np.float64)
    return bool(value == number) and not bool(np.signbit(value) and number == 0)


def _is_left_out(operand: Term | None, node: Node, place: int) -> bool:
    """Whether an input is left out, known to be empty, or the bound that no number is beyond."""
    if place >= len(node.inputs) or not node.inputs[place]:
        return True
    array = None if operand is None else operand.array
    if array is None or array.size == 0:
        return array is not None
    return format_of(array.dtype) is not None and bool(np.isposinf(array.astype(np.float64)).all())
