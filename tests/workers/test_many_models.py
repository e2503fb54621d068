"""Many models: whatever one of them does to its process, the others get their verdict, in the same order and bytes."""

from __future__ import annotations

import contextlib
import io
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import NamedTuple

import onnx
import pytest
from google.protobuf.message import DecodeError

import sonnx
from sonnx.checker.report_data import report_as_data, report_from_data
from sonnx.cli.main import run
from sonnx.evidence.verification import model_bytes
from sonnx.model import reader
from sonnx.profile.cases import all_cases
from sonnx.report.check import CheckReport, render
from sonnx.report.check_run import CheckRun
from sonnx.workers.kept_answers import KeptAnswers
from sonnx.workers.models import _is_report
from sonnx.workers.tasks import Work, WorkerTask
from tests.support.cases import each_case
from tests.support.misbehaving_models import FINE, LIMITS, MISCHIEF, OPEN, SAID, WRONG, heed_interrupts
from tests.support.model_texts import model_of
from tests.support.paths import ROOT
from tests.support.processes import still_running


@pytest.fixture
def zoo(tmp_path: Path) -> Path:
    """A folder of models, good and bad, and beside it what the bad ones do."""
    folder = tmp_path / "zoo"
    (folder / "deeper").mkdir(parents=True)
    for name, text in {"fine": FINE, "wrong": WRONG, "open": OPEN, "deeper/last": FINE, "chatty": FINE}.items():
        (folder / f"{name}.onnx").write_bytes(model_of(text))
    for name in SAID:
        (folder / f"{name}.onnx").write_bytes(model_of(FINE))
    (folder / "text.onnx").write_text("hello")
    (folder / "readme.md").write_text("no model")
    (tmp_path / "mischief").mkdir()
    (tmp_path / "mischief/sitecustomize.py").write_text(MISCHIEF)
    return folder


def command(zoo: Path, *arguments: str) -> list[str]:
    return [sys.executable, "-m", "sonnx", "check", *arguments]


def surroundings(zoo: Path) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": f"{zoo.parent / 'mischief'}{os.pathsep}{ROOT}"}


def started(zoo: Path, *arguments: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        command(zoo, *arguments), cwd=zoo, env=surroundings(zoo), stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        start_new_session=True, preexec_fn=heed_interrupts,
    )  # fmt: skip


class Done(NamedTuple):
    """What a command printed, and its exit code."""

    returncode: int
    stdout: str
    stderr: str


