"""Sign as choices: its three cases, and what its text leaves out, by Less, Where and Abs."""

from __future__ import annotations

from sonnx.rewriter import constant_tensors, descriptions
from sonnx.rewriter.node_builders import NodeSequence
from sonnx.rewriter.operator_names import OperatorName
from sonnx.rewriter.rewrite import Replacement, Trigger, rewrite
from sonnx.rewriter.site import Site

FLOATS = ("float16", "float", "double")
INTEGERS = ("int8", "int16", "int32", "int64")


@rewrite("chosen-sign", Trigger.RULE_FAILS)
def chosen_sign(site: Site) -> Replacement | None:
    """-1 where X < 0, 1 where 0 < X, else |X|, which is +0 for both zeros and NaN for NaN; of integers 0."""
    shape, element = site.shape(0), site.element_type(0) or ""
    if shape is None or 0 in shape or element not in (*FLOATS, *INTEGERS):
        return None
    output, source = site.node.outputs[0], site.node.inputs[0]
    sequence = NodeSequence(output, site.operator_set)
    names = []
    for role, number in (("minus", -1), ("zero", 0), ("one", 1)):
        constant = constant_tensors.from_numbers(f"{output}.{role}", element, number, shape)
        if constant is None:
            return None
        sequence.constants.append(constant)
        names.append(constant.name)
    minus, zero, one = names
    rest = sequence.add(OperatorName.ABS, (source,), sequence.name("rest")) if element in FLOATS else zero
    above = sequence.add(OperatorName.LESS, (zero, source), sequence.name("above"))
    below = sequence.add(OperatorName.LESS, (source, zero), sequence.name("below"))
    upper = sequence.add(OperatorName.WHERE, (above, one, rest), sequence.name("upper"))
    sequence.add(OperatorName.WHERE, (below, minus, upper), output)
    return sequence.replacement(descriptions.call(site.node), f"{len(sequence.nodes)} nodes that choose -1, 0 or 1")
