"""Versions and editions of an operator with equal expressions, so that one theorem speaks of all of them.

A method such as `SignatureFamily.type_conformance` gives the part of a signature that decides one sort of theorem;
signatures with equal parts form a family.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import z3

from sonnx.checker.rules import ActiveRules
from sonnx.language.domain import Expression, constant_key
from sonnx.language.parser import built_ins, with_called
from sonnx.language.structure import (
    computes,
    demands_of_each,
    fields,
    functions,
    reads,
    strings,
    without_listed_strings,
)
from sonnx.profile.catalogue import editions
from sonnx.profile.definitions import OperatorDefinition, Rule, at
from sonnx.profile.profile_data import of_profile
from sonnx.profile.signature import Signature, active_condition, resolve
from sonnx.prover.call_variables import CallBounds, CallVariables, general_rules_of_call, readable
from sonnx.prover.output_presence import accepted_outputs, output_rules
from sonnx.prover.smt_interpretation import SmtCondition
from sonnx.prover.smt_values import Truth, bool_term, folding

_CALL = ("parameter", "input")
"""Subjects of the general rules about a call, not about one value; shapes are numbers for every `CallVariables`."""
_TYPE_FUNCTIONS = {"all", "any", "given"}
"""The functions that a rule about element types only may call."""

_VARIABLES: dict[tuple[int, int, str, CallBounds, bool], tuple[OperatorDefinition, CallVariables]] = {}
"""The variables made so far by the id of the operator; the operator is kept, so that no other object gets its id."""
_MEMBERS: dict[tuple[int, int, str, bool], SignatureFamily] = {}
"""The families of one version and edition made so far."""
_SINGLE: dict[int, tuple[SignatureFamily, ...]] = {}
"""Every signature of an operator, by its id, as a family of its own; a family keeps its operator."""


def forget() -> None:
    """Forget the variables and families made so far: for mutants of the expressions that they interpret."""
    _VARIABLES.clear()
    _MEMBERS.clear()
    _SINGLE.clear()


@of_profile
def rules_of_edition(edition: str) -> ActiveRules:
    """The active rules of an edition, kept for later calls."""
    return ActiveRules(editions().editions[edition])


@dataclass(frozen=True)
class SignatureFamily:
    """A signature, and the versions and editions (`members`) in which the expressions in question are the same."""

    described: OperatorDefinition
    signature: Signature
    edition: str
    members: tuple[tuple[int, str], ...]
    bounds: CallBounds = field(default_factory=CallBounds)
    folded: bool = False
    """Its conditions are interpreted with folding, for witnesses; see `context`."""

    def context(self) -> AbstractContextManager[None]:
        """The context in which to interpret its conditions: with or without folding."""
        return folding() if self.folded else nullcontext()

    @cached_property
    def stated_bounds(self) -> str:
        """The bounds of what a call of this operator has."""
        return self.bounds.about(self.signature)

    @property
    def rules(self) -> tuple[Rule, ...]:
        """The rules of the operator in force."""
        return self.signature.rules

    @cached_property
    def variables(self) -> CallVariables:
        """The facts of a call as variables; theorems about one signature share them."""
        key = (id(self.described), self.signature.version, self.edition, self.bounds, self.folded)
        if key not in _VARIABLES:
            _VARIABLES[key] = self.described, CallVariables(self.signature, self.bounds)
        return _VARIABLES[key][1]

    @cached_property
    def facts(self) -> tuple[z3.BoolRef, ...]:
        """What holds for every call: the ranges of the variables, and the bounds of all loops that were interpreted."""
        variables = self.variables
        for rule in self.rules:
            for demand in (self.demand(rule), self.onnx(rule)):
                variables.condition(rule, demand)
        for shape in self.signature.shapes.values():
            variables.shape(shape)
        return *variables.ranges, *dict.fromkeys(map(bool_term, variables.interpretation.bounds))

    @cached_property
    def general(self) -> tuple[tuple[str, Truth], ...]:
        """The general rules about the call."""
        variables, rules = self.variables, rules_of_edition(self.edition)
        if not variables.general:
            about_outputs = output_rules(self.described, self.signature, rules, variables.names)
            variables.general = *general_rules_of_call(variables, rules), *about_outputs
        return variables.general

    def _accepted_outputs(self) -> Hashable:
        return accepted_outputs(self.described, self.signature, rules_of_edition(self.edition))

    def demand(self, rule: Rule) -> Expression | None:
        """The condition of a rule in this edition."""
        return active_condition(rule, self.signature.text, editions())

    def text(self, rule: Rule) -> str:
        """The source text of that condition, "" without one."""
        demand = self.demand(rule)
        return demand.text if demand else ""

    def onnx(self, rule: Rule) -> Expression | None:
        """What ONNX demands in place of the rule, None if nothing."""
        return rule.onnx or (rule.require if rule.kind == "validity" else None)

    def implied_by(self, rule: Rule) -> tuple[str, ...]:
        """The rules it follows from: as its file states, or rules about types that leave nothing to demand."""
        stated = self._in_force(at(rule.implied_by, self.signature.version) or ())
        if stated or rule.name not in self.signature.typed:
            return stated
        if self._types_of(rule) >= set(rules_of_edition(self.edition).edition.element_types):
            return ("element-type",)
        return self._never_there(rule) or self._of_one_type(rule)

    def _types_of(self, rule: Rule) -> set[str]:
        demand = self.demand(rule)
        return set(strings(demand)) if demand else set()

    def _never_there(self, rule: Rule) -> tuple[str, ...]:
        """The rules under which no value that a rule about types constrains is connected, if there are such rules."""
        outputs = {
            output.name: at(output.implied_by, self.signature.version) or () for output in self.signature.outputs
        }
        absences = [self._in_force(outputs.get(name, ())) for name in self._members(rule)]
        return tuple(dict.fromkeys(name for names in absences for name in names)) if all(absences) else ()

    def _members(self, rule: Rule) -> tuple[str, ...]:
        return self.signature.typed.get(rule.name, ())

    def _of_one_type(self, rule: Rule) -> tuple[str, ...]:
        """An earlier rule about types, if both are about values that must have one type."""
        members = set(self._members(rule))
        for earlier in self.rules[: self.rules.index(rule)] if members else ():
            alike = set(self._members(earlier))
            one_type = (*self.signature.one_type, *self.signature.groups.values())
            joined = any(members <= set(names) and alike & set(names) for names in one_type)
            if joined and self._types_of(earlier) <= self._types_of(rule):
                return earlier.name, *(
                    slug.slug for slug, _ in rules_of_edition(self.edition).general_rules_about("group")
                )
        return ()

    def following(self, rule: Rule) -> frozenset[str]:
        """The names of the rules that follow from this rule and others: a call that breaks it may break them."""
        return frozenset(candidate.name for candidate in self.rules if rule.name in self.implied_by(candidate))

    def _in_force(self, names: tuple[str, ...]) -> tuple[str, ...]:
        """The names, if all these rules, of the operator or general, are in force here; else none."""
        if not names:
            return ()
        in_force = {rule.name for rule in self.rules} | {
            rule.slug for rule, _ in rules_of_edition(self.edition).general
        }
        return names if in_force.issuperset(names) else ()

    def condition(self, rule: Rule) -> SmtCondition:
        """The SMT interpretation of the rule."""
        return self.variables.condition(rule, self.demand(rule))

    def readable(self, rule: Rule) -> Iterator[z3.BoolRef]:
        """The conditions under which the inputs whose values a rule reads are constants."""
        demand = self.demand(rule)
        read = {name for name, field in reads(demand) if field == "values"} if demand else set[str]()
        for name in sorted(self.variables.with_values & read):
            is_readable = readable(self.variables.tensors[name].record.fields["type"].term)
            yield bool_term(self.variables.names.get(constant_key(name), is_readable))

    def holds(self, rule: Rule) -> Truth:
        """The condition that the rule holds."""
        return self.condition(rule).holds

    @property
    def label(self) -> str:
        """The short name: operator, version, and the edition unless it is the default one."""
        edition = "" if self.edition == editions().default else f"-in-{self.edition}"
        return f"{self.signature.operator}-{self.signature.version}{edition}"

    @property
    def title(self) -> str:
        """The operator with all versions and editions of the family."""
        by_versions: dict[tuple[int, ...], list[str]] = {}
        for edition in dict.fromkeys(name for _, name in self.members):
            versions = tuple(sorted(version for version, name in self.members if name == edition))
            by_versions.setdefault(versions, []).append(edition)
        parts = [f"{', '.join(map(str, versions))} in {', '.join(names)}" for versions, names in by_versions.items()]
        return f"{self.signature.operator} (version {'; '.join(parts)})"

    @property
    def sources(self) -> tuple[Callable[..., Any] | str, ...]:
        """The expressions, and the built-in functions they use, also inside other built-in functions."""
        expressions = [*self._demands(), *self.signature.define.values(), *self.signature.shapes.values()]
        texts = [self.text(rule) for rule in self.rules]
        texts += [shape.text for shape in (*self.signature.define.values(), *self.signature.shapes.values())]
        used = sorted(with_called(name for expression in expressions for name in expression.built_ins))
        return (*dict.fromkeys(texts), *(built_ins()[name].function for name in used))

    def _demands(self) -> Iterator[Expression]:
        yield from (demand for rule in self.rules if (demand := self.demand(rule)))

    # The parts of a signature that must be equal for one theorem to speak of two

    @cached_property
    def _parts(self) -> Hashable:
        signature = self.signature
        parameters = [
            (
                parameter.name,
                parameter.kind,
                parameter.required_at(signature.version),
                _text(signature.absent[parameter.name]),
                parameter in signature.values,
            )
            for parameter in signature.parameters
        ]
        inputs = [
            (operand.name, operand.variadic, operand.optional, bool(operand.exempt)) for operand in signature.inputs
        ]
        outputs = [(output.name, output.optional) for output in signature.outputs]
        define = [(name, expression.text) for name, expression in signature.define.items()]
        return tuple(parameters), tuple(inputs), tuple(outputs), tuple(define)

    @cached_property
    def _texts(self) -> tuple[tuple[str, str, str, tuple[str, ...]], ...]:
        return tuple((rule.name, self.text(rule), _text(rule.when), rule.relies) for rule in self.rules)

    def conformance_without_types(self) -> Hashable:
        """What decides which calls conform, apart from element types."""
        rules = tuple(row for row in self._texts if row[0] not in self._about_types)
        general = rules_of_edition(self.edition).general
        about = tuple((rule.slug, demand.text) for rule, demand in general if rule.subject in _CALL)
        return self._parts, rules, about, self._implied(types=False), self._accepted_outputs()

    @cached_property
    def _about_types(self) -> frozenset[str]:
        return frozenset(rule.name for rule in self.rules if self.about_types(rule))

    @cached_property
    def _implied_by(self) -> tuple[tuple[str, tuple[str, ...]], ...]:
        return tuple((rule.name, self.implied_by(rule)) for rule in self.rules)

    def _implied(self, types: bool) -> Hashable:
        return tuple(pair for pair in self._implied_by if (pair[0] in self._about_types) is types)

    def type_conformance(self) -> Hashable:
        """What decides which element types conform."""
        rules = tuple(row for row in self._texts if row[0] in self._about_types)
        inputs = tuple((operand.name, operand.type) for operand in self.signature.inputs)
        outputs = tuple((output.name, output.type) for output in self.signature.outputs)
        parts = (self._parts, inputs, outputs, self.signature.one_type)
        about = tuple((rule.slug, demand.text) for rule, demand in rules_of_edition(self.edition).general)
        return parts, rules, about, rules_of_edition(self.edition).edition.element_types, self._implied(types=True)

    def about_types(self, rule: Rule) -> bool:
        """Whether a rule is about element types only."""
        demand = self.demand(rule)
        return (
            demand is not None
            and fields(demand) == {"type"}
            and functions(demand) <= _TYPE_FUNCTIONS
            and not computes(demand)
        )

    def about_each_tensor(self, names: tuple[str, ...]) -> bool:
        """Whether rules, of the operator or general, say something of the element type of every tensor, one by one."""
        own = {rule.name: rule for rule in self.rules}
        general = {rule.slug: demand for rule, demand in rules_of_edition(self.edition).general}
        demands = [self.demand(own[name]) if name in own else general[name] for name in names]
        return all(
            demand is not None
            and (name not in own or (self.about_types(own[name]) and not own[name].relies))
            and fields(demand) <= {"type"}
            and demands_of_each(demand)
            and not computes(demand)
            for name, demand in zip(names, demands, strict=True)
        )

    def conformance(self) -> Hashable:
        """Everything that decides which calls conform."""
        rules, general = self._texts, rules_of_edition(self.edition).general
        about = tuple((rule.slug, demand.text, _text(rule.when)) for rule, demand in general)
        types = (tuple(self.signature.groups.items()), self.signature.one_type)
        elements = rules_of_edition(self.edition).edition.element_types
        return self._parts, rules, about, types, elements, self._accepted_outputs()

    def definedness(self) -> Hashable:
        """What decides where rules are defined; the strings in a list do not."""
        rules = [
            (name, demand and without_listed_strings(demand), when, relies)
            for (name, _, when, relies), demand in zip(self._texts, map(self.demand, self.rules), strict=True)
        ]
        implied = tuple(names for _, names in self._implied_by)
        types = rules_of_edition(self.edition).edition.element_types if ("element-type",) in implied else ()
        return self._parts, tuple(rules), implied, types

    def output_shapes(self) -> Hashable:
        """What decides the shapes of the outputs."""
        relies = {name for output in self.signature.outputs for name in output.relies}
        rules = tuple(row for row in self._texts if row[0] in relies)
        return self._parts, rules, tuple((name, shape.text) for name, shape in self.signature.shapes.items())

    def onnx_demands(self) -> Hashable:
        """The demands of the profile for which ONNX has one too, with that of ONNX."""
        texts = zip(self.rules, self._texts, strict=True)
        pairs = tuple((name, text, _text(self.onnx(rule))) for rule, (name, text, *_) in texts)
        return self._parts, tuple(pair for pair in pairs if pair[2])

    def each(self) -> Iterator[SignatureFamily]:
        """The versions and editions of the family, one by one."""
        for candidate, edition in signatures(self.described):
            member = (candidate.version, edition)
            if member in self.members:
                key = (id(self.described), *member, self.folded)
                single = SignatureFamily(self.described, candidate, edition, (member,), folded=self.folded)
                yield _MEMBERS.setdefault(key, single)


def _text(expression: Expression | None) -> str:
    return expression.text if expression else ""


def signatures(described: OperatorDefinition) -> Iterator[tuple[Signature, str]]:
    """Every admitted signature of an operator with its edition; the default edition and the newest version first."""
    every = editions()
    order = sorted(every.editions.values(), key=lambda edition: edition.name != every.default)
    for edition in order:
        text = edition.operators.get(described.name)
        for version in reversed(described.versions) if text else ():
            if version not in described.refused:
                yield resolve(described, version, text or "", every, edition.name), edition.name


def families(described: OperatorDefinition, key: Callable[[SignatureFamily], Hashable]) -> Iterator[SignatureFamily]:
    """The signatures of an operator in families of equal key."""
    if id(described) not in _SINGLE:
        singles = (
            SignatureFamily(described, signature, name, ((signature.version, name),))
            for signature, name in signatures(described)
        )
        _SINGLE[id(described)] = tuple(singles)
    groups: dict[Hashable, list[SignatureFamily]] = {}
    for family in _SINGLE[id(described)]:
        groups.setdefault(key(family), []).append(family)
    for group in groups.values():
        members = tuple(member for single in group for member in single.members)
        yield SignatureFamily(described, group[0].signature, group[0].edition, members)


FAMILY_KEYS: tuple[Callable[[SignatureFamily], Hashable], ...] = (
    SignatureFamily.conformance,
    SignatureFamily.conformance_without_types,
    SignatureFamily.type_conformance,
    SignatureFamily.definedness,
    SignatureFamily.output_shapes,
    SignatureFamily.onnx_demands,
)
"""The parts of signatures that decide the sorts of derived theorems, see `families`."""
