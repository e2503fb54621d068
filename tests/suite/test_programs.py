"""Programs that print rubbish, hang, die, or write something else: a result each, and never the end of the run."""

from __future__ import annotations

import errno
import os
import re
import shlex
import shutil
import subprocess
import sys
import time
import zipfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import onnx
import pytest
from msgspec import structs
from onnx.reference import ReferenceEvaluator

from sonnx.api.suites import describe_suite
from sonnx.base.errors import BadInput, UsageError
from sonnx.base.files import sha256
from sonnx.base.reported import json_text
from sonnx.suite import archive, standalone
from sonnx.suite.archive import StoredCase, Suite, archive_of, read_cases, read_suite
from sonnx.suite.making import make_suite
from sonnx.suite.options import MakeOptions, RunOptions
from sonnx.suite.report import SuiteReport
from sonnx.suite.result import SuiteRun, message_and_details
from sonnx.suite.runs import judge_outputs, run_suite
from tests.support.editions import NEWEST
from tests.support.processes import still_running


@pytest.fixture(scope="module")
def made(constant: Suite) -> Suite:
    return constant


@pytest.fixture(scope="module")
def suite(made: Suite, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A suite of two cases, of one data set each."""
    found = [each for each in read_cases(made, "Constant") if isinstance(each, StoredCase) and each.case.sets][:2]
    assert {len(each.case.sets) for each in found} == {1}
    folder = tmp_path_factory.mktemp("small") / "suite"
    folder.mkdir()
    content = archive_of(found)
    (folder / "Constant.zip").write_bytes(content)
    [part] = made.parts
    parts = (structs.replace(part, positive=len(found), negative=0, sets=len(found)),)
    smaller = structs.replace(made, parts=parts, archives={"Constant.zip": sha256(content)})
    (folder / "suite.json").write_text(json_text(smaller), "utf-8")
    assert {each.case.edition for each in found} == {NEWEST}
    return folder


@pytest.fixture(scope="module")
def ran(suite: Path) -> SuiteRun:
    return run_suite(suite, RunOptions(runtime="reference"))


def program(script: str) -> str:
    return f"sh -c {shlex.quote(script)} prog {{model}} {{outputs}}"


@cache
def run_of(suite: Path, script: str) -> SuiteRun:
    """What a suite reports of a program that is a script."""
    return run_suite(suite, RunOptions(program=program(script), timeout=1))


OTHER_TYPE, OTHER_SHAPE = ("'" + "".join(f"\\{byte:03o}" for byte in data) + "'" for data in (
    b"\x08\x01\x10\x0e\x4a\x08" + bytes(8), b"\x08\x07\x10\x0b\x4a\x38" + bytes(56)
))  # fmt: skip
"""Tensors of complex64 [1] and of double [7], as words of printf."""


@pytest.mark.parametrize(
    ("script", "kind", "said"),
    [
        (
            "printf '%70000s' x; printf '\\377\\377' > \"$2/output_0.pb\"",
            "fault",
            "it wrote a malformed file: 'output_0.pb'",
        ),
        ("true", "missing output", ""),
        (f'printf {OTHER_TYPE} > "$2/output_0.pb"', "type", "complex64"),
        (f'printf {OTHER_SHAPE} > "$2/output_0.pb"', "type or shape", ""),
        ('mkfifo "$2/output_0.pb"', "fault", "not a file of an output"),
        ('ln -s /dev/zero "$2/output_0.pb"', "fault", "not a file of an output"),
        ('echo > "$2/output_x.pb"', "fault", "not a file of an output"),
        ('rm -r "$2"', "missing output", ""),
        ("kill -SEGV $$", "fault", "signal 11"),
        ("exec sleep 600", "fault", "did not end within 1 second"),
        ("sleep 600 & wait", "fault", "did not end within 1 second"),
        ("echo first >&2; echo no >&2; exit 3", "refused", "exit code 3: no"),
        ("exit 3", "refused", "exit code 3, nothing on standard error"),
        ('truncate -s 70M "$2/output_0.pb"', "fault", "it wrote 'output_0.pb' with more than 67108864 bytes"),
    ],
)
def test_what_a_program_does_is_a_result(suite: Path, script: str, kind: str, said: str) -> None:
    found = run_of(suite, script)
    assert {each.kind for each in found.deviations} <= {*kind.split(" or ")}
    assert sum(each.number for each in found.deviations) == 2
    assert all(said in each.difference.actual for each in found.deviations)
    assert "/tmp" not in found.to_json().replace(str(suite), "")
    assert found.exit_code == (3 if kind == "refused" else 1)


@pytest.mark.parametrize(
    ("script", "sentence"),
    [
        ("exit 3", "the call is refused: exit code 3, nothing on standard error"),
        ("kill -SEGV $$", "the run failed: it ended with signal 11 (Segmentation fault)"),
        ("true", "output 0 is missing"),
        (f'printf {OTHER_TYPE} > "$2/output_0.pb"', "output 0 has the type complex64, expected "),
    ],
)
def test_a_report_says_what_came_in_a_sentence(suite: Path, script: str, sentence: str) -> None:
    found = run_of(suite, script)
    assert all(sentence in message_and_details(deviation)[0] for deviation in found.deviations)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("sh -c 'exit {model} {outputs}", "--command cannot be split into words: no closing quotation"),
        ("prog {model}", "--command lacks {outputs}"),
    ],
)
def test_a_command_that_cannot_be_used_is_refused(suite: Path, words: str, said: str) -> None:
    with pytest.raises(UsageError, match=re.escape(said)):
        run_suite(suite, RunOptions(program=words))
    with pytest.raises(UsageError, match="exclude"):
        run_suite(suite, RunOptions(runtime="reference", program=program("true")))


def test_a_program_that_is_not_there_ends_the_run(suite: Path) -> None:
    with pytest.raises(UsageError, match="'/nowhere/prog' cannot be started"):
        run_suite(suite, RunOptions(program="/nowhere/prog {model} {outputs}"))


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have no such limit")
def test_a_program_has_a_limit_of_memory(suite: Path) -> None:
    words = f"{sys.executable} -c 'x = bytearray(1 << 30)' {{model}} {{outputs}}"
    found = run_suite(suite, RunOptions(program=words, memory=512))
    assert {each.difference.actual for each in found.deviations} == {"exit code 1: MemoryError"}


@pytest.mark.skipif(sys.platform != "linux", reason="other systems do not end it")
def test_a_program_and_its_children_end_with_the_command(suite: Path, tmp_path: Path) -> None:
    script = f'sleep 600 & echo $$ $! > "{tmp_path}/pids.new"; mv "{tmp_path}/pids.new" "{tmp_path}/pids"; wait'
    command = [sys.executable, "-m", "sonnx", "suite", "run", str(suite), "--command", program(script)]
    started = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    pids = tmp_path / "pids"
    while not pids.exists() and started.poll() is None:
        time.sleep(0.05)
    started.kill()
    started.wait()
    listed = [int(each) for each in pids.read_text().split()]
    assert not still_running(listed)


def test_every_case_that_is_changed_or_incomplete_is_named(suite: Path, tmp_path: Path) -> None:
    folder = tmp_path / "suite"
    folder.mkdir()
    with zipfile.ZipFile(suite / "Constant.zip") as old, zipfile.ZipFile(folder / "Constant.zip", "w") as new:
        first = old.namelist()[0].partition("/")[0]
        for name in old.namelist():
            content = old.read(name)
            if name == f"{first}/model.onnx":
                content += b"\0"
            new.writestr(name, content)
        new.writestr("third/model.onnx", b"")
    (folder / "suite.json").write_bytes((suite / "suite.json").read_bytes())
    with pytest.raises(BadInput) as raised:
        run_suite(folder, RunOptions(runtime="reference"))
    for problem in (
        f"{first}: model.onnx was changed",
        "third: case.json is missing",
        "Constant.zip is not the archive that suite.json describes",
        "conforming cases, suite.json declares",
    ):
        assert problem in str(raised.value)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, "Constant.zip is missing"),
        (b"", "'Constant.zip' is not an archive of cases: File is not a zip file"),
        (archive_of(()), "Constant.zip is not the archive that suite.json describes"),
    ],
)
def test_an_archive_that_is_missing_or_changed_is_named(
    suite: Path, tmp_path: Path, content: bytes | None, said: str
) -> None:
    (tmp_path / "suite.json").write_bytes((suite / "suite.json").read_bytes())
    if content is not None:
        (tmp_path / "Constant.zip").write_bytes(content)
    for action in (
        lambda: run_suite(tmp_path, RunOptions(runtime="reference")),
        lambda: judge_outputs(tmp_path, tmp_path),
        lambda: describe_suite(tmp_path),
    ):
        with pytest.raises(BadInput, match=re.escape(said)):
            action()


def test_a_suite_with_fewer_cases_than_it_declares_is_refused(suite: Path, tmp_path: Path) -> None:
    """Also where the hash in suite.json is that of the smaller archive; an archive more is named, too."""
    declared = read_suite(suite)
    content = archive_of(each for each in [*read_cases(declared, "Constant")][:1] if isinstance(each, StoredCase))
    changed = structs.replace(declared, archives={"Constant.zip": sha256(content)})
    (tmp_path / "suite.json").write_text(json_text(changed), "utf-8")
    (tmp_path / "Constant.zip").write_bytes(content)
    (tmp_path / "Other.zip").write_bytes(content)
    with pytest.raises(BadInput) as raised:
        describe_suite(tmp_path)
    assert "Other.zip is not declared in suite.json" in str(raised.value)
    assert "suite.json declares" in str(raised.value)


def test_an_archive_that_is_too_large_is_not_read(suite: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("suite.json", "Constant.zip"):
        (tmp_path / name).write_bytes((suite / name).read_bytes())
    monkeypatch.setattr(archive, "MAX_ARCHIVE", (tmp_path / "suite.json").stat().st_size)
    description = archive.read_suite(tmp_path)
    size = (tmp_path / "Constant.zip").stat().st_size
    monkeypatch.setattr(archive, "MAX_ARCHIVE", size)
    assert [*read_cases(description, "Constant")] == [f"Constant.zip has files of more than {size} bytes in all"]


TOOL = """#!{python}
import sys
from pathlib import Path
(Path(sys.argv[2]) / "output_0.pb").write_bytes({content!r})
"""
COMMANDS = {
    "the program": "{program} {{model}} {{outputs}}",
    "a script": "{python} {program} {{model}} {{outputs}}",
    "a file behind a word of an option": 'env SCRIPT={program} sh -c \'"$SCRIPT" "$0" "$1"\' {{model}} {{outputs}}',
    "a file in a script of a shell": 'sh -c \'{program} "$0" "$1"\' {{model}} {{outputs}}',
}


@pytest.mark.parametrize("name", COMMANDS)
def test_a_program_that_was_replaced_is_run_again(suite: Path, tmp_path: Path, name: str) -> None:
    """The text of the command is the same, and so are size and time of the file."""
    path, kept = tmp_path / "tool", tmp_path / "kept"
    options = RunOptions(program=COMMANDS[name].format(program=path, python=sys.executable), resume=kept)

    def write(content: bytes) -> None:
        path.write_text(TOOL.format(python=sys.executable, content=content))
        path.chmod(0o755)
        os.utime(path, ns=(10**18, 10**18))

    write(b"\x08\x01")
    first = run_suite(suite, options)
    assert first.deviations and not first.problems
    write(b"\x08\x02")
    with pytest.raises(BadInput, match="kept' was written for another program; name another file"):
        run_suite(suite, options)
    write(b"\x08\x01")
    ran = list[str]()
    assert run_suite(suite, options, ran.append).to_json() == first.to_json()
    assert ran == [], "the results of the program are still there"


ADAPTER = """import own_helper
class Runtime:
    title = "own"
    def load(self, model, folder):
        return own_helper.prepared(model)
"""
HELPER = """import sonnx
def prepared(model):
    run = sonnx.prepare(model, unchecked=True).run
    return lambda inputs: run(inputs)  # {}
"""


def test_an_adapter_that_was_changed_is_run_again(suite: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its module, and a module beside it that it has loaded."""
    monkeypatch.syspath_prepend(str(tmp_path))
    kept, options = tmp_path / "kept", RunOptions(runtime="own_adapter:Runtime", resume=tmp_path / "kept")
    (tmp_path / "own_helper.py").write_text(HELPER.format("a"))
    (tmp_path / "own_adapter.py").write_text(ADAPTER)
    first = run_suite(suite, options)
    ran = list[str]()
    assert run_suite(suite, options, ran.append).to_json() == first.to_json()
    assert ran == []
    before = kept.read_bytes()
    for name, content in (("own_helper", HELPER.format("b")), ("own_adapter", ADAPTER + "\n")):
        old = (tmp_path / f"{name}.py").read_text()
        (tmp_path / f"{name}.py").write_text(content)
        with pytest.raises(BadInput, match="was written for another adapter"):
            run_suite(suite, options)
        (tmp_path / f"{name}.py").write_text(old)
    assert kept.read_bytes() == before


def test_an_archive_that_was_changed_is_refused_with_results_that_were_kept(suite: Path, tmp_path: Path) -> None:
    folder, options = tmp_path / "suite", RunOptions(runtime="reference", resume=tmp_path / "kept")
    shutil.copytree(suite, folder)
    run_suite(folder, options)
    content = (folder / "Constant.zip").read_bytes()
    (folder / "Constant.zip").write_bytes(content + b"x")
    with pytest.raises(BadInput, match=r"Constant\.zip is not the archive that suite.json describes"):
        run_suite(folder, options)


def full_disk(*_: object) -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_on_a_full_disk_nothing_half_written_remains(
    suite: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Path, "replace", full_disk)
    with pytest.raises(OSError, match="No space left"):
        make_suite(tmp_path / "made", MakeOptions(operator=("Constant",)))
    with pytest.raises(OSError, match=r"No space left.*results"):
        run_suite(suite, RunOptions(runtime="reference", resume=tmp_path / "results"))
    assert not [*tmp_path.iterdir()]


def test_the_runner_of_a_target_goes_on_behind_what_ended_it(
    suite: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of two cases the first ends the process; the runner is started again, and the outputs are judged."""
    loaded = list[bytes]()

    def ended(model: bytes) -> Callable[[dict[str, Any]], list[Any]]:
        loaded.append(model)
        if len(loaded) == 1:
            raise KeyboardInterrupt  # nothing in the runner takes it, as nothing takes the end of the process
        evaluator = ReferenceEvaluator(onnx.load_from_string(model))
        return lambda given: list(evaluator.run(None, given))

    def refused(model: bytes) -> Callable[[dict[str, Any]], list[Any]]:
        raise ValueError("not implemented")

    outputs = tmp_path / "outputs"
    monkeypatch.setattr(sys, "argv", ["outputs.py", str(suite), str(outputs)])
    monkeypatch.setattr(standalone, "load", ended)
    with pytest.raises(KeyboardInterrupt):
        standalone.main()
    standalone.main()
    standalone.main()
    assert len(loaded) == 2
    judged = judge_outputs(suite, outputs)
    assert [(deviation.kind, deviation.number) for deviation in judged.deviations] == [("missing output", 1)]
    assert judged.operators["Constant"].within == 1
    monkeypatch.setattr(standalone, "load", refused)
    monkeypatch.setattr(sys, "argv", ["outputs.py", str(suite), str(tmp_path / "refused")])
    standalone.main()
    assert not [*(tmp_path / "refused").rglob("test_data_set_*")]


@pytest.mark.parametrize("words", [[], ["nowhere", "outputs"]])
def test_the_runner_of_a_target_says_how_it_is_used(words: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["outputs.py", *words])
    with pytest.raises(SystemExit, match=r"usage|is not the folder of a suite"):
        standalone.main()


@pytest.mark.parametrize("name", ["text", "markdown", "github", "junit", "html", "sarif"])
def test_no_string_of_a_suite_is_printed_as_a_command(suite: Path, ran: SuiteRun, tmp_path: Path, name: str) -> None:
    """Every string of suite.json has an escape sequence and a command of a build service."""
    hostile = "\x1b[31m\n::error::x"
    [part] = read_suite(suite).parts
    changed = structs.replace(
        read_suite(suite), hypotheses=hostile, bounds=hostile,
        parts=(structs.replace(part, edition=hostile, labels={hostile: (hostile,)}),),
    )  # fmt: skip
    (tmp_path / "suite.json").write_text(json_text(changed), "utf-8")
    report = SuiteReport.of(read_suite(tmp_path))
    for text in (report.to_format(name), structs.replace(ran, hypotheses=hostile, suite=hostile).to_format(name)):
        assert "\x1b" not in text
        assert not [line for line in text.splitlines() if line.startswith("::error::x")]
