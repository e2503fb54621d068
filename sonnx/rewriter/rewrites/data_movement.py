"""Operators that only move elements, written by Slice, Reshape and Concat."""

from __future__ import annotations

from sonnx.graph.environment import whole_numbers
from sonnx.model.ir import Tensor
from sonnx.rewriter import descriptions
from sonnx.rewriter.node_builders import SHAPE_AS_INPUT, NodeSequence
from sonnx.rewriter.operator_names import OperatorName
from sonnx.rewriter.rewrite import Replacement, Trigger, rewrite
from sonnx.rewriter.site import Shape, Site

MAX_PARTS = 64
"""A Gather stays where it would need more parts."""


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
    runs: list[tuple[int, int]] = []
    for index in indices:
        if runs and runs[-1][1] == index:
            runs[-1] = (runs[-1][0], index + 1)
        else:
            runs.append((index, index + 1))
    return runs


def _indices(constant: Tensor, extent: int) -> list[int]:
    """The indices, counted from the first element; none where one is outside the axis or not readable."""
    numbers = whole_numbers(constant)
    if not isinstance(numbers, tuple) or any(not -extent <= index < extent for index in numbers):
        return []
    return [index % extent for index in numbers]


def _joined_slices(
    site: Site, shape: Shape, axis: int, runs: list[tuple[int, int]], result: tuple[int, ...]
) -> Replacement:
    """The nodes that take the spans of an axis, one after another, and give them the shape of the result."""
    source, output = site.node.inputs[0], site.node.outputs[0]
    sequence = NodeSequence(output, site.operator_set, site.pieces)
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
    operators = " and ".join(dict.fromkeys(node.operator for node in sequence.nodes))
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
    sequence, start = NodeSequence(node.outputs[0], site.operator_set, site.pieces), 0
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
    sequence = NodeSequence(node.outputs[0], site.operator_set, site.pieces)
    sequence.reshape(node.inputs[0], shape, node.outputs[0])
    return sequence.replacement(descriptions.call(node), f"Reshape to {list(shape)}")


def _keeps_order(site: Site) -> bool:
    """Whether a permutation moves no axis past another one, of those with more than one element."""
    shape, order = site.shape(0), site.known("perm")
    if shape is None or order is None:
        return False
    long = [axis for axis in order if shape[axis] != 1]
    return long == sorted(long)
