"""A command in a process of its own: however it ends, there is an exit code or a sentence, and nothing goes on."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

from sonnx.supervise.process import ending

LOOP = "import time\nfor _ in range(300): time.sleep(0.1)\nprint('alive', flush=True)\nreturn 0"
SCRIPT = """
import os, signal, sys
from sonnx.supervise.command import in_a_process

signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background inherits that it is ignored

def command():
{body}

try:
    code = in_a_process(command, {seconds}, 8192)
except Exception as error:
    print(type(error).__name__, error, flush=True)
    code = 9
sys.exit(code)
"""
REAL_TIME = int(getattr(signal, "SIGRTMIN", signal.SIGUSR1))
ENDED_BY_REAL_TIME = (9, f"ProcessEnded ended with {ending(-REAL_TIME)}\n")
ENDS = {
    "returns": ("print('text')\nreturn 3", (3, "text\n")),
    "fails": ("print('text')\nraise ValueError('why')", (9, "ValueError why\n")),
    "aborts": ("os.abort()", (9, "ProcessEnded ended with SIGABRT\n")),
    "exits": ("os._exit(7)", (9, "ProcessEnded ended with exit code 7\n")),
    "ends by a signal of real time": (f"os.kill(os.getpid(), {REAL_TIME})", ENDED_BY_REAL_TIME),
    "is ended by the system": ("os.kill(os.getpid(), signal.SIGKILL)", (9, "ProcessEnded ran out of memory\n")),
    "ends for lack of memory": ("os.abort()", (9, "ProcessEnded ran out of memory\n")),
    "goes on": (LOOP, (9, "ProcessEnded did not answer within 0.05 s\n")),
}


def script(body: str, seconds: float = 60) -> list[str]:
    lines = "\n".join(f"    {line}" for line in body.splitlines())
    return [sys.executable, "-c", SCRIPT.format(body=lines, seconds=seconds)]


@pytest.mark.parametrize("end", ENDS)
def test_the_end_of_a_command(end: str) -> None:
    body, expected = ENDS[end]
    arguments = script(body, 0.05 if end == "goes on" else 60)
    if end == "ends for lack of memory":
        arguments[-1] = arguments[-1].replace("8192", "20")
    done = subprocess.run(arguments, check=False, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == expected


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere a process does not end with its parent")
def test_the_command_ends_with_its_parent(number: int) -> None:
    """The pipe has its end only when both processes have ended."""
    body = f"os.write(1, b'begun\\n')\n{LOOP}"
    with subprocess.Popen(script(body), stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"begun\n"
        process.send_signal(number)
        assert process.stdout.read() == b""


def test_an_interrupt_keeps_what_the_command_has() -> None:
    body = f"try:\n os.write(1, b'begun\\n')\n{''.join(f' {line}{chr(10)}' for line in LOOP.splitlines())}"
    body += "except KeyboardInterrupt:\n print('kept')\n return 130"
    with subprocess.Popen(script(body), stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"begun\n"
        os.kill(process.pid, signal.SIGINT)
        assert process.stdout.read() == b"kept\n"
    assert process.returncode == 130
