"""The axioms that no theorem proves: both sides of each have the same bits on generated inputs with special values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import onnx
import onnx.parser
import pytest
from onnx import numpy_helper
from onnx.reference import ReferenceEvaluator

import sonnx
from sonnx.base.errors import NotExecutable
from sonnx.equivalence.result import Answer
from sonnx.equivalence.terms.axioms import axioms
from sonnx.executor.distance import first_difference
from sonnx.executor.executor import ModelRunner
from sonnx.executor.model_inputs import required_inputs
from sonnx.executor.probes import probe
from sonnx.model.reader import read
from sonnx.numerics.formats import Array

RNG = np.random.default_rng(5)
CONSTANTS: Mapping[str, Any] = {
    "scale": np.float32(0.5), "zero": np.uint8(3), "none": np.float32([-0.0, -0.0]),
    "W": RNG.standard_normal((2, 2, 1, 1)).astype(np.float32), "nought": np.float32(0), "one": np.float32(1),
    "M": RNG.standard_normal((3, 4)).astype(np.float32), "Mt": np.float32(0), "minus": np.float32(-1),
    "G": RNG.standard_normal((2, 1, 1, 1)).astype(np.float32),
}  # fmt: skip
DERIVED = {
    "Mt": CONSTANTS["M"].T.copy(), "G0": CONSTANTS["G"][:1], "G1": CONSTANTS["G"][1:],
    "halves": np.array([1, 1]), "last": np.array(1),
}  # fmt: skip


class Sides(NamedTuple):
    """The declared inputs and both sides, which compute y."""

    inputs: str
    one: str
    other: str


FLOATS = "float[1, 2, 4, 4] x"
CASES: Mapping[str, Sides] = {
    "pooled-integers": Sides(
        "uint8[1, 2, 4, 4] x",
        "d = DequantizeLinear(x, scale, zero) y = MaxPool <kernel_shape = [2, 2]> (d)",
        "p = MaxPool <kernel_shape = [2, 2]> (x) y = DequantizeLinear(p, scale, zero)"),
    "neutral-input": Sides(FLOATS, "y = Conv(x, W, none)", "y = Conv(x, W)"),
    "choices": Sides(
        FLOATS, "y = Sign(x)",
        "r = Abs(x) a = Less(nought, x) b = Less(x, nought) u = Where(a, one, r) y = Where(b, minus, u)"),
    "trivial-call": Sides(FLOATS, "y = Clip(x, nought)", "y = Relu(x)"),
    "other-operator": Sides("float[4] x, float[4] z", "y = Greater(x, z)", "y = Less(z, x)"),
    "stored-matrix": Sides("float[2, 3] x", "y = Gemm(x, M)", "y = Gemm <transB = 1> (x, Mt)"),
    "equal-steps": Sides(
        "float[2] s, float[N, 2] x",
        "e, y = Scan <num_scan_inputs = 1, body = g1 (float[2] t, float[2] u) => (float[2] v, float[2] w) "
        "{ v = Add(t, u) w = Relu(v) }> (s, x)",
        "e, y = Scan <num_scan_inputs = 1, body = g1 (float[2] t, float[2] u) => (float[2] v, float[2] w) "
        "{ v = Add(u, t) w = Relu(v) }> (s, x)"),
    "equal-graphs": Sides(
        "float[4] x, float[4] z",
        "s = SequenceConstruct(x, z) t = SequenceMap <body = g1 (float[4] u) => (float[4] v) "
        "{ v = Neg(u) }> (s) y = SequenceAt(t, last)",
        "s = SequenceConstruct(x, z) t = SequenceMap <body = g2 (float[4] a) => (float[4] b) "
        "{ b = Neg(a) }> (s) y = SequenceAt(t, last)"),
    "parts-of-products": Sides(
        FLOATS, "y = Conv <group = 2> (x, G)",
        "a, b = Split <axis = 1> (x, halves) c = Conv(a, G0) d = Conv(b, G1) y = Concat <axis = 1> (c, d)"),
}  # fmt: skip


def model(inputs: str, body: str) -> onnx.ModelProto:
    kind = "bool" if ("Less" in body and "Where" not in body) or "Greater" in body else "float"
    text = f'<ir_version: 8, opset_import: ["" : 17]> g ({inputs}) => ({kind} y) {{ {body} }}'
    data = onnx.parser.parse_model(text)
    data.graph.output[0].type.tensor_type.ClearField("shape")
    used, values = {name for node in data.graph.node for name in node.input}, {**CONSTANTS, **DERIVED}
    data.graph.initializer.extend(
        numpy_helper.from_array(np.asarray(values[name]), name) for name in sorted(used & values.keys())
    )
    return data


def test_every_assumed_axiom_is_run() -> None:
    assert CASES.keys() == {name for name, each in axioms().items() if not each.theorem}


def value(data: onnx.ModelProto, inputs: Mapping[str, Array]) -> Array:
    """The value of y: exact, or that of onnx.reference where the executor lacks an operator."""
    try:
        return ModelRunner(read(data.SerializeToString()), unchecked=True).run(inputs).values["y"]
    except NotExecutable:
        [found] = ReferenceEvaluator(data).run(["y"], dict(inputs))
        return np.asarray(found)


@pytest.mark.parametrize("name", CASES)
def test_both_sides_have_the_same_bits(name: str) -> None:
    pair = [model(CASES[name].inputs, body) for body in (CASES[name].one, CASES[name].other)]
    found = sonnx.equivalent(*pair, runs=0).result
    assert (found.answer, axioms()[name].statement in found.assumptions) == (Answer.IDENTICAL, True)
    declared = CASES[name].inputs.replace("N", "3")
    runs = [model(declared, body) for body in (CASES[name].one, CASES[name].other)]
    inputs = required_inputs(read(runs[0].SerializeToString()))
    for index in range(24):
        values = probe(inputs, 7, index)
        one, other = (value(data, values) for data in runs)
        assert first_difference(other, one) is None
