"""The list of all rules, and the page of those about files, graphs and values; operators' pages have the others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sonnx.evidence.traceability import Trace
from sonnx.profile.definitions import Rule
from sonnx.prover.theorem import Theorem
from sonnx.report.phrases import GENERAL_RULES
from tools.pages.rule_entries import GENERATED, cell, linked, rule_entry, table

GENERAL = "Files, graphs and values"


def pages(traced: Mapping[str, Trace], proved: Sequence[Theorem]) -> dict[str, str]:
    """The list of the rules and the page of the general ones, by their paths in docs/."""
    known = {theorem.id: theorem for theorem in proved}
    general = [trace for slug, trace in traced.items() if "." not in slug]
    lines = [GENERATED, "", f"# Rules about {GENERAL.lower()}", "", "They hold for every model.", "", "## Rules", ""]
    for trace in general:
        lines += [*rule_entry(trace, known), ""]
    return {
        "rules/index.md": _index([trace.rule for trace in traced.values()]),
        f"{GENERAL_RULES}.md": "\n".join(lines).rstrip() + "\n",
    }


def _index(rules: Sequence[Rule]) -> str:
    lines = [
        GENERATED,
        "",
        "# Rules",
        "",
        "The rules of an operator stand on its page; `sonnx explain ID` prints the same in a terminal.",
        "",
    ]
    by_subject: dict[str, list[Rule]] = {}
    for rule in rules:
        by_subject.setdefault(rule.slug.partition(".")[0] if "." in rule.slug else GENERAL, []).append(rule)
    for subject, listed in by_subject.items():
        lines += [f"## {subject}", "", *table("rule", "class", "statement")]
        lines += [f"| {linked(rule.slug, '../')} | {rule.kind} | {cell(rule.statement)} |" for rule in listed]
        lines += [""]
    return "\n".join(lines)
