"""The result of `sonnx check` on all its models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct

from sonnx.checker.report import Report
from sonnx.report.fix_forecast import Forecast


class CheckRun(Struct, frozen=True):
    """The result of `sonnx check`, and what it is shown with."""

    reports: Sequence[Report]
    """In the order of the command line."""
    unreadable: Mapping[str, str] = {}
    """The files without a report, with the reason."""
    code: int = 0
    """The exit code of the run."""
    accept_assumptions: bool = False
    """Whether assumptions on run-time values count as holding."""
    new_only: bool = False
    """Whether the code is that of the findings that the baseline does not have."""
    docs: str = ""
    """The address of a site with the pages of the rules, "" for no links."""
    forecast: Forecast | None = None
    """What `sonnx fix` leaves of the model, where there is one and a dry run was asked for."""
