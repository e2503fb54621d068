"""Divisions as quotient and remainder: true claims stay provable, false claims stay refuted."""

import z3

from sonnx.prover import solvers
from sonnx.prover.terms import without_divisions
from sonnx.prover.theorem import Obligation
from tests.support.cases import each_case

A, D = z3.Ints("a d")


def answer(goal, *hypotheses):
    (asked,) = without_divisions([Obligation("asked", hypotheses, goal)])
    text = solvers.export(asked)
    assert "(div " not in text
    assert "(mod " not in text
    return solvers.ask("z3", text)


@each_case(
    "goal",
    [
        (A / D) * D + A % D == A,
        A % D < D,
        z3.Implies(A >= 0, A / D >= 0),
        z3.Implies(z3.And(A == 7, D == 2), A / D == 3),
    ],
)
def test_true(goal):
    assert answer(goal, D > 0).result == "unsat"


def test_false_with_a_counterexample_that_python_shows():
    found = dict(answer(A / D <= 3, D > 0, A >= 0).values)
    assert found["a"] // found["d"] > 3


def test_a_divisor_that_is_not_positive_is_left_open():
    assert answer((A / D) * D + A % D == A).result == "sat"


def test_constant_divisors_stay():
    asked = Obligation("asked", (), A / 2 <= A)
    assert list(without_divisions([asked])) == [asked]


def test_a_division_inside_a_division():
    assert answer(z3.Implies(z3.And(A == 9, D == 2), (A / D) / D == 2), D > 0).result == "unsat"
