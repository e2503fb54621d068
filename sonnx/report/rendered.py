"""The result of a command with its renderings, and a document in a format.

A command makes one `Document` of its result, and a format has one function for it, `render_document(document)`, which
returns the whole text, ending in a line feed.  To add a format, add a module of its name, and the name to
`DOCUMENT_FORMATS` in `formats.py`.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any, Self

from sonnx.base.errors import UsageError
from sonnx.base.reported import json_text
from sonnx.report.document import Document
from sonnx.report.formats import DOCUMENT_FORMATS, RESULT_FORMATS
from sonnx.report.notebooks import ShownInNotebooks


def render_document(name: str, document: Document) -> str:
    """A document in a format of DOCUMENT_FORMATS.

    Raises:
        UsageError: an unknown format.
    """
    if name not in DOCUMENT_FORMATS:
        raise UsageError(f"unknown format {name!r}; there are {', '.join(RESULT_FORMATS)}")
    text: str = import_module(f"{__package__}.{name}").render_document(document)
    return text


class Rendered(ShownInNotebooks):
    """A result of a command: its document in every format, and JSON of its own."""

    __slots__ = ()

    @classmethod
    def of(cls, result: Any, **more: Any) -> Self:
        """The result with its renderings; `found` is of the data class that this class extends."""
        names = getattr(result, "__struct_fields__", None) or result.__dataclass_fields__
        return cls(**{name: getattr(result, name) for name in names}, **more)

    def document(self) -> Document:
        """The result as a document."""
        raise NotImplementedError

    def page(self) -> Document:
        """The document of the page, which may have more pictures."""
        return self.document()

    def one_line(self) -> str:
        """The headline."""
        return self.document().headline

    def to_json(self) -> str:
        """One JSON document, by the schema of the command."""
        return json_text(self)

    def to_text(self) -> str:
        """Lines for a terminal."""
        return render_document("text", self.document())

    def to_format(self, name: str) -> str:
        """The result in a format: text, json, sarif, junit, github, markdown or html.

        Raises:
            UsageError: an unknown format.
        """
        if name in ("text", "json"):
            return self.to_text() if name == "text" else self.to_json()
        return render_document(name, self.page() if name == "html" else self.document())
