"""`sonnx check --verified`: the program built from the specification, and stand-ins that say something else."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from sonnx.checker import extracted_check
from sonnx.cli.main import run
from tests.support.paths import ROOT

CONFORMING = ROOT / "examples" / "conforming.onnx"
FAILING = ROOT / "examples" / "as_exported.onnx"
needs_program = pytest.mark.skipif(not extracted_check.BUILT.exists(), reason="`make verified` builds the program")


def _run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str]:
    """The exit code of `sonnx check --verified`, and what it writes to standard error."""
    code = run(["check", "--verified", *arguments])
    return code, capsys.readouterr().err


@pytest.fixture
def stand_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A program that prints the file `said` beside it, and ends with the number on its first line."""
    program = tmp_path / extracted_check.PROGRAM
    program.write_text(
        f"#!{sys.executable}\nfrom pathlib import Path\n"
        "code, text = Path(__file__).with_name('said').read_text().split(chr(10), 1)\nprint(text, end='')\n"
        "raise SystemExit(int(code))\n"
    )
    program.chmod(0o755)
    monkeypatch.setattr(extracted_check, "BUILT", program)
    return tmp_path / "said"


@pytest.mark.parametrize(
    ("said", "code", "sentence"),
    [
        ("0\npass 2026-11 x\n", 0, "says the same of 1 of 1 files"),
        ("1\nfail 2026-11 x\n  fail acyclic graph\n", 4, "sonnx-verified ends with 1, the check with 0"),
        (
            "1\nfail 2026-11 x\n  fail operator-in-profile graph/node[1]\n",
            4,
            "sonnx-verified says fail of operator-in-profile at graph/node[1], the check does not",
        ),
        ("2\nunreadable 2026-11 x\n", 4, "sonnx-verified ends with 2, the check with 0"),
        (
            "0\nHello, world\n",
            2,
            "sonnx-verified prints a line that is neither a verdict nor a finding: 'Hello",
        ),
        ("0\n  fail acyclic graph\n", 2, "sonnx-verified prints a line that is neither a verdict nor a finding"),
        ("4\n", 2, "sonnx-verified failed with exit code 4"),
        ("2\n", 2, "sonnx-verified failed with exit code 2"),
    ],
)
def test_what_the_program_says(
    stand_in: Path, said: str, code: int, sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    stand_in.write_text(said)
    ended, err = _run(capsys, "--quiet", str(CONFORMING))
    assert ended == code
    assert sentence in err


def test_a_failure_that_the_program_does_not_have_is_named_with_its_place(
    stand_in: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    stand_in.write_text("1\nfail 2026-11 x\n")
    code, err = _run(capsys, "--quiet", str(FAILING))
    assert code == 4
    assert "the check says fail of " in err
    assert " at graph/" in err


def test_a_program_that_is_not_built(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(extracted_check, "BUILT", tmp_path / "none")
    monkeypatch.setenv("PATH", str(tmp_path))
    code, err = _run(capsys, str(CONFORMING))
    assert code == 2
    assert "sonnx-verified is not built: run make verified" in err


def test_a_program_on_path(
    stand_in: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    stand_in.write_text("0\npass 2026-11 x\n")
    monkeypatch.setattr(extracted_check, "BUILT", tmp_path / "none")
    monkeypatch.setenv("PATH", str(tmp_path))
    assert _run(capsys, "--quiet", str(CONFORMING))[0] == 0


@pytest.mark.parametrize(
    "options", [("--bind", "N=1"), ("--ignore", "no-dead-node"), ("--strict-versions",), ("--limit", "nodes=3")]
)
def test_options_that_change_the_verdict_are_excluded(
    stand_in: Path, options: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    code, err = _run(capsys, *options, str(CONFORMING))
    assert code == 2
    assert f"--verified excludes {options[0]}" in err


def test_standard_input_is_excluded(stand_in: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert _run(capsys, "-")[0] == 2


@needs_program
@pytest.mark.parametrize("edition", ["2025-10", "2026-08", "2026-11"])
def test_the_program_says_the_same_of_files_of_all_kinds(
    edition: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    damaged = tmp_path / "damaged.onnx"
    damaged.write_bytes(CONFORMING.read_bytes()[:-7])
    code, err = _run(capsys, "--quiet", "--edition", edition, str(ROOT / "examples"), str(damaged))
    assert code == 2, err  # one file is not readable
    said = re.search(r"says the same of (\d+) of (\d+) files", err)
    assert said is not None
    assert said[1] == said[2]
