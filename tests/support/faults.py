"""Faults of the system: a call of a command fails, its disk is full, an allocation fails, or it is killed.

    python -m tests.support.faults [--faults 20] [--kills 60] [--seed 0] [--line NAME ...]

A command runs in a copy of this process.  Its calls are counted in a first run; in each further one it is harmed at the
call of a number (`fault_points.py`).  Afterwards no file is half written, only a killed process leaves something
temporary, the exit code is documented, and the same command without harm gives what it gives in a fresh folder.  The
disk changes at calls only, so a command that is killed at each of them is killed at every moment that differs.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import random
import re
import shutil
import signal
import sys
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from tests.support.companions import files
from tests.support.fault_points import ALLOCATIONS, SAID, WRITE, Faults, Harm

LINES: Mapping[str, str] = {
    "check": "check wrong.onnx --format json --output out.json",
    "check with pages": "check wrong.onnx --jobs 0 --pages pages",
    "check of several": "check m.onnx wrong.onnx --jobs 1 --resume new.journal --format json --output out.json",
    "check that goes on": "check wrong.onnx --jobs 1 --resume journal --output out.txt",
    "run": "run m.onnx --unchecked --random --output values",
    "run to tensors": "run m.onnx --unchecked --random --output values --values pb",
    "fix": "fix wrong.onnx --output new.onnx --report new.json",
    "bound": "bound m.onnx --unchecked --box x=[-1,1] --format npz=bounds.npz",
    "verify": "verify controller.onnx controller.vnnlib --certificate new.json",
    "verify that goes on": "verify controller.onnx controller.vnnlib --resume rounds --certificate new.json",
    "equivalent": "equivalent wrong.onnx fixed.onnx --format json --output out.json",
    "diff": "diff wrong.onnx fixed.onnx --format json --output out.json",
    "rules": "rules --since 2025-11 m.onnx wrong.onnx --format json --output out.json",
    "export": "export why3 exported",
    "compare": "compare m.onnx --unchecked --runtime reference --random 1 --class-runs 2 --output out.json",
    "suite report": "suite report suite --format json --output out.json",
    "suite run": "suite run suite --runtime reference --resume results --format json --output out.json",
    "suite run that goes on": "suite run suite --runtime reference --resume finished --format json --output out.json",
    "suite judge": "suite judge suite outputs --format json --output out.json",
    "suite difference": "suite difference run.json other.json --format json --output out.json",
    "suite make": "suite make made --operator Shape --resume",
    "prove": "prove m.onnx --format json --output out.json",
    "theorems": "theorems --select accuracy.Abs,accuracy.Div-code --emit-smt2 questions --jobs 1",
    "audit": "audit m.onnx --output new",
    "audit of a pack": "audit --verify pack m.onnx",
}
"""A line of each command that reads or writes files of the user, but `qualify`, which runs the others for minutes."""
SLOW = ("audit", "audit of a pack", "suite run", "suite run that goes on", "suite make", "theorems")
"""Commands of more than a second."""
WITH_PROCESSES = ("check of several", "check that goes on", "compare")
"""Commands of some tenths of a second: they start processes."""
VARYING = ("run.json",)
"""Files that differ between equal runs."""
UNFINISHED = "making.jsonl"
"""In a folder that is not finished: what the next run with `--resume` goes on from."""
GROWING = ("new.journal", "journal", "rounds", "results", "finished")
LARGEST_ALLOCATION = 2_000_000
"""The largest number of an allocation that fails."""
SECONDS = 300
"""After which a command is ended as one that hangs."""


class Outcome(NamedTuple):
    """How a command ended."""

    code: int
    said: str
    """What it wrote to standard error."""
    calls: int
    failed: str
    """What has harmed it."""
    files: Mapping[str, bytes]
    """The files that it wrote or changed, by path."""


def lay_out(folder: Path, line: str) -> None:
    """Write the files and folders that a line names to a folder."""
    words = line.split()
    for path, content in files().items():
        if path.partition("/")[0] in words:
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_bytes(content)


def load() -> None:
    """Load what commands load, so that each copy of this process need not."""
    for name in ("onnx.reference", "onnx.shape_inference", "z3", "sonnx.api", "sonnx.suite.making", "sonnx.proofs"):
        with contextlib.suppress(ImportError):
            import_module(name)


def run_in(folder: Path, line: str, failing: int = 0, harm: Harm = Harm.CALL, seed: int = 0) -> Outcome:
    """Run a command line in a folder, in a copy of this process that is harmed once."""
    said, calls = folder.parent / "said", folder.parent / "calls"
    with said.open("wb") as errors, calls.open("wb") as counts:
        child = os.fork()
        if not child:
            _run(folder, line, failing, harm, seed, errors.fileno(), counts.fileno())
    status = _wait(child)
    if harm is Harm.KILL:
        _wait_for_copies(folder)
    written = calls.read_text("utf-8", "replace").splitlines()
    number = max((int(text) for text in written if text.isdigit()), default=0)
    failed = "; ".join(dict.fromkeys(text for text in written if not text.isdigit()))
    return Outcome(status, said.read_text("utf-8", "replace"), number, failed, changed_files(folder))


def changed_files(folder: Path) -> Mapping[str, bytes]:
    """The files of a folder that are not as they were laid out."""
    found = {
        path.relative_to(folder).as_posix(): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()
    }
    return {path: content for path, content in found.items() if files().get(path) != content}


def _wait(child: int) -> int:
    def late(*_: object) -> None:
        os.kill(child, signal.SIGKILL)

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(SECONDS)
    try:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def _wait_for_copies(folder: Path) -> None:
    """Wait until no process works in a folder: the system ends the children of a process that was killed."""
    for _ in range(500):
        if not any(_works_in(process, folder) for process in Path("/proc").glob("[0-9]*")):
            return
        time.sleep(0.02)
    raise RuntimeError(f"a process still works in {folder}")


def _works_in(process: Path, folder: Path) -> bool:
    try:
        return (process / "cwd").readlink() == folder and b") Z" not in (process / "stat").read_bytes()
    except OSError:
        return False


def _run(folder: Path, line: str, failing: int, harm: Harm, seed: int, errors: int, counts: int) -> None:
    """Run the program in this process, and end it."""
    code = 99
    warnings.simplefilter("ignore", ResourceWarning)  # as in a process that runs no tests
    try:
        os.chdir(folder)
        os.dup2(counts, SAID)
        os.dup2(errors, 2)
        os.dup2(os.open(os.devnull, os.O_RDWR), 1)
        sys.stdout, sys.stderr = (os.fdopen(number, "w", encoding="utf-8", closefd=False) for number in (1, 2))
        os.environ["XDG_CACHE_HOME"] = str(folder / "cache")
        from sonnx.__main__ import main

        sys.argv = ["sonnx", *line.split()]
        faults = Faults(failing, harm, seed)
        faults.install()
        try:
            code = main()
        except SystemExit as end:
            code = int(end.code or 0)
        with contextlib.suppress(OSError):
            sys.stderr.flush()
        WRITE(SAID, f"{faults.number}\n".encode())
    except BaseException:  # noqa: BLE001  what would be a traceback
        WRITE(2, traceback.format_exc().encode())
    finally:
        os._exit(code)


# ------------------------------------------------------------------ what must hold


def wrong_with(harm: Harm, expected: Outcome, outcome: Outcome, again: Outcome) -> str:
    """What is wrong with how a command ended that was harmed, and with its repetition; "" if nothing is."""
    said = outcome.said.strip()
    killed = harm is Harm.KILL
    if outcome.code not in (0, 1, 2, 3, 4) and not (killed and outcome.code == -signal.SIGKILL):
        return f"it ends with {outcome.code}: {said[-300:]}"
    if "Traceback" in said:
        return f"it prints a traceback: {said[-300:]}"
    if outcome.code in (2, 4) and not said.startswith(("sonnx: ", "wrote ")):
        return f"it ends with {outcome.code} and says {said[:200]!r}"
    if outcome.code == 4 and not re.match(r"process|pipe|map|allocation", outcome.failed):
        return f"it ends with 4: {said[:300]}"
    for path, content in outcome.files.items():
        temporary = "/." in f"/{path}"
        if temporary and not killed and not outcome.failed.startswith("remove"):
            return f"{path} is left"
        if temporary or path.startswith("cache/") or path.partition("/")[0] in GROWING:
            continue
        if Path(path).name in (*VARYING, UNFINISHED):
            continue
        if expected.files.get(path) != content and not _is_about_fault(path, outcome):
            return f"{path} is half written, or differs"
    return _lacks(expected, outcome) or _wrong_again(expected, outcome, again)


def wrong_with_change(outcome: Outcome) -> str:
    """What is wrong with how a command ended of which a file changed meanwhile: it may say anything true of either."""
    said = outcome.said.strip()
    if outcome.code not in (0, 1, 2, 3) or "Traceback" in said:
        return f"it ends with {outcome.code}: {said[-300:]}"
    return next((f"{path} is left" for path in outcome.files if "/." in f"/{path}"), "")


def _is_about_fault(path: str, outcome: Outcome) -> bool:
    """Whether a report may say what failed: that a model was not read, or a call was."""
    return path in ("out.json", "pages/index.html") and outcome.code in (1, 2, 3, 4)


def _lacks(expected: Outcome, outcome: Outcome) -> str:
    """Which files a folder lacks that was written."""
    for folder in {path.partition("/")[0] for path in expected.files if "/" in path} - {"cache"}:
        has = {path for path in outcome.files if path.startswith(f"{folder}/") and "/." not in path}
        if (
            not has
            or f"{folder}/{UNFINISHED}" in has
            or (outcome.code not in (expected.code, -signal.SIGKILL) and folder == "pages")
        ):
            continue  # pages may say what failed, on fewer of them
        missing = {path for path in expected.files if path.startswith(f"{folder}/")} - has
        if missing:
            return f"the folder {folder} lacks {sorted(missing)[:3]}"
    return ""


def _wrong_again(expected: Outcome, outcome: Outcome, again: Outcome) -> str:
    """What is wrong with the same command afterwards, in the same folder."""
    if again.code == 2 and re.search("exists|is not empty|no run that was interrupted", again.said) and outcome.files:
        return ""  # the first run had written it all
    if again.code != expected.code:
        return f"the next run ends with {again.code}, not {expected.code}: {again.said[:200]}"
    for path, content in expected.files.items():
        if path.startswith("cache/") or Path(path).name in VARYING or path in GROWING:
            continue
        if again.files.get(path) != content:
            return f"{path} of the next run differs"
    return ""


# ------------------------------------------------------------------ campaigns


class Harmed(NamedTuple):
    """A command that was harmed."""

    harm: Harm
    outcome: Outcome
    reason: str
    """What is wrong, "" if nothing is."""


@cache
def unharmed(line: str) -> Outcome:
    """How a command ends in a fresh folder."""
    with TemporaryDirectory() as place:
        folder = Path(place) / "folder"
        folder.mkdir()
        lay_out(folder, line)
        outcome = run_in(folder, line)
    if outcome.code not in (0, 1, 3):
        raise RuntimeError(f"{line} ends with {outcome.code}: {outcome.said}")
    return outcome


def tried(name: str, number: int | None, seed: int, harms: tuple[Harm, ...]) -> Iterator[Harmed]:
    """Run a command with so many harms of the given sorts; with all its calls if the number is None."""
    line, draw = LINES[name], random.Random(f"{name} {seed}")
    with TemporaryDirectory() as place:
        folder = Path(place) / "folder"

        def fresh() -> None:
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
            lay_out(folder, line)

        expected = unharmed(line)
        for harm, at in _places(harms, expected.calls, number, draw):
            fresh()
            outcome = run_in(folder, line, at, harm, seed)
            if harm is Harm.CHANGE:
                yield Harmed(harm, outcome, wrong_with_change(outcome))
            else:
                yield Harmed(harm, outcome, wrong_with(harm, expected, outcome, run_in(folder, line)))


def _places(harms: tuple[Harm, ...], calls: int, number: int | None, draw: random.Random) -> Iterator[tuple[Harm, int]]:
    """Which harm at which number: spread over the calls, and over the sizes of numbers of allocations."""
    for place, harm in enumerate(harms):
        share = calls if number is None else number // len(harms) + (place < number % len(harms))
        if harm is Harm.MEMORY:
            yield from ((harm, int(LARGEST_ALLOCATION ** draw.uniform(0.2, 1.0))) for _ in range(share))
        else:
            yield from ((harm, at) for at in sorted(draw.sample(range(1, calls + 1), min(share, calls))))


def harms_of_faults() -> tuple[Harm, ...]:
    """The harms but the kill, without allocations where this Python cannot make them fail."""
    return (Harm.CALL, Harm.DISK, Harm.CHANGE, *((Harm.MEMORY,) if find_spec(ALLOCATIONS) else ()))


def main() -> None:
    """Run the campaign."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--faults", type=int, default=20, help="of each command (default 20)")
    parser.add_argument("--kills", type=int, default=60, help="of each command, at other calls (default 60)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--line", choices=LINES, action="append", help="a command; all if there is none")
    options = parser.parse_args()
    load()
    counted, failures = Counter[Harm](), 0
    for name in options.line or LINES:
        before, seen = counted.total(), set[str]()
        for harms, number in ((harms_of_faults(), options.faults), ((Harm.KILL,), options.kills)):
            for harm, outcome, reason in tried(name, number, options.seed, harms):
                counted[harm] += 1
                failures += bool(reason)
                if reason and reason[:50] not in seen:
                    seen.add(reason[:50])
                    print(f"{name}, {outcome.failed} ({outcome.code}): {reason}", flush=True)
        print(f"{name}: {counted.total() - before}", flush=True)
    print("; ".join(f"{harm.value}: {counted[harm]}" for harm in Harm), f"; failures: {failures}", sep="")
    sys.exit(failures > 0)


if __name__ == "__main__":
    main()
