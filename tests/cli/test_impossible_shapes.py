"""Shapes that no array has, or none of a size that fits: commands that make values end with 3 and a sentence."""

from __future__ import annotations

from pathlib import Path

import pytest
from onnx import TensorProto, helper

from sonnx.cli.main import run
from tests.support.invariants import one_sentence

SHAPES = {
    "long": ([2**62], "has 4611686018427387904 elements"),
    "long_twice": ([2**63 - 1] * 2, "has 85070591730234615847396907784232501249 elements"),
    "large": ([2**40], "has 1099511627776 elements"),
    "empty": ([2**62, 4, 0], "is empty, but its other extents are too large for an array"),
    "deep": ([1] * 65, "has rank 65"),
}
COMMANDS = {
    "run": ("--random",),
    "compare": ("--runtime", "reference"),
    "bound": ("--input", "x=[-1,1]"),
}


def relu(shape: list[int], path: Path) -> Path:
    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name in "xy")
    graph = helper.make_graph([helper.make_node("Relu", ["x"], ["y"])], "g", [x], [y])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 14)], ir_version=8)
    path.write_bytes(model.SerializeToString())
    return path


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("shape", SHAPES)
def test_values_of_an_impossible_shape(
    command: str, shape: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    extents, said = SHAPES[shape]
    assert run([command, str(relu(extents, tmp_path / "m.onnx")), *COMMANDS[command]]) == 3
    printed = capsys.readouterr().err.strip()
    assert said in printed and one_sentence(printed)


@pytest.mark.parametrize("shape", SHAPES)
def test_a_model_that_needs_no_rewrite(shape: str, tmp_path: Path) -> None:
    """The models are equal, so `fix` needs no values."""
    assert run(["fix", str(relu(SHAPES[shape][0], tmp_path / "m.onnx")), "--dry-run"]) == 0


def test_the_largest_empty_array(tmp_path: Path) -> None:
    assert run(["run", str(relu([2**58, 0], tmp_path / "m.onnx")), "--random"]) == 0
