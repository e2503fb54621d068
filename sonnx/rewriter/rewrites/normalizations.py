"""LayerNormalization and LRN by their formulas; every step rounds, where the operator rounds once."""

from __future__ import annotations

from math import prod

import numpy as np

from sonnx.base.errors import NotExecutable
from sonnx.numerics.formats import ELEMENTS
from sonnx.operators import lrn
from sonnx.rewriter import descriptions
from sonnx.rewriter.node_builders import SHAPE_AS_INPUT, NodeSequence
from sonnx.rewriter.operator_names import OperatorName
from sonnx.rewriter.rewrite import Replacement, Trigger, rewrite
from sonnx.rewriter.rewrites.sums import FLOATS, is_number_of
from sonnx.rewriter.site import Site

DEFAULT_EPSILON = 9.999999747378752e-06
"""The float32 number that an absent epsilon means (ONNX LayerNormalization)."""


@rewrite("normalized-layers", Trigger.RULE_FAILS)
def normalized_layers(site: Site) -> Replacement | None:
    """(X - mean) / sqrt(variance + epsilon) Scale + B, where only Y is used; the means are sums and divisions."""
    node, shape, element, written = site.node, site.shape(0), site.element_type(0) or "", site.attributes
    axis = written["axis"].value if "axis" in written else -1
    epsilon = written["epsilon"].value if "epsilon" in written else DEFAULT_EPSILON
    if shape is None or 0 in shape or element not in FLOATS or site.operator_set < SHAPE_AS_INPUT:
        return None
    if type(axis) is not int or not -len(shape) <= axis < len(shape) or type(epsilon) is not float or epsilon <= 0:
        return None
    stashed = written["stash_type"].value if "stash_type" in written else 1
    if any(node.outputs[1:]) or stashed != 1 or len(node.inputs) < 2 or not is_held(element, epsilon):
        return None
    before, number = shape[: axis % len(shape)], prod(shape[axis % len(shape) :])
    if not is_number_of(element, number):
        return None
    output = node.outputs[0]
    sequence = NodeSequence(output, site.operator_set)
    ones = sequence.constant("ones", element, 1, (number, 1))
    count = sequence.constant("number", element, number)
    small = sequence.constant("epsilon", element, epsilon)

    def mean(source: str) -> str:
        matrix = sequence.reshape(source, (prod(before), number))
        total = sequence.add(OperatorName.MATMUL, (matrix, ones), sequence.name("sum"))
        average = sequence.add(OperatorName.DIV, (total, count), sequence.name("mean"))
        return sequence.reshape(average, (*before, *[1] * (len(shape) - len(before))))

    centred = sequence.add(OperatorName.SUB, (node.inputs[0], mean(node.inputs[0])), sequence.name("centred"))
    square = squared(sequence, centred, element)
    shifted = sequence.add(OperatorName.ADD, (mean(square), small), sequence.name("shifted"))
    deviation = sequence.add(OperatorName.SQRT, (shifted,), sequence.name("deviation"))
    last = len(node.inputs) > 2 and bool(node.inputs[2])
    normalized = sequence.add(OperatorName.DIV, (centred, deviation), sequence.name("normalized"))
    scaled = sequence.name("scaled") if last else output
    sequence.add(OperatorName.MUL, (normalized, node.inputs[1]), scaled)
    if last:
        sequence.add(OperatorName.ADD, (scaled, node.inputs[2]), output)
    return sequence.replacement(descriptions.call(node), f"its formula, with sums of {number} elements")


def squared(sequence: NodeSequence, source: str, element: str) -> str:
    """Append the power 2, whose range is not negative where that of a product may be; its output."""
    return sequence.add(OperatorName.POW, (source, sequence.constant("two", element, 2)), sequence.name("square"))


def is_held(element: str, number: float) -> bool:
    """Whether a floating-point type has a number."""
    with np.errstate(all="ignore"):
        return float(np.array(number).astype(ELEMENTS[element])) == number


@rewrite("normalized-responses", Trigger.RULE_FAILS)
def normalized_responses(site: Site) -> Replacement | None:
    """X / (bias + alpha / size S)^beta; S, the sum of squares of neighbouring channels, is a convolution with ones."""
    node, shape, element, application = site.node, site.shape(0), site.element_type(0) or "", site.application
    if shape is None or application is None or 0 in shape or element not in FLOATS or len(shape) < 2:
        return None
    try:
        alpha, beta, bias, size = lrn.parameters(application, np.empty((0,) * len(shape)))
    except NotExecutable:
        return None
    if site.operator_set < SHAPE_AS_INPUT or not all(is_held(element, part) for part in (alpha, beta, bias, size)):
        return None
    count = shape[1]
    around = np.zeros((count, count, 1, 1))
    for channel in range(count):
        around[channel, lrn.channels(channel, count, size)] = 1.0
    output = node.outputs[0]
    sequence = NodeSequence(output, site.operator_set)
    square = squared(sequence, node.inputs[0], element)
    kernels = sequence.constant("channels", element, around, around.shape)
    if len(shape) != 4:
        square = sequence.reshape(square, (*shape[:2], 1, prod(shape[2:])))
    value = sequence.convolution(square, kernels, (1, 1))
    if len(shape) != 4:
        value = sequence.reshape(value, shape)

    def with_number(operator: OperatorName, operand: str, role: str, number: float) -> str:
        operands = operand, sequence.constant(role, element, number)
        return sequence.add(operator, operands, sequence.name(operator.value.lower()))

    value = with_number(OperatorName.MUL, value, "alpha", alpha)
    value = with_number(OperatorName.DIV, value, "size", size)
    value = with_number(OperatorName.ADD, value, "bias", bias)
    value = with_number(OperatorName.POW, value, "beta", beta)
    sequence.add(OperatorName.DIV, (node.inputs[0], value), output)
    return sequence.replacement(descriptions.call(node), f"its formula, with sums of {size} channels")
