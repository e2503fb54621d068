"""The proof of one call whose facts may contain symbols: its rules for all their values, and its outputs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import isfinite
from typing import Any

from msgspec import structs

from sonnx.base.budget import is_over
from sonnx.checker.facts_domain import FactsDomain
from sonnx.checker.rules import ActiveRules
from sonnx.graph.call import Call
from sonnx.graph.derived_values import with_derived_values
from sonnx.graph.environment import NO_SHAPE, NOTHING_STATED, StoredValue, environment
from sonnx.graph.interpreter import Transferred
from sonnx.graph.transfer import complete_types, demands, output_facts
from sonnx.language.domain import written_key
from sonnx.language.evaluator import TensorFacts, Unknown, UnknownCause
from sonnx.model.ir import Attribute
from sonnx.profile.definitions import Editions, Output, Rule
from sonnx.profile.signature import Signature
from sonnx.prover.smt_functions import FactNotStated
from sonnx.prover.smt_interpretation import SmtCondition, SmtInterpretation
from sonnx.prover.smt_lists import list_of
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
    negate,
    real_constant,
    same,
    variable,
)
from sonnx.prover.symbols import Symbols
from sonnx.prover.terms import constants_in, names_in

UNSTATED_PREFIX = "u"
"""Prefix of the variables of dimensions that the model does not state; those of symbols begin with d."""
NOT_COMPUTED = Unknown(UnknownCause.NOT_STATED, "its input comes from a node whose rules do not hold for all values")
"""The shape of an output that is not declared and, for some values of the symbols, not defined."""
NO_ANSWER = "the solver finds neither a proof nor a counterexample"
NO_TIME = "the time was over before the solver was asked (--timeout)"


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
    matters: tuple[str, ...] = ()
    """The symbols whose values alone make the rule fail."""
    question: Truth = False
    """What cannot hold if the rule is proved, and holds for the counterexample if it is refuted; a bool if it folds."""


@dataclass(frozen=True, slots=True, eq=False)
class CallProofs:
    """The proofs of the rules about one call; `signature` is None where the edition has no rules for it.

    `waiting` are the rules that were not attempted, because a rule they rely on is not proved.
    """

    signature: Signature | None
    proofs: tuple[RuleProof, ...] = ()
    waiting: tuple[Rule, ...] = ()


class SymbolicDomain(FactsDomain):
    """Facts whose dimensions may be symbols: a call gives the proofs of its rules for all values of the symbols."""

    def __init__(self, rules: ActiveRules, symbols: Symbols) -> None:
        super().__init__(rules)
        self.symbols = symbols

    def call(  # type: ignore[override]  # another result than the check's
        self, call: Call, inputs: Sequence[TensorFacts | None], outputs: Sequence[TensorFacts | None]
    ) -> Transferred[TensorFacts, CallProofs]:
        """The proofs about a call, and the facts of its outputs after it."""
        if call.signature is None or call.in_function:
            return Transferred(outputs, CallProofs(None))
        proofs, after = CallProof(call.signature, self.symbols, self.rules.editions).prove(
            call.attributes, inputs, outputs
        )
        return Transferred(after, proofs)


class CallProof:
    """Interprets the rules and shapes of one call, and proves them."""

    def __init__(self, signature: Signature, symbols: Symbols, editions: Editions) -> None:
        self.signature, self.symbols, self.editions = signature, symbols, editions
        self.interpretation = SmtInterpretation()
        self.unstated: list[SymbolicNumber] = []

    def prove(
        self,
        attributes: Sequence[Attribute],
        inputs: Sequence[TensorFacts | None],
        outputs: Sequence[TensorFacts | None],
    ) -> tuple[CallProofs, list[TensorFacts]]:
        """The proofs of the rules, and the facts of the outputs after the call."""
        declared = [NOTHING_STATED if facts is None else facts for facts in outputs]
        if is_over():
            asked = [(rule, demand) for rule, demand in demands(self.signature, self.editions) if demand is not None]
            late = [RuleProof(rule, "open", demand.text, reason=NO_TIME) for rule, demand in asked]
            return CallProofs(self.signature, tuple(late)), declared
        stated = environment(self.signature, attributes, inputs, outputs)
        complete_types(self.signature, stated)
        names = self._names(stated)
        shapes = self._shapes(names)
        for output in self.signature.outputs:
            if not output.variadic:
                names[output.name] = self._output(output, names, stated[output.name], shapes.get(output.name))
        proofs, not_proved = self._rules(names)
        after = output_facts(
            self.signature,
            stated,
            declared,
            not_proved,
            lambda output: self._computed(output, shapes[output.name]),
            is_open=lambda dimension: isinstance(dimension, Unknown) and not dimension.symbol,
            not_computed=NOT_COMPUTED,
        )
        return proofs, after if not_proved else with_derived_values(self.signature, stated, after)

    # Facts as values

    def _names(self, stated: Mapping[str, Any]) -> dict[str, Value]:
        """The environment of the rules: terms for symbols, all else as the checker has it."""
        signature = self.signature
        names: dict[str, Value] = {
            name: self._as_value(value) for name, value in stated.items() if name not in signature.define
        }
        for parameter in signature.parameters:
            absent = signature.absent[parameter.name]
            if stated[written_key(parameter.name)] is False and absent is not None:
                names[parameter.name] = self.interpretation.partial(absent, names, f"{parameter.name} has no value")
        for name, expression in signature.define.items():
            names[name] = self.interpretation.partial(expression, names, f"{name} is not defined")
        return names

    def _as_value(self, value: Any) -> Value:
        if isinstance(value, TensorFacts):
            elements = value.values.read() if isinstance(value.values, StoredValue) else value.values
            return RecordValue({
                "type": value.type, "shape": self._shape(value.shape), "kind": value.kind,
                "holds_sparse": value.holds_sparse, "values": self._as_value(elements),
            })  # fmt: skip
        if isinstance(value, Unknown) and value.symbol:
            return self.symbols.number(value.symbol)
        if isinstance(value, tuple):
            unknown = next((each for each in value if isinstance(each, Unknown) and not each.symbol), None)
            return list_of([self._as_value(each) for each in value]) if unknown is None else unknown
        if isinstance(value, float):
            return (
                real_constant(value)
                if isfinite(value)
                else Unknown(UnknownCause.NOT_STATED, f"{value} is not a real number")
            )
        return value

    def _shape(self, shape: tuple[int | Unknown, ...] | Unknown) -> Value:
        if isinstance(shape, Unknown):
            return shape
        return list_of([self._extent(extent) for extent in shape])

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
            fields["shape"] = list_of(
                [
                    computed if isinstance(declared, Unknown) and not declared.symbol else value
                    for (_, value), declared, (_, computed) in pairs
                ]
            )
        return RecordValue(fields)

    # Rules

    def _rules(self, names: Mapping[str, Value]) -> tuple[CallProofs, set[str]]:
        """The proofs of the rules in order, and the names of those not proved or not attempted for that reason."""
        not_proved, rule_proofs, waiting = set[str](), list[RuleProof](), list[Rule]()
        for rule, demand in demands(self.signature, self.editions):
            if demand is None:
                continue
            if not_proved & set(rule.relies):
                not_proved.add(rule.name)
                waiting.append(rule)
                continue
            if is_over():
                not_proved.add(rule.name)
                rule_proofs.append(RuleProof(rule, "open", demand.text, reason=NO_TIME))
                continue
            try:
                condition = self.interpretation.condition(demand, names, rule.when)
                proof = self._rule(rule, demand.text, condition)
            except FactNotStated as unknown:
                proof = RuleProof(rule, "open", demand.text, reason=str(unknown))
            if proof.verdict != "proved":
                not_proved.add(rule.name)
            rule_proofs.append(proof)
        return CallProofs(self.signature, tuple(rule_proofs), tuple(waiting)), not_proved

    def _rule(self, rule: Rule, demand: str, condition: SmtCondition) -> RuleProof:
        assumed = all_of([bool_term(number.term >= 0) for number in self.unstated]) if self.unstated else True
        if self.interpretation.bounds and not self.symbols.always(implies(assumed, all_of(self.interpretation.bounds))):
            return RuleProof(rule, "open", demand, reason="a loop has more iterations than the proof unrolls")
        holds = implies(assumed, condition.holds)
        if self.symbols.always(holds):
            return RuleProof(rule, "proved", demand, question=negate(holds))
        fails = all_of([assumed, condition.fails])
        numbers = self.symbols.smallest_values(fails)
        if numbers is None:
            return RuleProof(rule, "open", demand, reason=NO_TIME if is_over() else NO_ANSWER)
        if self.unstated and not isinstance(condition.holds, bool):
            unstated = {str(number.term) for number in self.unstated}
            if unstated & names_in(condition.holds):
                return RuleProof(rule, "open", demand, reason="it depends on a dimension the model does not state")
        matters = self.symbols.that_matter(fails, numbers)
        return RuleProof(
            rule, "refuted", demand, numbers, condition.holds, condition.fails, matters=matters, question=fails
        )

    # Outputs

    def _computed(self, output: Output, computed: Value) -> Any:
        """The shape computed for all values of the symbols, of a repeated output each; unknown if there is none."""
        if isinstance(computed, PartialValue):
            if not self.symbols.always(computed.defined):
                return NO_SHAPE
            computed = computed.value
        if not isinstance(computed, SymbolicList) or not _fixed(computed):
            return NO_SHAPE
        if output.variadic:
            return tuple(
                [self._computed(structs.replace(output, variadic=False), shape) for _, shape in computed.items]
            )
        return tuple([self._named(value) for _, value in computed.items])

    def _named(self, extent: int | SymbolicNumber) -> int | Unknown:
        """A computed extent as a fact: a number, a symbol it equals, or a new name for the term."""
        if isinstance(extent, int):
            return extent
        involved = names_in(extent.term)
        if any(name.startswith(UNSTATED_PREFIX) for name in involved):
            return Unknown(UnknownCause.NOT_STATED, "it depends on a dimension the model does not state")
        dimensions = self.symbols.known
        name = next((name for name, number in dimensions.items() if same(number, extent)), "")
        if not name:
            for constant in sorted(constants_in(extent.term)):
                if self.symbols.always(extent.term == constant):
                    return constant
            over_same = [name for name, number in dimensions.items() if names_in(number.term) <= involved]
            name = next((name for name in over_same if self.symbols.always(extent.term == dimensions[name].term)), "")
        if not name:
            name = self.symbols.name_dimension(extent)
        return Unknown(UnknownCause.NOT_STATED, f"the dimension is {name!r}", name)


def _fixed(listed: SymbolicList) -> bool:
    """Whether the rank does not depend on symbols."""
    return all(present is True for present, _ in listed.items)
