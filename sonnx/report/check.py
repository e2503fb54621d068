"""The public result of a check: the report with its renderings.

A format of `sonnx check` that shows more than a document has (text, JSON, HTML, …) has a function `render(run)`.
"""

from __future__ import annotations

from importlib import import_module

from msgspec.structs import astuple

from sonnx.base.errors import UsageError
from sonnx.checker.report import Report
from sonnx.report.check_run import CheckRun
from sonnx.report.formats import DOCUMENT_FORMATS, FORMATS, OF_A_CHECK
from sonnx.report.notebooks import ShownInNotebooks


class CheckReport(Report, ShownInNotebooks, frozen=True):
    """The report on one model: all findings and what they are based on; text, JSON or another format on request."""

    @classmethod
    def of(cls, report: Report) -> CheckReport:
        """A report of the checker with its renderings."""
        return cls(*astuple(report))

    def one_line(self) -> str:
        """The verdict, with the number of findings."""
        from sonnx.report.check_text import brief

        return brief(self)

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


def render(name: str, run: CheckRun) -> str:
    """The reports of one run in a format of FORMATS.

    Raises:
        UsageError: an unknown format.
    """
    if name not in FORMATS:
        raise UsageError(f"unknown format {name!r}; there are {', '.join(FORMATS)}")
    if name in DOCUMENT_FORMATS and name not in OF_A_CHECK:
        from sonnx.report.check_document import document_of  # a check that prints text needs no documents
        from sonnx.report.rendered import render_document

        return render_document(name, document_of(run, declared=name == "sarif"))  # so an alert ends with its finding
    text: str = import_module(f"{__package__}.{'check_text' if name == 'text' else name}").render(run)
    return text
