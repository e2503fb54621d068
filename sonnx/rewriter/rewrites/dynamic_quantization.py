"""Products of integers whose scale is computed from the values, in floating-point numbers.

DynamicQuantizeLinear takes the scale from the least and the greatest element and 0, rounds X / scale to whole numbers,
adds the zero point and limits the sum to bytes.  MatMulInteger or ConvInteger takes the zero points off and adds up
products of whole numbers below 256, and Cast rounds the sum once.  So does the product of the same whole numbers in
floating point: every step before it is exact (theorem rewrite.rounded-by-sums), and the exact sum is rounded once.
Where all elements are 0 the scale is 0, and ONNX gives the integers no value.
"""

from __future__ import annotations

from math import prod
from typing import NamedTuple

import numpy as np

from sonnx.numerics.formats import Array
from sonnx.rewriter import constant_tensors, descriptions
from sonnx.rewriter.node_builders import NodeSequence
from sonnx.rewriter.operator_names import OperatorName
from sonnx.rewriter.rewrite import Replacement, Trigger, rewrite
from sonnx.rewriter.rewrites.products_and_order import largest_of_last_axis
from sonnx.rewriter.rewrites.quantized_numbers import BYTES, FLOAT_NUMBER, ROUNDING
from sonnx.rewriter.site import Shape, Site

MAX_CODE = 255
"""The greatest integer of DynamicQuantizeLinear."""
MAX_TERMS = (2**31 - 1) // MAX_CODE**2
"""Products of bytes whose sum int32 has, in any order."""


class _Product(NamedTuple):
    """A product of what DynamicQuantizeLinear gives with constant integers."""

    quantizer: Site
    multiplier: Site
    weights: Array
    """The constant integers without their zero points, as floating-point numbers."""


@rewrite("dynamic-products", Trigger.RULE_FAILS)
def dynamic_products(site: Site) -> Replacement | None:
    """Cast of the sums of products: MatMul or Conv of the whole numbers in floating point."""
    found, to = _product(site), site.attributes.get("to")
    if found is None or to is None or to.value not in FLOAT_NUMBER:
        return None
    shape, scale = found.quantizer.shape(0), [*found.quantizer.node.outputs, "", ""][1]
    if shape is None or not scale:
        return None
    sequence = NodeSequence(site.node.outputs[0], site.operator_set)
    codes = _whole_numbers(sequence, found.quantizer.node.inputs[0], shape, scale)
    weights = sequence.constant("weights", "float", found.weights, found.weights.shape)
    if found.multiplier.node.operator == OperatorName.MATMUL_INTEGER:
        sequence.add(OperatorName.MATMUL, (codes, weights), sequence.output)
    else:
        _convolved(sequence, found, codes, weights)
    return sequence.replacement(descriptions.call(site.node), f"{len(sequence.nodes)} nodes in floating point")


def _product(site: Site) -> _Product | None:
    """What is converted; None where it is something else, or int32 may not have the sum."""
    multiplier = site.producer(0)
    if multiplier is None or not multiplier.in_standard_domain:
        return None
    quantizer = multiplier.producer(0)
    is_convolution = multiplier.node.operator == OperatorName.CONV_INTEGER
    if not is_convolution and multiplier.node.operator != OperatorName.MATMUL_INTEGER:
        return None
    if quantizer is None or quantizer.node.operator != OperatorName.DYNAMIC_QUANTIZE_LINEAR:
        return None
    values, zero, inputs = *quantizer.node.outputs[:1], [*quantizer.node.outputs, "", ""][2], multiplier.node.inputs
    if not quantizer.in_standard_domain or len(inputs) < 3 or not zero or (inputs[0], inputs[2]) != (values, zero):
        return None
    weights = _weights(multiplier, is_convolution=is_convolution)
    if weights is None or (is_convolution and not _is_unpadded(multiplier)):
        return None
    terms = prod(weights.shape[1:]) if is_convolution else weights.shape[-2]
    return _Product(quantizer, multiplier, weights) if terms <= MAX_TERMS else None


