"""A child process that answers requests: whatever it does is an answer or one of five ends, and nothing goes on."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from sonnx.supervise.process import ProcessEnded
from sonnx.supervise.service import Service, ServiceLimits
from tests.support.cases import crossed
from tests.support.models import chain
from tests.support.paths import ROOT
from tests.support.processes import still_running

MODULE = "tests.support.services"
LIMITS = ServiceLimits(seconds=2, megabytes=256)


@pytest.fixture
def service(monkeypatch: pytest.MonkeyPatch) -> Iterator[Service]:
    monkeypatch.syspath_prepend(str(ROOT))
    started = Service(MODULE, [], LIMITS)
    assert started.greeting(bytes) == b"ready"
    yield started
    started.end()


@pytest.mark.parametrize("request_text", ["anything", "print", "", "x" * 3_000_000])
def test_an_answer(service: Service, request_text: str) -> None:
    for _ in range(2):
        assert service.ask(request_text.encode(), bytes) == request_text.encode()
    assert service.ask(b"large", len) == 3 << 20
    assert service.is_running


@pytest.mark.skipif(sys.platform != "linux", reason="the service looks for its pipe in /proc")
@pytest.mark.parametrize(
    ("asked", "sentence"),
    [
        ("exit", "ended with exit code 7"), ("signal", "ended with SIGSEGV"), ("half", "ended with exit code 0"),
        ("hang", "did not answer within 2 seconds"), ("memory", "ran out of memory"),
        ("error", "failed RuntimeError: two lines"), ("long", "sent a malformed message"),
        ("kind", "sent a malformed message"), ("text", "sent a malformed message"),
    ],
)  # fmt: skip
def test_an_end(service: Service, asked: str, sentence: str) -> None:
    assert service.ask(b"before", bytes) == b"before"
    with pytest.raises(ProcessEnded) as ended:
        service.ask(asked.encode(), bytes)
    assert str(ended.value) == sentence
    assert not service.is_running
    assert not still_running([service.process.popen.pid])


def test_a_message_that_cannot_be_decoded_is_malformed(service: Service) -> None:
    def refuse(_: object) -> None:
        raise ValueError("of another type")

    with pytest.raises(ProcessEnded, match="sent a malformed message"):
        service.ask(b"anything", refuse)
    assert not service.is_running


def test_an_error_of_the_parent_ends_the_process(service: Service) -> None:
    """An interrupt, for example; what is left in the pipe would be the answer to the next request."""

    def interrupt(_: object) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        service.ask(b"anything", interrupt)
    assert not service.is_running


@pytest.mark.skipif(sys.platform != "linux", reason="the service looks for its pipe in /proc")
def test_a_child_that_holds_the_pipe_does_not_keep_the_parent_waiting(service: Service) -> None:
    child = int(service.ask(b"child", bytes))
    with pytest.raises(ProcessEnded, match="ended with exit code 7"):
        service.ask(b"exit", bytes)
    assert not still_running([child])


@pytest.mark.skipif(sys.platform != "linux", reason="the system limits memory on Linux")
def test_a_message_is_not_longer_than_the_memory_of_its_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever a process does to its limit, what it sends does not fill the memory of this one."""
    monkeypatch.syspath_prepend(str(ROOT))
    small = Service(MODULE, [], LIMITS)
    small.greeting(bytes)
    small.limits = ServiceLimits(seconds=2, megabytes=2)
    with pytest.raises(ProcessEnded, match="sent a malformed message"):
        small.ask(b"large", bytes)


CLOSED = """
import os, sys
for number in map(int, sys.argv[1].split()):
    os.close(number)
from sonnx.supervise.service import Service, ServiceLimits
service = Service("tests.support.services", [], ServiceLimits(5, 256))
good = service.greeting(bytes) == b"ready" and all(service.ask(b"x" * 100_000, len) == 100_000 for _ in range(3))
service.end()
os._exit(0 if good else 1)
"""


CLOSINGS = ("<&-", ">&-", "2>&-", "<&- >&- 2>&-")
COMMANDS = ("check m.onnx n.onnx --jobs 2", "run m.onnx --random", "compare m.onnx")


@pytest.mark.parametrize("closed", ["0", "1", "2", "0 1", "0 2", "1 2", "0 1 2"])
def test_closed_descriptors_of_the_parent(closed: str) -> None:
    """Of a program that uses the library: its pipes then get the numbers of its input and output."""
    done = subprocess.run([sys.executable, "-c", CLOSED, closed], check=False, cwd=ROOT, timeout=60)
    assert done.returncode == 0


@pytest.mark.parametrize(("closing", "line"), crossed(CLOSINGS, COMMANDS, every=4))
def test_closed_descriptors_of_a_command(closing: str, line: str, tmp_path: Path) -> None:
    for name in ("m.onnx", "n.onnx"):
        (tmp_path / name).write_bytes(chain(1).SerializeToString())
    runtime = " --runtime reference" if line.startswith("compare") else ""
    words = ["sh", "-c", f"'{sys.executable}' -m sonnx {line}{runtime} {closing}"]
    surroundings = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(words, check=False, cwd=tmp_path, env=surroundings, capture_output=True)
    assert (done.returncode, done.stderr) == (0, b"")
