"""Every theorem has the status it states, detects its mutants, and is confirmed by a second solver."""

import pkgutil
import re
import tomllib
from pathlib import Path

import pytest

from sonnx import proofs
from sonnx.base.resources import folder
from sonnx.proofs import registry
from sonnx.prover import driver, queries
from sonnx.prover.results import STATED_KINDS
from sonnx.prover.solver_cache import SolverCache
from sonnx.workers.theorems import prove_theorems
from tests.support.proved import derived_from_chosen, stated_and_chosen

THEOREMS = stated_and_chosen(registry.theorems())
CHOSEN = derived_from_chosen(THEOREMS)
ERRATA = {each["id"] for each in tomllib.loads((folder("restrictions") / "errata.toml").read_text())["erratum"]}


@pytest.fixture(scope="module")
def kept(request):
    """The answers of the last run: only changed questions are asked again."""
    return SolverCache(Path(request.config.cache.mkdir("proofs")))


@pytest.fixture(scope="module")
def outcomes(kept):
    """The result of each theorem."""
    results, _ = prove_theorems(THEOREMS, "all", kept.folder, jobs=2)
    return {result.theorem.id: result for result in results}


@pytest.mark.parametrize("theorem", THEOREMS, ids=lambda theorem: theorem.id)
def test_it_has_the_status_it_states(theorem, outcomes):
    outcome = outcomes[theorem.id]
    assert outcome.status == theorem.expected, [(each.name, each.status) for each in outcome.obligations]
    assert not outcome.unconfirmed
    assert outcome.obligations
    assert outcome.kind in (STATED_KINDS[theorem.expected], "computed")
    assert outcome.confirmed != bool(theorem.reason_single)


@pytest.mark.parametrize("theorem", THEOREMS, ids=lambda theorem: theorem.id)
def test_it_is_well_stated(theorem, outcomes):
    assert re.fullmatch(r"[A-Za-z0-9]+(?:[.-][A-Za-z0-9]+)*", theorem.id)
    assert theorem.statement.endswith(".")
    assert theorem.formula
    assert re.fullmatch("[0-9a-f]{64}", outcomes[theorem.id].source)
    assert len({each.name for each in outcomes[theorem.id].obligations}) == len(outcomes[theorem.id].obligations)
    if theorem.erratum:
        assert theorem.erratum in ERRATA
    if theorem.expected != "proved":
        assert theorem.because
        assert theorem.replay is None or outcomes[theorem.id].replayed


def test_every_module_with_theorems_is_registered():
    """A module of proofs/ without theorems has definitions that several of them share."""
    names = {each.name for each in pkgutil.iter_modules(proofs.__path__)}
    listed = {each.__module__.rpartition(".")[2] for each in registry.MODULES}
    assert names - listed == {"float_order", "registry"}


def test_identifiers_are_unique():
    names = [theorem.id for theorem in THEOREMS]
    assert len(set(names)) == len(names)


def test_no_question_has_a_quantifier():
    for theorem in (each for each in THEOREMS if not each.id.startswith("derived.") or each in CHOSEN):
        for question in queries.questions(theorem, "z3", theorem.obligations):
            assert not re.search(r"\((forall|exists|lambda) ", question.text), question.name


def test_cvc5_trusts_no_step_for_integers(outcomes):
    answers = [a for o in outcomes.values() if o.theorem.sort == "int" for each in o.obligations for a in each.answers]
    proofs = [answer for answer in answers if answer.solver == "cvc5" and answer.result == "unsat"]
    assert proofs
    assert all(answer.steps for answer in proofs)
    assert not sum(answer.trusted for answer in proofs)


MUTANTS = [(theorem, mutant) for theorem in THEOREMS for mutant in theorem.mutants]


def test_every_proved_theorem_has_a_mutant():
    assert not [theorem.id for theorem in THEOREMS if theorem.expected == "proved" and not theorem.mutants]


@pytest.mark.parametrize(("theorem", "mutant"), MUTANTS, ids=[f"{t.id}: {m.name}" for t, m in MUTANTS])
def test_the_mutant_is_refuted(theorem, mutant, kept):
    assert driver.refutes(theorem, mutant, kept)


def test_the_text_of_a_question_does_not_depend_on_the_run():
    stated = [each for each in THEOREMS if each not in CHOSEN]
    for theorem in (*stated, *CHOSEN[::7]):
        one, other = (list(queries.questions(theorem, "z3", theorem.obligations)) for _ in range(2))
        assert [q.text for q in one] == [q.text for q in other]
