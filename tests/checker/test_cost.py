"""The cost of a check grows with the file: no family of files has an exponent above 1.2, in counted steps."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from functools import partial
from random import Random
from typing import Any

import pytest

import sonnx
from sonnx.checker import rules
from sonnx.checker.report import Finding
from sonnx.checker.verdicts import Verdict
from sonnx.language.domain import Expression
from sonnx.language.explainer import explanation_of
from sonnx.model.limits import DEFAULT_LIMITS
from tests.support import families
from tests.support.cases import each_case, examples, spread
from tests.support.families import FAMILIES, Family, readers_of_a_constant
from tests.support.growth import LARGEST_EXPONENT, LIMITS_OF_GROWTH, check, counted, growth, mixtures

SMALL = 700
"""Bytes of the smallest file: counted steps need no large ones."""
LARGEST_TEXT = 100_000
"""Characters of a report in the text format, whatever the file holds."""


@each_case("family", spread(FAMILIES, len(FAMILIES) // 3), ids=lambda family: family.name)
def test_steps_grow_no_faster_than_the_file(family: Family) -> None:
    files = family.doubling(SMALL, 2)
    found, _ = growth(files, family.steps)
    assert found < LARGEST_EXPONENT
    assert check(files[-1]) < LARGEST_TEXT


@each_case("family", FAMILIES, ids=lambda family: family.name)
def test_no_message_is_long(family: Family) -> None:
    report = sonnx.check(family.of_size(4 * SMALL), limits=LIMITS_OF_GROWTH)
    assert max((len(each.actual) for each in report.findings), default=0) <= 2001
    assert max((len(each.where.place) for each in report.findings), default=0) <= 2001


@pytest.mark.parametrize("name", ["failing_divisions_by_one_constant", "symbols", "symbols_through_nodes"])
def test_only_listed_results_are_explained(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are the first of each rule and verdict, as in a report that lists all; the counts stay."""
    explained = list[Expression]()

    def counted_explain(condition: Expression, names: Mapping[str, Any]) -> str:
        explained.append(condition)
        return explanation_of(condition, names)

    monkeypatch.setattr(rules, "explanation_of", counted_explain)
    data = families.MAKERS[name](20)
    every = sonnx.check(data)
    for_all = len(explained)
    few = sonnx.check(data, limits={**DEFAULT_LIMITS, "findings": 2})
    seen, first = Counter[tuple[str, Verdict]](), list[Finding]()
    for each in every.findings:
        seen[each.rule, each.verdict] += 1
        if seen[each.rule, each.verdict] <= 2:
            first.append(each)
    assert few.findings == tuple(first)
    assert few.counts == every.counts
    assert len(explained) - for_all < for_all / 4


def test_the_command_for_a_rewrite_names_as_many_symbols_as_a_message_has_room_for() -> None:
    text = sonnx.check(families.MAKERS["symbols"](1000)).to_text()
    assert re.search(r"--input-shape \w+=SIZE", text)
    assert re.search(r"\(write your numbers for SIZE( and \d+ more inputs?)?\)", text)
    assert len(text) < 8000


@pytest.mark.parametrize("element", ["INT32", "INT64"])
def test_a_node_costs_the_same_however_long_its_constant_is(element: str) -> None:
    """Both a constant that is a list of indices and one that is a parameter, of more elements than nodes."""

    def of_nodes(readers: int, elements: int) -> int:
        operator, width = ("Gather", 4) if element == "INT32" else ("Reshape", 8)
        data = b"\1".ljust(width, b"\0")
        made = readers_of_a_constant(readers, elements, operator, getattr(families, element), data)
        check(made, 20)  # rules are loaded once
        return counted(partial(check, made, 20))[0]

    short, long = (of_nodes(4, elements) - of_nodes(2, elements) for elements in (300, 3000))
    assert abs(long - short) < 300


def _random(seed: int, number: int, size: int) -> None:
    for mixture in mixtures(Random(seed), number, size):
        assert mixture.exponent < LARGEST_EXPONENT, mixture


def test_random_mixtures() -> None:
    _random(1, examples(2, 4), 1000)


@pytest.mark.campaign
@pytest.mark.parametrize("seed", range(10))
def test_many_random_mixtures(seed: int) -> None:
    _random(seed, 100, 1500)
