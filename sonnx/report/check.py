"""The public result of a check: the report with its renderings."""

from __future__ import annotations

from msgspec.structs import astuple

from sonnx.checker.report import Report
from sonnx.report.formats import CheckRun, render
from sonnx.report.notebooks import ShownInNotebooks


class CheckReport(Report, ShownInNotebooks, frozen=True):
    """The report on one model: all findings and what they are based on; text, JSON or another format on request."""

    @classmethod
    def of(cls, report: Report) -> CheckReport:
        """A report of the checker with its renderings."""
        return cls(*astuple(report))

    def to_text(self) -> str:
        """The report as `sonnx check` prints it."""
        return self.to_format("text")

    def to_json(self) -> str:
        """One JSON document (report.schema.json)."""
        return self.to_format("json")

    def to_format(self, name: str, accept_assumptions: bool = False) -> str:
        """The report in a format of `sonnx check --format`.

        Args:
            name: text, json, sarif, junit, github, markdown, html or deviations.
            accept_assumptions: assumptions on run-time values do not count as open.

        Raises:
            UsageError: an unknown format.
        """
        return render(name, CheckRun([self], {}, self.exit_code(accept_assumptions), accept_assumptions))
