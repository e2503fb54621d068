"""`sonnx bound`: reports, exit codes, refusals."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from sonnx.base.resources import PACKAGE
from sonnx.cli.main import run
from sonnx.report.formats import DOCUMENT_FORMATS

SCHEMA = json.loads((PACKAGE / "report" / "bounds.schema.json").read_text())


@pytest.fixture
def model(tmp_path: Path) -> str:
    source = np.random.default_rng(0)
    w, b = source.normal(size=(3, 4)).astype(np.float32), source.normal(size=(1, 4)).astype(np.float32)
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["p"]),
        helper.make_node("Add", ["p", "b"], ["s"]),
        helper.make_node("Relu", ["s"], ["y"]),
    ]
    info = [helper.make_tensor_value_info(name, TensorProto.FLOAT, (1, 4)) for name in "psy"]
    inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, (1, 3))]
    graph = helper.make_graph(
        nodes,
        "g",
        inputs,
        info[2:],
        [numpy_helper.from_array(w, "w"), numpy_helper.from_array(b, "b")],
        value_info=info[:2],
    )
    path = tmp_path / "m.onnx"
    path.write_bytes(
        helper.make_model(graph, opset_imports=[helper.make_opsetid("", 14)], ir_version=8).SerializeToString()
    )
    return str(path)


def test_json_follows_its_schema(model: str, capsys: Any) -> None:
    code = run(["bound", model, "--box", "x=[-1,1]", "--every-node", "--format", "json", "--difference", "0-1"])
    made = json.loads(capsys.readouterr().out)
    jsonschema.validate(made, SCHEMA)
    assert [each["name"] for each in made["tensors"]] == ["x", "p", "s", "y"]
    assert made["tensors"][3]["elements"][0]["low"] >= 0
    assert made["hypotheses"]["name"] == "ieee-any"
    assert made["hypotheses"]["excludes"]
    assert code == (0 if made["decisions"][0]["same"] else 3)


@pytest.mark.parametrize(
    ("more", "edition", "said"),
    [([], "2026-11", "(edition 2026-11, "), (["--unchecked"], None, "(not checked; operators by edition 2026-11, ")],
)
def test_the_edition_stands_only_where_the_model_was_checked(
    model: str, more: list[str], edition: str | None, said: str, capsys: Any
) -> None:
    run(["bound", model, "--box", "x=[-1,1]", "--format", "json", *more])
    assert json.loads(capsys.readouterr().out)["edition"] == edition
    run(["bound", model, "--box", "x=[-1,1]", *more])
    assert said in capsys.readouterr().out


def test_text_says_the_hypotheses_and_what_they_exclude(model: str, capsys: Any) -> None:
    assert run(["bound", model, "--box", "x=[-1,1]"]) == 0
    text = capsys.readouterr().out
    assert "hypotheses  ieee-any: Any implementation" in text
    assert "excluded    Winograd" in text
    assert "conditions: 2 met" in text
    assert "\n  y " in text
    assert "\n  s " not in text


def test_all_bounds_as_arrays(model: str, tmp_path: Path) -> None:
    file = tmp_path / "bounds.npz"
    assert run(["bound", model, "--box", "x=[-1,1]", "--format", "npz", "--output", str(file)]) == 0
    with np.load(file) as made:
        assert made["y.low"].shape == made["y.error"].shape == (1, 4)
        assert (made["s.low"] <= made["s.high"]).all()


def test_a_page_has_the_answer_the_picture_and_every_value(model: str, tmp_path: Path, capsys: Any) -> None:
    path = tmp_path / "bounds.html"
    command = [
        "bound",
        model,
        "--box",
        "x=[-1,1]",
        "--every-node",
        "--format",
        "html",
        "--output",
        str(path),
        "--argmax",
    ]
    assert run(command) == 3
    page = path.read_text("ascii")
    assert "not all requested bounds are proved" in page
    assert page.count("<circle") == 4 * 3 - 3, "three curves over four values; the input has no error, Relu adds none"
    assert all(f"<code>{name}</code>" in page for name in "xpsy")
    assert "ieee-any: " in page
    assert "<script" not in page
    assert run([*command[:-1]]) == 0
    assert ">all requested bounds are proved" in path.read_text()
    assert run(["bound", model, "--box", "x=[-3e38,3e38]", "--format", "html"]) == 3
    assert "not bounded" in capsys.readouterr().out


@pytest.mark.parametrize("name", DOCUMENT_FORMATS)
def test_each_format_has_what_is_not_shown(model: str, name: str, capsys: Any) -> None:
    command = ["bound", model, "--box", "x=[-1,1]", "--format", name]
    assert run([*command, "--argmax"]) == 3
    open_ = capsys.readouterr().out
    assert "argmax" in open_
    assert run(command) == 0
    assert "argmax" not in capsys.readouterr().out


def test_a_range_that_explodes_is_said_to_with_its_node(model: str, capsys: Any) -> None:
    assert run(["bound", model, "--box", "x=[-3e38,3e38]"]) == 3
    text = capsys.readouterr().out
    assert "not bounded: node '' (MatMul, graph/node[0]): finite is not shown" in text
    assert run(["bound", model, "--box", "x=[-3e38,3e38]", "--format", "json"]) == 3
    jsonschema.validate(json.loads(capsys.readouterr().out), SCHEMA)


def test_a_bound_that_is_asked_for(model: str, capsys: Any) -> None:
    assert run(["bound", model, "--box", "x=[-1,1]", "--max-error", "1e-5"]) == 0
    assert run(["bound", model, "--box", "x=[-1,1]", "--max-error", "1e-9"]) == 3
    assert run(["bound", model, "--box", "x=[-1,1]", "--max-error", "1e-9", "--split", "0.5"]) == 3
    assert "boxes; shown on " in capsys.readouterr().out


@pytest.mark.parametrize(("arguments", "sentence"), [
    (["--box", "x=[1,-1]"], "reversed interval"),
    ([], "the box lacks the input 'x'"),
    (["--box", "x=[-1,1]", "--hypotheses", "fast"], "unknown hypotheses 'fast'"),
    (["--box", "x=[-1,1]", "--difference", "0-9"], "the output has elements 0 to 3"),
    (["--box", "x=[-1,1]", "--difference", "a"], "takes I-J, two numbers of elements"),
    (["--box", "x=[1,1]", "--split", "1"], "--split requires an input range; every input is a single value"),
    (["--box", "x=[-1,1]", "--split", "-1"], "is not a positive number"),
    (["--box", "x=[-1,1]", "--format", "npz"], "--format npz requires --output"),
    (["--box", "x=none.npy"], "the file 'none.npy' does not exist"),
    (["--box", "x=[-1,1]", "--edition", "1999"], "unknown edition"),
])  # fmt: skip
def test_bad_requests_end_2_with_one_sentence(model: str, arguments: list[str], sentence: str, capsys: Any) -> None:
    try:
        code = run(["bound", model, *arguments])
    except SystemExit as stop:
        code = int(str(stop.code))
    said = capsys.readouterr().err
    assert code == 2
    assert sentence in said
    assert said.count("\n") == 1


def test_a_model_outside_the_profile_needs_unchecked_and_transfer_functions(tmp_path: Path, capsys: Any) -> None:
    nodes = [helper.make_node("Round", ["x"], ["y"], name="r")]
    values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, (2,)) for name in "xy"]
    path = tmp_path / "m.onnx"
    path.write_bytes(helper.make_model(helper.make_graph(nodes, "g", values[:1], values[1:])).SerializeToString())
    assert run(["bound", str(path), "--box", "x=[0,1]"]) == 1
    assert "--unchecked bounds it anyway" in capsys.readouterr().err
    assert run(["bound", str(path), "--box", "x=[0,1]", "--unchecked"]) == 3
    assert "node 'r' (Round, graph/node[0]): the operator 'Round' has no bounds yet" in capsys.readouterr().err


def test_the_report_states_the_box_that_was_analysed(
    model: str, tmp_path: Path, capsys: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each element has an interval of its own; the hull of all would be another claim."""
    monkeypatch.chdir(tmp_path)
    x = np.array([[0.02, 0.6, -0.25]], np.float32)
    np.save("x.npy", x)
    run(["bound", model, "--box", "x=x.npy+-0.125", "--format", "json"])
    made = json.loads(capsys.readouterr().out)
    jsonschema.validate(made, SCHEMA)
    low, high = (np.nextafter(x.astype(float) + sign * 0.125, sign * np.inf) for sign in (-1, 1))
    inward = (
        np.where(low.astype(np.float32) < low, np.nextafter(low.astype(np.float32), np.float32(9)), low),
        np.where(high.astype(np.float32) > high, np.nextafter(high.astype(np.float32), np.float32(-9)), high),
    )
    ends = [each.astype(np.float32).astype("<f8") for each in inward]
    assert made["box"]["x"] == {
        "shape": [1, 3], "low": ends[0].min(), "high": ends[1].max(), "point": False, "same": False,
        "intervals": np.stack(ends, -1).reshape(3, 2).tolist(),
        "sha256": hashlib.sha256(ends[0].tobytes() + ends[1].tobytes()).hexdigest(),
    }  # fmt: skip
    assert made["sha256"] == hashlib.sha256(Path(model).read_bytes()).hexdigest()
    assert made["files"] == {"x.npy": hashlib.sha256(Path("x.npy").read_bytes()).hexdigest()}
    run(["bound", model, "--box", "x=x.npy+-0.125"])
    text = capsys.readouterr().out
    assert f"file        x.npy, SHA-256 {made['files']['x.npy']}" in text
    assert f"SHA-256     {made['sha256']}" in text
    intervals = ", ".join(map(str, made["box"]["x"]["intervals"]))
    assert f"input       x [1, 3]: elements in {intervals}" in text


