"""Bounds of nodes that no text gives a meaning: refused by name, and a defect of the tool is not mistaken for them."""

from dataclasses import replace

import numpy
import pytest
from onnx import helper

import sonnx
from sonnx.bounds import domain
from sonnx.model.reader import read
from sonnx.operators import find_operator
from tests.support.cases import each_case
from tests.support.models import FLOAT, graph, node_model


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


def test_a_defect_of_a_transfer_function_is_not_called_a_model_outside_the_profile(monkeypatch):
    def broken(*arguments):
        raise AttributeError("a defect")

    operator = replace(find_operator("Relu"), bound=broken)
    monkeypatch.setattr(domain, "find_operator", lambda name: operator)
    model = node_model("Relu", [(FLOAT, [2])], (FLOAT, [2]))
    box = {read(model).graph.inputs[0].name: (numpy.array([-1, 1], "f4"), numpy.array([1, 2], "f4"))}
    with pytest.raises(AttributeError, match="a defect"):
        sonnx.bound(model, box, unchecked=True)
