"""What the solver said about classes is kept for the questions of today, and checked when it is read."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec import structs

from sonnx.suite.decisions import FOLDER, Decisions, decisions_file, kept_bytes, kept_decisions
from sonnx.suite.making import chosen_operators
from sonnx.suite.options import MakeOptions
from sonnx.suite.structures import decide, questions_of, structures
from tests.suite.test_structures import family_of
from tests.support.cases import spread

OPERATORS = sorted(each.name for each in chosen_operators(MakeOptions()))


def kept(operator: str) -> tuple[str, Decisions]:
    family = family_of(operator)
    questions = questions_of(family)
    decisions = kept_decisions(decisions_file(family), questions)
    assert decisions is not None
    return questions, decisions


@pytest.mark.parametrize("operator", spread(OPERATORS, 6))
def test_the_files_answer_the_questions_of_today(operator: str) -> None:
    """If this fails, run python -m tools.suite_decisions."""
    kept(operator)


def test_every_operator_has_a_file_and_no_other_one_does() -> None:
    assert {path.name for path in FOLDER.iterdir()} == {decisions_file(family_of(name)).name for name in OPERATORS}


@pytest.mark.parametrize("operator", ["Relu", "Softmax"])
def test_the_solver_says_what_is_kept(operator: str) -> None:
    assert decide(family_of(operator)) == kept(operator)


def content_with_a_call_that_breaks_a_rule() -> bytes:
    questions, decisions = kept("Relu")
    [first, *others] = decisions.conforming
    broken = next(found for calls in decisions.breaking.values() for found in calls)
    wrong = structs.replace(first, values=broken.values)
    return kept_bytes(questions, structs.replace(decisions, conforming=(wrong, *others)))


@pytest.mark.parametrize("name", ["absent", "damaged", "of other questions", "a call breaks a rule"])
def test_the_solver_is_asked_where_a_file_cannot_be_used(name: str, tmp_path: Path) -> None:
    family = family_of("Relu")
    content = {
        "absent": lambda: None,
        "damaged": lambda: decisions_file(family).read_bytes()[:-20],
        "of other questions": lambda: kept_bytes("0" * 64, kept("Relu")[1]),
        "a call breaks a rule": content_with_a_call_that_breaks_a_rule,
    }[name]()
    if content is not None:
        decisions_file(family, tmp_path).write_bytes(content)
    asked, known = structures(family, folder=tmp_path), structures(family)
    assert (asked.classes, asked.positive, asked.negative) == (known.classes, known.positive, known.negative)
    assert (asked.sized, asked.unpadded, asked.unbroken) == (known.sized, known.unpadded, known.unbroken)
