"""Class inputs next to the boundaries of a result: one wrong runtime for each boundary, none for a right one."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import onnx
import pytest

import sonnx
from sonnx.executor.class_runs import Computation
from sonnx.executor.comparison import CLASS_OUTPUT
from sonnx.executor.result_boundaries import SearchedCall, boundary_cases
from sonnx.numerics.formats import ELEMENTS, widened
from sonnx.numerics.special_values import special_values
from sonnx.operators import operator_facts
from tests.support import faulty_runtimes
from tests.support.cases import DEEP, each_case

WIDE = np.float64


def net(text: str, inputs: str, outputs: str, opset: int = 25) -> bytes:
    """A model of an expression of onnx's text form."""
    head = f'<ir_version: 10, opset_import: ["" : {opset}]> g ({inputs}) => ({outputs})'
    return bytes(onnx.parser.parse_model(f"{head} {{ {text} }}").SerializeToString())


def wrong(change: Any) -> faulty_runtimes.Exact:
    """The exact values, changed by a function of them and the inputs."""

    class Wrong(faulty_runtimes.Exact):
        def changed(self, operators: Any, values: Any, inputs: Any) -> Any:
            with np.errstate(all="ignore"):
                return change(values, *inputs)

    return Wrong()


def away(values: Any, x: Any, scale: Any) -> Any:
    """Quantized with ties away from zero, zero point 3."""
    quotient = (x / scale).astype(WIDE)
    rounded = np.where(quotient >= 0, np.floor(quotient + 0.5), np.ceil(quotient - 0.5)) + 3
    return np.where(np.isnan(x), values, np.clip(rounded, 0, 255)).astype(values.dtype)


def flushed(values: Any, *inputs: Any) -> Any:
    return np.where(np.abs(values) < np.finfo(values.dtype).tiny, np.copysign(0, values), values).astype(values.dtype)


def early(limit: float) -> Any:
    return lambda values, x, *rest: np.where(x > limit, np.inf, values).astype(values.dtype)


def double_rounding(values: Any, x: Any) -> Any:
    return x.astype(np.float32).astype(values.dtype)


X = "float[3, 4] x"
QUANTIZE = "y = QuantizeLinear<axis = 1>(x, s, z)"
CASES: dict[str, tuple[bytes, Any, str]] = {
    "a tie of QuantizeLinear": (
        net(
            f"s = Constant<value = float {{0.5}}>() z = Constant<value = uint8 {{3}}>() {QUANTIZE}", X,
            "uint8[3, 4] y",
        ),
        lambda values, x: away(values, x, np.float32(0.5)), "integer",
    ),
    "a tie with a scale for each column": (
        net(
            "s = Constant<value = float[4] {0.25, 0.5, 2.0, 8.0}>() z = Constant<value = uint8[4] {3, 3, 3, 3}>() "
            + QUANTIZE, X, "uint8[3, 4] y",
        ),
        lambda values, x: away(values, x, np.array([0.25, 0.5, 2, 8], "f4")), "integer",
    ),
    "the overflow of Exp": (net("y = Exp(x)", X, f"{X[:-1]}y"), early(88), "infinity"),
    "the overflow of a product": (
        net("s = Constant<value = float {1000.0}>() y = Mul(x, s)", X, f"{X[:-1]}y"), early(3.3e35), "infinity",
    ),
    "the overflow of a square": (
        net("s = Constant<value = float {2.0}>() y = Pow(x, s)", X, f"{X[:-1]}y"), early(1.8e19), "infinity",
    ),
    "the overflow inside of a root": (
        net("y = Sqrt(x)", X, f"{X[:-1]}y"), lambda values, x: np.where(x > 3e38, np.inf, values).astype("f4"),
        "infinity",
    ),
    "a flushed product": (
        net("s = Constant<value = float {0.25}>() y = Mul(x, s)", X, f"{X[:-1]}y"), flushed, "subnormal",
    ),
    "a flushed function": (net("y = Exp(x)", X, f"{X[:-1]}y"), flushed, "subnormal"),
    "an early 0": (
        net("y = Exp(x)", X, f"{X[:-1]}y"), lambda values, x: np.where(x < -85, 0, values).astype("f4"), "underflow",
    ),
    "two roundings": (net("y = Cast<to = 10>(x)", "double[3, 4] x", "float16[3, 4] y"), double_rounding, "number"),
    "a conversion to eight bits": (
        net("y = Cast<to = 17, saturate = 1>(x)", X, "float8e4m3fn[3, 4] y"),
        lambda values, x: np.nextafter(x, np.float32(np.inf) * np.sign(x)).astype(values.dtype), "number",
    ),
    "two nodes": (net("t = Neg(x) y = Exp(t)", X, f"{X[:-1]}y"), early(-1e9), "infinity"),
}  # fmt: skip
"""By boundary a model, the wrong runtime, and the kind in which it differs."""


