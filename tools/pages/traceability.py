"""The traceability page: labels to rules, rules to code, cases and theorems, and what has no counterpart."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from sonnx.evidence.traceability import Trace, concerned, errata_named, of_operator, words_used
from sonnx.language.parser import built_ins
from sonnx.profile import catalogue
from sonnx.profile.index import all_labels
from sonnx.prover.theorem import Theorem
from tools.pages.operators import GENERATED, table, tags_of

INTRODUCTION = """\
From a label of a text to the rules it states, from a rule to the code that decides it, its cases and its theorems, and
back. The pages of the [operators](operators/index.md) describe each rule in full."""


def page(traced: Mapping[str, Trace], theorems: Iterable[Theorem]) -> str:
    """The page as Markdown."""
    proved = list(theorems)
    lines = [GENERATED, "", "# Traceability", "", INTRODUCTION, "", "## Labels of the texts", "", *_labels(), ""]
    lines += [
        "## Rules",
        "",
        *_rules(traced),
        "",
        "## Theorems about built-in functions and values",
        "",
        *_theorems(proved, traced),
    ]
    lines += ["", "## Without a counterpart", "", *_orphans(traced, proved)]
    return "\n".join(lines) + "\n"


def linked(slug: str) -> str:
    """The slug, linked to the page of its operator."""
    operator, dot, name = slug.partition(".")
    return f"[{slug}](operators/{operator.lower()}.md#{operator.lower()}{name.lower()})" if dot else slug


def _labels() -> Iterator[str]:
    order = list(catalogue.editions().texts)
    yield from table("text", "label", "rules")
    by_label: dict[tuple[int, str, str], dict[str, None]] = {}
    for tag, rule, subject in all_labels():
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
        code = ", ".join(trace.code) or "its condition"
        yield f"| {linked(slug)} | {tags} | {code} | {cases} | {len(trace.theorems)} |"


def _files(ids: Iterable[str]) -> str:
    """The number of cases in each file."""
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
        "Rules without a label of a text (ONNX or this tool states them; see their source)": [
            slug for slug, rule in rules.items() if not rule.tags
        ],
        "Rules of planned operators, which have no theorems": [slug for slug in unproved if _planned(slug)],
        "Other rules without a theorem: functions decide them or they hold for any subject; they are tested": [
            slug for slug in unproved if not _planned(slug)
        ],
        "Rules without a case": [slug for slug, trace in traced.items() if not trace.conforming or not trace.violating],
        "Errata not named by any rule, parameter, output or operator": sorted(
            catalogue.errata().keys() - errata_named()
        ),
        "Built-in functions not used by any rule": sorted(set(built_ins()) - words_used()),
        "Theorems about values and orders, not about built-in functions of a rule": beyond,
    }
    for title, listed in found.items():
        yield f"* {title}: {len(listed)}{'. ' if listed else ''}{', '.join(listed)}"


def _planned(slug: str) -> bool:
    described = catalogue.operator(slug.partition(".")[0]) if "." in slug else None
    return described is not None and described.specified is None
