"""Suggestions for misspelt names."""

from __future__ import annotations

from collections.abc import Iterable

SIMILARITY = 0.6
"""How alike two names must be, from 0 to 1 (difflib)."""


def most_alike(name: str, known: Iterable[str]) -> str:
    """The known name that is most alike, capitals aside, or "" if none is."""
    from difflib import get_close_matches  # only wrong names need it

    by_lower = {text.lower(): text for text in known}
    close_matches = get_close_matches(name.lower(), by_lower, 1, SIMILARITY)
    return by_lower[close_matches[0]] if close_matches else ""


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """A sentence with the known name that is most alike, capitals aside: `; did you mean 'X'?`, or "" if none is."""
    alike = most_alike(name, known)
    return f"; did you mean {alike!r}?" if alike else ""
