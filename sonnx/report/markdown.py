"""Markdown, for a job summary or a review.

Text from a model is always in a code span, so that it cannot act as markup, link or mention.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from sonnx.base.escaping import escape
from sonnx.base.resources import tool_version
from sonnx.checker.report import Finding, Report, reason_without_verdict
from sonnx.checker.verdicts import Verdict
from sonnx.profile.definitions import show_tags
from sonnx.report.document import CaseResult, Document, Section, Standing
from sonnx.report.phrases import grouped, justifications, meaning, place, project_files, verdict_counts, verdict_phrase

MAX_PLACES = 100
"""More places of one rule and message are only counted."""


def render(
    reports: Sequence[Report],
    unreadable: Mapping[str, str],
    code: int,
    accept_assumptions: bool = False,
) -> str:
    """All reports of one run: a table of the models, then each with its findings by rule."""
    lines = [f"# sonnx {tool_version()}: {len(reports) + len(unreadable)} file(s), exit code {code}", ""]
    lines += ["| model | verdict | edition | rules evaluated | fail | open | not checked | nodes in the profile |"]
    lines += ["|---|---|---|---|---|---|---|---|", *map(_row, reports)]
    lines += [
        f"| {_cell(escape(name))} | **{reason_without_verdict(reason).word}** | | | | | | |"
        for name, reason in unreadable.items()
    ]
    for report in reports:
        lines += ["", *_model(report)]
    for name, reason in unreadable.items():
        lines += [
            "",
            f"## {code_span(escape(name))}",
            "",
            f"{reason_without_verdict(reason).word.capitalize()}: {code_span(escape(reason))}",
        ]
    return "\n".join(lines) + "\n"


def render_document(found: Document) -> str:
    """A document: the headline, the cases that do not pass, and a table of the cases of each section."""
    lines = [
        f"# sonnx {tool_version()}: {escaped(found.title)}",
        "",
        f"{code_span(found.subject)}: **{found.standing}**",
    ]
    lines += ["", code_span(found.headline), "", f"* Results: {escaped(found.numbers)}"]
    lines += [f"* {escaped(term[:1].upper() + term[1:])}: {code_span(text)}" for term, text in found.facts]
    lines += [f"* Note: {code_span(note)}" for note in found.notes]
    for section, cases in found.findings:
        lines += ["", *_cases(found, section, cases)]
    for section in found.sections:
        lines += ["", *_part(section)]
    return "\n".join(lines) + "\n"


def _part(section: Section) -> Iterator[str]:
    yield from (f"## {code_span(section.name)}", "", *([escaped(section.note), ""] if section.note else []))
    yield from ("| case | result | message |", "|---|---|---|")
    for case in section.cases:
        text = case.message_with_details if case.standing is Standing.GOOD else case.message
        yield f"| {_cell(case.name)} | {escaped(case.verdict)} | {escaped(text)} |"


def _cases(found: Document, section: Section, cases: Sequence[CaseResult]) -> Iterator[str]:
    first, declared = cases[0], found.criteria[cases[0].criterion]
    yield f"## {escaped(f'{first.verdict}: {first.criterion} ({len(cases)})')}"
    yield ""
    yield escaped(declared.statement)
    yield ""
    if first.standing is Standing.BAD and declared.because:
        yield f"* Because: {escaped(declared.because)}"
    if first.standing is Standing.BAD and declared.remedy:
        yield f"* Remedy: {escaped(declared.remedy)}"
    for case in cases[:MAX_PLACES]:
        yield f"* {code_span(case.at)}: {code_span(case.message)}"
        yield from (f"  * {escaped(term)}: {code_span(text)}" for term, text in case.details)
    if len(cases) > MAX_PLACES:
        yield f"* and {len(cases) - MAX_PLACES} more places, which the JSON report lists"


def code_span(text: str) -> str:
    """A text as it is, between more back-quotes than it has in a row."""
    longest = max(map(len, re.findall("`+", text)), default=0)
    fence = "`" * (longest + 1)
    pad = " " if longest or text != text.strip() or not text else ""
    return f"{fence}{pad}{text}{pad}{fence}"


def _cell(name: str) -> str:
    return code_span(name).replace("|", "\\|")


def escaped(text: str) -> str:
    """A sentence of the profile, with the special characters of Markdown escaped."""
    return re.sub(r"([\\`*_{}\[\]<>#|~&@!])", r"\\\1", text)


def _row(report: Report) -> str:
    coverage = report.coverage
    numbers = [report.number(each) for each in (Verdict.FAIL, Verdict.UNDECIDED, Verdict.NOT_CHECKED)]
    numbers[1] += report.number(Verdict.ASSUMED)
    cells = [
        _cell(escape(report.name)),
        f"**{report.verdict}**{' (partial)' if report.partial else ''}",
        report.edition,
        f"{coverage.evaluated} of {coverage.applicable}",
        *map(str, numbers),
        f"{coverage.nodes_in_profile} of {coverage.nodes}",
    ]
    return f"| {' | '.join(cells)} |"


def _model(report: Report) -> Iterator[str]:
    yield f"## {code_span(escape(report.name))}: {escaped(verdict_phrase(report))}"
    yield ""
    yield f"* Edition {report.edition}: {escaped(report.edition_title)}"
    if report.sha256:
        yield f"* SHA-256 {code_span(report.sha256)}"
    yield f"* Results: {verdict_counts(report)}"
    folded = len(report.findings) - len(report.roots)
    if folded:
        yield f"* Folded: {folded} results are undecided only because of other failures"
    yield from (f"* {label.capitalize()}: {code_span(text)}" for label, text in project_files(report))
    yield from (f"* Note: {code_span(escape(note))}" for note in report.notes)
    for findings in grouped(report.roots):
        yield from ("", *_rule(findings, report))


def _rule(findings: Sequence[Finding], report: Report) -> Iterator[str]:
    first, rule = findings[0], report.rules[findings[0].rule]
    yield f"### {escaped(f'{first.verdict}: {first.rule} ({len(findings)}) {show_tags(first.tags)}'.rstrip())}"
    yield ""
    yield escaped(rule.statement)
    yield ""
    if first.verdict is Verdict.FAIL:
        yield f"* Meaning: {meaning(max(findings, key=lambda each: each.breaks_onnx), rule)}"
    if first.requires not in ("", rule.statement) and first.verdict is not Verdict.NOT_CHECKED:
        yield f"* Requires: {code_span(escape(first.requires))}"
    if first.verdict is Verdict.FAIL:
        yield f"* Because: {escaped(rule.because)}"
        yield f"* Remedy: {escaped(rule.remedy)}"
    yield from (f"* {label.capitalize()}: {code_span(text)}" for label, text in justifications(findings, report))
    for finding in findings[:MAX_PLACES]:
        yield f"* {code_span(place(finding.where))}: {code_span(finding.actual)}{_operands(finding)}"
    if len(findings) > MAX_PLACES:
        yield f"* and {len(findings) - MAX_PLACES} more places, which the JSON report lists"


def _operands(finding: Finding) -> str:
    text = ", ".join(f"{code_span(letter)} is {code_span(escape(name))}" for letter, name in finding.operands)
    return f"; {text}" if text else ""