@pytest.mark.parametrize(("box", "text"), [
    ("[-1,1]", "x [1, 20]: each element in [-1.0, 1.0]"),
    ("[0.1,0.1]", ""),
    ("x.npy", "x [1, 20]: each element has a number of its own, all within [0.0, 19.0]; SHA-256 of the lower ends and "
     "the upper ends as float64 "),
    ("x.npy+-1", "x [1, 20]: each element has an interval of its own, all within [-1.0, 20.0]; SHA-256 of the lower"),
])  # fmt: skip
def test_the_box_of_many_elements_is_stated_by_its_hash(
    box: str, text: str, tmp_path: Path, capsys: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    np.save("x.npy", np.arange(20, dtype=np.float32).reshape(1, 20))
    value = [helper.make_tensor_value_info(name, TensorProto.FLOAT, (1, 20)) for name in "xy"]
    graph = helper.make_graph([helper.make_node("Relu", ["x"], ["y"])], "g", value[:1], value[1:])
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 14)], ir_version=8)
    Path("m.onnx").write_bytes(made.SerializeToString())
    code = run(["bound", "m.onnx", "--box", f"x={box}", "--unchecked"])
    found = capsys.readouterr()
    assert code == (0 if text else 2)  # no float is 0.1
    assert text in found.out
    assert text or "contains no number of type float" in found.err


def test_files_of_constants_are_stated_with_their_hashes(model: str, tmp_path: Path, capsys: Any) -> None:
    made = onnx.load(model)
    onnx.save(made, tmp_path / "apart.onnx", save_as_external_data=True, location="apart.bin", size_threshold=0)
    run(["bound", str(tmp_path / "apart.onnx"), "--box", "x=[-1,1]", "--format", "json", "--unchecked"])
    document = json.loads(capsys.readouterr().out)
    assert document["files"] == {"apart.bin": hashlib.sha256((tmp_path / "apart.bin").read_bytes()).hexdigest()}
    assert document["box"]["x"]["same"] is True
