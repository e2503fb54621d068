"""`sonnx check --box`: what is assumed of values at run time passes where a box shows it, and only there."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

import sonnx
from sonnx.api import checks
from sonnx.base.errors import ErrorCondition
from sonnx.bounds.analysis import bound_model
from sonnx.bounds.box import box_of_arrays
from sonnx.bounds.discharge import _moved, _shown
from sonnx.checker.report import Count
from sonnx.checker.verdicts import Verdict
from sonnx.cli.main import run
from sonnx.model.reader import read
from sonnx.numerics.enclosures.hypotheses import hypotheses_named
from sonnx.numerics.enclosures.values import ARGUMENT, DIVISOR, EXPONENT, FINITE, NO_WRAP_AROUND, Condition
from sonnx.operators.registry import all_operators, find_operator


@pytest.fixture
def arc(tmp_path: Path) -> str:
    """Acos of tanh(x), which is within [-1, 1] unless its rounding leaves it, and of x itself."""
    shape = [2]
    nodes = [helper.make_node("Tanh", ["x"], ["t"], name="t"), helper.make_node("Acos", ["t"], ["y"], name="a"),
             helper.make_node("Acos", ["x"], ["z"], name="b")]  # fmt: skip
    declared = {name: helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name in "xtyz"}
    graph = helper.make_graph(nodes, "g", [declared["x"]], [declared["y"], declared["z"]], value_info=[declared["t"]])
    path = tmp_path / "arc.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 7)], ir_version=8), path)
    return str(path)


@pytest.mark.parametrize(("box", "code", "shown", "open_", "broken"), [
    ("[-0.5,1]", 0, 2, 0, ""),
    ("[-2,1.5]", 1, 1, 0, "'x' = [-2, -2]"),
    ("[-0.9,1.01]", 1, 1, 0, "'x' = [1.00999999, 1.00999999]"),
    ("[-200,200]", 1, 0, 1, "'x' = [-200, -200]"),  # the computed tanh of 200 may be above 1
])  # fmt: skip
def test_assumptions_pass_where_the_box_shows_them_and_fail_for_an_input_of_it(
    arc: str, box: str, code: int, shown: int, open_: int, broken: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["check", arc]) == 3
    assert "2 assumed" in capsys.readouterr().out
    assert run(["check", arc, "--box", f"x={box}"]) == code
    out = capsys.readouterr().out
    assert f"assumptions shown by the box 'x={box}': {shown}, for each of its inputs" in out
    assert (f"{open_} assumed" in out) == bool(open_)
    assert ("argument is not shown" in out) == bool(open_)
    assert ("is undecided on" in out) == bool(open_)
    assert (f"exact values for an input of the box, {broken}, break it: X[0] is " in out) == bool(broken)


def test_parts_show_what_the_whole_box_does_not(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Acos of 1/2 + x (1 - x): the interval of the whole box reaches 3/2, exact values reach 3/4."""
    nodes = [helper.make_node("Sub", ["one", "x"], ["s"]), helper.make_node("Mul", ["x", "s"], ["p"]),
             helper.make_node("Add", ["p", "half"], ["q"]), helper.make_node("Acos", ["q"], ["y"])]  # fmt: skip
    x, y, *values = (helper.make_tensor_value_info(name, TensorProto.FLOAT, [1]) for name in "xyspq")
    constants = [helper.make_tensor(n, TensorProto.FLOAT, [1], [v]) for n, v in (("one", 1.0), ("half", 0.5))]
    graph = helper.make_graph(nodes, "g", [x], [y], constants, value_info=values)
    path = str(tmp_path / "m.onnx")
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 7)], ir_version=8), path)
    assert run(["check", path, "--box", "x=[0,1]"]) == 0
    assert "assumptions shown by the box 'x=[0,1]': 1, for each" in capsys.readouterr().out


def test_a_box_is_about_one_file_and_its_inputs(arc: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["check", arc, arc, "--box", "x=[0,1]"]) == 2
    assert "--box is about one model file" in capsys.readouterr().err
    assert run(["check", arc, "--box", "q=[0,1]"]) == 2
    assert "the model has no input 'q'" in capsys.readouterr().err
    assert run(["check", arc, "--box", "x=[1,0]"]) == 2
    assert "reversed interval" in capsys.readouterr().err


