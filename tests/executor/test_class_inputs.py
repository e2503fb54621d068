"""`sonnx compare` on class inputs: planted defects of a runtime, and those of onnxruntime, by default options."""

import json
import os
import re
from pathlib import Path

import numpy
import pytest
from onnx import TensorProto, helper

import sonnx
from sonnx.cli.main import run
from sonnx.executor.comparison import CLASS_NODE, CLASS_OUTPUT
from tests.support import faulty_runtimes
from tests.support.cases import DEEP, each_case

RUNS = 64 if DEEP else 24
"""Classes of a comparison of which every one must agree."""
FLOAT, INT64 = TensorProto.FLOAT, TensorProto.INT64


def model(operator, shapes, output, element=FLOAT, opset=13, **attributes):
    """One node of some inputs; its output of a shape."""
    names = "abcd"[: len(shapes)]
    inputs = [helper.make_tensor_value_info(name, FLOAT, shape) for name, shape in zip(names, shapes, strict=True)]
    node = helper.make_node(operator, [*names], ["y"], **attributes)
    graph = helper.make_graph([node], "g", inputs, [helper.make_tensor_value_info("y", element, output)])
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)
    return made.SerializeToString()


def reduce_max(shape, axis=-1):
    axis %= len(shape)
    return model("ReduceMax", [shape], [*shape[:axis], 1, *shape[axis + 1 :]], axes=[axis], keepdims=1)


def arg_max(shape, axis=-1):
    axis %= len(shape)
    output = [*shape[:axis], 1, *shape[axis + 1 :]]
    return model("ArgMax", [shape], output, INT64, axis=axis, keepdims=1, select_last_index=0)


def maximum(n):
    return model("Max", [[n], [n]], [n])


def deviations(report, way=CLASS_OUTPUT):
    return {
        (each.name, each.kind)
        for row in report.rows
        if row.way == way and row.classes is not None
        for each in row.classes.deviations
    }


# ------------------------------------------------------------------ planted defects, in this process


@each_case("data", [reduce_max([5]), arg_max([2, 3]), maximum(3), reduce_max([2, 3, 2], 1)])
def test_a_right_runtime_has_no_deviation(data):
    report = sonnx.compare(data, faulty_runtimes.Exact(), every_node=True, no_special_mismatch=True, class_runs=RUNS)
    assert report.exit_code == 0
    assert not deviations(report) | deviations(report, CLASS_NODE)
    assert not [row.value for row in report.rows if row.faults or row.failures or row.differs]


@each_case(
    ("name", "data", "found"),
    [
        ("NaNDroppedAtOnePlace", reduce_max([5]), ("nan between", "NaN")),
        ("NaNDroppedAtOnePlace", reduce_max([2, 11]), ("nan in each line of axis 1", "NaN")),
        ("NaNDroppedAtOnePlace", reduce_max([11]), ("nan in each line of axis 0", "NaN")),
        ("LastOfATie", arg_max([9]), ("greatest twice", "integer")),
        ("InfinityLost", reduce_max([3]), ("+inf first", "infinity")),
    ],
)
def test_a_planted_defect_is_found_by_its_class(name, data, found):
    report = sonnx.compare(data, getattr(faulty_runtimes, name)())
    assert report.exit_code == 1
    assert found in deviations(report)


def test_a_wrong_zero_is_found_where_its_sign_counts():
    report = sonnx.compare(maximum(1), faulty_runtimes.ZeroWithoutOrder())
    assert report.exit_code == 0
    assert deviations(report) >= {("all +0 and all -0", "sign of zero"), ("all -0 and all +0", "sign of zero")}
    assert {kind for _, kind in deviations(report)} == {"sign of zero"}
    assert sonnx.compare(maximum(1), faulty_runtimes.ZeroWithoutOrder(), no_special_mismatch=True).exit_code == 1


@each_case(
    ("name", "sentence"),
    [
        ("WrongType", "its type is double, not float"),
        ("WrongShape", "its shape is [1, 1, 1], not [1]"),
        ("NotRepeated", "two calls on the same inputs give different values"),
    ],
)
def test_a_fault_breaks_the_comparison(name, sentence):
    report = sonnx.compare(reduce_max([4]), getattr(faulty_runtimes, name)(), class_runs=4)
    assert report.exit_code == 1
    assert sentence in report.to_text()
    assert any(sentence in fault for row in report.rows for fault in row.faults)


def test_the_report_shows_the_input_and_the_erratum():
    report = sonnx.compare(arg_max([3]), faulty_runtimes.LastOfATie())
    row = next(row for row in report.rows if row.way == CLASS_OUTPUT)
    first = next(each for each in row.classes.deviations if each.name == "all equal")
    assert first.inputs == ("a = [1.0, 1.0, 1.0]",)
    assert (first.exact, first.found, first.at) == ("0", "2", (0,))
    assert first.errata == ("argmax-nan-is-greatest",)
    assert "class 'all equal'" in report.to_text()
    part = json.loads(report.to_json())["rows"][1]["classes"]
    assert (part["runs"], part["left_out"], part["without_value"]) == (row.classes.runs, 0, 0)
    assert {each["name"] for each in part["deviations"]} == {name for name, _ in deviations(report)}


