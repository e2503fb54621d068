"""Suggestions for misspelt names."""

from __future__ import annotations

from collections.abc import Iterable

SIMILARITY = 0.6
"""How alike two names must be, from 0 to 1 (difflib)."""


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """A sentence with the known name that is most alike, capitals aside: `; did you mean 'X'?`, or "" if none is."""
    from difflib import get_close_matches  # only wrong names need it

    by_lower = {text.lower(): text for text in known}
    close_matches = get_close_matches(name.lower(), by_lower, 1, SIMILARITY)
    return f"; did you mean {by_lower[close_matches[0]]!r}?" if close_matches else ""
