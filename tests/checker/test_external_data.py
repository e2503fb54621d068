"""Files of external data: asked of the file system by a check of a path, whatever way the path takes."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from onnx import TensorProto, helper

import sonnx
from sonnx.cli.main import run
from sonnx.model import external_data


@pytest.fixture
def model(tmp_path: Path) -> Callable[..., Path]:
    """Writes a model whose constant of two floats stands at a location; beside it are w.bin and a link outside."""
    folder = tmp_path / "models"
    folder.mkdir()
    (folder / "w.bin").write_bytes(bytes(8))
    (tmp_path / "secret").write_bytes(bytes(8))
    (folder / "link").symlink_to(tmp_path / "secret")

    def write(location: str, **entries: int) -> Path:
        output = helper.make_tensor_value_info("y", TensorProto.FLOAT, [2])
        graph = helper.make_graph([helper.make_node("Relu", ["w"], ["y"])], "g", [], [output])
        made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 14)], ir_version=8)
        tensor = made.graph.initializer.add(name="w", data_type=TensorProto.FLOAT, data_location=1, dims=[2])
        for key, value in {"location": location, **entries}.items():
            tensor.external_data.add(key=key, value=str(value))
        (folder / "m.onnx").write_bytes(made.SerializeToString())
        return folder / "m.onnx"

    return write


BROKEN = [
    ("gone.bin", {}, "the file 'gone.bin' does not exist"),
    ("link", {}, "the file 'link' is not in the folder of the model"),
    ("../secret", {}, "the location is '../secret'"),
    ("w.bin", {"offset": 4, "length": 8}, "the file 'w.bin' has 8 bytes, offset and length need 12"),
]


@pytest.mark.parametrize(("location", "entries", "said"), BROKEN, ids=[each[2] for each in BROKEN])
def test_a_file_that_cannot_be_used_fails(model, location, entries, said, capsys):
    path = model(location, **entries)
    for hashed in (False, True):
        [finding] = sonnx.check(path, hashed=hashed).findings
        assert (finding.rule, str(finding.verdict), finding.actual) == ("external-data", "fail", said)
    for options in ([], [str(path), "--jobs", "2"]):
        assert run(["check", str(path), *options, "--format", "json"]) == 1
        for report in json.loads(capsys.readouterr().out)["reports"]:
            assert [(each["rule"], each["message"]) for each in report["findings"]] == [("external-data", said)]


def test_bytes_have_no_folder(model):
    path = model("w.bin", length=8)
    assert sonnx.check(path).verdict == "pass"
    report = sonnx.check(path.read_bytes())
    assert (report.verdict, report.exit_code()) == ("not-checked", 3)
    assert any("external data are not read" in note for note in report.notes)


@pytest.mark.parametrize("location", ["../secret", "/secret", "C:/w.bin", "a\\..\\..\\secret", ""])
def test_nothing_outside_the_folder_is_asked_for(location, tmp_path, monkeypatch):
    monkeypatch.setattr(external_data, "resolve_location", lambda *_: pytest.fail("the file system was asked"))
    assert external_data.file_size(tmp_path, location) == external_data.OUTSIDE


def test_a_resumed_run_asks_again(model, tmp_path, capsys):
    path, journal = model("w.bin"), tmp_path / "journal"
    assert run(["check", str(path), "--resume", str(journal)]) == 0
    (path.parent / "w.bin").unlink()
    assert run(["check", str(path), "--resume", str(journal)]) == 1
    assert "does not exist" in capsys.readouterr().out
