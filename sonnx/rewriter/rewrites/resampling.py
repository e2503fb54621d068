"""Resize with several elements for each place: products with constant matrices of weights, along one axis and another.

Over the reals the value is the sum of weighted elements, whose weights are products of those of the axes.  Each product
rounds, and an element of weight 0 enters, so that an infinity beside the elements that are sampled gives NaN.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import prod

import numpy as np

from sonnx.base.errors import NotExecutable
from sonnx.numerics.formats import Array
from sonnx.operators import resize
from sonnx.rewriter import constant_tensors, descriptions
from sonnx.rewriter.node_builders import SHAPE_AS_INPUT, NodeSequence
from sonnx.rewriter.operator_names import OperatorName
from sonnx.rewriter.rewrite import Replacement, Trigger, rewrite
from sonnx.rewriter.rewrites.normalizations import is_held
from sonnx.rewriter.rewrites.sums import FLOATS
from sonnx.rewriter.site import Site

MAX_WEIGHTS = 1 << 20
"""Elements of the largest matrix of weights."""


@rewrite("weighted-samples", Trigger.RULE_FAILS)
def weighted_samples(site: Site) -> Replacement | None:
    """MatMul along the last axis, Conv along one before it; the type has each weight."""
    shape, element, result = site.shape(0), site.element_type(0) or "", site.output_shape()
    application = site.application
    if shape is None or result is None or application is None or 0 in (*shape, *result) or element not in FLOATS:
        return None
    parameters = [None if (given := site.constant(index)) is None else constant_tensors.decoded(given)
                  for index in range(1, len(site.node.inputs))]  # fmt: skip
    missing = any(name and array is None for name, array in zip(site.node.inputs[1:], parameters, strict=True))
    if missing or site.operator_set < SHAPE_AS_INPUT:
        return None
    try:
        sampled = resize.samplings(application, [np.empty(shape, np.float32), *parameters])
    except (NotExecutable, KeyError):
        return None
    matrices = [_weights(sampling, extent) for sampling, extent in zip(sampled, shape, strict=True)]
    if any(matrix is None for matrix in matrices):
        return None
    sequence, source, extents = NodeSequence(site.node.outputs[0], site.operator_set), site.node.inputs[0], list(shape)
    for axis in reversed(range(len(shape))):
        matrix = matrices[axis]
        if matrix is None or _is_identity(matrix):
            continue
        if not all(is_held(element, float(weight)) and Fraction(float(weight)) == weight for weight in matrix.flat):
            return None
        source = _product(sequence, source, extents, axis, matrix.astype(np.float64), element)
        extents[axis] = matrix.shape[0]
    sequence.reshape(source, result, site.node.outputs[0])
    return sequence.replacement(descriptions.call(site.node), "products with matrices of weights")


def _weights(sampling: resize.Sampling, extent: int) -> Array | None:
    """The weight of each element at each place, exact; None where a place takes no element."""
    if len(sampling) * extent > MAX_WEIGHTS or None in sampling:
        return None
    matrix = np.full((len(sampling), extent), Fraction(0), object)
    for place, taps in enumerate(sampling):
        for index, weight in taps or ():
            matrix[place, index] += weight
    return matrix


def _is_identity(matrix: Array) -> bool:
    return matrix.shape[0] == matrix.shape[1] and bool((matrix == np.eye(matrix.shape[0])).all())


def _product(
    sequence: NodeSequence, source: str, extents: Sequence[int], axis: int, matrix: Array, element: str
) -> str:
    """Append the nodes that take the weighted sums along an axis, for a value of these extents."""
    before, behind, (places, extent) = prod(extents[:axis]), prod(extents[axis + 1 :]), matrix.shape
    if behind == 1:
        rows = sequence.reshape(source, (before, extent))
        weights = sequence.constant(f"weights{axis}", element, matrix.T, (extent, places))
        return sequence.add(OperatorName.MATMUL, (rows, weights), sequence.name("product"))
    stack = sequence.reshape(source, (before, 1, extent, behind))
    kernels = sequence.constant(f"weights{axis}", element, matrix.reshape(places, 1, extent, 1), (places, 1, extent, 1))
    return sequence.convolution(stack, kernels, (extent, 1))
