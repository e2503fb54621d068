"""Movements that move nothing, whatever the extents of the operand are: they are their operand.

Where all extents are known, the map of a movement says so (`terms/movements.py`).  These forms serve operands with symbolic
extents.  Each holds for every extent, 0 included: a form that would need an extent other than 0 is left out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np

from sonnx.equivalence.terms.keys import frozen, with_parameter
from sonnx.equivalence.terms.store import Store, Term
from sonnx.equivalence.terms.term_calls import TermCall, normal_form_of

END = np.iinfo(np.int64).max
"""The end of a Slice that is behind the last element, whatever the extent is."""

TILE_REPEATS_SINCE = 6
"""The operator set from which on the second input of Tile has a number for each axis."""

SCALED_ALONE = ("half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric")
"""The coordinates of Resize that depend on nothing but the scale; at a scale of 1 each element is its own nearest."""


@normal_form_of("Dropout", any_shape=True)
def dropout(store: Store, call: TermCall) -> list[Term] | None:
    """Dropout outside training: its operand, and the mask; one that trains is a value of its own before (`domain`)."""
    operand = call.operands[0] if call.operands else None
    if operand is None or not call.outputs:
        return None
    store.rest_on("unmoved")
    return [operand, *call.terms(store)[1:]]


Numbers: TypeAlias = Mapping[str, Any]
MovesNothing: TypeAlias = Callable[[Numbers, TermCall, Term], bool]


def _unmoved_by(operator: str) -> Callable[[MovesNothing], MovesNothing]:
    """Register that calls of an operator of which a predicate holds are their first operand."""

    def register(moves_nothing: MovesNothing) -> MovesNothing:
        @normal_form_of(operator, any_shape=True)
        def first_operand(store: Store, call: TermCall) -> list[Term] | None:
            operand = call.operands[0] if call.operands else None
            names = {} if call.application is None else call.application.names
            if operand is None or len(call.outputs) != 1 or not moves_nothing(names, call, operand):
                return None
            store.rest_on("unmoved")
            return [operand]

        return moves_nothing

    return register


@_unmoved_by("Slice")
def _slice(names: Numbers, _call: TermCall, operand: Term) -> bool:
    """Slice from 0 in steps of 1 to the end, or to a known extent."""
    begins, stops, steps, axes = (_integers(names.get(name)) for name in ("begins", "stops", "stepping", "named"))
    if begins is None or stops is None or steps is None or axes is None or operand.rank is None:
        return False
    extents = _extents(operand)
    whole = all(stop == END or _reaches(stop, extents, axis) for stop, axis in zip(stops, axes, strict=False))
    return len(stops) == len(axes) == len(steps) == len(begins) and not any(begins) and set(steps) <= {1} and whole


@_unmoved_by("Pad")
def _pad(names: Numbers, call: TermCall, _operand: Term) -> bool:
    """Pad by nothing."""
    amounts = _integers(names.get("amounts"))
    return amounts is not None and not any(amounts)


@_unmoved_by("Transpose")
def _transpose(names: Numbers, _call: TermCall, operand: Term) -> bool:
    """Transpose that keeps every axis."""
    axes = _integers(names.get("perm"))
    return axes is not None and operand.rank == len(axes) and axes == tuple(range(len(axes)))


@_unmoved_by("Expand")
def _expand(names: Numbers, call: TermCall, operand: Term) -> bool:
    """Expand to 1 or to a known extent along every axis, or to the shape of the operand."""
    if _is_shape_of(call, operand):
        return True
    shape, extents = _integers(names.get("shape")), _extents(operand)
    if shape is None or operand.rank is None or len(shape) > operand.rank:
        return False
    return all(
        wanted == 1 or (type(extent) is int and extent == wanted)
        for wanted, extent in zip(reversed(shape), reversed(extents), strict=False)
    )


@_unmoved_by("Reshape")
def _reshape(names: Numbers, call: TermCall, operand: Term) -> bool:
    """Reshape to the shape of the operand: as a value, or axis by axis.  An axis of -1 is what the others leave; that
    is the extent only if none of them is 0.
    """
    if _is_shape_of(call, operand):
        return True
    shape, extents = _integers(names.get("shape")), _extents(operand)
    if shape is None or operand.rank != len(shape) or shape.count(-1) > 1:
        return False
    others = [extent for wanted, extent in zip(shape, extents, strict=True) if wanted != -1]
    if -1 in shape and not all(type(extent) is int and extent > 0 for extent in others):
        return False
    copies = names.get("explicit_zeros") == 0
    return all(
        wanted == -1 or (wanted == 0 and copies) or (type(extent) is int and wanted == extent and wanted > 0)
        for wanted, extent in zip(shape, extents, strict=True)
    )


@_unmoved_by("Tile")
def _tile(_names: Numbers, call: TermCall, _operand: Term) -> bool:
    """Tile once along every axis."""
    repeats = call.operands[1].array if len(call.operands) == 2 and call.operands[1] is not None else None
    return repeats is not None and (call.operator_set or 0) >= TILE_REPEATS_SINCE and bool((repeats == 1).all())


@_unmoved_by("Resize")
def _resize(names: Numbers, _call: TermCall, operand: Term) -> bool:
    """Resize to the nearest element with a scale of 1 along every axis."""
    scales = names.get("scales")
    coordinates = names.get("coordinate_transformation_mode")
    if not isinstance(scales, tuple | list) or not scales:
        return False
    is_one = all(type(scale) is float and scale == 1 for scale in scales)
    return is_one and names.get("mode") == "nearest" and coordinates in SCALED_ALONE


@_unmoved_by("Concat")
def _concat(_names: Numbers, call: TermCall, _operand: Term) -> bool:
    """Concat of one value."""
    return len(call.operands) == 1


@_unmoved_by("Split")
def _split(names: Numbers, call: TermCall, _operand: Term) -> bool:
    """Split into one part, whose extent is not written."""
    return len(call.outputs) == 1 and len(call.operands) == 1 and names.get("written(split)") is False


@normal_form_of("Transpose", any_shape=True)
def composed(store: Store, call: TermCall) -> TermCall | None:
    """Transpose of a Transpose: one with the axes of both."""
    operand = call.operands[0] if call.operands else None
    if operand is None or operand.operator != "Transpose" or operand.domain or operand.inputs[0] is None:
        return None
    if call.application is None or operand.application is None:
        return None
    axes, below = (_integers(each.names.get("perm")) for each in (call.application, operand.application))
    if axes is None or below is None or len(axes) != len(below):
        return None
    both = tuple([below[axis] for axis in axes])
    application = replace(call.application, names={**call.application.names, "perm": both})
    store.rest_on("unmoved")
    return replace(
        call, operands=operand.inputs, key=with_parameter(call.key, "perm", frozen(both)), application=application
    )


@normal_form_of("Squeeze", any_shape=True)
def unsqueezed(store: Store, call: TermCall) -> list[Term] | None:
    """Squeeze of the axes that Unsqueeze put in."""
    operand = call.operands[0] if call.operands else None
    if operand is None or operand.operator != "Unsqueeze" or operand.domain or operand.inputs[0] is None:
        return None
    if call.application is None or operand.application is None or not operand.rank:
        return None
    axes = [_integers(each.names.get("axes")) for each in (call.application, operand.application)]
    if None in axes or len({frozenset(axis % operand.rank for axis in listed or ()) for listed in axes}) > 1:
        return None
    store.rest_on("unmoved")
    return [operand.inputs[0]]


def _is_shape_of(call: TermCall, operand: Term) -> bool:
    """Whether the second operand is the whole shape of the first one."""
    shape = call.operands[1] if len(call.operands) > 1 else None
    if shape is None or shape.operator != "Shape" or shape.domain or shape.inputs[0] is not operand:
        return False
    return operand.rank is not None and shape.shape == (operand.rank,)


def _extents(operand: Term) -> Sequence[Any]:
    """The extents of a term, known ones as whole numbers."""
    return operand.facts.shape if isinstance(operand.facts.shape, tuple) else ()


def _reaches(stop: int, extents: Sequence[Any], axis: int) -> bool:
    """Whether a Slice that ends there has the last element of an axis of known extent."""
    extent = extents[axis] if -len(extents) <= axis < len(extents) else None
    return type(extent) is int and stop >= extent


def _integers(value: Any) -> tuple[int, ...] | None:
    """A list of known whole numbers, None for what is none."""
    if not isinstance(value, tuple | list) or not all(type(each) is int for each in value):
        return None
    return tuple(value)
