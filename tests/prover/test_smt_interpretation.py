"""The SMT interpretation of each construct of the rule language agrees with the evaluator.

It is defined at least where the strict evaluation has a value, and only where the evaluator has one, which is then the
same.  Deliberately wrong interpretations of every construct are detected (`tests/support/translator_mutants.py`).
"""

from __future__ import annotations

import ast

import pytest
import z3

from sonnx.language import parser
from sonnx.language.domain import Domain
from sonnx.language.evaluator import Evaluator, Unknown, UnknownCause, evaluate
from sonnx.language.parser import parse
from sonnx.prover.smt_functions import FactNotStated
from sonnx.prover.smt_interpretation import SmtInterpretation
from sonnx.prover.smt_values import bool_term, folding, real_constant, variable
from tests.support.cases import DEEP, each_case
from tests.support.constructs import ALL, calls, first_difference, stated_names, symbolic_names
from tests.support.ground_terms import GroundTerms, agree
from tests.support.translator_mutants import MUTANTS, TranslatorMutant, install

LOOPS = {"quantify": ("all(...)", "any(...)"), "collect": ("collect", "collect where")}
"""Constructs with two forms."""
BY_SIGN = {"arithmetic", "compare", "function"}
"""Methods of a domain that interpret several constructs, each named by its sign or function."""


@each_case("folded", [False, True], ids=["as stated", "folded"])
def test_every_construct_agrees(folded: bool) -> None:
    """Folded, every second text in a run that is not deep."""
    texts = ALL if DEEP or not folded else ALL[::2]
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


# Mutants of the translator


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda each: f"{each.construct}: {each.old} as {each.new}")
def test_a_wrong_interpretation_is_detected(mutant: TranslatorMutant, monkeypatch: pytest.MonkeyPatch) -> None:
    text = (mutant.text, mutant.when)
    assert text in ALL
    install(mutant, monkeypatch)
    assert first_difference(text, mutant.folded) != ""


def test_every_construct_has_a_mutant() -> None:
    methods = {name for name in vars(Domain) if not name.startswith("_")} - BY_SIGN
    wanted = {form for name in methods for form in LOOPS.get(name, (name,))}
    wanted |= {*parser._SIGNS.values(), *parser._COMPARISONS.values(), *parser.FUNCTIONS}
    assert wanted <= {each.construct for each in MUTANTS}
    assert {ast.Add, ast.Mod} < parser._SIGNS.keys()


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
