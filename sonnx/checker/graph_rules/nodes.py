"""Rules about one call: a node as the rules of its operator see it.

Each public function decides the rule of its name in restrictions/graph.toml and yields the violations.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from sonnx.base.escaping import MAX_LISTED, plural, quote
from sonnx.base.suggestions import most_alike
from sonnx.checker.verdicts import Verdict, Violation
from sonnx.graph.call import Call
from sonnx.model.ir import Attribute
from sonnx.profile import catalogue
from sonnx.profile.definitions import Formal, at
from sonnx.profile.onnx_schemas import OnnxSchema, schema_at


def operator_named(call: Call) -> Iterator[Violation]:
    if not call.operator:
        yield Violation("the node names no operator")
    if not any(call.outputs):
        yield Violation("the node has no output")


def operator_set_imported(call: Call) -> Iterator[Violation]:
    if not call.imported and not (call.domain == "" and call.ir_version in (1, 2)):  # imported without saying so
        yield Violation(f"the operator set {quote(call.domain)} is not imported")


def operator_in_profile(call: Call) -> Iterator[Violation]:
    if call.calls_function:
        yield Violation(f"the node calls the model-local function {quote(call.operator)}")
    elif call.domain != "":
        yield Violation(f"the operator {quote(call.operator)} has the domain {quote(call.domain)}")
    elif call.overload:
        yield Violation(f"the node names the overload {quote(call.overload)}, which no function of the model has")
    elif call.status == "planned":
        yield Violation(
            f"the operator {quote(call.operator)} is planned for the profile and not specified yet{_alternative(call)}"
        )
    elif not call.status and call.operator:
        near = catalogue.operators_outside().get(call.operator, "")
        remedy = f"; near it is {near}" if near else ""
        yield Violation(f"the operator {quote(call.operator)} is not one of the profile{remedy}")


def _alternative(call: Call) -> str:
    return f"; until it is, {call.definition.instead}" if call.definition and call.definition.instead else ""


def operator_version(call: Call) -> Iterator[Violation]:
    definition = call.definition
    if definition is None or call.operator_set is None:
        return
    if call.version is None:  # fails operator-exists
        return
    specified = definition.specified_by(call.signature.text if call.signature else "")
    if call.version in definition.refused:
        reason = definition.refused[call.version]
        yield Violation(f"version {call.version} is in force, the text specifies {specified}: {reason}")
    elif call.strict and specified not in (None, call.version):
        yield Violation(f"version {call.version} is in force; the text specifies {specified}")


def known_attribute(call: Call) -> Iterator[Violation]:
    kinds, _ = _attributes(call)
    if kinds is None:
        return
    if call.function is not None:
        who = "the function"
    else:
        who = f"version {call.version or (outside.version if (outside := _schema(call)) else '')}"
    has = f"it has {', '.join(sorted(kinds))}" if kinds else "it has none"
    meant = {written: name for name, written in misspelt(call).items()}
    for attribute in call.attributes:
        if attribute.name not in kinds:
            hint = f"; did you mean {quote(meant[attribute.name])}?" if attribute.name in meant else ""
            yield Violation(f"the attribute {quote(attribute.name)} is unknown to {who}; {has}{hint}")


def misspelt(call: Call) -> Mapping[str, str]:
    """The attributes that are not written and that an unknown one may stand for, each with the name that is written."""
    kinds, _ = _attributes(call)
    names = {attribute.name for attribute in call.attributes}
    if kinds is None or names <= kinds.keys():
        return {}
    absent, written_as = kinds.keys() - names, dict[str, str]()
    for name in sorted(names - kinds.keys()):
        meant = most_alike(name, sorted(absent - written_as.keys()))
        if meant:
            written_as[meant] = name
    return written_as


def required_attribute(call: Call) -> Iterator[Violation]:
    _, required = _attributes(call)
    written = {attribute.name for attribute in call.attributes}
    meant = misspelt(call)
    for name in required:
        if name not in written:
            verdict, cause = (Verdict.UNDECIDED, "known-attribute") if name in meant else (Verdict.FAIL, "")
            yield Violation(f"the attribute {quote(name)} is not written", verdict=verdict, cause=cause)


def attribute_once(call: Call) -> Iterator[Violation]:
    for name, number in Counter(attribute.name for attribute in call.attributes).items():
        if number > 1:
            yield Violation(f"the attribute {quote(name)} is written {number} times")


def attribute_kind(call: Call) -> Iterator[Violation]:
    kinds, _ = _attributes(call)
    wanted: Mapping[str, str] = {name: kind for name, kind in (kinds or {}).items() if kind}
    for attribute in call.attributes:
        kind = wanted.get(attribute.name, attribute.kind)
        if attribute.kind == "undefined" and call.ir_version == 1:
            continue  # IR version 2 adds the field
        if attribute.kind == "undefined":
            yield Violation(f"the attribute {quote(attribute.name)} has no kind")
        elif attribute.kind != kind:
            yield Violation(
                f"the attribute {quote(attribute.name)} is of kind {attribute.kind}, the operator takes {kind}"
            )
        elif any(isinstance(item, str) and not _is_text(item) for item in attribute.items):
            yield Violation(f"the attribute {quote(attribute.name)} holds a string that is not UTF-8")
        elif not attribute.reference and not _holds_its_kind(attribute):
            yield Violation(
                f"the attribute {quote(attribute.name)} of kind {attribute.kind} holds "
                f"{' and '.join(attribute.fields) or 'no value'}"
            )


def attribute_reference(call: Call) -> Iterator[Violation]:
    if call.in_function:
        return
    for attribute in call.attributes:
        if attribute.reference:
            yield Violation(f"the attribute {quote(attribute.name)} refers to {quote(attribute.reference)} of a caller")


def input_count(call: Call) -> Iterator[Violation]:
    if call.signature is not None:
        yield from _counted(call.inputs, call.signature.inputs, "input", "takes", "is not connected")
    elif call.function is not None:
        yield from _surplus(call.inputs, len(call.function.inputs), "input", "takes")
    elif schema := _schema(call):
        yield from _outside(call.inputs, schema.inputs, "input", "takes")


def output_count(call: Call) -> Iterator[Violation]:
    if call.signature is not None:
        yield from _counted(call.outputs, call.signature.outputs, "output", "gives", "has no name")
    elif call.function is not None:
        yield from _surplus(call.outputs, len(call.function.outputs), "output", "gives")
    elif schema := _schema(call):
        yield from _outside(call.outputs, schema.outputs, "output", "gives")
    counts = at(call.definition.output_counts, call.version) if call.definition and call.version else None
    if counts and len(call.outputs) not in counts:
        shown = " or ".join(map(str, counts))
        yield Violation(f"the node lists {plural(len(call.outputs), 'output')}, the operator allows {shown}")


def outputs_connected(call: Call) -> Iterator[Violation]:
    if call.signature is None or call.status == "planned":
        return
    active = {rule.name for rule in call.signature.rules}
    for index, formal in enumerate(call.signature.outputs):
        absent = active.intersection(at(formal.implied_by, call.signature.version) or ())
        there = index < len(call.outputs) and call.outputs[index]
        if formal.optional and not there and not formal.exempt and not absent:
            yield Violation(f"the optional output {formal.name} is left out")


def _counted(
    present: tuple[bool, ...], formals: Sequence[Formal], what: str, verb: str, missing: str
) -> Iterator[Violation]:
    least, most = _bounds(formals)
    if len(present) < least or (most is not None and len(present) > most):
        yield Violation(f"the node has {plural(len(present), what)}, the operator {verb} {_range(least, most)}")
        return
    absent = [index for index, there in enumerate(present) if not there]
    required = [index for index in absent if not formals[min(index, len(formals) - 1)].optional]
    for index in required[:MAX_LISTED]:
        yield Violation(f"{what} {index} ({formals[min(index, len(formals) - 1)].name}) {missing}")
    if len(required) > MAX_LISTED:
        yield Violation(f"of {len(required)} such {what}s these are the first")


def _schema(call: Call) -> OnnxSchema | None:
    """What ONNX says of an operator that has no operator file, None where nothing is known of it."""
    if call.definition is not None or call.function is not None or call.operator_set is None:
        return None
    schema = schema_at(call.domain, call.operator, call.operator_set)
    return None if schema is None or schema.deprecated else schema


def _attributes(call: Call) -> tuple[Mapping[str, str] | None, Sequence[str]]:
    """The kinds of the attributes by name, "" for any kind, None where they are not known; then the required ones."""
    if call.signature is not None:
        parameters = call.signature.attributes
        required = [each.name for each in parameters if each.required_at(call.signature.version)]
        return {each.name: each.kind for each in parameters}, required
    if call.function is not None:
        defaults = {attribute.name: attribute.kind for attribute in call.function.defaults}
        return dict.fromkeys(call.function.attributes, "") | defaults, ()
    schema = _schema(call)
    if schema is None:
        return None, ()
    kinds = {name: attribute.kind for name, attribute in schema.attributes.items()}
    return kinds, [name for name, attribute in schema.attributes.items() if attribute.required]


def _surplus(present: tuple[bool, ...], most: int, what: str, verb: str) -> Iterator[Violation]:
    """More arguments than a function has; fewer leave the last ones out."""
    if len(present) > most:
        yield Violation(f"the node has {plural(len(present), what)}, the function {verb} {most}")


def _outside(present: tuple[bool, ...], counts: tuple[int, int | None], what: str, verb: str) -> Iterator[Violation]:
    least, most = counts
    if not least <= len(present) <= (len(present) if most is None else most):
        yield Violation(f"the node has {plural(len(present), what)}, the operator {verb} {_range(least, most)}")


def _bounds(formals: Sequence[Formal]) -> tuple[int, int | None]:
    """The smallest and largest number of arguments; rules of the operator limit variadic ones further."""
    least = max([i + 1 for i, formal in enumerate(formals) if not (formal.optional or formal.variadic)], default=0)
    return least, None if any(formal.variadic for formal in formals) else len(formals)


def _range(least: int, most: int | None) -> str:
    if most is None:
        return f"{least} or more"
    return str(least) if least == most else f"{least} to {most}"


def _is_text(item: str) -> bool:
    """Whether a string was UTF-8 in the file; the reader makes lone surrogates of other bytes."""
    return not any("\ud800" <= sign <= "\udfff" for sign in item)


_FIELD = {
    "float": "f", "int": "i", "string": "s", "tensor": "t", "graph": "g", "sparse_tensor": "sparse_tensor",
    "type_proto": "tp", "floats": "floats", "ints": "ints", "strings": "strings", "tensors": "tensors",
    "graphs": "graphs", "sparse_tensors": "sparse_tensors", "type_protos": "type_protos",
}  # fmt: skip
"""The protobuf field that holds a value of each kind (ONNX IR, AttributeProto)."""


def _holds_its_kind(attribute: Attribute) -> bool:
    """Whether the value is in the field of the kind, and only there; an empty list has no field."""
    field = _FIELD.get(attribute.kind)
    return attribute.fields == (field,) or (attribute.fields == () and field == attribute.kind)
