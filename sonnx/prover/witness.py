"""Witnesses: calls that break exactly one rule, or none, found by z3 and judged by the checker.

A solution for the variables of `CallVariables` becomes a `CallInstance`: the facts of one call, and a model of one
node.
"""

from __future__ import annotations

import struct
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from math import ceil, inf, prod
from typing import Any

from sonnx.checker.report import Report
from sonnx.checker.request import CheckRequest, check_model, open_model
from sonnx.checker.verdicts import Verdict
from sonnx.graph.environment import environment
from sonnx.language.domain import constant_key, given_key, input_key, written_key
from sonnx.language.evaluator import RUN_TIME, TensorFacts
from sonnx.model.from_protobuf import VALUE_FIELD
from sonnx.model.ir import WIDTH, Attribute, Graph, Import, Model, Node, Tensor, Type, ValueInfo
from sonnx.model.writer import write
from sonnx.profile.definitions import Input, Output, Parameter, Rule
from sonnx.profile.signature import Signature
from sonnx.prover.call_variables import READABLE, inputs_asked_constant, inputs_with_values
from sonnx.prover.smt_functions import ELEMENT_TYPES
from sonnx.prover.smt_values import INFINITY
from sonnx.prover.theorem import Counterexample, ReplayFailed

IR_VERSION = 10
_CODES = {
    "float": "f", "double": "d", "float16": "e", "int8": "b", "int16": "h", "int32": "i", "int64": "q",
    "uint8": "B", "uint16": "H", "uint32": "I", "uint64": "Q",
}  # fmt: skip


@dataclass(frozen=True)
class CallInstance:
    """The facts of one call of an operator; None stands for an input or output that is left out."""

    signature: Signature
    inputs: tuple[TensorFacts | None, ...]
    outputs: tuple[TensorFacts | None, ...]
    attributes: tuple[Attribute, ...]

    def names(self) -> dict[str, Any]:
        """The environment of the rules, as in a check."""
        return environment(self.signature, self.attributes, self.inputs, self.outputs)

    def model(self) -> Model:
        """A model of this node, in which everything else conforms: every shape and type is declared."""
        names = tuple(f"x{index}" if operand is not None else "" for index, operand in enumerate(self.inputs))
        results = tuple(f"y{index}" if output is not None else "" for index, output in enumerate(self.outputs))
        connected = [(name, operand) for name, operand in zip(names, self.inputs, strict=True) if operand is not None]
        node = Node("node", self.signature.operator, "", "", _trimmed(names), _trimmed(results), self.attributes)
        produced = [(name, output) for name, output in zip(results, self.outputs, strict=True) if output is not None]
        graph = Graph(
            name="witness",
            inputs=tuple(
                ValueInfo(name, _type(tensor)) for name, tensor in connected if not isinstance(tensor.values, tuple)
            ),
            outputs=tuple(ValueInfo(name, _type(tensor)) for name, tensor in produced),
            value_info=(),
            initializers=tuple(
                _constant(name, tensor) for name, tensor in connected if isinstance(tensor.values, tuple)
            ),
            sparse_initializers=(),
            nodes=(node,),
        )
        return Model(IR_VERSION, (Import("", self.signature.version),), graph)


def _trimmed(names: Sequence[str]) -> tuple[str, ...]:
    """The names without the empty ones at the end."""
    end = max([index + 1 for index, name in enumerate(names) if name], default=0)
    return tuple(names[:end])


def _type(facts: TensorFacts) -> Type:
    return Type("tensor", str(facts.type), _extents(facts))


def _extents(facts: TensorFacts) -> tuple[int, ...]:
    """The shape, which is known for every tensor of an instance."""
    assert isinstance(facts.shape, tuple)  # noqa: S101  see `_Reader.tensor`
    return tuple(extent for extent in facts.shape if isinstance(extent, int))


