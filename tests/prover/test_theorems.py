"""Every theorem has the status it states, detects its mutants, and is confirmed by a second solver.

A theorem is proved here if its questions are not those of the record; `make proofs` proves all, with all mutants.
"""

import pkgutil
import re
import tomllib
from functools import cache
from pathlib import Path

import pytest

from sonnx import proofs
from sonnx.base.resources import folder
from sonnx.proofs import inductions, registry
from sonnx.prover import driver, queries, record
from sonnx.prover.recorded_answers import asks_the_same
from sonnx.prover.results import STATED_KINDS
from sonnx.prover.solver_cache import SolverCache
from sonnx.workers.tasks import WorkPlace
from sonnx.workers.theorems import prove_theorems
from tests.support.cases import DEEP, each_case, spread
from tests.support.proved import derived_from_chosen, stated_and_chosen

RECORD = record.read(record.usual_path())
ERRATA = {each["id"] for each in tomllib.loads((folder("restrictions") / "errata.toml").read_text())["erratum"]}


@cache
def compared():
    """Theorems that are not derived, and those of the chosen operators.

    In a run that is not deep of each topic every second one, and a twelfth of those of the chosen operators.
    """
    topics = {}
    for theorem in registry.stated():
        topics.setdefault(theorem.id.partition(".")[0], []).append(theorem)
    some = [each for topic in topics.values() for each in (topic if DEEP else topic[::2])]
    return [*some, *spread(derived_from_chosen(), len(derived_from_chosen()) // 24)]


@pytest.fixture(scope="module")
def asked():
    """The questions of each theorem."""
    return {each.id: [*queries.questions_of(each, "all", each.obligations)] for each in compared()}


@pytest.fixture(scope="module")
def outcomes(asked, request):
    """The recorded result of each theorem that asks what is recorded, as `make proofs` finds it; else a new one."""
    changed = [each for each in compared() if not recorded(RECORD.get(each.id), asked[each.id])]
    cache = SolverCache(Path(request.config.cache.mkdir("proofs")))
    made, _ = prove_theorems(changed, "all", cache.folder, WorkPlace(2)) if changed else ((), False)
    return {each.id: RECORD[each.id] for each in compared() if each not in changed} | {
        result.theorem.id: record.entry(result, cache) for result in made
    }


def recorded(entry, questions):
    """Whether an entry answers these questions."""
    return asks_the_same(entry, questions)


def test_each_has_the_status_it_states(asked, outcomes):
    for theorem in compared():
        outcome, questions = outcomes[theorem.id], asked[theorem.id]
        assert outcome["status"] == theorem.expected, theorem.id
        assert outcome["kind"] in (STATED_KINDS[theorem.expected], "computed"), theorem.id
        assert outcome["confirmed"] != bool(theorem.reason_single), theorem.id
        assert outcome["questions"] + outcome["computed"] == len(questions) > 0, theorem.id
        assert outcome["computed"] == sum(bool(each.obligation.computed) for each in questions), theorem.id
        assert outcome["mutants"].keys() == {each.name for each in theorem.mutants}, theorem.id


def test_each_counterexample_is_shown_by_the_code(outcomes):
    """The recorded values; a witness is searched again, because the record does not have its values."""
    shown = [each for each in compared() if each.replay is not None and each.expected != "proved"]
    for theorem in (each for each in shown if each.expected == "refuted"):
        known = outcomes[theorem.id]
        assert theorem.replay(known["counterexample"]) == known["replayed"] != "", theorem.id
    for theorem in spread((each for each in shown if each.expected != "refuted"), 8):
        again = driver.prove_theorem(theorem, "z3", SolverCache(None))
        assert (bool(again.replayed), again.unconfirmed) == (True, ""), theorem.id


def test_each_is_well_stated(asked):
    for theorem in compared():
        assert re.fullmatch(r"[A-Za-z0-9]+(?:[.-][A-Za-z0-9]+)*", theorem.id)
        assert theorem.statement.endswith("."), theorem.id
        assert theorem.formula, theorem.id
        assert re.fullmatch("[0-9a-f]{64}", driver.source_hash(theorem)), theorem.id
        assert len({each.name for each in asked[theorem.id]}) == len(asked[theorem.id]), theorem.id
        assert not theorem.erratum or theorem.erratum in ERRATA, theorem.id
        assert theorem.expected == "proved" or theorem.because, theorem.id


def test_the_domain_is_that_of_the_variables(asked):
    """Attributes of type float are real numbers in theorems whose other variables are integers."""
    for theorem in (each for each in compared() if not each.id.startswith("derived.")):
        sorts = set(
            re.findall(r"\(declare-fun \S+ \(\) (\w+|\(_ BitVec \d+\))\)", " ".join(q.text for q in asked[theorem.id]))
        )
        bits = any("BitVec" in each for each in sorts)
        expected = "bits of named formats" if bits else "reals" if "Real" in sorts else "integers"
        assert theorem.domain == expected or theorem.expected != "proved" or not sorts, (theorem.id, sorts)


def test_a_bounded_theorem_says_why():
    """A finite domain is no bound: every pattern of the formats or types that it names is meant."""
    for theorem in (each for each in registry.theorems() if each.expected == "proved"):
        assert bool(theorem.bound_reason) is (theorem.scope == "bounded"), theorem.id
        assert bool(theorem.bounds) is (theorem.scope != "any size"), theorem.id
        named = re.fullmatch(r"(b?float\d+|u?int\d+ to u?int\d+)(, (b?float\d+|u?int\d+ to u?int\d+))*", theorem.bounds)
        assert theorem.scope != "finite domain" or (named and theorem.sort != "int"), theorem.id


STEP = re.compile(r"(^|: )(step|base)\b|^(one more|an addition)")
"""Names of obligations that are parts of an induction."""


def test_a_theorem_by_steps_names_its_induction(asked):
    stated = [each for each in registry.stated() if each.expected == "proved"]
    by_steps = {each.id for each in stated if any(STEP.search(question.name) for question in asked.get(each.id, ()))}
    assert by_steps - {each.id for each in stated if each.induction} == set()
    named = (inductions.WHY3, inductions.SUMS, inductions.COQ, inductions.PROSE)
    assert {name for each in named for name in each} <= {each.id for each in stated}
    for file, lemmas in ((inductions.WHY3_FILE, inductions.WHY3), (inductions.SUMS_FILE, inductions.SUMS)):
        text = (folder("proofs").parent / file).read_text()
        for lemma in lemmas.values():
            assert re.search(rf"let (rec )?(ghost )?(lemma|function) {lemma}\b", text), lemma
    for place in inductions.COQ.values():
        lemma, file = place.split(" of ")
        theorems = folder("proofs").parent / file
        assert re.search(rf"^(Theorem|Lemma) {lemma} :", theorems.read_text(), re.MULTILINE), lemma


def test_every_module_with_theorems_is_registered():
    """A module of proofs/ without theorems has what several share: definitions, or the list of what Coq decides."""
    names = {each.name for each in pkgutil.iter_modules(proofs.__path__)}
    listed = {each.__module__.rpartition(".")[2] for each in registry.MODULES}
    assert names - listed == {"coq_questions", "float_order", "inductions", "registry"}


def test_identifiers_are_unique():
    names = [theorem.id for theorem in stated_and_chosen()]
    assert len(set(names)) == len(names)


def test_no_question_has_a_quantifier(asked):
    for question in (each for questions in asked.values() for each in questions):
        assert not re.search(r"\((forall|exists|lambda) ", question.text), question.name


def mutants():
    """Of all these theorems, in a run that is not deep fifty."""
    return spread(((theorem, mutant) for theorem in stated_and_chosen() for mutant in theorem.mutants), 25)


def test_every_proved_theorem_has_a_mutant():
    assert not [theorem.id for theorem in stated_and_chosen() if theorem.expected == "proved" and not theorem.mutants]


@each_case(("theorem", "mutant"), mutants, ids=lambda each: getattr(each, "id", "") or each.name)
def test_the_mutant_is_refuted(theorem, mutant):
    assert driver.refutes(theorem, mutant)


def test_the_text_of_a_question_does_not_depend_on_the_run(asked):
    for theorem in compared()[::7]:
        again = queries.questions_of(theorem, "z3", theorem.obligations)
        assert [q.text for q in again] == [q.text for q in asked[theorem.id]]
