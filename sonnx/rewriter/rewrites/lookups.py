"""Elements of a constant table by indices that are known at run time: a product, or a choice by Less and Where.

A row of zeros and one 1 times the table is a row of it: the sum has one product that is not 0, with the factor 1, so
that it is the element of the table; the table has no infinity and no NaN, which 0 does not erase, and no -0, which +0
would.  A conversion of what was chosen among constants is the choice among the converted constants.
"""

from __future__ import annotations

from math import prod

import numpy as np
from msgspec.structs import replace

from sonnx.numerics.formats import Array
from sonnx.rewriter import constant_tensors, descriptions
from sonnx.rewriter.node_builders import SHAPE_AS_INPUT, NodeSequence
from sonnx.rewriter.operator_names import OperatorName
from sonnx.rewriter.rewrite import Replacement, Trigger, rewrite
from sonnx.rewriter.rewrites.choices import FIRST_WITH_WHERE
from sonnx.rewriter.rewrites.sums import FLOATS
from sonnx.rewriter.site import Shape, Site

WHOLE = ("int32", "int64")
"""The element types of a list of whole numbers; labels of classes, for example."""
MOST_NUMBERS = 64
"""The longest list of numbers that Where chooses from."""
MAX_CHOICES = 1 << 20
"""Indices times rows of the table, up to which a lookup is a product."""


