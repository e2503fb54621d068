"""Boxes: what is accepted, what is refused and in which words."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper

import sonnx
from sonnx.base.errors import BadInput
from sonnx.bounds.box import Interval, box_of_arrays, box_of_texts
from sonnx.model.reader import read
from sonnx.numerics.enclosures.values import NotBounded
from tests.support.cases import each_case
from tests.support.models import graph


def model(element: int = TensorProto.FLOAT, shape: Any = (2, 2), name: str = "x") -> Any:
    inputs = [helper.make_tensor_value_info(name, element, shape)]
    graph = helper.make_graph(
        [helper.make_node("Relu", [name], ["y"])], "g", inputs, [helper.make_tensor_value_info("y", element, None)]
    )
    return read(helper.make_model(graph).SerializeToString())


FILES = {
    "a.npy": np.array([[0.5, 1.0], [2.0, 3.0]], np.float32),
    "b.npy": np.array([[1.5, 1.0], [2.0, 4.0]], np.float32),
    "wide.npy": np.zeros((2, 3), np.float32),
    "nan.npy": np.array([[np.nan, 0], [0, 0]], np.float32),
}


def parsed(*texts: str, **more: Any) -> Any:
    return box_of_texts(model(**more), texts, FILES.__getitem__)


def test_an_interval_a_point_two_files_and_a_radius() -> None:
    found = parsed("x=[-1, 0.5]")["x"]
    assert found.low.tolist() == [[-1, -1], [-1, -1]]
    assert found.high.tolist() == [[0.5, 0.5], [0.5, 0.5]]
    assert parsed("x=a.npy")["x"].is_point
    assert parsed("x=a.npy:b.npy")["x"].high[1, 1] == 4
    around = parsed("x=a.npy+-0.25")["x"]
    assert around.low[0, 0] == 0.25
    assert around.high[1, 1] == 3.25
    assert parsed("x=y=[0,1]", name="x=y")["x=y"].high[0, 0] == 1
    assert parsed("x=a.npy+-0")["x"].is_point
    assert parsed("x=[0,1]", shape=(2, 0))["x"].low.shape == (2, 0)


def test_a_file_name_with_an_equals_sign_goes_with_the_name_of_an_input() -> None:
    """The input is the shortest name that the model has."""
    read = {"a=b.npy": FILES["a.npy"]}.__getitem__
    assert box_of_texts(model(), ["x=a=b.npy"], read)["x"].is_point
    with pytest.raises(BadInput, match="the model has no input 'z=a'; it has 'x'"):
        box_of_texts(model(), ["z=a=b.npy"], read)


@pytest.mark.parametrize(
    ("low", "high", "same"),
    [([1, 1], [2, 2], True), ([1, 1], [2, 3], False), ([0, 1], [2, 2], False), ([0, 1], [2, 3], False), ([], [], True)],
)
def test_a_box_whose_elements_have_one_interval(low: Any, high: Any, same: bool) -> None:
    assert Interval(np.array(low, float), np.array(high, float)).is_same is same


@pytest.mark.parametrize("element", [TensorProto.FLOAT, TensorProto.FLOAT16, TensorProto.BFLOAT16, TensorProto.DOUBLE])
def test_ends_are_the_nearest_numbers_inside(element: int) -> None:
    """Of 1/3 and 2/3 in float, float16 and bfloat16 the next number outwards is outside; double has every end."""
    kind = helper.tensor_dtype_to_np_dtype(element)
    found = parsed("x=[0.3333333333333333,0.6666666666666666]", element=element)["x"]
    low, high = float(found.low[0, 0]), float(found.high[0, 0])
    assert 1 / 3 <= low < high <= 2 / 3
    if kind != np.float64:
        outside = [float(np.nextafter(kind.type(end), kind.type(way))) for end, way in ((low, -1), (high, 1))]
        assert outside[0] < 1 / 3
        assert outside[1] > 2 / 3


def test_ends_are_rounded_inward_to_numbers_of_the_type() -> None:
    found = parsed("x=[0.1,0.2]")["x"]
    assert found.low[0, 0] == np.nextafter(np.float32(0.1), np.float32(1)) or found.low[0, 0] == np.float32(0.1)
    assert found.low[0, 0] >= 0.1
    assert found.high[0, 0] <= 0.2
    half = parsed("x=[0.1,0.2]", element=TensorProto.FLOAT16)["x"]
    assert half.low[0, 0] >= 0.1
    assert np.float16(half.low[0, 0]) == half.low[0, 0]


@each_case(("text", "sentence"), [
    ("x=[1,0]", "the input 'x' has the reversed interval [1, 0]"),
    ("x=b.npy:a.npy", "the input 'x' has the reversed interval [1.5, 0.5]"),
    ("x=[nan,1]", "the input 'x' has NaN in its box"),
    ("x=nan.npy", "the input 'x' has NaN in its box"),
    ("x=[0,inf]", "the input 'x' has an infinite end in its box"),
    ("x=[0.1,0.1]", "contains no number of type float"),
    ("x=[0,1e]", "'1e' in the interval of the input 'x' is not a number"),
    ("x=wide.npy", "the input 'x' has the shape [2, 3]; the model declares [2, 2]"),
    ("x=a.npy:wide.npy", "has a low end of shape [2, 2] and a high end of shape [2, 3]"),
    ("x=a.npy+--1", "the radius of the input 'x' is -1"),
    ("z=[0,1]", "the model has no input 'z'; it has 'x'"),
    ("x", "--input takes NAME=[LOW,HIGH] or NAME=FILE, not 'x'"),
])  # fmt: skip
def test_what_is_no_box_is_refused_in_one_sentence(text: str, sentence: str) -> None:
    with pytest.raises(BadInput) as error:
        parsed(text)
    assert sentence in str(error.value)
    assert error.value.exit_code == 2


def test_inputs_are_given_once_and_all() -> None:
    with pytest.raises(BadInput, match="given twice"):
        parsed("x=[0,1]", "x=[0,2]")
    with pytest.raises(BadInput, match="lacks the input 'x'"):
        parsed()
    with pytest.raises(BadInput, match="no shape of numbers"):
        parsed("x=[0,1]", shape=("N", 2))
    with pytest.raises(BadInput, match="an end beyond 2\\^53"):
        parsed("x=[0,1e16]", element=TensorProto.INT64)
    assert parsed("x=[-0.5,2.5]", element=TensorProto.UINT8)["x"].low.min() == 0.0
    assert parsed("x=[-0.5,2.5]", element=TensorProto.UINT8)["x"].high.max() == 2.0
    with pytest.raises(BadInput, match="contains no number of type int8"):
        parsed("x=[0.25,0.5]", element=TensorProto.INT8)
    with pytest.raises(BadInput, match="names 'z', not an input"):
        box_of_arrays(model(), {"x": FILES["a.npy"], "z": FILES["a.npy"]})


@each_case("element", ["string", "complex64"])
def test_constants_without_an_order_have_no_bounds(element: str) -> None:
    number = getattr(TensorProto, element.upper())
    values: list[Any] = [b"a", b"b"] if element == "string" else [1j, 2]
    tensor = helper.make_tensor("c", number, [2], values)
    nodes = [helper.make_node("Relu", ["x"], ["y"]), helper.make_node("Concat", ["c", "c"], ["z"], axis=0)]
    made = graph(
        nodes,
        {"x": (TensorProto.FLOAT, [2])},
        {"y": (TensorProto.FLOAT, [2]), "z": (number, [4])},
        initializers=[tensor],
    )
    with pytest.raises(NotBounded, match=f"the constant 'c' is of type {element}, which has no bounds"):
        sonnx.bound(made, {"x": (np.zeros(2), np.ones(2))}, unchecked=True)
