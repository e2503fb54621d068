"""Fused operators against the operators they stand for, and computed shapes against written ones."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper

import sonnx
from sonnx.equivalence.interpretation.fused import fused_operators
from sonnx.equivalence.result import Answer
from tests.equivalence import test_attention, test_equivalence, test_quantization
from tests.equivalence.test_unequal_models import EQUAL, Node, answer, model, value
from tests.rewriter.test_stated_meanings import COMPARED

RNG = np.random.default_rng(3)
CONSTANTS = {
    name: RNG.standard_normal(shape).astype(np.float32)
    for name, shape in {"w": (2, 3, 1, 1), "b": (2,), "m": (4, 5), "c": (5,), "g": (4,), "h": (4,)}.items()
} | {
    "one": np.float32(1),
    "none": np.float32(0),
    "half": np.float32(0.5),
    "root": np.float32(np.sqrt(2)),
    "third": np.float32(0.25),
}
OFFSETS = [float(number) for number in CONSTANTS["g"]]
DOMAINS = {"com.microsoft": 1, "ai.onnx.ml": 1}
IMAGE, ROWS = [value("x", [1, 3, 4, 4])], [value("x", [4, 4])]


def node(operator: str, inputs: str, output: str = "y", domain: str = "", **attributes: Any) -> Node:
    return helper.make_node(operator, inputs.split(), [output], domain=domain, **attributes)


def fused(operator: str, inputs: str, **attributes: Any) -> Node:
    return node(operator, inputs, domain="com.microsoft", **attributes)


def erf(operand: str) -> list[Node]:
    """Gelu of a value."""
    return [
        node("Div", f"{operand} root", "d"), node("Erf", "d", "e"), node("Add", "e one", "f"),
        node("Mul", f"{operand} f", "p"), node("Mul", "p half"),
    ]  # fmt: skip


PAIRS: dict[str, tuple[list[Node], list[Node], list[onnx.ValueInfoProto], bool]] = {
    "FusedConv": (
        [node("Neg", "x", "n"), node("Conv", "n w b", "z"), fused("FusedConv", "x w b z", activation="Relu")],
        [node("Neg", "x", "n"), node("Conv", "n w b", "z"), node("Conv", "x w b", "v"), node("Add", "v z", "s"),
         node("Relu", "s")], IMAGE, True),
    "FusedConv, another activation": (
        [fused("FusedConv", "x w b", activation="Tanh")],
        [node("Conv", "x w b", "v"), node("Relu", "v")], IMAGE, False),
    "FusedGemm": (
        [fused("FusedGemm", "x m c", activation="Sigmoid", alpha=0.5)],
        [node("Gemm", "x m c", "v", alpha=0.5), node("Sigmoid", "v")], ROWS, True),
    "FusedGemm, another factor": (
        [fused("FusedGemm", "x m c", activation="Sigmoid", alpha=0.25)],
        [node("Gemm", "x m c", "v", alpha=0.5), node("Sigmoid", "v")], ROWS, False),
    "FusedMatMul": (
        [node("Relu", "x", "r"), fused("FusedMatMul", "x r", transA=1, transB=1, alpha=0.25)],
        [node("Relu", "x", "r"), node("Transpose", "x", "t", perm=[1, 0]), node("Transpose", "r", "u", perm=[1, 0]),
         node("MatMul", "t u", "v"), node("Mul", "v third")], ROWS, True),
    "FusedMatMul, the other one transposed": (
        [node("Relu", "x", "r"), fused("FusedMatMul", "x r", transA=1)],
        [node("Relu", "x", "r"), node("Transpose", "r", "u", perm=[1, 0]), node("MatMul", "x u")], ROWS, False),
    "PRelu": (
        [node("PRelu", "x g")],
        [node("Mul", "x g", "p"), node("Less", "x none", "l"), node("Where", "l p x")], ROWS, True),
    "PRelu, chosen where the element is positive": (
        [node("PRelu", "x g")],
        [node("Mul", "x g", "p"), node("Less", "x none", "l"), node("Where", "l x p")], ROWS, False),
    "BiasGelu": ([fused("BiasGelu", "x g")], [node("Add", "x g", "s"), *erf("s")], ROWS, True),
    "QuickGelu": (
        [fused("QuickGelu", "x", alpha=0.25)],
        [node("Mul", "x third", "v"), node("Sigmoid", "v", "s"), node("Mul", "x s")], ROWS, True),
    "QuickGelu, another factor": (
        [fused("QuickGelu", "x", alpha=0.5)],
        [node("Mul", "x third", "v"), node("Sigmoid", "v", "s"), node("Mul", "x s")], ROWS, False),
    "SkipLayerNormalization": (
        [node("Relu", "x", "r"), fused("SkipLayerNormalization", "x r g h", epsilon=1e-5)],
        [node("Relu", "x", "r"), node("Add", "x r", "s"), node("LayerNormalization", "s g h", epsilon=1e-5)],
        ROWS, True),
    "SkipLayerNormalization, another epsilon": (
        [node("Relu", "x", "r"), fused("SkipLayerNormalization", "x r g h", epsilon=1e-5)],
        [node("Relu", "x", "r"), node("Add", "x r", "s"), node("LayerNormalization", "s g h", epsilon=1e-3)],
        ROWS, False),
    "Scaler": (
        [node("Scaler", "x", domain="ai.onnx.ml", offset=OFFSETS, scale=[0.25])],
        [node("Sub", "x g", "s"), node("Mul", "s third")], ROWS, True),
    "Scaler, another factor": (
        [node("Scaler", "x", domain="ai.onnx.ml", offset=OFFSETS, scale=[0.5])],
        [node("Sub", "x g", "s"), node("Mul", "s third")], ROWS, False),
}  # fmt: skip


@pytest.mark.parametrize("case", PAIRS)
def test_a_fused_operator_is_what_it_stands_for(case: str) -> None:
    first, second, inputs, same = PAIRS[case]
    made = [model(nodes, CONSTANTS, inputs=inputs, **DOMAINS) for nodes in (first, second)]
    assert (answer(*made, runs=0) in EQUAL) is same
    assert (answer(*reversed(made), runs=0) in EQUAL) is same


def test_every_fused_operator_is_compared_with_its_meaning() -> None:
    here = {case.partition(",")[0] for case in PAIRS}
    quantized = {*test_quantization.STATED, "QLinearConv", "QLinearMatMul", "QGemm"}
    patterns = {"Gelu", "LayerNormalization"}
    assert test_equivalence.test_gelu_as_a_pattern
    assert test_equivalence.test_layer_normalization_as_a_pattern
    assumed = {name for (_, name), stated in fused_operators().items() if not stated[0].axiom}
    transformers = {case.partition(",")[0] for case in (*test_attention.CASES, *test_attention.DOMAIN_OF_ONNX)}
    assert here | quantized | patterns | COMPARED | transformers >= assumed


def flattened(shape: list[int | str]) -> onnx.ModelProto:
    """Rows of a shape that is computed from the shape of the input, as exporters write it."""
    nodes = [
        node("Shape", "x", "s"), node("Gather", "s zero", "rows"), node("Unsqueeze", "rows first", "r"),
        node("Concat", "r rest", "t", axis=0), node("Reshape", "x t"),
    ]  # fmt: skip
    given = {"zero": np.array(0), "first": np.array([0]), "rest": np.array([-1])}
    return model(nodes, given, inputs=[value("x", shape)])


def test_a_computed_shape_is_the_written_one() -> None:
    for rows in ([4, -1], [0, -1], [4, 6]):
        written = model([node("Reshape", "x rows")], {"rows": np.array(rows)}, inputs=[value("x", [4, 2, 3])])
        assert answer(flattened([4, 2, 3]), written) == Answer.IDENTICAL
    other = model([node("Reshape", "x rows")], {"rows": np.array([2, 12])}, inputs=[value("x", [4, 2, 3])])
    assert answer(flattened([4, 2, 3]), other) == Answer.DIFFERENT


def test_a_computed_shape_of_symbols_says_for_which_number_it_was_compared() -> None:
    written = model([node("Reshape", "x rows")], {"rows": np.array([0, -1])}, inputs=[value("x", ["N", 2, 3])])
    found = sonnx.equivalent(flattened(["N", 2, 3]), written).result
    assert (found.answer, found.binding) == (Answer.IDENTICAL_AT_SIZES, {"x": (1, 2, 3)})
    fixed = model([node("Reshape", "x rows")], {"rows": np.array([1, 6])}, inputs=[value("x", ["N", 2, 3])])
    found = sonnx.equivalent(flattened(["N", 2, 3]), fixed).result
    assert (found.answer, found.binding) == (Answer.UNDECIDED, {"x": (2, 2, 3)})
    assert found.bits == "the second model has no value for the generated input 0"
