"""Rules of ONNX about the operator of a node, also of one that the profile does not have.

Each public function decides the rule of its name in restrictions/graph.toml and yields the violations.
"""

from __future__ import annotations

from collections.abc import Iterator

from sonnx.base.escaping import plural, quote
from sonnx.checker.verdicts import Verdict, Violation
from sonnx.graph.call import Call
from sonnx.model.ir import Graph, ValueInfo
from sonnx.profile import catalogue
from sonnx.profile.onnx_schemas import has_domain, newest_version, schema_at, schemas

OUTSIDE = "operator-in-profile"
"""The rule that fails for a node whose operator has no operator file."""


def operator_exists(call: Call) -> Iterator[Violation]:
    operator_set = call.operator_set
    if call.calls_function or not call.operator or operator_set is None or not has_domain(call.domain):
        return
    if call.definition is not None and call.version is not None and operator_set <= catalogue.editions().operator_set:
        return  # most nodes; the table of all operators is not read for them
    name, domain = quote(call.operator), f" of the domain {quote(call.domain)}" if call.domain else ""
    newest = catalogue.editions().operator_set if call.domain == "" else newest_version(call.domain)
    known = schemas(call.domain, call.operator)
    schema = schema_at(call.domain, call.operator, operator_set)
    if operator_set > newest:
        yield Violation(f"operator set {operator_set}{domain} is not known", verdict=Verdict.NOT_CHECKED)
    elif not known:
        yield Violation(f"ONNX has no operator {name}{domain}")
    elif schema is None:
        yield Violation(f"operator set {operator_set}{domain} has no {name}; version {min(known)} is its first")
    elif schema.deprecated:
        yield Violation(f"{name} is deprecated in operator set {operator_set}{domain}")


def operator_conditions(call: Call) -> Iterator[Violation]:
    if call.definition is not None or call.calls_function or not call.operator:
        return  # the operator file has them; nothing is known of them beyond the nodes of a function
    if call.status not in ("specified", "draft"):  # of these operator-in-profile itself is not checked
        yield Violation(
            f"the conditions of ONNX on {quote(call.operator)} beyond its counts and attributes are not checked",
            verdict=Verdict.NOT_CHECKED,
            cause=OUTSIDE,
        )


def body_signature(call: Call) -> Iterator[Violation]:
    if call.domain != "" or call.calls_function:
        return
    graphs = {attribute.name: attribute.value for attribute in call.attributes if isinstance(attribute.value, Graph)}
    if call.operator == "If":
        yield from _branches(call, graphs)
    elif call.operator in ("Loop", "Scan", "SequenceMap") and isinstance(graphs.get("body"), Graph):
        yield from _body(call, graphs["body"])


def _branches(call: Call, graphs: dict[str, Graph]) -> Iterator[Violation]:
    branches = [(name, graphs[name]) for name in ("then_branch", "else_branch") if name in graphs]
    for name, graph in branches:
        inputs = _own_inputs(graph)
        if inputs:
            yield Violation(f"{name} has {plural(len(inputs), 'input')}, If gives none")
        if len(graph.outputs) != len(call.outputs):
            yield Violation(f"{name} has {plural(len(graph.outputs), 'output')}, the node has {len(call.outputs)}")
    if len(branches) == 2:
        pairs = zip(branches[0][1].outputs, branches[1][1].outputs, strict=False)
        for index, (of_then, of_else) in enumerate(pairs):
            if _differ(of_then, of_else):
                elements = of_then.type.element, of_else.type.element
                yield Violation(f"output {index} of then_branch is {elements[0]}, that of else_branch {elements[1]}")


def _body(call: Call, body: Graph) -> Iterator[Violation]:
    node_inputs, inputs = len(call.inputs), _own_inputs(body)
    first_version = call.operator == "Scan" and (call.operator_set or 0) < 9
    expected = node_inputs - 1 if first_version else node_inputs
    results = len(call.outputs) + (call.operator == "Loop")
    if call.operator == "Loop":
        expected = max(node_inputs, 2)
    if len(inputs) != expected:
        yield Violation(f"body has {plural(len(inputs), 'input')}, {call.operator} gives {expected}")
    elif len(body.outputs) != results:
        yield Violation(f"body has {plural(len(body.outputs), 'output')}, {call.operator} needs {results}")
    elif call.operator == "Loop":
        for what, value in (("input 1", inputs[1]), ("output 0", body.outputs[0])):
            if value.type.element not in (None, "bool"):
                yield Violation(f"{what} of body, the condition, is {value.type.element}, not bool")
        for index, (before, after) in enumerate(zip(inputs[2:], body.outputs[1:], strict=False)):
            if _differ(before, after):
                yield Violation(
                    f"the value {index} that Loop carries is {before.type.element} before a step and "
                    f"{after.type.element} after it"
                )


def _own_inputs(graph: Graph) -> list[ValueInfo]:
    """The inputs that the operator gives; those with an initializer are constants of the body."""
    constants = {tensor.name for tensor in graph.initializers}
    return [value for value in graph.inputs if value.name not in constants]


def _differ(one: ValueInfo, other: ValueInfo) -> bool:
    """Whether two values are declared with different element types."""
    elements = {one.type.element, other.type.element} - {None}
    return len(elements) > 1
