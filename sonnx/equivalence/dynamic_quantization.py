"""Products of integers whose scale is computed from the values, as the dynamic quantizer of onnxruntime writes them.

DynamicQuantizeLinear takes the scale from the least and the greatest element, so that no element is limited.
MatMulInteger or ConvInteger multiplies the integers with those of a constant, and a product with both scales gives
floats back.  Once narrowings are left out that is MatMul or Conv of the values and of what the constant stands for.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sonnx.equivalence.narrowed_numbers import Passage
from sonnx.equivalence.narrowings import narrowed_constant
from sonnx.equivalence.terms import Store, Term
from sonnx.model.ir import Attribute
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
