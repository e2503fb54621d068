"""The lines of the definitions that docs/specification.md names.

`python -m tools.specification_links --write` writes them.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "specification.md"
NAMED = re.compile(r"`(\w+)`(s?\s\(|\s\(|,\s)(\w+)\.v:(\d+)")
_KEYWORDS = "Inductive|with|Definition|Fixpoint|Theorem|Record|Lemma"


def line_of(file: str, name: str) -> int:
    """The line of a definition.

    Raises:
        ValueError: the file does not define the name once.
    """
    text = (ROOT / "proofs" / "coq" / f"{file}.v").read_text("utf-8")
    found = [
        number for number, line in enumerate(text.splitlines(), 1) if re.match(rf"\s*(?:{_KEYWORDS}) {name}\b", line)
    ]
    if len(found) != 1:
        raise ValueError(f"{file}.v defines {name} {len(found)} times")
    return found[0]


def renewed(page: str) -> str:
    """The text with the lines as they are."""
    return NAMED.sub(lambda use: f"`{use[1]}`{use[2]}{use[3]}.v:{line_of(use[3], use[1])}", page)


def main() -> int:
    """Compare or write; 0, or 1 where a line is old."""
    page = PAGE.read_text("utf-8")
    if "--write" in sys.argv:
        PAGE.write_text(renewed(page), "utf-8")
        return 0
    return 0 if renewed(page) == page else 1


if __name__ == "__main__":
    sys.exit(main())
