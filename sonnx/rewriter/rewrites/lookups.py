"""Gather from a constant table by indices that are known at run time: a product with a row of zeros and one 1.

The sum has one product that is not 0, with the factor 1, so that it is the element of the table; the table has no
infinity and no NaN, which 0 does not erase, and no -0, which +0 would.
"""

from __future__ import annotations

from math import prod

import numpy as np

from sonnx.rewriter import constant_tensors, descriptions
from sonnx.rewriter.node_builders import SHAPE_AS_INPUT, NodeSequence
from sonnx.rewriter.operator_names import OperatorName
from sonnx.rewriter.rewrite import Replacement, Trigger, rewrite
from sonnx.rewriter.rewrites.sums import FLOATS
from sonnx.rewriter.site import Site

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
    if element not in FLOATS or not values.ndim or axis not in (0, -values.ndim) or site.operator_set < SHAPE_AS_INPUT:
        return None
    rows = values.shape[0]
    if not count or not values.size or count * rows > MAX_CHOICES:
        return None
    if not np.isfinite(values).all() or (np.signbit(values) & (values == 0)).any():
        return None
    sequence, shape = NodeSequence(site.node.outputs[0], site.operator_set), (count, rows)
    column = sequence.reshape(site.node.inputs[1], (count, 1))
    zero, length = sequence.constant("first", kind, 0, (count, 1)), sequence.constant("rows", kind, rows, (count, 1))
    negative = sequence.add(OperatorName.LESS, (column, zero), sequence.name("negative"))
    counted = sequence.add(OperatorName.ADD, (column, length), sequence.name("counted"))
    inside = sequence.add(OperatorName.WHERE, (negative, counted, column), sequence.name("index"))
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
