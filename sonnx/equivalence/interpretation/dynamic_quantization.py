"""Products of integers whose scale is computed from the values, as the dynamic quantizer of onnxruntime writes them.

DynamicQuantizeLinear takes the scale from the least and the greatest element, so that no element is limited.
MatMulInteger or ConvInteger multiplies the integers with those of a constant, and a product with both scales gives
floats back.  Once narrowings are left out that is MatMul or Conv of the values and of what the constant stands for.
Where they are kept, Cast to float of the sum is the product of the same whole numbers in floating point: the sum that
int32 has is exact in both, and rounded once.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import NamedTuple

import numpy as np

from sonnx.equivalence.interpretation.node_writing import Constant, NodeWriter
from sonnx.equivalence.terms.narrowed_numbers import Passage
from sonnx.equivalence.terms.narrowings import narrowed_constant
from sonnx.equivalence.terms.store import Store, Term
from sonnx.model.ir import Attribute, Node
from sonnx.numerics.formats import Array

INTEGER = "Integer"
"""What the name of an operator on integers has behind that of the operator it means."""

SCALE_OUTPUT, ZERO_OUTPUT = 1, 2
"""The outputs of DynamicQuantizeLinear that are the scale and the zero point."""


class DynamicProduct(NamedTuple):
    """A product of values that pass through integers with a constant of integers, over the reals."""

    operator: str
    attributes: tuple[Attribute, ...]
    operands: tuple[Term, Term]


def dynamic_product(store: Store, first: Term, second: Term) -> DynamicProduct | None:
    """The product that a Mul of two terms means where one is a sum of products of integers, the other its scale; None
    for any other Mul, and where types are kept.
    """
    for cast, scale in ((first, second), (second, first)):
        product = cast.inputs[0] if cast.operator == "Cast" and not cast.domain else None
        if product is None or store.narrowings is None or product.domain:
            continue
        if not product.operator.endswith(INTEGER):
            continue
        codes, weights, zero, weight_zero = (*product.inputs, None, None)[:4]
        values, own_scales = _quantized(codes, zero), _constant_factor(scale, codes)
        operator = product.operator.removesuffix(INTEGER)
        axis = -1 if operator == "MatMul" else 0
        if values is None or own_scales is None or weights is None or weights.array is None:
            return None
        if own_scales.size > 1 and axis == 0 and own_scales.size != weights.array.shape[0]:
            return None
        if weight_zero is not None and weight_zero.array is None:
            return None
        shift = None if weight_zero is None else _along(weight_zero.array)
        constant = narrowed_constant(store, weights.array, _along(own_scales), shift, axis % weights.array.ndim, 0)
        if constant is None:
            return None
        attributes = () if product.application is None else tuple(product.application.attributes.values())
        store.rest_on("passage")
        passed = store.narrowed(values, Passage(str(codes.facts.type) if codes else "", None, -np.inf, np.inf))
        return DynamicProduct(operator, attributes, (passed, constant))
    return None


def _quantized(codes: Term | None, zero: Term | None) -> Term | None:
    """The values that DynamicQuantizeLinear made integers of, as values that passed through them."""
    if codes is None or codes.operator != "DynamicQuantizeLinear" or codes.domain or codes.output != 0:
        return None
    source = codes.inputs[0]
    if zero is None or zero.operator != codes.operator or zero.inputs != codes.inputs or zero.output != ZERO_OUTPUT:
        return None
    return source


def _constant_factor(scale: Term, codes: Term | None) -> Array | None:
    """The scales of the constant, where a term is the product of these and of the scale of the integers."""
    if scale.operator != "Mul" or scale.domain or codes is None or len(scale.inputs) != 2:
        return None
    for factor, constant in (scale.inputs, reversed(scale.inputs)):
        own = factor.inputs[0] if factor is not None and factor.operator == "moved" else factor
        is_own = own is not None and own.operator == codes.operator and own.inputs == codes.inputs
        if is_own and own is not None and own.output == SCALE_OUTPUT and constant is not None:
            return constant.array
    return None


def _along(array: Array | None) -> Array | None:
    """One number, or one for each place along an axis."""
    return None if array is None else array.reshape(()) if array.size == 1 else array.reshape(-1)


QUANTIZER = "DynamicQuantizeLinear"
GREATEST = 255
MOST_TERMS = (2**31 - 1) // GREATEST**2
"""Products of bytes whose sum int32 has in any order."""


class _IntegerNodes(NodeWriter):
    """The nodes of DynamicQuantizeLinear of a source."""

    def __init__(self, label: str, source: str, shape: tuple[int, ...], operator_set: int, constant: Constant) -> None:
        super().__init__(label, operator_set, constant)
        self.source, self.shape = source, shape

    def reach(self, source: str) -> str:
        """The largest element, at least 0."""
        largest = self.largest(self.reshaped(source, 1, 1, prod(self.shape)), 2)
        return self.add("Max", self.reshaped(largest), self.numbers(0))

    def below(self) -> str:
        """How far the least element is below 0."""
        return self.reach(self.add("Neg", self.source))

    def scale(self) -> str:
        """The distance of the greatest element from the least one, by the greatest integer."""
        return self.add("Div", self.add("Add", self.reach(self.source), self.below()), self.numbers(GREATEST))

    def rounded(self, value: str) -> str:
        """The nearest whole number, to nearest even."""
        large = self.numbers(1.5 * 2**23)
        return self.add("Sub", self.add("Add", value, large), large)

    def whole_numbers(self) -> str:
        """The integers less the zero point."""
        scale, low, high = self.scale(), self.numbers(0), self.numbers(GREATEST)
        zero = self.rounded(self.add("Clip", self.add("Div", self.below(), scale), low, high))
        moved = self.add("Add", self.rounded(self.add("Div", self.source, scale)), zero)
        return self.add("Sub", self.add("Clip", moved, low, high), zero)


def scale_nodes(node: Node, source: Term | None, operator_set: int, constant: Constant) -> list[Node] | None:
    """The nodes of the scale, the last of which gives it; None where the shape is not known."""
    if source is None or source.shape is None or 0 in source.shape or len(node.outputs) <= SCALE_OUTPUT:
        return None
    if not node.outputs[SCALE_OUTPUT]:
        return None
    nodes = _IntegerNodes(node.outputs[SCALE_OUTPUT], node.inputs[0], source.shape, operator_set, constant)
    nodes.scale()
    return nodes.nodes


def converted_product(
    node: Node, product: Term | None, operator_set: int, constant: Constant, name: Callable[[str, Term], str]
) -> list[Node] | None:
    """The nodes of a Cast to float of products of integers, the last of which gives it; None for any other Cast.

    `name` gives a term a name.
    """
    if product is None or product.domain or product.operator not in ("MatMulInteger", "ConvInteger"):
        return None
    codes, weights, zero, weight_zero = (*product.inputs, None, None)[:4]
    source = _quantized(codes, zero)
    if source is None or source.shape is None or 0 in source.shape or weights is None or weights.array is None:
        return None
    if weight_zero is not None and weight_zero.array is None:
        return None
    is_matrix, array = product.operator == "MatMulInteger", weights.array
    shift = np.zeros(()) if weight_zero is None or weight_zero.array is None else weight_zero.array
    if shift.size > 1 and (array.ndim != 2 if is_matrix else False):
        return None
    along = shift.reshape(()) if shift.size == 1 else shift.reshape(-1, *[1] * (0 if is_matrix else array.ndim - 1))
    attributes = () if product.application is None else tuple(product.application.attributes.values())
    padded = any(
        any(each.value) if each.name == "pads" else each.value not in ("NOTSET", "VALID")  # type: ignore[arg-type]
        for each in attributes
        if each.name in ("pads", "auto_pad")
    )
    if padded or (array.shape[-2] if is_matrix else prod(array.shape[1:])) > MOST_TERMS:
        return None
    if not is_matrix and product.application is None:
        return None
    nodes = _IntegerNodes(
        node.outputs[0], name(f"{node.outputs[0]} (quantized)", source), source.shape, operator_set, constant
    )
    factors = nodes.whole_numbers(), nodes.numbers(array.astype(np.float32) - along.astype(np.float32))
    operator = product.operator.removesuffix(INTEGER)
    nodes.nodes.append(Node("", operator, "", "", factors, (f"{node.outputs[0]} (product)",), attributes))
    return nodes.nodes
