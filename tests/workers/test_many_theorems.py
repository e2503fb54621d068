"""Many theorems: whatever one of them does to its process, the others are decided, and nothing decided is lost."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from sonnx.cli.main import run
from sonnx.proofs import registry
from sonnx.prover import driver
from sonnx.prover.solver_cache import SolverCache
from sonnx.workers.tasks import WorkPlace
from sonnx.workers.theorems import decode, encode, prove_theorems
from tests.support.cases import each_case
from tests.support.dask_cluster import Cluster, cluster_of, needs_dask
from tests.support.misbehaving_models import heed_interrupts
from tests.support.paths import ROOT

# What these theorems do to the process that proves them: a sitecustomize.py for child processes only.
MISCHIEF = """
import os, signal, sys, time
import sonnx.prover.driver

def outcome(prove):
    def proved(theorem, solver, cache, entry=None, *rest):
        match theorem.id:
            case "built-in.agreed": time.sleep(600)
            case "built-in.join": os.kill(os.getpid(), signal.SIGSEGV)
            case "built-in.normal": raise RuntimeError("boom")
        if "SLOWLY" in os.environ: time.sleep(0.5)
        return prove(theorem, solver, cache)  # the record does not answer
    return proved

if "sonnx.supervise.child" in " ".join(sys.orig_argv):
    sonnx.prover.driver.prove_theorem = outcome(sonnx.prover.driver.prove_theorem)
"""
SAID = {
    "built-in.agreed": "built-in.agreed was not decided within 3 seconds (--timeout)",
    "built-in.join": "built-in.join was not decided: its process ended with SIGSEGV",
    "built-in.normal": "built-in.normal was not decided: the tool failed (RuntimeError: boom)",
}


@pytest.fixture(scope="module")
def mischief(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("mischief")
    (folder / "sitecustomize.py").write_text(MISCHIEF)
    return folder


def prove(*arguments: str, path: tuple[Path, ...] = (), **more: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "sonnx", "theorems", *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(map(str, (*path, ROOT))), **more},
        text=True, start_new_session=True, preexec_fn=heed_interrupts,
    )  # fmt: skip


def certificates(text: str) -> dict[str, dict[str, object]]:
    return {each["id"]: each for each in json.loads(text)["theorems"]}


def here(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, dict[str, object]]:
    """The certificates of theorems that this process proves."""
    capsys.readouterr()
    assert run(["theorems", *arguments, "--jobs", "0"]) == 0
    return certificates(capsys.readouterr().out)


def test_one_theorem_does_not_stop_the_others(mischief: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The exit code tells which is worse; one that is stopped alone waits beside the others for its time limit."""
    names = ",".join((*SAID, "built-in.clamped", "built-in.positions"))
    asked = ["--select", names, "--no-cache", "--format", "json"]
    process = prove(*asked, "--jobs", "2", "--timeout", "3", path=(mischief,))
    alone = prove("--select", "built-in.agreed", "--no-cache", "--timeout", "3", path=(mischief,))
    out, err = process.communicate(timeout=120)
    assert (process.returncode, err) == (4, "")
    found = certificates(out)
    assert {name: each["unanswered"] for name, each in found.items() if each["unanswered"]} == SAID
    out, _ = alone.communicate(timeout=120)
    assert alone.returncode == 3
    assert "not answered built-in.agreed was not decided within 3 seconds (--timeout)\n" in out
    usual = here(capsys, *asked)
    assert {each["status"] for each in usual.values()} == {"proved"}
    assert {name: each for name, each in found.items() if name not in SAID} == {
        name: each for name, each in usual.items() if name not in SAID
    }


def test_an_interrupt_leaves_a_report_and_what_is_decided(
    mischief: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = [
        "--select",
        "built-in.agreed,built-in.clamped,built-in.positions",
        "--cache",
        str(tmp_path),
        "--format",
        "json",
    ]
    process = prove(*asked, "--jobs", "2", path=(mischief,))
    deadline = time.monotonic() + 60
    while len(kept := {path.name for path in tmp_path.rglob("*.json")}) < 3:
        assert time.monotonic() < deadline and process.poll() is None
        time.sleep(0.05)
    time.sleep(1)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=20)
    assert (process.returncode, err) == (130, "sonnx: interrupted\n")
    found = certificates(out)
    assert found["built-in.clamped"]["status"] == "proved"
    assert found["built-in.agreed"]["unanswered"] == "built-in.agreed was not decided: the run was interrupted"
    assert {each["status"] for each in here(capsys, *asked).values()} == {"proved"}
    assert kept <= {path.name for path in tmp_path.rglob("*.json")}


def test_an_outcome_is_the_same_after_its_journey() -> None:
    names = ["built-in.clamped", "window.printed-window", "broadcast.axis-rules-aligned-left", "derived.Relu-14"]
    for theorem in driver.select(registry.theorems(), names):
        outcome = driver.prove_theorem(theorem, "all", SolverCache(None))
        assert decode(theorem, json.loads(json.dumps(encode(outcome)))) == outcome


def test_one_process_or_two_say_the_same() -> None:
    found = driver.select(registry.theorems(), ["built-in.clamped", "built-in.positions", "derived.Relu-14"])
    results, interrupted = prove_theorems(found, "z3", None, WorkPlace(2))
    assert list(results) == list(driver.prove(found))
    assert not interrupted


@each_case(
    ("arguments", "sentence"),
    [
        (["--jobs", "0", "--timeout", "3"], "--timeout needs a child process, and --jobs 0 allows none"),
        (["--jobs", "0", "--cluster", "x:1"], "--cluster needs a child process, and --jobs 0 allows none"),
    ],
)
def test_misuse(arguments: list[str], sentence: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["theorems", *arguments]) == 2
    assert tuple(capsys.readouterr()) == ("", f"sonnx: {sentence}\n")


@needs_dask
@pytest.mark.campaign
def test_a_cluster_proves_the_same_though_a_worker_is_killed(mischief: Path, tmp_path: Path) -> None:
    asked = ["--select", "layout,built-in.clamped,built-in.sliced,built-in.window", "--format", "json"]
    here, err = prove(*asked, "--no-cache").communicate(timeout=120)
    assert err == ""
    with cluster_of(2, mischief, ROOT, SLOWLY="1") as cluster:
        assert isinstance(cluster, Cluster)
        process = prove(*asked, "--cache", str(tmp_path), "--cluster", cluster.address, path=(mischief,))
        deadline = time.monotonic() + 60
        while len([*tmp_path.rglob("*.json")]) < 3:
            assert time.monotonic() < deadline and process.poll() is None
            time.sleep(0.05)
        os.kill(cluster.workers[0], signal.SIGKILL)
        assert process.communicate(timeout=120) == (here, "")
    assert process.returncode == 0
