"""What `sonnx rules` lists: the rules and operators of an edition; rules.schema.json is made from it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from msgspec import field

from sonnx.checker.rules import ActiveRules
from sonnx.profile import catalogue
from sonnx.profile.definitions import Edition, Rule, show_tags
from sonnx.profile.signature import signature
from sonnx.profile.text_types import OperatorName
from sonnx.report.json_parts import EditionPart, Part, Slug, TagPart, Text, dumps, edition_part, tag_parts
from sonnx.report.phrases import tags_until


def rules_of(edition: Edition) -> Iterator[Rule]:
    """Every rule in force: general, graph, then by operator, newest version first."""
    active = ActiveRules(edition)
    yield from (rule for rule, _ in active.general)
    yield from active.graph
    for name in sorted({*edition.operators, *edition.planned}):
        described = catalogue.operator(name)
        seen: set[str] = set()
        for version in described.specified_first if described else ():
            made = signature(name, version, edition.name)
            for rule in made.rules if made else ():
                if rule.slug not in seen:
                    seen.add(rule.slug)
                    yield rule


def as_text(name: str | None) -> str:
    """A table of the rules of an edition, by default the default one, and the list of operators.

    Raises:
        UsageError: an unknown edition.
    """
    edition = catalogue.edition_named(name)
    listed = list(rules_of(edition))
    width = max(len(rule.slug) for rule in listed)
    lines = [f"edition {edition.name}: {edition.title}", ""]
    lines += [
        f"{rule.slug:<{width}}  {rule.kind:<15}  {rule.statement}  {show_tags(tags_until(rule, edition))}".rstrip()
        for rule in listed
    ]
    lines += ["", *_operators(edition)]
    return "\n".join(lines) + "\n"


def _operators(edition: Edition) -> Iterator[str]:
    written = [name for name in sorted(edition.operators) if catalogue.operator(name)]
    missing = [name for name in sorted(edition.operators) if not catalogue.operator(name)]
    yield f"operators with rules: {', '.join(written)}"
    yield f"operators whose rules are not written yet: {', '.join(missing) or 'none'}"
    yield f"drafts among them: {', '.join(sorted(edition.drafts)) or 'none'}"
    yield f"planned, not specified: {', '.join(sorted(edition.planned)) or 'none'}"


# ------------------------------------------------------------------ JSON


class ListedRule(Part, frozen=True):
    """A rule in force."""

    rule: Slug
    """The slug of the rule."""
    kind: Literal["validity", "restriction", "error-condition"] = field(name="class")
    """Who demands the rule, and of what."""
    statement: Text
    """What is demanded, as one sentence."""
    require: str | None
    """The condition in the rule language, null where a function decides."""
    tags: tuple[TagPart, ...]
    """The labels of all texts up to the edition."""


class RulesDocument(Part, frozen=True):
    """The rules and operators of an edition: sonnx rules --format json."""

    format: Literal[1]
    """The version of this format; a change that breaks a reader gets a new number."""
    edition: EditionPart
    """The edition that is listed."""
    rules: tuple[ListedRule, ...]
    """Every rule in force: the general ones, those on files and graphs, then by operator."""
    operators: dict[OperatorName, Literal["specified", "draft", "planned"]]
    """Every operator the edition names, with its status."""


def as_json(name: str | None) -> str:
    """The same as a JSON document."""
    edition = catalogue.edition_named(name)
    rules = tuple(
        ListedRule(
            rule.slug, rule.kind, rule.statement,  # type: ignore[arg-type]
            rule.require.text if rule.require else None, tag_parts(tags_until(rule, edition)),
        )
        for rule in rules_of(edition)
    )  # fmt: skip
    named = {operator: edition.status(operator) for operator in sorted({*edition.operators, *edition.planned})}
    return dumps(RulesDocument(1, edition_part(edition), rules, named))  # type: ignore[arg-type]
