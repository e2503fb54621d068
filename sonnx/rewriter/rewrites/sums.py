"""Sums and means along axes as products with constants.

A sum, a product of matrices and a convolution are each one exact sum, rounded once (`sonnx/numerics/reductions.py`, and
the erratum matmul-order-of-sum), and a factor 1 or a power of two gives exact addends: all have the same bits.  Other
means are a sum and a division, which round twice.
"""

from __future__ import annotations

from collections.abc import Collection
from math import prod

import numpy as np

from sonnx.numerics.formats import ELEMENTS
from sonnx.rewriter import descriptions
from sonnx.rewriter.node_builders import SHAPE_AS_INPUT, NodeSequence
from sonnx.rewriter.operator_names import OperatorName
from sonnx.rewriter.rewrite import Replacement, Trigger, rewrite
from sonnx.rewriter.site import Shape, Site

MAX_PRODUCTS = 64
"""A sum stays where it would become more products."""
FLOATS = ("float16", "float", "double")
SUMMED_TYPES = (*FLOATS, "int32", "int64", "uint32", "uint64")
"""The element types of MatMul in the profile."""
MAX_DIVISOR = 1 << 14
"""Its reciprocal is a normal number of every format in `FLOATS`."""


@rewrite("summed-products", Trigger.RULE_FAILS)
def summed_products(site: Site) -> Replacement | None:
    """MatMul with a constant column, or Conv, between Reshapes; of a mean the number of elements is a power of two."""
    blocks = _blocks(site)
    factor = None if blocks is None else _factor(site, blocks[1])
    return None if blocks is None or factor is None else _products(site, blocks, factor, 1)


@rewrite("divided-sums", Trigger.RULE_FAILS)
def divided_sums(site: Site) -> Replacement | None:
    """The same of any mean: the sum, divided by the number of elements."""
    blocks, element = _blocks(site), site.element_type(0) or ""
    if blocks is None or element not in FLOATS or not is_number_of(element, blocks[1]):
        return None
    return _products(site, blocks, 1, blocks[1])


def is_number_of(element: str, number: int) -> bool:
    """Whether a floating-point type has an integer."""
    with np.errstate(over="ignore"):
        return float(np.array(number).astype(ELEMENTS[element])) == number


def is_exact_divisor(number: int) -> bool:
    """Whether a division by a number of elements is a multiplication by a power of two."""
    return number & (number - 1) == 0 and 0 < number <= MAX_DIVISOR


def _blocks(site: Site) -> tuple[int, int, int] | None:
    """The elements before, along and behind neighbouring axes that are added up; None where they are others."""
    shape, result, gone = site.shape(0), site.output_shape(), _summed_axes(site)
    if shape is None or result is None or gone is None or 0 in shape or site.operator_set < SHAPE_AS_INPUT:
        return None
    if not site.only_first_input_varies or site.element_type(0) not in SUMMED_TYPES:
        return None
    return neighbouring(shape, gone)


def neighbouring(shape: Shape, gone: Collection[int]) -> tuple[int, int, int] | None:
    """The elements before, along and behind axes of a shape; None where another axis of more than one element stands
    between them.
    """
    long = [axis for axis, extent in enumerate(shape) if extent > 1]
    along = [axis for axis in long if axis in gone]
    first, last = (along[0], along[-1]) if along else (0, -1)
    if any(axis not in gone for axis in long if first <= axis <= last):
        return None
    return prod(shape[:first]), prod(shape[axis] for axis in along), prod(shape[last + 1 :])


def _summed_axes(site: Site) -> frozenset[int] | None:
    shape = site.shape(0)
    if shape is not None and site.node.operator == OperatorName.GLOBAL_AVERAGE_POOL:
        return frozenset(range(2, len(shape)))
    gone = site.known("gone")
    return None if gone is None else frozenset(gone)


def _factor(site: Site, number: int) -> float | int | None:
    """What each element is multiplied by: 1, or one over the number of elements; None where that is not exact."""
    if site.node.operator == OperatorName.REDUCE_SUM:
        return 1
    return 1 / number if is_exact_divisor(number) and site.element_type(0) in FLOATS else None


def _products(site: Site, blocks: tuple[int, int, int], factor: float, divisor: int) -> Replacement | None:
    """The nodes for an input of the shape [outer, number, inner]; each element of the output is one sum."""
    outer, number, inner = blocks
    node, element, result = site.node, site.element_type(0) or "", site.output_shape()
    sequence = NodeSequence(node.outputs[0], site.operator_set)
    if inner == 1:
        column = sequence.constant("weights", element, factor, (number, 1))
        operands = (sequence.reshape(node.inputs[0], (outer, number)), column)
        total, kind = sequence.add(OperatorName.MATMUL, operands, sequence.name("product")), OperatorName.MATMUL
    elif element in FLOATS:
        kernels = sequence.constant("weights", element, factor, (outer, 1, number, 1))
        stack = sequence.reshape(node.inputs[0], (1, outer, number, inner))
        total, kind = sequence.convolution(stack, kernels, (number, 1), group=outer), OperatorName.CONV
    elif outer <= MAX_PRODUCTS:
        total, kind = _rows(sequence, node.inputs[0], element, blocks), OperatorName.MATMUL
    else:
        return None
    what = f"{kind.value} with {number} times {factor:g}"
    if divisor > 1:
        total = sequence.add(
            OperatorName.DIV, (total, sequence.constant("number", element, divisor)), sequence.name("mean")
        )
        what += f", divided by {divisor}"
    sequence.reshape(total, result or (), node.outputs[0])
    return sequence.replacement(descriptions.call(node), what)


def _rows(sequence: NodeSequence, source: str, element: str, blocks: tuple[int, int, int]) -> str:
    """Append the sums of integers of each part, one after another; their name."""
    outer, number, inner = blocks
    row = sequence.constant("weights", element, 1, (1, number))
    whole, rows = sequence.reshape(source, (outer * number, inner)), []
    for index in range(outer):
        span = (index * number, (index + 1) * number)
        part = sequence.slice(whole, (outer * number, inner), 0, span) if outer > 1 else whole
        rows.append(sequence.add(OperatorName.MATMUL, (row, part), sequence.name("product")))
    return sequence.add(OperatorName.CONCAT, rows, sequence.name("joined"), axis=0) if outer > 1 else rows[0]
