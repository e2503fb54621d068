"""Versions and editions of an operator whose texts are the same, so that one theorem speaks of all of them."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass, field
from functools import cache, cached_property
from typing import Any

import z3

from sonnx.checker.rules import ActiveRules
from sonnx.language.domain import Expression
from sonnx.language.parser import words
from sonnx.profile.catalogue import editions
from sonnx.profile.definitions import Operator, Rule, at
from sonnx.profile.signature import Signature, demanded, resolve
from sonnx.prover.encoding import Condition
from sonnx.prover.setting import Bounds, Setting, general_rules, readable
from sonnx.prover.smt_truth import Truth, formula

ALLOWED = "-allowed"
"""How the names of the rules end that list the element types of a type variable."""
_LISTED = re.compile(r"\[(?:'[^']*'(?:, )?)+\]")
_BEYOND_TYPES = re.compile(r"\.(?!type\b)[a-z]|[<>+*/%]|\b(?!(?:all|any|given)\b)[A-Za-z_]+\(")
_CALL = ("parameter", "input")
"""Subjects of the general rules that speak of a call and not of one value; shapes are numbers in every setting."""
_STRING = re.compile(r"'([^']*)'")
_NAME = re.compile(r"[A-Za-z_]\w*")

_SETTINGS: dict[tuple[int, int, str, Bounds], tuple[Operator, Setting]] = {}
"""The settings made so far; the operator is kept so that its id stays its own."""
_MEMBERS: dict[tuple[int, int, str], Family] = {}
"""The families of one version and edition made so far."""


@cache
def in_force(edition: str) -> ActiveRules:
    """An edition with its rules by subject."""
    return ActiveRules(editions().editions[edition])


@dataclass(frozen=True)
class Family:
    """One signature, in the version and edition that speak for the others, and where else its texts are the same."""

    described: Operator
    made: Signature
    edition: str
    members: tuple[tuple[int, str], ...]
    bounds: Bounds = field(default_factory=Bounds)

    @property
    def rules(self) -> tuple[Rule, ...]:
        """The rules of the operator in force."""
        return self.made.rules

    @cached_property
    def setting(self) -> Setting:
        """The facts of a call as variables; theorems about one signature share them."""
        key = (id(self.described), self.made.version, self.edition, self.bounds)
        if key not in _SETTINGS:
            _SETTINGS[key] = self.described, Setting(self.made, self.bounds)
        return _SETTINGS[key][1]

    @cached_property
    def facts(self) -> tuple[z3.BoolRef, ...]:
        """What is true of every call: the ranges of the variables, and the bounds of the loops of all that is read."""
        setting = self.setting
        for rule in self.rules:
            for demand in (self.demand(rule), self.onnx(rule)):
                setting.condition(rule, demand)
        for shape in self.made.shapes.values():
            setting.reading.read(shape, setting.names)
        return *setting.ranges, *dict.fromkeys(map(formula, setting.reading.bounds))

    @cached_property
    def general(self) -> tuple[tuple[str, Truth], ...]:
        """The general rules about the call."""
        return tuple(general_rules(self.setting, in_force(self.edition)))

    def demand(self, rule: Rule) -> Expression | None:
        """The condition of a rule under the text of this edition."""
        return demanded(rule, self.made.text, editions())

    def text(self, rule: Rule) -> str:
        """The text of that condition."""
        demand = self.demand(rule)
        return demand.text if demand else ""

    def onnx(self, rule: Rule) -> Expression | None:
        """What ONNX demands where the rule stands, None where nothing."""
        return rule.onnx or (rule.require if rule.kind == "validity" else None)

    def implied_by(self, rule: Rule) -> tuple[str, ...]:
        """The rules it follows from: as its file says, or those about types that leave it nothing to demand."""
        stated = self._in_force(at(rule.implied_by, self.made.version) or ())
        if stated or not rule.name.endswith(ALLOWED):
            return stated
        if self._types_of(rule) >= set(in_force(self.edition).edition.element_types):
            return ("element-type",)
        return self._never_there(rule) or self._of_one_type(rule)

    def _types_of(self, rule: Rule) -> set[str]:
        return set(_STRING.findall(self.text(rule)))

    def _never_there(self, rule: Rule) -> tuple[str, ...]:
        """The rules under which none of the values of a type variable is there, where there are such rules."""
        outputs = {each.name: at(each.implied_by, self.made.version) or () for each in self.made.outputs}
        found = [self._in_force(outputs.get(name, ())) for name in self._members(rule)]
        return tuple(dict.fromkeys(name for names in found for name in names)) if all(found) else ()

    def _members(self, rule: Rule) -> tuple[str, ...]:
        return self.made.groups.get(rule.name.removesuffix(ALLOWED), ())

    def _of_one_type(self, rule: Rule) -> tuple[str, ...]:
        """An earlier rule about types, where both speak of values that must have one type."""
        members = set(self._members(rule))
        for other in self.rules[: self.rules.index(rule)] if members else ():
            others = set(self._members(other))
            joined = any(members <= set(names) and others & set(names) for names in self.made.one_type)
            if joined and self._types_of(other) <= self._types_of(rule):
                return other.name, *(slug.slug for slug, _ in in_force(self.edition).about("group"))
        return ()

    def following(self, rule: Rule) -> frozenset[str]:
        """The names of the rules that follow from a rule and others: a call that breaks it may break them."""
        return frozenset(each.name for each in self.rules if rule.name in self.implied_by(each))

    def _in_force(self, names: tuple[str, ...]) -> tuple[str, ...]:
        """Rules by name, if all of them are in force here, those of the operator and the general ones."""
        known = {rule.name for rule in self.rules} | {rule.slug for rule, _ in in_force(self.edition).general}
        return names if known.issuperset(names) else ()

    def condition(self, rule: Rule) -> Condition:
        """The rule read by Z3."""
        return self.setting.condition(rule, self.demand(rule))

    def readable(self, rule: Rule) -> Iterator[z3.BoolRef]:
        """What makes constants of the inputs whose values a rule reads."""
        text = self.text(rule)
        if ".values" in text:
            for name in sorted(self.setting.valued & set(_NAME.findall(text))):
                known = readable(self.setting.tensors[name][1].fields["type"].term)
                yield formula(self.setting.names.get(f"constant({name})", known))

    def holds(self, rule: Rule) -> Truth:
        """The rule holds."""
        return self.condition(rule).holds

    @property
    def label(self) -> str:
        """The short name: the version, and the edition where it is not the default one."""
        edition = "" if self.edition == editions().default else f"-in-{self.edition}"
        return f"{self.made.operator}-{self.made.version}{edition}"

    @property
    def title(self) -> str:
        """The operator with all versions and editions meant."""
        by_versions: dict[tuple[int, ...], list[str]] = {}
        for edition in dict.fromkeys(name for _, name in self.members):
            versions = tuple(sorted(version for version, name in self.members if name == edition))
            by_versions.setdefault(versions, []).append(edition)
        parts = [f"{', '.join(map(str, versions))} in {', '.join(names)}" for versions, names in by_versions.items()]
        return f"{self.made.operator} (version {'; '.join(parts)})"

    @property
    def sources(self) -> tuple[Callable[..., Any] | str, ...]:
        """The texts of the rules, and the words they use, also inside other words."""
        texts = [self.text(rule) for rule in self.rules]
        texts += [each.text for each in (*self.made.define.values(), *self.made.shapes.values())]
        waiting, known = list(texts), words()
        used: dict[str, Callable[..., Any]] = {}
        while waiting:
            for name in _NAME.findall(waiting.pop()):
                if name in known and name not in used:
                    used[name] = known[name].function
                    waiting.append(known[name].source)
        return (*dict.fromkeys(texts), *used.values())

    # What must be equal for one theorem to speak of two

    def _parts(self) -> Hashable:
        made = self.made
        parameters = [
            (each.name, each.kind, each.required_at(made.version), _text(made.absent[each.name]), each in made.values)
            for each in made.parameters
        ]
        inputs = [(each.name, each.variadic, each.optional, bool(each.exempt)) for each in made.inputs]
        outputs = [(each.name, each.optional) for each in made.outputs]
        define = [(name, each.text) for name, each in made.define.items()]
        return tuple(map(tuple, (parameters, inputs, outputs, define)))

    def _texts(self) -> tuple[tuple[str, str, str, tuple[str, ...]], ...]:
        return tuple((rule.name, self.text(rule), _text(rule.when), rule.relies) for rule in self.rules)

    def but_types(self) -> Hashable:
        """What decides which calls conform, element types apart."""
        rules = tuple(each for rule, each in zip(self.rules, self._texts(), strict=True) if not self.about_types(rule))
        general = in_force(self.edition).general
        about = tuple((rule.slug, demand.text) for rule, demand in general if rule.subject in _CALL)
        return self._parts(), rules, about, self._implied(types=False)

    def _implied(self, types: bool) -> Hashable:
        return tuple((rule.name, self.implied_by(rule)) for rule in self.rules if self.about_types(rule) is types)

    def types(self) -> Hashable:
        """What decides which element types conform."""
        rules = tuple(each for rule, each in zip(self.rules, self._texts(), strict=True) if self.about_types(rule))
        formals = tuple((each.name, each.type) for each in (*self.made.inputs, *self.made.outputs))
        parts = (self._parts(), formals, self.made.one_type)
        about = tuple((rule.slug, demand.text) for rule, demand in in_force(self.edition).general)
        return parts, rules, about, in_force(self.edition).edition.element_types, self._implied(types=True)

    def about_types(self, rule: Rule) -> bool:
        """Whether a rule speaks of element types only."""
        text = self.text(rule)
        return ".type" in text and not _BEYOND_TYPES.search(text)

    def everything(self) -> Hashable:
        """All that decides which calls conform."""
        rules, general = self._texts(), in_force(self.edition).general
        about = tuple((rule.slug, demand.text, _text(rule.when)) for rule, demand in general)
        types = (tuple(self.made.groups.items()), self.made.one_type)
        return self._parts(), rules, about, types, in_force(self.edition).edition.element_types

    def conditions(self) -> Hashable:
        """What decides where rules are defined: which strings a list holds does not."""
        rules = [(name, _LISTED.sub("[]", text), when, relies) for name, text, when, relies in self._texts()]
        implied = tuple(self.implied_by(rule) for rule in self.rules)
        types = in_force(self.edition).edition.element_types if ("element-type",) in implied else ()
        return self._parts(), tuple(rules), implied, types

    def shapes(self) -> Hashable:
        """What decides the shapes of the outputs."""
        relies = {name for output in self.made.outputs for name in output.relies}
        rules = tuple(each for each in self._texts() if each[0] in relies)
        return self._parts(), rules, tuple((name, each.text) for name, each in self.made.shapes.items())

    def against_onnx(self) -> Hashable:
        """What the profile demands beside what ONNX demands."""
        texts = zip(self.rules, self._texts(), strict=True)
        pairs = tuple((name, text, _text(self.onnx(rule))) for rule, (name, text, *_) in texts)
        return self._parts(), tuple(pair for pair in pairs if pair[2])

    def each(self) -> Iterator[Family]:
        """The versions and editions meant, one by one."""
        for made, edition in signatures(self.described):
            if (made.version, edition) in self.members:
                key = (id(self.described), made.version, edition)
                yield _MEMBERS.setdefault(key, Family(self.described, made, edition, ((made.version, edition),)))


def _text(expression: Expression | None) -> str:
    return expression.text if expression else ""


def signatures(described: Operator) -> Iterator[tuple[Signature, str]]:
    """Every admitted signature of an operator with its edition; the default edition and the newest version first."""
    known = editions()
    order = sorted(known.editions.values(), key=lambda edition: edition.name != known.default)
    for edition in order:
        text = edition.operators.get(described.name)
        for version in reversed(described.versions) if text else ():
            if version not in described.refused:
                yield resolve(described, version, text or "", known, edition.name), edition.name


def families(described: Operator, key: Callable[[Family], Hashable]) -> Iterator[Family]:
    """The signatures of an operator, those of equal key together."""
    groups: dict[Hashable, list[Family]] = {}
    for made, edition in signatures(described):
        family = Family(described, made, edition, ((made.version, edition),))
        groups.setdefault(key(family), []).append(family)
    for group in groups.values():
        members = tuple(member for each in group for member in each.members)
        yield Family(described, group[0].made, group[0].edition, members)
