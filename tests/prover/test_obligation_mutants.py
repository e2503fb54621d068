"""Every obligation is refuted by a change of what it is about, or says why no change can: proofs/mutants.json."""

from __future__ import annotations

from collections import Counter
from functools import cache
from itertools import chain

import pytest

from sonnx.language.evaluator import Evaluator
from sonnx.language.parser import parse
from sonnx.proofs import registry
from sonnx.prover import record
from sonnx.prover.recorded_answers import Entry
from sonnx.prover.theorem import Theorem
from tests.support.cases import each_case, spread
from tools import obligation_mutants
from tools.definition_mutants import named, of_function, of_reading, of_text
from tools.obligation_mutants import STATED, proved, reasons, still_refuted

MUTANTS = obligation_mutants.read(obligation_mutants.usual_path())
RESULTS = record.read(record.usual_path())


@cache
def theorems() -> dict[str, Theorem]:
    """The proved ones, by identifier."""
    return {each.id: each for each in proved(registry.theorems())}


def quick() -> list[Theorem]:
    """Theorems whose entries are decided again within seconds."""
    found = [each for each in registry.stated() if each.id.startswith(("broadcast.", "layout.", "max.", "order."))]
    return [each for each in proved(found) if each.sort == "int"]


def obligations_of(entry: Entry) -> list[str]:
    """The obligations that an entry speaks of."""
    reached = chain(*entry.get("mutants", {}).values(), *entry.get("hypotheses", {}).values())
    return [*reached, *entry.get("computed", ()), *entry.get("unreached", ())]


def test_every_theorem_has_an_entry_for_its_questions() -> None:
    """The questions are those of proofs/record.json, which other tests compare with the theorems."""
    assert MUTANTS.keys() == theorems().keys()
    stale = [name for name, entry in MUTANTS.items() if entry["questions"] != RESULTS[name]["smt2_sha256"]]
    assert not stale, f"python -m tools.obligation_mutants --select {stale}"


def test_an_entry_speaks_of_each_obligation_once() -> None:
    for name, entry in MUTANTS.items():
        counted, result = Counter(obligations_of(entry)), RESULTS[name]
        assert set(counted.values()) <= {1}, name
        assert len(counted) == result["questions"] + result["computed"], name


def test_what_no_mutant_reaches_has_a_reason() -> None:
    unreached = {(name, each) for name, entry in MUTANTS.items() for each in entry.get("unreached", ())}
    assert unreached == reasons().keys()


def test_every_recorded_mutant_is_a_change_of_a_definition() -> None:
    found = {(name, mutant) for name, entry in MUTANTS.items() for mutant in entry.get("mutants", {})}
    own = {(name, f"{STATED}{each.name}") for name, theorem in theorems().items() for each in theorem.mutants}
    assert not [name for name in {mutant for _, mutant in found - own} if named(name) is None]


@each_case("theorem", lambda: spread(quick(), 12), ids=lambda theorem: theorem.id)
def test_the_recorded_mutants_refute(theorem: Theorem) -> None:
    assert still_refuted(theorem, MUTANTS[theorem.id]) == {}


@pytest.mark.campaign
def test_all_recorded_mutants_refute() -> None:
    survive = {name: still_refuted(theorems()[name], entry) for name, entry in MUTANTS.items()}
    assert {name: found for name, found in survive.items() if found} == {}


# ------------------------------------------------------------------ the changes


def test_a_change_that_refutes_nothing_is_seen() -> None:
    """Control: whether the first or the last of equal values is the maximum, it bounds both."""
    theorem = theorems()["max.upper-bound"]
    old, new = (f"key(y, sign, infinity) {sign} key(x, sign, infinity)" for sign in (">", ">="))
    empty = {"mutants": {f"numerics.order.maximum: {old} → {new}": ["upper bound"]}}
    assert still_refuted(theorem, empty) == empty["mutants"]


def test_a_change_is_undone() -> None:
    theorem = theorems()["max.upper-bound"]
    before = [each.goal.sexpr() for each in theorem.obligations()]
    for mutant in of_function("sonnx.numerics.order.key"):
        with mutant.applied():
            pass
    assert [each.goal.sexpr() for each in theorem.obligations()] == before


@each_case(
    ("found", "old", "new"),
    [
        (of_function("sonnx.numerics.order.key"), "magnitude > infinity", "magnitude >= infinity"),
        (of_function("sonnx.language.builtins.window"), "kernel - 1", "kernel + 1"),
        (of_reading("aligned"), "k < len(shape)", "k <= len(shape)"),
        (of_text("axis >= 0"), "axis >= 0", "axis > 0"),
    ],
)  # fmt: skip
def test_changes(found: object, old: str, new: str) -> None:
    changes = {(each.old, each.new) for each in found}  # type: ignore[attr-defined]
    assert (old, new) in changes


def test_a_changed_text_has_another_value() -> None:
    mutant = next(each for each in of_text("axis >= 0") if each.new == "axis > 0")
    with mutant.applied():
        assert parse("axis >= 0").evaluate(Evaluator(), {"axis": 0}) is False
    assert parse("axis >= 0").evaluate(Evaluator(), {"axis": 0}) is True
