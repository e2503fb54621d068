"""Which classes an array shows: every named class shows itself, and what ranges exclude no array shows."""

from __future__ import annotations

import numpy as np
import pytest

from sonnx.numerics.class_recognition import excluded, occurring_classes, recognized
from sonnx.numerics.formats import ELEMENTS, Array
from sonnx.numerics.value_classes import cases

SHAPES = [(), (1,), (2,), (5,), (2, 3)]


@pytest.mark.parametrize("element", ["float", "float16", "bfloat16", "double", "int8", "uint64", "bool", "string"])
def test_an_array_of_a_class_shows_the_class(element: str) -> None:
    for shape in SHAPES:
        spec = (shape, ELEMENTS[element])
        known = {*recognized(spec)}
        assert len(known) == len(recognized(spec))
        shown = set()
        for case in cases({"x": spec}):
            name = case.name.partition(" among ")[0]
            found = occurring_classes(case.drawn({"x": spec}, 1)["x"])
            assert found <= known
            shown |= found
            assert name in found or name not in known, (shape, case.name, found)
        if shape and element != "bool":
            assert shown == known, known - shown


def test_examples_by_hand() -> None:
    nan, inf = np.nan, np.inf
    x = np.array([nan, -0.0, 3.0, inf, inf], np.float32)
    assert occurring_classes(x) == {
        "nan first", "-0 between", "+inf between", "+inf last", "nan before +inf", "+inf before +inf",
    }  # fmt: skip
    assert occurring_classes(np.array([2.5, -7.0, 2.5], np.float32)) == {"greatest twice"}
    assert occurring_classes(np.array([[4], [4]], np.int32)) == {"greatest twice", "least twice", "all equal"}
    assert occurring_classes(np.array(-0.0)) == {"-0 alone"}
    assert not occurring_classes(np.zeros((0, 3), np.float32))
    assert not recognized(((0, 3), ELEMENTS["float"]))


def test_what_is_excluded_no_array_shows() -> None:
    spec = ((3,), ELEMENTS["float"])
    low, high = np.array([-1.0, 0.0, 2.0]), np.array([1.0, 0.5, 3.0])

    def excludes(special: Array) -> Array:
        number = float(special)
        return np.array([np.isnan(number) or not one <= number <= two for one, two in zip(low, high, strict=True)])

    never = excluded(spec, excludes)
    assert {"nan first", "+inf last", "all +0", "-1 last", "+1 between", "nan before nan", "all +1"} <= never
    assert not never & {"+0 first", "-0 between", "+1 first", "-1 first", "+least subnormal between", "all equal"}
    random = np.random.default_rng(0)
    for _ in range(300):
        drawn = (low + random.choice([0, 0.5, 1], 3) * (high - low)).astype(np.float32)
        assert not occurring_classes(drawn) & never
