"""What `sonnx selfcheck` does: read and validate everything this installation judges by."""

from __future__ import annotations

from sonnx import catalogue
from sonnx.cases import cases
from sonnx.expression import words
from sonnx.selecting import every
from sonnx.validation import problems


def selfcheck() -> tuple[list[str], bool]:
    """Lines to print, and whether nothing is wrong."""
    found = list(problems())
    known = catalogue.editions()
    lines = [
        f"editions {len(known.editions)}, texts {len(known.texts)}, errata {len(catalogue.errata())}",
        f"rules {len(every())}, operators with rules {len(catalogue.operators())}",
        f"words {len(words())}, cases {len(cases())}",
        *(f"problem: {problem}" for problem in found),
        "this installation is sound" if not found else f"{len(found)} problems",
    ]
    return lines, not found
