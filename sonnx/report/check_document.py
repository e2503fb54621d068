"""The reports of checks as a document: a section for each model, a case for each finding and each rule without one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from msgspec.structs import replace

from sonnx.base.escaping import escape, escape_once, plural, quote
from sonnx.base.reported import json_data
from sonnx.checker.report import UNCHANGED, Finding, Report, reason_without_verdict
from sonnx.checker.verdicts import Verdict
from sonnx.profile import catalogue
from sonnx.report.check_run import CheckRun
from sonnx.report.document import CaseResult, Document, Section, Standing, rule_criterion
from sonnx.report.json import JudgedReport
from sonnx.report.phrases import (
    errata_named,
    explain_command,
    headline,
    justifications,
    project_files,
    verdict_counts,
    verdict_phrase,
)
from sonnx.report.rules import rules_of

STANDINGS = {
    Verdict.FAIL: Standing.BAD,
    Verdict.UNDECIDED: Standing.OPEN,
    Verdict.NOT_CHECKED: Standing.OPEN,
    Verdict.ASSUMED: Standing.ASSUMED,
    Verdict.DEVIATED: Standing.JUSTIFIED,
}
OVERVIEW = ("model", "verdict", "edition", "rules evaluated", "fail", "open", "not checked", "nodes in the profile")


def document_of(run: CheckRun, declared: bool = False) -> Document:
    """All reports of one run; where `declared`, every rule of the edition is a criterion, not only those named."""
    editions, reports, unreadable = catalogue.editions(), run.reports, run.unreadable
    edition = editions.editions[reports[0].edition if reports else editions.default]
    rules = {rule.slug: rule for rule in rules_of(edition)} if declared else {}
    for report in reports:
        rules = {**report.rules, **rules}
    names = [*(report.name for report in reports), *unreadable]
    return Document(
        command="check",
        title=f"check of {plural(len(names), 'file')}, exit code {run.code}",
        subject=", ".join(map(escape, names)),
        headline=headline(reports[0]) if len(names) == len(reports) == 1 else plural(len(names), "file"),
        code=run.code,
        criteria={slug: rule_criterion(rule, edition, run.docs) for slug, rule in sorted(rules.items())},
        sections=tuple(_section(report, run.new_only) for report in reports),
        hashes={report.name: report.sha256 for report in reports},
        overview=(OVERVIEW, *map(_row, reports), *(_row_without_report(*item) for item in unreadable.items())),
        unreadable=unreadable,
        accepted=run.accept_assumptions,
        properties={"reports": [_whole(report, run.accept_assumptions) for report in reports]},
    )


def _whole(report: Report, accept_assumptions: bool) -> dict[str, Any]:
    """The parts of the JSON report about the whole model."""
    rest = replace(report, name=escape(report.name), findings=(), counts=(), rules={})
    data = json_data(JudgedReport.of(rest, accept_assumptions))
    return {key: value for key, value in data.items() if key not in ("findings", "counts", "rules")}


def _row(report: Report) -> tuple[str, ...]:
    coverage = report.coverage
    open_ = report.number(Verdict.UNDECIDED) + report.number(Verdict.ASSUMED)
    return (
        escape(report.name), f"{report.verdict}{' (partial)' if report.partial else ''}", report.edition,
        f"{coverage.evaluated} of {coverage.applicable}", str(report.number(Verdict.FAIL)), str(open_),
        str(report.number(Verdict.NOT_CHECKED)), f"{coverage.nodes_in_profile} of {coverage.nodes}",
    )  # fmt: skip


def _row_without_report(name: str, reason: str) -> tuple[str, ...]:
    return (escape(name), reason_without_verdict(reason).word, *("" for _ in OVERVIEW[2:]))


def _section(report: Report, new_only: bool) -> Section:
    gone = report.baseline.gone if report.baseline is not None else ()
    return Section(
        escape(report.name),
        report.name,
        (*_finding_cases(report, new_only), *_other_cases(report)),
        headline=verdict_phrase(report),
        facts=tuple(_facts(report)),
        notes=report.notes,
        gone=tuple(
            CaseResult(each.rule, each.rule, str(each.verdict), Standing.NOTE, escape_once(each.message),
                       where=each.where, state="gone")
            for each in gone
        ),
    )  # fmt: skip


def _facts(report: Report) -> Iterator[tuple[str, str]]:
    coverage = report.coverage
    yield "edition", f"{report.edition}: {report.stated_edition.title}"
    yield "verdict", str(report.verdict)
    if report.sha256:
        yield "SHA-256", report.sha256
    yield "results", verdict_counts(report)
    since = report.baseline
    if since is not None:
        yield "since", f"{since.file}: {since.new} new, {since.unchanged} unchanged, {len(since.gone)} gone"
    yield "applicable rules evaluated everywhere", f"{coverage.evaluated} of {coverage.applicable}"
    if coverage.nodes_not_checked:
        yield (
            "not checked",
            f"{coverage.nodes_not_checked} of {coverage.nodes} nodes, whose operators have no rules yet",
        )
    folded = len(report.findings) - len(report.roots)
    if folded:
        yield "folded", f"{folded} results are undecided only because of other failures"
    yield "holds for", report.conditions.words
    yield from project_files(report)
    yield from ((f"bound {escape(symbol)}", str(number)) for symbol, number in report.bound.items())


def _finding_cases(report: Report, new_only: bool) -> Iterator[CaseResult]:
    """The case of each finding; where new ones are judged only, another one is a note.

    A report has thousands of findings, most of them alike but for their place.
    """
    alike: dict[Any, CaseResult] = {}
    for finding in report.findings:
        key = (
            finding.rule, finding.verdict, finding.where.version, finding.actual, finding.requires, finding.breaks_onnx,
            finding.cause, finding.operands, finding.deviation, finding.errata, finding.state,
        )  # fmt: skip
        if key not in alike:
            alike[key] = _finding_case(report, finding, new_only)
        yield replace(alike[key], where=finding.where)


def _finding_case(report: Report, finding: Finding, new_only: bool) -> CaseResult:
    standing = Standing.NOTE if new_only and finding.state == UNCHANGED else STANDINGS[finding.verdict]
    records = report.deviations.records if report.deviations else ()
    texts = [
        f"{record.id}: {record.reason} Risk: {record.risk} Approved by {record.approver} until {record.expires}."
        for record in records
        if record.id == finding.deviation
    ]
    return CaseResult(
        finding.rule, finding.rule, str(finding.verdict), standing, finding.actual,
        (*_details(finding, report.rules[finding.rule].statement), *justifications([finding], report)), finding.where,
        command=explain_command(finding, report.rules[finding.rule], report.edition),
        folded=bool(finding.cause), grave=finding.breaks_onnx, justification="".join(texts), state=finding.state,
        properties={
            "verdict": finding.verdict,
            "breaks_onnx": finding.breaks_onnx,
            "message": finding.actual,
            "requires": finding.requires or None,
            "because_of": finding.cause or None,
            "errata": list(finding.errata),
            "operands": {letter: escape(name) for letter, name in finding.operands},
        },
    )  # fmt: skip


def _details(finding: Finding, statement: str) -> Iterator[tuple[str, str]]:
    if finding.state:
        yield "since the baseline", finding.state
    if finding.breaks_onnx:
        yield "meaning", "not valid ONNX"
    if finding.operands:
        yield "where", ", ".join(f"{letter} is {quote(name)}" for letter, name in finding.operands)
    if finding.requires not in ("", statement) and finding.verdict is not Verdict.NOT_CHECKED:
        yield "required", finding.requires
    if finding.errata and finding.verdict is Verdict.FAIL:
        yield "errata", errata_named(finding.errata)
    if finding.cause:
        yield "only because of", finding.cause


def _other_cases(report: Report) -> Iterator[CaseResult]:
    """A case for each rule without a finding: it passes, or does not apply, with the reasons."""
    with_findings = {finding.rule for finding in report.findings}
    counts: dict[str, dict[Verdict, list[str]]] = {}
    for count in report.counts:
        if count.rule not in with_findings:
            text = f"{count.number} {count.verdict}" + (f" ({count.reason})" if count.reason else "")
            counts.setdefault(count.rule, {}).setdefault(count.verdict, []).append(text)
    for rule, verdicts in counts.items():
        verdict = Verdict.PASS if Verdict.PASS in verdicts else Verdict.NOT_APPLICABLE
        standing = Standing.GOOD if verdict is Verdict.PASS else Standing.NOT_APPLICABLE
        message = escape(", ".join(text for texts in verdicts.values() for text in texts))
        yield CaseResult(rule, rule, str(verdict), standing, message)