@each_case("name", list(CASES))
def test_a_runtime_that_is_wrong_at_a_boundary_is_found(name: str) -> None:
    model, change, kind = CASES[name]
    report = sonnx.compare(model, wrong(change), unchecked=True)
    kinds = {each.kind for row in report.rows if row.classes for each in row.classes.unexplained}
    assert report.exit_code == 1
    assert kind in kinds


@each_case("name", [*CASES] if DEEP else [*CASES][::3])
def test_the_exact_values_are_identical(name: str) -> None:
    report = sonnx.compare(CASES[name][0], faulty_runtimes.Exact(), unchecked=True, no_special_mismatch=True)
    assert report.exit_code == 0
    assert not [row.value for row in report.rows if row.differs]


def test_flushing_is_allowed_on_request_only() -> None:
    model = CASES["a flushed product"][0]
    assert sonnx.compare(model, wrong(flushed), unchecked=True, max_ulp=0).exit_code == 1
    assert sonnx.compare(model, wrong(flushed), unchecked=True, allow_flush=True).exit_code == 0
    early_zero = wrong(CASES["an early 0"][1])
    assert sonnx.compare(CASES["an early 0"][0], early_zero, unchecked=True, allow_flush=True).exit_code == 1


def test_a_boundary_has_both_sides() -> None:
    """The numbers on both sides of every boundary are drawn: exp is finite for one and infinite for the other."""
    specs = {"x": ((64,), ELEMENTS["float"])}

    def results(inputs: Any) -> Any:
        with np.errstate(all="ignore"):
            return np.exp(inputs["x"].astype(WIDE)).astype(np.float32)

    cases = {case.name: case for case in boundary_cases(SearchedCall(specs, results, 128, (64,), True), 0)}
    drawn = cases["overflow boundary"].drawn(specs, 0)["x"]
    finite, infinite = drawn[drawn < 88.8][np.isfinite(results({"x": drawn})[drawn < 88.8])], drawn[np.isinf(results({"x": drawn}))]  # noqa: E501  # fmt: skip
    assert np.nextafter(finite.max(), np.float32(np.inf)) == infinite.min()


LARGEST = np.finfo(np.float32).max
INSIDE: dict[str, tuple[str, Any, Any]] = {
    "Sigmoid": ("Sigmoid(x)", lambda x: np.exp(-x), [-100.0]),
    "Softplus": ("Softplus(x)", np.exp, [100.0]),
    "Softmax": ("Softmax<axis = 0>(x)", np.exp, [100.0, 99.0]),
    "ReduceMean": ("ReduceMean<keepdims = 1>(x)", np.cumsum, [LARGEST, LARGEST]),
    "ReduceSum": ("ReduceSum<keepdims = 1>(x)", np.cumsum, [LARGEST, LARGEST, -LARGEST]),
    "Mean": ("ReduceMean<keepdims = 1>(x)", np.cumsum, [LARGEST, LARGEST]),
}
"""By operator an expression, an intermediate result of its text, and inputs for which that overflows."""
DIRECT: dict[str, Any] = {
    "Sqrt": np.sqrt, "Exp": np.exp, "Abs": np.abs, "Neg": np.negative, "Floor": np.floor, "Ceil": np.ceil,
    "Tanh": np.tanh, "Add": np.add, "Sub": np.subtract, "Mul": np.multiply, "Div": np.divide, "Max": np.maximum,
    "Min": np.minimum, "Pow": np.power,
}  # fmt: skip
"""Operators that are one operation of numpy."""


