"""Identifiers: permanent slugs of rules, and the tags the texts use for them."""

from __future__ import annotations

import re
from dataclasses import dataclass

_SLUG = re.compile(r"(?:[A-Z][A-Za-z0-9]*\.)?[A-Za-z0-9_]+(?:-[A-Za-z0-9_]+)*")

SHOWN = 4
"""Labels of one text that a message prints."""


@dataclass(frozen=True, slots=True)
class Tag:
    """A label a text gives a rule, with the origin the text states; never printed without its text."""

    text: str
    label: str
    origin: str


def is_slug(text: str) -> bool:
    """Whether a text has the form of a slug: `no-dead-node`, `Max.broadcastable`."""
    return _SLUG.fullmatch(text) is not None


def show_tags(tags: tuple[Tag, ...]) -> str:
    """Tags by text, as messages print them: `[E1 C1, 2025-11; C1, 2026-08]`, "" for none; of many the first few."""
    by_text: dict[str, list[str]] = {}
    for tag in tags:
        by_text.setdefault(tag.text, []).append(tag.label)
    inner = "; ".join(f"{_few(labels)}, {text}" for text, labels in by_text.items())
    return f"[{inner}]" if inner else ""


def _few(labels: list[str]) -> str:
    """The labels in one line; pages that restate one condition in every section give it a dozen."""
    more = f" and {len(labels) - SHOWN} more" if len(labels) > SHOWN else ""
    return " ".join(labels[:SHOWN]) + more