def check(zoo: Path, *arguments: str) -> Done:
    """A check by this process; its children are not misled."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.chdir(zoo), contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = run(["check", *arguments])
    return Done(code, out.getvalue(), err.getvalue())


def test_one_model_does_not_stop_the_others(zoo: Path) -> None:
    """All models with a report as JSON, and beside it, because both wait for a time limit, some in words."""
    process = started(zoo, ".", *LIMITS, "--jobs", "2", "--format", "json")
    in_words = started(zoo, "hang.onnx", "crash.onnx", "defect.onnx", "text.onnx", "fine.onnx", *LIMITS)
    document = json.loads(process.communicate(timeout=120)[0])
    assert process.returncode == document["exit"] == 4
    verdicts = {report["model"]: report["verdict"] for report in document["reports"]}
    assert verdicts == {
        "chatty.onnx": "pass", "deeper/last.onnx": "pass", "fine.onnx": "pass", "open.onnx": "assumed",
        "wrong.onnx": "fail",
    }  # fmt: skip
    without_report = {each["model"]: (each["exit"], each["reason"]) for each in document["unreadable"]}
    assert without_report.pop("text.onnx")[0] == 2
    assert without_report == {f"{name}.onnx": (code, f"'{name}.onnx' {said}") for name, (code, said) in
                        json.loads(json.dumps(SAID).replace("\\\\x1b", "\\u001b")).items()}  # fmt: skip
    out, err = (said.decode() for said in in_words.communicate(timeout=120))
    lines = err.splitlines()
    assert [line.partition("' ")[2] for line in lines[:3]] == [SAID[name][1] for name in ("hang", "crash", "defect")]
    assert len(lines) == 4
    assert out.endswith("\n5 files: 1 pass, 1 unreadable, 1 stopped, 2 failed\n")


def test_exit_code(zoo: Path) -> None:
    """The three wait for their time limit side by side."""
    wanted = {("fine", "hang"): 3, ("wrong", "hang"): 1, ("text", "crash"): 4}
    processes = {names: started(zoo, *(f"{name}.onnx" for name in names), *LIMITS) for names in wanted}
    for each in processes.values():
        each.communicate(timeout=120)
    assert {names: each.returncode for names, each in processes.items()} == wanted


@pytest.mark.parametrize("form", ["json", "html"])
def test_jobs_do_not_change_a_byte(zoo: Path, form: str) -> None:
    """In the format that shows everything, and in the one with the drawing; all are made from the same reports."""
    names = ["fine.onnx", "wrong.onnx", "text.onnx", "open.onnx", "deeper", "missing.onnx"]
    outputs = {jobs: check(zoo, *names, "--format", form, "--jobs", jobs) for jobs in ("0", "1", "3")}
    assert outputs["0"].stdout.count("wrong.onnx")
    assert {(done.stdout, done.stderr, done.returncode) for done in outputs.values()} == {
        (outputs["0"].stdout, outputs["0"].stderr, 2)
    }


@each_case("case", all_cases()[::30], ids=lambda case: case.id)
def test_a_stored_report_is_the_report(case) -> None:
    for edition in (None, "2025-10"):
        report = sonnx.check(model_bytes(case), edition)
        again = report_from_data(json.loads(json.dumps(report_as_data(report))))
        assert CheckReport.of(again) == report
        assert render("json", CheckRun([again])) == render("json", CheckRun([report]))


@each_case("data", [{}, {"report": {}, "shared": [], "findings": []}, {"report": {"x": {"y": 1}}}, None])
def test_other_data_are_refused(data: object) -> None:
    with pytest.raises(ValueError, match="not the data of a report"):
        report_from_data(data)


# ------------------------------------------------------------------ which models


def test_folders_and_patterns(zoo: Path) -> None:
    named = json.loads(check(zoo, "deeper", "f*.onnx", "fine.onnx", "**/last.onnx", "--format", "json").stdout)
    assert [report["model"] for report in named["reports"]] == ["deeper/last.onnx", "fine.onnx"]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["empty"], "sonnx: the folder 'empty' has no .onnx file; try 'sonnx check FILE'"),
        (["no*.onnx"], "sonnx: no file matches 'no*.onnx'; try 'sonnx check .'"),
        (["fine.onnx", "--jobs", "0", "--timeout", "3"],
         "sonnx: --timeout needs a child process, and --jobs 0 allows none\n"),
        (["fine.onnx", "wrong.onnx", "--edition", "1999"], "sonnx: unknown edition '1999'; "),
        (["fine.onnx", "wrong.onnx", "--resume", "fine.onnx"],
         "sonnx: 'fine.onnx' is not a --resume journal; name another file\n"),
    ],
)  # fmt: skip
def test_misuse(zoo: Path, arguments: list[str], sentence: str) -> None:
    (zoo / "empty").mkdir()
    before = (zoo / "fine.onnx").read_bytes()
    done = check(zoo, *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(sentence)
    assert done.stderr.count("\n") == 1
    assert (zoo / "fine.onnx").read_bytes() == before


def test_standard_input_among_others(zoo: Path) -> None:
    data = (zoo / "wrong.onnx").read_bytes()
    done = subprocess.run(command(zoo, "-", "fine.onnx", "--format", "json"), cwd=zoo, env=surroundings(zoo),
                          input=data, capture_output=True, check=False)  # fmt: skip
    said = [(report["model"], report["verdict"]) for report in json.loads(done.stdout)["reports"]]
    assert said == [("standard input", "fail"), ("fine.onnx", "pass")]


def test_modules_of_the_folder_are_not_run(zoo: Path) -> None:
    """A zoo that has a json.py must not take part in the check."""
    (zoo / "json.py").write_text("import os; os._exit(9)")
    done = subprocess.run([sys.executable, "-P", "-m", "sonnx", "check", "fine.onnx", "open.onnx"], cwd=zoo,
                          env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True,
                          check=False)  # fmt: skip
    assert done.stdout.endswith("2 files: 1 pass, 1 assumed\n"), done.stderr


# ------------------------------------------------------------------ interrupted and resumed


def names(count: int, zoo: Path) -> list[str]:
    """So many models, the fourth of which takes for ever."""
    made = []
    for number in range(count):
        folder = zoo / f"f{number}"
        folder.mkdir()
        made.append(str((folder / ("hang" if number == 3 else "fine")).relative_to(zoo)) + ".onnx")
        (zoo / made[-1]).write_bytes((zoo / "fine.onnx").read_bytes())
    return made


def test_an_interrupt_leaves_a_report_and_resume_goes_on(zoo: Path) -> None:
    models = names(8, zoo)
    process = started(zoo, *models, "--jobs", "1", "--resume", "kept", "--format", "json")
    journal = zoo / "kept"
    deadline = time.monotonic() + 60
    while not journal.exists() or journal.read_bytes().count(b"\n") < 4:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=20)
    assert process.returncode == 130
    assert err == b"sonnx: interrupted\n"
    document = json.loads(out)
    assert [report["model"] for report in document["reports"]] == models[:3]
    assert {each["reason"].partition("' ")[2] for each in document["unreadable"]} == {
        "was not checked: the run was interrupted"
    }
    assert [each["model"] for each in document["unreadable"]] == models[3:]

    with journal.open("ab") as file:
        file.write(b'{"model": "torn')
    done = check(zoo, *models, "--jobs", "1", "--resume", "kept", "--strict-versions", "--format", "json")
    assert done.returncode == 2, "its answers are for another way of judging"
    (zoo / models[3]).unlink()
    models.remove("f3/hang.onnx")
    (zoo / models[0]).write_bytes((zoo / "wrong.onnx").read_bytes())
    done = check(zoo, *models, "--jobs", "1", "--resume", "kept", "--format", "json")
    verdicts = [report["verdict"] for report in json.loads(done.stdout)["reports"]]
    assert verdicts == ["fail", *["pass"] * 6], "a changed file is judged again"


def test_kept_answers_are_taken(zoo: Path) -> None:
    first = check(zoo, "fine.onnx", "wrong.onnx", "--resume", "kept", "--full")
    kept = (zoo / "kept").read_text()
    (zoo / "kept").write_text(kept.replace("float[3]", "kept[3]").replace("[3]", "[4]"))
    assert kept.count("\n") == 3
    second = check(zoo, "fine.onnx", "wrong.onnx", "--resume", "kept", "--full")
    assert second.stdout == first.stdout.replace("[3]", "[4]") != first.stdout, "the answers of the file are shown"
    assert (zoo / "kept").read_text().count("\n") == 3


def test_a_changed_file_of_equal_size_and_time_is_checked_again(zoo: Path) -> None:
    """And one that is as it was is not, whatever its time."""
    path, changed = zoo / "fine.onnx", model_of(FINE.replace("float[2] y", "float[3] y"))
    assert len(changed) == path.stat().st_size
    assert check(zoo, "fine.onnx", "open.onnx", "--resume", "kept").returncode == 3
    status, content, kept = path.stat(), path.read_bytes(), (zoo / "kept").read_text()
    path.write_bytes(changed)
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    done = check(zoo, "fine.onnx", "open.onnx", "--resume", "kept")
    assert done.returncode == 1
    assert done.stdout == check(zoo, "fine.onnx", "open.onnx").stdout
    (zoo / "kept").write_text(kept)
    path.write_bytes(content)
    os.utime(path, ns=(1, 1))
    assert check(zoo, "fine.onnx", "open.onnx", "--resume", "kept").returncode == 3
    assert (zoo / "kept").read_text() == kept, "nothing was checked"


@pytest.mark.parametrize(
    "damage",
    [{}, None, {"word": "pass", "report": {}}, {"why": 2}, {"why": 77, "sentence": "x"}, [1], b"[" * 100_000, b"\xff",
     b'{"set": 1}', b'{"set": {"fine.onnx": {}}, "drop": 3}', b'{"drop": ["fine.onnx"], "set": {}}'],
    ids=range(11),
)  # fmt: skip
def test_a_damaged_line_of_the_journal_is_ignored(
    zoo: Path, damage: object, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A line that keeps task and subject and has another answer, and one that is nothing at all."""
    monkeypatch.chdir(zoo)
    work, data = Work("sonnx.workers.models", "checked"), {"an": "option"}

    def kept() -> KeptAnswers:
        return KeptAnswers(Path("kept"), work, data, lambda task: "the hash", _is_report)

    answers, task = kept(), WorkerTask("fine.onnx", {"inline": None})
    assert answers.answers([task]) == {}
    report = report_as_data(sonnx.check("fine.onnx"))
    answers.keep(task, {"word": "pass", "report": report, "subject": "the hash"})
    head, entry = Path("kept").read_bytes().splitlines()
    assert kept().answers([task])
    answer = {**damage, "subject": "the hash"} if isinstance(damage, dict) else damage
    line = damage if isinstance(damage, bytes) else json.dumps({"set": {"fine.onnx": answer}}).encode()
    lines = [head, entry, line, b""] if b"drop" in line and b"3" not in line else [head, line, b""]
    Path("kept").write_bytes(b"\n".join(lines))
    assert kept().answers([task]) == {}


