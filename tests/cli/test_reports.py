"""Reports of commands in several formats, and the files they may go to."""

from __future__ import annotations

import json
from pathlib import Path

import onnx.parser
import pytest

from sonnx.cli.main import run
from tests.cli.test_file_names import MODEL, PROPERTY

pytestmark = pytest.mark.usefixtures("runtimes_in_this_process")
"""What is said of a runtime is tested here, not what one may do to its process."""
LINES = {
    "bound": "bound m.onnx --box x=[-1,1]",
    "check": "check m.onnx",
    "compare": "compare m.onnx --runtime reference --random 1 --class-runs 2",
    "diff": "diff m.onnx n.onnx",
    "rules": "rules --since 2025-11 m.onnx",
    "equivalent": "equivalent m.onnx n.onnx",
    "prove": "prove m.onnx",
    "verify": "verify m.onnx p.toml",
}
REFUSED = {
    "--format text --format json": "writes two reports to standard output",
    "--format text=r --format json=r": "writes two reports to 'r'",
    "--format json=r --output o": "--output has no report to write",
    "--format json=m.onnx": "'m.onnx' is a file that the command reads",
    "--output m.onnx": "'m.onnx' is a file that the command reads",
    "--format json=missing/r": "missing/r: No such file or directory",
    "--format json=": "invalid choice: 'json='",
}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("m.onnx", "n.onnx"):
        Path(name).write_bytes(onnx.parser.parse_model(MODEL).SerializeToString())
    Path("p.toml").write_text(PROPERTY)


@pytest.mark.parametrize("command", LINES)
def test_one_run_writes_several_reports(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    code = run([*LINES[command].split(), "--format", "json=r.json", "--format", "markdown"])
    markdown = capsys.readouterr().out
    assert run([*LINES[command].split(), "--format", "markdown"]) == code
    assert capsys.readouterr().out == markdown
    assert run([*LINES[command].split(), "--format", "json", "--output", "other.json"]) == code
    assert json.loads(Path("r.json").read_text()) == json.loads(Path("other.json").read_text())


@pytest.mark.parametrize("command", LINES)
def test_no_report_is_written_over_a_model_or_another_report(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    before = {path: path.read_bytes() for path in Path().iterdir()}
    for arguments, sentence in REFUSED.items():
        try:
            code = run([*LINES[command].split(), *arguments.split()])
        except SystemExit as stop:
            code = int(stop.code or 0)
        streams = capsys.readouterr()
        assert (code, streams.out) == (2, "")
        assert sentence in streams.err
    assert {path: path.read_bytes() for path in Path().iterdir()} == before


def test_a_report_on_a_model_that_does_not_conform_has_the_formats_of_the_command(
    capsys: pytest.CaptureFixture[str],
) -> None:
    Path("m.onnx").write_bytes(onnx.parser.parse_model(MODEL.replace("float[2] y", "float[3] y")).SerializeToString())
    assert run([*LINES["bound"].split(), "--format", "json=r.json", "--format", "text"]) == 1
    assert "m.onnx: does not conform" in capsys.readouterr().out
    assert json.loads(Path("r.json").read_text())["reports"][0]["verdict"] == "fail"
