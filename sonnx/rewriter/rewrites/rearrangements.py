"""Operators that move elements, by Reshape, Transpose, Slice and Concat; every element stays as it is.

A Transpose is replaced in its turn.  Where the first input is a constant its bytes are moved.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

from sonnx.base.errors import NotExecutable
from sonnx.equivalence.interpretation.rearrangements import ZERO, blocks_of, rearranged
from sonnx.numerics.formats import Array
from sonnx.operators import resize
from sonnx.rewriter import constant_tensors, descriptions
from sonnx.rewriter.node_builders import SHAPE_AS_INPUT, NodeSequence, attribute, with_attributes
from sonnx.rewriter.operator_names import OperatorName
from sonnx.rewriter.rewrite import Replacement, Trigger, rewrite
from sonnx.rewriter.site import Shape, Site

MAX_COPIES = 64
"""An axis that is repeated more often stays."""


@rewrite("moved-constant", Trigger.RULE_FAILS)
def moved_constant(site: Site) -> Replacement | None:
    """No node: its output is the constant with its elements moved."""
    constant = site.constant(0)
    values = None if constant is None else constant_tensors.undecoded(constant)
    parameters = _parameters(site)
    if constant is None or values is None or parameters is None or any(site.node.outputs[1:]):
        return None
    found = rearranged(site.node, values.shape, parameters)
    if found is None or found.size * values.itemsize > constant_tensors.MAX_CONSTANT_BYTES:
        return None
    elements = np.concatenate([values.reshape(-1), np.zeros(1, values.dtype)])  # ZERO is the last one
    moved = constant_tensors.from_bytes(
        site.node.outputs[0], constant.element, found.shape, elements[found.reshape(-1)].tobytes()
    )
    return Replacement((), descriptions.call(site.node), f"constant {descriptions.tensor(moved)}", (moved,))


def _parameters(site: Site) -> list[Array | None] | None:
    """The inputs behind the first as arrays, None where one is not a constant."""
    found: list[Array | None] = []
    for index, name in enumerate(site.node.inputs[1:], 1):
        constant = site.constant(index)
        array = None if constant is None else constant_tensors.decoded(constant)
        if name and array is None:
            return None
        found.append(array)
    return found


@rewrite("moved-blocks", Trigger.RULE_FAILS, makes_executable=True)
def moved_blocks(site: Site) -> Replacement | None:
    """DepthToSpace or SpaceToDepth: Reshape, Transpose, Reshape."""
    shape, written = site.shape(0), site.attributes
    attributes = {name: each.value for name, each in written.items() if not each.reference}
    if shape is None or 0 in shape or len(attributes) < len(written) or site.operator_set < SHAPE_AS_INPUT:
        return None
    found = blocks_of(site.node.operator, shape, attributes)
    if found is None:
        return None
    sequence = NodeSequence(site.node.outputs[0], site.operator_set, site.pieces)
    apart = sequence.reshape(site.node.inputs[0], found.apart)
    ordered = sequence.add(OperatorName.TRANSPOSE, (apart,), sequence.name("ordered"))
    sequence.nodes[-1] = with_attributes(sequence.nodes[-1], {"perm": attribute("perm", "ints", found.order)})
    sequence.reshape(ordered, found.joined, site.node.outputs[0])
    return sequence.replacement(descriptions.call(site.node), "Reshape, Transpose and Reshape")


@rewrite("repeated-elements", Trigger.RULE_FAILS, makes_executable=True)
def repeated_elements(site: Site) -> Replacement | None:
    """Upsample and Resize to the nearest element: on each axis each element several times, or those at some places."""
    shape = site.shape(0)
    maps = None if shape is None or 0 in shape or site.operator_set < SHAPE_AS_INPUT else _maps(site, shape)
    if shape is None or maps is None:
        return None
    sequence, source, output = NodeSequence(site.node.outputs[0], site.operator_set), site.node.inputs[0], ""
    extents = list(shape)
    changed = [axis for axis, places in enumerate(maps) if places != list(range(shape[axis]))]
    for axis in changed:
        output = site.node.outputs[0] if axis == changed[-1] else sequence.name("resized")
        if not _add_axis(sequence, source, extents, axis, maps[axis], output):
            return None
        source, extents[axis] = output, len(maps[axis])
    if not changed:
        sequence.reshape(source, shape, site.node.outputs[0])
    return sequence.replacement(descriptions.call(site.node), f"{len(sequence.nodes)} nodes that repeat elements")


def _add_axis(
    sequence: NodeSequence, source: str, extents: Sequence[int], axis: int, places: list[int], output: str
) -> bool:
    """Append the nodes that take the elements at some places of an axis."""
    extent, copies = extents[axis], len(places) // extents[axis]
    before, behind = prod(extents[:axis]), prod(extents[axis + 1 :])
    if copies * extent == len(places) and places == [place for place in range(extent) for _ in range(copies)]:
        if copies > MAX_COPIES:
            return False
        apart = sequence.reshape(source, (before * extent, 1, behind))
        joined = sequence.add(OperatorName.CONCAT, [apart] * copies, sequence.name("copies"), axis=1)
        sequence.reshape(joined, (*extents[:axis], len(places), *extents[axis + 1 :]), output)
        return True
    runs: list[tuple[int, int]] = []
    for place in places:
        if runs and runs[-1][1] == place:
            runs[-1] = (runs[-1][0], place + 1)
        else:
            runs.append((place, place + 1))
    if not 0 < len(runs) <= MAX_COPIES:
        return False
    if len(runs) == 1:
        sequence.slice(source, extents, axis, runs[0], output)
    else:
        parts = [sequence.slice(source, extents, axis, run) for run in runs]
        sequence.add(OperatorName.CONCAT, parts, output, axis=axis)
    return True


def _maps(site: Site, shape: Shape) -> list[list[int]] | None:
    """For each axis the element that each place takes; None where a place takes several, or none."""
    if site.node.operator == OperatorName.UPSAMPLE:
        parameters = _parameters(site)
        if parameters is None:
            return None
        maps = []
        for axis in range(len(shape)):
            line = rearranged(site.node, shape, parameters)
            if line is None:
                return None
            first = np.moveaxis(line, axis, -1).reshape(-1, line.shape[axis])[0]
            step = prod(shape[axis + 1 :])
            maps.append([int(place) // step % shape[axis] for place in first])
        return maps
    application, parameters = site.application, _parameters(site)
    if application is None or parameters is None:
        return None
    try:
        sampled = resize.samplings(application, [np.empty(shape, np.bool_), *parameters])
    except (NotExecutable, KeyError):
        return None
    if any(each is None or len(each) != 1 for sampling in sampled for each in sampling):
        return None
    return [[each[0][0] for each in sampling if each] for sampling in sampled]


@rewrite("repeated-tensor", Trigger.RULE_FAILS, makes_executable=True)
def repeated_tensor(site: Site) -> Replacement | None:
    """Tile: Concat of as many copies along each axis."""
    shape, parameters = site.shape(0), _parameters(site)
    if not shape or 0 in shape or not parameters or parameters[0] is None or site.operator_set < SHAPE_AS_INPUT:
        return None
    repeats = [int(number) for number in parameters[0].reshape(-1)]
    if len(repeats) != len(shape) or not all(1 <= number <= MAX_COPIES for number in repeats):
        return None
    sequence, source = NodeSequence(site.node.outputs[0], site.operator_set), site.node.inputs[0]
    axes = [axis for axis, number in enumerate(repeats) if number > 1]
    for axis in axes:
        output = site.node.outputs[0] if axis == axes[-1] else sequence.name("copies")
        source = sequence.add(OperatorName.CONCAT, [source] * repeats[axis], output, axis=axis)
    if not axes:
        sequence.reshape(source, shape, site.node.outputs[0])
    return sequence.replacement(descriptions.call(site.node), f"Concat of copies along {len(axes)} axes")


@rewrite("masked-triangle", Trigger.RULE_FAILS, makes_executable=True)
def masked_triangle(site: Site) -> Replacement | None:
    """Trilu: Where with a constant of truth values, X or zero."""
    shape, element, parameters = site.shape(0), site.element_type(0), _parameters(site)
    if shape is None or 0 in shape or element is None or parameters is None:
        return None
    found = rearranged(site.node, shape, parameters)
    if found is None:
        return None
    sequence = NodeSequence(site.node.outputs[0], site.operator_set)
    kept = sequence.constant("kept", "bool", found != ZERO, shape)
    zero = sequence.constant("zero", element, 0, shape)
    sequence.add(OperatorName.WHERE, (kept, site.node.inputs[0], zero), site.node.outputs[0])
    return sequence.replacement(descriptions.call(site.node), "Where by a constant triangle")
