"""The formats of a report: one module each, loaded when it is asked for.

A module of `FORMATS` renders what `sonnx check` found, by `render(reports, unreadable, code, accept_assumptions)`: the
reports of one run in the order of the command line, the files that are no model with the reason, the exit code of the
run, and whether assumptions are accepted.  A module of `RESULTS` renders what any other command found, by
`result(found)`.  Both return the whole document, ending in a line feed.  To add a format, add a module and a line here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sonnx.report.result import Result
from sonnx.checker.report import Report

FORMATS = {
    "text": "sonnx.report.text",
    "json": "sonnx.report.json",
    "sarif": "sonnx.report.sarif",
    "junit": "sonnx.report.junit",
    "github": "sonnx.report.github",
    "markdown": "sonnx.report.markdown",
    "html": "sonnx.report.html",
    "deviations": "sonnx.report.deviations",
}
RESULTS = {name: FORMATS[name] for name in ("sarif", "junit", "github", "markdown")}
RESULTS |= {"html": "sonnx.report.html_result"}
OWN = ("text", "json")
"""What every command prints in words of its own."""

HASHED = frozenset({"json", "sarif", "markdown", "html", "deviations"})
"""The formats that state the SHA-256 of what was judged; for the others no weight is read."""

DRAWN = frozenset({"html"})
"""The formats that draw the graph."""


def render(
    name: str,
    reports: Sequence[Report],
    unreadable: Mapping[str, str],
    code: int,
    accept_assumptions: bool = False,
) -> str:
    """The reports of one run in a format."""
    document: str = import_module(FORMATS[name]).render(reports, unreadable, code, accept_assumptions)
    return document


def render_result(name: str, found: Result) -> str:
    """A result in a format."""
    document: str = import_module(RESULTS[name]).result(found)
    return document
