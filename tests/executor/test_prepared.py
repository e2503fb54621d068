"""A prepared model gives at every run what `sonnx.run` gives for these inputs alone."""

import numpy
import pytest
from onnx import TensorProto, helper, numpy_helper

import sonnx
from tests.support.models import node_model

FLOAT, INT64 = TensorProto.FLOAT, TensorProto.INT64


def model_of(nodes, inputs, outputs, constants=()):
    info = [[helper.make_tensor_value_info(*each) for each in some] for some in (inputs, outputs)]
    graph = helper.make_graph(nodes, "g", *info, initializer=list(constants))
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)


def same(found, wanted):
    assert list(found) == list(wanted)
    for name, values in wanted.items():
        assert (found[name].dtype, found[name].shape) == (values.dtype, values.shape)
        assert found[name].tobytes() == values.tobytes()


def test_runs_with_other_shapes_and_values_are_runs_of_their_own():
    """Shapes that are values of an input (Reshape, ConstantOfShape), the sign of a zero, a replaced initializer."""
    nodes = [
        helper.make_node("Reshape", ["x", "shape"], ["r"]),
        helper.make_node("ConstantOfShape", ["shape"], ["zeros"]),
        helper.make_node("Add", ["r", "zeros"], ["sum"]),
        helper.make_node("Max", ["sum", "low"], ["y"]),
    ]
    low = helper.make_tensor("low", FLOAT, [1], [0.0])
    inputs = [("x", FLOAT, ["n"]), ("shape", INT64, ["k"]), ("low", FLOAT, [1])]
    model = model_of(nodes, inputs, [("y", FLOAT, None), ("r", FLOAT, None)], [low])
    prepared = sonnx.prepare(model, unchecked=True)
    x = numpy.arange(-3, 3, dtype="f4")
    x[3] = -0.0
    runs = [
        {"x": x, "shape": numpy.array(shape), **more}
        for more in ({}, {"low": numpy.array([-0.0], "f4")}, {"low": numpy.array([0.0], "f4")}, {})
        for shape in ([2, 3], [3, 2], [6], [2, 3])
    ]
    results = [prepared.run(given) for given in runs]
    for given, found in zip(runs, results, strict=True):
        same(found, sonnx.run(model, given, unchecked=True))
    assert len({found["y"].tobytes() + str(found["y"].shape).encode() for found in results}) == 6


def test_a_conforming_model_is_checked_once_and_its_counts_are_those_of_a_run():
    draw = numpy.random.default_rng(3)
    weights = helper.make_tensor("w", FLOAT, [300, 200], draw.standard_normal(60000))
    nodes = [helper.make_node("MatMul", ["x", "w"], ["v"]), helper.make_node("Relu", ["v"], ["y"])]
    model = model_of(nodes, [("x", FLOAT, [40, 300])], [("y", FLOAT, [40, 200])], [weights])
    model.graph.value_info.append(helper.make_tensor_value_info("v", FLOAT, [40, 200]))
    prepared = sonnx.prepare(model)
    for _ in range(3):
        given = {"x": draw.standard_normal((40, 300)).astype("f4")}
        found, wanted = prepared.run(given), sonnx.run(model, given)
        same(found, wanted)
        assert found.approximated == wanted.approximated == {"MatMul": (8000, wanted.approximated["MatMul"][1])}
        assert found.check is not None
        assert found.check.verdict is sonnx.Verdict.PASS


def test_an_error_stops_its_own_run_only():
    model = node_model("Div", [(INT64, [2]), (INT64, [2])], (INT64, [2]))
    prepared = sonnx.prepare(model)
    assert prepared.run({"a": numpy.array([7, 8]), "b": numpy.array([2, 3])})["y"].tolist() == [3, 2]
    with pytest.raises(sonnx.ErrorCondition):
        prepared.run({"a": numpy.array([7, 8]), "b": numpy.array([0, 3])})
    with pytest.raises(sonnx.BadInput):
        prepared.run({"a": numpy.array([7, 8])})
    assert prepared.run({"a": numpy.array([9, 8]), "b": numpy.array([2, 3])})["y"].tolist() == [4, 2]


def test_a_model_that_does_not_conform_is_refused_when_it_is_prepared():
    model = node_model("Max", [(FLOAT, [2]), (FLOAT, [3])], (FLOAT, [3]))
    with pytest.raises(sonnx.NotConforming):
        sonnx.prepare(model)


def test_weights_that_nodes_share_are_prepared_for_each_use():
    """One W for Conv with one group and with two; one B for Gemm as it is, transposed, and with another C."""
    draw = numpy.random.default_rng(5)
    tensors = {"w": (4, 2, 3, 3), "b": (6, 6), "c": (6,), "d": (6,)}
    constants = [helper.make_tensor(n, FLOAT, s, draw.standard_normal(s).reshape(-1)) for n, s in tensors.items()]
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["p"]),
        helper.make_node("Conv", ["y", "w"], ["q"], group=2),
        helper.make_node("Gemm", ["a", "b", "c"], ["r"]),
        helper.make_node("Gemm", ["a", "b", "c"], ["s"], transB=1),
        helper.make_node("Gemm", ["a", "b", "d"], ["t"]),
        helper.make_node("MatMul", ["a", "b"], ["u"]),
    ]
    inputs = [("x", FLOAT, [1, 2, 5, 5]), ("y", FLOAT, [1, 4, 5, 5]), ("a", FLOAT, [3, 6])]
    model = model_of(nodes, inputs, [(name, FLOAT, None) for name in "pqrstu"], constants)
    prepared = sonnx.prepare(model, unchecked=True)
    given = {name: draw.standard_normal(shape).astype("f4") for name, _, shape in inputs}
    for _ in range(3):
        as_inputs = model_of(nodes, [*inputs, *[(n, FLOAT, s) for n, s in tensors.items()]], [])
        del as_inputs.graph.output[:]
        as_inputs.graph.output.extend(model.graph.output)
        weights = {each.name: numpy_helper.to_array(each) for each in constants}
        same(prepared.run(given), sonnx.run(as_inputs, given | weights, unchecked=True))
        for values in given.values():
            values += numpy.float32(1)  # in place: no form of an input is kept
