"""The SMT interpretation of each construct of the rule language agrees with the evaluator.

It is defined at least where the strict evaluation has a value, and only where the evaluator has one, which is then the
same.  Deliberately wrong interpretations of every construct are detected (`tests/support/translator_mutants.py`).
"""

from __future__ import annotations

from collections.abc import Sequence

import pytest
import z3

from sonnx.language.evaluator import Evaluator, Unknown, UnknownCause, evaluate
from sonnx.language.parser import parse
from sonnx.prover.smt_functions import FactNotStated
from sonnx.prover.smt_interpretation import SmtInterpretation
from sonnx.prover.smt_values import bool_term, folding, real_constant, variable
from tests.support import translator_mutants
from tests.support.cases import DEEP, each_case, spread
from tests.support.constructs import ALL, calls, first_difference, stated_names, symbolic_names
from tests.support.ground_terms import GroundTerms, agree
from tests.support.translator_mutants import Case, changes, functions, reaching, shown
from tools.definition_mutants import Mutant


@each_case("folded", [False, True], ids=["as stated", "folded"])
def test_every_construct_agrees(folded: bool) -> None:
    """In a run that is not deep every second text as it is stated, and the others folded."""
    texts = ALL if DEEP else ALL[folded::2]
    assert [said for text in texts if (said := first_difference(text, folded))] == []


def test_an_unknown_fact_is_refused_or_does_not_matter() -> None:
    unknown = Unknown(UnknownCause.NOT_STATED, "not stated")
    refused = 0
    for text, when in ALL:
        for name in () if when else sorted(parse(text).names & symbolic_names().keys()):
            domain = SmtInterpretation()
            try:
                defined, value = domain.interpret(parse(text), symbolic_names() | {name: unknown})
            except FactNotStated:
                refused += 1
                continue
            terms = GroundTerms([bool_term(defined), value], domain.codes)
            for numbers in calls(frozenset(terms.variables), 10):
                there, found = terms.read(numbers)
                evaluated = parse(text).evaluate(Evaluator(), stated_names(numbers) | {name: unknown})
                assert not there or agree(found, evaluated), (text, name, numbers)
    assert refused > len(ALL) / 2


# Wrong versions of the translator

NOT_SHOWN = {
    "smt_functions.DefinednessObligations.require": "it states an obligation, which values do not show",
    "smt_interpretation._visit": "it counts steps",
    "smt_values.folds": "what is folded has the same value",
}
"""Functions of which no change changes a value."""


@each_case("construct", lambda: sorted(translator_mutants.constructs()))
def test_another_result_of_each_construct_is_detected(construct: str) -> None:
    cases = reaching()[construct]  # before the interpretation is wrong
    with translator_mutants.wrong(construct):
        assert shown(cases)


def changed_functions() -> list[str]:
    """Those of which some change can be made: a third of them in a run that is not deep."""
    names = sorted(name for name in functions().values() if name in reaching() and changes(name))
    return spread(names, len(names) // 6)


@each_case("name", changed_functions)
def test_a_wrong_version_of_each_function_is_detected(name: str) -> None:
    cases = reaching()[name]
    tried = cases if DEEP else spread(cases, 24)
    detected = any(shown_with(change, tried) for change in changes(name))
    assert detected == (name.removeprefix("sonnx.prover.") not in NOT_SHOWN)


def shown_with(change: Mutant, cases: Sequence[Case]) -> bool:
    with change.applied():
        return shown(cases)


@pytest.mark.campaign
def test_most_changes_of_the_translator_are_detected() -> None:
    """All small changes of all functions; those that no text shows are printed."""
    every = [
        (change, reaching()[name]) for name in functions().values() if name in reaching() for change in changes(name)
    ]
    survivors = [change.name for change, cases in every if not shown_with(change, cases)]
    print(*survivors, f"{len(every)} changes, {len(survivors)} not detected", sep="\n")
    assert len(survivors) <= 0.35 * len(every)


# Folding


def test_factors_cancel_without_a_solver() -> None:
    domain = SmtInterpretation()
    names = {name: variable(name, 1) for name in ("N", "C", "H")}
    with folding():
        assert domain.interpret(parse("N * C * H // (N * C)"), names)[1].factors == (1, ("H",))
        assert domain.interpret(parse("N * C % C"), names) == (True, 0)
        assert domain.interpret(parse("N == -1"), names) == (True, False)
        assert domain.interpret(parse("N * C == C * N"), names) == (True, True)


def test_a_question_is_stated_without_folding() -> None:
    names = {name: variable(name, 1) for name in ("N", "C")}
    for text in ("N == -1", "N * C == C * N", "N * C % C == 0", "N - N == 0", "N + 0 == N", "N < N"):
        _, value = SmtInterpretation().interpret(parse(text), names)
        assert not isinstance(value, bool), text


def test_a_loop_without_a_bound_leaves_a_condition() -> None:
    domain = SmtInterpretation()
    domain.interpret(parse("sum(range(n))"), {"n": variable("n", 0)})
    assert len(domain.bounds) == 1


@each_case(("left", "right"), [(-8.5, 1.0), (8.5, 1.0), (7.25, 0.5), (-0.75, 0.5), (6.0, 4.0)])
def test_quotients_of_fractions_are_rounded_down(left: float, right: float) -> None:
    names = {"n": left, "m": right}
    symbolic = {name: real_constant(value) for name, value in names.items()}
    for text in ("n // m", "n % m == n - n // m * m", "n % m < m", "n % m >= 0", "-(n // m) <= 9"):
        defined, value = SmtInterpretation().interpret(parse(text), symbolic)
        folded = value if isinstance(value, int) else z3.is_true(z3.simplify(value))
        assert z3.is_true(z3.simplify(bool_term(defined)))
        assert folded == evaluate(parse(text), names), text
