"""Sums and means along axes as products with constants.

A sum and a product of matrices are each one exact sum, rounded once (`sonnx/numerics/reductions.py`, and the erratum
matmul-order-of-sum), and a factor 1 or a power of two gives exact addends: both have the same bits.
"""

from __future__ import annotations

from math import prod

from sonnx.rewriter import constant_tensors, descriptions
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
    """MatMul with a constant row or column, between Reshapes; of a mean the number of elements is a power of two."""
    shape, result, gone = site.shape(0), site.output_shape(), _summed_axes(site)
    if shape is None or result is None or gone is None or 0 in shape or site.operator_set < SHAPE_AS_INPUT:
        return None
    if not site.only_first_input_varies or site.element_type(0) not in SUMMED_TYPES:
        return None
    long = [axis for axis, extent in enumerate(shape) if extent > 1]
    summed = [axis for axis in long if axis in gone]
    first, last = (summed[0], summed[-1]) if summed else (0, -1)
    if any(axis not in gone for axis in long if first <= axis <= last):
        return None
    number = prod(shape[axis] for axis in summed)
    factor = _factor(site, number)
    if factor is None:
        return None
    blocks = prod(shape[:first]), number, prod(shape[last + 1 :])
    return _products(site, blocks, factor, result)


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
    exact = number & (number - 1) == 0 and number <= MAX_DIVISOR and site.element_type(0) in FLOATS
    return 1 / number if exact else None


def _products(site: Site, blocks: Shape, factor: float, result: Shape) -> Replacement | None:
    """The nodes for an input of the shape [outer, number, inner]; each element of the output is one sum."""
    outer, number, inner = blocks
    column = inner == 1
    if not column and outer > MAX_PRODUCTS:
        return None
    node, element = site.node, site.element_type(0) or ""
    sequence = NodeSequence(node.outputs[0], site.operator_set)
    dims = (number, 1) if column else (1, number)
    weights = constant_tensors.from_numbers(f"{node.outputs[0]}.weights", element, factor, dims)
    if weights is None:
        return None
    sequence.constants.append(weights)
    if column or outer == 1:
        matrix = sequence.reshape(node.inputs[0], (outer, number) if column else (number, inner))
        operands = (matrix, weights.name) if column else (weights.name, matrix)
        product = sequence.add(OperatorName.MATMUL, operands, sequence.name("product"))
    else:
        rows = []
        whole = sequence.reshape(node.inputs[0], (outer * number, inner))
        for index in range(outer):
            part = sequence.slice(whole, (outer * number, inner), 0, (index * number, (index + 1) * number))
            rows.append(sequence.add(OperatorName.MATMUL, (weights.name, part), sequence.name("product")))
        product = sequence.add(OperatorName.CONCAT, rows, sequence.name("joined"), axis=0)
    sequence.reshape(product, result, node.outputs[0])
    operators = "one product" if column or outer == 1 else f"{outer} products"
    what = f"{operators} with {number} times {factor:g}"
    return sequence.replacement(descriptions.call(node), what)
