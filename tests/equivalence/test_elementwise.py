"""Every operator on elements commutes with every movement: in both orders a model is the same function."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import onnx
import onnx.defs
import pytest
from onnx import TensorProto, helper, numpy_helper

import sonnx
from sonnx.equivalence.result import Answer
from sonnx.operators import names_of
from tests.support.cases import crossed, each_case

ELEMENTWISE = sorted(names_of(lambda operator: operator.elementwise or operator.elementwise_with_scalars))
SHAPE = [2, 3]

ATTRIBUTES: Mapping[str, Mapping[str, Any]] = {
    "BitCast": {"to": TensorProto.INT32},
    "BitShift": {"direction": "LEFT"},
    "Cast": {"to": TensorProto.DOUBLE},
    "Mod": {"fmod": 1},
    "RegexFullMatch": {"pattern": "a*"},
}
"""Attributes that an operator needs."""

SCALARS: Mapping[str, Mapping[int, np.ndarray[Any, Any]]] = {
    "Clip": {1: np.array(-1, np.float32), 2: np.array(1, np.float32)},
    "QuantizeLinear": {1: np.array(0.5, np.float32), 2: np.array(3, np.uint8)},
    "DequantizeLinear": {1: np.array(0.5, np.float32)},
}
"""Inputs that are one number, by place."""

TYPES = ("tensor(float)", "tensor(int32)", "tensor(uint8)", "tensor(bool)", "tensor(string)")
"""The first that an input admits is taken."""


class Graph:
    """A model built node by node."""

    def __init__(self) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.constants: list[onnx.TensorProto] = []

    def constant(self, array: np.ndarray[Any, Any]) -> str:
        self.constants.append(numpy_helper.from_array(array, f"c{len(self.constants)}"))
        return self.constants[-1].name

    def __call__(self, operator: str, *inputs: str, outputs: int = 1, **attributes: Any) -> str:
        names = [f"v{len(self.nodes)}_{index}" for index in range(outputs)]
        self.nodes.append(helper.make_node(operator, list(inputs), names, **attributes))
        return names[-1]


def integers(*values: int) -> np.ndarray[Any, Any]:
    return np.array(values, np.int64)


Movement = Callable[[Graph, str, str], str]
"""A movement of a value, for which another one of its type and shape may be used too."""

MOVEMENTS: Mapping[str, Movement] = {
    "Transpose": lambda graph, value, _: graph("Transpose", value, perm=[1, 0]),
    "Reshape": lambda graph, value, _: graph("Reshape", value, graph.constant(integers(3, 2))),
    "Flatten": lambda graph, value, _: graph("Flatten", value, axis=0),
    "Unsqueeze": lambda graph, value, _: graph("Unsqueeze", value, graph.constant(integers(1))),
    "Slice": lambda graph, value, _: graph(
        "Slice", value, *(graph.constant(integers(number)) for number in (1, 3, 1, 1))
    ),
    "Slice backwards": lambda graph, value, _: graph(
        "Slice", value, *(graph.constant(integers(number)) for number in (2, -9, 1, -1))
    ),
    "Gather": lambda graph, value, _: graph("Gather", value, graph.constant(integers(2, 0, 2)), axis=1),
    "Expand": lambda graph, value, _: graph("Expand", value, graph.constant(integers(2, 2, 3))),
    "Split": lambda graph, value, _: graph("Split", value, graph.constant(integers(1, 2)), axis=1, outputs=2),
    "Concat": lambda graph, value, other: graph("Concat", value, other, axis=1),
    "Concat in the other order": lambda graph, value, other: graph("Concat", other, value, value, axis=0),
    "Transpose and Slice": lambda graph, value, _: graph(
        "Slice", graph("Transpose", value, perm=[1, 0]), *(graph.constant(integers(number)) for number in (0, 2, 0, 1))
    ),
}


def models(operator: str, movement: Movement) -> list[bytes]:
    """The operator on moved values, and the movement of what it gives of them."""
    schema = onnx.defs.get_schema(operator)
    version = max(schema.since_version, 13)
    types = {constraint.type_param_str: list(constraint.allowed_type_strs) for constraint in schema.type_constraints}
    count = max(
        schema.min_input, 2 if schema.inputs[-1].option == onnx.defs.OpSchema.FormalParameterOption.Variadic else 1
    )
    scalars = SCALARS.get(operator, {})
    places = sorted({*range(count), *scalars})
    built = []
    for moved_first in (True, False):
        graph, inputs = Graph(), []

        def declared(place: int, number: int, inputs: list[onnx.ValueInfoProto] = inputs) -> str:
            formal = schema.inputs[min(place, len(schema.inputs) - 1)]
            admitted = types.get(formal.type_str, [formal.type_str])
            text = next(each for each in TYPES if each in admitted)
            element = getattr(TensorProto, text[7:-1].upper())
            inputs.append(helper.make_tensor_value_info(f"x{place}_{number}", element, SHAPE))
            return inputs[-1].name

        def applied(*operands: str, graph: Graph = graph) -> str:
            waiting = iter(operands)
            listed = [graph.constant(scalars[place]) if place in scalars else next(waiting) for place in places]
            return graph(operator, *listed, **ATTRIBUTES.get(operator, {}))

        sets = [[declared(place, number) for place in places if place not in scalars] for number in range(2)]
        if moved_first:
            result = applied(*(movement(graph, *pair) for pair in zip(*sets, strict=True)))
        else:
            result = movement(graph, *(applied(*operands) for operands in sets))
        graph.nodes[-1].output[list(graph.nodes[-1].output).index(result)] = "y"
        output = helper.make_value_info("y", onnx.TypeProto())
        model = helper.make_model(
            helper.make_graph(graph.nodes, "g", inputs, [output], graph.constants),
            opset_imports=[helper.make_opsetid("", version)], ir_version=10,
        )  # fmt: skip
        built.append(model.SerializeToString())
    return built


@each_case("operator, name", crossed(ELEMENTWISE, MOVEMENTS, every=7))
def test_an_operator_on_elements_commutes_with_a_movement(operator: str, name: str) -> None:
    found = sonnx.equivalent(*models(operator, MOVEMENTS[name]), runs=0).result
    assert found.answer is Answer.IDENTICAL, found.unmatched


@pytest.mark.parametrize("operator", ["Relu", "Add", "Cos", "Where"])
def test_an_operator_does_not_commute_with_another_movement(operator: str) -> None:
    moved_first, _ = models(operator, MOVEMENTS["Concat"])
    _, moved_last = models(operator, MOVEMENTS["Concat in the other order"])
    assert sonnx.equivalent(moved_first, moved_last, runs=0).result.answer is Answer.UNDECIDED
    first, _ = models(operator, MOVEMENTS["Gather"])
    _, second = models(operator, MOVEMENTS["Slice backwards"])
    assert sonnx.equivalent(first, second, runs=0).result.answer is Answer.UNDECIDED


def test_an_unknown_type_is_not_called_different() -> None:
    """The type of what an operator of another domain gives is not known."""
    texts = [
        f'<ir_version: 8, opset_import: ["": 17, "d": 1]> g (float[2,3] x) => (float[2,3] y) {{ {body} }}'
        for body in ("a = d.F(x) y = Relu(a)", "a = d.G(x) y = Relu(a)")
    ]
    unmatched = sonnx.equivalent(
        *(onnx.parser.parse_model(text).SerializeToString() for text in texts)
    ).result.unmatched
    assert unmatched is not None
    assert unmatched.reason == "they are F and G"


@pytest.mark.parametrize("operator", ["Add", "Sub", "Max", "Div"])
def test_an_operand_that_is_broadcast_is_the_one_that_is_expanded(operator: str) -> None:
    head = '<ir_version: 8, opset_import: ["": 13]> g (float[2,3] x, float[2,1] z) => (float[2,3] y) '
    first = f"{head} {{ y = {operator}(x, z) }}"
    second = f"{head} <int64[2] s = {{2, 3}}> {{ e = Expand(z, s) y = {operator}(x, e) }}"
    third = f"{head} <int64[2] s = {{3, 2}}> {{ e = Expand(z, s) y = {operator}(x, e) }}"
    made = [onnx.parser.parse_model(text).SerializeToString() for text in (first, second, third)]
    assert sonnx.equivalent(*made[:2]).result.answer is Answer.IDENTICAL
    assert sonnx.equivalent(made[0], made[2], runs=0).result.answer is not Answer.IDENTICAL
