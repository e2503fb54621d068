"""Conversions of precision: float16, bfloat16 and integers against float, with the bound on what they change."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any

import ml_dtypes
import numpy as np
import onnx
import pytest
from onnx import ModelProto, TensorProto, helper, numpy_helper

import sonnx
from sonnx.equivalence.result import Answer, Equivalence
from sonnx.numerics.formats import Array
from tests.support.cases import crossed

RNG = np.random.default_rng(0)
WEIGHTS = {
    "W": RNG.normal(0, 0.5, (4, 2, 3, 3)).astype(np.float32),
    "b": RNG.normal(0, 0.5, 4).astype(np.float32),
    "scale": RNG.uniform(0.5, 1.5, 4).astype(np.float32),
    "shift": RNG.normal(0, 1, 4).astype(np.float32),
    "mean": RNG.normal(0, 1, 4).astype(np.float32),
    "variance": RNG.uniform(0.5, 2, 4).astype(np.float32),
    "M": RNG.normal(0, 0.5, (16, 3)).astype(np.float32),
    "c": RNG.normal(0, 0.5, 3).astype(np.float32),
    "size": np.array([1, -1], np.int64),
}
NODES = (
    ("Conv", ["x", "W", "b"], "convolved", {}),
    ("BatchNormalization", ["convolved", "scale", "shift", "mean", "variance"], "normalized", {}),
    ("Relu", ["normalized"], "positive", {}),
    ("Reshape", ["positive", "size"], "flat", {}),
    ("Gemm", ["flat", "M", "c"], "logits", {}),
    ("Softmax", ["logits"], "y", {"axis": -1}),
)
ELEMENTS = {"float16": TensorProto.FLOAT16, "bfloat16": TensorProto.BFLOAT16, "float": TensorProto.FLOAT}
KINDS = {"float16": np.dtype(np.float16), "bfloat16": np.dtype(ml_dtypes.bfloat16), "float": np.dtype(np.float32)}


def assembled(
    nodes: Sequence[onnx.NodeProto], constants: dict[str, Array], io: str = "float", output: str = ""
) -> ModelProto:
    graph = helper.make_graph(
        list(nodes), "g", [helper.make_tensor_value_info("x", ELEMENTS[io], [1, 2, 4, 4])],
        [helper.make_tensor_value_info("y", ELEMENTS[output or io], [1, 3])],
        [numpy_helper.from_array(array, name) for name, array in constants.items()],
    )  # fmt: skip
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 22)], ir_version=10)


def wide(**changed: Array) -> ModelProto:
    """The network in float."""
    return assembled([helper.make_node(o, i, [y], y, **a) for o, i, y, a in NODES], {**WEIGHTS, **changed})


def converted(element: str, kept: Collection[str] = (), *, io: bool = False, **changed: Array) -> ModelProto:
    """The network with all nodes in a narrower type but those that are kept; `io`: inputs and outputs, too."""
    constants, nodes, types = dict[str, Array](), list[onnx.NodeProto](), {"x": element if io else "float"}
    for operator, inputs, output, attributes in NODES:
        own = "float" if operator in kept else element
        names = []
        for name in inputs:
            array = {**WEIGHTS, **changed}.get(name)
            if array is not None:
                constants[name] = array if array.dtype.kind == "i" else array.astype(KINDS[own])
                names.append(name)
            elif types[name] == own:
                names.append(name)
            else:
                names.append(f"{name} as {own} for {output}")
                nodes.append(helper.make_node("Cast", [name], [names[-1]], to=ELEMENTS[own]))
        nodes.append(helper.make_node(operator, names, [output], output, **attributes))
        types[output] = own
    if not io and types["y"] != "float":
        nodes[-1].output[0] = "narrow y"
        nodes.append(helper.make_node("Cast", ["narrow y"], ["y"], to=TensorProto.FLOAT))
    return assembled(nodes, constants, element if io else "float")


def rounded(array: Array, axis: int | None, limit: int = 127) -> tuple[Array, Array]:
    """Integers of a symmetric scale, of all elements or by the index of an axis, and the scale."""
    others = None if axis is None else tuple([k for k in range(array.ndim) if k != axis])
    scale = (np.abs(array).max(axis=others) / np.float32(limit)).astype(np.float32)
    spread = scale if axis is None else scale.reshape([-1 if k == axis else 1 for k in range(array.ndim)])
    return np.clip(np.rint(array / spread), -limit, limit).astype(np.int8), scale


RANGES = {"x": (-1.0, 1.0), "positive": (0.0, 5.0), "logits": (-4.0, 6.0)}


def quantized(*, by_channel: bool = False, with_relu: bool = True, off: int = 0) -> ModelProto:
    """The network with quantized weights and values; without a Relu the integers keep the sign."""
    constants, nodes = dict(WEIGHTS), list[onnx.NodeProto]()

    def passed(name: str) -> str:
        low, high = RANGES[name]
        scale = np.float32((high - low) / 255)
        constants[f"{name} scale"], constants[f"{name} zero"] = scale, np.array(np.rint(-low / scale), np.uint8)
        parts = [f"{name} scale", f"{name} zero"]
        nodes.append(helper.make_node("QuantizeLinear", [name, *parts], [f"{name} integers"]))
        nodes.append(helper.make_node("DequantizeLinear", [f"{name} integers", *parts], [f"{name} back"]))
        return f"{name} back"

    def weight(name: str, axis: int) -> str:
        integers, scale = rounded(WEIGHTS[name], axis if by_channel else None)
        integers.reshape(-1)[0] += off
        constants[name], constants[f"{name} scale"] = integers, scale
        nodes.append(helper.make_node("DequantizeLinear", [name, f"{name} scale"], [f"{name} back"], axis=axis))
        return f"{name} back"

    for operator, inputs, output, attributes in NODES:
        names = [weight(name, 0 if name == "W" else 1) if name in ("W", "M") else name for name in inputs]
        names = [f"{name} back" if name in RANGES else name for name in names]
        if inputs[0] == "x":
            passed("x")
        if operator == "Relu" and not with_relu:
            nodes[-1].output[0] = output
        else:
            nodes.append(helper.make_node(operator, names, [output], output, **attributes))
        if output in RANGES:
            passed(output)
    return assembled(nodes, constants)


def compared(first: ModelProto, second: ModelProto, **options: Any) -> Equivalence:
    return sonnx.equivalent(first, second, **{"runs": 0, **options}).result


CONVERSIONS: dict[str, Callable[[], ModelProto]] = {
    "float16": lambda: converted("float16"),
    "bfloat16": lambda: converted("bfloat16"),
    "float16, inputs and outputs, too": lambda: converted("float16", io=True),
    "float16 but for some operators": lambda: converted("float16", ("BatchNormalization", "Softmax")),
    "float16 for one operator": lambda: converted("float16", {each[0] for each in NODES} - {"Gemm"}),
    "integers with one scale": quantized,
    "integers with a scale for each channel": lambda: quantized(by_channel=True),
    "integers that keep the sign": lambda: quantized(with_relu=False),
}


@pytest.mark.parametrize("name", CONVERSIONS)
def test_a_conversion_is_the_model_but_for_narrowings(name: str) -> None:
    second = CONVERSIONS[name]()
    onnx.checker.check_model(second, full_check=True)
    for models in ((wide(), second), (second, wide())):
        found = compared(*models)
        assert found.answer is Answer.NARROWED
        assert not found.proved
        assert {each.narrower for each in found.narrowings} == {"second" if models[1] is second else "first"}
        assert (found.exit_code(), found.exit_code(narrowings_as_listed=True)) == (3, 0)
        assert found.exit_code(identical=True) == 1


def test_the_narrowings_are_listed() -> None:
    found = compared(wide(), converted("float16", ("Softmax",)))
    listed = {(each.kind, each.first) for each in found.narrowings}
    values = {("value", name) for name in ("convolved", "normalized", "positive", "flat", "logits")}
    assert values | {("constant", name) for name in ("W", "b", "scale", "M", "c")} <= listed
    assert ("value", "y") not in listed
    assert {each.format for each in found.narrowings} == {"float16"}
    [row] = [each for each in compared(wide(), quantized()).narrowings if each.second == "positive back"]
    assert (row.format, row.kind, row.first) == ("uint8", "value", "positive")
    assert row.quantum == pytest.approx(5 / 255)
    assert (row.low, row.high) == (0.0, pytest.approx(5.0))


@pytest.mark.parametrize(("name", "box"), crossed(CONVERSIONS, ["x=[-0.1,0.1]", "x=[0.25,0.25]"], every=2))
def test_no_exact_value_is_further_off_than_the_bound(name: str, box: str) -> None:
    first, second = wide(), CONVERSIONS[name]()
    found = compared(first, second, box=[box])
    assert found.largest_difference is not None
    assert found.exit_code() == 3
    low, high = (float(each) for each in box[3:-1].split(","))
    largest = 0.0
    for _ in range(6):
        x = RNG.uniform(low, high, (1, 2, 4, 4)).astype(np.float32)
        kind = KINDS["float16" if "inputs" in name else "float"]
        y, z = (
            sonnx.run(model, {"x": x.astype(own)}, unchecked=True).arrays["y"].astype(np.float64)
            for model, own in ((first, np.float32), (second, kind))
        )
        largest = max(largest, float(np.abs(y - z).max()))
    assert 0 < largest <= found.largest_difference
    accepted = compared(first, second, box=[box], max_difference=found.largest_difference)
    assert accepted.exit_code() == 0
    assert compared(first, second, box=[box], max_difference=largest / 2).exit_code() == 1


def off_by_an_ulp() -> Array:
    array = WEIGHTS["W"].copy()
    narrow = array.astype(np.float16)
    array[0, 0, 0, 0] = np.nextafter(narrow[0, 0, 0, 0], np.float16(np.inf))
    return array


WRONG: dict[str, Callable[[], ModelProto]] = {
    "one weight to the second nearest number": lambda: converted("float16", W=off_by_an_ulp()),
    "another sign": lambda: converted("float16", c=-WEIGHTS["c"]),
    "one integer more": lambda: quantized(off=1),
    "one integer more, by channel": lambda: quantized(by_channel=True, off=1),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_no_rounding_gives_is_no_narrowing(name: str) -> None:
    assert compared(wide(), WRONG[name]()).answer is Answer.UNDECIDED


def test_a_dropped_relu_is_no_narrowing_where_the_integers_are_signed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(RANGES, "positive", (-1.0, 5.0))
    assert compared(wide(), quantized()).answer is Answer.NARROWED
    assert compared(wide(), quantized(with_relu=False)).answer is Answer.UNDECIDED


def test_models_that_are_quantized_in_other_ways_are_not_compared_without_the_integers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    first = quantized()
    monkeypatch.setitem(RANGES, "positive", (0.0, 2.0))
    assert compared(first, quantized()).answer is Answer.UNDECIDED


CODES = RNG.integers(-100, 100, (16, 3)).astype(np.int8)
SCALES: dict[str, tuple[Array, dict[str, int], Answer]] = {
    "one": (np.float32(0.01) * np.ones((), np.float32), {}, Answer.NARROWED),
    "each column": (np.array([0.01, 0.02, 0.03], np.float32), {"axis": 1}, Answer.NARROWED),
    "blocks": (RNG.uniform(0.01, 0.02, (4, 3)).astype(np.float32), {"axis": 0, "block_size": 4}, Answer.NARROWED),
    "blocks of another rank": (np.full(4, 0.01, np.float32), {"axis": 0, "block_size": 4}, Answer.UNDECIDED),
    "too few": (np.array([0.01, 0.02], np.float32), {"axis": 1}, Answer.UNDECIDED),
}


@pytest.mark.parametrize("name", SCALES)
def test_weights_alone_may_be_integers(name: str) -> None:
    """The weights in float are within half a quantum of the numbers that the integers stand for."""
    scales, attributes, expected = SCALES[name]
    if scales.ndim == 2:
        spread = np.repeat(scales, 4, axis=0)
    else:
        spread = scales if expected is Answer.NARROWED else np.float32(0.01) * np.ones((), np.float32)
    weights = (CODES * spread + spread / 4).astype(np.float32)
    nodes = [helper.make_node(o, i, [y], y, **a) for o, i, y, a in NODES]
    integers = helper.make_node("DequantizeLinear", ["codes", "quanta"], ["M"], **attributes)
    constants = {**{key: value for key, value in WEIGHTS.items() if key != "M"}, "codes": CODES, "quanta": scales}
    assert compared(wide(M=weights), assembled([integers, *nodes], constants)).answer is expected
    far = assembled([integers, *nodes], constants)
    assert compared(wide(M=weights + spread), far).answer is Answer.UNDECIDED


# ------------------------------------------------------------------ scales that are computed from the values


def dynamic(*, product: str = "MatMulInteger", channel: bool = True, **changed: Any) -> tuple[ModelProto, ModelProto]:
    """A product of floats, and one of integers whose scale DynamicQuantizeLinear computes."""
    is_conv = product == "ConvInteger"
    weights = WEIGHTS["W" if is_conv else "M"]
    codes, scale = rounded(weights, (0 if is_conv else 1) if channel else None)
    codes = codes.astype(np.int8)
    given = {
        "q": changed.get("codes", codes), "z": np.zeros((), np.int8),
        "s": scale.astype(np.float32).reshape((-1, 1, 1) if is_conv and channel else scale.shape),
        "size": WEIGHTS["size"], "rows": np.array([0, 3], np.int64), "w": weights,
    }  # fmt: skip
    node = helper.make_node
    plain = [] if is_conv else [node("Reshape", ["x", "flat"], ["v"])]
    value = "x" if is_conv else "v"
    given["flat"] = np.array([2, 16], np.int64)
    end = [node("Reshape", ["r", "size"], ["f"]), node("Slice", ["f", "first", "last", "axis"], ["y"])]
    given |= {"first": np.array([0]), "last": np.array([3]), "axis": np.array([1])}
    zero = changed.get("zero", "xz")
    integers = [
        node("DynamicQuantizeLinear", [value], ["xq", "xs", "xz"]),
        node("DynamicQuantizeLinear", ["w"], ["wq", "wt", "oz"]),
        node(product, ["xq", "q", zero, "z"], ["sum"]), node("Cast", ["sum"], ["c"], to=TensorProto.FLOAT),
        node("Mul", [changed.get("scale", "xs"), "s"], ["t"]), node("Mul", ["c", "t"], ["r"]),
    ]  # fmt: skip
    floats = [node("Conv" if is_conv else "MatMul", [value, "w"], ["r"])]
    return assembled([*plain, *floats, *end], given), assembled([*plain, *integers, *end], given)


@pytest.mark.parametrize("channel", [False, True])
@pytest.mark.parametrize("product", ["MatMulInteger", "ConvInteger"])
def test_a_scale_that_is_computed_from_the_values(product: str, channel: bool) -> None:
    pair = dynamic(product=product, channel=channel)
    found = compared(*pair)
    assert found.answer == Answer.NARROWED
    listed = {(each.kind, each.format, each.quantum is None) for each in found.narrowings}
    assert {("value", "uint8", True), ("constant", "int8", False)} <= listed
    assert compared(*reversed(pair)).answer == Answer.NARROWED
    bounded = compared(*pair, box=("x=[-1,1]",))
    assert bounded.answer == Answer.NARROWED
    assert bounded.largest_difference is None


def test_other_scales_and_zero_points_are_no_such_narrowing() -> None:
    """Those of another value, and a constant that no rounding gives."""
    codes, _ = rounded(WEIGHTS["M"], 1)
    for changed in ({"zero": "oz"}, {"scale": "wt"}, {"codes": (codes.astype(np.int8) ^ 2)}):
        assert compared(*dynamic(**changed)).answer == Answer.UNDECIDED, changed


def test_integers_that_are_pooled_between_integer_operators() -> None:
    node, given = helper.make_node, {"s": np.float32(0.02), "z": np.int8(3), "t": np.float32(0.03)}
    given |= {"size": WEIGHTS["size"], "first": np.array([0]), "last": np.array([3]), "axis": np.array([1])}
    pool = {"kernel_shape": [2, 2], "strides": [2, 2]}
    end = [node("Reshape", ["r", "size"], ["f"]), node("Slice", ["f", "first", "last", "axis"], ["y"])]
    floats = assembled([node("MaxPool", ["x"], ["r"], **pool), *end], given)
    for scale, answer in (("s", Answer.NARROWED), ("t", Answer.UNDECIDED)):
        integers = [
            node("QuantizeLinear", ["x", "s", "z"], ["q"]), node("MaxPool", ["q"], ["p"], **pool),
            node("DequantizeLinear", ["p", scale, "z"], ["r"]),
        ]  # fmt: skip
        assert compared(floats, assembled([*integers, *end], given)).answer == answer
