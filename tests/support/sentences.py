"""The paragraphs of a Markdown page; headings, tables and transcripts are left out."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
"""A fenced block: its language and its text."""
_PROMISES = re.compile(r"\s*<!-- (?:promise: (?P<names>.*)|no promise) -->")


def prose(text: str) -> str:
    """A page without fenced blocks."""
    return BLOCK.sub("", re.sub(r"^````.*?^````$", "", text, flags=re.MULTILINE | re.DOTALL))


class Paragraph(NamedTuple):
    """A paragraph or list item in one line, the heading above it, and the promises that the comment below it names.

    `promises` is None where no comment says what it promises.
    """

    heading: str
    text: str
    promises: tuple[str, ...] | None


def paragraphs(page: str) -> Iterator[Paragraph]:
    """The paragraphs and list items of a page that are more than a command line."""
    heading, lines = "", list[str]()
    for line in [*prose(page).splitlines(), ""]:
        mark = _PROMISES.fullmatch(line)
        starts = mark or line.startswith(("#", "* ", "|", "    ", "<")) or re.match(r"\d+\. ", line)
        if lines and (starts or not line.strip()):
            text = " ".join(lines)
            if mark or not re.fullmatch(r"`[^`]+`\.?", text):
                yield Paragraph(heading, text, tuple(filter(None, (mark["names"] or "").split(", "))) if mark else None)
            lines = []
        if line.startswith("#"):
            heading = line.lstrip("# ")
        elif line.strip() and not mark and not line.startswith(("|", "    ", "<")):
            lines.append(line.removeprefix("* ").strip())
