"""Activations by their formulas, with operators of the profile.

HardSigmoid and PRelu keep every bit.  A convolution with one weight and a bias rounds alpha X + beta once, as
HardSigmoid does, and Clip by 0 and 1, which the type holds, commutes with rounding.  PRelu chooses between X and one
product.  The others are formulas of the same real function, with a rounding at each step.
"""

from __future__ import annotations

from math import prod

from sonnx.rewriter import descriptions
from sonnx.rewriter.node_builders import SHAPE_AS_INPUT, NodeSequence
from sonnx.rewriter.operator_names import OperatorName
from sonnx.rewriter.rewrite import Replacement, Trigger, rewrite
from sonnx.rewriter.rewrites.normalizations import is_held
from sonnx.rewriter.rewrites.sums import FLOATS
from sonnx.rewriter.site import Site

BOUNDS_AS_INPUTS_OF_CLIP = 11
"""The operator set from which Clip takes its bounds as inputs (ONNX Clip-11)."""
ONE_DIRECTION = 7
"""The operator set from which the slope of PRelu is broadcast to X as elsewhere in ONNX (ONNX PRelu-7)."""


@rewrite("hard-sigmoid", Trigger.RULE_FAILS)
def hard_sigmoid(site: Site) -> Replacement | None:
    """Clip(alpha X + beta, 0, 1); the sum is a Conv over all elements of X in a row.

    alpha is not 0, because 0 times an infinity is NaN, and the type of X holds it and beta.
    """
    shape, element = site.shape(0), _element(site)
    if shape is None or site.operator_set < max(BOUNDS_AS_INPUTS_OF_CLIP, SHAPE_AS_INPUT):
        return None
    alpha, beta = _number(site, "alpha", DEFAULT_SLOPE), _number(site, "beta", 0.5)
    if not element or alpha is None or beta is None or alpha == 0:
        return None
    if not (is_held(element, alpha) and is_held(element, beta)):
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


@rewrite("parametric-slope", Trigger.RULE_FAILS, makes_executable=True)
def parametric_slope(site: Site) -> Replacement | None:
    """PRelu: slope times X where X < 0, else X, which is NaN for NaN and keeps the sign of a zero."""
    shape, element = site.shape(0), _element(site)
    if shape is None or not element or len(site.node.inputs) != 2 or site.operator_set < ONE_DIRECTION:
        return None
    source, slope = site.node.inputs
    sequence = NodeSequence(site.node.outputs[0], site.operator_set)
    product = sequence.add(OperatorName.MUL, (source, slope), sequence.name("product"))
    _where_negative(sequence, element, source, product, source, site.node.outputs[0])
    return sequence.replacement(descriptions.call(site.node), "Where(X < 0, slope X, X)")


@rewrite("activation-formula", Trigger.RULE_FAILS)
def activation_formula(site: Site) -> Replacement | None:
    """Elu, HardSwish, Mish, Selu and Softplus by their formulas."""
    element, sequence = _element(site), NodeSequence(site.node.outputs[0], site.operator_set)
    text = _formula(site, sequence, element) if element else ""
    return sequence.replacement(descriptions.call(site.node), text) if text else None


def _formula(site: Site, sequence: NodeSequence, element: str) -> str:
    """Append the nodes of the formula; what it is, "" where there is none."""
    match site.node.operator:
        case OperatorName.ELU:
            return _elu(site, sequence, element)
        case OperatorName.HARD_SWISH:
            return _hard_swish(site, sequence, element)
        case OperatorName.MISH:
            return _mish(site, sequence, element)
        case OperatorName.SELU:
            return _selu(site, sequence, element)
        case OperatorName.SOFTPLUS:
            return _softplus(site, sequence, element)
    return ""


def _elu(site: Site, sequence: NodeSequence, element: str) -> str:
    alpha = _number(site, "alpha", 1.0)
    if alpha is None or not is_held(element, alpha):
        return ""
    _exponential_below(site, sequence, element, alpha, site.node.outputs[0])
    return f"Where(X < 0, {alpha} (Exp(X) - 1), X)"


SELU = (1.6732631921768188, 1.0507010221481323)
"""The float32 numbers that absent alpha and gamma of Selu mean (ONNX Selu-6)."""


