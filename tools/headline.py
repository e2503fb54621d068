"""Print what is proved, and how far, from the record of the theorems: `python -m tools.headline`; no solver runs.

docs/trust.md has the same lines, which a test compares.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator

from sonnx.proofs import registry
from sonnx.prover import record
from sonnx.prover.results import KIND_NAMES, KINDS

INDUCTIONS = {"Why3": "in Why3", "Coq": "in Coq", "prose": "in prose, which a reader checks", "": "not needed"}


def lines() -> Iterator[str]:
    """The results by kind; the theorems by size, domain and induction; what is not confirmed."""
    entries = record.read(record.usual_path())
    stated = [each for each in registry.theorems() if each.id in entries]
    kinds = Counter(entries[each.id]["kind"] for each in stated)
    yield ", ".join(f"{kinds[kind]:,} {KIND_NAMES[kind]}" for kind in KINDS)
    proved = [each for each in stated if entries[each.id]["kind"] == "theorem"]
    unbounded = sum(each.size == "any" for each in proved)
    yield f"of the {len(proved)} theorems, {unbounded} hold for any size and {len(proved) - unbounded} are bounded"
    derived = [each for each in proved if each.size != "any" and each.id.startswith("derived.")]
    yield f"of the bounded ones, {len(derived)} are derived from the rules of operators"
    domains = Counter(each.domain for each in proved)
    yield f"domains: {', '.join(f'{name} {number}' for name, number in sorted(domains.items()))}"
    made = Counter(each.induction.partition(":")[0] for each in proved)
    yield f"inductions: {', '.join(f'{made[each]} {text}' for each, text in INDUCTIONS.items())}"
    single = sum(not entries[each.id]["confirmed"] for each in proved)
    yield f"decided by one solver only: {single}"
    lacking = len(registry.theorems()) - len(stated)
    yield f"statements without a recorded result: {lacking}"


if __name__ == "__main__":
    sys.stdout.writelines(f"{line}\n" for line in lines())