def test_an_erratum_decides_a_class():
    """Softmax of a slice of -inf is 0 by the text; a NaN elsewhere stays a fault."""

    class Formula(faulty_runtimes.Exact):
        def changed(self, operators, values, inputs):
            with numpy.errstate(all="ignore"):
                made = numpy.exp(inputs[0] - inputs[0].max(-1, keepdims=True))
                made = made / made.sum(-1, keepdims=True)
            return numpy.where(numpy.isnan(made), made, values)

    report = sonnx.compare(model("Softmax", [[2, 3]], [2, 3], axis=1), Formula())
    row = next(row for row in report.rows if row.way == CLASS_OUTPUT)
    said = {(each.name, each.explained) for each in row.classes.deviations if each.name == "all -inf"}
    assert said == {("all -inf", "erratum softmax-all-minus-infinity decides")}
    assert all(each.explained or not each.name.startswith("all -inf") for each in row.classes.deviations)


def test_a_possible_overflow_is_told_from_a_selection():
    """The mean of the largest numbers may overflow on the way, the maximum may not."""

    class Overflow(faulty_runtimes.Exact):
        def changed(self, operators, values, inputs):
            return numpy.where(numpy.abs(values) > 1e38, numpy.copysign(numpy.float32("inf"), values), values)

    mean = model("ReduceMean", [[4]], [1], axes=[0], keepdims=1)
    report = sonnx.compare(mean, Overflow(), unchecked=True)
    explained = [each.explained for row in report.rows if row.classes for each in row.classes.deviations]
    assert explained
    assert report.exit_code == 0
    assert sonnx.compare(reduce_max([4]), Overflow()).exit_code == 1


def test_nodes_run_on_class_inputs_that_the_model_does_not_reach():
    """ReduceMax behind a Relu of -|x| never gets a NaN in the third place from an ordinary input; alone it does."""
    nodes = [
        helper.make_node("Relu", ["a"], ["t"], name="first"),
        helper.make_node("Relu", ["t"], ["u"], name="second"),
        helper.make_node("ReduceMax", ["u"], ["y"], name="third", axes=[1], keepdims=1),
    ]
    a, t, u, y = (helper.make_tensor_value_info(name, FLOAT, [2, 1 if name == "y" else 5]) for name in "atuy")
    graph = helper.make_graph(nodes, "g", [a], [y], value_info=[t, u])
    data = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8).SerializeToString()
    given = [{"a": numpy.ones((2, 5), "f4")}]
    report = sonnx.compare(data, faulty_runtimes.NaNDroppedAtOnePlace(), inputs=given, every_node=True, class_runs=40)
    rows = {row.value: row for row in report.rows if row.way == CLASS_NODE}
    assert not [row for row in report.rows if row.way == CLASS_OUTPUT]
    assert report.exit_code == 1
    assert [name for name, row in rows.items() if row.classes.unexplained] == ["y"]
    assert rows["u"].same_as == "node 'first' (Relu, graph/node[0])"
    assert rows["u"].classes == rows["t"].classes


def test_the_budget_is_counted():
    report = sonnx.compare(reduce_max([1024, 1024]), faulty_runtimes.Exact())
    row = next(row for row in report.rows if row.way == CLASS_OUTPUT)
    assert row.classes.runs == 2
    assert row.classes.left_out > 100
    assert "left out (--class-runs)" in report.to_text()
    more = sonnx.compare(reduce_max([8]), faulty_runtimes.Exact(), class_runs=5)
    assert [row.classes.runs for row in more.rows if row.classes] == [5]


def test_given_inputs_with_a_nan_are_not_ordinary():
    given = [{"a": numpy.array([-2.25, numpy.nan], "f4")}]
    report = sonnx.compare(arg_max([2]), faulty_runtimes.LastOfATie(), inputs=given)
    assert (report.runs, report.ordinary_runs) == (1, 0)
    assert "no run has ordinary inputs" in report.to_text()


def test_an_integer_that_differs_is_a_difference_in_kind():
    given = [{"a": numpy.array([3, 3, 1], "f4")}]
    report = sonnx.compare(arg_max([3]), faulty_runtimes.LastOfATie(), inputs=given)
    assert report.exit_code == 1
    assert "elements that differ in kind: integer 1" in report.to_text()
    assert (
        sonnx.compare(arg_max([3]), faulty_runtimes.LastOfATie(), inputs=given, max_integer_distance=1).exit_code == 0
    )


# ------------------------------------------------------------------ in a process of its own


LONG = pytest.mark.skipif(not DEEP, reason="a process each: in a deep run")


