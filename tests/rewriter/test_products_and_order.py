"""TopK and ReduceProd that `fix` writes by simpler operators, against onnxruntime and the evaluator of onnx."""

from __future__ import annotations

import numpy as np
import onnx
import onnx.parser
import pytest
from onnx.reference import ReferenceEvaluator

from sonnx import fix, run
from sonnx.checker.verdicts import Verdict
from sonnx.equivalence.result import Answer
from sonnx.numerics.formats import Array
from sonnx.rewriter.fix import FixResult
from sonnx.rewriter.rewrites.products_and_order import WITHOUT_NAN
from tests.equivalence.test_unequal_models import EQUAL, answer
from tests.support.cases import crossed

SHAPES = [((2, 8), 1, 3), ((3, 4, 2), 1, 4), ((3, 4, 2), -3, 2), ((5,), -1, 1)]
ORDERS = crossed(("float", "int64"), SHAPES, (0, 1), (0, 1), every=4)


def ordered(element: str, shape: tuple[int, ...], axis: int, count: int, attributes: str = "") -> onnx.ModelProto:
    result = list(shape)
    result[axis] = count
    return onnx.parser.parse_model(
        f'<ir_version: 8, opset_import: ["" : 17]> g ({element}{list(shape)} x) => '
        f"({element}{result} v, int64{result} i) <int64[1] k = {{{count}}}> "
        f"{{ v, i = TopK <axis = {axis}{attributes}> (x, k) }}"
    )


def rewritten(source: onnx.ModelProto, wanted: Answer, **options: bool) -> FixResult:
    fixed = fix(source.SerializeToString(), samples=1, **options)
    assert fixed.after.verdict is Verdict.PASS, fixed.to_text()
    assert fixed.validation.for_all_inputs is wanted
    return fixed


def samples(element: str, shape: tuple[int, ...]) -> list[Array]:
    """Numbers of which many are equal, and both zeros and infinities."""
    random = np.random.default_rng(1)
    whole = random.integers(-2, 3, shape)
    if element == "int64":
        return [whole, np.where(whole > 0, np.iinfo(np.int64).max, np.iinfo(np.int64).min)]
    return [whole.astype(np.float32), random.choice(np.array([0.0, -0.0, np.inf, -np.inf], np.float32), shape)]


@pytest.mark.parametrize(("element", "sizes", "largest", "is_sorted"), ORDERS)
def test_the_comparisons_are_the_order(
    element: str, sizes: tuple[tuple[int, ...], int, int], largest: int, is_sorted: int
) -> None:
    runtime = pytest.importorskip("onnxruntime")
    source = ordered(element, *sizes, f", largest = {largest}, sorted = {is_sorted}")
    fixed = rewritten(source, Answer.IDENTICAL)
    in_order = ordered(element, *sizes, f", largest = {largest}")
    session = runtime.InferenceSession(in_order.SerializeToString(), providers=["CPUExecutionProvider"])
    for given in samples(element, sizes[0]):
        found = run(fixed.model_bytes(), {"x": given})
        wanted = session.run(["v", "i"], {"x": given})
        assert found["v"].tobytes() == np.take_along_axis(given, wanted[1], sizes[1]).tobytes()
        assert (found["i"] == wanted[1]).all()


def test_what_holds_of_nan_is_said() -> None:
    for element, sentences in (("float", {WITHOUT_NAN}), ("int64", {""})):
        fixed = rewritten(ordered(element, (2, 3), 1, 2), Answer.IDENTICAL)
        assert {rewrite.changes for rewrite in fixed.rewrites if rewrite.name == "ordered-elements"} == sentences
        grades = [line for line in fixed.to_text().splitlines() if line.startswith("grade: ")]
        assert grades == [f"grade: same bits{', which holds for inputs without NaN' if element == 'float' else ''}"]


def test_a_number_that_is_not_known_stays() -> None:
    source = ordered("float", (2, 3), 1, 2)
    del source.graph.initializer[:]
    source.graph.input.append(onnx.helper.make_tensor_value_info("k", onnx.TensorProto.INT64, [1]))
    fixed = fix(source.SerializeToString(), samples=0)
    assert "TopK" in {root.where.operator for root in fixed.after.roots}


def test_other_orders_are_not_equal() -> None:
    one = ordered("float", (2, 4), 1, 2)
    assert answer(one, ordered("float", (2, 4), -1, 2), runs=0) in EQUAL
    assert answer(one, ordered("float", (2, 4), 1, 2, ", largest = 0"), runs=0) not in EQUAL


@pytest.mark.parametrize("operator", ["ReduceProd", "ReduceSum", "ReduceMax", "ReduceMean"])
@pytest.mark.parametrize("flag", ["noop_with_empty_axes", "keepdims"])
@pytest.mark.parametrize("value", [2, -1, 1 << 62])
def test_a_flag_that_is_neither_0_nor_1_has_no_meaning(operator: str, flag: str, value: int) -> None:
    source = onnx.parser.parse_model(
        '<ir_version: 8, opset_import: ["" : 18]> g () => (float[2, 3] y) '
        f"<float[2, 3] x = {{1, 2, 3, 4, 5, 6}}> {{ y = {operator} <{flag} = {value}> (x) }}"
    )
    assert not fix(source.SerializeToString(), samples=0).rewrites


@pytest.mark.parametrize(
    ("operator_set", "shape", "call"),
    [
        (17, "2, 1, 4", "ReduceProd <axes = [1]> (x)"),
        (17, "2, 4", "ReduceProd <axes = [-2], keepdims = 0> (x)"),
        (18, "2", "ReduceProd <keepdims = 0> (x, both)"),
        (18, "1, 1, 1", "ReduceProd (x)"),
        (18, "2, 3, 4", "ReduceProd <noop_with_empty_axes = 1> (x)"),
    ],
)
def test_the_products_are_the_operator(operator_set: int, shape: str, call: str) -> None:
    source = onnx.parser.parse_model(
        f'<ir_version: 8, opset_import: ["" : {operator_set}]> g (float[2, 3, 4] x) => (float[{shape}] y) '
        f"<int64[2] both = {{1, 2}}> {{ y = {call} }}"
    )
    fixed = rewritten(source, Answer.ROUNDING, within_bound=True)
    given = np.random.default_rng(1).standard_normal((2, 3, 4)).astype(np.float32)
    [found] = run(fixed.model_bytes(), {"x": given}).values()
    [wanted] = ReferenceEvaluator(source).run(None, {"x": given})
    np.testing.assert_allclose(found, wanted, rtol=1e-5)
