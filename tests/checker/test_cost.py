"""The cost of a check grows with the file: no family of files has an exponent above 1.2, in counted steps."""

from __future__ import annotations

from random import Random

import pytest

import sonnx
from tests.support.cases import each_case, examples
from tests.support.families import FAMILIES, Family
from tests.support.growth import LARGEST_EXPONENT, LIMITS_OF_GROWTH, check, growth, mixtures

LARGEST_TEXT = 100_000
"""Characters of a report in the text format, whatever the file holds."""


@each_case("family", FAMILIES, ids=lambda family: family.name)
def test_steps_grow_no_faster_than_the_file(family: Family) -> None:
    """By small files; where these seem to cost too much, and in a deep run, by files of three times their size."""
    found, _ = growth(files := family.doubling(examples(500, 1500)), family.steps)
    if found >= LARGEST_EXPONENT:
        found, _ = growth(files := family.doubling(1500), family.steps)
    assert found < LARGEST_EXPONENT
    assert check(files[-1]) < LARGEST_TEXT


@each_case("family", FAMILIES, ids=lambda family: family.name)
def test_no_message_is_long(family: Family) -> None:
    report = sonnx.check(family.of_size(examples(6_000, 20_000)), limits=LIMITS_OF_GROWTH)
    assert max((len(each.actual) for each in report.findings), default=0) <= 2001
    assert max((len(each.where.place) for each in report.findings), default=0) <= 2001


def _random(seed: int, number: int, size: int) -> None:
    for mixture in mixtures(Random(seed), number, size):
        assert mixture.exponent < LARGEST_EXPONENT, mixture


def test_random_mixtures() -> None:
    _random(1, 4, examples(500, 1500))


@pytest.mark.campaign
@pytest.mark.parametrize("seed", range(10))
def test_many_random_mixtures(seed: int) -> None:
    _random(seed, 100, 1500)
