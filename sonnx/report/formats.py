"""The formats of reports, by name; each is a module of this package, loaded when it is used."""

from __future__ import annotations

FORMATS = ("text", "concise", "json", "sarif", "junit", "github", "markdown", "html", "deviations")
"""The formats of `sonnx check`."""
DOCUMENT_FORMATS = ("text", "sarif", "junit", "github", "markdown", "html")
"""The formats that render a document; JSON is specific to a command."""
RESULT_FORMATS = ("text", "json", *DOCUMENT_FORMATS[1:])
"""The formats of every other command."""
LISTING_FORMATS = ("text", "json")
"""The formats of a list, which has no verdicts."""
OF_A_CHECK = ("text", "html")
"""The formats of DOCUMENT_FORMATS that show more of a check than its document has."""

HASHED = frozenset({"json", "sarif", "junit", "github", "markdown", "html", "deviations"})
"""The formats that state the SHA-256 of the file; for the others no weights are read."""

DRAWN = frozenset({"html"})
"""The formats that draw the graph."""

LINKED = frozenset({"text", "sarif", "html"})
"""The formats that link the pages of rules."""


class FormatChoices(tuple[str, ...]):
    """The names of formats as choices of `--format`, each also with a file: `sarif=a.sarif`."""

    def __contains__(self, choice: object) -> bool:
        name, equals, file = str(choice).partition("=")
        return super().__contains__(name) and bool(file or not equals)
