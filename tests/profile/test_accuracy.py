"""The formulas of the pages on accuracy: each has a claim, and each claim a formula; `explain` shows them."""

from __future__ import annotations

from sonnx.profile.accuracy import accuracy_formulas
from sonnx.profile.catalogue import errata, operator
from sonnx.proofs import accuracy, accuracy_refuted
from sonnx.report.explain import explanation

PAGES = ("abs", "div", "exp", "leakyrelu", "log", "matmul", "pow", "sigmoid", "sqrt", "tanh", "where")


def test_each_formula_has_a_claim() -> None:
    assert {each.id for each in accuracy_formulas() if each.holds} == accuracy.PROVED.keys()
    assert {each.id for each in accuracy_formulas() if not each.holds} == accuracy_refuted.REFUTED.keys()


def test_a_formula_is_wrong_with_a_reason_and_an_erratum() -> None:
    for each in accuracy_formulas():
        assert bool(each.because) == (each.erratum is not None) == (not each.holds), each.id
        assert each.erratum is None or each.theorem in errata()[each.erratum].theorems
        assert operator(each.operator) is not None, each.id


def test_each_page_has_a_formula() -> None:
    places = " ".join(each.place for each in accuracy_formulas())
    assert [page for page in PAGES if f"{page}_acc.md" not in places] == []


def test_explain_shows_the_formula_of_the_text_and_ours() -> None:
    text = " ".join(explanation("Sqrt").to_text().split())
    assert "|e_Y| ≤ |e_X| / (2 √X) (sqrt_acc.md, propagated error: wrong, erratum sqrt-accuracy-bound" in text
    assert "sonnx bound: |e_Y| ≤ min(√|e_X|" in text
