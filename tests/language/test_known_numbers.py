"""Constants are asked once for each class of numbers; the answers and texts are those of a visit of every number."""

from __future__ import annotations

from random import Random

import pytest

from sonnx.language.builtins import broadcast, broadcastable, onnx_broadcastable, widest
from sonnx.language.evaluator import OF_DIFFERENT_SHAPES, Evaluator, TensorFacts, Unknown, UnknownCause
from sonnx.language.explainer import explanation_of
from sonnx.language.known_numbers import KnownNumbers
from sonnx.language.parser import parse
from sonnx.language.steps import OutOfFuel, steps_of_model
from tests.support.cases import each_case

OPEN = Unknown(UnknownCause.NOT_STATED, "dimension 0 is the symbol 'N'", "N", "explicit-shape")
LATER = Unknown(UnknownCause.RUN_TIME, "the value is known at run time only")
EDGES = (-2, 0, 1, 3, 2.5, float("inf"), OPEN, LATER)
RULES = (
    "all(a <= x < b for x in X.values)",
    "all(x != a for x in X.values)",
    "any(x == a for x in X.values)",
    "all(not (x < a or x > b) for x in X.values)",
    "not any(a < x or x == b for x in X.values)",
    "all(not x > a and (x >= b or x == 0) for x in X.values)",
    "all(x > a or b == 1 for x in X.values)",
    "all(-a <= x for x in X.values)",
    "all(not l > x for l in L.values for x in X.values)",
    "all(x * 2 > a for x in X.values)",
    "all(x in [a, b] for x in X.values)",
    "all(x > a for x in X.values if x != b)",
)


def numbers(draw: Random) -> tuple[int | float, ...]:
    """Few different numbers many times, many different ones, floating-point ones with NaN and infinities."""
    several = draw.choice(
        [(0, 1, 2), range(-50, 50), (-2, 3), (1,), (0.0, -0.0, 2.5, float("nan"), float("inf"), -7.0)]
    )
    return tuple(draw.choice(list(several)) for _ in range(draw.randint(0, 60)))


@each_case("text", RULES)
def test_the_answer_is_that_of_a_visit_of_every_number(text: str) -> None:
    draw, rule = Random(text), parse(text)
    for _ in range(150):
        items = numbers(draw)
        facts = {"a": draw.choice(EDGES), "b": draw.choice(EDGES), "L": TensorFacts("int32", (2,), (1, -1))}
        plain = {**facts, "X": TensorFacts("int32", (len(items),), items)}
        known = {**facts, "X": TensorFacts("int32", (len(items),), KnownNumbers(items))}
        expected = rule.evaluate(Evaluator(), plain)
        assert rule.evaluate(Evaluator(), known) == expected
        if text.startswith("all"):
            assert explanation_of(rule, known) == explanation_of(rule, plain)


def test_a_long_constant_costs_a_few_steps() -> None:
    rule, constant = parse("all(-n <= i < n for i in X.values)"), KnownNumbers(range(200_000))
    with steps_of_model(1000) as steps:
        for n in range(200_001, 200_101):
            assert rule.evaluate(Evaluator(), {"n": n, "X": TensorFacts("int32", (200_000,), constant)}) is True
        assert rule.evaluate(Evaluator(), {"n": 7, "X": TensorFacts("int32", (200_000,), constant)}) is False
        assert 0 < steps.taken < 1000


def test_the_steps_of_a_model_end() -> None:
    rule = parse("all(s > 0 for s in S)")
    with steps_of_model(50):
        assert rule.evaluate(Evaluator(), {"S": tuple(range(1, 31))}) is True
        with pytest.raises(OutOfFuel, match="more than 50 steps of evaluation; --limit steps=500"):
            rule.evaluate(Evaluator(), {"S": tuple(range(1, 31))})
        with steps_of_model(10**6), pytest.raises(OutOfFuel):  # an inner bound does not lift the outer one
            rule.evaluate(Evaluator(), {"S": tuple(range(1, 31))})
    assert rule.evaluate(Evaluator(), {"S": tuple(range(1, 31))}) is True


def test_shapes_that_repeat_change_nothing() -> None:
    """The built-in functions that are asked for the different shapes only."""
    functions = {each.__name__: each for each in (broadcastable, onnx_broadcastable, broadcast, widest)}
    assert functions.keys() == OF_DIFFERENT_SHAPES
    draw = Random(1)
    for _ in range(2000):
        shapes = [[draw.choice((0, 1, 1, 2, 3)) for _ in range(draw.randint(0, 3))] for _ in range(draw.randint(1, 5))]
        different = [list(each) for each in dict.fromkeys(map(tuple, shapes))]
        for function in functions.values():
            assert _outcome(function, shapes) == _outcome(function, different)


def _outcome(function: object, shapes: list[list[int]]) -> object:
    try:
        return function(shapes)  # type: ignore[operator]
    except Exception as error:  # noqa: BLE001  which one, and what it says, is compared
        return type(error), str(error)


def test_a_list_with_nan_differs_from_itself() -> None:
    listed = KnownNumbers((1.0, float("nan")))
    assert Evaluator().equal(listed, listed) is False
    assert Evaluator().equal(KnownNumbers((1, 2)), KnownNumbers((1, 2))) is True
