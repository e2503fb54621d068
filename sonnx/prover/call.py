"""One call of an operator whose facts may hold symbols: its rules for all their values, and its outputs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import isfinite
from typing import Any

from sonnx.graph.environment import environment
from sonnx.language.evaluator import Cause, Unknown
from sonnx.language.evaluator import TensorFacts as Facts
from sonnx.model.ir import Attribute
from sonnx.profile.catalogue import editions
from sonnx.profile.definitions import Output, Rule
from sonnx.profile.signature import Signature, demanded
from sonnx.prover.encoding import Condition, Encoding
from sonnx.prover.encoding_functions import NotStated
from sonnx.prover.smt_lists import constants_in, listing, names_in
from sonnx.prover.smt_truth import Truth, both, formula, implies
from sonnx.prover.smt_values import Listing, Number, Partial, Record, Value, real, same, variable
from sonnx.prover.symbols import Symbols

UNNAMED = "u"
"""What the variable of a dimension begins with that the model does not state; those of symbols begin with d."""
WAITING = Unknown(Cause.NOT_STATED, "its input comes from a node whose rules do not hold for all values")
"""The shape of an output that is not declared and, for some values, not defined."""


@dataclass(frozen=True, slots=True)
class Answered:
    """One rule for one call: "proved", "refuted" with the smallest values, or "open" with the reason."""

    rule: Rule
    verdict: str
    text: str = ""
    numbers: Mapping[str, int] = field(default_factory=dict)
    holds: Truth = True
    fails: Truth = False
    reason: str = ""


class CallProof:
    """The reading of one call."""

    def __init__(self, made: Signature, symbols: Symbols, edition: str) -> None:
        self.made, self.symbols, self.edition = made, symbols, edition
        self.reading = Encoding()
        self.unnamed: list[Number] = []

    def ask(
        self, attributes: Sequence[Attribute], inputs: Sequence[Facts | None], outputs: Sequence[Facts | None]
    ) -> tuple[tuple[Answered, ...], list[Facts | None]]:
        """What is said of each rule, and the facts of the outputs after the call."""
        stated = environment(self.made, attributes, inputs, outputs)
        names = self._names(stated)
        shapes = self._shapes(names)
        for output in self.made.outputs:
            names[output.name] = self._output(output, names, stated[output.name], shapes.get(output.name))
        answers, closed = self._answers(names)
        return answers, self._computed(outputs, names, shapes, closed)

    # Facts as values

    def _names(self, stated: Mapping[str, Any]) -> dict[str, Value]:
        """What the rules read; what depends on symbols is read by Z3, the rest as the checker reads it."""
        made = self.made
        names: dict[str, Value] = {
            name: self._value(value) for name, value in stated.items() if name not in made.define
        }
        for parameter in made.parameters:
            absent = made.absent[parameter.name]
            if stated[f"written({parameter.name})"] is False and absent is not None:
                names[parameter.name] = self.reading.partial(absent, names, f"{parameter.name} has no value")
        for name, expression in made.define.items():
            names[name] = self.reading.partial(expression, names, f"{name} is not defined")
        return names

    def _value(self, value: Any) -> Value:
        if isinstance(value, Facts):
            return Record({
                "type": value.type, "shape": self._shape(value.shape), "kind": value.kind,
                "holds_sparse": value.holds_sparse,
                "values": self._value(value.values.read() if hasattr(value.values, "read") else value.values),
            })  # fmt: skip
        if isinstance(value, Unknown) and value.symbol:
            return self.symbols.number(value.symbol)
        if isinstance(value, tuple):
            unknown = next((each for each in value if isinstance(each, Unknown) and not each.symbol), None)
            return listing([self._value(each) for each in value]) if unknown is None else unknown
        if isinstance(value, float):
            return real(value) if isfinite(value) else Unknown(Cause.NOT_STATED, f"{value} is no real number")
        return value

    def _shape(self, shape: Any) -> Value:
        if isinstance(shape, Unknown):
            return shape
        return listing([self._extent(each) for each in shape])

    def _extent(self, extent: Any) -> int | Number:
        if isinstance(extent, int):
            return extent
        if extent.symbol:
            return self.symbols.number(extent.symbol)
        number = variable(f"{UNNAMED}{len(self.unnamed)}", 0)
        self.unnamed.append(number)
        return number

    def _shapes(self, names: Mapping[str, Value]) -> dict[str, Value]:
        return {
            name: self.reading.partial(shape, names, f"the shape of {name} is not defined")
            for name, shape in self.made.shapes.items()
        }

    def _output(self, output: Output, names: Mapping[str, Value], stated: Any, shape: Value) -> Value:
        """An output as declared; what is not declared of it is what the operator computes."""
        fields = dict(names[output.name].fields)
        inner = shape.value if isinstance(shape, Partial) else shape
        fixed = isinstance(inner, Listing) and not isinstance(stated.shape, Unknown) and _fixed(inner)
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
        return Record(fields)

    def _element(self, output: Output, names: Mapping[str, Value], unknown: Unknown) -> str | Unknown:
        """The element type the operator gives an output that declares none."""
        if output.type not in self.made.groups:
            return output.type
        for letter in self.made.groups[output.type]:
            value = names[letter]
            for record in [item for _, item in value.items] if isinstance(value, Listing) else [value]:
                if isinstance(record.fields["type"], str):
                    return str(record.fields["type"])
        return unknown

    # Rules

    def _answers(self, names: Mapping[str, Value]) -> tuple[tuple[Answered, ...], set[str]]:
        closed: set[str] = set()
        found: list[Answered] = []
        for rule in self.made.rules:
            demand = demanded(rule, self.made.text, editions())
            if demand is None:
                continue
            if closed & set(rule.relies):
                closed.add(rule.name)
                continue
            try:
                condition = self.reading.condition(demand, names, rule.when)
                answered = self._answer(rule, demand.text, condition)
            except NotStated as unknown:
                answered = Answered(rule, "open", demand.text, reason=str(unknown))
            if answered.verdict != "proved":
                closed.add(rule.name)
            found.append(answered)
        return tuple(found), closed

    def _answer(self, rule: Rule, text: str, condition: Condition) -> Answered:
        assumed = both([formula(number.term >= 0) for number in self.unnamed]) if self.unnamed else True
        if self.reading.bounds and not self.symbols.always(implies(assumed, both(self.reading.bounds))):
            return Answered(rule, "open", text, reason="a loop turns more often than it is unrolled to")
        holds = implies(assumed, condition.holds)
        if self.symbols.always(holds):
            return Answered(rule, "proved", text)
        numbers = self.symbols.smallest(both([assumed, condition.fails]))
        if numbers is None:
            return Answered(rule, "open", text, reason="the solver finds neither a proof nor a counterexample")
        if self.unnamed and not isinstance(condition.holds, bool):
            known = {str(number.term) for number in self.unnamed}
            if known & names_in(condition.holds):
                return Answered(rule, "open", text, reason="it depends on a dimension the model does not state")
        return Answered(rule, "refuted", text, numbers, condition.holds, condition.fails)

    # Outputs

    def _computed(
        self,
        declared: Sequence[Facts | None],
        names: Mapping[str, Value],
        shapes: Mapping[str, Value],
        closed: set[str],
    ) -> list[Facts | None]:
        result = list(declared)
        for index, output in enumerate(self.made.outputs[: len(declared)]):
            facts = declared[index]
            if facts is None:
                continue
            shape = facts.shape
            if output.name in shapes and closed.isdisjoint(output.relies):
                shape = self._filled(shape, shapes[output.name])
            elif isinstance(shape, Unknown):
                shape = WAITING
            element = names[output.name].fields["type"]
            result[index] = facts._replace(shape=shape, type=element)
        return result

    def _filled(self, stated: Any, computed: Value) -> Any:
        """A declared shape, what it does not state replaced by what is computed for all values."""
        if isinstance(computed, Partial):
            if not self.symbols.always(computed.defined):
                return stated
            computed = computed.value
        if not isinstance(computed, Listing) or not _fixed(computed):
            return stated
        extents = tuple(self._named(value) for _, value in computed.items)
        if isinstance(stated, Unknown):
            return extents
        if len(stated) != len(extents):
            return stated
        pairs = zip(stated, extents, strict=True)
        return tuple(new if isinstance(old, Unknown) and not old.symbol else old for old, new in pairs)

    def _named(self, extent: int | Number) -> int | Unknown:
        """A computed extent as a fact: a number, a symbol it equals, or a name for the term."""
        if isinstance(extent, int):
            return extent
        involved = names_in(extent.term)
        if any(name.startswith(UNNAMED) for name in involved):
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
            name = self.symbols.call(extent)
        return Unknown(Cause.NOT_STATED, f"the dimension is {name!r}", name)


def _fixed(known: Listing) -> bool:
    """Whether the rank does not depend on symbols."""
    return all(present is True for present, _ in known.items)
