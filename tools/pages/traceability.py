"""The pages of traceability: labels to rules, rules to code, cases and theorems, and what has no counterpart."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from sonnx.evidence.traceability import Trace, concerned, of_operator
from sonnx.language.parser import built_ins
from sonnx.profile import catalogue
from sonnx.profile.definitions import OperatorDefinition, Output, Parameter
from sonnx.profile.index import all_labels, rules_by_slug
from sonnx.prover.dependencies import functions_used
from sonnx.prover.theorem import Theorem
from tools.pages.rule_entries import GENERATED, table, tags_of
from tools.pages.rule_entries import linked as linked_rule

INTRODUCTION = """\
From a label of a text to the rules it states, from a rule to the code that decides it, its cases and its theorems, and
back. The pages of the [rules](rules/index.md) and [operators](operators/index.md) describe each rule in full."""
FOLDER = "traceability"


def pages(traced: Mapping[str, Trace], theorems: Iterable[Theorem]) -> dict[str, str]:
    """The pages by their paths in docs/: labels by text, rules by subject, theorems, and what has no counterpart."""
    proved = list(theorems)
    texts = {
        f"{FOLDER}/labels-{text}": (f"Labels of {text}", list(_labels(text))) for text in catalogue.editions().texts
    }
    parts = {
        **{name: text for name, text in texts.items() if text[1]},
        f"{FOLDER}/rules": ("Rules about files, graphs and values", list(_rules(traced, operators=False))),
        f"{FOLDER}/operator-rules": ("Rules of operators", list(_rules(traced, operators=True))),
        f"{FOLDER}/theorems": ("Theorems about built-in functions and values", list(_theorems(proved, traced))),
    }
    listed = [f"* [{title}]({name}.md)" for name, (title, _) in parts.items()]
    index = [
        "# Traceability",
        "",
        INTRODUCTION,
        "",
        *listed,
        "",
        "## Without a counterpart",
        "",
        *_orphans(traced, proved),
    ]
    made = {
        f"{name}.md": f"{GENERATED}\n\n# {title}\n\n" + "\n".join(lines) + "\n"
        for name, (title, lines) in parts.items()
    }
    return {f"{FOLDER}.md": "\n".join([GENERATED, "", *index]) + "\n", **made}


def linked(slug: str) -> str:
    """The slug, linked to its page from a page of the folder; "" if no rule is named."""
    return linked_rule(slug, "../") if slug else ""


def _labels(text: str) -> Iterator[str]:
    """The labels of a text with the rules they state."""
    by_label: dict[tuple[str, str], dict[str, None]] = {}
    for tag, rule, subject in all_labels():
        if tag.text == text:
            scope = (subject or rule).partition(".")[0] if "." in (subject or rule) else ""
            said = f"{linked(rule)}{f' on {subject}' if subject else ''}"
            by_label.setdefault((scope, tag.label), {})[said] = None
    if by_label:
        yield from table("about", "label", "rules")
    for (scope, label), rules in sorted(by_label.items()):
        yield f"| {scope or 'files, graphs, values'} | {label} | {', '.join(rules)} |"


def _rules(traced: Mapping[str, Trace], operators: bool) -> Iterator[str]:
    yield from table("rule", "labels", "code", "cases (conforming, violating)", "theorems")
    for slug, trace in traced.items():
        if operators == ("." in slug):
            tags = tags_of((tag.text, tag.label) for tag in trace.rule.tags)
            cases = f"{_files(trace.conforming)}, {_files(trace.violating)}"
            code = ", ".join(trace.code) or "its condition"
            yield f"| {linked(slug)} | {tags} | {code} | {cases} | {len(trace.theorems)} |"


def _files(ids: Iterable[str]) -> str:
    """The number of cases in each file."""
    by_file: dict[str, int] = {}
    for name in ids:
        file = name.partition(":")[0]
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


def errata_named() -> set[str]:
    """The errata that a rule, a parameter, an output or an operator names."""
    named = {erratum for rule in rules_by_slug().values() for erratum in rule.errata}
    for described in catalogue.operators():
        parts: tuple[OperatorDefinition | Output | Parameter, ...] = (
            described,
            *described.outputs,
            *described.parameters,
        )
        named |= {erratum for part in parts for erratum in part.errata}
    return named


def words_used() -> set[str]:
    """The built-in functions that a rule, a shape, a definition or another built-in function uses."""
    texts = [text for rule in rules_by_slug().values() for text in (rule.require, rule.onnx, rule.when)]
    for described in catalogue.operators():
        texts += [text for versions in described.define.values() for text in versions.values()]
        texts += [text for output in described.outputs for text in (*output.shape.values(), *output.element.values())]
        texts += [text for output in described.outputs for text in output.values.values()]
        texts += [text for parameter in described.parameters for text in parameter.absent.values()]
    return functions_used(text for text in texts if text is not None)
