"""Every small change of a rule's condition is detected by a case, or recorded with a reason in rule_survivors.toml."""

from __future__ import annotations

import ast
import dataclasses
import re

import pytest

from sonnx.checker import rules
from sonnx.evidence.mutation import Survivor, mutation_record
from sonnx.profile import catalogue
from tests.support.cases import each_case
from tests.support.paths import ROOT
from tools.rule_mutants import MutationTest, conditions, main, mutants, mutation_test, score

RECORD = mutation_record()


def rows(group: str) -> list[tuple[str, str, str]]:
    """The survivors of one reason."""
    [found] = [each for each in RECORD.groups if each.id == group]
    return sorted((each.rule, each.text, each.mutant) for each in found.survivors)


@pytest.fixture(scope="module")
def found() -> MutationTest:
    return mutation_test()


def test_the_record_is_the_result(found: MutationTest) -> None:
    """Every survivor has a recorded reason, and every recorded one survives."""
    assert found.unexplained(RECORD) == []
    assert found.obsolete(RECORD) == []
    assert found.mutants == RECORD.mutants > 1500
    assert len(found.survivors) == len(RECORD.survivors) == len(set(RECORD.survivors))
    assert RECORD.detected == found.mutants - len(found.survivors)


def test_a_survivor_without_a_reason_is_seen(found: MutationTest) -> None:
    """One that loses its reason, and a reason that is stated for a mutant that never was."""
    first, *rest = RECORD.groups
    lost, stranger = first.survivors[0], Survivor("Max.broadcastable", "true", "false")
    changed = dataclasses.replace(first, survivors=(*first.survivors[1:], stranger))
    record = dataclasses.replace(RECORD, groups=(changed, *rest))
    assert (found.unexplained(record), found.obsolete(record)) == ([lost], [stranger])


def test_the_document_states_the_record() -> None:
    first, second, *others = [len(each.survivors) for each in RECORD.groups]
    numbers = first, second, sum(others)
    share = round(100 * RECORD.detected / RECORD.mutants)
    row = [f"{RECORD.mutants:,}", f"{RECORD.detected:,} ({share} %)", *map(str, numbers)]
    text = (ROOT / "docs" / "robustness.md").read_text("utf-8")
    assert f"| {' | '.join(row)} |" in text


def test_reasons_are_sentences() -> None:
    assert all(each.reason.endswith(".") and each.survivors for each in RECORD.groups)


def test_the_program_prints_the_score(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ArgMax.axis-range"]) == 0
    assert re.fullmatch(r"cases detect (\d+) of \1 mutants\n", capsys.readouterr().out)


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


@each_case(
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


def test_cases_detect() -> None:
    """The bounds of an axis are detected on both sides."""
    [(slug, text)] = conditions(["ArgMax.axis-range"])
    found = score(slug, text)
    assert found.mutants > 5
    assert found.survivors == ()


def test_the_checker_is_restored(found: MutationTest) -> None:
    """Recording replaces a method of the checker, and puts it back."""
    assert rules.RuleCondition.result.__module__ == rules.__name__