@each_case("name", list(INSIDE))
def test_an_excuse_needs_an_intermediate_result_that_overflows(name: str) -> None:
    text, intermediate, numbers = INSIDE[name]
    x = np.array(numbers, np.float32)
    [result] = sonnx.run(net(f"y = {text}", f"float[{x.size}] x", "float[N] y"), {"x": x}, unchecked=True).values()
    with np.errstate(all="ignore"):
        assert np.isinf(intermediate(x)).any()
    assert np.isfinite(result).all()
    assert operator_facts(name).may_overflow_inside


@each_case("name", list(DIRECT))
def test_one_operation_overflows_only_with_its_result(name: str) -> None:
    """So the facts state no intermediate result, and nothing is excused."""
    known = special_values(ELEMENTS["float"]).values
    pairs = np.array(np.meshgrid(known, known)).reshape(2, -1)
    count = 1 if DIRECT[name].nin == 1 else 2
    names, operands = "xz"[:count], [*pairs[:count].astype(np.float32)]
    inputs = ", ".join(f"float[{pairs.shape[1]}] {each}" for each in names)
    model = net(f"y = {name}({', '.join(names)})", inputs, f"float[{pairs.shape[1]}] y")
    [result] = sonnx.run(model, dict(zip(names, operands, strict=True)), unchecked=True).values()
    with np.errstate(all="ignore"):
        assert np.array_equal(np.isinf(DIRECT[name](*operands)), np.isinf(result))
    assert not operator_facts(name).may_overflow_inside
    assert Computation(operator_facts(name).may_overflow_inside, True, False).excuse("infinity", huge=True) == ""


def test_the_picture_and_the_headline_have_the_same_worst_value() -> None:
    model = net("t = Exp(x) y = Sqrt(t)", X, f"{X[:-1]}y")
    change = wrong(
        lambda values, x, *rest: np.where(x > 1e30, np.nextafter(values, np.float32(0)), values).astype("f4")
    )
    for runtime in (change, faulty_runtimes.Exact(), wrong(flushed)):
        report = sonnx.compare(model, runtime, unchecked=True, every_node=True, class_runs=48)
        page, headline = report.to_format("html"), report.document().headline
        drawn = max(map(int, re.findall(r"<title>[^<]*: (\d+) ulp", page)), default=0)
        stated = re.search(r"the largest distance is (\d+) ulp", headline)
        assert drawn == (int(stated[1]) if stated else 0)
        assert ("; differs in" in page) == ("in kind" in headline)


def test_small_types_have_the_same_numbers_as_their_keys() -> None:
    """A search over a type of eight bits draws its numbers only."""
    specs = {"x": ((16,), ELEMENTS["float8e4m3fn"])}
    call = SearchedCall(specs, lambda inputs: widened(inputs["x"]).astype(np.float32), 32, (16,), True)
    for case in boundary_cases(call, 0):
        assert np.isfinite(widened(case.drawn(specs, 0)["x"])).all()


def test_the_excuse_of_a_sum_stays() -> None:
    model = net("y = ReduceMean<keepdims = 1>(x)", X, "float[1, 1] y")
    change = wrong(lambda values, x: np.where(np.abs(values) > 1e38, np.copysign(np.inf, values), values).astype("f4"))
    report = sonnx.compare(model, change, unchecked=True)
    explained = {each.explained for row in report.rows if row.way == CLASS_OUTPUT and row.classes for each in row.classes.deviations}  # noqa: E501  # fmt: skip
    assert explained == {"an intermediate result may overflow"}
    assert report.exit_code == 0


@pytest.mark.parametrize("name", ["float", "double", "float16", "bfloat16", "int8", "int64", "uint64", "uint4"])
def test_every_type_has_boundaries_of_the_identity_to_bool(name: str) -> None:
    kind = ELEMENTS[name]
    specs = {"x": ((8,), kind)}
    cases = boundary_cases(SearchedCall(specs, lambda inputs: widened(inputs["x"]) > 1, 16, (8,), True), 0)
    drawn = [widened(case.drawn(specs, 0)["x"]).astype(WIDE) for case in cases]
    assert any((array > 1).any() and (array <= 1).any() for array in drawn)
