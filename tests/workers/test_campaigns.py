"""The program that runs campaigns: what one test does to its process costs that test, and nothing done is lost."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.support.misbehaving_models import heed_interrupts
from tests.support.paths import ROOT

LONG = """
import os, signal, time
from pathlib import Path
import pytest

HERE = Path(__file__).parent

@pytest.mark.campaign
@pytest.mark.parametrize("number", range(4))
def test_fine(number):
    with (HERE / "ran.log").open("a") as file:
        file.write(f"{number}\\n")

@pytest.mark.campaign
def test_failing():
    assert (HERE / "mended").exists(), "what is wrong"

@pytest.mark.campaign
def test_crash():
    if not (HERE / "mended").exists():
        os.kill(os.getpid(), signal.SIGSEGV)

@pytest.mark.campaign
def test_hang():
    if not (HERE / "mended").exists():
        time.sleep(600)

@pytest.mark.campaign
def test_skipped():
    pytest.skip("not here")

def test_short():
    raise AssertionError("not a campaign")
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests/test_long.py").write_text(LONG)
    (tmp_path / "tests/pytest.ini").write_text("[pytest]\nmarkers = campaign\naddopts = -m 'not campaign'\n")
    return tmp_path / "tests"


def start(folder: Path, *arguments: str) -> subprocess.Popen[str]:
    alone = {"PYTHONPATH": str(ROOT), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}  # installed plugins take long to load
    return subprocess.Popen(
        [sys.executable, "-m", "tests.support.campaigns", "--tests", str(folder), *arguments],
        env={**os.environ, **alone}, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        start_new_session=True, preexec_fn=heed_interrupts,
    )  # fmt: skip


def campaigns(folder: Path, *arguments: str) -> tuple[int, str, str]:
    process = start(folder, *arguments)
    out, err = process.communicate(timeout=120)
    return process.returncode, out, err


def test_one_does_not_stop_the_others_and_what_passed_is_not_run_again(folder: Path) -> None:
    asked = ["--jobs", "2", "--timeout", "6", "--resume", str(folder.parent / "kept")]
    code, out, err = campaigns(folder, *asked)
    assert (code, err) == (1, "")
    for line in (
        "test_long.py::test_fine[3] passed",
        "test_long.py::test_failing failed",
        "test_long.py::test_crash was not finished: its process ended with SIGSEGV",
        "test_long.py::test_hang was not finished within 6 seconds (--timeout)",
        "test_long.py::test_skipped skipped",
        "8/8  2 failed, 4 passed, 1 skipped, 1 stopped",
    ):
        assert line in out.splitlines()
    assert "what is wrong" in out
    assert "test_short" not in out
    ran = (folder / "ran.log").read_text()
    assert sorted(ran.split()) == ["0", "1", "2", "3"]

    (folder / "mended").touch()
    code, out, _ = campaigns(folder, *asked)
    assert (code, out.splitlines()[-1]) == (0, "8/8  7 passed, 1 skipped")
    assert (folder / "ran.log").read_text() == ran, "what passed is taken from the file"

    (folder / "test_long.py").write_text(LONG.replace("range(4)", "range(3)"))
    code, out, err = campaigns(folder, *asked)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert "was written for another set of options" in err


def test_an_interrupt_leaves_what_is_done(folder: Path) -> None:
    process = start(folder, "--jobs", "1", "--resume", str(kept := folder.parent / "kept"), "--select", "n")
    deadline = time.monotonic() + 60
    while not kept.exists() or kept.read_text().count("\n") < 5:
        assert time.monotonic() < deadline and process.poll() is None
        time.sleep(0.05)
    time.sleep(1)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=30)
    assert (process.returncode, err) == (130, "")
    assert "test_long.py::test_hang was not finished: the run was interrupted" in out
    assert "test_long.py::test_fine[0] passed" in out


def test_a_name_no_campaign_has(folder: Path) -> None:
    assert campaigns(folder, "--select", "nothing") == (1, "", "no campaign has 'nothing' in its name\n")
