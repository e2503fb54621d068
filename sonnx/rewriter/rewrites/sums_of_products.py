"""Gemm with factors, sums of several tensors, several kernels for a channel, and linear estimators."""

from __future__ import annotations

from fractions import Fraction
from math import isfinite, prod

import numpy as np
from msgspec.structs import replace

from sonnx.model.ir import Tensor
from sonnx.rewriter import constant_tensors, descriptions
from sonnx.rewriter.node_builders import SHAPE_AS_INPUT, NodeSequence, attribute, with_attributes
from sonnx.rewriter.operator_names import OperatorName
from sonnx.rewriter.rewrite import Replacement, Trigger, rewrite
from sonnx.rewriter.rewrites.normalizations import is_held
from sonnx.rewriter.rewrites.sums import FLOATS, is_number_of
from sonnx.rewriter.site import Site

MAX_SCALED = 1 << 22
"""Elements of a constant that a factor is multiplied with."""


@rewrite("scaled-constants", Trigger.RULE_FAILS)
def scaled_constants(site: Site) -> Replacement | None:
    """Gemm with the constant alpha B or alpha A, and beta C, where no product is rounded."""
    factors = {name: site.known(name) for name in ("alpha", "beta")}
    if None in factors.values() or site.element_type(0) not in FLOATS:
        return None
    alpha, beta = (float(factor) for factor in factors.values())
    inputs, constants = list(site.node.inputs), list[Tensor]()
    for factor, candidates in ((alpha, (1, 0)), (beta, (2,))):
        if factor == 1 or (candidates == (2,) and (len(inputs) < 3 or not inputs[2])):
            continue
        for index in candidates:
            scaled = _scaled(site, index, factor)
            if scaled is not None:
                constants.append(scaled)
                inputs[index] = scaled.name
                break
        else:
            return None
    written = {name: attribute(name, "float", 1.0) for name in factors}
    node = with_attributes(replace(site.node, inputs=tuple(inputs)), written)
    if node == site.node:
        return None
    shown = ", ".join(map(descriptions.tensor, constants)) or "no constant"
    return Replacement((node,), f"{descriptions.call(site.node)}, alpha={alpha}, beta={beta}", shown, tuple(constants))


def _scaled(site: Site, index: int, factor: float) -> Tensor | None:
    """A constant times a factor, None where a product is rounded or is not finite."""
    constant = site.constant(index)
    values = None if constant is None else constant_tensors.decoded(constant)
    if constant is None or values is None or values.dtype.kind != "f" or values.size > MAX_SCALED or factor == 0:
        return None
    with np.errstate(all="ignore"):
        products = (values * values.dtype.type(factor)).astype(values.dtype)
    if float(values.dtype.type(factor)) != factor or not np.isfinite(values).all():
        return None
    exact = Fraction(factor)
    for value, product in zip(values.ravel().tolist(), products.ravel().tolist(), strict=True):
        if not isfinite(product) or Fraction(value) * exact != Fraction(product):
            return None
    return constant_tensors.from_array(f"{site.node.outputs[0]}.{'ABC'[index]}", products)


@rewrite("scaled-products", Trigger.RULE_FAILS)
def scaled_products(site: Site) -> Replacement | None:
    """Gemm with factors as MatMul, Mul and Add."""
    element = site.element_type(0) or ""
    numbers = [site.known(name) for name in ("alpha", "beta", "transA", "transB")]
    if None in numbers or element not in FLOATS or any(numbers[2:]) or site.operator_set < SHAPE_AS_INPUT:
        return None
    alpha, beta = (float(number) for number in numbers[:2])
    if not (is_held(element, alpha) and is_held(element, beta)):
        return None
    node, sequence = site.node, NodeSequence(site.node.outputs[0], site.operator_set)
    biased = len(node.inputs) > 2 and bool(node.inputs[2])
    output = sequence.name("product") if alpha != 1 or biased else sequence.output
    value = sequence.add(OperatorName.MATMUL, node.inputs[:2], output)
    if alpha != 1:
        output = sequence.name("scaled") if biased else sequence.output
        value = sequence.add(OperatorName.MUL, (value, sequence.constant("alpha", element, alpha)), output)
    if biased:
        bias = node.inputs[2]
        if beta != 1:
            bias = sequence.add(
                OperatorName.MUL, (bias, sequence.constant("beta", element, beta)), sequence.name("bias")
            )
        sequence.add(OperatorName.ADD, (value, bias), sequence.output)
    return sequence.replacement(descriptions.call(node), "MatMul, Mul and Add")


@rewrite("chained-sum", Trigger.RULE_FAILS)
def chained_sum(site: Site) -> Replacement | None:
    """Sum or Mean of several tensors: Add for each further one, and Div."""
    node, element = site.node, site.element_type(0) or ""
    is_mean = node.operator == OperatorName.MEAN
    if element not in FLOATS or len(node.inputs) < (1 if is_mean else 3) or not all(node.inputs):
        return None
    if not is_number_of(element, len(node.inputs)):
        return None
    sequence, value = NodeSequence(node.outputs[0], site.operator_set), node.inputs[0]
    for index, name in enumerate(node.inputs[1:], 2):
        last = index == len(node.inputs) and not is_mean
        value = sequence.add(OperatorName.ADD, (value, name), sequence.output if last else sequence.name("sum"))
    if is_mean:
        number = sequence.constant("number", element, len(node.inputs))
        sequence.add(OperatorName.DIV, (value, number), sequence.output)
    return sequence.replacement(descriptions.call(node), f"a chain of {len(node.inputs) - 1} Add")


@rewrite("repeated-channels", Trigger.RULE_FAILS)
def repeated_channels(site: Site) -> Replacement | None:
    """A convolution with m kernels for each channel as one with one kernel, of a tensor with each channel m times."""
    shape, weights, group = site.shape(0), site.shape(1), site.known("group")
    if shape is None or weights is None or 0 in shape or group != shape[1] or site.operator_set < SHAPE_AS_INPUT:
        return None
    times, rest = divmod(weights[0], shape[1])
    if rest or times < 2 or weights[1] != 1:
        return None
    sequence = NodeSequence(site.node.outputs[0], site.operator_set)
    apart = sequence.reshape(site.node.inputs[0], (shape[0] * shape[1], 1, prod(shape[2:])))
    copies = sequence.add(OperatorName.CONCAT, [apart] * times, sequence.name("copies"), axis=1)
    wide = sequence.reshape(copies, (shape[0], weights[0], *shape[2:]))
    node = replace(site.node, inputs=(wide, *site.node.inputs[1:]))
    sequence.nodes.append(with_attributes(node, {"group": attribute("group", "int", weights[0])}))
    return sequence.replacement(f"{descriptions.call(site.node)}, group={group}", f"each channel {times} times")
