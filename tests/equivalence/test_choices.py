"""Functions that are written out by Less and Where: both sides run on all elements of small types."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import onnx
import onnx.parser
import pytest
from onnx import numpy_helper

import sonnx
from sonnx.equivalence.result import Answer
from sonnx.executor.distance import first_difference

HALVES = np.arange(1 << 16, dtype=np.uint16).view(np.float16)
BYTES = np.arange(-128, 128).astype(np.int8)
FEW = np.array([-np.inf, -2, -0.5, -0.0, 0, 0.25, 1, np.nan, np.inf, 6e-5, 65504], np.float16)

SIGN = {
    "Sign": "y = Sign(x)",
    "by choices": "r = Abs(x) a = Less(zero, x) b = Less(x, zero) u = Where(a, one, r) y = Where(b, minus, u)",
}
SIGN_OF_INTEGERS = {
    "Sign": "y = Sign(x)",
    "by choices": "a = Less(zero, x) b = Less(x, zero) u = Where(a, one, zero) y = Where(b, minus, u)",
}
FLOOR = {
    "Floor": "y = Floor(x)",
    "by choices": """
        s = Abs(x) r = Add(s, large) n = Sub(r, large) g = Less(x, zero) o = Neg(n) w = Where(g, o, n)
        u = Sub(w, one) a = Less(x, w) l = Where(a, u, w) m = Less(s, large) c = Where(m, l, x) i = Less(zero, s)
        y = Where(i, c, x)""",
}
EQUAL = {
    "Equal": "y = Equal(x, z)",
    "by choices": """
        za = Less(zero, z) zb = Less(z, one) zi = Where(za, yes, no) zn = Where(zb, yes, zi)
        xa = Less(zero, x) xb = Less(x, one) xi = Where(xa, zn, no) xn = Where(xb, zn, xi)
        m = Less(z, x) l = Less(x, z) r = Where(m, no, xn) c = Where(l, no, r) y = Less(no, c)""",
}
EQUAL_INTEGERS = {
    "Equal": "y = Equal(x, z)",
    "by choices": "m = Less(z, x) l = Less(x, z) r = Where(m, no, yes) c = Where(l, no, r) y = Less(no, c)",
}
CAST = {"Cast": "y = Cast <to = 10> (x)", "by choices": "y = Where(x, one, zero)"}
NUMBERS = {"zero": np.float16(0), "one": np.float16(1), "minus": np.float16(-1), "large": np.float16(1024)}
INTEGERS = {"zero": np.int8(0), "one": np.int8(1), "minus": np.int8(-1)}
TRUTHS = {"no": np.int32(0), "yes": np.int32(1)}

CASES: Mapping[str, tuple[Mapping[str, str], str, str, Mapping[str, Any], Mapping[str, np.ndarray[Any, Any]]]] = {
    "Sign": (SIGN, "float16[65536] x", "float16[65536] y", NUMBERS, {"x": HALVES}),
    "Sign of integers": (SIGN_OF_INTEGERS, "int8[256] x", "int8[256] y", INTEGERS, {"x": BYTES}),
    "Floor": (FLOOR, "float16[65536] x", "float16[65536] y", NUMBERS, {"x": HALVES}),
    "Equal": (
        EQUAL, "float16[11, 1] x, float16[11] z", "bool[11, 11] y", {**NUMBERS, **TRUTHS},
        {"x": FEW.reshape(-1, 1), "z": FEW},
    ),
    "Equal of integers": (
        EQUAL_INTEGERS, "int8[256, 1] x, int8[256] z", "bool[256, 256] y", TRUTHS,
        {"x": BYTES.reshape(-1, 1), "z": BYTES},
    ),
    "Cast": (CAST, "bool[2] x", "float16[2] y", NUMBERS, {"x": np.array([False, True])}),
}  # fmt: skip


def model(case: str, body: str) -> bytes:
    """The model of a case with this body."""
    _, inputs, output, constants, _ = CASES[case]
    parsed = onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["": 16]> g ({inputs}) => ({output}) {{ {body} }}')
    parsed.graph.initializer.extend(
        numpy_helper.from_array(np.asarray(number), name) for name, number in constants.items()
    )
    return parsed.SerializeToString()


def models(case: str) -> list[bytes]:
    return [model(case, body) for body in CASES[case][0].values()]


@pytest.mark.parametrize("case", CASES)
def test_both_sides_have_one_value_for_every_element(case: str) -> None:
    inputs = CASES[case][-1]
    plain, written_out = (sonnx.run(model, inputs, unchecked=True).arrays["y"] for model in models(case))
    assert first_difference(written_out, plain) is None


@pytest.mark.parametrize("case", CASES)
def test_both_sides_are_recognized_as_one_function(case: str) -> None:
    found = sonnx.equivalent(*models(case), runs=0).result
    assert found.answer is Answer.IDENTICAL
    assert any(text.startswith("Sign, Floor, Equal") for text in found.assumptions)


CHANGES = {
    "Sign": (("Less(zero, x)", "Less(one, x)"), ("Abs(x)", "Neg(x)"), ("b, minus", "b, one")),
    "Sign of integers": (("Less(x, zero)", "Less(x, one)"), ("a, one, zero", "a, one, one")),
    "Floor": (("Sub(w, one)", "Add(w, one)"), ("Abs(x)", "Identity(x)"), ("Less(s, large)", "Less(x, large)")),
    "Equal": (("Less(z, x)", "Less(x, z)"), ("xb, zn, xi", "xb, yes, xi"), ("l, no, r", "l, yes, r")),
    "Equal of integers": (("Less(no, c)", "Less(c, yes)"), ("m, no, yes", "m, yes, no")),
    "Cast": (("one, zero", "zero, one"), ("one, zero", "one, minus")),
}
"""Texts of a formula with others in their place."""


@pytest.mark.parametrize(
    ("case", "change"), [(case, change) for case, changes in CHANGES.items() for change in changes]
)
def test_another_formula_is_not_recognized(case: str, change: tuple[str, str]) -> None:
    plain, written_out = CASES[case][0].values()
    assert change[0] in written_out
    pair = model(case, plain), model(case, written_out.replace(*change))
    assert sonnx.equivalent(*pair, runs=0).result.answer is not Answer.IDENTICAL


@pytest.mark.parametrize("kind", ["bool", "int8", "uint8", "float16", "float", "double", "int64"])
@pytest.mark.parametrize("shapes", [("2,3", "2,3"), ("2,3", "3"), ("2,1", "3")])
def test_an_equal_that_fix_writes_out_is_recognized(kind: str, shapes: tuple[str, str]) -> None:
    text = f'<ir_version: 8, opset_import: ["": 16]> g ({kind}[{shapes[0]}] x, {kind}[{shapes[1]}] z) => (bool[2,3] y)'
    data = onnx.parser.parse_model(f"{text} {{ y = Equal(x, z) }}").SerializeToString()
    fixed = sonnx.fix(data, samples=0).model_bytes()
    assert sonnx.equivalent(data, fixed, runs=0).result.answer is Answer.IDENTICAL
