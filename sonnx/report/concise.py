"""The report with one finding on a line: MODEL: PLACE: VERDICT RULE: what the model states."""

from __future__ import annotations

from collections.abc import Iterator

from sonnx.base.escaping import escape
from sonnx.checker.report import Report, reason_without_verdict
from sonnx.report.check_run import CheckRun
from sonnx.report.check_text import total_line
from sonnx.report.phrases import headline, place


def render(run: CheckRun) -> str:
    """Every finding that does not wait for another one, the verdict on each model, and a line of totals."""
    lines = [line for report in run.reports for line in (*_lines(report), headline(report))]
    for name, reason in run.unreadable.items():
        lines.append(f"{escape(name)}: {reason_without_verdict(reason).word}: {escape(reason)}")
    return "".join(f"{line}\n" for line in lines) + total_line(run)


def _lines(report: Report) -> Iterator[str]:
    for finding in report.roots:
        yield f"{escape(report.name)}: {place(finding.where)}: {finding.verdict} {finding.rule}: {finding.actual}"
