"""Divisions as quotient and remainder: true claims stay provable, false claims stay refuted."""

import itertools
import random

import z3

from sonnx.prover import solvers
from sonnx.prover.terms import (
    _divisions,
    conjunction,
    disjunction,
    keeps_order,
    result_not_negative,
    variables_in,
    without_divisions,
    without_products,
)
from sonnx.prover.theorem import Obligation
from tests.support.cases import each_case, examples

A, D = z3.Ints("a d")


def answer(goal, *hypotheses):
    (asked,) = without_divisions([Obligation("asked", hypotheses, goal)])
    text = solvers.question_text(asked)
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


def test_conditions_joined():
    parts = [A > 0, D > 0]
    assert z3.is_true(conjunction([]))
    assert z3.is_false(disjunction([]))
    assert conjunction(parts[:1]).eq(parts[0])
    assert disjunction(parts[:1]).eq(parts[0])
    assert conjunction(parts).eq(z3.And(parts))
    assert disjunction(parts).eq(z3.Or(parts))


def test_the_facts_about_products_are_true_of_all_small_numbers():
    numbers = range(-2, 4)
    for a, b, c in itertools.product(numbers, repeat=3):
        x, y, z = map(z3.IntVal, (a, b, c))
        assert z3.is_true(z3.simplify(keeps_order(x, y, z)))
        assert z3.is_true(z3.simplify(result_not_negative("product", x, y, x * y)))
        if b:
            assert z3.is_true(z3.simplify(result_not_negative("quotient", x, y, z3.IntVal(a // b))))


# Random obligations: for numbers, what a transformation makes has the value that the obligation has


def random_number(chance, depth):
    if depth == 0:
        return chance.choice((A, D, B, z3.IntVal(chance.randint(-3, 6))))
    left, right = random_number(chance, depth - 1), random_number(chance, depth - 1)
    divisor = chance.choice((D, E, D * E, D + E, z3.IntVal(3)))
    return chance.choice(
        (left + right, left - right, left * right, -left, left / divisor, left % divisor, left / divisor)
    )


def random_obligation(chance):
    def condition():
        left, right = random_number(chance, chance.randint(1, 3)), random_number(chance, 1)
        return chance.choice((left <= right, left == right, z3.Not(left < right), z3.Implies(left >= right, left > 0)))

    return Obligation("random", (condition(), condition()), condition())


B, E = z3.Ints("b e")
CALLS = [{"a": a, "b": b, "d": d, "e": e} for a in (-7, 0, 5) for b in (-2, 4) for d in (1, 3) for e in (2, 5)]
"""Values with positive divisors."""


def ground(term, numbers):
    known = [(each, z3.IntVal(numbers[str(each)])) for each in variables_in(term)]
    return z3.simplify(z3.substitute(term, *known))


def test_products_as_functions_keep_the_value():
    """With the operations for the functions every part has its value, and what is added about signs is true."""
    chance, integers = random.Random(3), (z3.IntSort(),) * 3
    one, other = z3.Var(0, z3.IntSort()), z3.Var(1, z3.IntSort())
    meaning = [
        (z3.Function(name, *integers), body)
        for name, body in (("product", one * other), ("quotient", one / other), ("remainder", one % other))
    ]
    replaced = 0
    for _ in range(number := examples(18, 30)):
        before = random_obligation(chance)
        (after,) = without_products([before])
        replaced += not after.goal.eq(before.goal)
        parts = [(z3.substitute_funs(part, *meaning), part) for part in (*after.hypotheses, after.goal)]
        for numbers in chance.sample(CALLS, 4):
            values = [ground(part, numbers) for part, _ in parts]
            assert values[:2] == [ground(part, numbers) for part in before.hypotheses]
            assert all(z3.is_true(value) for value in values[2:-1]), (before, numbers)
            assert values[-1].eq(ground(before.goal, numbers)), (before, numbers)
    assert replaced > number / 3


def test_divisions_as_new_numbers_keep_the_value():
    """With Python's quotients and remainders for the new numbers every part has its value, and the facts are true."""
    chance, replaced = random.Random(4), 0
    for _ in range(number := examples(18, 30)):
        before = random_obligation(chance)
        (after,) = without_divisions([before])
        divisions = list(dict.fromkeys(_divisions([*before.hypotheses, before.goal])))
        replaced += bool(divisions)
        facts = after.hypotheses[2:]
        for numbers in chance.sample(CALLS, 4):
            known = dict(numbers)
            for number, (dividend, divisor) in enumerate(divisions):
                a, d = ground(dividend, numbers).as_long(), ground(divisor, numbers).as_long()
                known |= {f"quotient.{number}": a // d, f"remainder.{number}": a % d}
            for old, new in zip((*before.hypotheses, before.goal), (*after.hypotheses[:2], after.goal), strict=True):
                assert ground(old, numbers).eq(ground(new, known)), (before, numbers)
            assert all(z3.is_true(ground(fact, known)) for fact in facts), (before, numbers)
    assert replaced > number / 3


def test_a_quotient_and_a_remainder_are_different_functions():
    (asked,) = without_products([Obligation("asked", (D > 0,), A / D == A % D)])
    assert solvers.ask("z3", solvers.question_text(asked)).result == "sat"
