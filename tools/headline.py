"""Print what is proved, and how far, from the record of the theorems: `python -m tools.headline`; no solver runs.

docs/trust.md has the same lines, which a test compares; with `--write` they are put there.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from sonnx.proofs import registry
from sonnx.prover import record
from sonnx.prover.results import KIND_NAMES, KINDS

PAGE = Path(__file__).parent.parent / "docs" / "trust.md"
BLOCK = re.compile(r"(?<=```\n)\d+ theorems, .*?\n(?=```)", re.DOTALL)
"""The lines on the page."""
INDUCTIONS = {"Why3": "in Why3", "Coq": "in Coq", "prose": "in prose, which a reader checks", "": "not needed"}


def lines() -> Iterator[str]:
    """The results by kind; the theorems by size, domain and induction; what is not confirmed."""
    entries = record.read(record.usual_path())
    stated = [theorem for theorem in registry.theorems() if theorem.id in entries]
    kinds = Counter(entries[theorem.id]["kind"] for theorem in stated)
    yield ", ".join(f"{kinds[kind]:,} {KIND_NAMES[kind]}" for kind in KINDS)
    proved = [theorem for theorem in stated if entries[theorem.id]["kind"] == "theorem"]
    scopes = Counter(theorem.scope for theorem in proved)
    yield (
        f"of the {len(proved)} theorems, {scopes['any size']} hold for any size, {scopes['finite domain']} for all of "
        f"a finite domain, and {scopes['bounded']} are bounded"
    )
    bounded = [theorem for theorem in proved if theorem.scope == "bounded"]
    derived = sum(theorem.id.startswith("derived.") for theorem in bounded)
    reasons = sum(bool(theorem.bound_reason) for theorem in bounded)
    yield f"of the bounded ones, {derived} are derived from the rules of operators, and {reasons} say why"
    domains = Counter(theorem.domain for theorem in proved)
    yield f"domains: {', '.join(f'{name} {number}' for name, number in sorted(domains.items()))}"
    counter = Counter(theorem.induction.partition(":")[0] for theorem in proved)
    yield f"inductions: {', '.join(f'{counter[name]} {text}' for name, text in INDUCTIONS.items())}"
    single = sum(not entries[theorem.id]["confirmed"] for theorem in proved)
    yield f"decided by one solver only: {single}"
    lacking = len(registry.theorems()) - len(stated)
    yield f"statements without a recorded result: {lacking}"


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the lines, or write them into the page."""
    parser = argparse.ArgumentParser(prog="python -m tools.headline", description="What is proved, from the record.")
    parser.add_argument("--write", action="store_true", help="put the lines into docs/trust.md")
    text = "".join(f"{line}\n" for line in lines())
    if parser.parse_args(arguments).write:
        page = PAGE.read_text("utf-8")
        PAGE.write_text(BLOCK.sub(lambda _: text, page, count=1), "utf-8")
    else:
        sys.stdout.write(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
