"""If, Loop and model-local functions, run unchecked: the values of onnxruntime and of onnx.reference."""

from pathlib import Path

import numpy
import onnx
import onnx.parser
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

import sonnx
from sonnx.cli.main import run
from sonnx.executor import executor
from sonnx.model.reader import read
from tests.support.cases import each_case
from tests.support.models import FLOAT, INT64, graph

BOOL = TensorProto.BOOL
A = numpy.array([1, -2, 3], "f4")


def body(nodes, outputs, inputs=(), constants=()):
    """A graph inside a node."""
    stated = [[helper.make_tensor_value_info(name, *rest) for name, *rest in listed] for listed in (inputs, outputs)]
    return helper.make_graph(
        nodes, "inner", *stated, [numpy_helper.from_array(numpy.array(v), n) for n, v in constants]
    )


def branch(operator, name, value, result="t"):
    """A branch that combines a captured value with a constant of its own."""
    return body(
        [helper.make_node(operator, [name, "k"], [result])], [(result, FLOAT, [3])], (), [("k", numpy.float32(value))]
    )


def choosing(then, otherwise, condition="c", output="y"):
    return helper.make_node("If", [condition], [output], name="choose", then_branch=then, else_branch=otherwise)


def same(model, given, *, reference=True):
    """The values, which the others give; onnx.reference knows no loop without iterations, no function in a function."""
    source = model.SerializeToString()
    onnx.checker.check_model(source)
    found = sonnx.run(source, given, unchecked=True)
    others = [ReferenceEvaluator(source).run(None, given)] if reference else []
    runtime = pytest.importorskip("onnxruntime")
    others.append(runtime.InferenceSession(source, providers=["CPUExecutionProvider"]).run(None, given))
    for other in others:
        for ours, theirs in zip(found.values(), other, strict=True):
            assert (ours.dtype, ours.shape) == (theirs.dtype, theirs.shape)
            assert ours.tolist() == theirs.tolist()
    return found


def with_condition(nodes, constant=None, **options):
    model = graph(
        nodes, {"a": (FLOAT, [3]), **({"c": (BOOL, [])} if constant is None else {})}, {"y": (FLOAT, [3])}, **options
    )
    if constant is not None:
        model.graph.initializer.append(numpy_helper.from_array(numpy.array(constant), "c"))
    return model


@each_case("condition", [False, True])
def test_if(condition):
    """With a condition that is given, constant, and computed by a node before it."""
    node = choosing(branch("Add", "a", 1), branch("Mul", "a", 2))
    wanted = [2, -1, 4] if condition else [2, -4, 6]
    given = {"a": A, "c": numpy.array(condition)}
    assert same(with_condition([node]), given)["y"].tolist() == wanted
    assert same(with_condition([node], condition), {"a": A})["y"].tolist() == wanted
    computed = choosing(branch("Add", "a", 1), branch("Mul", "a", 2), "d")
    assert (
        same(
            with_condition([helper.make_node("Not", ["c"], ["d"]), computed]), given | {"c": numpy.array(not condition)}
        )["y"].tolist()
        == wanted
    )


def test_a_known_condition_takes_the_branch_when_the_plan_is_made():
    model = with_condition([choosing(branch("Add", "a", 1), branch("Mul", "a", 2))], True)
    read_model = read(model.SerializeToString())
    plan = executor.ModelRunner(read_model, unchecked=True)._plan({"a": A})
    assert [step.node.operator for step in plan.steps] == ["Add"]
    assert all(step.kernel is not None for step in plan.steps)


@each_case(("outer", "inner"), [(False, False), (True, False), (True, True)])
def test_nested_branches_and_captured_names(outer, inner):
    """The inner branch uses a value of the graph, one of the branch around it, and gives one through."""
    through = body([helper.make_node("Identity", ["m"], ["v"])], [("v", FLOAT, [3])])
    deep = choosing(branch("Add", "m", 1, "u"), through, "d", "t")
    then = body([helper.make_node("Mul", ["a", "b"], ["m"]), deep], [("t", FLOAT, [3])])
    nodes = [
        helper.make_node("Add", ["a", "a"], ["b"]),
        helper.make_node("Not", ["c"], ["d"]),
        helper.make_node("Not", ["d"], ["e"]),
        choosing(then, branch("Sub", "b", 5), "e"),
    ]
    model = graph(nodes, {"a": (FLOAT, [3]), "c": (BOOL, [])}, {"y": (FLOAT, [3])})
    same(model, {"a": A, "c": numpy.array(outer)})
    constant = graph(nodes[:1] + [choosing(then, branch("Sub", "b", 5))], {"a": (FLOAT, [3])}, {"y": (FLOAT, [3])})
    for name, value in (("c", outer), ("d", inner)):
        constant.graph.initializer.append(numpy_helper.from_array(numpy.array(value), name))
    same(constant, {"a": A})


