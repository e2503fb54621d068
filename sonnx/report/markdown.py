"""The report as Markdown, for a job summary or a review.

Whatever comes from a model stands in a code span: no markup, link or mention of it acts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from sonnx.base.escaping import escape
from sonnx.base.resources import tool_version
from sonnx.checker.report import Finding, Report, Verdict, why
from sonnx.profile.definitions import show_tags
from sonnx.report.document import CaseResult, Document, Section, Standing
from sonnx.report.phrases import grouped, justifications, meaning, place, project_files, verdict_counts, verdict_phrase

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
    lines += [f"| {_cell(escape(name))} | **{why(reason).word}** | | | | | | |" for name, reason in unreadable.items()]
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


def render_document(found: Document) -> str:
    """A result: the headline, what is no pass, and a table of the cases of each section."""
    lines = [f"# sonnx {tool_version()}: {words(found.title)}", "", f"{code_span(found.subject)}: **{found.standing}**"]
    lines += ["", code_span(found.headline), "", f"* Answers: {words(found.numbers)}"]
    lines += [f"* {words(term[:1].upper() + term[1:])}: {code_span(said)}" for term, said in found.facts]
    lines += [f"* Note: {code_span(note)}" for note in found.notes]
    for section, cases in found.findings:
        lines += ["", *_cases(found, section, cases)]
    for section in found.sections:
        lines += ["", *_part(section)]
    return "\n".join(lines) + "\n"


def _part(section: Section) -> Iterator[str]:
    yield from (f"## {code_span(section.name)}", "", *([words(section.note), ""] if section.note else []))
    yield from ("| case | answer | what it says |", "|---|---|---|")
    for case in section.cases:
        said = case.told if case.standing is Standing.GOOD else case.message
        yield f"| {_cell(case.name)} | {words(case.verdict)} | {words(said)} |"


def _cases(found: Document, section: Section, cases: Sequence[CaseResult]) -> Iterator[str]:
    first, declared = cases[0], found.criteria[cases[0].criterion]
    yield f"## {words(f'{first.verdict}: {first.criterion} ({len(cases)})')}"
    yield ""
    yield words(declared.statement)
    yield ""
    if first.standing is Standing.BAD and declared.because:
        yield f"* Because: {words(declared.because)}"
    if first.standing is Standing.BAD and declared.remedy:
        yield f"* Remedy: {words(declared.remedy)}"
    for case in cases[:PLACES]:
        yield f"* {code_span(case.at)}: {code_span(case.message)}"
        yield from (f"  * {words(term)}: {code_span(said)}" for term, said in case.details)
    if len(cases) > PLACES:
        yield f"* and {len(cases) - PLACES} more places, which the JSON report lists"


def code_span(text: str) -> str:
    """A text as it is, between more back-quotes than it has in a row."""
    longest = max(map(len, re.findall("`+", text)), default=0)
    fence = "`" * (longest + 1)
    pad = " " if longest or text != text.strip() or not text else ""
    return f"{fence}{pad}{text}{pad}{fence}"


def _cell(name: str) -> str:
    return code_span(name).replace("|", "\\|")


def words(text: str) -> str:
    """A sentence of the profile, with what would be markup escaped."""
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
    yield f"## {code_span(escape(report.name))}: {words(verdict_phrase(report))}"
    yield ""
    yield f"* Edition {report.edition}: {words(report.edition_title)}"
    if report.sha256:
        yield f"* SHA-256 {code_span(report.sha256)}"
    yield f"* Answers: {verdict_counts(report)}"
    folded = len(report.findings) - len(report.roots)
    if folded:
        yield f"* Folded: {folded} answers are undecided only because of other failures"
    yield from (f"* {label.capitalize()}: {code_span(text)}" for label, text in project_files(report))
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
    yield from (f"* {label.capitalize()}: {code_span(text)}" for label, text in justifications(findings, report))
    for finding in findings[:PLACES]:
        yield f"* {code_span(place(finding.where))}: {code_span(finding.actual)}{_operands(finding)}"
    if len(findings) > PLACES:
        yield f"* and {len(findings) - PLACES} more places, which the JSON report lists"


def _operands(finding: Finding) -> str:
    said = ", ".join(f"{code_span(letter)} is {code_span(escape(name))}" for letter, name in finding.operands)
    return f"; {said}" if said else ""
