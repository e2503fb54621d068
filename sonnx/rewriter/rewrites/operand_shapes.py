"""Shapes of operands: constants stored in the shape a rule requires, and values broadcast to it by a node."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from msgspec.structs import replace

from sonnx.language.builtins import expands_to
from sonnx.language.structure import equalities
from sonnx.model.ir import Tensor
from sonnx.rewriter import constant_tensors, descriptions, node_builders
from sonnx.rewriter.operator_names import OperatorName
from sonnx.rewriter.rewrite import Replacement, Trigger, rewrite
from sonnx.rewriter.site import Shape, Site

LEGACY_BROADCAST = "broadcast"
"""The parameter of operator versions before 7 that broadcasts along a named axis (ONNX Add-6)."""

MAX_BROADCASTS = 8
"""The operator set from which Max broadcasts (ONNX Max-8)."""
MAX_TAKES_INTEGERS = 13
"""The operator set from which Max accepts every number type, not only these (ONNX Max-12, Max-13)."""
BIAS = 2
"""The place of the bias among the inputs of Gemm."""
EARLIER_TYPES_OF_MAX = ("float16", "float", "double")


@rewrite("broadcast-by-maximum", Trigger.RULE_FAILS)
def broadcast_by_maximum(site: Site) -> Replacement | None:
    """Max with a constant, for Expand, and for the operands of every operator whose text requires equal shapes.

    The smallest value of a type (-Inf, the smallest integer) is the identity of Max bit for bit, and Max broadcasts;
    but not 1 to 0 in the profile.
    """
    shape = site.output_shape()
    if shape is None or 0 in shape or site.operator_set < MAX_BROADCASTS:
        return None
    if LEGACY_BROADCAST in site.environment or not site.in_standard_domain:
        return None
    if site.operator_set < MAX_TAKES_INTEGERS and (site.element_type(0) or "") not in EARLIER_TYPES_OF_MAX:
        return None
    if site.node.operator == OperatorName.EXPAND:
        return _max_for_expand(site, shape) if site.only_first_input_varies else None
    if site.failing_of("bias-not-broadcast"):
        return _max_for_operands(site, shape, first=BIAS)
    return _max_for_operands(site, shape) if site.failing_of("same-shape") else None


def _max_for_expand(site: Site, shape: Shape) -> Replacement | None:
    smallest = _smallest(site.element_type(0), shape, f"{site.node.outputs[0]}.least")
    if smallest is None:
        return None
    inputs = site.node.inputs[0], smallest.name
    node = node_builders.node(OperatorName.MAX, inputs, site.node.outputs[0], name=site.node.name)
    return Replacement((node,), descriptions.call(site.node), descriptions.call(node), (smallest,))


def _max_for_operands(site: Site, shape: Shape, first: int = 0) -> Replacement | None:
    """Max for each operand of another shape, from one of them on."""
    inputs, nodes, constants = list(site.node.inputs), [], list[Tensor]()
    for index, name in enumerate(site.node.inputs):
        known, output = site.shape(index), f"{site.node.outputs[0]}.input{index}"
        if (
            index < first
            or known is None
            or known == shape
            or not expands_to([*known], [*shape])
            or site.constant(index)
        ):
            continue  # constants are stored in that shape by constant_broadcast
        smallest = _smallest(site.element_type(index), shape, f"{output}.least")
        if smallest is None:
            return None
        nodes.append(node_builders.node(OperatorName.MAX, (name, smallest.name), output))
        constants.append(smallest)
        inputs[index] = output
    if not nodes:
        return None
    node = replace(site.node, inputs=tuple(inputs))
    return Replacement((*nodes, node), descriptions.call(site.node), descriptions.call(node), tuple(constants))


def _smallest(element: str | None, shape: Shape, name: str) -> Tensor | None:
    """A constant of the smallest value everywhere; None for truth values and strings, which have no Max."""
    value = None if element == "bool" else constant_tensors.smallest(element or "")
    return None if value is None else constant_tensors.from_numbers(name, element or "", value, shape)


@rewrite("constant-broadcast", Trigger.RULE_FAILS)
def constant_broadcast(site: Site) -> Replacement | None:
    """The node with its constants repeated to the shape it computes with; not for operators that name the axis."""
    signature = site.signature
    if signature is None or (LEGACY_BROADCAST in site.environment and signature.version < 7):
        return None
    changed: dict[int, Tensor] = {}
    for index, formal in enumerate(signature.inputs[: len(site.node.inputs)]):
        shape, constant = site.required_shape(formal.name) or site.output_shape(), site.constant(index)
        if constant is None or shape is None or constant.dims == shape or not expands_to([*constant.dims], [*shape]):
            continue
        larger = constant_tensors.broadcast(constant, f"{constant.name}.broadcast", shape)
        if larger is not None:
            changed[index] = larger
    return _with_constants(site, changed)


def _with_constants(site: Site, changed: Mapping[int, Tensor]) -> Replacement | None:
    """The node with some of its constants in another shape, None for none."""
    if not changed or site.signature is None:
        return None
    inputs = tuple(changed[index].name if index in changed else name for index, name in enumerate(site.node.inputs))
    old = {site.signature.inputs[index].name: site.constant(index) for index in changed}
    before = ", ".join(f"{name} {descriptions.tensor(constant)}" for name, constant in old.items() if constant)
    after = ", ".join(map(descriptions.tensor, changed.values()))
    return Replacement((replace(site.node, inputs=inputs),), before, after, tuple(changed.values()))


@rewrite("scalar-constant", Trigger.RULE_FAILS)
def scalar_constant(site: Site) -> Replacement | None:
    """The node with its constants of one element as constants of rank 0."""
    signature = site.signature
    if signature is None:
        return None
    scalars = set(_required_scalars(site))
    tied = set(_tied_to(site, scalars))
    changed: dict[int, Tensor] = {}
    for index, formal in enumerate(signature.inputs[: len(site.node.inputs)]):
        constant = site.constant(index)
        if formal.name not in scalars | tied:
            continue
        if constant is not None and constant.dims and set(constant.dims) == {1}:
            changed[index] = constant_tensors.reshaped(constant, f"{constant.name}.scalar", ())
        elif tied and site.shape(index) == (1,):
            return None  # it would no longer have the shape of the others
    return _with_constants(site, changed)


def _required_scalars(site: Site) -> Iterator[str]:
    """The inputs that a failing rule requires to have rank 0."""
    failing = site.failing_of(*scalar_constant.rules)
    formals = site.signature.inputs if site.signature else ()
    for rule in site.signature.rules if site.signature else ():
        if rule.slug in failing and rule.require:
            required = {(left.text, right.text) for left, right in equalities(rule.require)}
            yield from (formal.name for formal in formals if (f"{formal.name}.rank", "0") in required)


def _tied_to(site: Site, names: set[str]) -> Iterator[str]:
    """The inputs that must have the shape of one of these, as a zero point has that of its scale."""
    formals = site.signature.inputs if site.signature else ()
    for rule in site.signature.rules if site.signature else ():
        for left, right in equalities(rule.require) if rule.require else ():
            if right.text in {f"{name}.shape" for name in names}:
                yield from (formal.name for formal in formals if left.text == f"{formal.name}.shape")
