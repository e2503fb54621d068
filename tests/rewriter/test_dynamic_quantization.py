"""Products of integers with a computed scale, which `fix` writes in floating point, against onnxruntime."""

from __future__ import annotations

from itertools import product

import numpy as np
import onnx
import onnx.parser
import pytest

from sonnx import fix, prepare
from sonnx.checker.verdicts import Verdict
from sonnx.equivalence.result import Answer
from tests.equivalence.test_unequal_models import EQUAL, answer
from tests.support.cases import examples

MATRIX = """<ir_version: 8, opset_import: ["" : 17]> g (float[3, 4] x) => (float[3, 2] y)
<int8[4, 2] w = {1, -2, 3, 4, -128, 127, 5, 6}, %s, float r = {0.5}> {
  q, s, o = DynamicQuantizeLinear (x) m = MatMulInteger (q, w, o%s) f = Cast <to = 1> (m) t = Mul (s, r)
  y = Mul (f, t)
}"""
WINDOWS = """<ir_version: 8, opset_import: ["" : 17]> g (float[1, 1, 4, 4] x) => (float[1, 2, %s] y)
<uint8[2, 1, 2, 2] w = {1, 2, 3, 4, 255, 0, 5, 6}, uint8 z = {100}> {
  q, s, o = DynamicQuantizeLinear (x) m = ConvInteger <%s> (q, w, o, z) f = Cast <to = 1> (m) y = Mul (f, s)
}"""
SOURCES = {
    "no zero point": MATRIX % ("int8 z = {3}", ""),
    "a zero point": MATRIX % ("int8 z = {3}", ", z"),
    "a zero point for each column": MATRIX % ("int8[2] z = {3, -4}", ", z"),
    "windows": WINDOWS % ("2, 2", "kernel_shape = [2, 2], strides = [2, 2]"),
}


@pytest.mark.parametrize("name", SOURCES)
def test_the_numbers_are_those_of_the_integers(name: str) -> None:
    runtime = pytest.importorskip("onnxruntime")
    source = onnx.parser.parse_model(SOURCES[name])
    fixed = fix(source.SerializeToString(), samples=1)
    assert fixed.after.verdict is Verdict.PASS, fixed.to_text()
    assert fixed.validation.for_all_inputs is Answer.IDENTICAL
    session = runtime.InferenceSession(source.SerializeToString(), providers=["CPUExecutionProvider"])
    shape = [dim.dim_value for dim in source.graph.input[0].type.tensor_type.shape.dim]
    prepared = prepare(fixed.model_bytes())
    for seed, shift in product(range(examples(5, 20)), (0.0, 5.0, -5.0)):
        given = np.random.default_rng(seed).standard_normal(shape).astype(np.float32) + np.float32(shift)
        [found] = prepared.run({"x": given}).values()
        np.testing.assert_allclose(found, session.run(["y"], {"x": given})[0], rtol=1e-6)


def test_other_integers_are_not_equal() -> None:
    own = onnx.parser.parse_model(SOURCES["a zero point"])
    fixed = onnx.ModelProto.FromString(fix(own.SerializeToString(), samples=0).model_bytes())
    assert answer(own, fixed, runs=0) in EQUAL
    for changed in (("{3}", "{4}"), ("-128", "-127"), ("Mul (s, r)", "Mul (s, s)")):
        other = onnx.parser.parse_model(SOURCES["a zero point"].replace(*changed))
        assert answer(other, fixed, runs=0) not in EQUAL


STAY = {
    "windows beyond the input": WINDOWS % ("5, 5", "kernel_shape = [2, 2], pads = [1, 1, 1, 1]"),
    "an integer output": SOURCES["a zero point"].replace("y = Mul (f, t)", "y = Mul (f, t) u = Identity (q)").replace(
        "(float[3, 2] y)", "(float[3, 2] y, uint8[3, 4] u)"),
}  # fmt: skip


@pytest.mark.parametrize("name", STAY)
def test_what_stays(name: str) -> None:
    """The texts of padding differ; an integer output needs the quantizer."""
    fixed = fix(onnx.parser.parse_model(STAY[name]).SerializeToString(), samples=0)
    left = {root.where.operator for root in fixed.after.roots if root.rule == "operator-in-profile"}
    assert "DynamicQuantizeLinear" in left
