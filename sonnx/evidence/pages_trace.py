"""The page of traceability: labels to rules, rules to code, cases and theorems, and what has no counterpart."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from sonnx.evidence.pages_operator import MADE, cell, table, tags_of
from sonnx.evidence.traceability import Trace, concerned, errata_named, of_operator, words_used
from sonnx.profile import catalogue
from sonnx.profile.index import labels

if TYPE_CHECKING:  # it loads z3
    from sonnx.prover.theorem import Theorem

INTRODUCTION = """\
From a label of a text to the rules it demands, from a rule to the code that decides it, the cases that show it and the
theorems about it; and back. The pages of the [operators](operators/index.md) have the rest of each rule."""


def page(traced: Mapping[str, Trace], theorems: Iterable[Theorem]) -> str:
    """The page as Markdown."""
    proved = list(theorems)
    lines = [MADE, "", "# Traceability", "", INTRODUCTION, "", "## Labels of the texts", "", *_labels(), ""]
    lines += ["## Rules", "", *_rules(traced), "", "## Theorems about words and values", "", *_theorems(proved, traced)]
    lines += ["", "## Without a counterpart", "", *_orphans(traced, proved)]
    return "\n".join(lines) + "\n"


def index() -> str:
    """The list of the operators' pages."""
    lines = [MADE, "", "# Operators", "", *table("operator", "what it computes", "status in the default edition")]
    known = catalogue.editions()
    edition = known.editions[known.default]
    for each in catalogue.operators():
        status = edition.status(each.name)
        lines += [f"| [{each.name}]({each.name.lower()}.md) | {cell(each.summary)} | {status} |"]
    return "\n".join(lines) + "\n"


def linked(slug: str) -> str:
    """The slug, linked to the page of its operator."""
    operator, dot, name = slug.partition(".")
    return f"[{slug}](operators/{operator.lower()}.md#{operator.lower()}{name.lower()})" if dot else slug


def _labels() -> Iterator[str]:
    order = list(catalogue.editions().texts)
    yield from table("text", "label", "rules")
    by_label: dict[tuple[int, str, str], dict[str, None]] = {}
    for tag, rule, subject in labels():
        scope = (subject or rule).partition(".")[0] if "." in (subject or rule) else ""
        said = f"{linked(rule)}{f' on {subject}' if subject else ''}"
        by_label.setdefault((order.index(tag.text), scope, tag.label), {})[said] = None
    for (text, scope, label), rules in sorted(by_label.items()):
        yield f"| {order[text]} | {f'{scope} ' if scope else ''}{label} | {', '.join(rules)} |"


def _rules(traced: Mapping[str, Trace]) -> Iterator[str]:
    yield from table("rule", "labels", "code", "cases (conforming, violating)", "theorems")
    for slug, trace in traced.items():
        tags = tags_of((tag.text, tag.label) for tag in trace.rule.tags)
        cases = f"{_files(trace.conforming)}, {_files(trace.violating)}"
        yield f"| {linked(slug)} | {tags} | {', '.join(trace.code) or 'its text'} | {cases} | {len(trace.theorems)} |"


def _files(ids: Iterable[str]) -> str:
    """How many cases, and in which files."""
    by_file: dict[str, int] = {}
    for each in ids:
        file = each.partition(":")[0]
        by_file[file] = by_file.get(file, 0) + 1
    return " + ".join(f"{number} in {file}" for file, number in by_file.items()) or "none"


def _theorems(proved: Iterable[Theorem], traced: Mapping[str, Trace]) -> Iterator[str]:
    rules = {slug: trace.rule for slug, trace in traced.items()}
    yield from table("theorem", "rules it concerns", "erratum")
    for theorem in proved:
        if not of_operator(theorem):
            said = [linked(slug) for slug in concerned(theorem, rules)]
            yield f"| {theorem.id} | {', '.join(said)} | {theorem.erratum} |"


def _orphans(traced: Mapping[str, Trace], proved: Iterable[Theorem]) -> Iterator[str]:
    rules = {slug: trace.rule for slug, trace in traced.items()}
    beyond = [theorem.id for theorem in proved if not of_operator(theorem) and not concerned(theorem, rules)]
    unproved = [slug for slug, trace in traced.items() if not trace.theorems]
    found = {
        "Rules without a label of a text (ONNX or this tool states them, see their source)": [
            slug for slug, rule in rules.items() if not rule.tags
        ],
        "Rules of planned operators, about which nothing is proved": [slug for slug in unproved if _planned(slug)],
        "Other rules without a theorem; they are decided by functions or hold for any subject, and are tested": [
            slug for slug in unproved if not _planned(slug)
        ],
        "Rules without a case": [slug for slug, trace in traced.items() if not trace.conforming or not trace.violating],
        "Errata that no rule, parameter, output or operator names": sorted(catalogue.errata().keys() - errata_named()),
        "Words that no rule uses": sorted(_words() - words_used()),
        "Theorems about values and orders, not about the words of a rule": beyond,
    }
    for title, listed in found.items():
        yield f"* {title}: {len(listed)}{'. ' if listed else ''}{', '.join(listed)}"


def _planned(slug: str) -> bool:
    described = catalogue.operator(slug.partition(".")[0]) if "." in slug else None
    return described is not None and described.specified is None


def _words() -> set[str]:
    from sonnx.language.parser import words

    return set(words())
