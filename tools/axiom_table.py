"""Write the table of axioms in docs/equivalence.md: `python -m tools.axiom_table`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from sonnx.equivalence.terms.axioms import axioms

PAGE = Path("docs/equivalence.md")
HEAD = "| axiom | level | theorem | example |"
LEVELS = {"exact": "bits", "real": "reals", "narrowing": "narrowing"}


def rows() -> Iterator[str]:
    """The lines of the table, its head first."""
    yield from (HEAD, "|---|---|---|---|")
    for axiom in axioms().values():
        theorem = f"`{axiom.theorem}`" if axiom.theorem else "assumed"
        yield f"| {axiom.statement} | {LEVELS[axiom.level]} | {theorem} | {axiom.example} |"


def with_table(page: str) -> str:
    """A page with the table in the place of the one that it has."""
    before, _, after = page.partition(HEAD)
    _, _, rest = after.partition("\n\n")
    return before + "\n".join(rows()) + "\n\n" + rest


if __name__ == "__main__":
    PAGE.write_text(with_table(PAGE.read_text("utf-8")), "utf-8")
