"""ReduceProd as products of parts, and TopK by the places of elements in their order.

The place of an element is the number of elements before it in the order: those that are larger, and equal ones with a
lower index.  Less decides both, a product with ones counts them exactly, and where the place is the wanted one Where
keeps the element among values that no maximum prefers to it.
"""

from __future__ import annotations

from math import inf, prod
from typing import Any

import numpy as np
from msgspec.structs import replace

from sonnx.numerics.formats import ELEMENTS, limits_of
from sonnx.rewriter import constant_tensors, descriptions
from sonnx.rewriter.node_builders import NodeSequence, attribute, with_attributes
from sonnx.rewriter.operator_names import OperatorName
from sonnx.rewriter.rewrite import Replacement, Trigger, rewrite
from sonnx.rewriter.rewrites.sums import FLOATS, neighbouring
from sonnx.rewriter.site import Shape, Site

MAX_FACTORS = 64
"""Factors of one product that is written out."""
MAX_COMPARISONS = 1 << 22
"""Comparisons of elements, up to which an order is written out."""
COUNT_AS_INPUT = 11
"""The operator set from which TopK has its present form (ONNX TopK-11)."""
ORDERED = (*FLOATS, "int8", "int32", "int64", "uint8")
"""The element types of Less and ReduceMax in the profile."""
WITHOUT_NAN = "holds for inputs without NaN: ONNX does not say where NaN stands in the order"


@rewrite("multiplied-parts", Trigger.RULE_FAILS)
def multiplied_parts(site: Site) -> Replacement | None:
    """Slices along the axes, multiplied one after another, between Reshapes."""
    shape, gone, element = site.shape(0), _gone(site), site.element_type(0) or ""
    if shape is None or gone is None or 0 in shape or element not in FLOATS:
        return None
    stack = neighbouring(shape, gone)
    if stack is None or stack[1] > MAX_FACTORS:
        return None
    number = stack[1]
    kept = site.flag("keepdims", 1)
    if kept is None:
        return None
    result = tuple([1 if axis in gone else extent for axis, extent in enumerate(shape) if kept or axis not in gone])
    sequence = NodeSequence(site.node.outputs[0], site.operator_set)
    whole = sequence.reshape(site.node.inputs[0], stack)
    parts = [sequence.slice(whole, stack, 1, (place, place + 1)) if number > 1 else whole for place in range(number)]
    value = parts[0]
    for part in parts[1:]:
        value = sequence.add(OperatorName.MUL, (value, part), sequence.name("product"))
    sequence.reshape(value, result, sequence.output)
    return sequence.replacement(descriptions.call(site.node), f"a product of {number} parts")


AXES_AS_INPUT = 18
"""The operator set from which reductions have their axes as an input (ONNX ReduceProd-18)."""


def _gone(site: Site) -> frozenset[int] | None:
    """The axes that are reduced; None where they are not known."""
    shape, written = site.shape(0) or (), site.attributes
    if any(each.reference for each in written.values()):
        return None
    axes: Any = None if "axes" not in written else written["axes"].value
    if len(site.node.inputs) > 1 and site.node.inputs[1]:
        tensor = site.constant(1)
        array = None if tensor is None else constant_tensors.decoded(tensor)
        if array is None:
            return None
        axes = array.tolist()
    kept_without_axes = site.flag("noop_with_empty_axes", 0)
    if kept_without_axes is None:
        return None
    if not axes and kept_without_axes:
        return frozenset()
    listed = axes or range(len(shape))
    fits = all(type(axis) is int and -len(shape) <= axis < len(shape) for axis in listed)
    return frozenset(axis % len(shape) for axis in listed) if fits else None


@rewrite("ordered-elements", Trigger.RULE_FAILS)
def ordered_elements(site: Site) -> Replacement | None:
    """The values and the indices of the first elements in the order, of a constant number of them."""
    shape, element, count, axis = site.shape(0), site.element_type(0) or "", _count(site), _axis(site)
    if shape is None or not shape or 0 in shape or count is None or axis is None or element not in ORDERED:
        return None
    length = shape[axis]
    outer = prod(shape) // length
    if not 0 < count <= length or outer * length * length > MAX_COMPARISONS or site.operator_set < COUNT_AS_INPUT:
        return None
    values, places = [*site.node.outputs, ""][:2]
    if values not in site.used:
        values = ""
    if places not in site.used:
        places = ""
    sequence = NodeSequence(values or places, site.operator_set)
    ranks, rows = _ranks(sequence, site, (outer, length), axis)
    wanted = np.broadcast_to(np.arange(count).reshape(1, count, 1), (outer, count, length))
    numbers = sequence.constant("places", "float", wanted, wanted.shape)
    before = sequence.add(OperatorName.LESS, (ranks, numbers), sequence.name("before"))
    after = sequence.add(OperatorName.LESS, (numbers, ranks), sequence.name("after"))

    def chosen(role: str, other: str, own: str) -> str:
        inner = sequence.add(OperatorName.WHERE, (after, other, own), sequence.name(f"not{role}"))
        return sequence.add(OperatorName.WHERE, (before, other, inner), sequence.name(role))

    if values:
        least = -inf if element in FLOATS else limits_of(ELEMENTS[element])[0]
        low = sequence.constant("least", element, least, wanted.shape)
        found = chosen("value", low, rows)
        largest = largest_of_last_axis(sequence, found)
        _in_place(sequence, largest, shape, axis, count, values)
    if places:
        none, one = (sequence.constant(role, "float", value, wanted.shape) for role, value in (("none", 0), ("one", 1)))
        found = chosen("place", none, one)
        index = sequence.add(OperatorName.ARG_MAX, (found,), sequence.name("index"), axis=2, keepdims=0)
        _in_place(sequence, index, shape, axis, count, places)
    replacement = sequence.replacement(descriptions.call(site.node), f"comparisons of all pairs of {length} elements")
    return replace(replacement, changes=WITHOUT_NAN) if element in FLOATS else replacement


