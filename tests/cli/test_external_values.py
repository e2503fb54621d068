"""`fix` of models whose values stand in other files, and the memory that a run needs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, external_data_helper, helper, numpy_helper

from sonnx import check, fix, run
from sonnx.cli.main import run as command

ROWS, COLUMNS = 64, 32
WEIGHTS = np.arange(ROWS * COLUMNS, dtype=np.float32).reshape(ROWS, COLUMNS)


def message(constants: list[TensorProto]) -> onnx.ModelProto:
    """A model outside the profile: an Identity, and values that are not declared."""
    nodes = [
        helper.make_node("Identity", ["x"], ["i"]),
        helper.make_node("Relu", ["i"], ["r"]),
        helper.make_node("MatMul", ["r", "w"], ["y"]),
    ]
    infos = [helper.make_tensor_value_info(*each) for each in (("x", 1, [1, ROWS]), ("y", 1, [1, COLUMNS]))]
    graph = helper.make_graph(nodes, "g", infos[:1], infos[1:], constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 14)], ir_version=8)


@pytest.fixture
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    made = message([numpy_helper.from_array(WEIGHTS, "w")])
    onnx.save(made, "m.onnx", save_as_external_data=True, location="m.bin", size_threshold=0)
    return tmp_path / "m.onnx"


def test_the_values_stand_beside_the_result(model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = (model.read_bytes(), model.with_name("m.bin").read_bytes())
    assert command(["fix", "m.onnx", "-o", "out.onnx"]) == 0
    assert "validated" in capsys.readouterr().out
    assert command(["check", "out.onnx"]) == 0
    assert (model.read_bytes(), model.with_name("m.bin").read_bytes()) == before
    made = onnx.load("out.onnx")  # reads both files
    assert not any(external_data_helper.uses_external_data(each) for each in made.graph.initializer)
    [weights] = [each for each in made.graph.initializer if each.name == "w"]
    assert numpy_helper.to_array(weights).tobytes() == WEIGHTS.tobytes()
    assert sorted(path.name for path in Path().iterdir()) == ["m.bin", "m.onnx", "out.onnx", "out.onnx.data"]
    given = {"x": np.ones((1, ROWS), np.float32)}
    assert np.array_equal(run("out.onnx", given)["y"], WEIGHTS.sum(0, keepdims=True))


def test_the_library_writes_both(model: Path) -> None:
    result = fix("m.onnx")
    assert result.values is not None
    assert len(result.model_bytes()) < WEIGHTS.nbytes
    result.write(Path("n.onnx"))
    assert check("n.onnx").exit_code() == 0
    assert Path("m.fixed.onnx.data").exists()


def test_a_file_of_the_original_is_never_overwritten(model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made = message([numpy_helper.from_array(WEIGHTS, "w")])
    onnx.save(made, "n.onnx", save_as_external_data=True, location="out.onnx.data", size_threshold=0)
    before = Path("out.onnx.data").read_bytes()
    for options in ([], ["--force"]):
        assert command(["fix", "n.onnx", "-o", "out.onnx", *options]) == 2
        assert "out.onnx.data" in capsys.readouterr().err
    assert Path("out.onnx.data").read_bytes() == before
    assert not Path("out.onnx").exists()


def test_another_file_needs_force(model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("out.onnx.data").write_bytes(b"of somebody")
    assert command(["fix", "m.onnx", "-o", "out.onnx"]) == 2
    assert "'out.onnx.data' exists; --force overwrites it" in capsys.readouterr().err
    assert Path("out.onnx.data").read_bytes() == b"of somebody"
    assert command(["fix", "m.onnx", "-o", "out.onnx", "--force"]) == 0


def test_nothing_is_half_written(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("sonnx.model.values_file.ValuesFile.write", full)
    assert command(["fix", "m.onnx", "-o", "out.onnx"]) == 2
    assert sorted(path.name for path in Path().iterdir()) == ["m.bin", "m.onnx"]


def test_values_that_cannot_be_read_are_named(model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("m.bin").unlink()
    assert command(["fix", "m.onnx"]) == 2
    assert "'m.bin'" in capsys.readouterr().err
    with pytest.raises(ValueError, match="folder of the model is not known"):
        fix(model.read_bytes())


def test_zeros_are_a_hole_in_the_file(model: Path) -> None:
    size = 1 << 26
    weights = TensorProto(name="w", data_type=1, dims=[ROWS, COLUMNS], data_location=TensorProto.EXTERNAL)
    unused = TensorProto(name="u", data_type=1, dims=[size // 4], data_location=TensorProto.EXTERNAL)
    for tensor, at, length in ((weights, size, WEIGHTS.nbytes), (unused, 0, size)):
        for key, value in (("location", "z.bin"), ("offset", str(at)), ("length", str(length))):
            tensor.external_data.add(key=key, value=value)
    made = message([weights, unused])
    made.graph.node.append(helper.make_node("Relu", ["u"], ["v"]))
    made.graph.output.append(helper.make_tensor_value_info("v", 1, [size // 4]))
    Path("z.onnx").write_bytes(made.SerializeToString())
    with Path("z.bin").open("wb") as file:
        file.truncate(size)
        file.seek(size)
        file.write(WEIGHTS.tobytes())
    assert command(["fix", "z.onnx", "--samples", "0"]) == 0
    written = Path("z.fixed.onnx.data").stat()
    assert written.st_size >= size + WEIGHTS.nbytes
    assert written.st_blocks * 512 < size


def test_a_run_that_cannot_fit_is_refused_before_it_starts(model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    wide = 1 << 14
    infos = {"a": [wide, 1], "b": [1, wide], "s": [wide, wide], "y": [wide, wide]}
    values = {name: helper.make_tensor_value_info(name, 1, shape) for name, shape in infos.items()}
    nodes = [helper.make_node("Add", ["a", "b"], ["s"]), helper.make_node("Relu", ["s"], ["y"])]
    graph = helper.make_graph(nodes, "g", [values["a"], values["b"]], [values["y"]], value_info=[values["s"]])
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 14)], ir_version=8)
    Path("w.onnx").write_bytes(made.SerializeToString())
    assert command(["run", "w.onnx", "--random", "--memory", "1900"]) == 3
    assert "take at least 2048 megabytes at one time, more than the 1900 allowed" in capsys.readouterr().err
