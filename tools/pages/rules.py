"""A page for each rule: why, formula, what passes, what fails, remedy, sources, errata, cases and theorems."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from sonnx.base.escaping import plural
from sonnx.evidence.traceability import Trace
from sonnx.profile import catalogue
from sonnx.profile.cases import RuleCase
from sonnx.profile.definitions import Rule
from sonnx.prover.dependencies import page_of
from sonnx.prover.theorem import Theorem
from sonnx.report.explain import class_of, examples, rule_facts
from tools.pages.operators import GENERATED, cell, table

ORPHAN = "---\norphan: true\n---\n\n"
"""The list of rules links the page; the sidebar of every page does not."""
VERBATIM = ("formula", "where", "in ONNX", "condition")
MAX_NAMED_THEOREMS = 12


def pages(traced: Mapping[str, Trace], proved: Sequence[Theorem]) -> dict[str, str]:
    """The pages by file name: one for each rule, and the list of them."""
    known = {theorem.id: theorem for theorem in proved}
    made = {f"{slug}.md": ORPHAN + _page(trace, known) for slug, trace in traced.items()}
    return {"index.md": _index([trace.rule for trace in traced.values()]), **made}


def linked(slug: str, folder: str = "rules/") -> str:
    """The slug, linked to its page in a folder."""
    return f"[{slug}]({folder}{slug}.md)"


def _page(trace: Trace, theorems: Mapping[str, Theorem]) -> str:
    rule = trace.rule
    lines = [GENERATED, "", f"# {rule.slug}", "", rule.statement, "", f"*{_kind(rule)}*", ""]
    facts: dict[str, list[str]] = {}
    for label, text in rule_facts(rule):
        facts.setdefault(label, []).append(text)
    for label, texts in facts.items():
        lines += [f"**{label[:1].upper()}{label[1:]}.** {'' if label in VERBATIM else _sentences(texts)}".rstrip(), ""]
        lines += ["```text", *texts, "```", ""] if label in VERBATIM else []
    for word, case in examples(rule.slug):
        lines += [f"## What {word}", "", f"{case.title[:1].upper()}{case.title[1:]}:", "", *_model(case), ""]
    lines += ["## Cases and theorems", "", *_evidence(trace, theorems), ""]
    for name in rule.errata:
        erratum = catalogue.errata()[name]
        lines += [f"## Erratum {name}", "", f"Documents: {', '.join(erratum.document)}; {erratum.place}.", ""]
        for label, text in (
            ("What is wrong", erratum.defect), ("Example", erratum.counterexample), ("This tool", erratum.reading)
        ):  # fmt: skip
            lines += [f"**{label}.** {' '.join(text.split())}", ""]
    return "\n".join(lines).rstrip() + "\n"


def _kind(rule: Rule) -> str:
    operator = rule.slug.partition(".")[0] if "." in rule.slug and rule.kind != "project" else ""
    about = f", about [{operator}](../operators/{operator.lower()}.md)" if operator else ""
    return f"{class_of(rule)[:1].upper()}{class_of(rule)[1:]}{about}. [All rules](index.md)"


def _sentences(texts: Sequence[str]) -> str:
    return " ".join(texts) if len(texts) == 1 else "\n\n" + "\n".join(f"* {text}" for text in texts)


def _model(case: RuleCase) -> list[str]:
    return ["```text", *case.text.splitlines(), "```"]


def _evidence(trace: Trace, theorems: Mapping[str, Theorem]) -> Iterator[str]:
    yield f"* code: {', '.join(f'`sonnx.{name}`' for name in trace.code) or 'its condition'}"
    for word, ids in (("conforming", trace.conforming), ("violating", trace.violating)):
        files = Counter(name.partition(":")[0] for name in ids)
        listed = ", ".join(f"{number} in restrictions/cases/{file}" for file, number in files.items())
        yield f"* {word} cases: {listed or 'none'}"
    named = [f"[{name}](../theorems/{page_of(theorems[name])}.md)" for name in trace.theorems[:MAX_NAMED_THEOREMS]]
    more = len(trace.theorems) - len(named)
    named += [f"and {more} more there"] if more > 0 else []
    yield f"* {plural(len(trace.theorems), 'theorem')}{': ' if named else ''}{', '.join(named)}"


def _index(rules: Sequence[Rule]) -> str:
    lines = [
        GENERATED,
        "",
        "# Rules",
        "",
        "Every rule has a page; `sonnx explain ID` prints the same in a terminal.",
        "",
    ]
    by_subject: dict[str, list[Rule]] = {}
    for rule in rules:
        subject = rule.slug.partition(".")[0] if "." in rule.slug else "Files, graphs and values"
        by_subject.setdefault(subject, []).append(rule)
    for subject, listed in by_subject.items():
        lines += [f"## {subject}", "", *table("rule", "class", "statement")]
        lines += [f"| {linked(rule.slug, '')} | {rule.kind} | {cell(rule.statement)} |" for rule in listed]
        lines += [""]
    return "\n".join(lines)
