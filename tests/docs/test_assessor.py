"""The four manipulations that the assessor's tutorial plants are found, as it says."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from urllib.parse import unquote

import pytest

from sonnx.cli.main import run
from tests.support.cases import spread
from tests.support.paths import ROOT

PAGE = (ROOT / "docs" / "tutorial-assessor.md").read_text("utf-8")


def changed_number(pack: Path) -> None:
    path = pack / "report.json"
    text = path.read_text("utf-8")
    assert '"number": 1,' in text or '"number": 1\n' in text
    path.write_text(text.replace('"number": 1', '"number": 2'), "utf-8")


def changed_question(pack: Path) -> None:
    """With its hash in the manifest."""
    question = min((pack / "theorems").iterdir())
    question.write_text(question.read_text("utf-8") + "; another line\n", "utf-8")
    manifest = json.loads((pack / "manifest.json").read_text("utf-8"))
    manifest["files"][f"theorems/{question.name}"] = hashlib.sha256(question.read_bytes()).hexdigest()
    (pack / "manifest.json").write_text(json.dumps(manifest, indent=1) + "\n", "utf-8")


def missing_page(pack: Path) -> None:
    (pack / "statement.html").unlink()


MANIPULATIONS: dict[str, tuple[Callable[[Path], None], str, str]] = {
    "a number": (
        changed_number,
        "conforming",
        "report.json was changed: its SHA-256 differs from that in the manifest",
    ),
    "a question": (changed_question, "conforming", "differs from a fresh run"),
    "a page": (missing_page, "conforming", "statement.html is listed in the manifest and missing"),
    "a model": (lambda pack: None, "controller", "audit.json: model differs"),
}
"""What is changed, the model that is given, and what is said."""


def test_the_page_says_what_is_said() -> None:
    assert [said for _, _, said in MANIPULATIONS.values() if said not in " ".join(PAGE.split())] == []


def test_each_manipulation_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("conforming", "controller"):
        shutil.copy(ROOT / "examples" / f"{name}.onnx", tmp_path)
    assert run(["audit", "conforming.onnx", "--output", "evidence"]) == 0
    links = {unquote(link) for link in re.findall(r'href="([^"#]+)"', Path("evidence/index.html").read_text("ascii"))}
    files = {path.relative_to("evidence").as_posix() for path in Path("evidence").rglob("*") if path.is_file()}
    assert links == files - {"index.html"}, "the first page leads to every file"
    for name in spread([*MANIPULATIONS], 2):
        manipulate, model, said = MANIPULATIONS[name]
        shutil.rmtree("copy", ignore_errors=True)
        shutil.copytree("evidence", "copy")
        manipulate(Path("copy"))
        capsys.readouterr()
        assert run(["audit", "--verify", "copy", f"{model}.onnx"]) == 1, name
        assert said in capsys.readouterr().out, name