def loop(most, condition, *, dynamic=False):
    """x becomes x + a * i; the scan output has every x; the loop ends when i is 3."""
    nodes = [
        helper.make_node("Cast", ["i"], ["f"], to=FLOAT),
        helper.make_node("Mul", ["a", "f"], ["p"]),
        helper.make_node("Add", ["x", "p"], ["z"]),
        helper.make_node("Identity", ["z"], ["scan"]),
        helper.make_node("Less", ["i", "three"], ["on"]),
    ]
    inner = body(
        nodes, [("on", BOOL, []), ("z", FLOAT, [3]), ("scan", FLOAT, [3])],
        [("i", INT64, []), ("going", BOOL, []), ("x", FLOAT, [3])], [("three", 3)],
    )  # fmt: skip
    node = helper.make_node("Loop", [most, condition, "a"], ["y", "s"], body=inner)
    inputs = {"a": (FLOAT, [3])} | ({"n": (INT64, [])} if most else {}) | ({"c": (BOOL, [])} if condition else {})
    return graph([node], inputs, {"y": (FLOAT, [3]), "s": (FLOAT, [None, 3])})


@each_case("count", [0, 1, 3, 9])
def test_loop(count):
    number = numpy.array(count)
    found = same(loop("n", "c"), {"a": A, "n": number, "c": numpy.array(True)}, reference=count > 0)
    assert found["s"].shape == (min(count, 4), 3)
    source = loop("n", "").SerializeToString()
    assert sonnx.run(source, {"a": A, "n": number}, unchecked=True)["s"].shape == (min(count, 4), 3)


def test_loops_without_a_number_or_without_an_iteration():
    assert same(loop("", "c"), {"a": A, "c": numpy.array(True)})["s"].shape == (4, 3)
    assert same(loop("n", "c"), {"a": A, "n": numpy.array(5), "c": numpy.array(False)}, reference=False)["s"].shape == (
        0,
        3,
    )


GROWING = """<ir_version: 8, opset_import: ["" : 16]>
g (float[1] a, int64 n, bool c) => (float[K] y) {
  y = Loop (n, c, a) <body = inner (int64 i, bool going, float[M] x) => (bool on, float[L] z) {
    on = Identity (going)
    one = Constant <value_ints = [1]> ()
    length = Add (i, one)
    part = Expand (a, length)
    half = Constant <value_int = 9> ()
    few = Less (i, half)
    p = If (few) <then_branch = t () => (float[1] u) { u = Add (a, a) },
                  else_branch = e () => (float[1] v) { v = Neg (a) }>
    q = Mul (part, p)
    z = Concat <axis = 0> (x, q)
  }>
}"""


@pytest.mark.parametrize(("source", "iterations", "plans"), [("loop", 4, 2), ("growing", 20, 60)])
def test_a_body_is_planned_once_for_values_of_one_shape(source, iterations, plans, monkeypatch):
    """Its shapes follow from the number of the iteration, and so do branches and the shapes of what is carried."""
    counted = []
    original = executor.build_plan

    def build_plan(*arguments, **options):
        counted.append(arguments)
        return original(*arguments, **options)

    model = loop("n", "c") if source == "loop" else onnx.parser.parse_model(GROWING)
    given = {"a": A[: 3 if source == "loop" else 1], "n": numpy.array(iterations), "c": numpy.array(True)}
    monkeypatch.setattr(executor, "build_plan", build_plan)
    same(model, given)
    assert len(counted) - 1 <= plans


