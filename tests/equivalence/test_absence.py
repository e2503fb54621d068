"""What the absence of an input or an attribute means: what may be left out, and what counts."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import onnx
import onnx.parser
import pytest
from onnx import TensorProto, helper

import sonnx
from sonnx.equivalence.result import Answer
from tests.equivalence.test_unequal_models import model, value


def parsed(text: str, version: int = 21, domain: str = "") -> bytes:
    imports = f'"": {version}' + (f', "{domain}": 1' if domain else "")
    return onnx.parser.parse_model(f"<ir_version: 10, opset_import: [{imports}]> g {text}").SerializeToString()


@pytest.mark.parametrize(
    ("number", "zero_point", "answer"),
    [
        (TensorProto.UINT8, "", Answer.ROUNDING),
        (TensorProto.INT8, "", Answer.UNDECIDED),
        (TensorProto.UINT8, "uint8 z = {0}", Answer.ROUNDING),
        (TensorProto.UINT8, "uint8 z = {1}", Answer.UNDECIDED),
        (TensorProto.INT8, "int8 z = {-128}", Answer.ROUNDING),
        (TensorProto.INT8, "int8 z = {0}", Answer.UNDECIDED),
        (TensorProto.UINT16, "", Answer.ROUNDING),
        (TensorProto.INT16, "", Answer.UNDECIDED),
    ],
)
def test_a_relu_is_in_the_lower_limit_only_where_that_is_the_zero_point(
    number: int, zero_point: str, answer: Answer
) -> None:
    kind = TensorProto.DataType.Name(number).lower()
    written = "" if zero_point else f"<output_dtype = {number}>"
    constants = f"float s = {{0.1}}{', ' + zero_point if zero_point else ''}"
    head = f"(float[8] x) => ({kind}[8] y) <{constants}>"
    inputs = "s, z" if zero_point else "s"
    first = parsed(f"{head} {{ r = Relu(x) y = QuantizeLinear {written} (r, {inputs}) }}")
    second = parsed(f"{head} {{ y = QuantizeLinear {written} (x, {inputs}) }}")
    assert sonnx.equivalent(first, second, runs=0).result.answer is answer


RNG = np.random.default_rng(0)
WEIGHTS = {"W": RNG.normal(size=(1, 8, 3)).astype(np.float32), "R": RNG.normal(size=(1, 8, 2)).astype(np.float32)}
ZEROS = {"P": np.zeros((1, 6), np.float32), "c": np.zeros((1, 1, 2), np.float32)}


def lstm(inputs: Sequence[str], **attributes: object) -> onnx.ModelProto:
    node = helper.make_node("LSTM", ["x", "W", "R", *inputs], ["y"], hidden_size=2, **attributes)
    return model([node], {**WEIGHTS, **ZEROS}, inputs=[value("x", [2, 1, 3])])


@pytest.mark.parametrize(
    ("activations", "identical"),
    [
        (["Sigmoid", "Tanh", "Tanh"], True),
        (["Sigmoid", "Relu", "Tanh"], False),  # cells may be infinite
        (["Relu", "Tanh", "Tanh"], False),  # cells may be infinite
        (["Tanh", "Tanh", "Tanh"], False),  # -0 and +0 differ
    ],
)
def test_peepholes_of_zero_change_nothing_where_cells_are_finite(activations: list[str], identical: bool) -> None:
    with_peepholes = lstm(["", "", "", "", "P"], activations=activations)
    without = lstm([], activations=activations)
    assert (sonnx.equivalent(with_peepholes, without, runs=0).result.answer is Answer.IDENTICAL) is identical


def test_peepholes_of_zero_count_where_the_first_cell_is_given() -> None:
    inputs = [value("x", [2, 1, 3]), value("c0", [1, 1, 2])]
    models = []
    for peepholes in (["P"], []):
        node = helper.make_node("LSTM", ["x", "W", "R", "", "", "", "c0", *peepholes], ["y"], hidden_size=2)
        models.append(model([node], {**WEIGHTS, **ZEROS}, inputs=inputs))
    assert sonnx.equivalent(*models, runs=0).result.answer is not Answer.IDENTICAL


@pytest.mark.parametrize("kind", ["int8", "uint8"])
def test_a_zero_point_that_decides_a_type_is_not_left_out(kind: str) -> None:
    """Without a zero point the output of QuantizeLinear is of type uint8."""
    texts = [
        f"(float[4] x) => ({kind}[4] y) <float s = {{0.5}}, {kind} z = {{0}}> {{ y = QuantizeLinear(x, s, z) }}",
        "(float[4] x) => (y) <float s = {0.5}> { y = QuantizeLinear(x, s) }",
    ]
    result = sonnx.equivalent(*(parsed(text, 13) for text in texts), runs=0).result
    assert result.answer is Answer.UNDECIDED


def test_a_zero_point_of_zero_is_left_out_where_another_input_has_its_type() -> None:
    texts = [
        f"(int8[4] x) => (float[4] y) <float s = {{0.5}}, int8 z = {{{zero}}}> {{ y = DequantizeLinear(x, s{used}) }}"
        for zero, used in ((0, ", z"), (0, ""), (1, ", z"))
    ]
    models = [parsed(text, 13) for text in texts]
    assert sonnx.equivalent(*models[:2], runs=0).result.answer is Answer.IDENTICAL
    assert sonnx.equivalent(models[0], models[2], runs=0).result.answer is Answer.UNDECIDED


def test_a_seed_counts_where_it_decides_the_value() -> None:
    text = "(int32[4] x) => (uint32[4] y) {{ y = com.microsoft.MurmurHash3 <seed = {}> (x) }}"
    models = [parsed(text.format(seed), domain="com.microsoft") for seed in (0, 1)]
    assert sonnx.equivalent(*models, runs=0).result.answer is Answer.UNDECIDED


@pytest.mark.parametrize(
    "body", ["y = RandomNormalLike(x)", "r = RandomUniform <shape = [4]> () y = Add(x, r)", "y = Add(y, x)"]
)
def test_a_file_that_is_no_function_is_not_identical_to_itself(body: str) -> None:
    """Its values are random, or a node depends on itself."""
    data = parsed(f"(float[4] x) => (float[4] y) {{ {body} }}", 13)
    result = sonnx.equivalent(data, data, runs=0).result
    assert (result.answer, result.same_content or bool(result.not_valid)) == (Answer.UNDECIDED, True)


VERSIONS = {
    "Tan": ("y = Tan(x)", 7, 21), "Softsign": ("y = Softsign(x)", 1, 22), "Round": ("y = Round(x)", 11, 22),
    "Elu": ("y = Elu(x)", 6, 22), "Det": ("y = Det(x)", 11, 22), "NonZero": ("y = NonZero(x)", 9, 17),
    "QuantizeLinear": ("y = QuantizeLinear(x, s, z)", 13, 21),
}  # fmt: skip


@pytest.mark.parametrize("case", VERSIONS)
def test_operator_sets_with_one_meaning_of_an_operator_are_one(case: str) -> None:
    body, *versions = VERSIONS[case]
    head = "(float[3,3] x) => (y) <float s = {0.5}, uint8 z = {3}>"
    models = [parsed(f"{head} {{ {body} }}", version) for version in versions]
    assert sonnx.equivalent(*models, runs=0).result.answer is Answer.IDENTICAL


@pytest.mark.parametrize("older", [7, 9, 10, 13])
@pytest.mark.parametrize("before", [0, 1])
def test_a_cell_has_one_meaning_in_old_and_new_operator_sets(older: int, before: int) -> None:
    ramps = [", ".join(str(number / 20) for number in range(count)) for count in (18, 12)]
    head = f"(float[2, 1, 3] x) => (y) <float[1, 6, 3] w = {{{ramps[0]}}}, float[1, 6, 2] r = {{{ramps[1]}}}>"
    old, new = (
        parsed(f"{head} {{ y = GRU <hidden_size = 2, linear_before_reset = {number}> (x, w, r) }}", version)
        for number, version in ((before, older), (before, 14))
    )
    other = parsed(f"{head} {{ y = GRU <hidden_size = 2, linear_before_reset = {1 - before}> (x, w, r) }}", 14)
    assert sonnx.equivalent(old, new, runs=0).result.proved
    assert sonnx.equivalent(old, other, runs=0).result.answer is Answer.UNDECIDED


def test_operator_sets_with_other_meanings_are_not_one() -> None:
    head = "(float[2,3,4] x) => (y)"
    models = [parsed(f"{head} {{ y = Hardmax(x) }}", version) for version in (11, 13)]
    assert sonnx.equivalent(*models, runs=0).result.answer is Answer.UNDECIDED


def test_a_model_that_is_not_valid_onnx_is_not_decided() -> None:
    """Nodes in another order than that of their operands define no function by the text of ONNX."""
    texts = ["a = Relu(x) y = Neg(a)", "y = Neg(a) a = Relu(x)"]
    models = [parsed(f"(float[2] x) => (float[2] y) {{ {text} }}") for text in texts]
    result = sonnx.equivalent(*models, runs=0).result
    assert result.answer is Answer.UNDECIDED
    [why] = result.not_valid
    assert "the second model is not valid ONNX: names-defined-before-use fails at graph/node[0]" in why
