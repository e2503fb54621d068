"""What the check assumes of run-time values is evaluated on the actual ones, declared output shapes included."""

import numpy
import pytest
from onnx import TensorProto, helper, numpy_helper

import sonnx
from sonnx.cli.main import run as main
from tests.support.cases import each_case
from tests.support.models import FLOAT, INT64, graph, node_model


def whole(*numbers):
    return numpy.array(numbers, "i8")


def zeros(*shape):
    return numpy.zeros(shape, "f4")


CASES = {
    "Slice": (
        node_model("Slice", [(FLOAT, [4]), *[(INT64, [1])] * 4], (FLOAT, [2])),
        [zeros(4), whole(0), whole(2), whole(0), whole(1)],
        [zeros(4), whole(0), whole(4), whole(0), whole(1)],
        "Slice.Y-shape",
        "Y.shape = [2], needs == [4]",
    ),
    "Slice, start": (
        node_model("Slice", [(FLOAT, [4]), *[(INT64, [1])] * 4], (FLOAT, [2])),
        [zeros(4), whole(1), whole(3), whole(0), whole(1)],
        [zeros(4), whole(5), whole(4), whole(0), whole(1)],
        "Slice.starts-in-axis",
        "starts[0] = 5, needs < X.shape[0] = 4",
    ),
    "Reshape": (
        node_model("Reshape", [(FLOAT, [4]), (INT64, [2])], (FLOAT, [2, 2]), operator_set=14, allowzero=0),
        [zeros(4), whole(2, -1)],
        [zeros(4), whole(4, 1)],
        "Reshape.Y-shape",
        "Y.shape = [2, 2], needs == [4, 1]",
    ),
    "Range": (
        node_model("Range", [(INT64, [])] * 3, (INT64, [3])),
        [numpy.array(0), numpy.array(6), numpy.array(2)],
        [numpy.array(0), numpy.array(5), numpy.array(1)],
        "Range.Y-shape",
        "Y.shape = [3]",
    ),
    "Unsqueeze": (
        node_model("Unsqueeze", [(FLOAT, [4]), (INT64, [1])], (FLOAT, [1, 4])),
        [zeros(4), whole(0)],
        [zeros(4), whole(1)],
        "Unsqueeze.Y-shape",
        "Y.shape = [1, 4], needs == [4, 1]",
    ),
    "ReduceMax": (
        node_model(
            "ReduceMax", [(FLOAT, [2, 3]), (INT64, [1])], (FLOAT, [2]), operator_set=20, keepdims=0,
            noop_with_empty_axes=0,
        ),
        [zeros(2, 3), whole(1)],
        [zeros(2, 3), whole(0)],
        "ReduceMax.reduced-shape",
        "reduced.shape = [2], needs == [3]",
    ),
}  # fmt: skip


@each_case("case", CASES)
def test_a_declared_shape_that_the_values_contradict_stops_the_run(case):
    source, holding, breaking, rule, actual = CASES[case]
    assert sonnx.check(source).verdict.value == "assumed"
    assert sonnx.run(source, dict(zip("abcde", holding, strict=False)))
    with pytest.raises(sonnx.ErrorCondition) as stop:
        sonnx.run(source, dict(zip("abcde", breaking, strict=False)))
    assert (stop.value.rule, stop.value.exit_code) == (rule, 1)
    assert str(stop.value).startswith(f"node 'n' ({case.partition(',')[0]}, graph/node[0]): {actual}")