def test_a_journal_that_never_ends_is_refused(zoo: Path) -> None:
    done = check(zoo, "fine.onnx", "--resume", "/dev/zero")
    assert (done.returncode, done.stderr) == (2, "sonnx: '/dev/zero' is not a regular file; name another file\n")


def test_a_model_without_the_symbol_does_not_stop_the_others(zoo: Path) -> None:
    (zoo / "deeper/open.onnx").write_bytes(model_of(FINE.replace("float[2] a", "float[N] a")))
    for jobs in ("0", "2"):
        done = check(zoo, "deeper", "--bind", "N=2", "--jobs", jobs, "--format", "json")
        document = json.loads(done.stdout)
        assert [(each["model"], each["verdict"]) for each in document["reports"]] == [("deeper/open.onnx", "pass")]
        [without] = document["unreadable"]
        assert (without["model"], without["exit"], done.returncode) == ("deeper/last.onnx", 2, 2)
        assert without["reason"].startswith(
            "'deeper/last.onnx' was not checked: no dimension of the model is the symbol N"
        )


def test_a_lack_of_memory_is_not_a_fault_of_the_model(zoo: Path) -> None:
    """However little memory a conforming model gets, nothing false is said of it, and nothing is kept."""
    model = onnx.load(zoo / "fine.onnx")
    model.graph.node.extend(
        onnx.helper.make_node("Max", ["a", "b"], [f"a name that fills the memory of the process {number}"])
        for number in range(30_000)
    )
    (zoo / "large.onnx").write_bytes(model.SerializeToString())
    for megabytes in (1, 40, 48, 56, 64, 72):
        done = check(zoo, "large.onnx", "--memory", str(megabytes), "--resume", "kept", "--quiet")
        assert "ONNX" not in done.stderr
        assert done.returncode in (1, 3), done.stderr
    assert check(zoo, "large.onnx", "--memory", "4096", "--resume", "kept", "--quiet").returncode == 1


