"""The figures about theorems in docs/trust.md and docs/measurements/proofs.md are those of the theorems, and add up."""

from __future__ import annotations

import re
from collections import Counter

from sonnx.proofs import registry
from tests.support.paths import DOCS
from tools import headline

TRUST = " ".join((DOCS / "trust.md").read_text("utf-8").split())
CERTIFICATES = (DOCS / "measurements" / "proofs.md").read_text("utf-8")


def number(text: str) -> int:
    return int(text.replace(",", ""))


def test_theorems_of_any_size_are_counted() -> None:
    derived = [each for each in registry.theorems() if each.id.startswith("derived.") and each.expected == "proved"]
    kinds, unbounded = Counter[str](), Counter[str]()
    for theorem in derived:
        kind = theorem.id.split(".")[2]
        kinds[kind] += 1
        unbounded[kind] += theorem.size == "any"
    rows = re.findall(r"\| (\d+) (defined|restricts|shape-total|implied) \| (\d+) \|", TRUST)
    assert {kind: (int(some), int(all_)) for some, kind, all_ in rows} == {
        kind: (unbounded[kind], kinds[kind]) for kind in kinds
    }
    [(others, held)] = re.findall(r"Of the other (\d+) theorems, (\d+) hold for calls of any size", TRUST)
    assert (int(others), int(held)) == (len(derived), unbounded.total())
    assert f"The other {len(derived) - unbounded.total()} (" in TRUST


def test_the_headline_is_that_of_the_record() -> None:
    assert "\n".join(["```", *headline.lines(), "```"]) in (DOCS / "trust.md").read_text("utf-8")


def test_proofs_add_up() -> None:
    rows = re.findall(r"^\| (.+?) \| (\d+) \| (\d+) of (\d+) \| (\d+)", CERTIFICATES, re.MULTILINE)
    assert len(rows) == 3
    for name, different, accepted, made, missing in rows:
        assert int(accepted) == int(made), name
        assert int(different) == int(made) + int(missing), name
    [total] = re.findall(r"accepts every proof that is made, ([\d,]+) in all", CERTIFICATES)
    assert number(total) == sum(int(row[2]) for row in rows)
