"""Models changed at random: a run ends in values or a message, and kernels agree with definitions."""

import random
from dataclasses import replace

import numpy
import onnx
import pytest
from onnx import helper

import sonnx
from sonnx.executor import model_inputs, prepared_call
from sonnx.executor.distance import first_difference
from sonnx.model.ir import Model
from sonnx.model.reader import read
from sonnx.numerics.constant_data import decode
from sonnx.numerics.formats import ELEMENTS
from sonnx.operators.max import OPERATOR as MAX_OPERATOR
from tests.support.cases import each_case, spread
from tests.support.definitions import run_by_definitions
from tests.support.models import FLOAT, INT64, MAX, VIOLATING, chain, graph, node_model

BASE = [
    MAX,
    *VIOLATING.values(),
    chain(3).SerializeToString(),
    node_model("Identity", [(FLOAT, [3])], (FLOAT, [3])),
    node_model("ReduceMax", [(FLOAT, [2, 3]), (INT64, [1])], (FLOAT, [2]), operator_set=18, keepdims=0),
    graph([helper.make_node("Constant", [], ["y"], value_ints=[1, 2])], {}, {"y": (INT64, [2])}).SerializeToString(),
]
NAMES = ["axis", "axes", "keepdims", "select_last_index", "noop_with_empty_axes", "value", "value_ints", "value_int"]
NUMBERS = [0, 1, 2, -1, 5, 2**40, -(2**63)]


def change(draw, model):
    """One change of any kind, most of them wrong."""
    body = model.graph
    node = draw.choice(body.node)
    values = [*(v.name for v in (*body.input, *body.output)), *(name for n in body.node for name in n.output), "", "zz"]
    match draw.randrange(10):
        case 0:
            node.op_type = draw.choice(["Max", "ArgMax", "ReduceMax", "Identity", "Constant", "Conv", "If"])
        case 1:
            node.input.append(draw.choice(values))
        case 2 if node.input:
            node.input[draw.randrange(len(node.input))] = draw.choice(values)
        case 3 if node.input:
            del node.input[-1]
        case 4:
            node.output.append(draw.choice(values))
        case 5:
            del node.output[:]
        case 6:
            model.opset_import[0].version = draw.choice([0, 1, 6, 8, 11, 12, 13, 18, 20, 28, 99, -1])
        case 7:
            added = node.attribute.add(name=draw.choice(NAMES), type=draw.choice([0, 1, 2, 2, 4, 7, 7]))
            added.i = draw.choice(NUMBERS)
            added.ints.extend(draw.choices([0, 1, -1, 5], k=draw.randrange(3)))
        case 8 if body.input:
            kind = draw.choice(body.input).type.tensor_type
            kind.elem_type = draw.choice([0, 1, 3, 6, 7, 8, 9, 10, 11, 16, 99])
            kind.shape.dim.add().dim_value = draw.choice([0, 1, 2, -1])
        case 9:
            added = body.initializer.add(name=draw.choice(values), data_type=draw.choice([1, 6, 7, 8, 9]))
            added.dims.extend(draw.choices([0, 1, 2, 3], k=draw.randrange(3)))
            added.raw_data = bytes(draw.choice([0, 4, 8, 16, 24]))


def inputs(draw, model: Model):
    """Arrays as declared, as far as that can be done."""
    found = {}
    for value in model_inputs.required_inputs(model):
        shape = [d if isinstance(d, int) and d >= 0 else 3 for d in value.type.shape or ()]
        numbers = [draw.choice([0, 1, 1, 2]) for _ in range(int(numpy.prod(shape)))]
        found[value.name] = (
            numpy.array(numbers).reshape(shape).astype(ELEMENTS.get(value.type.element, ELEMENTS["float"]))
        )
    return found


@each_case("seed", spread(range(8), 4))
def test_a_run_ends_in_values_or_a_sentence(seed):
    draw = random.Random(seed)
    ran = 0
    for _ in range(150):
        message = onnx.ModelProto.FromString(draw.choice(BASE))
        for _ in range(draw.choice([1, 1, 2, 3])):
            change(draw, message)
        source = message.SerializeToString()
        model = read(source)
        given = inputs(draw, model)
        try:
            found = sonnx.run(source, given, unchecked=True)
        except sonnx.Stop as stop:
            assert "\n" not in str(stop)
            continue
        ran += 1
        constants = {each.name: decode(each, None) for each in model.graph.initializers if each.name not in given}
        plain = run_by_definitions(source, constants | given)
        assert found.keys() == plain.keys()
        assert all(first_difference(found[name], plain[name], bits=True) is None for name in found)
    assert ran


def test_a_kernel_that_makes_another_shape_is_found(monkeypatch):
    broken = replace(MAX_OPERATOR, kernel=lambda application: lambda X, out: out[:1])
    monkeypatch.setattr(prepared_call, "find_operator", lambda name: broken)
    with pytest.raises(
        AssertionError, match=r"node 'n' \(Max, graph/node\[0\]\) made float32\(1, 3\), not float32\(2, 3\)"
    ):
        sonnx.run(MAX, {"a": numpy.zeros((2, 3), "f4"), "b": numpy.zeros(3, "f4")})


@each_case("dims", [[0, 2**40, 2**40], [1] * 65], ids=["no element, but too large", "too many axes"])
def test_constants_no_array_can_hold_are_a_sentence(dims):
    """numpy raises on either, also where there is nothing to hold."""
    made = onnx.ModelProto.FromString(node_model("Identity", [(FLOAT, dims)], (FLOAT, dims)))
    del made.graph.input[:]
    made.graph.initializer.add(
        name=made.graph.node[0].input[0], dims=dims, data_type=1, raw_data=bytes(4 * (0 not in dims))
    )
    with pytest.raises(sonnx.Stop, match=r"at most 32 dimensions|is empty, but its|elements for one array"):
        sonnx.run(made.SerializeToString(), {}, unchecked=True)
