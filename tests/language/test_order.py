"""Which conditions see the order of extents only."""

from __future__ import annotations

from sonnx.language.order import PLAIN, RECORD, is_by_order
from sonnx.language.parser import parse
from tests.support.cases import each_case

NAMES = {"X": RECORD, "Y": RECORD, "group": RECORD, "axis": PLAIN}
BY_ORDER = (
    "X.shape == Y.shape",
    "X.shape[axis] <= 1",
    "all(d > 0 and stated(d) for d in X.shape)",
    "Y.shape == broadcast([X.shape, Y.shape])",
    "Y.shape == X.shape[:axis] + [1] + X.shape[axis + 1:]",
    "max(X.shape) == min([d for d in Y.shape if d != 1])",
    "(Y.shape[0] if axis == 0 else X.shape[0]) in X.shape",
    "distinct(X.shape) and X.rank == axis + 3",
    "all(t.shape == group[0].shape for t in group)",
    "all(v < axis for v in X.values)",
)
BY_NUMBER = (
    "X.shape[0] == 2",
    "X.shape[0] > -1",
    "X.shape[0] < axis",
    "X.shape[0] + 1 == Y.shape[0]",
    "-X.shape[0] < 0",
    "product(X.shape) == product(Y.shape)",
    "axis in X.shape",
    "all(v < X.shape[0] for v in X.values)",
    "all(i < 3 for i in range(X.shape[0]))",
    "X.shape[X.shape[0]] == 1",
    "X.shape[:Y.shape[0]] == X.shape",
    "(axis if X.rank == 1 else X.shape[0]) == Y.shape[0]",
    "Y.shape == [axis] + X.shape[1:]",
    "positions(X.shape[0], 1, 1) == 1",
    "steps_over(X.shape[0], 1) == 1",
)


@each_case("text", BY_ORDER)
def test_order_suffices(text: str) -> None:
    assert is_by_order(parse(text), NAMES)


@each_case("text", BY_NUMBER)
def test_order_does_not_suffice(text: str) -> None:
    assert not is_by_order(parse(text), NAMES)
