"""The formats of a report, by name: one module each, loaded when it is used.

A command makes one `Document` of its result, and a format has one function for it, `render_document(document)`.  The
formats that show more of a check than a document has (text, JSON, HTML, …) have `render(run)` for a `CheckRun`.  Both
return the whole text, ending in a line feed.  To add a format, add a module of its name, and the name below.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING

from msgspec import Struct

from sonnx.base.errors import UsageError
from sonnx.checker.report import Report

if TYPE_CHECKING:
    from sonnx.report.document import Document

FORMATS = ("text", "concise", "json", "sarif", "junit", "github", "markdown", "html", "deviations")
"""The formats of `sonnx check`."""
DOCUMENT_FORMATS = ("text", "sarif", "junit", "github", "markdown", "html")
"""The formats that render a document; JSON is specific to a command."""
RESULT_FORMATS = ("text", "json", *DOCUMENT_FORMATS[1:])
"""The formats of every other command."""
OF_A_CHECK = ("text", "html")
"""The formats of DOCUMENT_FORMATS that show more of a check than its document has."""

HASHED = frozenset({"json", "sarif", "junit", "github", "markdown", "html", "deviations"})
"""The formats that state the SHA-256 of the file; for the others no weights are read."""

DRAWN = frozenset({"html"})
"""The formats that draw the graph."""

LINKED = frozenset({"text", "sarif", "html"})
"""The formats that link the pages of rules."""


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
    docs: str = ""
    """The address of a site with the pages of the rules, "" for no links."""


class FormatChoices(tuple[str, ...]):
    """The names of formats as choices of `--format`, each also with a file: `sarif=a.sarif`."""

    def __contains__(self, given: object) -> bool:
        name, equals, file = str(given).partition("=")
        return super().__contains__(name) and bool(file or not equals)


def render(name: str, run: CheckRun) -> str:
    """The reports of one run in a format of FORMATS."""
    if name not in FORMATS:
        raise _unknown(name, FORMATS)
    if name in DOCUMENT_FORMATS and name not in OF_A_CHECK:
        from sonnx.report.check_document import document_of

        return render_document(name, document_of(run, declared=name == "sarif"))  # so an alert ends with its finding
    text: str = import_module(f"{__package__}.{'check_text' if name == 'text' else name}").render(run)
    return text


def render_document(name: str, document: Document) -> str:
    """A document in a format of DOCUMENT_FORMATS."""
    if name not in DOCUMENT_FORMATS:
        raise _unknown(name, RESULT_FORMATS)
    text: str = import_module(f"{__package__}.{name}").render_document(document)
    return text


def _unknown(name: str, known: Collection[str]) -> UsageError:
    return UsageError(f"unknown format {name!r}; there are {', '.join(known)}")
