"""The difference of two editions, as text and as JSON; difference.schema.json beside this file is made from it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from sonnx.base.escaping import escape, plural
from sonnx.checker.edition_difference import EditionDifference, ModelDifference
from sonnx.checker.report import Finding
from sonnx.checker.verdicts import Verdict
from sonnx.profile.text_types import EditionName, Slug
from sonnx.report.check_text import MORE_PLACES
from sonnx.report.json_parts import JsonDocument, Part, dumps, part, tool
from sonnx.report.phrases import grouped, place


def text(found: EditionDifference, models: Sequence[ModelDifference], unreadable: Mapping[str, str]) -> str:
    """The models first, because the reader acts on them; then operators and rules."""
    lines = [line for each in models for line in _model(each, found)]
    lines += [f"{escape(name)}: unreadable" for name in unreadable]
    lines += [*_profiles(found)]
    return "\n".join(lines) + "\n"


def _profiles(found: EditionDifference) -> Iterator[str]:
    yield f"edition {found.before} -> {found.after}"
    names = ("operators_gone", "operators_new", "rules_gone", "rules_new")
    for name in names:
        listed = getattr(found, name)
        yield f"{name.replace('_', ' ')} ({len(listed)}): {', '.join(listed) or 'none'}"
    yield f"changed ({len(found.changed)}){'' if found.changed else ': nothing'}"
    for each in found.changed:
        yield f"  {each.name}: {each.what}"
        yield f"    - {each.before}"
        yield f"    + {each.after}"


def _model(each: ModelDifference, found: EditionDifference) -> Iterator[str]:
    verdict = f"{each.before.verdict} -> {each.after.verdict}" if each.changes else f"{each.after.verdict} in both"
    yield f"{escape(each.name)}: {verdict} ({found.before} -> {found.after})"
    for sign, findings in (("-", each.gone), ("+", each.new)):
        for group in grouped([one for one in findings if not one.cause]):
            yield f"  {sign} {group[0].verdict} {group[0].rule}, {plural(len(group), 'place')}"
            yield from (f"      {place(one.where)}: {one.actual}" for one in group[:MORE_PLACES])
            if len(group) > MORE_PLACES:
                yield f"      and {len(group) - MORE_PLACES} more"
        folded = sum(bool(one.cause) for one in findings)
        if folded:
            yield f"  {sign} {folded} answers that are undecided only because of failures"
    yield ""


# ------------------------------------------------------------------ JSON


class ChangedPart(Part, frozen=True):
    """What both editions have, and state differently."""

    name: str
    """The operator or the slug of the rule."""
    what: str
    """What of it differs."""
    before: str
    """What the first edition states."""
    after: str
    """What the second edition states."""


class ResultPart(Part, frozen=True):
    """A result that only one of the editions gives."""

    rule: Slug
    """The slug of the rule."""
    verdict: Verdict
    """The result."""
    place: str
    """The place in the file."""
    message: str
    """What the model states."""
    because_of: Slug | None
    """The rule whose failure alone leaves this one undecided."""


class ModelPart(Part, frozen=True):
    """A model that was checked against both editions."""

    model: str
    """The file, as it was named."""
    before: Verdict
    """The verdict under the first edition."""
    after: Verdict
    """The verdict under the second edition."""
    gone: tuple[ResultPart, ...]
    """Results only the first edition gives."""
    new: tuple[ResultPart, ...]
    """Results only the second edition gives."""


class UnreadablePart(Part, frozen=True):
    """A file that was not checked."""

    model: str
    """The file, as it was named."""
    reason: str
    """Why it is not a readable model."""


class DifferenceDocument(JsonDocument, frozen=True):
    """The difference of two editions: sonnx diff-edition --format json."""

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
    changed: tuple[ChangedPart, ...]
    """What both editions have and state differently."""
    models: tuple[ModelPart, ...]
    """The models that were checked against both."""
    unreadable: tuple[UnreadablePart, ...]
    """Files that were not checked."""


def as_json(found: EditionDifference, models: Sequence[ModelDifference], unreadable: Mapping[str, str]) -> str:
    """One JSON document, with the keys of the JSON report where it has them."""
    changed = tuple(part(ChangedPart, each) for each in found.changed)
    listed = tuple(
        ModelPart(each.name, each.before.verdict, each.after.verdict, _results(each.gone), _results(each.new))
        for each in models
    )
    without = tuple(UnreadablePart(name, str(reason)) for name, reason in unreadable.items())
    document = part(
        DifferenceDocument, found, format=1, tool=tool(), changed=changed, models=listed, unreadable=without
    )
    return dumps(document)


def _results(findings: Sequence[Finding]) -> tuple[ResultPart, ...]:
    return tuple(
        ResultPart(each.rule, each.verdict, each.where.place, each.actual, each.cause or None) for each in findings
    )