@rewrite("looked-up-rows", Trigger.RULE_FAILS)
def looked_up_rows(site: Site) -> Replacement | None:
    """Less and Where make the row of an index, MatMul takes it; a negative index counts from the end."""
    table, indices, kind = site.constant(0), site.shape(1), site.element_type(1)
    values = None if table is None else constant_tensors.decoded(table)
    if table is None or values is None or indices is None or site.constant(1) or kind not in ("int32", "int64"):
        return None
    axis, element, count = site.known("axis"), table.element or "", prod(indices)
    if element in WHOLE and values.ndim == 1:
        return _chosen_numbers(site, values, element, kind)
    if element not in FLOATS or not values.ndim or axis not in (0, -values.ndim) or site.operator_set < SHAPE_AS_INPUT:
        return None
    rows = values.shape[0]
    if not count or not values.size or count * rows > MAX_CHOICES:
        return None
    if not np.isfinite(values).all() or (np.signbit(values) & (values == 0)).any():
        return None
    sequence, shape = NodeSequence(site.node.outputs[0], site.operator_set), (count, rows)
    column = sequence.reshape(site.node.inputs[1], (count, 1))
    inside = _from_first(sequence, column, kind, (count, 1), rows)
    least = sequence.constant("least", kind, np.iinfo(kind).min, shape)
    every = sequence.add(OperatorName.MAX, (inside, least), sequence.name("indices"))
    places = sequence.constant("places", kind, np.broadcast_to(np.arange(rows), shape), shape)
    none, one = sequence.constant("none", element, 0, shape), sequence.constant("one", element, 1, shape)
    below = sequence.add(OperatorName.LESS, (every, places), sequence.name("below"))
    above = sequence.add(OperatorName.LESS, (places, every), sequence.name("above"))
    rest = sequence.add(OperatorName.WHERE, (above, none, one), sequence.name("rest"))
    chosen = sequence.add(OperatorName.WHERE, (below, none, rest), sequence.name("chosen"))
    matrix = sequence.constant("table", element, values.reshape(rows, -1), (rows, values.size // rows))
    found = sequence.add(OperatorName.MATMUL, (chosen, matrix), sequence.name("found"))
    sequence.reshape(found, (*indices, *values.shape[1:]), sequence.output)
    return sequence.replacement(descriptions.call(site.node), f"a product with {rows} rows of the table")


def _from_first(sequence: NodeSequence, indices: str, kind: str, shape: Shape, rows: int) -> str:
    """Append what counts negative indices from the first row; its output."""
    zero, length = sequence.constant("first", kind, 0, shape), sequence.constant("rows", kind, rows, shape)
    negative = sequence.add(OperatorName.LESS, (indices, zero), sequence.name("negative"))
    counted = sequence.add(OperatorName.ADD, (indices, length), sequence.name("counted"))
    return sequence.add(OperatorName.WHERE, (negative, counted, indices), sequence.name("index"))


def _chosen_numbers(site: Site, values: Array, element: str, kind: str) -> Replacement | None:
    """Where for each number of a short list of whole numbers."""
    shape = site.shape(1)
    if shape is None or not 1 < len(values) <= MOST_NUMBERS or site.operator_set < FIRST_WITH_WHERE:
        return None
    sequence = NodeSequence(site.node.outputs[0], site.operator_set)
    inside = _from_first(sequence, site.node.inputs[1], kind, shape, len(values))
    last = len(values) - 1
    value = sequence.constant(f"number{last}", element, values[last], shape)
    for index in reversed(range(last)):
        after = sequence.constant(f"after{index}", kind, index + 1, shape)
        own = sequence.constant(f"number{index}", element, values[index], shape)
        below = sequence.add(OperatorName.LESS, (inside, after), sequence.name("below"))
        output = sequence.name("number") if index else sequence.output
        value = sequence.add(OperatorName.WHERE, (below, own, value), output)
    return sequence.replacement(descriptions.call(site.node), f"a choice among {len(values)} numbers")


@rewrite("extracted-features", Trigger.RULE_FAILS)
def extracted_features(site: Site) -> Replacement | None:
    """ArrayFeatureExtractor: Gather along the last axis; a list gives one row."""
    shape, indices = site.shape(0), site.shape(1)
    if not shape or indices is None or not prod(indices) or site.operator_set < SHAPE_AS_INPUT:
        return None
    sequence, count = NodeSequence(site.node.outputs[0], site.operator_set), prod(indices)
    listed = site.node.inputs[1] if indices == (count,) else sequence.reshape(site.node.inputs[1], (count,))
    gathered = sequence.name("features") if len(shape) == 1 else sequence.output
    sequence.add(OperatorName.GATHER, (site.node.inputs[0], listed), gathered, axis=len(shape) - 1)
    if len(shape) == 1:
        sequence.reshape(gathered, (1, count), sequence.output)
    return sequence.replacement(descriptions.call(site.node), "Gather along the last axis")


@rewrite("moved-conversion", Trigger.RULE_FAILS)
def moved_conversion(site: Site) -> Replacement | None:
    """Cast of a choice among constants: Cast of the constants, which are folded, before Where and Reshape."""
    producer = site.producer(0)
    if producer is None or not _chooses_constants(site):
        return None
    node, source = site.node, producer.node
    moved = [1, 2] if source.operator == OperatorName.WHERE else [0]
    names = {index: f"{node.outputs[0]}.converted{index}" for index in moved}
    casts = [replace(node, name="", inputs=(source.inputs[index],), outputs=(name,)) for index, name in names.items()]
    inputs = tuple(names.get(index, name) for index, name in enumerate(source.inputs))
    last = replace(source, name=node.name, inputs=inputs, outputs=node.outputs)
    return Replacement((*casts, last), descriptions.call(node), f"{source.operator} of converted constants")


def _chooses_constants(site: Site) -> bool:
    """Whether the operand is one of constants that Where chooses, maybe in another shape."""
    waiting, seen = [(site, 0)], 0
    while waiting:
        reader, index = waiting.pop()
        producer, seen = reader.producer(index), seen + 1
        if reader.constant(index) is not None and reader is not site:
            continue
        if producer is None or not producer.in_standard_domain or seen > 4 * MOST_NUMBERS:
            return False
        if producer.node.operator == OperatorName.WHERE:
            waiting += [(producer, 1), (producer, 2)]
        elif producer.node.operator == OperatorName.RESHAPE:
            waiting.append((producer, 0))
        else:
            return False
    return True
