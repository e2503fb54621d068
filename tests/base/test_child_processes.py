"""Each process that a command starts ends with it, and so does what that process has started; how one ended."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from sonnx.base.budget import RuntimeLimits
from sonnx.executor.isolation import IsolatedRuntime
from sonnx.executor.runtimes import Fault
from sonnx.supervise import lease
from sonnx.supervise.process import ending
from tests.support.models import chain
from tests.support.paths import ROOT
from tests.support.processes import still_running

LINUX = pytest.mark.skipif(sys.platform != "linux", reason="elsewhere a process does not end with its parent")


@pytest.fixture
def listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file in which a runtime of the tests lists its processes."""
    monkeypatch.setenv("PROCESSES", str(tmp_path / "processes"))
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.syspath_prepend(str(ROOT))
    return tmp_path / "processes"


def adapter(name: str) -> str:
    return f"tests.support.forking_runtimes:{name}"


def processes(listed: Path, program: subprocess.Popen[bytes] | None = None) -> list[int]:
    while not listed.exists() and program is not None:
        assert program.poll() is None, "it ended before"
        time.sleep(0.02)
    return [int(number) for number in listed.read_text("ascii").split()]


@LINUX
@pytest.mark.parametrize(("name", "count"), [("Forking", 3), ("Starting", 2)])
def test_nothing_is_left_of_a_command_that_is_killed(name: str, count: int, listed: Path, tmp_path: Path) -> None:
    """Neither a copy that waits for a lock for ever, nor its child, nor another program."""
    (tmp_path / "model.onnx").write_bytes(chain(1).SerializeToString())
    command = [sys.executable, "-m", "sonnx", "compare", str(tmp_path / "model.onnx"), "--runtime", adapter(name)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as program:
        started = processes(listed, program)
        program.kill()
    assert len(started) == count
    assert not still_running(started)


@LINUX
@pytest.mark.parametrize(
    ("name", "seconds", "said"),
    [
        ("Forking", 3, "it did not answer within 3 seconds while it loaded the model"),
        ("Crashing", 1_000_000, "its process ended with exit code 7 while it loaded the model"),
    ],
)
def test_nothing_is_left_of_a_runtime_that_is_ended(name: str, seconds: int, said: str, listed: Path) -> None:
    """Children that hold its pipes neither keep the command waiting nor hide how it ended."""
    runtime = IsolatedRuntime(adapter(name), RuntimeLimits(seconds=seconds))
    with pytest.raises(Fault, match=said):
        runtime.load(chain(1).SerializeToString(), None)
    assert not still_running(processes(listed))


COPIED = """
import os, sys, time
from sonnx.executor.isolation import IsolatedRuntime
runtime = IsolatedRuntime(sys.argv[1])
copy = os.fork()
if copy:
    print(copy, flush=True)
time.sleep(600)
"""


@pytest.fixture
def program(listed: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A program that uses the library, and of which a copy goes on."""
    arguments = [sys.executable, "-W", "ignore", "-c", COPIED, adapter("Hanging")]
    with subprocess.Popen(arguments, stdout=subprocess.PIPE) as started:
        yield started
        started.kill()


@LINUX
def test_a_copy_of_a_program_does_not_keep_its_runtime(program: subprocess.Popen[bytes], listed: Path) -> None:
    assert program.stdout is not None
    copy = int(program.stdout.readline())
    try:
        program.kill()
        assert not still_running(processes(listed))
    finally:
        os.kill(copy, signal.SIGKILL)


LATE = """
import os, sys
from sonnx.supervise import lease
sys.stdin.readline()
lease.hold(map(int, sys.argv[1:]), os.getpid())
print('alive')
"""


@LINUX
def test_a_process_ends_whose_parent_has_ended_before_it_could_say_so() -> None:
    held, lent = lease.pipe()
    code = [sys.executable, "-c", LATE, *map(str, held)]
    with subprocess.Popen(
        code, pass_fds=held, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True
    ) as process:
        lease.close(held)
        lease.close(lent)
        lease.close(lent)  # once more does nothing
        assert process.communicate(b"\n") == (b"", None)
    assert process.returncode == -signal.SIGKILL


@pytest.mark.parametrize(
    ("code", "said"),
    [(None, "a closed pipe"), (0, "exit code 0"), (7, "exit code 7"), (-9, "SIGKILL"), (-11, "SIGSEGV")],
)
def test_how_a_process_ended(code: int | None, said: str) -> None:
    assert ending(code) == said


@pytest.mark.skipif(not hasattr(signal, "SIGRTMIN"), reason="signals of real time are of Linux")
def test_a_signal_of_real_time_has_a_number() -> None:
    number = signal.SIGRTMIN + 1
    done = subprocess.run([sys.executable, "-c", f"import os; os.kill(os.getpid(), {int(number)})"], check=False)
    assert ending(done.returncode) == f"signal {int(number)}"
