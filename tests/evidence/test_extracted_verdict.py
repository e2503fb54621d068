"""An evidence pack has what the program extracted from the specification says, where that program is."""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from sonnx.checker import extracted_check
from sonnx.cli.main import run
from tests.support.paths import ROOT

MODEL = ROOT / "examples" / "conforming.onnx"
SAME = "0\npass 2026-11 x\n"
OTHER = "1\nfail 2026-11 x\n  fail no-dead-node graph/node[0]\n"
Says = Callable[[str], Path]


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Says:
    """Puts a program in the place of the extracted one: it ends with the number on the first line of a text."""

    def put(said: str) -> Path:
        path = tmp_path / extracted_check.PROGRAM
        code, text = said.split("\n", 1)
        path.write_text(f"#!{sys.executable}\nprint({text!r}.rstrip() + chr(10), end='')\nraise SystemExit({code})\n")
        path.chmod(0o755)
        monkeypatch.setattr(extracted_check, "BUILT", path)
        return path

    return put


@pytest.fixture
def no_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Takes the program away."""

    def take() -> None:
        monkeypatch.setattr(extracted_check, "BUILT", tmp_path / "none")
        monkeypatch.setenv("PATH", str(tmp_path / "nothing"))

    return take


def _pack(folder: Path) -> tuple[int, dict[str, object]]:
    code = run(["audit", str(MODEL), "--output", str(folder)])
    return code, json.loads((folder / "audit.json").read_text())["extracted"]


def _verified(folder: Path, capsys: pytest.CaptureFixture[str]) -> tuple[int, str]:
    capsys.readouterr()
    code = run(["audit", "--verify", str(folder)])
    return code, capsys.readouterr().out


def test_a_pack_has_the_output_and_the_digest(
    program: Says, no_program: Callable[[], None], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, folder = program(SAME), tmp_path / "pack"
    code, about = _pack(folder)
    text = (folder / "sonnx-verified.txt").read_bytes()
    assert (code, text) == (0, b"pass 2026-11 model\n")
    digests = [hashlib.sha256(content).hexdigest() for content in (path.read_bytes(), text)]
    assert about == {"program": digests[0], "output": digests[1], "exit": 0, "differences": []}
    assert _verified(folder, capsys)[0] == 0
    no_program()
    code, out = _verified(folder, capsys)
    assert code == 3
    assert "environment differs: sonnx-verified is not here" in out
    program(SAME + " ")  # another program with the same output
    code, out = _verified(folder, capsys)
    assert code == 3
    assert "sonnx-verified is another program here than there" in out
    program(OTHER)
    code, out = _verified(folder, capsys)
    assert code == 1
    assert "sonnx-verified.txt differs from a fresh run" in out


def test_an_output_that_was_changed_is_found_without_the_program(
    program: Says, no_program: Callable[[], None], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    program(SAME)
    folder = tmp_path / "pack"
    _pack(folder)
    text = b"fail 2026-11 model\n"
    (folder / "sonnx-verified.txt").write_bytes(text)
    manifest = json.loads((folder / "manifest.json").read_text())
    manifest["files"]["sonnx-verified.txt"] = hashlib.sha256(text).hexdigest()
    (folder / "manifest.json").write_text(json.dumps(manifest))
    no_program()
    code, out = _verified(folder, capsys)
    assert code == 1
    assert "extracted differs" in out


def test_a_difference_is_shown_and_the_tool_has_failed(program: Says, tmp_path: Path) -> None:
    program(OTHER)
    code, about = _pack(tmp_path / "pack")
    assert code == 4
    [first, second] = about["differences"]  # type: ignore[misc]
    assert first == "sonnx-verified ends with 1, the check with 0"
    assert second == "sonnx-verified says fail of no-dead-node at the file, the check does not"
    assert second in (tmp_path / "pack" / "index.html").read_text()


def test_without_the_program_a_pack_says_nothing(no_program: Callable[[], None], tmp_path: Path) -> None:
    no_program()
    code, about = _pack(tmp_path / "pack")
    assert (code, about) == (0, None)
    assert not (tmp_path / "pack" / "sonnx-verified.txt").exists()
