"""One of the two models from standard input."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from sonnx.cli.main import run
from tests.support.paths import ROOT

MODEL, OTHER = (ROOT / "tests" / "models" / name for name in ("cnn.onnx", "cnn_torchscript.onnx"))
NAMES = ["--map", "image=input.1,softmax=20"]


class Piped(io.StringIO):
    """Standard input with these bytes."""

    def __init__(self, data: bytes) -> None:
        super().__init__()
        self.buffer = io.BytesIO(data)


@pytest.mark.parametrize("command", ["equivalent", "diff"])
@pytest.mark.parametrize("first", [True, False])
def test_one_model_is_piped(
    command: str, first: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdin", Piped((MODEL if first else OTHER).read_bytes()))
    files = ["-", str(OTHER)] if first else [str(MODEL), "-"]
    code = run([command, *files, *NAMES])
    headline = capsys.readouterr().out.partition("\n")[0]
    called = "standard input and cnn_torchscript.onnx" if first else "cnn.onnx and standard input"
    assert headline.startswith(called)
    assert "identical" in headline
    assert code == (0 if command == "equivalent" else 1)


@pytest.mark.parametrize("data", [b"", b"text", b"\x08"])
def test_what_is_not_a_model(data: bytes, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("sys.stdin", Piped(data))
    assert run(["equivalent", "-", str(OTHER)]) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_both_cannot_be_piped(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert run(["equivalent", "-", "-"]) == 2
    assert "both models cannot come from standard input" in capsys.readouterr().err
