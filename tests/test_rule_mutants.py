"""Every small change of a rule's text is noticed by a case, or stands with a reason in rule_survivors.toml."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
import rule_mutants
from rule_mutants import mutants, score

RECORDED = tomllib.loads(Path(__file__).with_name("rule_survivors.toml").read_text("utf-8"))
REASONED = {tuple(row) for group in RECORDED.values() for row in group["survivors"]}


def test_every_survivor_has_a_reason() -> None:
    """And every recorded one survives: what a new case kills is taken out of the file."""
    found, number = set(), 0
    for slug, text in rule_mutants.chosen([]):
        made = score(slug, text)
        number += made.mutants
        found |= {(slug, " ".join(text.split()), mutant) for mutant in made.alive}
    assert found - REASONED == set()
    assert REASONED - found == set()
    assert number > 1500


def test_reasons_are_sentences() -> None:
    assert all(group["reason"].endswith(".") and group["survivors"] for group in RECORDED.values())


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a < b", {"a >= b", "a <= b"}),
        ("a == 1", {"a != 1", "a == 2", "a == 0"}),
        ("a in s and b", {"a not in s and b", "a in s", "b"}),
        ("0 <= a < n", {"0 > a < n", "0 < a < n", "0 <= a >= n", "0 <= a <= n", "0 <= a", "a < n", "1 <= a < n",
                        "-1 <= a < n"}),
        ("all(i > j for i in s)", {"any((i > j for i in s))", "all((i <= j for i in s))", "all((i >= j for i in s))"}),
    ],
)  # fmt: skip
def test_mutants_of_a_text(text: str, expected: set[str]) -> None:
    assert set(mutants(text)) == expected


def test_a_case_kills() -> None:
    """The bounds of an axis are noticed on both sides."""
    [text] = {text for slug, text in rule_mutants.chosen(["ArgMax.axis-range"])}
    assert score("ArgMax.axis-range", text).mutants > 5
    assert not score("ArgMax.axis-range", text).alive