def _constant(name: str, facts: TensorFacts) -> Tensor:
    element, values = str(facts.type), facts.values
    assert isinstance(values, tuple)  # noqa: S101  the caller's condition
    if not any(values):
        return _zeros(name, facts)
    data = struct.pack(f"<{len(values)}{_CODES[element]}", *values)
    return Tensor(name, element, _extents(facts), ("raw_data",), memoryview(data))


def _zeros(name: str, facts: TensorFacts) -> Tensor:
    """A constant of zeros, or of empty strings."""
    element, size = str(facts.type), prod(_extents(facts))
    if element == "string":
        return Tensor(name, element, _extents(facts), ("string_data",), strings=(b"",) * size)
    data = bytes(ceil(size * WIDTH[element]))
    return Tensor(name, element, _extents(facts), ("raw_data",), memoryview(data))


class _Reader:
    """The parts of an instance from the values of its variables; a variable without a value is 0."""

    def __init__(self, signature: Signature, codes: Mapping[str, int], values: Mapping[str, int]) -> None:
        self.signature, self.values = signature, values
        self.texts = {code: text for text, code in codes.items()}

    def number(self, name: str) -> int:
        return self.values.get(name, 0)

    def listed(self, name: str, length: int) -> tuple[int, ...]:
        return tuple(self.number(f"{name}.{index}") for index in range(length))

    def tensor(self, name: str) -> TensorFacts:
        shape = self.listed(name, self.number(f"{name}.rank"))
        return TensorFacts(ELEMENT_TYPES[self.number(f"{name}.type")], shape, RUN_TIME)

    def constant(self, parameter: Parameter) -> TensorFacts:
        facts = self.tensor(input_key(parameter.name))
        return facts._replace(values=self.listed(parameter.name, self.number(f"{parameter.name}.length")))

    def formal(self, formal: Input | Output) -> list[TensorFacts | None]:
        if isinstance(formal, Input) and formal.variadic:
            return [self.tensor(f"{formal.name}[{i}]") for i in range(self.number(f"{formal.name}.count"))]
        if formal.optional and not self.number(given_key(formal.name)):
            return [None]
        for parameter in self.signature.values:
            if parameter.name == formal.name:
                return [self.constant(parameter)]
        facts = self.tensor(formal.name)
        if formal.name in inputs_with_values(self.signature) and self.may_be_constant(formal.name):
            return [self.filled(facts, self.number(f"{formal.name}.value"))]
        if self.number(constant_key(formal.name)):  # of any type: zeros need no code
            return [facts._replace(values=(0,) * prod(_extents(facts)))]
        return [facts]

    def may_be_constant(self, name: str) -> bool:
        """Whether the variables allow a value to be a constant."""
        return name not in inputs_asked_constant(self.signature) or bool(self.number(constant_key(name)))

    def filled(self, facts: TensorFacts, element: int) -> TensorFacts:
        """A tensor of one repeated value, a constant where a check reads values of its type."""
        if facts.type not in READABLE:
            return facts
        value = element if abs(element) < INFINITY else inf if element > 0 else -inf
        return facts._replace(values=(value,) * prod(_extents(facts)))

    def attribute(self, parameter: Parameter) -> Attribute:
        name, type_ = parameter.name, parameter.kind
        field = VALUE_FIELD.get(type_, type_)
        if type_.endswith("s"):
            parts = [self.item(f"{name}.{index}", type_[:-1]) for index in range(self.number(f"{name}.length"))]
            return Attribute(name, type_, tuple(parts), fields=(field,) if parts else ())
        return Attribute(name, type_, self.item(name, type_), fields=(field,))

    def item(self, name: str, type_: str) -> int | float | str | Tensor:
        number = self.number(name)
        match type_:
            case "int":
                return number
            case "float":
                return float(number)
            case "string":
                code = self.number(f"{name}.text")
                return self.texts.get(code, f"text {code}")
        return _zeros(name, self.tensor(name))


