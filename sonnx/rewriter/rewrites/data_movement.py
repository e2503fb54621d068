"""Operators that only move elements, written by Slice, Reshape and Concat."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import pairwise
from math import prod

from sonnx.graph.environment import whole_numbers
from sonnx.model.ir import Tensor
from sonnx.rewriter import descriptions
from sonnx.rewriter.node_builders import SHAPE_AS_INPUT, NodeSequence
from sonnx.rewriter.operator_names import OperatorName
from sonnx.rewriter.rewrite import Replacement, Trigger, rewrite
from sonnx.rewriter.site import Shape, Site

MAX_PARTS = 64
"""A permutation stays where one exchange of axes would need more parts."""
MAX_ALL_PARTS = 4 * MAX_PARTS
"""It stays where all exchanges together would need more."""


@rewrite("gathered-part", Trigger.RULE_FAILS)
def gathered_part(site: Site) -> Replacement | None:
    """A slice for each run of consecutive indices, joined by Concat; Reshape where the axis is not the result's."""
    shape, axis, indices = site.shape(0), site.known("axis"), site.constant(1)
    if shape is None or axis is None or indices is None or site.operator_set < SHAPE_AS_INPUT:
        return None
    if not -len(shape) <= axis < len(shape):
        return None
    axis %= len(shape)
    runs = _runs(_indices(indices, shape[axis]))
    if not 0 < len(runs) <= MAX_PARTS or 0 in shape:
        return None
    result = (*shape[:axis], *indices.dims, *shape[axis + 1 :])
    return _joined_slices(site, shape, axis, runs, result)


def _runs(indices: list[int]) -> list[tuple[int, int]]:
    """The consecutive indices as spans: the first, and the one after the last."""
    found: list[tuple[int, int]] = []
    for index in indices:
        if found and found[-1][1] == index:
            found[-1] = (found[-1][0], index + 1)
        else:
            found.append((index, index + 1))
    return found


def _indices(constant: Tensor, extent: int) -> list[int]:
    """The indices, counted from the first element; none where one is outside the axis or not readable."""
    found = whole_numbers(constant)
    if not isinstance(found, tuple) or any(not -extent <= index < extent for index in found):
        return []
    return [index % extent for index in found]


def _joined_slices(
    site: Site, shape: Shape, axis: int, runs: list[tuple[int, int]], result: tuple[int, ...]
) -> Replacement:
    """The nodes that take the spans of an axis, one after another, and give them the shape of the result."""
    source, output = site.node.inputs[0], site.node.outputs[0]
    sequence = NodeSequence(output, site.operator_set)
    number = sum(end - start for start, end in runs)
    shaped = result != (*shape[:axis], number, *shape[axis + 1 :])
    last = f"{output}.part" if shaped else output
    if len(runs) == 1:
        sequence.slice(source, shape, axis, runs[0], last)
    else:
        parts = [sequence.slice(source, shape, axis, span) for span in runs]
        sequence.add(OperatorName.CONCAT, parts, last, axis=axis)
    if shaped:
        sequence.reshape(last, result, output)
    spans = ", ".join(f"{start} to {end - 1}" if end > start + 1 else str(start) for start, end in runs)
    which = f"index {spans}" if number == 1 else f"indices {spans}"
    operators = " and ".join(dict.fromkeys(each.operator for each in sequence.nodes))
    return sequence.replacement(descriptions.call(site.node), f"{which} of axis {axis} by {operators}")


@rewrite("split-parts", Trigger.RULE_FAILS)
def split_parts(site: Site) -> Replacement | None:
    """A slice for each output that something uses, one at least."""
    node, shape, axis = site.node, site.shape(0), site.known("axis")
    if shape is None or axis is None or not -len(shape) <= axis < len(shape) or not site.only_first_input_varies:
        return None
    axis %= len(shape)
    parts = [site.output_shape(index) for index in range(len(node.outputs))]
    if None in parts or sum(part[axis] for part in parts if part) != shape[axis]:
        return None
    if any(part and 0 in part for part in parts):  # the profile's Slice has no empty result
        return None
    sequence, start = NodeSequence(node.outputs[0], site.operator_set), 0
    wanted = site.used.intersection(node.outputs) or {node.outputs[0]}
    for name, part in zip(node.outputs, parts, strict=True):
        end = start + (part[axis] if part else 0)
        if name in wanted:
            sequence.slice(node.inputs[0], shape, axis, (start, end), name)
        start = end
    return sequence.replacement(descriptions.call(node), f"{len(sequence.nodes)} slices of axis {axis}")


