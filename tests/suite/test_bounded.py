"""Questions about bit-vectors have the answers and models of those about integers."""

from __future__ import annotations

import pytest
import z3

from sonnx.suite.bounded import BitQuestions, Unbounded, divides, signed
from tests.support.cases import crossed

X, Y, T = z3.Int("x"), z3.Int("y"), z3.Int("t.text")
BOX = [X >= -7, X <= 7, Y > -4, Y < 4]
NUMBERS = [X / Y, X % Y, X * Y, X - Y, -X + 2 * Y, z3.If(X < Y, X * X, Y / 2), (X + Y) / 3 - X % 5]
HOLDS = [
    lambda each, number: each == number,
    lambda each, number: each < number,
    lambda each, number: number <= each,
]


def models(conditions: list[z3.BoolRef]) -> set[tuple[int, int]]:
    """The values of x and y that a solver finds, all of them."""
    solver = z3.Solver()
    solver.add(*conditions)
    found = set()
    while solver.check() == z3.sat:
        values = {each.name(): solver.model()[each] for each in solver.model().decls()}
        found.add((signed(values["x"]).as_long(), signed(values["y"]).as_long()))
        solver.add(z3.Not(z3.And(*[z3.Const(name, values[name].sort()) == values[name] for name in ("x", "y")])))
    return found


def computed(condition: z3.BoolRef, x: int, y: int) -> bool:
    return bool(z3.is_true(z3.simplify(z3.substitute(condition, (X, z3.IntVal(x)), (Y, z3.IntVal(y))))))


@pytest.mark.parametrize("number", NUMBERS, ids=str)
def test_bits_hold_for_the_same_values(number: z3.ArithRef) -> None:
    for holds, constant in crossed(HOLDS, (-2, 3), every=2):
        condition = z3.And(holds(number, constant), Y != 0)
        made = BitQuestions().as_bits([*BOX, X == X, Y == Y], [condition])
        wanted = {(x, y) for x in range(-7, 8) for y in range(-3, 4) if y and computed(condition, x, y)}
        assert models([*made.conditions, *made.terms]) == wanted


def test_the_ends_of_the_widest_integers_need_no_bits() -> None:
    made = BitQuestions().as_bits([*BOX, X <= 2**63 - 1, Y >= -(2**63)], [X + Y < 2**63])
    assert z3.is_true(made.terms[0])


@pytest.mark.parametrize(
    "conditions", [[X >= 0], [z3.Real("r") > 0], [*BOX, X * 2**62 == Y]], ids=["no end", "a fraction", "too wide"]
)
def test_what_is_not_bounded_is_left_to_the_solver_of_integers(conditions: list[z3.BoolRef]) -> None:
    with pytest.raises(Unbounded):
        BitQuestions().as_bits(conditions, [X == 1])


def test_strings_are_codes() -> None:
    made = BitQuestions().as_bits([z3.Or(T == 40, T == 41)], [T != 40])
    solver = z3.Solver()
    solver.add(*made.conditions, *made.terms)
    assert solver.check() == z3.sat
    assert signed(solver.model()[solver.model().decls()[0]]).as_long() == 41


def test_a_division_by_a_constant_is_none() -> None:
    assert divides([*BOX, X / Y == 1])
    assert not divides([*BOX, X / 3 == Y % 2])
