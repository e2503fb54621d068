"""The difference between two editions: operators, rules with their conditions, and verdicts on given models."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from msgspec import Struct
from msgspec.structs import replace

from sonnx.checker.report import Finding, Report
from sonnx.checker.request import CheckRequest, check_model
from sonnx.checker.rules import ActiveRules
from sonnx.model.ir import Model
from sonnx.profile import catalogue
from sonnx.profile.definitions import Edition, Rule
from sonnx.profile.signature import active_condition, signature


class Changed(Struct, frozen=True):
    """A rule, operator or edition with an attribute that differs: which one (`what`), and its two values."""

    name: str
    what: str
    before: str
    after: str


class EditionDifference(Struct, frozen=True):
    """The difference between two editions, called before and after."""

    before: str
    after: str
    operators_gone: tuple[str, ...]
    operators_new: tuple[str, ...]
    rules_gone: tuple[str, ...]
    rules_new: tuple[str, ...]
    changed: tuple[Changed, ...]


class ModelDifference(Struct, frozen=True):
    """One model under both editions: the reports, and the findings that only one of them has."""

    name: str
    before: Report
    after: Report
    gone: tuple[Finding, ...]
    new: tuple[Finding, ...]

    @property
    def changes(self) -> bool:
        """Whether the verdict on the model differs."""
        return self.before.verdict is not self.after.verdict


def compare_editions(before: str, after: str) -> EditionDifference:
    """The difference between two editions.

    Raises:
        UsageError: an edition does not exist.
    """
    old, new = catalogue.edition_named(before), catalogue.edition_named(after)
    rules_old, rules_new = _rules(old), _rules(new)
    changed = [*_general(old, new), *_operators(old, new)]
    for slug in sorted(rules_old.keys() & rules_new.keys()):
        changed += _changes(slug, rules_old[slug], rules_new[slug])
    return EditionDifference(
        before=before,
        after=after,
        operators_gone=tuple(sorted(old.operators.keys() - new.operators.keys())),
        operators_new=tuple(sorted(new.operators.keys() - old.operators.keys())),
        rules_gone=tuple(sorted(rules_old.keys() - rules_new.keys())),
        rules_new=tuple(sorted(rules_new.keys() - rules_old.keys())),
        changed=tuple(changed),
    )


Conditions = Mapping[int, tuple[str, str]]
"""The class and the condition of a rule by version of its operator, 0 for a rule of no operator."""


def _rules(edition: Edition) -> dict[str, Conditions]:
    active = ActiveRules(edition)
    found: dict[str, dict[int, tuple[str, str]]] = {
        rule.slug: {0: (rule.kind, _condition(rule, demand.text))} for rule, demand in active.general
    }
    found |= {rule.slug: {0: (rule.kind, rule.statement)} for rule in active.graph}
    for name in edition.operators:
        definition = catalogue.operator(name)
        for version in definition.versions if definition else ():
            resolved = signature(name, version, edition.name)
            for rule in resolved.rules if resolved else ():
                demand = active_condition(rule, resolved.text, active.editions) if resolved else None
                condition = _condition(rule, demand.text if demand else rule.statement)
                found.setdefault(rule.slug, {})[version] = (rule.kind, condition)
    return dict(found)


def _condition(rule: Rule, text: str) -> str:
    return f"{text}, where {rule.when.text}" if rule.when is not None else text


def _changes(slug: str, old: Conditions, new: Conditions) -> list[Changed]:
    """The changes of one rule; equal changes of several versions are one."""
    found: dict[tuple[str, str, str], list[int]] = {}
    for version in sorted(old.keys() | new.keys()):
        for index, what in enumerate(("class", "condition")):
            was, now = (side[version][index] if version in side else "not demanded" for side in (old, new))
            if was != now:
                found.setdefault((what, was, now), []).append(version)
    whole = old.keys() | new.keys()
    return [
        Changed(slug, what + ("" if set(versions) == whole else f" in version {_listed(versions)}"), was, now)
        for (what, was, now), versions in found.items()
    ]


def _listed(versions: Iterable[int]) -> str:
    return ", ".join(map(str, versions))


def _general(old: Edition, new: Edition) -> list[Changed]:
    pairs = (
        ("general text", old.general, new.general),
        ("element types", ", ".join(old.element_types), ", ".join(new.element_types)),
    )
    return [Changed("edition", what, was, now) for what, was, now in pairs if was != now]


def _operators(old: Edition, new: Edition) -> list[Changed]:
    found = []
    for name in sorted(old.operators.keys() & new.operators.keys()):
        pairs = (("text", old.operators[name], new.operators[name]), ("status", old.status(name), new.status(name)))
        found += [Changed(name, what, was, now) for what, was, now in pairs if was != now]
    return found


def compare_verdicts(model: Model, request: CheckRequest, name: str, before: str, after: str) -> ModelDifference:
    """The difference between the reports on a model under two editions."""
    old, new = (check_model(model, "", replace(request, edition=edition), name) for edition in (before, after))
    keys_old, keys_new = ({_key(each) for each in report.findings} for report in (old, new))
    return ModelDifference(
        name=name,
        before=old,
        after=new,
        gone=tuple(each for each in old.findings if _key(each) not in keys_new),
        new=tuple(each for each in new.findings if _key(each) not in keys_old),
    )


def _key(finding: Finding) -> tuple[str, str, str, str]:
    return finding.rule, finding.verdict, finding.where.place, finding.actual
