"""Sign, Equal, Floor and Cast of truth values as choices between constants, by Less, Where and exact sums."""

from __future__ import annotations

from sonnx.rewriter import descriptions
from sonnx.rewriter.node_builders import NodeSequence
from sonnx.rewriter.operator_names import OperatorName
from sonnx.rewriter.rewrite import Replacement, Trigger, rewrite
from sonnx.rewriter.site import Shape, Site

PRECISION = {"float16": 11, "float": 24, "double": 53}
"""The bits of a significand, by element type."""
FLOATS = tuple(PRECISION)
INTEGERS = ("int8", "int16", "int32", "int64")
NUMBERS = (*FLOATS, *INTEGERS, "uint8", "uint16", "uint32", "uint64")


@rewrite("chosen-sign", Trigger.RULE_FAILS)
def chosen_sign(site: Site) -> Replacement | None:
    """-1 where X < 0, 1 where 0 < X, else |X|, which is +0 for both zeros and NaN for NaN; of integers 0."""
    shape, element = site.shape(0), site.element_type(0) or ""
    if shape is None or 0 in shape or element not in (*FLOATS, *INTEGERS):
        return None
    output, source = site.node.outputs[0], site.node.inputs[0]
    sequence = NodeSequence(output, site.operator_set)
    minus, zero, one = (
        sequence.constant(role, element, number, shape) for role, number in (("minus", -1), ("zero", 0), ("one", 1))
    )
    rest = sequence.add(OperatorName.ABS, (source,), sequence.name("rest")) if element in FLOATS else zero
    above = sequence.add(OperatorName.LESS, (zero, source), sequence.name("above"))
    below = sequence.add(OperatorName.LESS, (source, zero), sequence.name("below"))
    upper = sequence.add(OperatorName.WHERE, (above, one, rest), sequence.name("upper"))
    sequence.add(OperatorName.WHERE, (below, minus, upper), output)
    return sequence.replacement(descriptions.call(site.node), f"{len(sequence.nodes)} nodes that choose -1, 0 or 1")


FIRST_WITH_WHERE = 9
"""The first operator set that has Where."""


@rewrite("chosen-numbers", Trigger.RULE_FAILS)
def chosen_numbers(site: Site) -> Replacement | None:
    """Equal, Floor, and Cast from truth values."""
    shape = site.output_shape()
    if shape is None or 0 in shape or site.operator_set < FIRST_WITH_WHERE:
        return None
    sequence = NodeSequence(site.node.outputs[0], site.operator_set)
    if site.node.operator == OperatorName.EQUAL:
        what = _equal(site, sequence, shape)
    elif site.node.operator == OperatorName.FLOOR:
        what = _floor(site, sequence)
    else:
        what = _cast(site, sequence, shape)
    return sequence.replacement(descriptions.call(site.node), what) if what else None


def _equal(site: Site, sequence: NodeSequence, shape: Shape) -> str:
    """0 where one is less than the other; else 1, but for NaN, which is neither below 1 nor above 0.

    Where chooses numbers only, so that a last Less makes truth values of them.
    """
    (one, other), element = site.node.inputs, site.element_type(0) or ""
    no, yes = (sequence.constant(role, "int32", value, shape) for role, value in (("no", 0), ("yes", 1)))
    add, name, value = sequence.add, sequence.name, yes
    shapes = site.shape(0), site.shape(1)
    if None in shapes or element not in (*NUMBERS, "bool"):
        return ""
    if element == "bool":
        units = [(sequence.constant(f"no{index}", "int32", 0, given or ()),
                  sequence.constant(f"yes{index}", "int32", 1, given or ()))
                 for index, given in enumerate(shapes)]  # fmt: skip
        one, other = (
            add(OperatorName.WHERE, (operand, high, low), name("number"))
            for operand, (low, high) in zip((one, other), units, strict=True)
        )
    for operand, index in ((other, 1), (one, 0)) if element in FLOATS else ():
        low, high = (
            sequence.constant(f"{role}{index}", element, number, shape) for role, number in (("low", 0), ("high", 1))
        )  # of the shape of the result, as the choices are
        above = add(OperatorName.LESS, (low, operand), name("above"))
        below = add(OperatorName.LESS, (operand, high), name("below"))
        inner = add(OperatorName.WHERE, (above, value, no), name("positive"))
        value = add(OperatorName.WHERE, (below, value, inner), name("number"))
    more = add(OperatorName.LESS, (other, one), name("more"))
    less = add(OperatorName.LESS, (one, other), name("less"))
    rest = add(OperatorName.WHERE, (more, no, value), name("rest"))
    chosen = add(OperatorName.WHERE, (less, no, rest), name("chosen"))
    add(OperatorName.LESS, (no, chosen), sequence.output)
    return f"{len(sequence.nodes)} nodes that choose by Less"


def _floor(site: Site, sequence: NodeSequence) -> str:
    """|X| + C - C is |X| rounded to an integer, where the numbers from C on are integers; of the result, with the sign
    of X, one less where X is below it.  X itself where it is 0, NaN, or at least C in magnitude.
    """
    shape, element, source = site.shape(0), site.element_type(0) or "", site.node.inputs[0]
    if shape is None or element not in PRECISION:
        return ""
    add, name = sequence.add, sequence.name
    large, zero, one = (
        sequence.constant(role, element, number, shape)
        for role, number in (("large", 2.0 ** (PRECISION[element] - 1)), ("zero", 0), ("one", 1))
    )
    size = add(OperatorName.ABS, (source,), name("size"))
    raised = add(OperatorName.ADD, (size, large), name("raised"))
    nearest = add(OperatorName.SUB, (raised, large), name("nearest"))
    negative = add(OperatorName.LESS, (source, zero), name("negative"))
    opposite = add(OperatorName.NEG, (nearest,), name("opposite"))
    whole = add(OperatorName.WHERE, (negative, opposite, nearest), name("whole"))
    under = add(OperatorName.SUB, (whole, one), name("under"))
    above = add(OperatorName.LESS, (source, whole), name("above"))
    lower = add(OperatorName.WHERE, (above, under, whole), name("lower"))
    small = add(OperatorName.LESS, (size, large), name("small"))
    chosen = add(OperatorName.WHERE, (small, lower, source), name("chosen"))
    some = add(OperatorName.LESS, (zero, size), name("some"))
    add(OperatorName.WHERE, (some, chosen, source), sequence.output)
    return f"{len(sequence.nodes)} nodes that round to an integer"


def _cast(site: Site, sequence: NodeSequence, shape: Shape) -> str:
    """1 where X is true, 0 where it is false."""
    element = site.outputs[0].type
    if site.element_type(0) != "bool" or element not in NUMBERS:
        return ""
    one, zero = (sequence.constant(role, element, number, shape) for role, number in (("one", 1), ("zero", 0)))
    sequence.add(OperatorName.WHERE, (site.node.inputs[0], one, zero), sequence.output)
    return "a choice between 1 and 0"
