"""What `sonnx check --format json` prints; report.schema.json beside this file is made from `CheckDocument`."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Struct

from sonnx.base.reported import HIDDEN, Result, json_text, reported
from sonnx.checker.report import Report, reason_without_verdict
from sonnx.profile.text_types import Text
from sonnx.report.check_run import CheckRun


class JudgedReport(Report, frozen=True):
    """The report on one model."""

    accept_assumptions: Annotated[bool, HIDDEN] = False
    new_only: Annotated[bool, HIDDEN] = False

    @classmethod
    def of(cls, report: Report, accept_assumptions: bool, new_only: bool = False) -> JudgedReport:
        """A report in a run that accepts assumptions on run-time values, or judges new findings only, or not."""
        values = {name: getattr(report, name) for name in Report.__struct_fields__}
        return cls(**values, accept_assumptions=accept_assumptions, new_only=new_only)

    @property
    @reported
    def exit(self) -> Literal[0, 1, 3]:
        """The exit code of a run on this model alone."""
        return self.exit_code(self.accept_assumptions, self.new_only)  # type: ignore[return-value]


class UncheckedFile(Struct, frozen=True):
    """A file without a report."""

    model: Text
    """The file as it was named on the command line."""
    reason: Text
    """Why it has no report, as one sentence."""
    exit: Literal[2, 3, 4]
    """2: not a readable model; 3: the check was stopped; 4: the tool failed on it."""


class CheckDocument(Result, frozen=True):
    """The reports of a run: sonnx check --format json."""

    exit: Literal[0, 1, 2, 3, 4]
    """The exit code of the whole run: of several files the first of 4, 2, 1, 3, 0."""
    reports: tuple[JudgedReport, ...]
    """One report for each model that could be read, in the order of the command line."""
    unreadable: tuple[UncheckedFile, ...]
    """The files without a report: not a readable ONNX model, or not checked to the end; in the order of the command
    line."""


def render(run: CheckRun) -> str:
    """All reports of one run, in the order given, as one document ending in a line feed."""
    whole = tuple([JudgedReport.of(report, run.accept_assumptions, run.new_only) for report in run.reports])
    without = [(name, str(reason), int(reason_without_verdict(reason))) for name, reason in run.unreadable.items()]
    files = tuple([UncheckedFile(*file) for file in without])  # type: ignore[arg-type]
    return json_text(CheckDocument(run.code, whole, files))  # type: ignore[arg-type]