def _selu(site: Site, sequence: NodeSequence, element: str) -> str:
    alpha, gamma = _number(site, "alpha", SELU[0]), _number(site, "gamma", SELU[1])
    if alpha is None or gamma is None or not (is_held(element, alpha) and is_held(element, gamma)):
        return ""
    if site.operator_set < 6:  # Selu-1 has other defaults
        return ""
    chosen = _exponential_below(site, sequence, element, alpha, sequence.name("chosen"))
    factor = sequence.constant("gamma", element, gamma)
    sequence.add(OperatorName.MUL, (chosen, factor), site.node.outputs[0])
    return f"{gamma} Where(X < 0, {alpha} (Exp(X) - 1), X)"


def _exponential_below(site: Site, sequence: NodeSequence, element: str, alpha: float, output: str) -> str:
    """Append alpha (e^X - 1) below 0, X elsewhere; the exponential may overflow where it is not chosen."""
    source, one = site.node.inputs[0], sequence.constant("one", element, 1)
    power = sequence.add(OperatorName.EXP, (source,), sequence.name("power"))
    below = sequence.add(OperatorName.SUB, (power, one), sequence.name("below"))
    if alpha != 1:
        factor = sequence.constant("alpha", element, alpha)
        below = sequence.add(OperatorName.MUL, (below, factor), sequence.name("scaled"))
    return _where_negative(sequence, element, source, below, source, output)


def _hard_swish(site: Site, sequence: NodeSequence, element: str) -> str:
    if site.operator_set < BOUNDS_AS_INPUTS_OF_CLIP:
        return ""
    source = site.node.inputs[0]
    three, six, zero = (sequence.constant(role, element, n) for role, n in (("three", 3), ("six", 6), ("zero", 0)))
    shifted = sequence.add(OperatorName.ADD, (source, three), sequence.name("shifted"))
    clipped = sequence.add(OperatorName.CLIP, (shifted, zero, six), sequence.name("clipped"))
    factor = sequence.add(OperatorName.DIV, (clipped, six), sequence.name("factor"))
    sequence.add(OperatorName.MUL, (source, factor), site.node.outputs[0])
    return "X Clip(X + 3, 0, 6) / 6"


def _softplus(site: Site, sequence: NodeSequence, element: str) -> str:
    _logistic_sum(site, sequence, element, site.node.outputs[0])
    return "Max(X, 0) + Log(1 + Exp(-|X|))"


def _mish(site: Site, sequence: NodeSequence, element: str) -> str:
    inner = _logistic_sum(site, sequence, element, sequence.name("softplus"))
    factor = sequence.add(OperatorName.TANH, (inner,), sequence.name("factor"))
    sequence.add(OperatorName.MUL, (site.node.inputs[0], factor), site.node.outputs[0])
    return "X Tanh(Max(X, 0) + Log(1 + Exp(-|X|)))"


def _logistic_sum(site: Site, sequence: NodeSequence, element: str, output: str) -> str:
    """Append ln(e^X + 1) without overflow."""
    source = site.node.inputs[0]
    zero, one = sequence.constant("zero", element, 0), sequence.constant("one", element, 1)
    positive = sequence.add(OperatorName.MAX, (source, zero), sequence.name("positive"))
    size = sequence.add(OperatorName.ABS, (source,), sequence.name("size"))
    minus = sequence.add(OperatorName.NEG, (size,), sequence.name("minus"))
    power = sequence.add(OperatorName.EXP, (minus,), sequence.name("power"))
    above = sequence.add(OperatorName.ADD, (power, one), sequence.name("above"))
    rest = sequence.add(OperatorName.LOG, (above,), sequence.name("rest"))
    return sequence.add(OperatorName.ADD, (positive, rest), output)


def _where_negative(sequence: NodeSequence, element: str, source: str, then: str, other: str, output: str) -> str:
    """Append a choice by the sign of a value; for NaN and for zeros it is the other one."""
    zero = sequence.constant("nothing", element, 0)
    negative = sequence.add(OperatorName.LESS, (source, zero), sequence.name("negative"))
    return sequence.add(OperatorName.WHERE, (negative, then, other), output)


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
