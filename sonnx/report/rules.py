"""What `sonnx rules` lists: the rules and operators of an edition; rules.schema.json is made from `RuleList`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Literal

from msgspec import Struct, field

from sonnx.base.escaping import plural
from sonnx.base.reported import HIDDEN, Result
from sonnx.profile import catalogue
from sonnx.profile.definitions import Edition, Rule, StatedEdition, Tag, show_tags
from sonnx.profile.index import rules_in_force
from sonnx.profile.text_types import OperatorName, Slug, Text
from sonnx.report.phrases import tags_until
from sonnx.report.rendered import Rendered


class ListedRule(Struct, frozen=True):
    """A rule in force."""

    slug: Slug = field(name="rule")
    """The slug of the rule."""
    kind: Literal["validity", "restriction", "error-condition"] = field(name="class")
    """Who demands the rule, and of what."""
    statement: Text
    """What is demanded, as one sentence."""
    require: str | None
    """The condition in the rule language, null where a function decides."""
    tags: tuple[Tag, ...]
    """The labels of all texts up to the edition."""


class RuleList(Result, Rendered, frozen=True):
    """The rules and operators of an edition: sonnx rules --format json."""

    edition: StatedEdition
    """The edition that is listed."""
    rules: tuple[ListedRule, ...]
    """Every rule in force: the general ones, those on files and graphs, then by operator."""
    operators: Mapping[OperatorName, Literal["specified", "draft", "planned"]]
    """Every operator the edition names, with its status."""
    unwritten: Annotated[tuple[str, ...], HIDDEN]
    """The operators whose rules are not written yet."""

    def one_line(self) -> str:
        """The edition and the number of its rules."""
        return f"edition {self.edition.name}, {plural(len(self.rules), 'rule')}"

    def to_text(self) -> str:
        """A table of the rules, and the list of operators."""
        width = max(len(rule.slug) for rule in self.rules)
        lines = [f"edition {self.edition.name}: {self.edition.title}", ""]
        lines += [
            f"{rule.slug:<{width}}  {rule.kind:<15}  {rule.statement}  {show_tags(rule.tags)}".rstrip()
            for rule in self.rules
        ]
        return "\n".join([*lines, "", *(f"{term}: {names}" for term, names in self._operators())]) + "\n"

    def _operators(self) -> Iterator[tuple[str, str]]:
        named = {status: [name for name, own in self.operators.items() if own == status] for status in STATUSES}
        ruled = [name for name in (*named["specified"], *named["draft"]) if name not in self.unwritten]
        yield "operators with rules", ", ".join(sorted(ruled))
        yield "operators whose rules are not written yet", ", ".join(self.unwritten) or "none"
        yield "drafts among them", ", ".join(named["draft"]) or "none"
        yield "planned, not specified", ", ".join(named["planned"]) or "none"


STATUSES = ("specified", "draft", "planned")


def rule_list(name: str | None) -> RuleList:
    """The rules and operators of an edition, by default of the default one.

    Raises:
        UsageError: an unknown edition.
    """
    edition = catalogue.edition_named(name)
    named = {operator: edition.status(operator) for operator in sorted({*edition.operators, *edition.planned})}
    return RuleList(
        edition=StatedEdition(edition.name, edition.title, edition.consolidated),
        rules=tuple(_listed_rule(rule, edition) for rule in rules_of(edition)),
        operators=named,  # type: ignore[arg-type]
        unwritten=tuple(sorted(operator for operator in edition.operators if not catalogue.operator(operator))),
    )


def _listed_rule(rule: Rule, edition: Edition) -> ListedRule:
    require = rule.require.text if rule.require else None
    return ListedRule(rule.slug, rule.kind, rule.statement, require, tags_until(rule, edition))  # type: ignore[arg-type]


def rules_of(edition: Edition) -> Iterator[Rule]:
    """Every rule in force: general, graph, then by operator, newest version first."""
    for name in ("", *sorted({*edition.operators, *edition.planned})):
        yield from (each.rule for each in rules_in_force(edition, name=name))
