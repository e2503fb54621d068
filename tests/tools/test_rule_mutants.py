"""Every small change of a rule's condition is detected by a case, or recorded with a reason in rule_survivors.toml."""

from __future__ import annotations

import dataclasses
import re

import pytest

from sonnx.checker import rules
from sonnx.evidence.mutation import Survivor, mutation_record
from tests.support.cases import each_case
from tests.support.paths import ROOT
from tools.rule_mutants import MutationTest, conditions, main, mutants, mutation_test, reason_by_types, score

RECORD = mutation_record()


@pytest.fixture(scope="module")
def found() -> MutationTest:
    return mutation_test()


def test_the_record_is_the_result(found: MutationTest) -> None:
    """Every survivor has a reason, and every recorded one survives."""
    assert found.unexplained(RECORD) == []
    assert found.obsolete(RECORD) == []
    assert found.counted(RECORD)
    assert RECORD.mutants > 1500
    assert RECORD.detected == found.mutants - found.undetected


def test_a_survivor_without_a_reason_is_seen(found: MutationTest) -> None:
    """One that loses its reason, a reason that is stated for a mutant that never was, and another number."""
    *rest, last = RECORD.groups
    lost, stranger = last.survivors[0], Survivor("Max.broadcastable", "true")
    changed = dataclasses.replace(last, survivors=(*last.survivors[1:], stranger))
    record = dataclasses.replace(RECORD, groups=(*rest, changed))
    assert (found.unexplained(record), found.obsolete(record)) == ([lost], [stranger])
    first = rest[0]
    more = dataclasses.replace(first, rules={**first.rules, "Max.X-type": first.rules["Max.X-type"] + 1})
    assert not found.counted(dataclasses.replace(RECORD, groups=(more, *RECORD.groups[1:])))


def test_the_document_states_the_record() -> None:
    first, second, *others = [each.number for each in RECORD.groups]
    numbers = first, second, sum(others)
    share = round(100 * RECORD.detected / RECORD.mutants)
    row = [f"{RECORD.mutants:,}", f"{RECORD.detected:,} ({share} %)", *map(str, numbers)]
    text = (ROOT / "docs" / "robustness.md").read_text("utf-8")
    assert f"| {' | '.join(row)} |" in text


def test_reasons_are_sentences() -> None:
    assert all(each.reason.endswith(".") and each.number for each in RECORD.groups)


def test_the_program_prints_the_score(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ArgMax.axis-range"]) == 0
    assert re.fullmatch(r"cases detect (\d+) of \1 mutants\n", capsys.readouterr().out)


FLOATS = "['float16', 'float']"
OF_TYPES = f"X.type in {FLOATS} and Y.type in {FLOATS}"
OF_LIST = f"all((x.type in {FLOATS} for x in inputs)) and Y.type in {FLOATS}"
OF_OPTIONAL = f"X.type in {FLOATS} and (not given(Mask) or Mask.type in ['bool'])"


@each_case(
    ("rule", "text", "mutant", "reason"),
    [
        ("Max.X-type", OF_TYPES, f"X.type in {FLOATS}", "one-type"),
        ("Max.X-type", OF_TYPES, f"Y.type in {FLOATS}", "one-type"),
        ("Max.X-type", OF_LIST, OF_LIST.replace("all(", "any("), "one-type"),
        ("Dropout.T2-allowed", OF_OPTIONAL, f"X.type in {FLOATS} and Mask.type in ['bool']", ""),
        # the list of the tensor that is left out is asked of no other one
        ("Max.X-type", f"X.type in {FLOATS} and Y.type in ['bool']", f"X.type in {FLOATS}", ""),
        # the other tensor may be absent
        ("Max.X-type", f"X.type in {FLOATS} and (not given(Y) or Y.type in {FLOATS})",
         f"not given(Y) or Y.type in {FLOATS}", ""),
        ("Max.X-type", OF_TYPES, OF_TYPES.replace("X.type in", "X.type not in"), ""),
        ("MaxPool.Indices-type", "not given(Indices) or Indices.type in ['int64']", "Indices.type in ['int64']",
         "left-out-output"),
        ("Max.broadcastable", "broadcastable(shapes(X))", "true", ""),
    ],
)  # fmt: skip
def test_reasons_that_follow_from_types(rule: str, text: str, mutant: str, reason: str) -> None:
    assert reason_by_types(rule, text, mutant) == reason


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