def _weights(multiplier: Site, *, is_convolution: bool) -> Array | None:
    tensors = [multiplier.constant(index) for index in (1, 3)]
    arrays = [None if tensor is None else constant_tensors.decoded(tensor) for tensor in tensors]
    weights, zero = arrays
    if tensors[0] is None or weights is None or tensors[0].element not in BYTES or weights.ndim < 2:
        return None
    if len(multiplier.node.inputs) > 3 and multiplier.node.inputs[3] and zero is None:
        return None
    shift = np.zeros(()) if zero is None else zero
    if shift.size == 1:
        shift = shift.reshape(())
    elif is_convolution and shift.shape == weights.shape[:1]:
        shift = shift.reshape(-1, *[1] * (weights.ndim - 1))
    elif is_convolution or weights.ndim != 2 or shift.shape != weights.shape[1:]:
        return None
    return np.asarray(weights.astype(np.float32) - shift.astype(np.float32))


def _is_unpadded(site: Site) -> bool:
    """Whether no window reaches beyond the input: the texts differ about the integer that stands there."""
    written = site.attributes
    pads, automatic = written.get("pads"), written.get("auto_pad")
    no_pads = pads is None or (isinstance(pads.value, tuple) and not any(pads.value))
    return no_pads and (automatic is None or automatic.value in ("NOTSET", "VALID"))


def _whole_numbers(sequence: NodeSequence, source: str, shape: Shape, scale: str) -> str:
    """Append the integers less the zero point."""
    low, high, rounding = (
        sequence.constant(role, "float", number)
        for role, number in (("low", 0), ("high", MAX_CODE), ("rounding", ROUNDING))
    )
    add, name = sequence.add, sequence.name

    def rounded(value: str) -> str:
        raised = add(OperatorName.ADD, (value, rounding), name("raised"))
        return add(OperatorName.SUB, (raised, rounding), name("whole"))

    below = add(OperatorName.DIV, (_below_zero(sequence, source, shape), scale), name("below"))
    zero = rounded(add(OperatorName.CLIP, (below, low, high), name("limited")))
    whole = rounded(add(OperatorName.DIV, (source, scale), name("quotient")))
    shifted = add(OperatorName.ADD, (whole, zero), name("shifted"))
    codes = add(OperatorName.CLIP, (shifted, low, high), name("code"))
    return add(OperatorName.SUB, (codes, zero), name("number"))


def _largest(sequence: NodeSequence, source: str, shape: Shape) -> str:
    """Append the largest of all elements and 0, as a scalar."""
    largest = largest_of_last_axis(sequence, sequence.reshape(source, (1, 1, prod(shape))))
    zero = sequence.constant("nothing", "float", 0)
    scalar = sequence.reshape(largest, ())
    return sequence.add(OperatorName.MAX, (scalar, zero), sequence.name("above"))


def _below_zero(sequence: NodeSequence, source: str, shape: Shape) -> str:
    """Append how far the least element is below 0."""
    return _largest(sequence, sequence.add(OperatorName.NEG, (source,), sequence.name("opposite")), shape)


def _convolved(sequence: NodeSequence, found: _Product, codes: str, weights: str) -> None:
    known = {name: each.value for name, each in found.multiplier.attributes.items()}
    axes = found.weights.ndim - 2
    lists = {name: known.get(name) or (1,) * axes for name in ("strides", "dilations")}
    sequence.convolution(
        codes, weights, found.weights.shape[2:], group=known.get("group", 1), pads=(0,) * (2 * axes),  # type: ignore[arg-type]
        output=sequence.output, **lists,  # type: ignore[arg-type]  # as the operator has them
    )  # fmt: skip


@rewrite("dynamic-scale", Trigger.RULE_FAILS)
def dynamic_scale(site: Site) -> Replacement | None:
    """The scale of DynamicQuantizeLinear whose integers nothing uses."""
    shape, (values, scale, zero) = site.shape(0), [*site.node.outputs, "", ""][:3]
    if shape is None or 0 in shape or not scale or values in site.used or zero in site.used:
        return None
    sequence = NodeSequence(scale, site.operator_set)
    above = _largest(sequence, site.node.inputs[0], shape)
    width = sequence.add(
        OperatorName.ADD, (above, _below_zero(sequence, site.node.inputs[0], shape)), sequence.name("width")
    )
    sequence.add(OperatorName.DIV, (width, sequence.constant("steps", "float", MAX_CODE)), scale)
    return sequence.replacement(descriptions.call(site.node), "its scale by Max and Div")
