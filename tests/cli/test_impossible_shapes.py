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
    "bound": ("--box", "x=[-1,1]"),
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


@pytest.mark.parametrize("options", [("--unchecked",), ()])
def test_a_shape_that_follows_from_others(
    options: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """No value is bounded where a later one is too large."""
    monkeypatch.setattr("sonnx.bounds.analysis.interpret", lambda *_, **__: pytest.fail("a value was bounded"))
    declared = [helper.make_tensor_value_info(f"v{n}", TensorProto.FLOAT, [min(2**n, 2**31)]) for n in range(33)]
    nodes = [helper.make_node("Concat", [f"v{n}"] * 2, [f"v{n + 1}"], axis=0) for n in range(32)]
    given, values = (declared[:1], declared[1:31] if not options else [])
    output = helper.make_tensor_value_info("v32", TensorProto.FLOAT, ["N"])
    graph = helper.make_graph(nodes, "g", given, [output], value_info=values)
    path = tmp_path / "m.onnx"
    path.write_bytes(
        helper.make_model(graph, opset_imports=[helper.make_opsetid("", 14)], ir_version=8).SerializeToString()
    )
    assert run(["bound", str(path), "--box", "v0=[-1,1]", *options]) == (3 if options else 1)
    said = capsys.readouterr().err
    assert one_sentence(said.strip())
    assert ("the value 'v32' has 4294967296 elements" in said) == bool(options)
