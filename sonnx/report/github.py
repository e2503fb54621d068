"""Workflow commands, which GitHub shows beside the change of the model.

GitHub shows only ten commands of a kind for a step, so a rule with all its places is one command.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePath

from sonnx.base.escaping import escape, plural
from sonnx.checker.report import Finding, Report, reason_without_verdict
from sonnx.checker.verdicts import Verdict
from sonnx.report.document import Document, Standing
from sonnx.report.phrases import grouped, headline, justifications, place, project_files, verdict_counts

MAX_PLACES = 20
"""More places of one rule are only counted."""


def render(
    reports: Sequence[Report],
    unreadable: Mapping[str, str],
    code: int,
    accept_assumptions: bool = False,
) -> str:
    """All reports of one run, a command on each line: first the verdicts on the models, then the rules."""
    lines = [
        _command("error", name, f"sonnx: {reason_without_verdict(reason).word}", [escape(reason)])
        for name, reason in unreadable.items()
    ]
    lines += [_command("notice", each.name, "sonnx: verdict", list(_summary(each))) for each in reports]
    lines += [line for each in reports for line in _rules(each)]
    return "\n".join(lines) + "\n"


def render_document(found: Document) -> str:
    """A document: first the headline, then a command for each criterion and verdict that does not pass."""
    files = list(dict.fromkeys(section.file for section in found.sections))
    title = f"sonnx {found.command}: {found.standing}"
    head = [found.headline, found.numbers, *(f"{term}: {text}" for term, text in found.facts)]
    lines = [_command("notice", files[0] if len(files) == 1 else "", title, [*head, *found.notes])]
    for section, cases in found.findings:
        first = cases[0]
        level = "error" if first.standing is Standing.BAD else "notice"
        places = [f"{found.criteria[first.criterion].statement} ({plural(len(cases), 'place')})"]
        places += [case.sentence for case in cases[:MAX_PLACES]]
        places += [f"and {len(cases) - MAX_PLACES} more"] if len(cases) > MAX_PLACES else []
        lines.append(_command(level, section.file, f"{first.criterion}: {first.verdict}", places))
    return "\n".join(lines) + "\n"


def _command(level: str, file: str, title: str, lines: Sequence[str]) -> str:
    """One command; its text is escaped, so that it cannot end the command or a property."""
    path = f"file={_property(PurePath(file).as_posix())},line=1," if file not in ("", "standard input") else ""
    return f"::{level} {path}title={_property(title)}::{_data(chr(10).join(lines))}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(escape(text)).replace(":", "%3A").replace(",", "%2C")


def _summary(report: Report) -> Iterator[str]:
    coverage = report.coverage
    yield headline(report)
    rules = f"{coverage.evaluated} of {coverage.applicable} applicable rules evaluated everywhere"
    yield f"{rules}; {verdict_counts(report)}"
    if coverage.nodes_not_checked:
        yield f"not checked: {coverage.nodes_not_checked} of {coverage.nodes} nodes, whose operators have no rules yet"
    folded = len(report.findings) - len(report.roots)
    if folded:
        yield f"folded: {folded} results are undecided only because of other failures"
    yield from (f"{label}: {text}" for label, text in project_files(report))
    yield from (f"note: {note}" for note in report.notes)


def _rules(report: Report) -> Iterator[str]:
    for findings in grouped(report.roots):
        first = findings[0]
        level = "error" if first.verdict is Verdict.FAIL else "notice"
        yield _command(level, report.name, f"{first.rule}: {first.verdict}", list(_lines(findings, report)))


def _lines(findings: Sequence[Finding], report: Report) -> Iterator[str]:
    yield f"{report.rules[findings[0].rule].statement} ({plural(len(findings), 'place')})"
    yield from (f"{place(each.where)}: {each.actual}" for each in findings[:MAX_PLACES])
    if len(findings) > MAX_PLACES:
        yield f"and {len(findings) - MAX_PLACES} more"
    if findings[0].verdict is Verdict.DEVIATED:
        yield from (f"{label}: {text}" for label, text in justifications(findings, report))
    else:
        yield f"Remedy: {report.rules[findings[0].rule].remedy}"
