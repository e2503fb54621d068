"""The report as text: all findings by rule, the first of each rule in full, the others as places."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from sonnx.base.escaping import quote
from sonnx.checker.report import Finding, NoVerdict, Report, reason_without_verdict
from sonnx.checker.verdicts import Verdict
from sonnx.profile.definitions import Rule, show_tags
from sonnx.report.phrases import grouped, headline, justifications, meaning, place, project_files, verdict_counts

MORE_PLACES = 3
"""Further places shown for one rule; the JSON report has all."""


def render(
    reports: Sequence[Report],
    unreadable: Mapping[str, str],
    code: int,
    accept_assumptions: bool = False,
) -> str:
    """All reports of one run, and a line of totals if there are several files; unreadable files are only counted."""
    text = "\n".join(map(one_report, reports))
    return text + "\n" + total(reports, unreadable.values()) if len(reports) + len(unreadable) > 1 else text


def one_report(report: Report) -> str:
    """The report of one model, ending in a line feed."""
    groups = grouped(report.roots)
    blocks = ["\n".join(_group(findings, report.rules[findings[0].rule], report)) for findings in groups]
    return "\n\n".join([headline(report), *blocks, "\n".join(_summary(report))]) + "\n"


def _group(findings: Sequence[Finding], rule: Rule, report: Report) -> Iterator[str]:
    first = findings[0]
    tags = show_tags(first.tags)
    yield place(first.where)
    yield "  ".join(filter(None, [f"  {first.verdict}", first.rule, tags, first.actual]))
    if first.operands:
        yield _line("where", ", ".join(f"{letter} is {quote(name)}" for letter, name in first.operands))
    if first.verdict is Verdict.FAIL:
        yield _line("meaning", meaning(first, rule))
        yield _line("requires", first.requires)
        yield _line("because", rule.because)
        yield _line("remedy", rule.remedy)
    elif first.verdict is Verdict.DEVIATED:
        yield from (_line(label, text) for label, text in justifications(findings, report))
    elif first.verdict is not Verdict.NOT_CHECKED:
        yield _line("assumes" if first.verdict is Verdict.ASSUMED else "requires", first.requires)
    if rule.kind != "project":
        yield _line("more", f"sonnx explain {first.rule}")
    yield from _others(findings[1:])


def _line(label: str, text: str) -> str:
    return f"        {label:<9} {text}"


def _others(findings: Sequence[Finding]) -> Iterator[str]:
    for finding in findings[:MORE_PLACES]:
        yield f"    also {place(finding.where)}: {finding.actual}"
    if len(findings) > MORE_PLACES:
        yield f"    and {len(findings) - MORE_PLACES} more places (--format json lists them)"


def _summary(report: Report) -> Iterator[str]:
    coverage = report.coverage
    outside = coverage.nodes - coverage.nodes_in_profile
    yield (
        f"rules: {coverage.known} known, {coverage.applicable} applicable, {coverage.evaluated} evaluated everywhere; "
        f"results: {verdict_counts(report)}"
    )
    yield (
        f"nodes: {coverage.nodes}, of which {outside} outside the profile and "
        f"{coverage.nodes_not_checked} of operators whose rules are not written yet"
    )
    folded = len(report.findings) - len(report.roots)
    if folded:
        causes = sorted({finding.cause for finding in report.findings if finding.cause})
        yield f"folded: {folded} results are undecided only because of {', '.join(causes)}"
    for label, text in project_files(report):
        yield f"{label}: {text}"
    for note in report.notes:
        yield f"note: {note}"


def total(reports: Sequence[Report], without_report: Collection[str]) -> str:
    """The last line for several models."""
    words = [
        *(str(report.verdict) for report in reports),
        *(reason_without_verdict(sentence).word for sentence in without_report),
    ]
    order = (*Verdict, *(each.word for each in NoVerdict))
    numbers = [f"{words.count(word)} {word}" for word in order if word in words]
    return f"{len(words)} files: {', '.join(numbers)}\n"
