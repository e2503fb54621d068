"""Pairs of structure classes."""

from __future__ import annotations

from itertools import combinations

import pytest
from msgspec import structs

from sonnx.suite.archive import CoveredPairs, Suite
from sonnx.suite.call_search import SATISFIABLE
from sonnx.suite.report import SuiteReport
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


def test_pairs_for_which_no_steps_are_left_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sonnx.suite.call_search.EFFORT_OF_PAIRS", 50_000)
    said: list[str] = []
    made = structures(family_of("Relu"), pairs=True, progress=said.append)
    pairs, possible = made.pairs, [each for each in made.classes if each.answer == SATISFIABLE]
    assert pairs is not None
    assert pairs.not_asked > 0
    total = len(possible) * (len(possible) - 1) // 2
    assert pairs.covered + pairs.unsatisfiable + len(pairs.unknown) + pairs.not_asked == total
    assert said[:2] == [f"pairs of classes, 0 of {total}", f"pairs of classes, 200 of {total}"]
    assert structures(family_of("Relu"), pairs=True).pairs == pairs


def test_a_suite_whose_pairs_were_not_all_asked_is_not_decided(constant: Suite) -> None:
    for pairs, code in ((CoveredPairs(3, 2, ()), 0), (CoveredPairs(3, 2, (), 7), 3)):
        parts = tuple(structs.replace(part, pairs=pairs) for part in constant.parts)
        report = SuiteReport(**structs.asdict(structs.replace(constant, parts=parts)))
        assert report.exit_code == code
        assert ("7 pairs were not asked" in report.to_text()) == bool(code)
