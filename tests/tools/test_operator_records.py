"""What `make operator` writes is what stands in the tree for the operators that it has."""

from __future__ import annotations

from sonnx.evidence.mutation import RECORD, mutation_record
from sonnx.profile.requirement_identifiers import register
from tests.support.paths import DOCS
from tests.support.recorded_bounds import RECORDED, record
from tools import operator_records
from tools.rule_mutants import MutationTest


def test_figures_in_documents_are_written_as_they_stand() -> None:
    trust, robustness = ((DOCS / name).read_text("utf-8") for name in ("trust.md", "robustness.md"))
    assert operator_records.with_figures(trust) == trust
    assert operator_records.with_figures(trust.replace(" theorems, ", " more theorems, ", 1)) != trust
    assert operator_records.with_mutants(robustness, mutation_record()) == robustness


def test_counts_are_replaced() -> None:
    text, record = RECORD.read_text("utf-8"), mutation_record()
    counts = {group.id: dict(group.rules) for group in record.groups if group.rules}
    assert operator_records.with_counts(text, MutationTest(record.mutants, (), counts)) == text
    first = next(iter(counts))
    changed = operator_records.with_counts(text, MutationTest(7, (), {first: {**counts[first], "Zero.X-type": 3}}))
    assert "\nmutants = 7\n" in changed
    assert '\n"Zero.X-type" = 3\n' in changed
    assert len(changed.splitlines()) == len(text.splitlines()) + 1


def test_identifiers_that_the_register_lacks_are_added_in_order() -> None:
    text = register()
    assert operator_records.with_identifiers(text, ["Max/broadcastable"]) == text
    added = operator_records.with_identifiers(text, ["Max/broadcastable", "Max/new-rule", "Zero/T-allowed"])
    assert set(added.splitlines()) - set(text.splitlines()) == {"Max/new-rule", "Zero/T-allowed"}
    entries = [line for line in added.splitlines() if not line.startswith("#")]
    assert entries == sorted(entries)


def test_bounds_of_one_operator_are_recorded() -> None:
    text = RECORDED.read_text("utf-8")
    damaged = "".join(f"{line}\n" for line in text.splitlines() if not line.startswith("Not "))
    assert record(damaged.replace("\nOr 0", "\nOr 1"), ["Not"]) == text.replace("\nOr 0", "\nOr 1")


def test_theorems_of_an_operator() -> None:
    names = operator_records.theorems_of("Max")
    assert names
    assert all(name.startswith("derived.Max-") for name in names)
