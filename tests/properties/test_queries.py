"""Queries in VNN-LIB 2: tensors, hidden nodes, several networks; and answers in the format of the competitions."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx.parser
import pytest

from sonnx.cli.main import run
from tests.support.cases import each_case

pytest.importorskip("vnnlib")
HEAD = '<ir_version: 9, opset_import: ["" : 13]> g '
FIRST = "(float[1,2] x) => (float[1,2] y) <float[2,2] w = {1,-1,1,1}> { h = MatMul(x, w) y = Relu(h) }"
SECOND = FIRST.replace("{1,-1,1,1}", "{1,-1,1,1.5}")
F = "(declare-network f (declare-input X float32 [1,2]) {hidden} (declare-output Y float32 [1,2]))"
G = "(declare-network g ({relation} f) (declare-input U float32 [1,2]) (declare-output V float32 [1,2]))"
BOX = "(assert (and (<= X[0,0] 1.0) (>= X[0,0] -1.0) (<= X[0,1] 1.0) (>= X[0,1] -1.0)))"
SAME = "(assert (and (== X[0,0] U[0,0]) (== U[0,1] X[0,1])))"


def query(*commands: str, hidden: str = "", relation: str = "") -> str:
    second = G.format(relation=relation) if relation else ""
    return f"(vnnlib-version <2.0>)\n{F.format(hidden=hidden)}\n{second}\n" + "\n".join(commands)


def answered(folder: Path, text: str, *options: str) -> tuple[int, str]:
    """The exit code and the answer in the format of the competitions."""
    for name, body in (("f", FIRST), ("g", SECOND), ("h", FIRST.replace("Relu", "Neg"))):
        (folder / f"{name}.onnx").write_bytes(onnx.parser.parse_model(HEAD + body).SerializeToString())
    (folder / "q.vnnlib").write_text(text)
    named = [option.replace("@", f"{folder}/") for option in options]
    common = ["verify", str(folder / "f.onnx"), str(folder / "q.vnnlib"), "--unchecked", "--search", "5"]
    results = folder / "r.txt"
    code = run([*common, "--results", str(results), *named])
    return code, results.read_text() if results.exists() else ""


ANSWERS = {
    "an output": (query(BOX, "(assert (>= Y[0,0] 2.1))"), "unsat", ()),
    "an output that is reached": (query(BOX, "(assert (>= Y[0,0] 1.5))"), "sat", ()),
    "at its end, strictly": (query(BOX, "(assert (> Y[0,0] 2.0))"), "unknown", ()),
    "an output and inputs": (query(BOX, "(assert (>= Y[0,0] (+ 4.1 (* -1.0 X[0,0]) (- X[0,1]))))"), "unsat", ()),
    "a strict end of the box": (query(BOX, "(assert (< X[0,0] 0.0))", "(assert (>= Y[0,0] 1.01))"), "unsat", ()),
    "a hidden node": (
        query(BOX, "(assert (<= H[0,1] -1.9))", hidden='(declare-hidden H float32 [1,2] "h")'), "sat", (),
    ),
    "a hidden node that is not reached": (
        query(BOX, "(assert (<= H[0,1] -2.1))", hidden='(declare-hidden H float32 [1,2] "h")'), "unsat", (),
    ),
    "two computations of one network": (
        query(BOX, SAME, "(assert (!= Y[0,0] V[0,0]))", "(assert (>= (- Y[0,0] V[0,0]) 0.2))", relation="equal-to"),
        "unsat", (),
    ),
    "two weights": (
        query(BOX, SAME, "(assert (>= (- V[0,1] Y[0,1]) 0.8))", relation="isomorphic-to"),
        "unsat", ("--network", "g=@g.onnx"),
    ),
    "two weights, a difference that occurs": (
        query(BOX, SAME, "(assert (>= (- V[0,1] Y[0,1]) 0.4))", relation="isomorphic-to"),
        "sat", ("--network", "g=@g.onnx"),
    ),
}  # fmt: skip


@each_case("name", ANSWERS)
def test_answers(name: str, tmp_path: Path) -> None:
    text, answer, options = ANSWERS[name]
    code, written = answered(tmp_path, text, *options)
    word, *rest = written.split("\n", 1)
    assert (word in (answer, "timeout" if answer == "unknown" else ""), code) == (
        True, {"unsat": 0, "sat": 1, "unknown": 3}[answer]
    )  # fmt: skip
    if answer == "sat":
        values = dict(line.strip(" ()").split() for line in rest[0].strip().splitlines())
        x = np.array([float(values["X[0,0]"]), float(values["X[0,1]"])])
        h = x @ np.array([[1, -1], [1, 1]])
        assert np.allclose([float(values["Y[0,0]"]), float(values["Y[0,1]"])], np.maximum(h, 0), atol=1e-6)


REFUSED = {
    "syntax": (query(BOX, "(assert (<= X[0,0] 1.0) more)"), "line 5: 'more' is not the syntax"),
    "an index": (query("(assert (<= X[0,2] 1.0))"), "line 4: Index out of bounds"),
    "a type": (query(BOX).replace("X float32", "X float64"), "X is declared as F64; the model has the type float"),
    "a shape": (query(BOX).replace("Y float32 [1,2]", "Y float32 [2]"), "Y is declared with shape [2]"),
    "a product": (query(BOX, "(assert (<= (* X[0,0] Y[0,0]) 1.0))"), "is not linear"),
    "no such hidden node": (
        query(BOX, "(assert (<= H[0,1] 0.0))", hidden='(declare-hidden H float32 [1,2] "k")'), "has no value 'k'",
    ),
    "the shape of a hidden node": (
        query(BOX, "(assert (<= H[0] 0.0))", hidden='(declare-hidden H float32 [2] "h")'), "has shape [1, 2]",
    ),
    "no model": (query(BOX, SAME, "(assert (<= V[0,0] 0.0))", relation="isomorphic-to"), "--network g=FILE names it"),
    "an open box": (query("(assert (<= X[0,0] 1.0))", "(assert (<= Y[0,0] -1.0))"), "X_0 has no lower bound"),
    "nested too deep": (query("(assert " + "(and " * 300 + "(<= X[0,0] 1.0)" + ")" * 301), "nest more than 200 deep"),
}  # fmt: skip


@each_case("name", REFUSED)
def test_what_is_refused_in_one_sentence(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:  # fmt: skip
    text, sentence = REFUSED[name]
    assert answered(tmp_path, text) == (2, "")
    said = capsys.readouterr().err
    assert sentence in said
    assert said.count("\n") == 1


def test_networks_of_other_nodes_are_not_isomorphic(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = query(BOX, SAME, "(assert (<= V[0,0] 0.0))", relation="isomorphic-to")
    assert answered(tmp_path, text, "--network", "g=@h.onnx")[0] == 2
    assert "network g is not isomorphic to f" in capsys.readouterr().err
    assert answered(tmp_path, text, "--network", "k=@g.onnx", "--network", "g=@g.onnx")[0] == 2
    assert "the query has no such network" in capsys.readouterr().err