@rewrite("reshaped", Trigger.RULE_FAILS)
def reshaped(site: Site) -> Replacement | None:
    """Squeeze or Transpose as Reshape, where no axis of several elements passes another one."""
    node, shape = site.node, site.output_shape()
    if shape is None or 0 in shape or not site.only_first_input_varies or site.operator_set < SHAPE_AS_INPUT:
        return None
    if node.operator == OperatorName.TRANSPOSE and not _keeps_order(site):
        return None
    sequence = NodeSequence(node.outputs[0], site.operator_set)
    sequence.reshape(node.inputs[0], shape, node.outputs[0])
    return sequence.replacement(descriptions.call(node), f"Reshape to {list(shape)}")


def _keeps_order(site: Site) -> bool:
    """Whether a permutation moves no axis past another one, of those with more than one element."""
    shape, order = site.shape(0), site.known("perm")
    if shape is None or order is None:
        return False
    long = [axis for axis in order if shape[axis] != 1]
    return long == sorted(long)


@rewrite("transposed-parts", Trigger.RULE_FAILS)
def transposed_parts(site: Site) -> Replacement | None:
    """Transpose as a few exchanges of neighbouring axes.

    Two axes are exchanged by cutting along the shorter one, reshaping each part, and concatenating the parts.
    """
    node, shape, order = site.node, site.shape(0), site.known("perm")
    if shape is None or order is None or site.operator_set < SHAPE_AS_INPUT or 0 in shape:
        return None
    if sorted(order) != list(range(len(shape))):
        return None
    blocks = _blocks(order, shape)
    exchanges = _exchanges([block for block, _ in blocks])
    extents = dict(blocks)
    if not exchanges or _parts(exchanges, extents) > MAX_ALL_PARTS:
        return None
    sequence, value = NodeSequence(node.outputs[0], site.operator_set), node.inputs[0]
    current = sorted(extents)
    for a, b in exchanges:
        at = current.index(a)
        sizes = [extents[each] for each in current]
        value = _exchange(sequence, value, (prod(sizes[:at]), extents[a], extents[b], prod(sizes[at + 2 :])))
        current[at], current[at + 1] = b, a
    sequence.reshape(value, [shape[axis] for axis in order], node.outputs[0])
    return sequence.replacement(descriptions.call(node), f"{len(sequence.nodes)} nodes that move parts")


def _parts(exchanges: Iterable[tuple[int, int]], extents: Mapping[int, int]) -> int:
    """The parts of all exchanges; more than all that are allowed where one has more than it is allowed."""
    sizes = [min(extents[a], extents[b]) for a, b in exchanges]
    return sum(sizes) if max(sizes) <= MAX_PARTS else MAX_ALL_PARTS + 1


def _blocks(order: tuple[int, ...], shape: Shape) -> list[tuple[int, int]]:
    """First axis and size of what is moved: axes in their new order, without those of extent 1, neighbours as one."""
    found: list[list[int]] = []
    long = [axis for axis in order if shape[axis] != 1]
    follows = dict(pairwise(sorted(long)))
    for axis in long:
        if found and follows.get(found[-1][-1]) == axis:
            found[-1].append(axis)
        else:
            found.append([axis])
    return [(axes[0], prod(shape[axis] for axis in axes)) for axes in found]


def _exchanges(wanted: list[int]) -> list[tuple[int, int]]:
    """The pairs of neighbours to exchange, one after another, that bring sorted blocks into an order (bubble sort)."""
    place = {block: index for index, block in enumerate(wanted)}
    current, steps = sorted(wanted), list[tuple[int, int]]()
    moved = True
    while moved:
        moved = False
        for at in range(len(current) - 1):
            a, b = current[at], current[at + 1]
            if place[a] > place[b]:
                current[at], current[at + 1] = b, a
                steps.append((a, b))
                moved = True
    return steps


def _exchange(sequence: NodeSequence, value: str, shape: tuple[int, int, int, int]) -> str:
    """Append the nodes that bring a value from [before, a, b, behind] to [before, b, a, behind]; its name."""
    before, a, b, behind = shape
    whole = sequence.reshape(value, shape)
    axis, number = (1, a) if a <= b else (2, b)
    part_shape = (before, b, 1, behind) if axis == 1 else (before, 1, a, behind)
    parts = []
    for index in range(number):
        part = sequence.slice(whole, shape, axis, (index, index + 1))
        parts.append(sequence.reshape(part, part_shape))
    return sequence.add(OperatorName.CONCAT, parts, sequence.name("joined"), axis=3 - axis)
