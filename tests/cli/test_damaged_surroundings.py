"""What stands around a model: option values, files of a project, journals, and streams that are odd or damaged."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from google.protobuf.message import DecodeError

from sonnx.cli.main import run
from sonnx.model import reader
from tests.support.cases import spread
from tests.support.invariants import GOOD, one_sentence

DEEP = "[" * 100_000


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "m.onnx"
    path.write_bytes(GOOD)
    return path


def refused(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """The one sentence of a command that is refused."""
    assert run(list(arguments)) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert one_sentence(said.err.strip())
    return said.err


@pytest.mark.parametrize("option", ["--tailoring", "--deviations", "--resume"])
@pytest.mark.parametrize("kind", ["device", "pipe"])
def test_a_file_without_an_end_is_refused(
    option: str, kind: str, model: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = Path("/dev/zero") if kind == "device" else model.with_name("pipe")
    if kind == "pipe":
        os.mkfifo(path)
    assert "not a regular file" in refused(capsys, "check", str(model), option, str(path))


@pytest.mark.parametrize("option", ["--select", "--ignore", "--edition"])
def test_an_empty_value_is_refused(option: str, model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """An unset variable of a shell must not mean the default."""
    refused(capsys, "check", str(model), option, "")


def test_a_report_does_not_overwrite_the_model(model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model.with_name("link.onnx").symlink_to(model)
    said = refused(capsys, "check", str(model), "--output", str(model.with_name("link.onnx")))
    assert "is a file that the command reads" in said
    assert model.read_bytes() == GOOD


@pytest.mark.parametrize("form", ["text", "json", "html"])
def test_a_report_names_the_file_as_the_command_line_does(
    form: str, model: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """It has no other path."""
    monkeypatch.chdir(model.parent)
    run(["check", "./m.onnx", "--format", form])
    said = capsys.readouterr().out
    assert "./m.onnx" in said
    assert str(model.parent) not in said


def test_a_number_of_5000_digits_is_refused(model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    refused(capsys, "check", str(model), "--bind", f"N={'9' * 5000}")


@pytest.fixture(scope="module")
def journal_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model, what a check says of it, and its journal under another name."""
    folder = tmp_path_factory.mktemp("journal")
    (folder / "m.onnx").write_bytes(GOOD)
    with contextlib.chdir(folder), pytest.MonkeyPatch.context() as patch:
        patch.setattr("sonnx.cli.commands.check.announced_forecast", lambda reports, file: None)
        assert run(["check", "m.onnx", "--resume", "journal", "--output", "said"]) == 1
    (folder / "journal").rename(folder / "whole")
    return folder


def _answer(value: object) -> Callable[[dict[str, object]], str]:
    return lambda entry: json.dumps({**entry, "answer": value})


@pytest.mark.parametrize(
    "damaged",
    [
        _answer({}), _answer(None), _answer({"report": {}}), _answer({"report": None, "other_files": False}),
        _answer({"why": 77, "sentence": "x"}), lambda entry: json.dumps({**entry, "task": [1]}), lambda entry: DEEP,
    ],
)  # fmt: skip
def test_a_damaged_line_of_a_journal_is_done_again(
    damaged: Callable[[dict[str, object]], str], journal_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(journal_folder)
    command = ["check", "m.onnx", "--resume", "journal", "--output", "said"]
    said = Path("said").read_text()
    head, line = Path("whole").read_text().splitlines()
    Path("journal").write_text(f"{head}\n{damaged(json.loads(line))}\n")
    assert run(command) == 1
    assert Path("said").read_text() == said


def test_a_deep_file_is_not_a_journal(model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    journal = model.with_name("journal")
    journal.write_text(f"{DEEP}\n")
    assert "is not a --resume journal" in refused(capsys, "check", str(model), "--resume", str(journal))
    assert journal.read_text() == f"{DEEP}\n"


def test_a_deep_audit_file_is_a_damaged_pack(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "audit.json").write_text(DEEP)
    assert run(["audit", "--verify", str(tmp_path)]) in (1, 2)
    said = capsys.readouterr()
    assert "the tool failed" not in said.err


def test_a_closed_output_is_no_failure(model: Path) -> None:
    command = f'"{sys.executable}" -m sonnx check "{model}" >&-'
    done = subprocess.run(["sh", "-c", command], check=False, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (1, "")


def test_children_import_nothing_from_the_working_folder(model: Path) -> None:
    """`python -m` puts the folder on the path of the parent."""
    trap = model.with_name("resource.py")
    trap.write_text(f"open({str(model.with_name('imported'))!r}, 'w')")
    again = model.with_name("n.onnx")
    again.write_bytes(GOOD)
    command = [sys.executable, "-m", "sonnx", "check", model.name, again.name, "--jobs", "1"]
    done = subprocess.run(command, cwd=model.parent, check=False, capture_output=True, text=True)
    assert done.returncode == 1
    assert not model.with_name("imported").exists()


def test_no_memory_says_nothing_of_the_model(monkeypatch: pytest.MonkeyPatch) -> None:
    """Protobuf reports a failed allocation like damaged bytes; a child with a bound must not call the file damaged."""

    class Classes:
        class ModelProto:
            DESCRIPTOR = reader.message_classes().ModelProto.DESCRIPTOR

            @staticmethod
            def FromString(data: bytes) -> None:  # noqa: N802  protobuf's name
                raise DecodeError("Error parsing message: Arena alloc failed")

    monkeypatch.setattr(reader, "message_classes", lambda: Classes)
    with pytest.raises(MemoryError):
        reader.read(GOOD)


COMMANDS = {
    "check": ("check", "m.onnx"),
    "check of several": ("check", "m.onnx", "missing.onnx"),
    "check of no file": ("check", "missing.onnx"),
    "run": ("run", "m.onnx", "--random"),
    "run of no file": ("run", "missing.onnx", "--random"),
    "a wrong option": ("check", "--wrong"),
}
DRIVER = """
import os, sys
os.dup2(os.open(sys.argv.pop(2), os.O_WRONLY), int(sys.argv.pop(1)))
from sonnx.__main__ import main
code = main()
os._exit(code)
"""
"""Runs the program with a descriptor that is a file; the exit code is not what Python makes of an error at its end."""


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="the system has no device that is full")
@pytest.mark.parametrize("name", spread(COMMANDS, 3))
def test_messages_that_cannot_be_written_change_no_exit_code(name: str, model: Path) -> None:
    """An exit code of Python's own, 1, would say that a rule fails; with the report on a full disk it is 2."""
    codes = {}
    for descriptor, path in ((2, os.devnull), (2, "/dev/full"), (1, "/dev/full")):
        words = [sys.executable, "-c", DRIVER, str(descriptor), path, *COMMANDS[name]]
        done = subprocess.run(words, cwd=model.parent, check=False, stdout=-3, stderr=subprocess.PIPE)
        codes[descriptor, path] = done.returncode
        assert b"Traceback" not in done.stderr
    assert codes[2, "/dev/full"] == codes[2, os.devnull] != 4
    assert codes[1, "/dev/full"] == 2


def test_what_nobody_reads_is_no_pass(model: Path) -> None:
    """The reader of a pipe has ended, as that of `| head -1` does."""
    for words in (COMMANDS["check"], COMMANDS["run"]):
        reader_end, writer = os.pipe()
        os.close(reader_end)
        call = [sys.executable, "-m", "sonnx", *words]
        done = subprocess.run(call, cwd=model.parent, check=False, stdout=writer, stderr=subprocess.PIPE)
        os.close(writer)
        assert done.returncode == 141
        assert b"Traceback" not in done.stderr
