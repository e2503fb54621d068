"""What `make operator` writes is what stands in the tree for the operators that it has."""

from __future__ import annotations

from sonnx.evidence.mutation import RECORD, mutation_record
from tests.support.paths import DOCS
from tools import operator_records


def test_figures_in_documents_are_written_as_they_stand() -> None:
    trust, robustness = ((DOCS / name).read_text("utf-8") for name in ("trust.md", "robustness.md"))
    assert operator_records.with_figures(trust) == trust
    assert operator_records.with_figures(trust.replace(" theorems, ", " more theorems, ", 1)) != trust
    assert operator_records.with_mutants(robustness, mutation_record()) == robustness


def test_survivors_are_added_to_the_reason_that_a_test_checks() -> None:
    text = RECORD.read_text("utf-8")
    assert operator_records.with_survivors(text, mutation_record().mutants, []) == text
    changed = operator_records.with_survivors(text, 7, list(mutation_record().survivors)[:1])
    assert "\nmutants = 7\n" in changed
    assert len(changed.splitlines()) == len(text.splitlines()) + 1


def test_theorems_of_an_operator() -> None:
    names = operator_records.theorems_of("Max")
    assert names
    assert all(name.startswith("derived.Max-") for name in names)
