"""A few faults of the system in each command; `make fault-campaign` takes hundreds."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.support import companions, faults
from tests.support.cases import DEEP, examples, spread
from tests.support.fault_points import Harm

NUMBER = examples(2, 20)
"""Faults of each command."""
KILLS = examples(1, 60)
"""Kills of each command."""
QUICK = [name for name in faults.LINES if name not in faults.SLOW]


@pytest.fixture(scope="module", autouse=True)
def loaded(shared_folder: Path) -> None:
    faults.load()
    companions.share(shared_folder)


@pytest.mark.parametrize("name", QUICK if DEEP else QUICK[::2])
def test_a_call_that_fails_leaves_nothing_half_written(name: str) -> None:
    """Also on a full disk, without memory, and where a file changes while it is read."""
    harms, first = faults.harms_of_faults(), QUICK.index(name)
    turned = tuple(harms[(first + place) % len(harms)] for place in range(len(harms)))  # so that each has its turn
    number = NUMBER if DEEP or name not in faults.WITH_PROCESSES else 1
    for harm, outcome, reason in faults.tried(name, number, 0, turned):
        assert not reason, f"{harm.value}: {outcome.failed} ({outcome.code}): {reason}"


@pytest.mark.parametrize("name", QUICK if DEEP else QUICK[1::2])
def test_a_command_that_is_killed_leaves_nothing_half_written(name: str) -> None:
    for _, outcome, reason in faults.tried(name, KILLS, 0, (Harm.KILL,)):
        assert not reason, f"{outcome.failed} ({outcome.code}): {reason}"


@pytest.mark.parametrize("name", spread(["check", "check with pages", "run", "fix", "bound", "verify", "export"], 4))
def test_two_processes_write_one_output(name: str, tmp_path: Path) -> None:
    """What is there afterwards is whole; a folder that the other process has made may be refused."""
    line = faults.LINES[name]
    folder = tmp_path / "folder"
    folder.mkdir()
    faults.lay_out(folder, line)
    alone = faults.unharmed(line)
    children = []
    for _ in range(3):
        child = os.fork()
        if not child:
            os._exit(faults.run_in(folder, line).code)
        children.append(child)
    codes = {os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children}
    assert alone.code in codes <= {alone.code, 2}
    assert faults.changed_files(folder) == alone.files


def test_what_a_fault_would_leave_is_seen(tmp_path: Path) -> None:
    expected = faults.Outcome(0, "", 9, "", {"out.json": b"whole", "values/a": b"a", "values/b": b"b"})
    again = expected
    for outcome, word in (
        (expected._replace(code=2, said="Traceback (most recent"), "traceback"),
        (expected._replace(code=-9), "ends with -9"),
        (expected._replace(code=4, said="sonnx: the tool failed", failed="write 'x': ENOSPC"), "ends with 4"),
        (expected._replace(files={"new.onnx": b"ha"}), "half written"),
        (expected._replace(files={".out.json.1f": b""}), "is left"),
        (expected._replace(files={"values/a": b"a"}), "lacks"),
    ):
        assert word in faults.wrong_with(Harm.CALL, expected, outcome, again)
    killed = expected._replace(code=-9, files={**expected.files, ".out.json.1f": b""})
    assert not faults.wrong_with(Harm.KILL, expected, killed, again)
    assert "half written" in faults.wrong_with(Harm.KILL, expected, killed._replace(files={"out.json": b"wh"}), again)
    assert "the next run ends with 2" in faults.wrong_with(Harm.CALL, expected, expected, again._replace(code=2))
    assert "of the next run differs" in faults.wrong_with(Harm.CALL, expected, expected, again._replace(files={}))
    assert not faults.wrong_with(Harm.CALL, expected, expected, again)
    assert "ends with 4" in faults.wrong_with_change(expected._replace(code=4))
