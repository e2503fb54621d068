"""Many models on a Dask cluster of two workers here: the same bytes as here, whatever happens to a worker."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from sonnx.base.resources import own_files, own_hash
from sonnx.checker.report import NoVerdict
from sonnx.checker.request import CheckRequest
from sonnx.cli.main import run
from sonnx.supervise.identity import tool_identity
from sonnx.workers import processes
from sonnx.workers.models import answer, request_data, with_hashes
from sonnx.workers.processes import WorkerRun, difference, end_run, forget_run, run_task
from sonnx.workers.tasks import Work, WorkerTask
from tests.support.dask_cluster import ENVIRONMENT, Cluster, cluster_of, needs_dask
from tests.support.editions import NEWEST
from tests.support.misbehaving_models import FINE, LIMITS, MISCHIEF, SAID, WRONG, heed_interrupts
from tests.support.model_texts import model_of
from tests.support.paths import ROOT


@pytest.fixture(scope="module")
def mischief(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("mischief")
    (folder / "sitecustomize.py").write_text(MISCHIEF)
    return folder


@pytest.fixture(scope="module")
def cluster(mischief: Path) -> Iterator[Cluster]:
    with cluster_of(2, mischief, ROOT) as made:
        yield made


@pytest.fixture
def slow(tmp_path: Path) -> list[str]:
    """Models that take half a second each; every third is wrong."""
    names = []
    for number in range(12):
        folder = tmp_path / f"f{number:02}"
        folder.mkdir()
        (folder / "slow.onnx").write_bytes(model_of(WRONG if number % 3 == 1 else FINE))
        names.append(f"{folder.name}/slow.onnx")
    return names


class Command:
    """`sonnx check` in a folder, with the mischief; the figures of a run that goes on."""

    def __init__(self, folder: Path, mischief: Path, *arguments: str) -> None:
        path = os.pathsep.join(map(str, (mischief, ROOT)))
        self.folder = folder
        self.process = subprocess.Popen(
            [sys.executable, "-m", "sonnx", "check", *arguments, "--format", "json"],
            cwd=folder, env={**ENVIRONMENT, "PYTHONPATH": path}, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            text=True, start_new_session=True, preexec_fn=heed_interrupts,
        )  # fmt: skip

    def wait_for(self, answers: int) -> None:
        """Until the file of --resume has so many answers."""
        deadline, kept = time.monotonic() + 90, self.folder / "kept"
        while not kept.exists() or kept.read_bytes().count(b"\n") < 1 + answers:
            assert time.monotonic() < deadline and self.process.poll() is None, self.process.communicate()
            time.sleep(0.02)

    def end(self) -> tuple[int, str, str]:
        out, err = self.process.communicate(timeout=120)
        return self.process.returncode, out, err


@needs_dask
@pytest.mark.campaign
def test_a_cluster_says_what_a_local_run_says(cluster: Cluster, mischief: Path, tmp_path: Path) -> None:
    (tmp_path / "deeper").mkdir()
    for name in ("fine", "deeper/fine", *SAID):
        (tmp_path / f"{name}.onnx").write_bytes(model_of(FINE))
    (tmp_path / "wrong.onnx").write_bytes(model_of(WRONG))
    (tmp_path / "text.onnx").write_text("hello")
    (tmp_path / "own.toml").write_text(f'name = "own"\nedition = "{NEWEST}"\n[largest]\nnodes = 0\n')
    names = ["fine.onnx", "deeper", ".", "missing.onnx", *LIMITS, "--tailoring", "own.toml"]
    here = Command(tmp_path, mischief, *names).end()
    there = Command(tmp_path, mischief, *names, "--cluster", cluster.address).end()
    assert there == here
    document = json.loads(here[1])
    assert here[0] == 4
    assert len(document["reports"]) == 3
    assert len(document["unreadable"]) == len(SAID) + 2
    assert document["reports"][0]["tailoring"]["name"] == "own"


@needs_dask
@pytest.mark.campaign
def test_standard_input_goes_to_the_cluster(cluster: Cluster, mischief: Path, tmp_path: Path) -> None:
    path = os.pathsep.join(map(str, (mischief, ROOT)))
    done = subprocess.run(
        [sys.executable, "-m", "sonnx", "check", "-", "--cluster", cluster.address, "--format", "json"], cwd=tmp_path,
        env={**ENVIRONMENT, "PYTHONPATH": path}, input=model_of(WRONG), capture_output=True, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (1, b"")
    assert [report["model"] for report in json.loads(done.stdout)["reports"]] == ["standard input"]


@needs_dask
@pytest.mark.campaign
def test_a_worker_killed_in_the_middle_loses_nothing(
    cluster: Cluster, mischief: Path, slow: list[str], tmp_path: Path
) -> None:
    here = Command(tmp_path, mischief, *slow).end()
    running = Command(tmp_path, mischief, *slow, "--cluster", cluster.address, "--resume", "kept")
    running.wait_for(3)
    os.kill(cluster.workers.pop(), signal.SIGKILL)
    assert running.end() == here
    assert here[0] == 1


@needs_dask
@pytest.mark.campaign
def test_an_interrupt_leaves_a_report_and_no_process(
    cluster: Cluster, mischief: Path, slow: list[str], tmp_path: Path
) -> None:
    (tmp_path / "hang.onnx").write_bytes(model_of(FINE))
    running = Command(tmp_path, mischief, "hang.onnx", *slow, "--cluster", cluster.address, "--resume", "kept")
    running.wait_for(2)
    running.process.send_signal(signal.SIGINT)
    code, out, err = running.end()
    assert (code, err) == (130, "sonnx: interrupted\n")
    document = json.loads(out)
    assert len(document["reports"]) >= 2
    assert {each["reason"].partition(": ")[2] for each in document["unreadable"]} == {"the run was interrupted"}
    deadline = (
        time.monotonic() + 2.5 * processes.IDLE_SECONDS
    )  # at once, but for a worker that joins while the run ends
    while children_in(tmp_path):
        assert time.monotonic() < deadline, "children of the workers go on"
        time.sleep(0.1)


def children_in(folder: Path) -> list[str]:
    """The child processes that work in a folder."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if (
                b"sonnx.supervise.child" in (process / "cmdline").read_bytes()
                and (process / "cwd").readlink() == folder
            ):
                found.append(process.name)
    return found


