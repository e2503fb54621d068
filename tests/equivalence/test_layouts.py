"""Operators on blocks of channels and on channels last, against the operators they mean and against onnxruntime."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

import sonnx
from sonnx.equivalence.normal_forms.layouts import layout_operators
from sonnx.equivalence.result import Answer
from sonnx.equivalence.terms.store import BLOCK_SIZES
from tests.equivalence.test_unequal_models import EQUAL, Node, answer, model, value

NCHWC, MICROSOFT = "com.microsoft.nchwc", "com.microsoft"
DOMAINS = {NCHWC: 1, MICROSOFT: 1}
RNG = np.random.default_rng(7)


def node(operator: str, inputs: str, output: str = "y", domain: str = "", **attributes: Any) -> Node:
    names = ["" if name == "-" else name for name in inputs.split()]
    return helper.make_node(operator, names, [output], domain=domain, **attributes)


def random(*shape: int) -> np.ndarray[Any, Any]:
    return RNG.standard_normal(shape).astype(np.float32)


def in_blocks(kernels: np.ndarray[Any, Any], block: int, *, inputs_too: bool) -> np.ndarray[Any, Any]:
    """The bytes of a filter in blocks of output channels, and of input channels too; filled up with zeros."""
    outputs, inputs, height, width = kernels.shape
    width_of_part = block if inputs_too else 1
    extents = outputs + -outputs % block, inputs + -inputs % width_of_part, height, width
    filled = np.zeros(extents, np.float32)
    filled[:outputs, :inputs] = kernels
    rows = []
    for first in range(0, extents[0], block):
        for start in range(0, extents[1], width_of_part):
            part = filled[first : first + block, start : start + width_of_part]
            rows += [part[:, :, y, x].T.reshape(-1) for y in range(height) for x in range(width)]
    return np.concatenate(rows).reshape(filled.shape)


def filled_up(bias: np.ndarray[Any, Any], block: int) -> np.ndarray[Any, Any]:
    return np.concatenate([bias, np.zeros(-len(bias) % block, np.float32)])


def blocked(name: str, output: str, channels: int, block: int, extent: int = 6) -> list[Node]:
    """Blocks of channels by operators of ONNX."""
    return [
        node("Pad", f"{name} fill_{channels}", f"{output}_p"),
        node("Reshape", f"{output}_p apart_{channels}", f"{output}_a"),
        node("Transpose", f"{output}_a", f"{output}_t", perm=[0, 1, 3, 4, 2]),
        node("Reshape", f"{output}_t joined_{channels}", output),
    ]


def shapes(channels: int, block: int, extent: int = 6) -> dict[str, object]:
    """The constants of `blocked`."""
    added = -channels % block
    return {
        f"fill_{channels}": np.array([0, 0, 0, 0, 0, added, 0, 0]),
        f"apart_{channels}": np.array([1, (channels + added) // block, block, extent, extent]),
        f"joined_{channels}": np.array([1, channels + added, extent, extent]),
    }


Pair = tuple[list[Node], list[Node], dict[str, object]]


def convolution(block: int, **changed: Any) -> Pair:
    """A convolution that reads plain channels, one of blocks, a residual, and one by channel; with activations."""
    small, large, wide = random(20, 4, 3, 3), random(20, 20, 3, 3), random(32, 20, 1, 1)
    each, biases = random(32, 1, 3, 3), [random(20), random(20), random(32)]
    constants: dict[str, object] = {
        "w1": small, "w2": large, "w3": wide, "w4": each, "b1": biases[0], "b2": biases[1], "b3": biases[2],
        "v1": in_blocks(small, block, inputs_too=False), "v2": in_blocks(large, block, inputs_too=True),
        "v3": in_blocks(wide, block, inputs_too=True), "v4": in_blocks(each, block, inputs_too=False),
        "c1": filled_up(biases[0], block), "c2": filled_up(biases[1], block), "c3": filled_up(biases[2], block),
        "low": np.float32(-0.5), "high": np.float32(0.75),
    }  # fmt: skip
    pads, activation = [1, 1, 1, 1], changed.get("activation", [-0.5, 0.75])
    own = [
        node("Conv", "x v1 c1", "p", NCHWC, pads=pads, activation="Sigmoid"),
        node("Conv", "p v2 c2 p", "q", NCHWC, pads=pads, activation="LeakyRelu", activation_params=[0.125]),
        node("Conv", "q v3 c3", "r", NCHWC, activation="Clip", activation_params=activation),
        node("Conv", "r v4", "s", NCHWC, pads=pads, group=32, activation="HardSigmoid", activation_params=[0.25, 0.5]),
        node("ReorderOutput", "s", "y", NCHWC, channels=32),
    ]
    meant = [
        node("Conv", "x w1 b1", "i", pads=pads), node("Sigmoid", "i", "j"),
        node("Conv", "j w2 b2", "k", pads=pads), node("Add", "k j", "l"), node("LeakyRelu", "l", "m", alpha=0.125),
        node("Conv", "m w3 b3", "n"), node("Clip", "n low high", "o"),
        node("Conv", "o w4", "u", pads=pads, group=32), node("HardSigmoid", "u", "y", alpha=0.25),
    ]  # fmt: skip
    return own, meant, constants


def pooling(operator: str, **attributes: Any) -> Callable[[int], Pair]:
    def pair(block: int) -> Pair:
        own = [node("ReorderInput", "x", "p", NCHWC), node(operator, "p", "q", NCHWC, **attributes),
               node("ReorderOutput", "q", "y", NCHWC, channels=4)]  # fmt: skip
        return own, [node(operator, "x", "y", **attributes)], {}

    return pair


def order(block: int) -> Pair:
    return [node("ReorderInput", "x", "y", NCHWC)], blocked("x", "y", 4, block), shapes(4, block)


def order_of_last(block: int) -> Pair:
    own = [node("Transpose", "x", "t", perm=[0, 2, 3, 1]), node("ReorderInput", "t", "y", NCHWC, channels_last=1)]
    return own, blocked("x", "y", 4, block), shapes(4, block)


def there_and_back(block: int) -> Pair:
    own = [node("ReorderInput", "x", "p", NCHWC), node("Relu", "p", "q"),
           node("ReorderOutput", "q", "y", NCHWC, channels=4, channels_last=1)]  # fmt: skip
    return own, [node("Relu", "x", "q"), node("Transpose", "q", "y", perm=[0, 2, 3, 1])], {}


def enlarged(block: int) -> Pair:
    own = [node("ReorderInput", "x", "p", NCHWC), node("Upsample", "p", "q", NCHWC, scales=[1, 1, 2, 2]),
           node("ReorderOutput", "q", "y", NCHWC, channels=4)]  # fmt: skip
    meant = node("Resize", "x - s", "y", coordinate_transformation_mode="asymmetric", nearest_mode="floor")
    return own, [meant], {"s": np.array([1, 1, 2, 2], np.float32)}


PAIRS: Mapping[str, Callable[[int], Pair]] = {
    "Conv": convolution,
    "MaxPool": pooling("MaxPool", kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1]),
    "AveragePool": pooling("AveragePool", kernel_shape=[2, 2], count_include_pad=1, pads=[1, 1, 0, 0]),
    "GlobalMaxPool": pooling("GlobalMaxPool"),
    "GlobalAveragePool": pooling("GlobalAveragePool"),
    "ReorderInput": order,
    "ReorderInput, channels last": order_of_last,
    "ReorderOutput": there_and_back,
    "Upsample": enlarged,
}


SIZED = {"Conv", "ReorderInput", "ReorderInput, channels last"}
"""Pairs that are equal for one number of channels of a block only."""


def models(case: str, block: int) -> tuple[onnx.ModelProto, onnx.ModelProto]:
    own, meant, constants = PAIRS[case](block)
    inputs = [value("x", [1, 4, 6, 6])]
    return model(own, constants, inputs=inputs, **DOMAINS), model(meant, constants, inputs=inputs)


@pytest.mark.parametrize("block", BLOCK_SIZES)
@pytest.mark.parametrize("case", PAIRS)
def test_blocks_of_channels_are_what_they_mean(case: str, block: int) -> None:
    own, meant = models(case, block)
    for pair in ((own, meant), (meant, own)):
        found = sonnx.equivalent(*pair, runs=0).result
        assert found.answer in EQUAL
        stated = f"the blocks of {NCHWC} have {block} channels, as on the machine that wrote the file"
        assert stated in found.assumptions or case not in SIZED


def values_of_runtime(data: onnx.ModelProto, inputs: dict[str, Any]) -> np.ndarray[Any, Any]:
    runtime = pytest.importorskip("onnxruntime")
    options = runtime.SessionOptions()
    options.graph_optimization_level = runtime.GraphOptimizationLevel.ORT_DISABLE_ALL
    for output in data.graph.output:
        output.type.tensor_type.elem_type = output.type.tensor_type.elem_type or TensorProto.FLOAT
    try:
        session = runtime.InferenceSession(data.SerializeToString(), options, providers=["CPUExecutionProvider"])
    except runtime.capi.onnxruntime_pybind11_state.NotImplemented:
        pytest.skip("onnxruntime has no such operators on this machine")
    found: np.ndarray[Any, Any] = session.run(None, inputs)[0]
    return found


def block_of_machine() -> int:
    """The channels of a block of the runtime on this machine."""
    data = model([node("ReorderInput", "x", "y", NCHWC)], inputs=[value("x", [1, 4, 2, 2])], **DOMAINS)
    return values_of_runtime(data, {"x": random(1, 4, 2, 2)}).shape[1]


@pytest.mark.parametrize("case", PAIRS)
def test_blocks_of_channels_of_a_runtime(case: str) -> None:
    """What is meant, computed exactly, is what onnxruntime computes with its own operators."""
    own, meant = models(case, block_of_machine())
    x = random(1, 4, 6, 6)
    found = values_of_runtime(own, {"x": x})
    exact = sonnx.run(meant, {"x": x}, unchecked=True).arrays["y"]
    np.testing.assert_allclose(found, exact, rtol=1e-4, atol=1e-4)


def test_another_filter_or_activation_is_another_function() -> None:
    own, meant, constants = convolution(16)
    inputs = [value("x", [1, 4, 6, 6])]
    plain = model(meant, constants, inputs=inputs)
    for name in ("v1", "v2", "v3", "v4", "c1"):
        array = np.array(constants[name])
        array.flat[1] += 0.5
        changed = model(own, {**constants, name: array}, inputs=inputs, **DOMAINS)
        assert answer(changed, plain, runs=0) == Answer.UNDECIDED, name
    another, _, constants = convolution(16, activation=[-0.5, 0.5])
    assert answer(model(another, constants, inputs=inputs, **DOMAINS), plain, runs=0) == Answer.UNDECIDED


def test_what_fills_a_block_up_is_not_known() -> None:
    """ReorderOutput of more channels than there are reads what fills the block up."""
    own, meant, constants = pooling("GlobalMaxPool")(8)
    own[-1] = node("ReorderOutput", "q", "y", NCHWC, channels=6)
    meant = [node("GlobalMaxPool", "x", "q"), node("Pad", "q four", "y")]
    constants = {"four": np.array([0, 0, 0, 0, 0, 2, 0, 0])}
    inputs = [value("x", [1, 4, 6, 6])]
    pair = model(own, constants, inputs=inputs, **DOMAINS), model(meant, constants, inputs=inputs)
    assert answer(*pair, runs=0) == Answer.UNDECIDED


# ------------------------------------------------------------------ channels last

BYTES = {"xs": np.float32(0.02), "xz": np.uint8(128), "ws": np.float32(0.01), "wz": np.int8(0), "ys": np.float32(0.05),
         "yz": np.uint8(10), "W": RNG.integers(-127, 128, (4, 4, 3, 3)).astype(np.int8),
         "B": np.array([70, -30, 5, 0], np.int32)}  # fmt: skip
LAST: Mapping[str, tuple[str, str, str, dict[str, Any]]] = {
    "QLinearConv": ("x xs xz W ws wz ys yz B", "", "QLinearConv", {"pads": [1, 1, 1, 1]}),
    "NhwcMaxPool": ("x", "", "MaxPool", {"kernel_shape": [3, 3], "strides": [2, 2], "pads": [1, 1, 1, 1]}),
    "QLinearGlobalAveragePool": ("x xs xz ys yz", MICROSOFT, "QLinearGlobalAveragePool", {}),
    "QLinearAveragePool": ("x xs xz ys yz", MICROSOFT, "QLinearAveragePool", {"kernel_shape": [2, 2]}),
}


def last_models(name: str) -> tuple[onnx.ModelProto, onnx.ModelProto]:
    inputs, domain, meant, attributes = LAST[name]
    last = {"channels_last": 1} if name != "NhwcMaxPool" else {}
    own = [node("Transpose", "x", "t", perm=[0, 2, 3, 1]),
           node(name, inputs.replace("x", "t", 1), "u", MICROSOFT, **last, **attributes),
           node("Transpose", "u", "y", perm=[0, 3, 1, 2])]  # fmt: skip
    given = [value("x", [1, 4, 6, 6], TensorProto.UINT8)]
    plain = [node(meant, inputs, "y", domain, **attributes)]
    return model(own, BYTES, inputs=given, **DOMAINS), model(plain, BYTES, inputs=given, **DOMAINS)


@pytest.mark.parametrize("name", LAST)
def test_channels_last_are_what_they_mean(name: str) -> None:
    own, meant = last_models(name)
    assert answer(own, meant, runs=0) in EQUAL
    for output in (own.graph.output[0], meant.graph.output[0]):
        output.type.tensor_type.elem_type = TensorProto.UINT8
    x = RNG.integers(0, 256, (1, 4, 6, 6)).astype(np.uint8)
    found, wanted = (values_of_runtime(each, {"x": x}).astype(int) for each in (own, meant))
    assert np.abs(found - wanted).max() <= 1


def test_every_operator_with_a_layout_is_compared() -> None:
    assert {name for _, name in layout_operators()} == {case.partition(",")[0] for case in (*PAIRS, *LAST)}


def test_what_a_runtime_writes(tmp_path: Path) -> None:
    """The most that onnxruntime optimizes, with the layout of this machine."""
    runtime = pytest.importorskip("onnxruntime")
    _, meant = models("Conv", 8)
    meant.graph.output[0].type.tensor_type.elem_type = TensorProto.FLOAT
    options = runtime.SessionOptions()
    options.optimized_model_filepath, options.log_severity_level = str(tmp_path / "optimized.onnx"), 3
    runtime.InferenceSession(meant.SerializeToString(), options, providers=["CPUExecutionProvider"])
    assert answer(meant, onnx.load(tmp_path / "optimized.onnx"), runs=0) in EQUAL


def test_reorders_that_no_block_size_allows() -> None:
    """They are values of their own, not the values that they read."""
    plain = model([node("Identity", "x", "y")], inputs=[value("x", [1, 4, 6, 6])])
    for own in (node("ReorderOutput", "x", "y", NCHWC, channels=4), node("ReorderOutput", "x", "y", NCHWC)):
        assert answer(model([own], inputs=[value("x", [1, 4, 6, 6])], **DOMAINS), plain, runs=0) == Answer.UNDECIDED
    rows = model([node("ReorderInput", "x", "y", NCHWC)], inputs=[value("x", [4, 6])], **DOMAINS)
    assert answer(rows, model([node("Identity", "x", "y")], inputs=[value("x", [4, 6])]), runs=0) == Answer.UNDECIDED
    wide = [value("x", [1, 32, 6, 6])]
    first = model([node("ReorderOutput", "x", "y", NCHWC, channels=8)], inputs=wide, **DOMAINS)
    assert answer(first, model([node("Identity", "x", "y")], inputs=wide), runs=0) == Answer.UNDECIDED


def test_attributes_that_no_schema_has() -> None:
    """A call with one is a value of its own, in the layout of its own."""
    given = [value("x", [1, 4, 4, 4], TensorProto.UINT8)]
    attributes = {"kernel_shape": [2, 2], "odd": 1}
    last = [node("Transpose", "x", "t", perm=[0, 2, 3, 1]),
            node("QLinearAveragePool", "t xs xz ys yz", "y", MICROSOFT, channels_last=1, **attributes)]  # fmt: skip
    plain = model([node("QLinearAveragePool", "x xs xz ys yz", "y", MICROSOFT, **attributes)], BYTES, inputs=given,
                  **DOMAINS)  # fmt: skip
    own = model(last, BYTES, inputs=given, **DOMAINS)
    assert answer(own, plain, runs=0) == Answer.UNDECIDED
    assert answer(own, own, runs=0) in EQUAL
    floats = [value("x", [1, 4, 6, 6])]
    order, odd = (model([node("ReorderInput", "x", "y", NCHWC, **changed)], inputs=floats, **DOMAINS)
                  for changed in ({}, {"odd": 1}))  # fmt: skip
    assert answer(order, odd, runs=0) == Answer.UNDECIDED


SCALES, OFFSETS = random(16), random(16)
BY_CHANNEL: Mapping[str, tuple[list[int], dict[str, Any], bool]] = {
    "plain": ([1, 16, 6, 6], {}, True),
    "same": ([1, 16, 6, 6], {"auto_pad": "SAME_UPPER"}, True),
    "strides and pads that keep the shape": ([1, 16, 2, 2], {"strides": [2, 2], "pads": [1, 1, 1, 1]}, False),
    "pads in the place of elements": ([1, 16, 6, 6], {"pads": [1, 0, -1, 0]}, False),
    "strides": ([1, 16, 6, 6], {"strides": [2, 2]}, False),
}
"""The shape of x, attributes of Conv, and whether it is a factor and a bias for each channel."""


@pytest.mark.parametrize("name", BY_CHANNEL)
def test_a_convolution_of_single_elements_by_channel_is_a_factor(name: str) -> None:
    """onnxruntime writes BatchNormalization on blocks of channels in this way."""
    shape, attributes, is_factor = BY_CHANNEL[name]
    constants = {"w": SCALES.reshape(16, 1, 1, 1), "b": OFFSETS, "s": SCALES.reshape(16, 1, 1),
                 "o": OFFSETS.reshape(16, 1, 1)}  # fmt: skip
    inputs = [value("x", shape)]
    by_channel = model([node("Conv", "x w b", "y", group=16, **attributes)], constants, inputs=inputs)
    factor = model([node("Mul", "x s", "t"), node("Add", "t o", "y")], constants, inputs=inputs)
    assert answer(by_channel, factor, runs=0) == (Answer.ROUNDING if is_factor else Answer.UNDECIDED)