def calling(imports, **attributes):
    """A call of a function with an attribute that has a default, which calls another one."""
    nodes = [helper.make_node("LeakyRelu", ["x"], ["h"]), helper.make_node("Twice", ["h"], ["z"], domain="own")]
    nodes[0].attribute.append(onnx.AttributeProto(name="alpha", type=onnx.AttributeProto.FLOAT, ref_attr_name="slope"))
    default = helper.make_attribute("slope", 0.5)
    own = [helper.make_opsetid("", imports), helper.make_opsetid("own", 1)]
    first = helper.make_function("own", "Leak", ["x"], ["z"], nodes, own, attribute_protos=[default])
    second = helper.make_function("own", "Twice", ["h"], ["z"], [helper.make_node("Add", ["h", "h"], ["z"])], own)
    nodes = [
        helper.make_node("Leak", ["a"], ["h"], domain="own", **attributes),
        helper.make_node("Leak", ["h"], ["y"], domain="own"),
    ]
    model = graph(nodes, {"a": (FLOAT, [3])}, {"y": (FLOAT, [3])}, operator_set=16)
    model.opset_import.append(helper.make_opsetid("own", 1))
    model.functions.extend([first, second])
    return model


@each_case("imports", [16, 13], ids=["operator set of the model", "another operator set"])
def test_functions_with_attributes(imports):
    given = {"a": A}
    assert sonnx.run(calling(imports).SerializeToString(), given, unchecked=True)["y"].tolist() == [4, -2, 12]
    assert sonnx.run(calling(imports, slope=0.25).SerializeToString(), given, unchecked=True)["y"].tolist() == [
        4,
        -1,
        12,
    ]
    if imports == 16:
        same(calling(imports, slope=0.25), given, reference=False)


def test_a_function_that_calls_itself_is_refused():
    for imports in (16, 13):
        own = [helper.make_opsetid("", imports), helper.make_opsetid("own", 1)]
        node = helper.make_node("F", ["x"], ["z"], domain="own")
        model = graph([helper.make_node("F", ["a"], ["y"], domain="own")], {"a": (FLOAT, [3])}, {"y": (FLOAT, [3])})
        model.opset_import.append(helper.make_opsetid("own", 1))
        model.functions.append(helper.make_function("own", "F", ["x"], ["z"], [node], own))
        with pytest.raises(sonnx.NotExecutable, match=r"^node '' \(F, graph/node\[0\]\): .*or no end$"):
            sonnx.run(model.SerializeToString(), {"a": A}, unchecked=True)


def test_what_is_refused():
    scan = body([helper.make_node("Identity", ["x"], ["z"])], [("z", FLOAT, [])], [("x", FLOAT, [])])
    node = helper.make_node("Scan", ["a"], ["y"], body=scan, num_scan_inputs=1)
    with pytest.raises(sonnx.NotExecutable, match="graphs inside nodes"):
        sonnx.run(graph([node], {"a": (FLOAT, [3])}, {"y": (FLOAT, [3])}).SerializeToString(), {"a": A}, unchecked=True)
    model = with_condition([choosing(branch("Add", "a", 1), branch("Mul", "a", 2))])
    with pytest.raises(sonnx.NotConforming):
        sonnx.run(model.SerializeToString(), {"a": A, "c": numpy.array(True)})


ENDLESS = """<ir_version: 8, opset_import: ["" : 14]>
g (float[2] x) => (float[2] y) <int64 n = {4611686018427387904}, bool c = {1}> {
  y = Loop (n, c, x) <body = b (int64 i, bool going, float[2] a) => (bool on, float[2] z) {
    on = Identity (going) z = INNER
  }>
}"""
TWICE = """Loop (n, c, a) <body = d (int64 j, bool more, float[2] e) => (bool still, float[2] f) {
      still = Identity (more) f = Relu (e)
    }>"""


@pytest.mark.usefixtures("runtimes_in_this_process")
@pytest.mark.parametrize("inner", ["Relu (a)", TWICE])
@pytest.mark.parametrize("command", ["run", "compare", "fix"])
def test_a_loop_that_does_not_end_is_refused_by_its_steps(
    command: str, inner: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """2^62 turns of two nodes would take the whole time limit."""
    path = tmp_path / "m.onnx"
    path.write_bytes(onnx.parser.parse_model(ENDLESS.replace("INNER", inner)).SerializeToString())
    options = {
        "run": ["--unchecked", "--random"],
        "compare": ["--unchecked", "--runtime", "reference"],
        "fix": ["--dry-run"],
    }
    code = run([command, str(path), "--limit", "steps=2000", *options[command]])
    said = capsys.readouterr()
    assert code == (1 if command == "fix" else 3)
    assert command == "fix" or "take more than 2000 steps" in said.out + said.err
