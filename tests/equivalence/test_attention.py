"""Operators of transformers of onnxruntime against operators of ONNX, and against onnxruntime where it is installed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import onnx
import onnx.parser
import pytest
from onnx import numpy_helper
from onnx.reference import ReferenceEvaluator

from sonnx.equivalence.interpretation.attention import _WRITERS
from sonnx.equivalence.result import Answer
from sonnx.numerics.formats import Array
from tests.equivalence.test_unequal_models import EQUAL, answer

RNG = np.random.default_rng(11)
GELU = "c = Pow(s, three) d = Mul(c, little) e = Add(s, d) f = Mul(e, factor) g = Tanh(f) h = Add(g, one) "
NORM = "q = Mul(s, s) m = ReduceMean <axes = [-1], keepdims = 1> (q) e = Add(m, eps) r = Sqrt(e) n = Div(s, r) "
HEADS = "{0}4 = Reshape({0}3, heads) {0}t = Transpose <perm = [0, 2, 1, 3]> ({0}4) "
ATTEND = (
    "kk = Transpose <perm = [0, 1, 3, 2]> (kt) w = MatMul(qt, kk) v = Mul(w, half) {bias} p = Softmax <axis = -1> (u) "
    "o = MatMul(p, vt) ot = Transpose <perm = [0, 2, 1, 3]> (o) y = Reshape(ot, joined) "
)
SPLIT = "q3, k3, v3 = Split <axis = 2> (t, thirds) " + "".join(HEADS.format(letter) for letter in "qkv")
TURNED = (
    "c4 = Unsqueeze(cg, axis) s4 = Unsqueeze(sg, axis) a, b = Split <axis = -1> (xt, halves) "
    "ac = Mul(a, c4) bs = Mul(b, s4) l = Sub(ac, bs) bc = Mul(b, c4) az = Mul(a, s4) h = Add(bc, az) "
    "j = Concat <axis = -1> (l, h) jt = Transpose <perm = [0, 2, 1, 3]> (j) y = Reshape(jt, joined) "
)


def packed(codes: Array) -> Array:
    """Integers of four bits along the last axis, the lower one first."""
    return (codes[..., 0::2] | codes[..., 1::2] << 4).astype(np.uint8)


CODES = RNG.integers(0, 16, (6, 2, 16)).astype(np.uint8)
SHIFTS = RNG.integers(0, 16, (6, 2)).astype(np.uint8)
STEPS = RNG.uniform(0.01, 0.02, (6, 2)).astype(np.float32)
CONSTANTS: Mapping[str, Array] = {
    "bias": RNG.standard_normal(8).astype(np.float32), "skip": RNG.standard_normal((2, 3, 8)).astype(np.float32),
    "gamma": RNG.uniform(0.5, 1.5, 8).astype(np.float32), "beta": RNG.standard_normal(8).astype(np.float32),
    "three": np.float32(3), "little": np.float32(0.044715), "factor": np.float32(np.sqrt(2 / np.pi)),
    "one": np.float32(1), "half": np.float32(0.5), "eps": np.float32(1e-12), "epsilon": np.float32(1e-5),
    "words": RNG.standard_normal((7, 8)).astype(np.float32), "places": RNG.standard_normal((5, 8)).astype(np.float32),
    "kinds": RNG.standard_normal((2, 8)).astype(np.float32), "ids": RNG.integers(0, 7, (2, 3)).astype(np.int32),
    "which": RNG.integers(0, 2, (2, 3)).astype(np.int32), "order": np.arange(3),
    "W": RNG.standard_normal((8, 24)).astype(np.float32), "B": RNG.standard_normal(24).astype(np.float32),
    "added": RNG.standard_normal((1, 1, 3, 3)).astype(np.float32), "thirds": np.array([8, 8, 8]),
    "heads": np.array([2, 3, 2, 4]), "joined": np.array([2, 3, 8]), "halves": np.array([2, 2]), "axis": np.array([1]),
    "at": np.array([[0, 1, 2], [2, 3, 4]]), "cosines": RNG.uniform(-1, 1, (6, 2)).astype(np.float32),
    "sines": RNG.uniform(-1, 1, (6, 2)).astype(np.float32), "codes": packed(CODES), "shifts": packed(SHIFTS)[:, 0],
    "steps": STEPS.reshape(-1), "rows": np.array([2, 3, 32]),
    "cosines4": np.ones((6, 4), np.float32),
    "weights": ((CODES.astype(np.float32) - SHIFTS[..., None]) * STEPS[..., None]).reshape(6, 32).T,
}  # fmt: skip


class Case(NamedTuple):
    """What an operator of com.microsoft computes of x, of [2, 3, 8], and the same by operators of ONNX."""

    own: str
    meant: str
    near_miss: tuple[str, str]
    """A part of `meant`, and what makes another function of it in its place."""
    width: int = 8


CASES: Mapping[str, Case] = {
    "FastGelu": Case(
        "FastGelu (x, bias)", f"s = Add(x, bias) {GELU} k = Mul(s, h) y = Mul(k, half)", ("half)", "one)")),
    "FastGelu, without a bias": Case("FastGelu (x)", f"s = Identity(x) {GELU} k = Mul(half, h) y = Mul(s, k)",
                                     ("half,", "one,")),
    "BiasAdd": Case("BiasAdd (x, bias, skip)", "s = Add(bias, skip) y = Add(s, x)", ("(s, x)", "(s, s)")),
    "SkipSimplifiedLayerNormalization": Case(
        "SkipSimplifiedLayerNormalization <epsilon = 1e-12> (x, skip, gamma)",
        f"s = Add(x, skip) {NORM} y = Mul(n, gamma)", ("(n, gamma)", "(n, bias)")),
    "SkipSimplifiedLayerNormalization, the sum": Case(
        "SkipSimplifiedLayerNormalization (x, skip, gamma, bias)",
        "a = Add(x, skip) y = Add(a, bias)", ("(a, bias)", "(a, gamma)")),
    "SkipLayerNormalization, the sum": Case(
        "SkipLayerNormalization (x, skip, gamma, beta)", "y = Add(x, skip)", ("skip)", "bias)")),
    "EmbedLayerNormalization": Case(
        "EmbedLayerNormalization <epsilon = 1e-5> (ids, which, words, places, kinds, gamma, beta)",
        "a = Gather(words, ids) c = Gather(places, order) d = Gather(kinds, which) e = Add(a, c) f = Add(e, d) "
        "y = LayerNormalization <epsilon = 1e-5> (f, gamma, beta)", ("Gather(kinds, which)", "Gather(kinds, order)")),
    "Attention": Case(
        "Attention <num_heads = 2> (x, W, B, , , added)",
        "m = MatMul(x, W) t = Add(m, B) " + SPLIT + ATTEND.format(bias="u = Add(v, added)"),
        ("u = Add(v, added)", "u = Identity(v)")),
    "MultiHeadAttention": Case(
        "MultiHeadAttention <num_heads = 2> (x, x, skip, B)",
        "qb, kb, vb = Split <axis = 0> (B, thirds) q3 = Add(x, qb) k3 = Add(x, kb) v3 = Add(skip, vb) "
        + "".join(HEADS.format(letter) for letter in "qkv") + ATTEND.format(bias="u = Identity(v)"),
        ("Add(skip, vb)", "Add(x, vb)")),
    "RotaryEmbedding": Case(
        "RotaryEmbedding (x, at, cosines, sines)",
        "cg = Gather(cosines, at) sg = Gather(sines, at) x4 = Reshape(x, heads) "
        "xt = Transpose <perm = [0, 2, 1, 3]> (x4) " + TURNED, ("Sub(ac, bs)", "Add(ac, bs)")),
    "MatMulNBits": Case(
        "MatMulNBits <K = 32, N = 6, bits = 4, block_size = 16> (x, codes, steps, shifts)", "y = MatMul(x, weights)",
        ("(x, weights)", "(x, weights) z = Identity(y)"), 32),
}  # fmt: skip
DOMAIN_OF_ONNX = {"SimplifiedLayerNormalization": Case(
    "SimplifiedLayerNormalization <axis = -1, epsilon = 1e-12, stash_type = 1> (x, gamma)",
    f"s = Identity(x) {NORM} y = Mul(n, gamma)", ("(n, gamma)", "(n, bias)"))}  # fmt: skip


def model(body: str, width: int = 8) -> onnx.ModelProto:
    text = (
        '<ir_version: 9, opset_import: ["" : 17, "com.microsoft" : 1]> '
        f"g (float[2, 3, {width}] x) => (float y) {{ {body} }}"
    )
    made = onnx.parser.parse_model(text)
    made.graph.output[0].type.tensor_type.ClearField("shape")
    used = {name for node in made.graph.node for name in node.input}
    made.graph.initializer.extend(
        numpy_helper.from_array(np.asarray(CONSTANTS[name]), name) for name in sorted(used & CONSTANTS.keys())
    )
    return made


def pair(name: str) -> tuple[onnx.ModelProto, onnx.ModelProto]:
    case = {**CASES, **DOMAIN_OF_ONNX}[name]
    outputs = "u1, u2, u3, y" if name.endswith("the sum") else "y, mask" if name.startswith("Embed") else "y"
    domain = "" if name in DOMAIN_OF_ONNX else "com.microsoft."
    return model(f"{outputs} = {domain}{case.own}", case.width), model(case.meant, case.width)


@pytest.mark.parametrize("name", [*CASES, *DOMAIN_OF_ONNX])
def test_an_operator_is_what_it_stands_for(name: str) -> None:
    own, meant = pair(name)
    assert answer(own, meant, runs=0) in EQUAL
    assert answer(meant, own, runs=0) in EQUAL


@pytest.mark.parametrize("name", [name for name in (*CASES, *DOMAIN_OF_ONNX) if name != "MatMulNBits"])
def test_near_misses(name: str) -> None:
    case = {**CASES, **DOMAIN_OF_ONNX}[name]
    assert case.near_miss[0] in case.meant
    other = model(case.meant.replace(*case.near_miss), case.width)
    assert answer(pair(name)[0], other, runs=0) == Answer.UNDECIDED


@pytest.mark.parametrize("name", [*CASES, *DOMAIN_OF_ONNX])
def test_what_a_runtime_computes(name: str) -> None:
    runtime = pytest.importorskip("onnxruntime")
    own, meant = pair(name)
    x = RNG.standard_normal((2, 3, {**CASES, **DOMAIN_OF_ONNX}[name].width)).astype(np.float32)
    options = runtime.SessionOptions()
    options.graph_optimization_level = runtime.GraphOptimizationLevel.ORT_DISABLE_ALL
    try:
        session = runtime.InferenceSession(own.SerializeToString(), options, providers=["CPUExecutionProvider"])
    except runtime.capi.onnxruntime_pybind11_state.NotImplemented:
        pytest.skip("onnxruntime has the operator for other processors")
    inputs = {"x": x} if session.get_inputs() else {}
    [wanted] = ReferenceEvaluator(meant).run(["y"], {"x": x})
    np.testing.assert_allclose(session.run(["y"], inputs)[0], wanted, rtol=1e-4, atol=1e-4)


def test_packed_weights_with_another_number() -> None:
    own, meant = pair("MatMulNBits")
    for index in range(2):
        array = CONSTANTS["codes"].copy()
        array.flat[index] ^= 1 << 4 * index
        changed = onnx.ModelProto.FromString(own.SerializeToString())
        place = next(tensor for tensor in changed.graph.initializer if tensor.name == "codes")
        place.CopyFrom(numpy_helper.from_array(array, "codes"))
        assert answer(changed, meant, runs=0) == Answer.UNDECIDED


def test_packed_weights_are_a_narrowing_of_floats() -> None:
    own, meant = pair("MatMulNBits")
    place = next(tensor for tensor in meant.graph.initializer if tensor.name == "weights")
    steps = np.repeat(STEPS, 16, axis=1).T
    for share, wanted in ((0.4, Answer.NARROWED), (1.2, Answer.UNDECIDED)):
        place.CopyFrom(numpy_helper.from_array((CONSTANTS["weights"] + share * steps).astype(np.float32), "weights"))
        assert answer(meant, own, runs=0) == wanted


def test_attributes_without_a_stated_meaning() -> None:
    meant = pair("Attention")[1]
    for attribute in ("unidirectional = 1", "do_rotary = 1"):
        own = model(f"y = com.microsoft.Attention <num_heads = 2, {attribute}> (x, W, B, , , added)")
        assert answer(own, meant, runs=0) == Answer.UNDECIDED


CALLS_WITHOUT_A_STATED_MEANING = {
    "RotaryEmbedding <num_heads = 1> (x, at, cosines, sines)": "RotaryEmbedding",
    "RotaryEmbedding <rotary_embedding_dim = 4> (x, at, cosines, sines)": "RotaryEmbedding",
    "RotaryEmbedding (x, at, cosines, cosines4)": "RotaryEmbedding",
    "MultiHeadAttention <num_heads = 2> (x, x, skip, B, which)": "MultiHeadAttention",
    "MultiHeadAttention <num_heads = 2> (x, x, skip, B, , , skip, skip)": "MultiHeadAttention",
    'MultiHeadAttention <num_heads = 2, scale = "half"> (x, x, skip, B)': "MultiHeadAttention",
    "Attention <num_heads = 2> (x, W, one, , , added)": "Attention",
    "Attention <num_heads = 2> (x, W, B, which, , added)": "Attention",
    "MatMulNBits <K = 32, N = 6, bits = 4, block_size = 16, accuracy_level = 4> (x, codes, steps, shifts)":
        "MatMulNBits",
    "MatMulNBits <K = 32, N = 6, bits = 4> (x, codes, steps, shifts)": "MatMulNBits",
    "MatMulNBits <K = 32, N = 6, bits = 4, block_size = 0> (x, codes, steps, shifts)": "MatMulNBits",
    'MatMulNBits <K = 32, N = 6, bits = 4, block_size = "16"> (x, codes, steps, shifts)': "MatMulNBits",
}  # fmt: skip
"""Calls that the runtime refuses, computes in another way, or with fewer digits, and the operator they call."""


@pytest.mark.parametrize("call", CALLS_WITHOUT_A_STATED_MEANING)
def test_calls_without_a_stated_meaning(call: str) -> None:
    case = CALLS_WITHOUT_A_STATED_MEANING[call]
    own = model(f"y = com.microsoft.{call}", CASES[case].width)
    assert answer(own, pair(case)[1], runs=0) == Answer.UNDECIDED
    assert answer(own, pair(case)[0], runs=0) == Answer.UNDECIDED
    assert answer(own, own, runs=0) in EQUAL


ONNX = """<ir_version: 10, opset_import: ["" : 23]> g (float[2, 2, 3, 4] q, float[2, 2, 5, 4] k, float[2, 2, 5, 6] v) =>
(float[2, 2, 3, 6] y) <int64[4] order = {0, 1, 3, 2}, float half = {0.5}, float third = {0.3}> { %s }"""
MEANT = """kt = Transpose <perm = [0, 1, 3, 2]> (k) s = MatMul(q, kt) t = Mul(s, half) p = Softmax <axis = -1> (t)
y = MatMul(p, v)"""


def test_attention_of_onnx() -> None:
    own = onnx.parser.parse_model(ONNX % "y = Attention (q, k, v)")
    assert answer(own, onnx.parser.parse_model(ONNX % MEANT), runs=0) in EQUAL
    other = onnx.parser.parse_model(ONNX % MEANT.replace("half", "third"))
    assert answer(own, other, runs=0) == Answer.UNDECIDED
    for attribute in ("is_causal = 1", "scale = 0.3", "softcap = 1.0"):
        own = onnx.parser.parse_model(ONNX % f"y = Attention <{attribute}> (q, k, v)")
        assert answer(own, onnx.parser.parse_model(ONNX % MEANT), runs=0) == Answer.UNDECIDED


def test_every_operator_is_compared() -> None:
    elsewhere = {"GroupQueryAttention"}  # test_grouped_attention.py
    assert {operator for domain, operator in _WRITERS if domain} <= CASES.keys() | elsewhere
    assert {operator for domain, operator in _WRITERS if not domain} == {"Attention"}  # test_attention_of_onnx
