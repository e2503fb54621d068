"""Pairs of structure classes."""

from __future__ import annotations

from itertools import combinations

import pytest

from sonnx.suite.call_search import SATISFIABLE
from sonnx.suite.structures import structures
from tests.suite.test_structures import family_of, of
from tests.support.cases import DEEP


@pytest.mark.parametrize("operator", ["Relu", "Softmax"] if DEEP else ["Relu"])
def test_each_pair_occurs_in_a_call_or_cannot(operator: str) -> None:
    made = structures(family_of(operator), pairs=True)
    possible = [each.name for each in made.classes if each.answer == SATISFIABLE]
    occurring = {pair for each in made.positive for pair in combinations(sorted(each.classes), 2)}
    assert made.pairs is not None
    assert made.pairs.unknown == ()
    assert made.pairs.covered <= len(occurring)  # equal calls of two models have the classes of both
    assert made.pairs.covered + made.pairs.unsatisfiable == len(possible) * (len(possible) - 1) // 2
    assert len(occurring) > len({pair for each in of(operator).positive for pair in combinations(each.classes, 2)})
    together = {frozenset(pair) for pair in occurring}
    assert frozenset(("X is double", "X has rank 2")) in together
    assert frozenset(("X is double", "X is float")) not in together
