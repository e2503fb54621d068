"""Every small change of a rule's text is noticed by a case, or stands with a reason in rule_survivors.toml."""

from __future__ import annotations

import ast
import dataclasses
import re

import pytest

from sonnx.evidence import mutation, rule_mutants
from sonnx.evidence.rule_mutants import mutants, score
from sonnx.profile import catalogue


def rows(group: str) -> list[tuple[str, str, str]]:
    """The survivors of one reason."""
    [found] = [each for each in mutation.groups() if each.id == group]
    return sorted((each.rule, each.text, each.mutant) for each in found.survivors)


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


def parts(text: str) -> dict[str, tuple[str, str, str]]:
    """The types that a text made from the table asks for: by the part of it, all or any, the tensor and the list."""
    tree = ast.parse(text, mode="eval").body
    together = tree.values if isinstance(tree, ast.BoolOp) and isinstance(tree.op, ast.And) else [tree]
    found = {}
    for part in map(ast.unparse, together):
        match = re.fullmatch(
            r"(?:not given\(\w+\) or )?(?P<one>\w+)\.type in (?P<types>\[[^]]*\])"
            r"|(?P<quantifier>all|any)\(\(x\.type in (?P<each>\[[^]]*\]) for x in (?P<many>\w+)\)\)",
            part,
        )
        assert match, part
        found[part] = (match["quantifier"] or "", match["one"] or match["many"], match["types"] or match["each"])
    return found


def test_reason_of_one_type() -> None:
    """A mutant leaves out one tensor, or asks one of a list; a tensor that is always there is held to the same list."""
    for slug, text, mutant in rows("one-type"):
        before, after = parts(text), parts(mutant)
        [gone] = before.keys() - after.keys()
        _, tensor, types = before[gone]
        assert after.keys() - before.keys() <= {gone.replace("all(", "any(", 1)} - {gone}, slug
        always = {part for part in after if not part.startswith("not given") and after[part][1] != tensor}
        assert any(after[part][2] == types for part in always), (slug, mutant)


def test_reason_of_left_out_output() -> None:
    """A mutant asks the type of an output without asking first whether the output is there."""
    for slug, text, mutant in rows("left-out-output"):
        [before], [after] = parts(text).keys() - parts(mutant).keys(), parts(mutant).keys() - parts(text).keys()
        operator = catalogue.operator(slug.partition(".")[0])
        name = after.partition(".")[0]
        assert before == f"not given({name}) or {after}", slug
        assert operator and name in {output.name for output in operator.outputs}, slug


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
