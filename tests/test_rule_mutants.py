"""Every small change of a rule's text is noticed by a case, or stands with a reason in rule_survivors.toml."""

from __future__ import annotations

import dataclasses

import pytest

from sonnx.qualification import mutation, rule_mutants
from sonnx.qualification.rule_mutants import mutants, score


@pytest.fixture(scope="module")
def found() -> mutation.Mutation:
    return mutation.mutation()


def test_every_survivor_has_a_reason(found: mutation.Mutation) -> None:
    """And every recorded one survives: what a new case kills is taken out of the file."""
    assert found.unexplained == ()
    assert found.gone == ()
    assert found.mutants > 1500
    assert found.alive == sum(len(survivors) for _, _, survivors in found.reasons)
    assert found.killed + found.alive == found.mutants


def test_a_survivor_without_a_reason_is_seen(found: mutation.Mutation, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that loses its reason, and a reason that is stated for a mutant that never was."""
    first, *rest = mutation.groups()
    lost, stranger = next(iter(first.survivors)), mutation.Survivor("Max.broadcastable", "true", "false")
    changed = dataclasses.replace(first, survivors=first.survivors - {lost} | {stranger})
    monkeypatch.setattr(mutation, "groups", lambda: (changed, *rest))
    again = mutation.mutation()
    assert (again.unexplained, again.gone) == ((lost,), (stranger,))
    assert (again.mutants, again.alive) == (found.mutants, found.alive)


def test_reasons_are_sentences() -> None:
    assert all(each.reason.endswith(".") and each.survivors for each in mutation.groups())


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
