"""What changed between two models: pairs of small models, written as text, with the changes they were made with."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import onnx
import onnx.parser
import pytest
from onnx import numpy_helper

import sonnx
from sonnx.cli.main import run
from tests.support.cases import each_case, spread
from tests.support.paths import ROOT
from tests.support.report_pages import Page, outside_code

HEADER = '<ir_version: 8, opset_import: ["" : {}]>\n'


def model(nodes: str, inputs: str = "float[2,3] x", version: int = 17, **constants: object) -> onnx.ModelProto:
    """The model of these nodes with the output y; constants are float32."""
    made = onnx.parser.parse_model(f"{HEADER.format(version)} g ({inputs}) => (y) {{ {nodes} }}")
    for name, value in constants.items():
        made.graph.initializer.append(numpy_helper.from_array(np.asarray(value, np.float32), name))
    return made


def changes(first: onnx.ModelProto, second: onnx.ModelProto, **options: Any) -> Any:
    return sonnx.diff(first, second, runs=2, **options).result


def statuses(found: Any) -> list[tuple[str, str, str | None]]:
    """Operator, status and value of each node."""
    return [((each.second or each.first).operator, each.status.value, each.value) for each in found.nodes]


BASE = "a = Relu(x)  b = Mul(a, w)  y = Neg(b)"
W = [1.0, 2.0, 3.0]
IDENTICAL, ROUNDING, UNKNOWN = "identical", "equal up to rounding", "not decided"
UNCHANGED = [("Relu", "unchanged", IDENTICAL), ("Mul", "unchanged", IDENTICAL), ("Neg", "unchanged", IDENTICAL)]
PAIRS = {
    "names only": (model("p = Relu(x)  q = Mul(p, v)  y = Neg(q)", v=W), UNCHANGED),
    "a constant": (
        model(BASE, w=[1.0, 2.0, 3.5]),
        [("Relu", "unchanged", IDENTICAL), ("Mul", "changed", UNKNOWN), ("Neg", "unchanged", UNKNOWN)],
    ),
    "an operator that changes nothing": (
        model("a = Relu(x)  i = Identity(a)  b = Mul(i, w)  y = Neg(b)", w=W),
        [UNCHANGED[0], ("Identity", "new", IDENTICAL), *UNCHANGED[1:]],
    ),
    "another operator": (
        model("a = Sigmoid(x)  b = Mul(a, w)  y = Neg(b)", w=W),
        [
            ("Relu", "gone", None), ("Sigmoid", "new", None), ("Mul", "changed", UNKNOWN),
            ("Neg", "unchanged", UNKNOWN),
        ],
    ),
    "operands in another order": (
        model("a = Relu(x)  b = Mul(w, a)  y = Neg(b)", w=W),
        [UNCHANGED[0], ("Mul", "changed", IDENTICAL), UNCHANGED[2]],
    ),
    "new names and a new constant": (
        model("p = Relu(x)  q = Mul(p, v)  y = Neg(q)", v=[1.0, 2.0, np.inf]),
        [("Relu", "unchanged", IDENTICAL), ("Mul", "changed", UNKNOWN), ("Neg", "unchanged", UNKNOWN)],
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", PAIRS)
def test_what_became_of_each_node(case: str) -> None:
    second, wanted = PAIRS[case]
    assert statuses(changes(model(BASE, w=W), second)) == wanted


def test_how_much_a_constant_changed() -> None:
    [constant] = changes(model(BASE, w=W), PAIRS["a constant"][0]).nodes[1].constants
    assert (constant.changed, constant.elements, constant.largest, constant.relative) == (1, 3, 0.5, 0.5 / 3)
    [constant] = changes(model(BASE, w=W), PAIRS["new names and a new constant"][0]).nodes[1].constants
    assert (constant.first, constant.second, constant.changed, constant.largest) == ("w", "v", 1, None)
    [constant] = changes(model(BASE, w=W), model(BASE, w=2.0)).nodes[1].constants
    assert (constant.type, constant.other_type, constant.changed) == ("float [3]", "float []", 3)


def test_nodes_in_another_order_are_moved() -> None:
    first = model("a = Relu(x)  b = Sigmoid(x)  c = Tanh(x)  y = Sum(a, b, c)")
    second = model("c = Tanh(x)  a = Relu(x)  b = Sigmoid(x)  y = Sum(a, b, c)")
    found = changes(first, second)
    assert [each.status for each in found.nodes] == ["moved", "unchanged", "unchanged", "unchanged"]
    assert not found.unchanged
    assert found.answer == IDENTICAL


def test_a_folded_node_is_gone_and_its_value_stays() -> None:
    first = model("a = Mul(x, v)  b = Mul(a, w)  y = Relu(b)", v=0.1, w=0.3)
    folded = float(np.float32(0.1) * np.float32(0.3))
    found = changes(first, model("b = Mul(x, w)  y = Relu(b)", w=folded))
    assert statuses(found) == [
        ("Mul", "gone", None), ("Mul", "changed", ROUNDING), ("Relu", "unchanged", ROUNDING)
    ]  # fmt: skip
    assert found.answer == ROUNDING
    first = model("a = Mul(x, v)  b = Neg(a)  y = Relu(b)", v=0.1)
    found = changes(first, model("a = Mul(x, u)  y = Relu(a)", u=-0.1))
    [gone] = [each for each in found.nodes if each.status == "gone"]
    assert (gone.value, gone.counterpart) == (ROUNDING, "a")


def test_attributes_and_operator_sets() -> None:
    nodes = "a = Softmax<axis = {}>(x)  y = Relu(a)"
    found = changes(model(nodes.format(1)), model(nodes.format(0)))
    assert found.nodes[0].changes == ("axis: 1 -> 0",)
    found = changes(model(nodes.format(0), version=11), model(nodes.format(0), version=13))
    assert found.nodes[0].changes == ("operator set: 11 -> 13",)
    assert found.header == ("operator set: 11 -> 13",)


def test_inputs_and_outputs() -> None:
    found = changes(model(BASE, w=W), model(BASE.replace("(x)", "(z)"), inputs="float[2,3] z", w=W))
    assert found.answer is None
    assert "'z'" in found.claim
    assert found.header == ("the input 'x' is gone", "the input 'z' is new")
    found = changes(model(BASE, w=W), model(BASE.replace("(x)", "(z)"), inputs="float[2,3] z", w=W), renamed={"x": "z"})
    assert found.answer == IDENTICAL
    assert found.header == ("the input 'x' is called 'z'",)
    found = changes(model(BASE, w=W), model(BASE, inputs="float[4,3] x", w=W))
    assert found.header == ("the input 'x': float [2, 3] -> float [4, 3]",)
    assert {each.value for each in found.nodes} == {UNKNOWN}


def test_findings_that_come_and_go() -> None:
    second = model(BASE.replace("Neg", "Celu"), w=W)
    found = changes(model(BASE, w=W), second)
    new = [each for each in found.findings if each.new and each.kind == "node"]
    assert [(each.operator, each.place) for each in new] == [("Celu", "graph/node[2]")]
    moved = changes(model("a = Celu(x)  b = Relu(x)  y = Add(a, b)"), model("b = Relu(x)  a = Celu(x)  y = Add(a, b)"))
    assert not moved.findings


def standing(found: Any, evidence: str) -> tuple[str, str]:
    [each] = [each for each in found.evidence if each.evidence.startswith(evidence)]
    return each.standing, each.extent


def test_which_evidence_stands() -> None:
    same = changes(model(BASE, w=W), PAIRS["names only"][0])
    assert standing(same, "exact values")[0] == standing(same, "error bounds")[0] == "stands"
    part = changes(model(BASE, w=W), PAIRS["a constant"][0])
    assert standing(part, "error bounds") == ("stands in part", "the values of 1 of 3 nodes of the second model")
    assert [each.upstream_unchanged for each in part.nodes] == [True, False, False]
    for found in (same, part):
        assert {standing(found, each)[0] for each in ("values of a runtime", "measured", "evidence pack")} == {"renew"}
    other = changes(model(BASE, w=W), PAIRS["operands in another order"][0])
    assert standing(other, "exact values")[0] == "stands"
    assert standing(other, "error bounds")[0] == "stands in part"


def test_random_values_and_graphs_inside_nodes_do_not_stand() -> None:
    random = model("a = RandomUniformLike(x)  y = Add(x, a)")
    assert {each.value for each in changes(random, random).nodes} == {UNKNOWN}
    assert not any(each.upstream_unchanged for each in changes(random, random).nodes)


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = [str(tmp_path / name) for name in ("a.onnx", "b|`.onnx")]
    onnx.save(model(BASE, w=W), files[0])
    onnx.save(PAIRS["an operator that changes nothing"][0], files[1])
    assert run(["diff", files[0], files[0]]) == 0
    assert "3 unchanged; the function is identical" in capsys.readouterr().out
    assert run(["diff", *files]) == 1
    assert "the first model has its values: 'a'" in capsys.readouterr().out
    assert run(["diff", *files, "--format", "json"]) == 1
    document = json.loads(capsys.readouterr().out)
    schema = json.loads((ROOT / "sonnx/report/model_changes.schema.json").read_text("utf-8"))
    jsonschema.Draft202012Validator(schema).validate(document)
    assert [each["status"] for each in document["result"]["nodes"]] == ["unchanged", "new", "unchanged", "unchanged"]
    assert run(["diff", *files, "--format", "markdown"]) == 1
    assert "`" not in outside_code(capsys.readouterr().out)
    assert run(["diff", *files, "--format", "html"]) == 1
    page = Page(capsys.readouterr().out)
    assert len([each for each, _ in page.used if each == "svg"]) == 2
    assert "+ Identity" in page.text
    for form in ("sarif", "junit", "github"):
        assert run(["diff", *files, "--format", form]) == 1
        capsys.readouterr()
    assert run(["diff", files[0], str(tmp_path / "none.onnx")]) == 2


def test_precision_and_layouts_are_rows() -> None:
    wide = model("y = MatMul(x, w)", w=np.ones((3, 2)))
    narrow = model("a = Cast <to = 10> (x)  b = MatMul(a, v)  y = Cast <to = 1> (b)")
    narrow.graph.initializer.append(numpy_helper.from_array(np.ones((3, 2), np.float16), "v"))
    found = changes(wide, narrow)
    assert found.answer == "equal but for narrowings"
    assert "precision: 1 constant rounded to float16 in the second model" in found.header
    [values] = [each for each in found.evidence if each.evidence.startswith("exact values")]
    assert (values.standing, values.because) == ("renew", "narrowed values have other bits")
    pooled = model("y = MaxPool <kernel_shape = [2, 2]> (x)", inputs="uint8[1, 4, 4, 4] x")
    last = model(
        "a = Transpose <perm = [0, 2, 3, 1]> (x)  b = com.microsoft.NhwcMaxPool <kernel_shape = [2, 2]> (a)  "
        "y = Transpose <perm = [0, 3, 1, 2]> (b)", inputs="uint8[1, 4, 4, 4] x",
    )  # fmt: skip
    last.opset_import.append(onnx.helper.make_opsetid("com.microsoft", 1))
    assert "layout: 0 nodes with channels last (NHWC) -> 1" in changes(pooled, last).header


def test_values_stand_for_stated_sizes_only() -> None:
    """Of symbols that the tool or the user gives numbers, the numbers stand with the values."""
    symbols = "float[N,3] x"
    flat = model("s = Shape(x)  y = Reshape(x, s)", inputs=symbols)
    fixed = model("t = Relu(x)  s = Shape(t)  r = Reshape(x, s)  y = Identity(r)", inputs=symbols)
    found = changes(flat, fixed, bind={"N": 4})
    for each in found.evidence:
        if each.evidence.startswith(("exact", "ranges")) and each.standing != "renew":
            assert each.extent.endswith(", for N = 4 only")


# ------------------------------------------------------------------ nodes that are not valid


OPERATORS = sorted({schema.name for schema in onnx.defs.get_all_schemas() if not schema.domain})


@each_case("operator", ["Less", *spread(OPERATORS, 20)])
@each_case("count", [0, 1, 9])
def test_an_operator_with_any_count_of_inputs_is_compared(operator: str, count: int) -> None:
    node = onnx.helper.make_node(operator, ["x"] * count, ["y"])
    values = [onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [2, 3]) for name in "xy"]
    graph = onnx.helper.make_graph([node], "g", values[:1], values[1:])
    whole = onnx.helper.make_model(graph, ir_version=8, opset_imports=[onnx.helper.make_opsetid("", 17)])
    assert [change.status.value for change in changes(whole, whole).nodes] == ["unchanged"]
