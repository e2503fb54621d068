"""All facts of an operator are shown in one place, each with its meaning."""

from __future__ import annotations

from dataclasses import fields

import pytest

import sonnx
from sonnx.operators import Operator, all_stated_operators, operator_facts
from sonnx.operators.facts_in_words import ELSEWHERE, facts_in_words, meanings, source_of
from tests.support.paths import ROOT

SHOWN = {
    "Softmax": {
        "continuous": "", "ends": "0, 1", "may_overflow_inside": "", "axis_parameter": "axis", "define": "",
        "kernel": "", "bound": "",
    },
    "Softsign": {
        "elementwise": "", "continuous": "", "monotone": "increasing", "ends": "-1, 1", "lipschitz": "1",
        "versions": "1, 22", "changes": "1", "output_element": "first", "keeps_shape": "",
    },
    "Selu": {
        "elementwise": "", "continuous": "", "versions": "1, 6, 22", "changes": "1, 6",
        "absent": "alpha: 1: 1.6732; 6: 1.6732631921768188; gamma: 1: 1.0507; 6: 1.0507010221481323",
        "output_element": "first", "keeps_shape": "",
    },
}  # fmt: skip


def test_every_field_has_a_meaning() -> None:
    names = {each.name for each in fields(Operator)}
    assert names == meanings().keys()
    assert names >= ELSEWHERE
    assert all(text.endswith(".") for text in meanings().values())


@pytest.mark.parametrize("name", SHOWN)
def test_facts_are_shown_with_their_values(name: str) -> None:
    assert {fact.name: fact.value for fact in facts_in_words(operator_facts(name))} == SHOWN[name]


def test_facts_stand_in_the_file_that_is_named() -> None:
    for name, operator in all_stated_operators().items():
        assert f'"{name}"' in (ROOT / source_of(operator)).read_text("utf-8")


@pytest.mark.parametrize("name", ["Softmax", "Softsign"])
def test_explain_shows_them(name: str) -> None:
    lines = [line.strip() for line in sonnx.explain(name).to_text().splitlines()]
    for fact in facts_in_words(operator_facts(name)):
        head = f"{fact.name} ({fact.value}): " if fact.value else f"{fact.name}: "
        assert [line for line in lines if line.startswith(head)], head
