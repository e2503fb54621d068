"""Bounds of nodes that no text gives a meaning: refused by name, and a defect of the tool is not mistaken for them."""

from dataclasses import replace

import numpy
import pytest
from onnx import helper

import sonnx
from sonnx.bounds import domain
from sonnx.operators import find_operator
from tests.support.cases import each_case
from tests.support.models import FLOAT, graph


def first_input_omitted(operator, **attributes):
    node = helper.make_node(operator, [""], ["y"], name="n", **attributes)
    return graph([node], {}, {"y": (FLOAT, [1])}).SerializeToString()


@each_case(
    ("operator", "attributes"),
    [("Sum", {}), ("Relu", {}), ("HardSigmoid", {}), ("GlobalMaxPool", {}), ("AveragePool", {"kernel_shape": [1]})],
)
def test_an_omitted_first_input_is_named(operator, attributes):
    with pytest.raises(sonnx.Stop, match=r"^node 'n' \(.*(input|Input)"):
        sonnx.bound(first_input_omitted(operator, **attributes), {}, unchecked=True)


@each_case(
    ("error", "unchecked", "raised", "text"),
    [
        (AttributeError, True, AttributeError, "a defect"),
        (AttributeError, False, AttributeError, "a defect"),
        (ValueError, False, ValueError, "a defect"),
        (ValueError, True, sonnx.Stop, "no bounds for inputs of these types and shapes"),
    ],
)
def test_a_defect_of_a_transfer_function_is_not_called_a_model_outside_the_profile(
    monkeypatch, error, unchecked, raised, text
):
    def broken(*arguments):
        raise error("a defect")

    operator = replace(find_operator("Relu"), bound=broken)
    monkeypatch.setattr(domain, "find_operator", lambda name: operator)
    node = helper.make_node("Relu", ["x"], ["y"], name="n")
    model = graph([node], {"x": (FLOAT, [2])}, {"y": (FLOAT, [2])}).SerializeToString()
    box = {"x": (numpy.array([-1, 1], "f4"), numpy.array([1, 2], "f4"))}
    with pytest.raises(raised, match=text):
        sonnx.bound(model, box, unchecked=unchecked)