def test_the_bytes_that_are_bounded_are_those_that_were_checked(
    arc: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    opened: list[object] = []
    real = checks.open_model
    monkeypatch.setattr(checks, "open_model", lambda source, *rest: opened.append(source) or real(source, *rest))
    report = sonnx.check(arc, box=["x=[-0.5,1]"], name=arc)
    assert (len(opened), report.exit_code()) == (1, 0)
    assert report.sha256 == hashlib.sha256(Path(arc).read_bytes()).hexdigest()
    assert run(["check", arc, "--box", "x=[-0.5,1]"]) == 0
    assert len(opened) == 2
    assert capsys.readouterr().out == report.to_text()
    monkeypatch.setattr(checks, "open_model", lambda *rest: (real(*rest)[0], "another file"))
    with pytest.raises(sonnx.UsageError, match=r"arc.onnx' changed while it was checked"):
        sonnx.check_models([arc], box=["x=[-0.5,1]"], jobs=1)


def test_an_evidence_pack_carries_what_the_box_shows(
    arc: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, ends in (("low", [-0.5, -2.0]), ("high", [0.5, 1.0])):
        np.save(tmp_path / f"{name}.npy", np.array(ends, np.float32))
    pack = tmp_path / "pack"
    box = f"x={tmp_path}/low.npy:{tmp_path}/high.npy"
    assert run(["audit", arc, "--output", str(pack), "--box", box]) == 1
    about = json.loads((pack / "audit.json").read_text())
    assert about["box"]["inputs"] == about["options"]["box"] == ["x=low.npy:high.npy"]
    assert [each["place"] for each in about["box"]["shown"]] == ["graph/node[1]"]
    [broken] = about["box"]["counterexamples"]
    assert (broken["place"], broken["rule"]) == ("graph/node[2]", about["box"]["shown"][0]["rule"])
    given = np.load(pack / broken["input"]["x"])
    assert ((given >= [-0.5, -2.0]) & (given <= [0.5, 1.0])).all()
    with pytest.raises(ErrorCondition, match=r"'b'.*X\[1\] is -2"):
        sonnx.run(arc, {"x": given}, unchecked=True)
    assert broken["input"]["x"] in (pack / "index.html").read_text()
    assert about["box"]["undecided"] == about["assumptions"] == []
    assert {"bounds.sum-errors", "bounds.arc-cosine"} <= {each["id"] for each in about["theorems"]}
    first, second = about["box"]["outputs"]
    assert first["low"] <= np.arccos(np.tanh(1.0)) < np.arccos(np.tanh(-2.0)) <= first["high"] < 2.9
    assert 0 < first["error"] < 1e-5
    assert second == {"name": "z", "shape": [2], "low": None, "high": None, "error": None}
    (tmp_path / "low.npy").unlink()
    capsys.readouterr()
    assert run(["audit", "--verify", str(pack)]) == 0
    np.save(pack / "configuration" / "box" / "high.npy", np.array([0.5, 0.5], np.float32))
    assert run(["audit", "--verify", str(pack)]) == 1
    assert "audit.json: box differs" in capsys.readouterr().out


def test_an_evidence_pack_carries_what_the_box_leaves_open(arc: str, tmp_path: Path) -> None:
    pack = tmp_path / "pack"
    assert run(["audit", arc, "--output", str(pack), "--box", "x=[-200,200]"]) == 1
    about = json.loads((pack / "audit.json").read_text())
    [left] = about["box"]["undecided"]
    assert left["place"] == "graph/node[1]" == about["assumptions"][0]["place"]
    assert 0 < left["share"] <= 1
    assert left["part"].startswith("element 0 of 'x' is in [")
    assert str(left["share"]) in (pack / "index.html").read_text()


def test_two_files_of_a_box_need_two_names(arc: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        np.save(tmp_path / name / "x.npy", np.zeros(2, np.float32))
    box = f"x={tmp_path}/a/x.npy:{tmp_path}/b/x.npy"
    assert run(["audit", arc, "--output", str(tmp_path / "pack"), "--box", box]) == 2
    assert "two files of the box are named 'x.npy'" in capsys.readouterr().err


def test_each_error_condition_of_an_operator_with_bounds_is_shown_by_a_condition_of_its_own() -> None:
    """A new one stays assumed until a condition of the transfer function is named for it."""
    names = {ARGUMENT, DIVISOR, EXPONENT, FINITE, NO_WRAP_AROUND}
    of_constants = {"ScatterND.places-distinct"}  # bounds need constant indices, of which the check decides it
    with_conditions = [each for each in all_operators().values() if each.bound is not None and each.error_conditions]
    assert len(with_conditions) >= 6
    for operator in with_conditions:
        assert set(operator.shown_by) == set(operator.error_conditions) - of_constants, operator.name
        assert set(operator.shown_by.values()) <= names, operator.name


def integers(operator: str, kind: int, declared: dict[str, list[int]]) -> onnx.ModelProto:
    values = {name: helper.make_tensor_value_info(name, kind, shape) for name, shape in declared.items()}
    inputs = [values[name] for name in values if name != "y"]
    node = helper.make_node(operator, [each.name for each in inputs], ["y"])
    graph = helper.make_graph([node], "g", inputs, [values["y"]])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)


@pytest.mark.parametrize(("box", "shown"), [
    ({"a": (-(2**31), 5), "b": (-1, -1)}, {"Div.integer-divisor-not-zero"}),
    ({"a": (-9, 5), "b": (-1, 3)}, set()),
    ({"a": (-9, 5), "b": (-3, -1)}, {"Div.integer-divisor-not-zero", "Div.quotient-representable"}),
])  # fmt: skip
def test_conditions_of_one_node_are_shown_apart(box: dict[str, tuple[int, int]], shown: set[str]) -> None:
    model = integers("Div", TensorProto.INT32, {"a": [1], "b": [1], "y": [1]})
    data = model.SerializeToString()
    parsed = read(data)
    ends = {name: (np.array([low], float), np.array([high], float)) for name, (low, high) in box.items()}
    found = bound_model(parsed, box_of_arrays(parsed, ends), hypotheses_named("ieee-any"), unchecked=True)
    assert {rule for _, rule in _shown(found.met, parsed)} == shown


def test_an_error_condition_without_a_named_condition_stays_assumed(monkeypatch: pytest.MonkeyPatch) -> None:
    parsed = read(integers("Div", TensorProto.INT32, {"a": [1], "b": [1], "y": [1]}).SerializeToString())
    conditions = [Condition("node '' (Div, graph/node[0])", each, True, "") for each in (DIVISOR, NO_WRAP_AROUND)]
    assert len(_shown(conditions, parsed)) == 2
    operator = find_operator("Div")
    assert operator is not None
    more = replace(operator, error_conditions=(*operator.error_conditions, "Div.new"))
    monkeypatch.setattr("sonnx.bounds.discharge.find_operator", lambda _: more)
    assert {rule for _, rule in _shown(conditions, parsed)} == set(operator.error_conditions)
    assert not _shown([*conditions, replace(conditions[0], holds=False)], parsed) - {
        (conditions[0].node, "Div.quotient-representable")
    }


def test_a_box_does_not_show_what_constants_multiplied_in_advance_break(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Conv, Mul and QuantizeLinear: onnxruntime multiplies weight and factor, whose product is infinite."""
    declared = {name: helper.make_tensor_value_info(name, TensorProto.FLOAT, [4, 1, 1, 1]) for name in "xcm"}
    constants = [helper.make_tensor("w", TensorProto.FLOAT, [1, 1, 1, 1], [1e20]),
                 helper.make_tensor("k", TensorProto.FLOAT, [1, 1, 1, 1], [1e20]),
                 helper.make_tensor("s", TensorProto.FLOAT, [], [1e18]),
                 helper.make_tensor("z", TensorProto.UINT8, [], [128])]  # fmt: skip
    conv = {"dilations": [1, 1], "group": 1, "kernel_shape": [1, 1], "pads": [0, 0, 0, 0], "strides": [1, 1]}
    nodes = [helper.make_node("Conv", ["x", "w"], ["c"], auto_pad="NOTSET", **conv),
             helper.make_node("Mul", ["c", "k"], ["m"]),
             helper.make_node("QuantizeLinear", ["m", "s", "z"], ["y"], axis=1)]  # fmt: skip
    y = helper.make_tensor_value_info("y", TensorProto.UINT8, [4, 1, 1, 1])
    values = [declared["c"], declared["m"]]
    graph = helper.make_graph(nodes, "g", [declared["x"]], [y], constants, value_info=values)
    path = str(tmp_path / "m.onnx")
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8), path)
    assert run(["check", path]) == 3
    assert "1 assumed" in capsys.readouterr().out
    assert run(["check", path, "--box", "x=[-1e-20,1e-20]"]) == 3
    assert "products of constants up to 1e+40, the format ends at 3.4e+38" in capsys.readouterr().out


def test_results_move_from_assumed_to_passed() -> None:
    """So many as are shown; those of other rules and verdicts stay, and equal results are counted together."""
    assumed, passed = Verdict.ASSUMED, Verdict.PASS
    before = (
        Count("a", passed, "", 2),
        Count("a", assumed, "", 3),
        Count("b", assumed, "", 4),
        Count("c", assumed, "", 1),
    )
    after = _moved(before, Counter({"a": 2, "c": 1}), passed)
    assert set(after) == {
        Count("a", passed, "", 4), Count("a", assumed, "", 1), Count("b", assumed, "", 4), Count("c", passed, "", 1)
    }  # fmt: skip
    assert sum(each.number for each in after) == sum(each.number for each in before)
