"""The report as Markdown, for a job summary or a review.

Whatever comes from a model stands in a code span: no markup, link or mention of it acts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from sonnx.identifier import show_tags
from sonnx.quoting import escape
from sonnx.report.json import tool_version
from sonnx.report.text import answers, given, grouped, justified, meaning, place, said
from sonnx.results import why
from sonnx.verdict import Finding, Report, Verdict

PLACES = 100
"""Places of one rule and message that are listed."""


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
    lines += [f"| {_cell(name)} | **{why(reason).word}** | | | | | | |" for name, reason in unreadable.items()]
    for report in reports:
        lines += ["", *_model(report)]
    for name, reason in unreadable.items():
        lines += [
            "",
            f"## {code_span(escape(name))}",
            "",
            f"{why(reason).word.capitalize()}: {code_span(escape(reason))}",
        ]
    return "\n".join(lines) + "\n"


def code_span(text: str) -> str:
    """A text as it is, between more back-quotes than it has in a row."""
    longest = max(map(len, re.findall("`+", text)), default=0)
    fence = "`" * (longest + 1)
    pad = " " if longest or text != text.strip() or not text else ""
    return f"{fence}{pad}{text}{pad}{fence}"


def _cell(name: str) -> str:
    return code_span(escape(name)).replace("|", "\\|")


def words(text: str) -> str:
    """A sentence of the profile, with what would be markup escaped."""
    return re.sub(r"([\\`*_{}\[\]<>#|~&@!])", r"\\\1", text)


def _row(report: Report) -> str:
    coverage = report.coverage
    numbers = [report.number(each) for each in (Verdict.FAIL, Verdict.UNDECIDED, Verdict.NOT_CHECKED)]
    numbers[1] += report.number(Verdict.ASSUMED)
    cells = [
        _cell(report.name),
        f"**{report.verdict}**{' (partial)' if report.partial else ''}",
        report.edition,
        f"{coverage.evaluated} of {coverage.applicable}",
        *map(str, numbers),
        f"{coverage.nodes_in_profile} of {coverage.nodes}",
    ]
    return f"| {' | '.join(cells)} |"


def _model(report: Report) -> Iterator[str]:
    yield f"## {code_span(escape(report.name))}: {words(said(report))}"
    yield ""
    yield f"* Edition {report.edition}: {words(report.edition_title)}"
    if report.sha256:
        yield f"* SHA-256 {code_span(report.sha256)}"
    yield f"* Answers: {answers(report)}"
    folded = len(report.findings) - len(report.roots)
    if folded:
        yield f"* Folded: {folded} answers are undecided only because of other failures"
    yield from (f"* {label.capitalize()}: {code_span(text)}" for label, text in given(report))
    yield from (f"* Note: {code_span(escape(note))}" for note in report.notes)
    for findings in grouped(report.roots):
        yield from ("", *_rule(findings, report))


def _rule(findings: Sequence[Finding], report: Report) -> Iterator[str]:
    first, rule = findings[0], report.rules[findings[0].rule]
    yield f"### {words(f'{first.verdict}: {first.rule} ({len(findings)}) {show_tags(first.tags)}'.rstrip())}"
    yield ""
    yield words(rule.statement)
    yield ""
    if first.verdict is Verdict.FAIL:
        yield f"* Meaning: {meaning(max(findings, key=lambda each: each.breaks_onnx), rule)}"
    if first.requires not in ("", rule.statement) and first.verdict is not Verdict.NOT_CHECKED:
        yield f"* Requires: {code_span(escape(first.requires))}"
    if first.verdict is Verdict.FAIL:
        yield f"* Because: {words(rule.because)}"
        yield f"* Remedy: {words(rule.remedy)}"
    yield from (f"* {label.capitalize()}: {code_span(text)}" for label, text in justified(findings, report))
    for finding in findings[:PLACES]:
        yield f"* {code_span(place(finding.where))}: {code_span(finding.actual)}{_operands(finding)}"
    if len(findings) > PLACES:
        yield f"* and {len(findings) - PLACES} more places, which the JSON report lists"


def _operands(finding: Finding) -> str:
    said = ", ".join(f"{code_span(letter)} is {code_span(escape(name))}" for letter, name in finding.operands)
    return f"; {said}" if said else ""
