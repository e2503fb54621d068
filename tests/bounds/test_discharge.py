"""`sonnx check --box`: what is assumed of values at run time passes where a box shows it, and only there."""

from __future__ import annotations

from pathlib import Path

import onnx
import pytest
from onnx import TensorProto, helper

from sonnx.cli.main import run


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


@pytest.mark.parametrize(("box", "code", "shown", "open_"), [
    ("[-0.5,1]", 0, 2, 0),
    ("[-2,1.5]", 3, 1, 1),
    ("[-200,200]", 3, 0, 2),  # the computed tanh of 200 may be above 1
])  # fmt: skip
def test_assumptions_pass_exactly_where_the_box_shows_them(
    arc: str, box: str, code: int, shown: int, open_: int, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["check", arc]) == 3
    assert "2 assumed" in capsys.readouterr().out
    assert run(["check", arc, "--box", f"x={box}"]) == code
    out = capsys.readouterr().out
    assert f"assumptions shown by the box 'x={box}': {shown}, for each of its inputs" in out
    assert (f"{open_} assumed" in out) == bool(open_)
    assert ("argument is not shown" in out) == bool(open_)


def test_a_box_is_about_one_file_and_its_inputs(arc: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["check", arc, arc, "--box", "x=[0,1]"]) == 2
    assert "--box is about one model file" in capsys.readouterr().err
    assert run(["check", arc, "--box", "q=[0,1]"]) == 2
    assert "the model has no input 'q'" in capsys.readouterr().err
    assert run(["check", arc, "--box", "x=[1,0]"]) == 2
    assert "reversed interval" in capsys.readouterr().err
