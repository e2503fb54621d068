"""The comparison of translations (`make formal-terms`): what it says of lines that the program prints."""

from __future__ import annotations

import tomllib

import pytest

from sonnx.profile import catalogue
from sonnx.profile.index import rules_by_slug
from sonnx.profile.signature import active_condition, signature
from sonnx.prover import smt_interpretation
from sonnx.prover.call_variables import CallVariables
from sonnx.prover.smt_values import less
from sonnx.report import coq_rules
from tests.support.cases import each_case
from tests.support.second_encoder import EXPLAINED, FEWER, MORE, Facts, Question, asked, compared

LINE = (
    "true;variable 9;int 0;variable 1;int 1;ite 3 4 2;variable 3;ite 6 4 2;variable 5;ite 8 4 2;variable 7;ite 10 4 2;"
    "+ 11 2;+ 9 12;+ 7 13;+ 5 14;- 2 15;< 1 16;not 17;< 1 15;and 18 19;0 20"
)
"""What the program prints of ArgMax.axis-range: -X.rank <= axis < X.rank."""


def question() -> Question:
    made = signature("ArgMax", 13, "2026-11")
    assert made is not None
    demands = [(rule, active_condition(rule, made.text, catalogue.editions())) for rule in made.rules]
    texts = dict(zip([rule.slug for rule, demand in demands if demand], coq_rules.rule_terms(made), strict=True))
    for rule, demand in demands:
        if rule.slug == "ArgMax.axis-range" and demand is not None:
            found = asked("rule_1", texts[rule.slug], made, Facts(CallVariables(made)), rule, demand)
            assert isinstance(found, Question)
            return found
    raise AssertionError


def test_the_scope_has_the_variables_of_the_call() -> None:
    drawn = question()
    assert [drawn.leaves[place].sexpr() for place in (1, 2, 9)] == [
        "(< 0 X.rank)",
        "X.0",
        "(ite |written(axis)| axis 0)",
    ]
    assert drawn.asked(5)["names"]["axis"] == [True, {"number": 9}]
    assert drawn.key == question().key


@each_case(("line", "result"), [
    (LINE, "equal"),
    (LINE.replace("int 1;", "int 10;"), "the values differ"),
    (LINE.replace("< 1 15", "= 1 15"), "the values differ"),
    (LINE.replace(";0 20", ";19 20"), MORE),
    ("none", "no translation in Coq"),
    ("large", "no translation in Coq"),
])  # fmt: skip
def test_what_is_said_of_terms(line: str, result: str) -> None:
    assert compared(question(), ("always", line)) == result


def test_what_is_said_where_a_rule_applies_to_some_calls_only() -> None:
    """Python's term is about every call; that of these lines about calls with an axis that is not negative."""
    applies = "true;variable 9;int 0;< 1 2;not 3;0 4"
    assert compared(question(), (applies, LINE)) == "the values differ"
    assert compared(question(), ("true;0 0", LINE)) == "equal"


def test_a_term_of_python_that_is_undefined_for_more_calls_which_fail_is_told_apart() -> None:
    drawn = question()
    stricter = smt_interpretation.SmtCondition(drawn.condition.value, drawn.condition.value)
    assert compared(Question(**{**_fields(drawn), "condition": stricter}), ("always", LINE)) == FEWER


def test_a_wrong_translation_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(smt_interpretation.values, "at_most", less)
    assert compared(question(), ("always", LINE)) == "the values differ"


def test_the_explained_rules_are_those_of_the_profile() -> None:
    entries = tomllib.loads(EXPLAINED.read_text("utf-8"))["difference"]
    assert {slug for entry in entries for slug in entry["rules"]} <= rules_by_slug().keys()
    assert all(entry["because"].endswith(".") for entry in entries)


def _fields(drawn: Question) -> dict[str, object]:
    return {name: getattr(drawn, name) for name in Question.__dataclass_fields__}
