"""Every expression of every operator, version and edition with variables for the facts, and calls to compare it on.

Signatures with equal inputs, parameters and definitions share the variables; each different expression stands once.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache, cached_property
from typing import Any

import numpy

from sonnx.checker.verdicts import Verdict
from sonnx.graph.environment import derived_names
from sonnx.language.domain import Expression, given_key, input_key, written_key
from sonnx.language.evaluator import Evaluator, Unknown, UnknownCause, first_unknown
from sonnx.profile.catalogue import operators
from sonnx.profile.signature import Signature
from sonnx.prover.call_variables import (
    INT64_RANGE,
    MAX_EXACT_INTEGER,
    PARAMETER_TYPES,
    READABLE,
    CallVariables,
    inputs_asked_constant,
    inputs_with_values,
)
from sonnx.prover.signature_family import SignatureFamily, signatures
from sonnx.prover.smt_functions import ELEMENT_TYPES, FactNotStated
from sonnx.prover.smt_values import INFINITY, bool_term
from sonnx.prover.terms import conjunction, variables_in
from sonnx.prover.witness import call_text, instance, judge
from tests.support.ground_terms import GroundTerms, agree
from tests.support.strict import StrictEvaluator

TYPES = tuple(map(ELEMENT_TYPES.index, ("int32", "int8", "uint8", "float")))
Pair = tuple[Expression, Expression | None]
"""An expression, and the condition under which it applies."""


@dataclass
class OperatorCalls:
    """The variables of a signature, and the expressions of all signatures that share them, with who states each."""

    family: SignatureFamily
    variables: CallVariables
    expressions: dict[Pair, str] = field(default_factory=dict)


@cache
def operator_calls() -> tuple[OperatorCalls, ...]:
    """All operators, versions and editions."""
    found: dict[Any, OperatorCalls] = {}
    for described in operators():
        for signature, edition in signatures(described):
            family = SignatureFamily(described, signature, edition, ((signature.version, edition),))
            key = (described.name, family._parts, inputs_with_values(signature), inputs_asked_constant(signature))
            if key not in found:
                found[key] = OperatorCalls(family, CallVariables(signature))
            for pair, who in _expressions(family):
                found[key].expressions.setdefault(pair, who)
    return tuple(found.values())


def _expressions(family: SignatureFamily) -> Iterator[tuple[Pair, str]]:
    for rule in family.rules:
        for demand in (family.demand(rule), family.onnx(rule)):
            if demand is not None:
                yield (demand, rule.when), rule.slug
    for name, shape in family.signature.shapes.items():
        yield (shape, None), f"the shape of {name} of {family.label}"


@dataclass
class Compared:
    """The values of conditions that a comparison saw; None for any value of another expression."""

    values: dict[str, set[Any]] = field(default_factory=dict)


class Comparison:
    """The expressions of `OperatorCalls` in the SMT interpretation, to be compared with the evaluator call by call."""

    def __init__(self, calls: OperatorCalls) -> None:
        self.calls, variables = calls, calls.variables
        self.pairs: list[Pair] = []
        self.refused: list[str] = []
        made: list[Any] = []
        for pair, who in calls.expressions.items():
            expression, when = pair
            variables.interpretation.bounds.clear()
            try:
                condition = variables.interpretation.condition(expression, variables.names, when)
            except FactNotStated:
                self.refused.append(who)
                continue
            self.pairs.append(pair)
            made += [bool_term(condition.defined), condition.value, *map(bool_term, variables.interpretation.bounds)]
            made.append(None)
        self.defined_names = list(calls.family.signature.define)
        self.terms = GroundTerms(
            [*made, *(variables.names[name] for name in self.defined_names)], variables.interpretation.codes
        )
        ranged = {each.decl().name() for each in variables_in(*variables.ranges)}
        self.names = sorted(self.terms.variables.keys() | ranged)

    def difference(self, numbers: Mapping[str, Any], seen: Compared) -> str:
        """The first difference of the two for a call, "" if there is none."""
        family, codes = self.calls.family, self.calls.variables.interpretation.codes
        facts = instance(family.signature, codes, numbers).names()
        strict = strict_facts(family.signature, facts)
        values = iter(self.terms.read(numbers))
        for pair in self.pairs:
            defined, value = next(values), next(values)
            ended = list(iter(lambda: next(values), None))
            assert isinstance(defined, bool), pair[0].text
            if all(ended):
                wrong = _differs(pair, defined, value, facts, strict)
                if wrong:
                    return f"{self.calls.expressions[pair]}: {pair[0].text}: {wrong} for {dict(numbers)}"
                if defined:
                    who = f"{self.calls.expressions[pair]} {pair[0].text}"
                    seen.values.setdefault(who, set()).add(value if isinstance(value, bool) else None)
        for name, value in zip(self.defined_names, values, strict=True):
            if not agree(value, facts[name]) if first_unknown(value) is None else first_unknown(strict[name]) is None:
                return f"{name} of {family.label} is {value}, not {facts[name]}, for {dict(numbers)}"
        return ""


INTEGERS = {name: (numpy.iinfo(name).min, numpy.iinfo(name).max) for name in READABLE if "int" in name}


def statable(signature: Signature, numbers: Mapping[str, Any]) -> dict[str, Any]:
    """The numbers with the fewest changes that make them a call which a file can state.

    Values fit their types, required attributes are written, and the node has an output.
    """
    made = dict(numbers)
    for attribute in signature.attributes:
        if attribute.required_at(signature.version) or attribute.kind == "sparse_tensor":
            made[written_key(attribute.name)] = int(attribute.kind != "sparse_tensor")
    if signature.outputs and not any(made.get(given_key(each.name), not each.optional) for each in signature.outputs):
        made[given_key(signature.outputs[0].name)] = 1
    values = [(input_key(each.name), f"{each.name}.{index}") for each in signature.values for index in range(5)]
    values += [(name, f"{name}.value") for name in inputs_with_values(signature)]
    for tensor, name in values:
        type_ = ELEMENT_TYPES[made.get(f"{tensor}.type", 0)]
        if name in made and abs(made[name]) == INFINITY and type_ not in ("float", "double", "float16"):
            made[name] = 0
        elif name in made and abs(made[name]) < INFINITY:
            least, most = INTEGERS.get(type_, (-MAX_EXACT_INTEGER, MAX_EXACT_INTEGER))
            made[name] = min(max(made[name], least), most)
    return made


def strict_facts(signature: Signature, facts: Mapping[str, Any]) -> dict[str, Any]:
    """The facts of a call with the names that the data file defines, each evaluated strictly."""
    names = dict(facts)
    for name, expression in derived_names(signature, names):
        names[name] = expression.evaluate(StrictEvaluator(), names)
    return names


def _differs(pair: Pair, defined: bool, value: Any, facts: Mapping[str, Any], strictly: Mapping[str, Any]) -> str:
    """How the interpretations of an expression differ, "" if they do not."""
    expression, when = pair
    applies = True if when is None else when.evaluate(StrictEvaluator(), strictly)
    strict = (
        applies if isinstance(applies, Unknown) else not applies or expression.evaluate(StrictEvaluator(), strictly)
    )
    evaluated = expression.evaluate(Evaluator(), facts) if applies is not False else True
    if isinstance(evaluated, Unknown) and evaluated.cause == UnknownCause.RUN_TIME:
        return ""
    if not defined:
        return "" if first_unknown(strict) else f"not defined, but the evaluator says {strict}"
    return (
        ""
        if agree(value, evaluated) and not isinstance(value, Unknown)
        else f"{value}, but the evaluator says {evaluated}"
    )


class Hypotheses:
    """What theorems about a signature assume of a call, to be compared with calls that files can state."""

    def __init__(self, calls: OperatorCalls) -> None:
        self.calls = calls
        self.ranges = GroundTerms([conjunction(calls.variables.ranges)], {})
        self.names = sorted(self.ranges.variables)

    @cached_property
    def general(self) -> tuple[tuple[str, ...], GroundTerms]:
        """The slugs of the general rules about the call, and their conditions."""
        stated = self.calls.family.general
        return tuple(slug for slug, _ in stated), GroundTerms([bool_term(truth) for _, truth in stated], {})

    def excluded(self, numbers: Mapping[str, Any]) -> str:
        """A hypothesis of the theorems that does not hold for a call that a file can state, "" if there is none."""
        if self.ranges.read(numbers) == [True]:
            return ""
        each = self.calls.variables.ranges
        false = [hypothesis for hypothesis in each if GroundTerms([hypothesis], {}).read(numbers) != [True]]
        return f"{self.calls.family.label}: {false} for {dict(numbers)}"

    def judged_otherwise(self, numbers: Mapping[str, Any]) -> str:
        """A general rule that a check of the call judges otherwise than the hypothesis, "" if there is none."""
        family, stated = self.calls.family, dict[str, bool]()
        slugs, conditions = self.general
        for slug, value in zip(slugs, conditions.read(numbers), strict=True):
            stated[slug] = stated.get(slug, True) and value is True
        call, report = judge(family.signature, self.calls.variables.interpretation.codes, numbers, family.edition)
        failing = {finding.rule for finding in report.findings if finding.verdict is Verdict.FAIL}
        wrong = [slug for slug, holds in stated.items() if holds is (slug in failing)]
        return f"{call_text(call)}: a check judges {', '.join(wrong)} otherwise, {family.edition}" if wrong else ""


class Draw:
    """Numbers for the variables of a signature: mostly small and related, sometimes extreme."""

    def __init__(self, comparison: Comparison | Hypotheses, chance: random.Random) -> None:
        self.chance, self.names, self.present = chance, comparison.names, 0.0
        self.signature = comparison.calls.family.signature
        self.codes = comparison.calls.variables.interpretation.codes
        self.fractions = {each.decl().name() for each in comparison.calls.variables.fractions}
        self.lists = {each.name for each in self.signature.parameters if each.kind.endswith("s")}
        self.with_values = inputs_with_values(self.signature)
        self.filled = (
            self.with_values
            | inputs_asked_constant(self.signature)
            | {each.name for each in self.signature.attributes if "tensor" in each.kind}
        )
        """Tensors that are made with all their elements: none of them is large."""

    def numbers(self) -> dict[str, Any]:
        """One call."""
        chance = self.chance
        rank = chance.randint(0, 4)
        extents = [chance.choice((0, 1, 2, 2, 3, 4, 6)) for _ in range(5)]
        extreme, kind = chance.random() < 0.1, chance.choice((0, 1, chance.randrange(len(ELEMENT_TYPES)), *TYPES))
        lengths = (rank, rank, 2 * rank, max(0, rank - 2), max(0, 2 * rank - 4), 1, 0, 2)
        self.present = chance.choice((0.1, 0.5, 0.8, 0.8, 0.9))
        found = {name: self._number(name, rank, extents, lengths, extreme, kind) for name in self.names}
        for each in self.signature.values:
            self._shape_of(each.name, found)
        if chance.random() < 0.5:
            self._stated_shapes(found)
        return found

    def _stated_shapes(self, found: dict[str, Any]) -> None:
        """The outputs have the shapes that the data file states, where it states any."""
        facts = instance(self.signature, self.codes, found).names()
        for name, shape in self.signature.shapes.items():
            extents = shape.evaluate(Evaluator(), facts)
            if first_unknown(extents) is None and len(extents) <= 4 and all(0 <= each < 2**63 for each in extents):
                found |= {f"{name}.rank": len(extents), **{f"{name}.{i}": each for i, each in enumerate(extents)}}

    def _number(
        self, name: str, rank: int, extents: list[int], lengths: tuple[int, ...], extreme: bool, kind: int
    ) -> int | Fraction:
        chance, (first, _, last) = self.chance, name.rpartition(".")
        if name.endswith(")"):
            return int(chance.random() < self.present)
        if name in self.fractions:
            return chance.choice((-3, -1, 0, 1, 2, Fraction(-1, 2), Fraction(1, 2), Fraction(1, 1024), -(2**127)))
        match last:
            case "rank":
                return rank if chance.random() < 0.8 else chance.randint(0, 4)
            case "count":
                return chance.randint(0, 3)
            case "length":
                return min(5, chance.choice(lengths))
            case "type":
                if first in self.filled:
                    return ELEMENT_TYPES.index(chance.choice(READABLE))
                return kind if chance.random() < 0.8 else chance.randrange(len(ELEMENT_TYPES))
            case "text":
                return chance.randint(len(ELEMENT_TYPES), len(self.codes))
            case "value":
                return chance.choice((-1, 0, 0, 1, 2, -128, -(2**31), -(2**63), MAX_EXACT_INTEGER, INFINITY, -INFINITY))
        if extreme and first not in self.filled and chance.random() < 0.3:
            negative = () if self._extent(name) else (INT64_RANGE[0], -(2**31))
            large: tuple[int, ...] = (INT64_RANGE[1], INT64_RANGE[1] - 1, 2**31, *negative)
            return chance.choice(large)
        if self._extent(name):
            return extents[int(last)] if chance.random() < 0.7 else chance.choice((0, 1, 1, 2, 3, 5))
        return chance.choice((-3, -2, -1, -1, 0, 0, 0, 1, 1, 1, 1, 2, 2, 3, rank))

    def _extent(self, name: str) -> bool:
        first, _, last = name.rpartition(".")
        return last.isdecimal() and first not in self.lists

    def _shape_of(self, name: str, found: dict[str, Any]) -> None:
        """The shape of a constant fits its number of values."""
        shape, length = input_key(name), found.get(f"{name}.length", 0)
        rank = self.chance.choice((0, 1, 1, 2)) if length == 1 else self.chance.choice((1, 1, 2))
        shapes = [(rows, length // rows) for rows in range(1, length + 1) if length % rows == 0]
        rows, columns = self.chance.choice(shapes or [(0, 3), (2, 0), (0, 0)])
        found |= {f"{shape}.rank": rank, f"{shape}.0": length if rank == 1 else rows, f"{shape}.1": columns}
        found[f"{shape}.type"] = ELEMENT_TYPES.index(self.chance.choice(tuple(PARAMETER_TYPES)))