def _count(site: Site) -> int | None:
    tensor = site.constant(1)
    array = None if tensor is None else constant_tensors.decoded(tensor)
    return int(array.reshape(())) if array is not None and array.size == 1 else None


def _axis(site: Site) -> int | None:
    """The axis from the first one; None where an attribute has another value than it may have."""
    rank, values = len(site.shape(0) or ()), {name: each.value for name, each in site.attributes.items()}
    axis = values.get("axis", -1)
    flags = site.flag("largest", 1), site.flag("sorted", 1)
    if any(each.reference for each in site.attributes.values()) or None in flags:
        return None
    return axis % rank if type(axis) is int and -rank <= axis < rank else None


def _ranks(sequence: NodeSequence, site: Site, sizes: Shape, axis: int) -> tuple[str, str]:
    """Append the places of all elements in the order; their name, and that of the elements, as [outer, 1, length]."""
    outer, length = sizes
    source, shape = site.node.inputs[0], site.shape(0) or ()
    if axis != len(shape) - 1:
        source = _transposed(sequence, source, _behind(len(shape), axis), sequence.name("ordered"))
    rows, columns = sequence.reshape(source, (outer, 1, length)), sequence.reshape(source, (outer, length, 1))
    cube = outer, length, length
    earlier = np.broadcast_to(np.tri(length, length, -1), cube)  # element i of the last axis stands before element j
    none, one, before = (
        sequence.constant(role, "float", numbers, cube)
        for role, numbers in (("zero", 0), ("unit", 1), ("earlier", earlier))
    )
    smaller = sequence.add(OperatorName.LESS, (columns, rows), sequence.name("smaller"))
    larger = sequence.add(OperatorName.LESS, (rows, columns), sequence.name("larger"))
    written = site.attributes.get("largest")
    if written is not None and written.value == 0:
        smaller, larger = larger, smaller
    rest = sequence.add(OperatorName.WHERE, (larger, none, before), sequence.name("rest"))
    beaten = sequence.add(OperatorName.WHERE, (smaller, one, rest), sequence.name("beaten"))
    column = sequence.constant("ones", "float", 1, (length, 1))
    listed = sequence.reshape(beaten, (outer * length, length))
    counted = sequence.add(OperatorName.MATMUL, (listed, column), sequence.name("counted"))
    return sequence.reshape(counted, (outer, 1, length)), rows


def _behind(rank: int, axis: int) -> list[int]:
    """The axes with one of them behind all others."""
    return [*(each for each in range(rank) if each != axis), axis]


def _transposed(sequence: NodeSequence, source: str, order: list[int], output: str) -> str:
    sequence.add(OperatorName.TRANSPOSE, (source,), output)
    sequence.nodes[-1] = with_attributes(sequence.nodes[-1], {"perm": attribute("perm", "ints", tuple(order))})
    return output


def largest_of_last_axis(sequence: NodeSequence, source: str) -> str:
    """Append the largest along the last of three axes."""
    if sequence.operator_set >= AXES_AS_INPUT:
        axes = sequence.constant("axes", "int64", 2, (1,))
        return sequence.add(OperatorName.REDUCE_MAX, (source, axes), sequence.name("largest"), keepdims=0)
    largest = sequence.add(OperatorName.REDUCE_MAX, (source,), sequence.name("largest"), keepdims=0)
    sequence.nodes[-1] = with_attributes(sequence.nodes[-1], {"axes": attribute("axes", "ints", (2,))})
    return largest


def _in_place(sequence: NodeSequence, source: str, shape: Shape, axis: int, count: int, output: str) -> None:
    """Append what gives rows of found elements the shape of the output."""
    rank, others = len(shape), [extent for place, extent in enumerate(shape) if place != axis]
    if axis == rank - 1:
        sequence.reshape(source, (*others, count), output)
        return
    apart = sequence.reshape(source, (*others, count))
    order = [*range(axis), rank - 1, *range(axis, rank - 1)]
    _transposed(sequence, apart, order, output)