@pytest.fixture
def adapters(monkeypatch):
    """The modules of the tests are found by the process of the runtime."""
    monkeypatch.syspath_prepend(str(Path(faulty_runtimes.__file__).parent.parent.parent))


def adapter(name):
    return f"tests.support.faulty_runtimes:{name}"


@pytest.mark.usefixtures("adapters")
@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("Crash", "its process ended with SIGSEGV while it ran the model"),
        ("Hang", "it did not answer within 1 second while it ran the model"),
        pytest.param("Rubbish", "its process sent a malformed message while it ran the model", marks=LONG),
        pytest.param("NoType", "it gave a value with the element type datetime64[s]", marks=LONG),
    ],
)
def test_what_a_runtime_does_to_its_process_is_a_result(name, sentence):
    before = _children()
    report = sonnx.compare(reduce_max([4]), adapter(name), class_runs=1, runtime_timeout=1)
    assert report.exit_code == 1
    assert sentence in report.to_text()
    assert _children() == before, "a process is left"


@pytest.mark.usefixtures("adapters")
def test_what_is_printed_is_no_fault_and_a_refusal_is_no_crash():
    before = _children()
    assert sonnx.compare(reduce_max([4]), adapter("Prints"), class_runs=1).exit_code == 0
    report = sonnx.compare(reduce_max([4]), adapter("Raises"), class_runs=1)
    assert "RuntimeError: not today" in report.to_text()
    assert _children() == before, "a process is left"


@LONG
@pytest.mark.usefixtures("adapters")
def test_a_lack_of_memory_is_no_crash():
    greedy = sonnx.compare(reduce_max([4]), adapter("Greedy"), class_runs=3, runtime_memory=2048)
    assert "nothing was compared" in greedy.to_text()


@pytest.mark.usefixtures("adapters")
def test_a_runtime_that_does_not_start_is_one_sentence(capsys, tmp_path):
    path = tmp_path / "model.onnx"
    path.write_bytes(reduce_max([4]))
    assert run(["compare", str(path), "--runtime", adapter("DiesAtLoad")]) == 2
    assert "its process ended with exit code 3 while it was started" in capsys.readouterr().err


def test_an_adapter_is_found_in_the_current_folder(tmp_path, monkeypatch):
    text = "from tests.support.faulty_runtimes import Exact\nclass Here(Exact): title = 'here'\n"
    (tmp_path / "adapter_here.py").write_text(text, "utf-8")
    (tmp_path / "adapter_wrong.py").write_text("import a_package_that_is_missing\nclass Here: pass\n", "utf-8")
    monkeypatch.syspath_prepend(str(Path(faulty_runtimes.__file__).parent.parent.parent))
    monkeypatch.chdir(tmp_path)
    assert sonnx.compare(reduce_max([4]), "adapter_here:Here", class_runs=1).runtime == "here"
    for name, sentence in (
        ("adapter_wrong:Here", "ModuleNotFoundError: No module named 'a_package_that_is_missing'"),
        ("adapter_none:Here", "ModuleNotFoundError: No module named 'adapter_none'"),
        ("adapter_here:There", "has no attribute 'There'"),
    ):
        with pytest.raises(sonnx.UsageError, match=re.escape(sentence)):
            sonnx.compare(reduce_max([4]), name)


def _children():
    task = Path(f"/proc/self/task/{os.getpid()}/children")
    return task.read_text("ascii") if task.exists() else ""


# ------------------------------------------------------------------ defects of onnxruntime, by default options


@pytest.mark.usefixtures("runtimes_in_this_process")
@pytest.mark.parametrize(
    "shape", [*((n,) for n in range(2, 20)), (6, 40), (40, 6), (4096,)] if DEEP else [(6, 10)], ids=str
)
def test_onnxruntime_drops_a_nan(shape, capsys, tmp_path):
    pytest.importorskip("onnxruntime")
    path = tmp_path / "model.onnx"
    path.write_bytes(reduce_max([*shape]))
    assert run(["compare", str(path)]) == 1
    said = capsys.readouterr().out
    assert "differs in NaN at" in said
    assert "exact nan" in said
    assert "for a " in said


@LONG
def test_onnxruntime_drops_a_nan_in_argmax():
    pytest.importorskip("onnxruntime")
    report = sonnx.compare(arg_max([6, 40]))
    assert report.exit_code == 1
    assert ("nan between", "integer") in deviations(report)


@pytest.mark.usefixtures("runtimes_in_this_process")
def test_the_sign_of_a_zero_depends_on_its_position_in_onnxruntime():
    pytest.importorskip("onnxruntime")
    for n in range(1, 7) if DEEP else [6]:
        report = sonnx.compare(maximum(n), no_special_mismatch=True, class_runs=64)
        assert report.exit_code == 1
        assert {kind for _, kind in deviations(report)} == {"sign of zero"}
