"""The sentences of onnx.proto and IR.md that demand something, each with its place and a digest of its words."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from typing import NamedTuple

DEMANDS = re.compile(
    r"\b(must|should|shall|not allowed|required|recommended|may not|cannot|invalid|only|mandatory|illegal)\b",
    re.IGNORECASE,
)
"""Words with which these texts demand or forbid something."""
OBLIGES = re.compile(
    r"\b(must|shall|required to|is required|are required|not allowed|invalid|illegal|cannot reference)\b", re.IGNORECASE
)
"""Words with which these texts leave no choice (RFC 2119), whatever the case of the letters."""
SENTENCE = re.compile(r"(?<=[.:;|])\s+(?=[A-Z(`*_])")


class Demand(NamedTuple):
    """A sentence: the message or section where it stands, and the first 12 digits of its SHA-256."""

    at: str
    digest: str
    text: str

    @property
    def obliges(self) -> bool:
        """Whether the sentence leaves no choice: a file that breaks it is not valid ONNX."""
        return bool(OBLIGES.search(self.text))


def of_proto(text: str) -> Iterator[Demand]:
    """The demands of the comments of a protobuf file; a comment belongs to the message or field that follows it."""
    message, comment = "file", list[str]()
    for line in text.splitlines():
        stripped = line.strip()
        if stripped.startswith("//"):
            comment.append(stripped.lstrip("/ "))
            continue
        declared = re.match(r"(message|enum) (\w+)", stripped)
        field = re.match(r"(?:optional |repeated )?[\w.]+ (\w+) = \d+|(\w+) = ", stripped)
        behind = stripped.partition("//")[2].strip()
        if declared or field:
            name = declared[2] if declared else f"{message}.{field[1] or field[2]}" if field else ""
            yield from _demands(name, " ".join([*comment, behind]))
            message = declared[2] if declared else message
        elif comment:
            yield from _demands(message, " ".join(comment))
        comment = []


def of_markdown(text: str) -> Iterator[Demand]:
    """The demands of a page in Markdown, by section."""
    section, lines = "", list[str]()
    for line in [*re.sub(r"```.*?```", "", text, flags=re.DOTALL).splitlines(), ""]:
        if re.match(r"#+ |[|*-]", line) or not line.strip():
            yield from _demands(section, " ".join(lines))
            lines = []
        if heading := re.match(r"#+ (.*)", line):
            section = heading[1]
        else:
            lines.append(line.strip())


def _demands(at: str, text: str) -> Iterator[Demand]:
    for sentence in SENTENCE.split(" ".join(text.split())):
        if DEMANDS.search(sentence):
            yield Demand(at, hashlib.sha256(sentence.encode()).hexdigest()[:12], sentence)