@needs_dask
@pytest.mark.campaign
def test_a_lost_scheduler_leaves_a_report_and_resume_goes_on(mischief: Path, slow: list[str], tmp_path: Path) -> None:
    with cluster_of(2, mischief, ROOT) as lost:
        running = Command(tmp_path, mischief, *slow, "--cluster", lost.address, "--resume", "kept")
        running.wait_for(3)
        lost.kill()
        code, out, err = running.end()
    document = json.loads(out)
    judged = [report["model"] for report in document["reports"]]
    assert (code, err) == (1, "")
    assert 3 <= len(judged) < len(slow)
    assert [*sorted(judged + [each["model"] for each in document["unreadable"]])] == slow
    said = {each["reason"].partition("' ")[2] for each in document["unreadable"]}
    assert said == {f"was not checked: the scheduler at {lost.address} was lost"}
    assert {each["exit"] for each in document["unreadable"]} == {NoVerdict.STOPPED}
    before = (tmp_path / "kept").read_text()
    assert Command(tmp_path, mischief, *slow, "--resume", "kept").end() == Command(tmp_path, mischief, *slow).end()
    assert (tmp_path / "kept").read_text().startswith(before)


@needs_dask
@pytest.mark.campaign
def test_another_version_in_a_worker_is_refused(mischief: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    shutil.copytree(ROOT / "sonnx", other / "sonnx", ignore=shutil.ignore_patterns("__pycache__"))
    with (other / "sonnx/restrictions/general.toml").open("a") as file:
        file.write("# changed\n")
    (tmp_path / "fine.onnx").write_bytes(model_of(FINE))
    with cluster_of(1, other) as different:
        code, out, err = Command(tmp_path, mischief, "fine.onnx", "--cluster", different.address).end()
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert err.startswith("sonnx: the worker tcp://127.0.0.1:")
    assert err.endswith(" has another version of sonnx, or other rules\n")


@needs_dask
def test_a_cluster_without_workers_is_refused(mischief: Path, tmp_path: Path) -> None:
    with cluster_of(0, ROOT) as empty:
        code, out, err = Command(tmp_path, mischief, "fine.onnx", "--cluster", empty.address).end()
    assert (code, out, err) == (2, "", f"sonnx: the cluster at '{empty.address}' has no worker\n")


@needs_dask
@pytest.mark.campaign
@pytest.mark.parametrize(
    "address", ["127.0.0.1", "", "nothing://127.0.0.1:1", "tls://127.0.0.1:1", "tcp://127.0.0.1:1"]
)
def test_an_address_without_a_scheduler(address: str, mischief: Path, tmp_path: Path) -> None:
    code, out, err = Command(tmp_path, mischief, "fine.onnx", "--cluster", address).end()
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert err.startswith(f"sonnx: no scheduler of Dask answers at '{address}': ")


def test_without_dask(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setitem(sys.modules, "dask", None)
    assert run(["check", "fine.onnx", "--cluster", "tcp://127.0.0.1:1"]) == 2
    assert capsys.readouterr().err == "sonnx: --cluster needs Dask; it comes with pip install 'sonnx[cluster]'\n"


# ------------------------------------------------------------------ what a worker does


def task_on(path: Path) -> WorkerTask:
    request = request_data(CheckRequest(), None, hashed=False, drawn=False)
    [task] = with_hashes([WorkerTask(str(path), {"model": str(path), "inline": None, **request})])
    return task


def test_another_file_of_the_same_name_is_not_judged(tmp_path: Path) -> None:
    """What a worker sees under the name of a model may be another file."""
    path = tmp_path / "model.onnx"
    path.write_bytes(model_of(FINE))
    task = task_on(path)
    assert answer(task.request)["report"]
    for content in (model_of(WRONG), b"no model"):
        path.write_bytes(content)
        said = answer(task.request)
        assert said["why"] is NoVerdict.STOPPED
        assert said["sentence"].endswith("the worker has another file of this name, by its SHA-256")


def test_a_file_that_only_the_worker_sees_is_not_judged(tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    task = task_on(path)
    assert answer(task.request)["why"] is NoVerdict.UNREADABLE
    path.write_bytes(model_of(FINE))
    assert answer(task.request)["why"] is NoVerdict.STOPPED


def test_another_tailoring_is_not_taken(tmp_path: Path) -> None:
    from sonnx.base.errors import UsageError
    from sonnx.checker import tailoring

    own, path = tmp_path / "own.toml", tmp_path / "model.onnx"
    own.write_text(f'name = "own"\nedition = "{NEWEST}"\n[largest]\nnodes = 9\n')
    path.write_bytes(model_of(FINE))
    request = request_data(CheckRequest(tailoring=tailoring.read(own)), str(own), hashed=False, drawn=False)
    request |= {"model": str(path), "inline": None}
    assert answer(request)["report"]
    own.write_text(own.read_text().replace("9", "8"))
    with pytest.raises(UsageError, match=r"own\.toml is not the file with which the run began"):
        answer(request)


NO_MODEL = WorkerTask(
    "none", {"model": "none.onnx", "inline": None, **request_data(CheckRequest(), None, False, False)}
)


def test_an_idle_child_process_ends_and_starts_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "IDLE_SECONDS", 1)
    run = WorkerRun("idle", Work("sonnx.workers.models", "checked"))
    assert run_task(run, NO_MODEL)["why"] == NoVerdict.UNREADABLE
    [child] = processes._RUNS["idle"].running.values()
    assert child.process.popen.wait(timeout=20) == -signal.SIGALRM
    assert run_task(run, NO_MODEL)["why"] == NoVerdict.UNREADABLE
    end_run(run)
    assert run_task(run, NO_MODEL)["sentence"] == "was not checked: its worker has ended the run"
    forget_run(run)
    assert "idle" not in processes._RUNS


def test_a_folder_the_worker_has_not() -> None:
    said = run_task(WorkerRun("no folder", Work("sonnx.workers.models", "checked", folder="/no/such folder")), NO_MODEL)
    assert said["why"] is NoVerdict.FAILED
    assert (
        said["sentence"] == "was not checked: no process could be started (/no/such folder: No such file or directory)"
    )


def test_a_worker_that_joins_later_is_asked_for_its_version() -> None:
    """`run_task` is what runs in a worker; the answers of the run would otherwise be of two programs."""
    work = Work("sonnx.workers.models", "checked", packages=("protobuf",))
    said = run_task(
        WorkerRun("a run", work, {**tool_identity(work.packages), "version of protobuf": "0.1"}), WorkerTask("x", {})
    )
    assert said["why"] is NoVerdict.FAILED
    assert re.fullmatch(r"was not checked: its worker has protobuf \S+, not 0.1 as here", said["sentence"])
    other = WorkerRun("another run", work, tool_identity(work.packages))
    assert "the tool failed (KeyError: 'model')" in run_task(other, WorkerTask("x", {}))["sentence"], (
        "a child was asked"
    )
    forget_run(other)


def test_a_task_after_the_end_of_its_run_starts_no_child() -> None:
    run = WorkerRun("a run that is over", Work("sonnx.workers.models", "checked", packages=("protobuf",)), {})
    end_run(run)
    assert run_task(run, WorkerTask("x", {})) == {
        "why": NoVerdict.FAILED, "sentence": "was not checked: its worker has ended the run"
    }  # fmt: skip


def test_the_identity_is_that_of_the_whole_program(tmp_path: Path) -> None:
    named = dict(own_files())
    for name in (
        "sonnx/language/builtins.py",
        "sonnx/workers/cluster.py",
        "restrictions/general.toml",
        "sonnx/prover/solvers.py",
    ):
        assert named[name].read_bytes() == (ROOT / name).read_bytes()
    assert tool_identity(())["version of sonnx"] == own_hash()
    ours = tool_identity(("protobuf", "no-such-package"))
    assert ours["version of no-such-package"] == ""
    assert difference({**ours, "version of protobuf": "0.1"}, ours).startswith("protobuf 0.1, not ")
    assert difference({**ours, "version of protobuf": ""}, ours).startswith("protobuf (not installed), not ")
    assert difference({**ours, "version of sonnx": "x"}, ours) == "another version of sonnx, or other rules"