def test_protobuf_without_memory_is_not_a_malformed_model(monkeypatch: pytest.MonkeyPatch) -> None:
    class NoMemory:
        @staticmethod
        def FromString(_: bytes) -> None:  # noqa: N802  (the name of protobuf)
            raise DecodeError(f"Error parsing message with type 'onnx.ModelProto': {reader.NO_MEMORY}")

    sonnx.check(model_of(FINE))
    monkeypatch.setattr(reader, "message_classes", lambda: SimpleNamespace(ModelProto=NoMemory))
    with pytest.raises(MemoryError):
        sonnx.check(model_of(FINE))


def test_modules_of_the_current_folder_are_not_run_by_children(zoo: Path) -> None:
    """Python itself puts the current folder first for `-m`; the children leave it out."""
    (zoo / "resource.py").write_text("import os; os._exit(9)")
    done = subprocess.run(
        command(zoo, "fine.onnx", "open.onnx", "--memory", "900"), cwd=zoo, capture_output=True, text=True, check=False,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    assert done.stdout.endswith("2 files: 1 pass, 1 assumed\n"), done.stderr


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_no_child_outlives_the_run(zoo: Path, number: int) -> None:
    process = subprocess.Popen(command(zoo, "hang.onnx", "fine.onnx", "--jobs", "2"), cwd=zoo, env=surroundings(zoo),
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                               preexec_fn=heed_interrupts)  # fmt: skip
    children: list[str] = []
    deadline = time.monotonic() + 30
    while len(children) < 2:
        assert time.monotonic() < deadline
        listed = Path(f"/proc/{process.pid}/task/{process.pid}/children")
        tasks = [path.read_text().split() for path in listed.parent.parent.glob("*/children")]
        children = [child for task in tasks for child in task]
        time.sleep(0.05)
    process.send_signal(number)
    process.wait(timeout=20)
    assert not still_running(map(int, children))
