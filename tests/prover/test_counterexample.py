"""Small counterexamples: which integers are factors, and that each value is the least."""

import pytest
import z3

from sonnx.prover.counterexample import factors, minimised

X, Y = z3.Ints("x y")


def question(*conditions: z3.BoolRef) -> str:
    solver = z3.Solver()
    solver.add(*conditions)
    return solver.to_smt2()


@pytest.mark.parametrize(
    ("condition", "names"),
    [
        (X * Y > 6, ["x", "y"]),
        (X * X > 6, ["x"]),
        ((X + 1) * (Y - 2) > 6, ["x", "y"]),
        (2 * X > Y, []),
        (X / Y > 6, ["x", "y"]),
        (Y % X > 6, ["x", "y"]),
        (X / 2 > Y, []),
    ],
)
def test_integers_in_products_of_two_and_in_divisors_are_factors(condition: z3.BoolRef, names: list[str]) -> None:
    assert factors(question(condition)) == names


@pytest.mark.parametrize(("least", "value"), [(37, 37), (1000, 1000), (1025, 1025)])
def test_each_value_is_the_least(least: int, value: int) -> None:
    """Of the integers after the first too, which the bound for all does not make smaller."""
    solver = z3.Solver()
    solver.add(X >= 5000, least <= Y, Y <= X)
    assert solver.check() == z3.sat
    assert minimised(solver) == {"x": 5000, "y": value}


def test_a_negative_value_is_as_close_to_zero_as_it_can_be() -> None:
    solver = z3.Solver()
    solver.add(X <= -37, Y == X - 3)
    assert solver.check() == z3.sat
    assert minimised(solver) == {"x": -37, "y": -40}
