"""The difference between two editions: operators, rules with their conditions, and verdicts on given models."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Annotated

from msgspec import Struct, field
from msgspec.structs import replace

from sonnx.base.errors import USAGE, Unreadable
from sonnx.base.reported import ABSENT_IF_EMPTY, HIDDEN, Result, reported_as
from sonnx.checker.conditions import Conditions
from sonnx.checker.report import Finding, Report
from sonnx.checker.request import CheckRequest, check_model, open_model
from sonnx.checker.rules import ActiveRules, signatures_in_force
from sonnx.checker.verdicts import Verdict
from sonnx.model.ir import Model
from sonnx.profile import catalogue
from sonnx.profile.definitions import Edition, Rule
from sonnx.profile.signature import active_condition
from sonnx.profile.text_types import EditionName, Slug


class Changed(Struct, frozen=True):
    """What both editions have, and state differently."""

    name: str
    """The operator or the slug of the rule."""
    what: str
    """What of it differs."""
    before: str
    """What the first edition states."""
    after: str
    """What the second edition states."""


class ResultOfEdition(Struct, frozen=True):
    """A result that only one of the editions gives."""

    rule: Slug
    """The slug of the rule."""
    verdict: Verdict
    """The result."""
    place: str
    """The place in the file."""
    message: str
    """What the model states."""
    because_of: Annotated[Slug, ABSENT_IF_EMPTY]
    """The rule whose failure alone leaves this one undecided."""


class ModelDifference(Struct, frozen=True):
    """A model that was checked against both editions."""

    name: str = field(name="model")
    """The file, as it was named."""
    before: Annotated[Report, HIDDEN]
    after: Annotated[Report, HIDDEN]
    gone: Annotated[tuple[Finding, ...], HIDDEN]
    new: Annotated[tuple[Finding, ...], HIDDEN]

    @property
    def changes(self) -> bool:
        """Whether the verdict on the model differs."""
        return self.before.verdict is not self.after.verdict

    @property
    @reported_as("before")
    def verdict_before(self) -> Verdict:
        """The verdict under the first edition."""
        return self.before.verdict

    @property
    @reported_as("after")
    def verdict_after(self) -> Verdict:
        """The verdict under the second edition."""
        return self.after.verdict

    @property
    @reported_as("gone")
    def results_gone(self) -> tuple[ResultOfEdition, ...]:
        """Results only the first edition gives."""
        return tuple(map(_result, self.gone))

    @property
    @reported_as("new")
    def results_new(self) -> tuple[ResultOfEdition, ...]:
        """Results only the second edition gives."""
        return tuple(map(_result, self.new))


def _result(finding: Finding) -> ResultOfEdition:
    return ResultOfEdition(finding.rule, finding.verdict, finding.where.place, finding.actual, finding.cause)


class UnreadableModel(Struct, frozen=True):
    """A file that was not checked."""

    model: str
    """The file, as it was named."""
    reason: str
    """Why it is not a readable model."""


class EditionDifference(Result, frozen=True):
    """The difference of two editions: sonnx rules --since --format json."""

    conditions: Conditions
    """What the verdicts on models hold for, beside the edition of each."""
    before: EditionName
    """The first edition."""
    after: EditionName
    """The second edition."""
    operators_gone: tuple[str, ...]
    """Operators only the first edition has."""
    operators_new: tuple[str, ...]
    """Operators only the second edition has."""
    rules_gone: tuple[Slug, ...]
    """Slugs of rules only the first edition has."""
    rules_new: tuple[Slug, ...]
    """Slugs of rules only the second edition has."""
    changed: tuple[Changed, ...]
    """What both editions have and state differently."""
    models: tuple[ModelDifference, ...] = ()
    """The models that were checked against both."""
    unreadable: tuple[UnreadableModel, ...] = ()
    """Files that were not checked."""

    @property
    def exit_code(self) -> int:
        """0, 1 if the verdict on a model changes, 2 if a model cannot be read."""
        if self.unreadable:
            return USAGE
        return 1 if any(model.changes for model in self.models) else 0


def compare_editions(
    before: str, after: str, models: Iterable[str] = (), request: CheckRequest | None = None
) -> EditionDifference:
    """The difference between two editions, and between the verdicts on model files under both.

    Raises:
        UsageError: an edition does not exist.
    """
    old, new = catalogue.edition_named(before), catalogue.edition_named(after)
    rules_old, rules_new = _rules(old), _rules(new)
    changed = [*_general(old, new), *_operators(old, new)]
    for slug in sorted(rules_old.keys() & rules_new.keys()):
        changed += _changes(slug, rules_old[slug], rules_new[slug])
    compared, unreadable, chosen, digests = [], [], request or CheckRequest(), dict[str, str]()
    for name in models:
        try:
            model, digest = open_model(name, hashed=True, limits=chosen.limits)
            digests[name] = digest
            compared.append(compare_verdicts(model, chosen, name, before, after))
        except Unreadable as reason:
            unreadable.append(UnreadableModel(name, str(reason)))
    return EditionDifference(
        conditions=replace(chosen.conditions(), edition=None, digests=digests),
        before=before,
        after=after,
        operators_gone=tuple(sorted(old.operators.keys() - new.operators.keys())),
        operators_new=tuple(sorted(new.operators.keys() - old.operators.keys())),
        rules_gone=tuple(sorted(rules_old.keys() - rules_new.keys())),
        rules_new=tuple(sorted(rules_new.keys() - rules_old.keys())),
        changed=tuple(changed),
        models=tuple(compared),
        unreadable=tuple(unreadable),
    )


Demands = Mapping[int, tuple[str, str]]
"""The class and the condition of a rule by version of its operator, 0 for a rule without one."""


def _rules(edition: Edition) -> dict[str, Demands]:
    active = ActiveRules(edition)
    conditions: dict[str, dict[int, tuple[str, str]]] = {
        rule.slug: {0: (rule.kind, _condition(rule, demand.text))} for rule, demand in active.general
    }
    conditions |= {rule.slug: {0: (rule.kind, rule.statement)} for rule in active.graph}
    for resolved in signatures_in_force(edition):
        for rule in resolved.rules:
            demand = active_condition(rule, resolved.text, active.editions)
            condition = _condition(rule, demand.text if demand else rule.statement)
            conditions.setdefault(rule.slug, {})[resolved.version] = (rule.kind, condition)
    return dict(conditions)


def _condition(rule: Rule, text: str) -> str:
    return f"{text}, where {rule.when.text}" if rule.when is not None else text


def _changes(slug: str, old: Demands, new: Demands) -> list[Changed]:
    """The changes of one rule; equal changes of several versions are one."""
    versions_of: dict[tuple[str, str, str], list[int]] = {}
    for version in sorted(old.keys() | new.keys()):
        for index, what in enumerate(("class", "condition")):
            was, now = (side[version][index] if version in side else "not demanded" for side in (old, new))
            if was != now:
                versions_of.setdefault((what, was, now), []).append(version)
    whole = old.keys() | new.keys()
    return [
        Changed(slug, what + ("" if set(versions) == whole else f" in version {_numbers(versions)}"), was, now)
        for (what, was, now), versions in versions_of.items()
    ]


def _numbers(versions: Iterable[int]) -> str:
    return ", ".join(map(str, versions))


def _general(old: Edition, new: Edition) -> list[Changed]:
    pairs = (
        ("general text", old.general, new.general),
        ("element types", ", ".join(old.element_types), ", ".join(new.element_types)),
    )
    return [Changed("edition", what, was, now) for what, was, now in pairs if was != now]


def _operators(old: Edition, new: Edition) -> list[Changed]:
    operators = []
    for name in sorted(old.operators.keys() & new.operators.keys()):
        pairs = (("text", old.operators[name], new.operators[name]), ("status", old.status(name), new.status(name)))
        operators += [Changed(name, what, was, now) for what, was, now in pairs if was != now]
    return operators


def compare_verdicts(model: Model, request: CheckRequest, name: str, before: str, after: str) -> ModelDifference:
    """The difference between the reports on a model under two editions."""
    old, new = (check_model(model, "", replace(request, edition=edition), name) for edition in (before, after))
    keys_old, keys_new = ({_key(finding) for finding in report.findings} for report in (old, new))
    return ModelDifference(
        name=name,
        before=old,
        after=new,
        gone=tuple(finding for finding in old.findings if _key(finding) not in keys_new),
        new=tuple(finding for finding in new.findings if _key(finding) not in keys_old),
    )


def _key(finding: Finding) -> tuple[str, str, str, str]:
    return finding.rule, finding.verdict, finding.where.place, finding.actual
