"""Rules about one call of an operator.

Each public function is the rule of its name in restrictions/graph.toml: it yields what is wrong with its subject.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from sonnx.base.escaping import plural, quote
from sonnx.checker.graph_rules.defect import Defect
from sonnx.model.ir import Attribute
from sonnx.profile.definitions import Formal, Operator, at
from sonnx.profile.signature import Signature


@dataclass(frozen=True, slots=True)
class Call:
    """A node as its signature rules see it: without names of values, so that equal calls are judged once."""

    operator: str
    domain: str
    overload: str
    operator_set: int | None
    version: int | None
    attributes: tuple[Attribute, ...]
    inputs: tuple[bool, ...]
    """Which inputs are connected."""
    outputs: tuple[bool, ...]
    known: Operator | None
    signature: Signature | None
    status: str
    """specified, draft, planned, or "" where the edition does not name the operator."""
    imported: bool
    in_function: bool
    calls_function: bool
    strict: bool


def operator_named(call: Call) -> Iterator[Defect]:
    if not call.operator:
        yield Defect("the node names no operator")
    if not any(call.outputs):
        yield Defect("the node has no output")


def operator_set_imported(call: Call) -> Iterator[Defect]:
    if not call.imported:
        yield Defect(f"the operator set {quote(call.domain)} is not imported")


def operator_in_profile(call: Call) -> Iterator[Defect]:
    if call.calls_function:
        yield Defect(f"the node calls the model-local function {quote(call.operator)}")
    elif call.domain != "":
        yield Defect(f"the operator {quote(call.operator)} is of the domain {quote(call.domain)}")
    elif call.overload:
        yield Defect(f"the node asks for the overload {quote(call.overload)}, which no function of the model has")
    elif call.status == "planned":
        yield Defect(
            f"the operator {quote(call.operator)} is planned for the profile and not specified yet{_way(call)}"
        )
    elif not call.status and call.operator:
        yield Defect(f"the operator {quote(call.operator)} is not one of the profile")


def _way(call: Call) -> str:
    return f"; until it is, {call.known.instead}" if call.known and call.known.instead else ""


def operator_version(call: Call) -> Iterator[Defect]:
    known = call.known
    if known is None or call.operator_set is None:
        return
    if call.version is None:
        yield Defect(f"operator set {call.operator_set} has no {known.name}")
        return
    specified = known.specified_by(call.signature.text if call.signature else "")
    if call.version in known.refused:
        reason = known.refused[call.version]
        yield Defect(f"version {call.version} is in force, the text specifies {specified}: {reason}")
    elif call.strict and specified not in (None, call.version):
        yield Defect(f"version {call.version} is in force; the text specifies {specified}")


def known_attribute(call: Call) -> Iterator[Defect]:
    if call.signature is None:
        return
    names = {parameter.name for parameter in call.signature.attributes}
    for attribute in call.attributes:
        if attribute.name not in names:
            has = f"it has {', '.join(sorted(names))}" if names else "it has none"
            yield Defect(f"the attribute {quote(attribute.name)} is unknown to version {call.version}; {has}")


def required_attribute(call: Call) -> Iterator[Defect]:
    if call.signature is None:
        return
    written = {attribute.name for attribute in call.attributes}
    for parameter in call.signature.attributes:
        if parameter.required_at(call.signature.version) and parameter.name not in written:
            yield Defect(f"the attribute {quote(parameter.name)} is not written")


def attribute_once(call: Call) -> Iterator[Defect]:
    for name, number in Counter(attribute.name for attribute in call.attributes).items():
        if number > 1:
            yield Defect(f"the attribute {quote(name)} is written {number} times")


def attribute_kind(call: Call) -> Iterator[Defect]:
    wanted: Mapping[str, str] = (
        {} if call.signature is None else {each.name: each.kind for each in call.signature.attributes}
    )
    for attribute in call.attributes:
        kind = wanted.get(attribute.name, attribute.kind)
        if attribute.kind == "undefined":
            yield Defect(f"the attribute {quote(attribute.name)} states no kind")
        elif attribute.kind != kind:
            yield Defect(
                f"the attribute {quote(attribute.name)} is of kind {attribute.kind}, the operator asks for {kind}"
            )
        elif not attribute.reference and not _holds_its_kind(attribute):
            yield Defect(
                f"the attribute {quote(attribute.name)} of kind {attribute.kind} holds "
                f"{' and '.join(attribute.fields) or 'no value'}"
            )


def attribute_reference(call: Call) -> Iterator[Defect]:
    if call.in_function:
        return
    for attribute in call.attributes:
        if attribute.reference:
            yield Defect(f"the attribute {quote(attribute.name)} refers to {quote(attribute.reference)} of a caller")


def input_count(call: Call) -> Iterator[Defect]:
    if call.signature is not None:
        yield from _counted(call.inputs, call.signature.inputs, "input", "takes", "is not connected")


def output_count(call: Call) -> Iterator[Defect]:
    if call.signature is not None:
        yield from _counted(call.outputs, call.signature.outputs, "output", "gives", "has no name")
    counts = at(call.known.output_counts, call.version) if call.known and call.version else None
    if counts and len(call.outputs) not in counts:
        shown = " or ".join(map(str, counts))
        yield Defect(f"the node lists {plural(len(call.outputs), 'output')}, the operator has a meaning for {shown}")


def outputs_connected(call: Call) -> Iterator[Defect]:
    if call.signature is None or call.status == "planned":
        return
    in_force = {rule.name for rule in call.signature.rules}
    for index, formal in enumerate(call.signature.outputs):
        absent = in_force.intersection(at(formal.implied_by, call.signature.version) or ())
        there = index < len(call.outputs) and call.outputs[index]
        if formal.optional and not there and not formal.exempt and not absent:
            yield Defect(f"the optional output {formal.name} is left out")


def _counted(
    present: tuple[bool, ...], formals: Sequence[Formal], what: str, verb: str, missing: str
) -> Iterator[Defect]:
    least, most = _bounds(formals)
    if len(present) < least or (most is not None and len(present) > most):
        yield Defect(f"the node has {plural(len(present), what)}, the operator {verb} {_range(least, most)}")
        return
    for index, there in enumerate(present):
        formal = formals[min(index, len(formals) - 1)]
        if not there and not formal.optional:
            yield Defect(f"{what} {index} ({formal.name}) {missing}")


def _bounds(formals: Sequence[Formal]) -> tuple[int, int | None]:
    """The least and largest number that may stand; how often a repeated one may stand is a rule of its operator."""
    least = max([i + 1 for i, each in enumerate(formals) if not (each.optional or each.variadic)], default=0)
    return least, None if any(each.variadic for each in formals) else len(formals)


def _range(least: int, most: int | None) -> str:
    if most is None:
        return f"{least} or more"
    return str(least) if least == most else f"{least} to {most}"


_FIELD = {
    "float": "f", "int": "i", "string": "s", "tensor": "t", "graph": "g", "sparse_tensor": "sparse_tensor",
    "type_proto": "tp", "floats": "floats", "ints": "ints", "strings": "strings", "tensors": "tensors",
    "graphs": "graphs", "sparse_tensors": "sparse_tensors", "type_protos": "type_protos",
}  # fmt: skip
"""The protobuf field that holds a value of each kind (ONNX IR, AttributeProto)."""


def _holds_its_kind(attribute: Attribute) -> bool:
    """A list may be empty, and then no field is there."""
    field = _FIELD.get(attribute.kind)
    return attribute.fields == (field,) or (attribute.fields == () and field == attribute.kind)
