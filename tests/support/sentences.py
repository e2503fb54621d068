"""The sentences of a Markdown page: of its paragraphs and lists; headings, tables and transcripts are left out."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

_END = re.compile(r"(?<=[.:])(?:\*\*)?\s+(?=[A-Z`*\[0-9])")

BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
"""A fenced block: its language and its text."""


def prose(text: str) -> str:
    """A page without fenced blocks."""
    return BLOCK.sub("", re.sub(r"^````.*?^````$", "", text, flags=re.MULTILINE | re.DOTALL))


def blocks(text: str) -> Iterator[tuple[str, str]]:
    """The paragraphs and list items, each in one line, with the heading they stand under."""
    heading, kept, fenced = "", list[str](), False
    for line in [*text.splitlines(), ""]:
        if line.startswith("```"):
            fenced = not fenced
        starts = line.startswith(("#", "* ", "|", "    ", "```")) or re.match(r"\d+\. ", line)
        if (starts or not line.strip() or fenced) and kept:
            yield heading, " ".join(kept)
            kept = []
        if line.startswith("#"):
            heading = line.lstrip("# ")
        elif line.strip() and not fenced and not line.startswith(("|", "    ", "```", "<")):
            kept.append(line.removeprefix("* ").strip())


def sentences(path: Path) -> Iterator[tuple[str, str]]:
    """Each sentence with its heading."""
    for heading, block in blocks(path.read_text("utf-8")):
        for each in _END.split(block):
            if each.strip():
                yield heading, each.strip()
