"""Symbolic execution agrees with the functions it executes, and refuses what it cannot execute exactly."""

import pytest
import z3
from hypothesis import given, settings
from hypothesis import strategies as st

from sonnx.language import builtins
from sonnx.language.builtins import Undefined
from sonnx.numerics import order
from sonnx.prover.float_patterns import FORMATS, bit_format
from sonnx.prover.symbolic_execution import Unsupported, execute
from tests.support.cases import each_case

X, Y, Z = z3.Ints("x y z")

UNHURRIED = settings(deadline=None)
"""A solver on a busy machine takes what it takes."""


def at(term, **values):
    """The value of a term for these values of its constants."""
    pairs = [(z3.Int(name), z3.IntVal(value)) for name, value in values.items()]
    result = z3.simplify(z3.substitute(term, *pairs))
    return result.as_long() if z3.is_int_value(result) else z3.is_true(result)


numbers = st.integers(-9, 9)


@UNHURRIED
@given(numbers, numbers)
@each_case("function", [builtins.join, builtins.normal])
def test_a_built_in_function_agrees_with_its_execution(function, a, b):
    execution = execute(function, X, Y)
    try:
        wanted = function(a, b)
    except Undefined:
        assert not at(execution.defined, x=a, y=b)
    else:
        assert at(execution.defined, x=a, y=b)
        assert at(execution.value, x=a, y=b) == wanted


@UNHURRIED
@given(numbers, numbers, st.integers(0, 1))
def test_the_step_of_argmax_agrees_with_its_execution(best, candidate, last):
    execution = execute(order.replaces, X, Y, Z)
    assert at(execution.value, x=best, y=candidate, z=last) == order.replaces(best, candidate, last)


@each_case("form", FORMATS)
@UNHURRIED
@given(st.data())
def test_the_order_agrees_with_its_execution_on_bits(form, data):
    f = bit_format(form)
    special = [0, 1, f.infinity - 1, f.infinity, f.infinity + 1, f.sign - 1]
    patterns = st.integers(0, 2 * f.sign - 1) | st.sampled_from(special + [each + f.sign for each in special])
    x, y = data.draw(patterns), data.draw(patterns)
    terms = [z3.BitVecVal(each, f.width + 2) for each in (x, y)]
    for function, arguments in ((order.key, (x,)), (order.equal_zeros_key, (x,)), (order.maximum, (x, y))):
        found = z3.simplify(f.value(function, *terms[: len(arguments)])).as_signed_long()
        assert found == function(*arguments, f.sign, f.infinity)


def test_every_path_is_executed_once():
    execution = execute(builtins.join, X, Y)
    assert [str(path.undefined) for path in execution.paths].count("") == 3
    assert "differ" in next(path.undefined for path in execution.paths if path.undefined)
    for one in execution.paths:
        for other in execution.paths:
            if one is not other:
                solver = z3.Solver()
                assert solver.check(one.condition, other.condition) == z3.unsat


def test_floor_division_by_a_positive_divisor():
    execution = execute(lambda x: (x // 3) * 10 + x % 3, X)
    assert [at(execution.value, x=x) for x in range(-7, 8)] == [(x // 3) * 10 + x % 3 for x in range(-7, 8)]


def test_an_assumption_makes_a_divisor_positive():
    assert execute(lambda x, y: x // y, X, Y, assuming=(Y >= 1,)).paths
    with pytest.raises(Unsupported, match="divisor y is not proved positive"):
        execute(lambda x, y: x // y, X, Y)
    for operation in (lambda x, y: x // y, lambda x, y: x % y, lambda x, y: 7 // y + x):
        with pytest.raises(Unsupported, match="divisor y is not proved positive"):
            execute(operation, X, Y, assuming=(Y >= 0,))


@each_case(
    "function",
    [
        lambda x: [1, 2][x], lambda x: {x: 1}, lambda x: x / 2, lambda x: x**2, lambda x: x + 0.5, lambda x: int(x),
        lambda x: x << 1, lambda x: x & 1, lambda x: ~x, lambda x: list(x), lambda x: "x", lambda x: None,
        lambda x: 1 if x else 0, lambda x: float(x), lambda x: x + True, lambda x: 7 // x, lambda x: x == "a",
    ],
)  # fmt: skip
def test_what_cannot_be_executed_exactly_is_refused(function):
    with pytest.raises(Unsupported):
        execute(function, X)


def test_a_loop_without_bound_is_refused():
    def count(x):
        while x > 0:
            x = x - 1
        return x

    with pytest.raises(Unsupported, match="branches"):
        execute(count, X)


def test_only_undefined_is_a_result():
    def raises(x):
        if x > 0:
            raise ValueError(x)
        return x

    with pytest.raises(ValueError):
        execute(raises, X)


def test_arguments_of_another_type_are_refused():
    for argument in (1.5, "x", z3.Real("r"), True):
        with pytest.raises(Unsupported):
            execute(builtins.join, X, argument)


def test_an_overflow_is_an_obligation():
    x = z3.BitVec("x", 8)
    (_, exact) = execute(lambda x: x + 1, x).obligations()
    solver = z3.Solver()
    assert solver.check(z3.Not(exact.goal)) == z3.sat
    assert solver.check(z3.Not(exact.goal), x < 100) == z3.unsat


def test_a_number_that_does_not_fit_the_bits_is_refused():
    with pytest.raises(Unsupported, match="does not fit 8 bits"):
        execute(lambda x: x > 200, z3.BitVec("x", 8))
