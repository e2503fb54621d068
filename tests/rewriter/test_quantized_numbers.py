"""QuantizeLinear and DequantizeLinear that `fix` writes in floating point: equal in every bit, ties included."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import onnx.parser
import pytest

import sonnx
from sonnx.equivalence.result import Answer
from tests.support.cases import crossed, each_case

HEAD = '<ir_version: 8, opset_import: ["" : 17]> g '
LIMITS = {"int8": (-128, 127), "uint8": (0, 255)}


def pair(kind: str, scale: float, zero: int, *, between: str = "q", shape: str = "512, 4") -> bytes:
    text = (
        f"(float[{shape}] x) => (float[a, b] y) <float s = {{{scale}}}, {kind} z = {{{zero}}}> "
        f"{{ q = QuantizeLinear (x, s, z) r = Identity ({between}) y = DequantizeLinear (r, s, z) }}"
    )
    return bytes(onnx.parser.parse_model(HEAD + text).SerializeToString())


def ties(scale: float) -> np.ndarray:
    """Numbers at, below and above the middle of two whole numbers of quanta, far outside the limits, and zeros."""
    quanta = np.arange(-300, 300, dtype=np.float64)
    near = [(quanta + shift) * scale for shift in (0.0, 0.5)]
    values = np.concatenate([*near, [0.0, -0.0, 1e-40, -1e-40, 3e38, -3e38, 5e6 * scale, -9e6 * scale]])
    values = values.astype(np.float32)
    around = np.concatenate(
        [np.nextafter(values, np.float32(-np.inf)), values, np.nextafter(values, np.float32(np.inf))]
    )
    return np.resize(around[np.isfinite(around)], (512, 4)).astype(np.float32)


def by_definition(x: float, kind: str, scale: np.float32, zero: int) -> float:
    """SONNX QuantizeLinear and DequantizeLinear with fractions; both roundings of a quotient are to nearest even."""
    with np.errstate(all="ignore"):
        quotient = np.float32(x) / scale
    low, high = LIMITS[kind]
    whole = round(Fraction(float(quotient))) if np.isfinite(quotient) else int(np.copysign(1 << 40, quotient))
    number = np.float32(min(max(whole + zero, low), high) - zero) * scale
    return float(number)


ZEROS = [("int8", 0), ("int8", -7), ("uint8", 0), ("uint8", 128), ("uint8", 255), ("int8", 127)]


@each_case(("kind_and_zero", "scale"), crossed(ZEROS, [0.0625, 0.1, 3.7e-3, 1e30, 1e-30], every=3))
def test_every_tie_and_limit_has_the_same_bits(kind_and_zero: tuple[str, int], scale: float) -> None:
    kind, zero = kind_and_zero
    found = sonnx.fix(pair(kind, scale, zero))
    assert found.after.exit_code() == 0
    assert found.validation.bitwise
    x = ties(float(np.float32(scale)))
    y = sonnx.run(found.model_bytes(), {"x": x})["y"]
    wanted = [by_definition(float(value), kind, np.float32(scale), zero) for value in x.ravel()]
    assert y.tobytes() == np.array(wanted, np.float32).reshape(y.shape).tobytes()


@each_case("kind", ["int8", "uint8"])
def test_the_comparison_for_all_inputs_confirms_it(kind: str) -> None:
    found = sonnx.fix(pair(kind, 0.1, 5))
    assert found.validation.for_all_inputs is Answer.IDENTICAL
    assert "not finite" in found.to_text()


@each_case(
    ("zero", "scale", "shift"), [(6, 0.1, 0.0), (5, 0.2, 0.0), (5, 0.1, 1.0)], ids=["zero point", "scale", "rounding"]
)
def test_another_number_is_not_equal(zero: int, scale: float, shift: float, monkeypatch: pytest.MonkeyPatch) -> None:
    if shift:
        monkeypatch.setattr("sonnx.rewriter.rewrites.quantized_numbers.ROUNDING", 12582912.0 + shift)
    changed = sonnx.fix(pair("int8", scale, zero), samples=0).model_bytes()
    assert sonnx.equivalent(pair("int8", 0.1, 5), changed).result.answer is not Answer.IDENTICAL


@each_case(
    "between", ["Transpose <perm = [1, 0]> (q)", "Flatten <axis = 2> (q)", "MaxPool <kernel_shape = [2, 2]> (q)"]
)
def test_movements_and_max_pool_stand_between(between: str) -> None:
    operator, _, call = between.partition(" ")
    shape = "1, 1, 4, 4" if operator == "MaxPool" else "4, 4"
    text = (
        f"(float[{shape}] x) => (float[a, b{', c, d' if operator == 'MaxPool' else ''}] y) "
        f"<float s = {{0.1}}, int8 z = {{3}}> {{ q = QuantizeLinear (x, s, z) r = {operator} {call} "
        "y = DequantizeLinear (r, s, z) }"
    )
    found = sonnx.fix(bytes(onnx.parser.parse_model(HEAD + text).SerializeToString()))
    assert found.after.exit_code() == 0
    assert found.validation.for_all_inputs is Answer.IDENTICAL
