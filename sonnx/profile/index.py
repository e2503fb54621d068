"""The index of the profile: rules by slug, label and operator."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from sonnx.base.errors import UsageError
from sonnx.base.suggestions import did_you_mean
from sonnx.language.domain import Expression
from sonnx.profile.catalogue import editions, general_rules, graph_rules, operator, operators
from sonnx.profile.definitions import Edition, Formal, OperatorDefinition, Rule, Tag
from sonnx.profile.profile_data import of_profile
from sonnx.profile.requirement_identifiers import withdrawal
from sonnx.profile.signature import active_condition, every_rule, signature


class UnknownRule(UsageError):
    """No rule has a slug, label or operator of this name."""


@of_profile
def rules_by_slug() -> Mapping[str, Rule]:
    """Every rule of the catalogue by slug, derived ones included; reads all operator files."""
    rules = [*general_rules(), *graph_rules(), *(rule for each in operators() for rule in every_rule(each))]
    return {rule.slug: rule for rule in rules}


def rule_named(slug: str) -> Rule | None:
    """The rule of this very slug, of which only the file of its operator is read."""
    name, dot, _ = slug.partition(".")
    described = operator(name) if dot else None
    rules = every_rule(described) if described else (*general_rules(), *graph_rules())
    return {rule.slug: rule for rule in rules}.get(slug)


class RuleInForce(NamedTuple):
    """A rule as an edition has it for one version of its operator."""

    rule: Rule
    condition: Expression | None
    """What is demanded: the profile's condition, or that of ONNX where the edition's text is older than the rule."""
    version: int = 0
    """The version of the operator, 0 for a rule that belongs to none."""


def rules_in_force(edition: Edition, operator_set: int | None = None, name: str = "") -> Iterator[RuleInForce]:
    """The rules of an edition about an operator, or its general rules where `name` is "".

    Those of the version that the operator set contains; without an operator set those of the specified version, and
    rules that only other versions have.
    """
    known, described = editions(), operator(name) if name else None
    if not name:
        for rule in (*general_rules(), *graph_rules()):
            condition = active_condition(rule, edition.general, known)
            if condition is not None or known.in_force(rule, edition.general):
                yield RuleInForce(rule, condition)
        return
    listed = set[str]()
    for version in _versions(described, operator_set) if described else ():
        candidate = signature(name, version, edition.name)
        for rule in candidate.rules if candidate else ():
            if candidate and rule.slug not in listed:
                listed.add(rule.slug)
                yield RuleInForce(rule, active_condition(rule, candidate.text, known), version)


def _versions(described: OperatorDefinition, operator_set: int | None) -> list[int]:
    if operator_set is None:
        return described.specified_first
    version = described.version_at(operator_set)
    return [] if version is None else [version]


def is_default_version(slug: str, operator_set: int) -> bool:
    """Whether `rules_in_force` gives a rule the same version with this operator set and without one."""
    described = operator(slug.partition(".")[0]) if "." in slug else None
    return described is None or described.version_at(operator_set) == described.specified_first[0]


def operator_named_in(slug: str) -> str:
    """The operator that a rule belongs to, "" for a general rule."""
    name, dot, _ = slug.partition(".")
    return name if dot and operator(name) is not None else ""


class Label(NamedTuple):
    """A tag with the slug of the rule it belongs to.

    `rule` is "" where the label states what an operator computes.  `subject` is the operator, input or parameter that
    has the label, "" where the rule has it.
    """

    tag: Tag
    rule: str
    subject: str = ""


@of_profile
def all_labels() -> tuple[Label, ...]:
    """Every label of every text: on rules, and on the parts of operator files that a general rule is about."""
    labels = [Label(tag, rule.slug) for rule in rules_by_slug().values() for tag in rule.tags]
    return tuple(dict.fromkeys([*labels, *(label for each in operators() for label in _of_parts(each))]))


def _of_parts(operator: OperatorDefinition) -> Iterator[Label]:
    for tag in operator.tags:
        yield Label(tag, tag.rule, operator.name)
    for parameter in operator.parameters:
        for tag in parameter.tags:
            yield Label(tag, "no-default-values", f"{operator.name}.{parameter.name}")
    for operand in operator.inputs:
        for tag in operand.tags:
            yield Label(tag, "inputs-connected", f"{operator.name}.{operand.name}")
    formals: tuple[Formal, ...] = (*operator.inputs, *operator.outputs)
    for formal in formals:
        for tag in formal.type_tags if formal.type in operator.types and not getattr(formal, "element", None) else ():
            yield Label(tag, "no-implicit-conversion", f"{operator.name}.{formal.name}")


def slugs_named(names: Iterable[str]) -> frozenset[str]:
    """The slugs of the rules that slugs, labels (`R1`, `R1@2025-10`) and operators (`Max`) name.

    Raises:
        UnknownRule: a name has no rule.
    """
    return frozenset(slug for name in names for slug in _slugs_of(name))


@of_profile
def _slugs_of(name: str) -> frozenset[str]:
    """The slugs of the rules of one name; reads only the file of an operator where the name begins with one."""
    if any(name == rule.slug for rule in (*general_rules(), *graph_rules())):
        return frozenset({name})
    named = operator(name.partition(".")[0])
    of_operator = [rule for rule in every_rule(named) if matches_rule(name, rule)] if named is not None else []
    if of_operator:
        return frozenset(rule.slug for rule in of_operator)
    matches = {slug for slug, rule in rules_by_slug().items() if matches_rule(name, rule)}
    matches |= {label.rule for label in all_labels() if label.rule and matches_tag(name, label.tag)}
    if not matches:
        if sentence := withdrawal(name):
            raise UnknownRule(sentence)
        hint = did_you_mean(name, names_of_rules()) or "; `sonnx rules` lists them"
        raise UnknownRule(f"no rule, tag or operator is called {name!r}{hint}")
    return frozenset(matches)


def names_of_rules() -> set[str]:
    """Every name of a rule: slugs, operators and labels."""
    slugs = rules_by_slug().keys()
    return {*slugs, *(slug.partition(".")[0] for slug in slugs), *(label.tag.label for label in all_labels())}


def matches_rule(name: str, rule: Rule) -> bool:
    """Whether a name is the slug, the operator or a label of a rule."""
    if name in (rule.slug, rule.slug.partition(".")[0]):
        return True
    return any(matches_tag(name, tag) for tag in rule.tags)


def matches_tag(name: str, tag: Tag) -> bool:
    """Whether a name is the label of a tag, alone or with its text."""
    label, _, text = name.partition("@")
    return tag.label == label and text in ("", tag.text)