def instance(signature: Signature, codes: Mapping[str, int], values: Mapping[str, int]) -> CallInstance:
    """The call that values of `CallVariables` describe; `codes` are the codes of strings of its interpretation."""
    reader = _Reader(signature, codes, values)
    return CallInstance(
        signature=signature,
        inputs=tuple(operand for formal in signature.inputs for operand in reader.formal(formal)),
        outputs=tuple(operand for formal in signature.outputs for operand in reader.formal(formal)),
        attributes=tuple(
            reader.attribute(attribute)
            for attribute in signature.attributes
            if reader.number(written_key(attribute.name))
        ),
    )


# Confirmation by the checker


def dependents(signature: Signature, name: str) -> frozenset[str]:
    """The names of the rules that rely on a rule, also through others."""
    names = {name}
    while more := {rule.name for rule in signature.rules if names & set(rule.relies)} - names:
        names |= more
    return frozenset(names - {name})


def judge(
    signature: Signature, codes: Mapping[str, int], values: Counterexample, edition: str
) -> tuple[CallInstance, Report]:
    """The call, and the report of a check of its model."""
    call = instance(signature, codes, values)
    model, _ = open_model(write(call.model()), hashed=False)
    return call, check_model(model, "", CheckRequest(edition), "model")


def confirm_conforming(signature: Signature, codes: Mapping[str, int], values: Counterexample, edition: str) -> str:
    """Confirms that a check of the call finds nothing.

    Raises:
        ReplayFailed: it finds something.
    """
    call, report = judge(signature, codes, values, edition)
    if report.verdict is not Verdict.PASS:
        raise ReplayFailed(f"{call_text(call)} should conform in {edition}: {_findings(report)}")
    return f"{call_text(call)} conforms"


def confirm_broken(
    signature: Signature,
    rule: Rule,
    codes: Mapping[str, int],
    values: Counterexample,
    edition: str,
    following: Collection[str] = (),
) -> str:
    """Confirms that a check reports the rule for the call, and besides it only rules that rely on it or follow from it.

    Assumptions about values known at run time only do not count: the run decides them.

    Raises:
        ReplayFailed: the check reports something else.
    """
    call, report = judge(signature, codes, values, edition)
    failing = {finding.rule for finding in report.findings if finding.verdict is Verdict.FAIL}
    not_failing = {
        finding.rule for finding in report.findings if finding.verdict not in (Verdict.FAIL, Verdict.ASSUMED)
    }
    relying = {
        f"{signature.operator}.{name}" for broken in (rule.name, *following) for name in dependents(signature, broken)
    }
    also = {f"{signature.operator}.{name}" for name in following} & failing
    if failing != {rule.slug} | also or not_failing != relying & not_failing:
        raise ReplayFailed(f"{call_text(call)} should break {rule.slug} only in {edition}: {_findings(report)}")
    reason = next(finding.actual for finding in report.findings if finding.rule == rule.slug)
    with_them = f"with {', '.join(sorted(also))}" if also else "only"
    return f"{call_text(call)} breaks {rule.slug} {with_them}: {reason}"


def _findings(report: Report) -> str:
    listed = [f"{finding.rule} {finding.verdict}: {finding.actual}" for finding in report.findings]
    return "; ".join(listed) or f"the verdict of the check is {report.verdict}, without a finding"


def call_text(call: CallInstance) -> str:
    """A call in one line: `Max-13(float [2, 3], float [2]) -> float [2, 3]`."""
    parts = [_tensor(operand) for operand in call.inputs]
    parts += [f"{attribute.name}={_plain(attribute.value)}" for attribute in call.attributes]
    results = ", ".join(_tensor(output) for output in call.outputs)
    return f"{call.signature.operator}-{call.signature.version}({', '.join(parts)}) -> {results}"


def _plain(value: object) -> object:
    if isinstance(value, Tensor):
        return f"{value.element} {list(value.dims)}"
    return list(value) if isinstance(value, tuple) else value


def _tensor(facts: TensorFacts | None) -> str:
    if facts is None:
        return "none"
    constant = f" = {list(facts.values)}" if isinstance(facts.values, tuple) else ""
    return f"{facts.type} {list(_extents(facts))}{constant}"
