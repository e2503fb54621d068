"""What `[tool.sonnx]` of pyproject.toml states holds and is shown; several formats of one check."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sonnx.cli.main import run
from tests.support.editions import NEWEST
from tests.support.paths import ROOT

CONFORMING, EXPORTED = (str(ROOT / "examples" / f"{name}.onnx") for name in ("conforming", "as_exported"))
IGNORED = 'ignore = [{ rule = "graph-named", reason = "the exporter names no graph" }]\n'


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def table(folder: Path, text: str) -> None:
    (folder / "pyproject.toml").write_text(f'[project]\nname = "detector"\n{text}')


def report_of(folder: Path, *options: str) -> dict:
    run(["check", CONFORMING, "--format", "json=report.json", *options])
    [report] = json.loads((folder / "report.json").read_text())["reports"]
    return report


@pytest.mark.parametrize("text", ["", "[tool.other]\nsonnx = 1\n", '[tool]\nother = "sonnx"\n'])
def test_without_a_table_nothing_changes(text: str, folder: Path) -> None:
    before = report_of(folder)
    table(folder, text)
    assert report_of(folder) == before


def test_the_table_holds_and_every_format_shows_it(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table(folder, f'[tool.sonnx]\nedition = "2026-08"\n{IGNORED}')
    report = report_of(folder)
    assert report["edition"]["name"] == "2026-08"
    assert report["partial"] == "without graph-named"
    assert report["exit"] == 3
    for form in ("text", "markdown", "sarif", "junit", "html"):
        capsys.readouterr()
        assert run(["check", CONFORMING, "--format", form]) == 3
        assert "the exporter names no graph" in capsys.readouterr().out


def test_options_replace_keys_and_ignore_adds(folder: Path) -> None:
    table(folder, f'[tool.sonnx]\nedition = "2026-08"\n{IGNORED}')
    report = report_of(folder, "--edition", NEWEST, "--ignore", "no-dead-node")
    assert report["edition"]["name"] == NEWEST
    assert report["partial"] == "without graph-named, no-dead-node"


def test_a_tailoring_is_taken_from_the_table(folder: Path) -> None:
    (folder / "own.toml").write_text(f'name = "small"\nedition = "{NEWEST}"\nlargest.nodes = 0\n')
    table(folder, '[tool.sonnx]\ntailoring = "own.toml"\n')
    report = report_of(folder)
    assert report["tailoring"]["name"] == "small"
    assert report["verdict"] == "fail"


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("[tool.sonnx]\neditoin = 1\n", "editoin"),
        ("[tool]\nsonnx = 1\n", "tool.sonnx"),
        ('[tool.sonnx]\nignore = ["graph-named"]\n', "ignore"),
        ('[tool.sonnx]\nignore = [{ rule = "graph-named" }]\n', "reason"),
        ('[tool.sonnx]\nignore = [{ rule = "graph-named", reason = " " }]\n', "reason"),
        ('[tool.sonnx]\nignore = [{ rule = "graph-nmaed", reason = "x" }]\n', "graph-nmaed"),
        ('[tool.sonnx]\nedition = "1999-01"\n', "1999-01"),
        ("[tool.sonnx\n", "pyproject.toml"),
    ],
)
def test_a_wrong_table_is_one_sentence(text: str, named: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table(folder, text)
    assert run(["check", CONFORMING]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.count("\n") == 1
    assert named in said.err


def test_fix_takes_the_edition_and_says_so(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "m.onnx").write_bytes(Path(EXPORTED).read_bytes())
    table(folder, f'[tool.sonnx]\nedition = "2026-08"\n{IGNORED}')
    assert run(["check", "m.onnx", "--fix"]) == 1
    out = capsys.readouterr().out
    assert "2026-08" in out
    assert f"{Path('m.fixed.onnx')}: " in out
    assert "is ignored because" in out


def test_one_check_writes_several_formats(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--format", "sarif=a.sarif", "--format", "html=b.html", "--format", "concise"]
    assert run(["check", EXPORTED, *options]) == 1
    together = capsys.readouterr().out, (folder / "a.sarif").read_text(), (folder / "b.html").read_text()
    alone = []
    for form in ("concise", "sarif", "html"):
        run(["check", EXPORTED, "--format", form])
        alone.append(capsys.readouterr().out)
    assert list(together) == alone


@pytest.mark.parametrize(
    "options",
    [
        ("--format", "json", "--format", "html"),
        ("--format", "json=a", "--format", "html=./a"),
        ("--format", "json=a", "--output", "b"),
        ("--format", "json=a", "--format", "html=nowhere/b"),
        ("--format", "json="),
        ("--format", "jsn=a"),
        ("--format", "json=a", "--pages", "p"),
        ("--format", "text=a", "--fix"),
    ],
)
def test_places_that_reports_cannot_have(
    options: tuple[str, ...], folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    try:
        code = run(["check", CONFORMING, *options])
    except SystemExit as end:
        code = end.code
    said = capsys.readouterr()
    assert code == 2
    assert said.out == ""
    assert said.err.count("\n") == 1
    assert list(folder.iterdir()) == []