def test_values_that_a_node_computes():
    """The shape is known before the run by its declaration; the values it rests on are evaluated when they exist."""
    nodes = [
        helper.make_node("Add", ["e", "one"], ["ends"]),
        helper.make_node("Slice", ["a", "zero", "ends", "zero", "one"], ["part"]),
        helper.make_node("Max", ["part", "part"], ["y"]),
    ]
    info = {"ends": (INT64, [1]), "part": (FLOAT, [2])}
    model = graph(nodes, {"a": (FLOAT, [4]), "e": (INT64, [1])}, {"y": (FLOAT, [2])}, info=info, operator_set=14)
    model.graph.initializer.extend(numpy_helper.from_array(whole(n), name) for n, name in ((0, "zero"), (1, "one")))
    source, a = model.SerializeToString(), numpy.arange(4, dtype="f4")
    assert sonnx.run(source, {"a": a, "e": whole(1)})["y"].tolist() == [0, 1]
    with pytest.raises(sonnx.ErrorCondition, match=r"graph/node\[1\]\): Y\.shape = \[2\], needs == \[3\]"):
        sonnx.run(source, {"a": a, "e": whole(2)})
    assert sonnx.run(source, {"a": a, "e": whole(2)}, unchecked=True)["y"].tolist() == [0, 1, 2]


@pytest.mark.usefixtures("runtimes_in_this_process")
@pytest.mark.parametrize("command", ["run", "compare"])
def test_the_commands_end_with_1(command, tmp_path, capsys):
    source, holding, breaking, rule, _ = CASES["Unsqueeze"]
    (tmp_path / "m.onnx").write_bytes(source)
    for values, code in ((holding, 0), (breaking, 1)):
        given = [f"{name}={tmp_path / name}.npy" for name in "ab"]
        for name, array in zip("ab", values, strict=True):
            numpy.save(tmp_path / f"{name}.npy", array)
        assert main([command, str(tmp_path / "m.onnx"), *(x for each in given for x in ("--input", each))]) == code
        assert (rule in "".join(capsys.readouterr())) == bool(code)


# ------------------------------------------------------------------ constants


def lstm(draw):
    """A conforming LSTM whose weights are initializers."""
    shapes = {"w": (1, 8, 3), "r": (1, 8, 2), "b": (1, 16), "h": (1, 1, 2), "c": (1, 1, 2), "p": (1, 6)}
    node = helper.make_node(
        "LSTM", ["x", "w", "r", "b", "s", "h", "c", "p"], ["y", "yh", "yc"], name="cell", direction="forward",
        activations=["Sigmoid", "Tanh", "Tanh"], hidden_size=2, input_forget=0, layout=0,
    )  # fmt: skip
    outputs = {"y": (FLOAT, [4, 1, 1, 2]), "yh": (FLOAT, [1, 1, 2]), "yc": (FLOAT, [1, 1, 2])}
    model = graph([node], {"x": (FLOAT, [4, 1, 3])}, outputs, operator_set=14)
    arrays = {name: draw.standard_normal(shape).astype("f4") for name, shape in shapes.items()}
    arrays["s"] = numpy.array([4], "i4")
    model.graph.initializer.extend(numpy_helper.from_array(array, name) for name, array in arrays.items())
    return model


@pytest.mark.usefixtures("runtimes_in_this_process")
def test_a_conforming_lstm_runs(tmp_path, capsys):
    draw = numpy.random.default_rng(3)
    model, x = lstm(draw), draw.standard_normal((4, 1, 3)).astype("f4")
    source = model.SerializeToString()
    assert sonnx.check(source).verdict.value == "pass"
    found = sonnx.run(source, {"x": x})
    runtime = pytest.importorskip("onnxruntime")
    session = runtime.InferenceSession(source, providers=["CPUExecutionProvider"])
    for ours, theirs in zip(found.values(), session.run(None, {"x": x}), strict=True):
        numpy.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-6)
    (tmp_path / "m.onnx").write_bytes(source)
    assert main(["compare", str(tmp_path / "m.onnx"), "--random", "2", "--class-runs", "0"]) == 0, capsys.readouterr()


def test_weights_that_a_caller_gives_are_not_constant():
    """The weights are graph inputs: the check refuses them, and a run says the same."""
    model = lstm(numpy.random.default_rng(3))
    model.graph.input.append(helper.make_tensor_value_info("w", TensorProto.FLOAT, [1, 8, 3]))
    with pytest.raises(sonnx.NotConforming, match=r"LSTM\.constant-weights|no-default-values"):
        sonnx.run(model.SerializeToString(), {"x": zeros(4, 1, 3)})
