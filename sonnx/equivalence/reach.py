"""How far roundings move a quantized value before it becomes a whole number."""

from __future__ import annotations

from math import prod

import numpy as np

from sonnx.equivalence.normal_forms import quantization
from sonnx.equivalence.terms import constants
from sonnx.equivalence.terms.affine import AffinePart, Forms
from sonnx.equivalence.terms.store import Term
from sonnx.numerics.enclosures.arithmetic import FORMATS

FURTHER_ROUNDINGS = 6
"""Roundings of a product beside those of the sum: of the element and of its weight from integers, of the product, of
the scales of integers, of the quotient.
"""

CERTAIN = 0.5
"""Quanta from which on two results may be further apart than one quantum."""


def reach(forms: Forms, term: Term) -> float | None:
    """An upper bound, in quanta, of the distance between the quotients of an implementation and the ideal ones, for a
    QuantizeLinear of sums of products; None where the operand has another form, or is not bounded.

    With n products of one element, each of their roundings is one of at most n + 6 in a row: γ Σ |w| |x| / scale,
    γ = k u / (1 - k u).
    """
    operand = quantization.without_clipped_relu(term)
    scale = term.inputs[1].array if len(term.inputs) > 1 and term.inputs[1] is not None else None
    element = str(operand.facts.type) if operand is not None else ""
    if operand is None or scale is None or scale.size != 1 or element not in FORMATS or operand.is_constant:
        return None
    form = forms.of(operand)
    total, count = 0.0, len(form.parts) + 1
    for part in form.parts:
        most = quantization.largest_magnitude(part.atom)
        if most is None or (part.weight is not None and not part.weight.is_finite):
            return None
        total += _gain(part) * most
        count += _products(part)
    if form.bias is not None:
        if not form.bias.is_finite:
            return None
        total += float(np.max(form.bias.enclosure.size, initial=0.0))
    rounded = (
        constants.rounded(count + FURTHER_ROUNDINGS, element) * total
        + (count + FURTHER_ROUNDINGS) * FORMATS[element].tiny
    )
    quantum = float(scale.reshape(-1)[0])
    quanta = rounded / quantum * (1 + 2.0**-20) if quantum > 0 else np.inf
    return float(quanta) if quanta < CERTAIN else None


def _gain(part: AffinePart) -> float:
    """An upper bound of the sums of magnitudes of the weights of one element."""
    if part.weight is None:
        return 1.0
    sizes = np.broadcast_to(part.weight.enclosure.size, part.weight.shape)
    if part.kind == "conv":
        sizes = sizes.reshape(len(sizes), -1).sum(axis=1)
    elif part.kind == "product":
        sizes = sizes.sum(axis=0)
    return float(np.max(sizes, initial=0.0)) * (1 + 2.0**-20)


def _products(part: AffinePart) -> int:
    """How many products one element of a part adds up."""
    if part.weight is None or part.kind == "diagonal":
        return 1
    return prod(part.weight.shape[1:]) if part.kind == "conv" else part.weight.shape[0]
