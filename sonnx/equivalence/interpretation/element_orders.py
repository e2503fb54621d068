"""TopK of a constant number, and ReduceProd, by simpler operators, written independently of the rewrites.

ONNX TopK-11 to TopK-24: the largest or least elements in order, of equal ones that with the lower index first.  An
element stands where as many elements stand before it, which is a count of comparisons.  Of NaN the text says nothing.
ONNX ReduceProd-1 to ReduceProd-18: the product, over the reals; of two factors it is rounded once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import inf, prod
from typing import Any

import numpy as np

from sonnx.equivalence.interpretation.node_writing import Constant, NodeWriter
from sonnx.equivalence.terms.store import Term
from sonnx.model.ir import Node
from sonnx.numerics.formats import ELEMENTS, Array, limits_of

OPERATORS = frozenset({"TopK", "ReduceProd"})
MAX_COMPARISONS = 1 << 22
MAX_FACTORS = 64
COUNT_AS_INPUT = 11


def ordered_or_multiplied(
    node: Node, terms: Sequence[Term | None], operator_set: int, constant: Constant
) -> tuple[list[Node], list[str], bool] | None:
    """The nodes for one call, the names of the values of its outputs, and whether these are exact; None where the
    meaning is not stated for it.
    """
    first, values = terms[0] if terms else None, {attribute.name: attribute.value for attribute in node.attributes}
    if first is None or first.shape is None or 0 in first.shape or ELEMENTS.get(str(first.facts.type)) is None:
        return None
    if any(attribute.reference for attribute in node.attributes) or not any(node.outputs):
        return None
    nodes = NodeWriter(next(filter(None, node.outputs)), operator_set, constant)
    given = terms[1].array if len(terms) > 1 and terms[1] is not None else None
    if len(terms) > 1 and node.inputs[1] and given is None:
        return None
    if node.operator == "ReduceProd":
        result = _multiplied(nodes, node.inputs[0], first, values, given)
        is_rounded_once = sum(written.operator == "Mul" for written in nodes.nodes) <= 1
        return None if result is None else (nodes.nodes, [result], is_rounded_once)
    if given is None or given.size != 1 or operator_set < COUNT_AS_INPUT:
        return None
    results = _ordered(nodes, node.inputs[0], first, values, int(given.reshape(())))
    return None if results is None else (nodes.nodes, results, True)


def _multiplied(
    nodes: NodeWriter, name: str, first: Term, values: Mapping[str, Any], given: Array | None
) -> str | None:
    shape = first.shape or ()
    axes: Any = values.get("axes") or () if given is None else given.tolist()
    if values.get("keepdims", 1) not in (0, 1) or values.get("noop_with_empty_axes", 0) not in (0, 1):
        return None
    if not first.is_float or any(not -len(shape) <= axis < len(shape) for axis in axes):
        return None
    gone = {axis % len(shape) for axis in axes}
    if not axes:
        gone = set() if values.get("noop_with_empty_axes") else set(range(len(shape)))
    kept, listed = [axis for axis in range(len(shape)) if axis not in gone], sorted(gone)
    number = prod(shape[axis] for axis in listed)
    if not 0 < number <= MAX_FACTORS:
        return None
    behind = nodes.add("Transpose", name, perm=(*kept, *listed)) if shape else name
    rows, value = nodes.reshaped(behind, prod(shape) // number, number), ""
    for place in range(number):
        factor = nodes.add("Gather", rows, nodes.numbers(place, np.int64), axis=1)
        value = nodes.add("Mul", value, factor) if value else factor
    keepdims = values.get("keepdims", 1) != 0
    return nodes.reshaped(
        value, *[1 if axis in gone else extent for axis, extent in enumerate(shape) if keepdims or axis not in gone]
    )


def _ordered(nodes: NodeWriter, name: str, first: Term, values: Mapping[str, Any], count: int) -> list[str] | None:
    shape, kind = first.shape or (), ELEMENTS[str(first.facts.type)]
    rank, axis, largest = len(shape), values.get("axis", -1), values.get("largest", 1)
    if not shape or type(axis) is not int or not -rank <= axis < rank or largest not in (0, 1):
        return None
    if values.get("sorted", 1) not in (0, 1) or values.keys() - {"axis", "largest", "sorted"}:
        return None
    axis %= rank
    length, others = shape[axis], [extent for place, extent in enumerate(shape) if place != axis]
    outer = prod(others)
    if not 0 < count <= length or outer * length * length > MAX_COMPARISONS:
        return None
    order = [place for place in range(rank) if place != axis]
    last = nodes.add("Transpose", name, perm=(*order, axis))
    along, across = nodes.reshaped(last, outer, 1, length), nodes.reshaped(last, outer, length, 1)
    below, above = nodes.add("Less", across, along), nodes.add("Less", along, across)
    wins, loses = (below, above) if largest else (above, below)
    earlier = nodes.numbers(np.broadcast_to(np.tri(length, k=-1), (outer, length, length)), np.float32)
    tied = nodes.add("Where", loses, nodes.numbers(0, np.float32), earlier)
    beaten = nodes.add("Where", wins, nodes.numbers(1, np.float32), tied)
    ones = nodes.numbers(np.ones((length, 1)), np.float32)
    places = nodes.reshaped(nodes.add("MatMul", nodes.reshaped(beaten, outer * length, length), ones), outer, 1, length)
    wanted = nodes.numbers(np.broadcast_to(np.arange(count)[:, None], (outer, count, length)), np.float32)
    before, after = nodes.add("Less", places, wanted), nodes.add("Less", wanted, places)
    least = -inf if first.is_float else limits_of(kind)[0]

    def chosen(other: str, own: str) -> str:
        return nodes.add("Where", before, other, nodes.add("Where", after, other, own))

    def back(found: str) -> str:
        apart = nodes.reshaped(found, *others, count)
        return nodes.add("Transpose", apart, perm=(*range(axis), rank - 1, *range(axis, rank - 1)))

    kept = chosen(nodes.numbers(least, kind), along)
    best = nodes.largest(kept, 2)
    marked = chosen(nodes.numbers(0, np.float32), nodes.numbers(1, np.float32))
    return [back(best), back(nodes.add("ArgMax", marked, axis=2, keepdims=0))]
