"""The proof of one call whose facts may contain symbols: its rules for all their values, and its outputs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import isfinite
from typing import Any

from sonnx.checker.environment import Stored, environment
from sonnx.language.domain import written_key
from sonnx.language.evaluator import Cause, Unknown
from sonnx.language.evaluator import TensorFacts as Facts
from sonnx.model.ir import Attribute
from sonnx.profile.catalogue import editions
from sonnx.profile.definitions import Output, Rule
from sonnx.profile.signature import Signature, demanded
from sonnx.prover.smt_functions import FactNotStated
from sonnx.prover.smt_interpretation import SmtCondition, SmtInterpretation
from sonnx.prover.smt_lists import listing
from sonnx.prover.smt_values import (
    PartialValue,
    RecordValue,
    SymbolicList,
    SymbolicNumber,
    Truth,
    Value,
    all_of,
    bool_term,
    implies,
    real,
    same,
    variable,
)
from sonnx.prover.symbols import Symbols
from sonnx.prover.terms import constants_in, names_in

UNSTATED_PREFIX = "u"
"""Prefix of the variables of dimensions that the model does not state; those of symbols begin with d."""
NOT_COMPUTED = Unknown(Cause.NOT_STATED, "its input comes from a node whose rules do not hold for all values")
"""The shape of an output that is not declared and, for some values of the symbols, not defined."""


@dataclass(frozen=True, slots=True)
class RuleProof:
    """One rule for one call: "proved", "refuted" with a small counterexample, or "open" with the reason."""

    rule: Rule
    verdict: str
    demand: str = ""
    counterexample: Mapping[str, int] = field(default_factory=dict)
    holds: Truth = True
    fails: Truth = False
    reason: str = ""


class CallProof:
    """Interprets the rules and shapes of one call, and proves them."""

    def __init__(self, signature: Signature, symbols: Symbols, edition: str) -> None:
        self.signature, self.symbols, self.edition = signature, symbols, edition
        self.interpretation = SmtInterpretation()
        self.unstated: list[SymbolicNumber] = []

    def prove(
        self, attributes: Sequence[Attribute], inputs: Sequence[Facts | None], outputs: Sequence[Facts | None]
    ) -> tuple[tuple[RuleProof, ...], list[Facts | None]]:
        """The proofs of the rules, and the facts of the outputs after the call."""
        stated = environment(self.signature, attributes, inputs, outputs)
        names = self._names(stated)
        shapes = self._shapes(names)
        for output in self.signature.outputs:
            names[output.name] = self._output(output, names, stated[output.name], shapes.get(output.name))
        proofs, not_proved = self._rules(names)
        return proofs, self._computed(outputs, names, shapes, not_proved)

    # Facts as values

    def _names(self, stated: Mapping[str, Any]) -> dict[str, Value]:
        """The environment of the rules: terms for symbols, all else as the checker has it."""
        signature = self.signature
        names: dict[str, Value] = {
            name: self._value(value) for name, value in stated.items() if name not in signature.define
        }
        for parameter in signature.parameters:
            absent = signature.absent[parameter.name]
            if stated[written_key(parameter.name)] is False and absent is not None:
                names[parameter.name] = self.interpretation.partial(absent, names, f"{parameter.name} has no value")
        for name, expression in signature.define.items():
            names[name] = self.interpretation.partial(expression, names, f"{name} is not defined")
        return names

    def _value(self, value: Any) -> Value:
        if isinstance(value, Facts):
            return RecordValue({
                "type": value.type, "shape": self._shape(value.shape), "kind": value.kind,
                "holds_sparse": value.holds_sparse,
                "values": self._value(value.values.read() if isinstance(value.values, Stored) else value.values),
            })  # fmt: skip
        if isinstance(value, Unknown) and value.symbol:
            return self.symbols.number(value.symbol)
        if isinstance(value, tuple):
            unknown = next((each for each in value if isinstance(each, Unknown) and not each.symbol), None)
            return listing([self._value(each) for each in value]) if unknown is None else unknown
        if isinstance(value, float):
            return real(value) if isfinite(value) else Unknown(Cause.NOT_STATED, f"{value} is not a real number")
        return value

    def _shape(self, shape: tuple[int | Unknown, ...] | Unknown) -> Value:
        if isinstance(shape, Unknown):
            return shape
        return listing([self._extent(each) for each in shape])

    def _extent(self, extent: int | Unknown) -> int | SymbolicNumber:
        if isinstance(extent, int):
            return extent
        if extent.symbol:
            return self.symbols.number(extent.symbol)
        number = variable(f"{UNSTATED_PREFIX}{len(self.unstated)}", 0)
        self.unstated.append(number)
        return number

    def _shapes(self, names: Mapping[str, Value]) -> dict[str, Value]:
        return {
            name: self.interpretation.partial(shape, names, f"the shape of {name} is not defined")
            for name, shape in self.signature.shapes.items()
        }

    def _output(self, output: Output, names: Mapping[str, Value], stated: Any, shape: Value) -> Value:
        """An output as declared; its parts that are not declared are those the operator computes."""
        fields = dict(names[output.name].fields)
        inner = shape.value if isinstance(shape, PartialValue) else shape
        fixed = isinstance(inner, SymbolicList) and not isinstance(stated.shape, Unknown) and _fixed(inner)
        if fixed and len(inner.items) == len(stated.shape):
            pairs = zip(fields["shape"].items, stated.shape, inner.items, strict=True)
            fields["shape"] = listing(
                [
                    computed if isinstance(declared, Unknown) and not declared.symbol else value
                    for (_, value), declared, (_, computed) in pairs
                ]
            )
        if isinstance(fields["type"], Unknown):
            fields["type"] = self._element(output, names, fields["type"])
        return RecordValue(fields)

    def _element(self, output: Output, names: Mapping[str, Value], unknown: Unknown) -> str | Unknown:
        """The element type the operator gives an output without a declared one."""
        if output.type not in self.signature.groups:
            return output.type
        for letter in self.signature.groups[output.type]:
            value = names[letter]
            for record in [item for _, item in value.items] if isinstance(value, SymbolicList) else [value]:
                if isinstance(record.fields["type"], str):
                    return str(record.fields["type"])
        return unknown

    # Rules

    def _rules(self, names: Mapping[str, Value]) -> tuple[tuple[RuleProof, ...], set[str]]:
        """The proofs of the rules in order, and the names of those not proved or not attempted for that reason."""
        not_proved: set[str] = set()
        found: list[RuleProof] = []
        for rule in self.signature.rules:
            demand = demanded(rule, self.signature.text, editions())
            if demand is None:
                continue
            if not_proved & set(rule.relies):
                not_proved.add(rule.name)
                continue
            try:
                condition = self.interpretation.condition(demand, names, rule.when)
                proof = self._rule(rule, demand.text, condition)
            except FactNotStated as unknown:
                proof = RuleProof(rule, "open", demand.text, reason=str(unknown))
            if proof.verdict != "proved":
                not_proved.add(rule.name)
            found.append(proof)
        return tuple(found), not_proved

    def _rule(self, rule: Rule, demand: str, condition: SmtCondition) -> RuleProof:
        assumed = all_of([bool_term(number.term >= 0) for number in self.unstated]) if self.unstated else True
        if self.interpretation.bounds and not self.symbols.always(implies(assumed, all_of(self.interpretation.bounds))):
            return RuleProof(rule, "open", demand, reason="a loop has more iterations than the proof unrolls")
        holds = implies(assumed, condition.holds)
        if self.symbols.always(holds):
            return RuleProof(rule, "proved", demand)
        numbers = self.symbols.smallest_values(all_of([assumed, condition.fails]))
        if numbers is None:
            return RuleProof(rule, "open", demand, reason="the solver finds neither a proof nor a counterexample")
        if self.unstated and not isinstance(condition.holds, bool):
            known = {str(number.term) for number in self.unstated}
            if known & names_in(condition.holds):
                return RuleProof(rule, "open", demand, reason="it depends on a dimension the model does not state")
        return RuleProof(rule, "refuted", demand, numbers, condition.holds, condition.fails)

    # Outputs

    def _computed(
        self,
        declared: Sequence[Facts | None],
        names: Mapping[str, Value],
        shapes: Mapping[str, Value],
        not_proved: set[str],
    ) -> list[Facts | None]:
        result = list(declared)
        for index, output in enumerate(self.signature.outputs[: len(declared)]):
            facts = declared[index]
            if facts is None:
                continue
            shape = facts.shape
            if output.name in shapes and not_proved.isdisjoint(output.relies):
                shape = self._filled(shape, shapes[output.name])
            elif isinstance(shape, Unknown):
                shape = NOT_COMPUTED
            element = names[output.name].fields["type"]
            result[index] = facts._replace(shape=shape, type=element)
        return result

    def _filled(self, stated: Any, computed: Value) -> Any:
        """A declared shape; dimensions it does not state are those computed for all values."""
        if isinstance(computed, PartialValue):
            if not self.symbols.always(computed.defined):
                return stated
            computed = computed.value
        if not isinstance(computed, SymbolicList) or not _fixed(computed):
            return stated
        extents = tuple(self._named(value) for _, value in computed.items)
        if isinstance(stated, Unknown):
            return extents
        if len(stated) != len(extents):
            return stated
        pairs = zip(stated, extents, strict=True)
        return tuple(new if isinstance(old, Unknown) and not old.symbol else old for old, new in pairs)

    def _named(self, extent: int | SymbolicNumber) -> int | Unknown:
        """A computed extent as a fact: a number, a symbol it equals, or a new name for the term."""
        if isinstance(extent, int):
            return extent
        involved = names_in(extent.term)
        if any(name.startswith(UNSTATED_PREFIX) for name in involved):
            return Unknown(Cause.NOT_STATED, "it depends on a dimension the model does not state")
        known = self.symbols.known
        name = next((name for name, number in known.items() if same(number, extent)), "")
        if not name:
            for constant in sorted(constants_in(extent.term)):
                if self.symbols.always(extent.term == constant):
                    return constant
            over_same = [name for name, number in known.items() if names_in(number.term) <= involved]
            name = next((name for name in over_same if self.symbols.always(extent.term == known[name].term)), "")
        if not name:
            name = self.symbols.name_dimension(extent)
        return Unknown(Cause.NOT_STATED, f"the dimension is {name!r}", name)


def _fixed(known: SymbolicList) -> bool:
    """Whether the rank does not depend on symbols."""
    return all(present is True for present, _ in known.items)
