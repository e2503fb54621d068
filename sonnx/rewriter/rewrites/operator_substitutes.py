"""Single nodes outside the profile: those that give their input are removed, others get an equal operator."""

from __future__ import annotations

from msgspec.structs import replace

from sonnx.rewriter import descriptions, node_builders
from sonnx.rewriter.constant_tensors import ELEMENT_NUMBERS
from sonnx.rewriter.operator_names import OperatorName
from sonnx.rewriter.rewrite import Replacement, Trigger, rewrite
from sonnx.rewriter.site import Site


@rewrite("cast-like-as-cast", Trigger.RULE_FAILS)
def cast_like_as_cast(site: Site) -> Replacement | None:
    """Cast with the element type of the second input, whose values have no effect."""
    number = ELEMENT_NUMBERS.get(site.element_type(1) or "")
    if number is None:
        return None
    to = node_builders.attribute("to", "int", number)
    node = replace(
        site.node, operator=OperatorName.CAST.value, inputs=site.node.inputs[:1], attributes=(*site.node.attributes, to)
    )
    return Replacement((node,), descriptions.call(site.node), descriptions.call(node))


@rewrite("same-value", Trigger.RULE_FAILS)
def same_value(site: Site) -> Replacement | None:
    """No node: the users of its output take its first input."""
    if not _is_identity(site):
        return None
    first, *others = site.node.outputs
    if not site.node.inputs or not site.node.inputs[0] or site.used.intersection(filter(None, others)):
        return None
    source = site.node.inputs[0]
    return Replacement((), descriptions.call(site.node), f"its input {source!r}", same=((first, source),))


def _is_identity(site: Site) -> bool:
    match site.node.operator:
        case OperatorName.IDENTITY:
            return True
        case OperatorName.SUM:
            return len(site.node.inputs) == 1
        case OperatorName.TRANSPOSE:
            shape = site.shape(0)
            return shape is not None and site.known("perm") == tuple(range(len(shape)))
        case OperatorName.DROPOUT:
            return _infers(site)
        case OperatorName.CAST:
            to, element = site.attributes.get("to"), site.element_type(0)
            return to is not None and element is not None and to.value == ELEMENT_NUMBERS.get(element)
    return False


def _infers(site: Site) -> bool:
    """Whether Dropout infers: without training_mode from operator set 12 on, always from 7 to 11, else by is_test."""
    if site.operator_set < 7:
        is_test = site.attributes.get("is_test")
        return is_test is not None and is_test.value == 1
    if site.operator_set < 12 or len(site.node.inputs) < 3 or not site.node.inputs[2]:
        return True
    training = site.constant(2)
    return training is not None and training.data is not None and not any(training.data)


@rewrite("greater-as-less", Trigger.RULE_FAILS)
def greater_as_less(site: Site) -> Replacement | None:
    """Less with the operands exchanged; both are false where an operand is NaN."""
    return _two_operands(site, OperatorName.LESS, site.node.inputs[::-1])


@rewrite("sum-as-add", Trigger.RULE_FAILS)
def sum_as_add(site: Site) -> Replacement | None:
    """Add; the sum of two is rounded once in both."""
    return _two_operands(site, OperatorName.ADD, site.node.inputs)


def _two_operands(site: Site, operator: OperatorName, inputs: tuple[str, ...]) -> Replacement | None:
    if len(inputs) != 2:
        return None
    node = node_builders.node(operator, inputs, site.node.outputs[0], name=site.node.name)
    return Replacement((node,), descriptions.call(site.node), descriptions.call(node))
