"""Choosing rules: a report that speaks only of some of them, and says so."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace
from functools import cache
from typing import NamedTuple

from sonnx.base.errors import UsageError
from sonnx.checker.report import Count, Coverage, Report, judged, overall
from sonnx.profile.catalogue import general_rules, graph_rules, operators
from sonnx.profile.definitions import Formal, Operator, Rule, Tag
from sonnx.profile.signature import every_rule


class UnknownRule(UsageError):
    """A slug, tag or operator that no rule has."""


def every() -> dict[str, Rule]:
    """Every rule of the catalogue by slug, derived ones included; reads all operator files."""
    rules = [*general_rules(), *graph_rules(), *(rule for each in operators() for rule in every_rule(each))]
    return {rule.slug: rule for rule in rules}


class Label(NamedTuple):
    """A label of a text, the rule that decides what it demands, and of which operator, input or parameter.

    The rule is "" where the label states what the operator computes, the subject "" where the rule has the label.
    """

    tag: Tag
    rule: str
    subject: str = ""


@cache
def labels() -> tuple[Label, ...]:
    """Every label of every text: on rules, and on the parts of operator files that a general rule decides."""
    found = [Label(tag, rule.slug) for rule in every().values() for tag in rule.tags]
    return tuple(dict.fromkeys([*found, *(label for each in operators() for label in _parts(each))]))


def _parts(described: Operator) -> Iterator[Label]:
    for tag in described.tags:
        yield Label(tag, tag.rule, described.name)
    for parameter in described.parameters:
        for tag in parameter.tags:
            yield Label(tag, "no-default-values", f"{described.name}.{parameter.name}")
    for given in described.inputs:
        for tag in given.tags:
            yield Label(tag, "inputs-connected", f"{described.name}.{given.name}")
    formals: tuple[Formal, ...] = (*described.inputs, *described.outputs)
    for each in formals:
        for tag in each.type_tags if each.type in described.types else ():
            yield Label(tag, "no-implicit-conversion", f"{described.name}.{each.name}")


def named(wanted: Iterable[str]) -> frozenset[str]:
    """The slugs meant by slugs, tags (`R1`, `R1@2025-10`) and operators (`Max`).

    Raises:
        UnknownRule: where one of them means no rule.
    """
    known = every()
    found: set[str] = set()
    for name in wanted:
        matches = {slug for slug, rule in known.items() if matches_rule(name, rule)}
        matches |= {label.rule for label in labels() if label.rule and matches_tag(name, label.tag)}
        if not matches:
            raise UnknownRule(f"no rule, tag or operator is called {name!r}; `sonnx rules` lists them")
        found |= matches
    return frozenset(found)


def matches_rule(name: str, rule: Rule) -> bool:
    """Whether a slug, operator, tag, or tag with its text means the rule."""
    if name in (rule.slug, rule.slug.partition(".")[0]):
        return True
    return any(matches_tag(name, tag) for tag in rule.tags)


def matches_tag(name: str, tag: Tag) -> bool:
    """Whether a label, or a label with its text, means the tag."""
    label, _, text = name.partition("@")
    return tag.label == label and text in ("", tag.text)


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
