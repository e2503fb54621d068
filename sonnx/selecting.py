"""Choosing rules: a report that speaks only of some of them, and says so."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace

from sonnx.catalogue import general_rules, graph_rules, operators
from sonnx.misuse import Misuse
from sonnx.profile import Rule
from sonnx.signature import every_rule
from sonnx.verdict import Count, Coverage, Report, judged, overall


class UnknownRule(Misuse):
    """A slug, tag or operator that no rule has."""


def every() -> dict[str, Rule]:
    """Every rule of the catalogue by slug, derived ones included; reads all operator files."""
    rules = [*general_rules(), *graph_rules(), *(rule for each in operators() for rule in every_rule(each))]
    return {rule.slug: rule for rule in rules}


def named(wanted: Iterable[str]) -> frozenset[str]:
    """The slugs meant by slugs, tags (`R1`, `R1@2025-10`) and operators (`Max`).

    Raises:
        UnknownRule: where one of them means no rule.
    """
    known = every()
    found: set[str] = set()
    for name in wanted:
        matches = {slug for slug, rule in known.items() if matches_rule(name, rule)}
        if not matches:
            raise UnknownRule(f"no rule, tag or operator is called {name!r}; `sonnx rules` lists them")
        found |= matches
    return frozenset(found)


def matches_rule(name: str, rule: Rule) -> bool:
    """Whether a slug, operator, tag, or tag with its text means the rule."""
    if name in (rule.slug, rule.slug.partition(".")[0]):
        return True
    label, _, text = name.partition("@")
    return any(tag.label == label and text in ("", tag.text) for tag in rule.tags)


def select(report: Report, chosen: Collection[str], ignored: Collection[str]) -> Report:
    """The report on the chosen rules without the ignored ones; it is partial.

    Raises:
        UnknownRule: where a name means no rule.
    """
    keep = named(chosen) if chosen else frozenset(every())
    keep -= named(ignored) if ignored else frozenset()
    counts = tuple(count for count in report.counts if count.rule in keep)
    said = [f"only {', '.join(sorted(chosen))}"] if chosen else []
    said += [f"without {', '.join(sorted(ignored))}"] if ignored else []
    findings = (finding for finding in report.findings if finding.rule in keep)
    return replace(
        report,
        findings=tuple(each if each.cause in keep else replace(each, cause="") for each in findings),
        coverage=_coverage(report.coverage, counts),
        counts=counts,
        verdict=overall({count.verdict for count in counts}),
        rules={slug: rule for slug, rule in report.rules.items() if slug in keep},
        partial=" ".join(said),
    )


def _coverage(whole: Coverage, counts: tuple[Count, ...]) -> Coverage:
    """How much of the selection was judged; the nodes are those of the model."""
    applicable, evaluated = judged(counts)
    return replace(whole, known=len({count.rule for count in counts}), applicable=applicable, evaluated=evaluated)
