"""Erf and Gelu by functions whose ideal value differs from theirs by a certified bound: made with --approximate only.

Erf is a rational function (`erf_certificate.py`).  Gelu is its formula with the constants as numbers of the type: a
factor 1 + d of the argument t changes f(t) by at most |d| max |t f'(t)|, which is below 0.49 |d| for erf and below
0.45 |d| for tanh.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from sonnx.base.outward import upper_bound_text
from sonnx.rewriter import descriptions
from sonnx.rewriter.erf_certificate import DENOMINATOR, ERF_ERROR, LIMIT, NUMERATOR
from sonnx.rewriter.node_builders import NodeSequence
from sonnx.rewriter.operator_names import OperatorName
from sonnx.rewriter.rewrite import Replacement, Trigger, rewrite
from sonnx.rewriter.rewrites.activations import BOUNDS_AS_INPUTS_OF_CLIP
from sonnx.rewriter.site import Site

ELEMENTS_WITH_COEFFICIENTS = ("float", "double")
"""The element types that have the coefficients."""
EPSILON = {"float": 2.0**-24, "double": 2.0**-53}
"""At most the relative distance of a constant from its number in the type."""
ERF_SLOPE, TANH_SLOPE = 0.49, 0.45
"""At least the largest |t f'(t)|: (2 / (π e))^(1/2) of erf, 0.4477 of tanh."""


@rewrite("approximated-erf", Trigger.RULE_FAILS)
def approximated_erf(site: Site) -> Replacement | None:
    """C P(c²) / Q(c²) between -1 and 1, with c = X between -4 and 4."""
    element = site.element_type(0) or ""
    if element not in ELEMENTS_WITH_COEFFICIENTS or site.operator_set < BOUNDS_AS_INPUTS_OF_CLIP:
        return None
    sequence = NodeSequence(site.node.outputs[0], site.operator_set)

    def number(role: str, value: float) -> str:
        return sequence.constant(role, element, value)

    def polynomial(name: str, coefficients: Sequence[float], square: str) -> str:
        value = number(f"{name}{len(coefficients) - 1}", coefficients[-1])
        for index in reversed(range(len(coefficients) - 1)):
            product = sequence.add(OperatorName.MUL, (square, value), sequence.name("product"))
            value = sequence.add(
                OperatorName.ADD, (product, number(f"{name}{index}", coefficients[index])), sequence.name("sum")
            )
        return value

    limits = number("least", -LIMIT), number("largest", LIMIT)
    inside = sequence.add(OperatorName.CLIP, (site.node.inputs[0], *limits), sequence.name("inside"))
    square = sequence.add(OperatorName.MUL, (inside, inside), sequence.name("square"))
    numerator, denominator = polynomial("p", NUMERATOR, square), polynomial("q", DENOMINATOR, square)
    factor = sequence.add(OperatorName.MUL, (inside, numerator), sequence.name("odd"))
    quotient = sequence.add(OperatorName.DIV, (factor, denominator), sequence.name("quotient"))
    ends = number("minus", -1.0), number("one", 1.0)
    sequence.add(OperatorName.CLIP, (quotient, *ends), site.node.outputs[0])
    found = sequence.replacement(descriptions.call(site.node), "a rational function between -1 and 1")
    bound = upper_bound_text(ERF_ERROR)
    return replace(found, changes=f"the ideal value differs by at most {bound}, for every input (certified)")


@rewrite("approximated-gelu", Trigger.RULE_FAILS)
def approximated_gelu(site: Site) -> Replacement | None:
    """X / 2 (1 + erf(X / √2)), or with tanh where the node says so; Erf is replaced in its turn."""
    element, node = site.element_type(0) or "", site.node
    if element not in ELEMENTS_WITH_COEFFICIENTS or any(each.reference for each in node.attributes):
        return None
    biased, written = node.operator == "BiasGelu", site.attributes.get("approximate")
    by_tanh = node.operator == "FastGelu" or (written is not None and written.value == "tanh")
    if written is not None and written.value not in ("none", "tanh"):
        return None
    sequence = NodeSequence(node.outputs[0], site.operator_set)
    source = node.inputs[0]
    if biased or (node.operator == "FastGelu" and len(node.inputs) > 1 and node.inputs[1]):
        source = sequence.add(OperatorName.ADD, node.inputs[:2], sequence.name("biased"))

    def by(operator: OperatorName, operand: str, role: str, value: float, output: str = "") -> str:
        return sequence.add(
            operator,
            (operand, sequence.constant(role, element, value)),
            output or sequence.name(operator.value.lower()),
        )

    if by_tanh:
        square = sequence.add(OperatorName.MUL, (source, source), sequence.name("square"))
        line = by(OperatorName.ADD, by(OperatorName.MUL, square, "cubic", TANH_CUBIC), "one", 1.0)
        argument = sequence.add(OperatorName.MUL, (source, line), sequence.name("argument"))
        scaled = by(OperatorName.MUL, argument, "scale", TANH_SCALE)
        inner, slope = sequence.add(OperatorName.TANH, (scaled,), sequence.name("tanh")), 2 * TANH_SLOPE
    else:
        scaled = by(OperatorName.MUL, source, "scale", INVERSE_ROOT)
        inner, slope = sequence.add(OperatorName.ERF, (scaled,), sequence.name("erf")), ERF_SLOPE
    above = by(OperatorName.ADD, inner, "unit", 1.0)
    product = sequence.add(OperatorName.MUL, (source, above), sequence.name("product"))
    by(OperatorName.MUL, product, "half", 0.5, node.outputs[0])
    found = sequence.replacement(descriptions.call(node), "its formula, with rounded constants")
    bound = upper_bound_text(slope * EPSILON[element] / 2 * 1.001)
    return replace(found, changes=f"by the constants the ideal value differs by at most {bound} |X| (certified)")


INVERSE_ROOT = 0.7071067811865476
"""1 / √2, rounded."""
TANH_SCALE = 0.7978845608028654
"""(2 / π)^(1/2), rounded."""
TANH_CUBIC = 0.044715
"""The factor of the cube in the form with tanh (ONNX Gelu-20)."""
