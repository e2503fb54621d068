"""HardSigmoid with operators of the profile, in every bit.

A convolution with one weight and a bias rounds alpha X + beta once, as HardSigmoid does, and Clip by 0 and 1, which the
type holds, commutes with rounding.
"""

from __future__ import annotations

from math import prod

from sonnx.equivalence.interpretation.averages import never_rounds_to_zero
from sonnx.numerics.formats import ELEMENTS
from sonnx.rewriter import descriptions
from sonnx.rewriter.node_builders import SHAPE_AS_INPUT, NodeSequence
from sonnx.rewriter.operator_names import OperatorName
from sonnx.rewriter.rewrite import Replacement, Trigger, rewrite
from sonnx.rewriter.rewrites.normalizations import is_held
from sonnx.rewriter.rewrites.sums import FLOATS
from sonnx.rewriter.site import Site

BOUNDS_AS_INPUTS_OF_CLIP = 11
"""The operator set from which Clip takes its bounds as inputs (ONNX Clip-11)."""


@rewrite("hard-sigmoid", Trigger.RULE_FAILS)
def hard_sigmoid(site: Site) -> Replacement | None:
    """Clip(alpha X + beta, 0, 1); the sum is a Conv over all elements of X in a row.

    alpha is not 0, because 0 times an infinity is NaN, and the type of X holds it and beta; beta is not so small that a
    negative sum rounds to -0, which Clip keeps.
    """
    shape, element = site.shape(0), _element(site)
    if shape is None or site.operator_set < max(BOUNDS_AS_INPUTS_OF_CLIP, SHAPE_AS_INPUT):
        return None
    alpha, beta = _number(site, "alpha", DEFAULT_SLOPE), _number(site, "beta", 0.5)
    if not element or alpha is None or beta is None or alpha == 0:
        return None
    if not (is_held(element, alpha) and is_held(element, beta)):
        return None
    if not never_rounds_to_zero(ELEMENTS[element], beta):
        return None
    sequence = NodeSequence(site.node.outputs[0], site.operator_set)
    in_row = sequence.reshape(site.node.inputs[0], (1, 1, 1, prod(shape)))
    weight, bias = (
        sequence.constant("alpha", element, alpha, (1, 1, 1, 1)),
        sequence.constant("beta", element, beta, (1,)),
    )
    line = sequence.convolution(in_row, weight, (1, 1), bias=bias)
    zero, one = sequence.constant("zero", element, 0), sequence.constant("one", element, 1)
    clipped = sequence.add(OperatorName.CLIP, (line, zero, one), sequence.name("clipped"))
    sequence.reshape(clipped, shape, site.node.outputs[0])
    return sequence.replacement(descriptions.call(site.node), f"Clip of {alpha} X + {beta}, a Conv")


DEFAULT_SLOPE = 0.20000000298023224
"""The float32 number that an absent alpha of HardSigmoid means (ONNX)."""


def _element(site: Site) -> str:
    """The element type of X, "" where it is not a floating-point type of the profile, or X has no element."""
    element, shape = site.element_type(0) or "", site.shape(0)
    return element if element in FLOATS and shape is not None and 0 not in shape else ""


def _number(site: Site, name: str, absent: float) -> float | None:
    """An attribute of type float; None where it has another type or is a reference."""
    written = site.attributes.get(name)
    if written is None:
        return absent
    return written.value if type(written.value) is float and not written.reference else None
