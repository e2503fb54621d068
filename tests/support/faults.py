"""Faults of the system: each call by which a command reads, writes, renames or forks fails once.

    python -m tests.support.faults [--faults 500] [--seed 0] [--line NAME]

A command runs in a copy of this process.  Its calls are counted in a first run; in each further one the call of a
number fails with an error that the system may give there.  Afterwards no file is half written, nothing temporary is
left, the exit code is documented, and the same command without a fault gives what it gives in a fresh folder.
"""

from __future__ import annotations

import argparse
import builtins
import contextlib
import errno
import io
import mmap
import os
import random
import re
import shutil
import signal
import stat
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from tests.support.companions import files

LINES: Mapping[str, str] = {
    "check": "check wrong.onnx --format json --output out.json",
    "check with pages": "check wrong.onnx --jobs 0 --pages pages",
    "check of several": "check m.onnx wrong.onnx --jobs 1 --resume new.journal --format json --output out.json",
    "check that goes on": "check wrong.onnx --jobs 1 --resume journal --format json --output out.json",
    "run": "run m.onnx --unchecked --random --output values",
    "run to tensors": "run m.onnx --unchecked --random --output values --values pb",
    "fix": "fix wrong.onnx --output new.onnx --report new.json",
    "bound": "bound m.onnx --unchecked --box x=[-1,1] --format npz=bounds.npz",
    "verify": "verify controller.onnx controller.vnnlib --certificate new.json",
    "verify that goes on": "verify controller.onnx controller.vnnlib --resume rounds --certificate new.json",
    "equivalent": "equivalent wrong.onnx fixed.onnx --format json --output out.json",
    "export": "export why3 exported",
    "explain": "explain no-dead-node",
    "compare": "compare m.onnx --unchecked --runtime reference --random 1 --format json --output out.json",
    "suite report": "suite report suite --format json --output out.json",
    "suite run": "suite run suite --runtime reference --resume results --format json --output out.json",
    "suite judge": "suite judge suite outputs --format json --output out.json",
    "prove": "prove m.onnx --no-cache --format json --output out.json",
    "audit": "audit m.onnx --output new",
}
SLOW = ("audit", "suite run")
"""Commands of more than a second."""
VARYING = ("run.json",)
"""Files that differ between equal runs, and the file of `--resume` of a run that was not finished."""
GROWING = ("new.journal", "journal", "rounds", "results")

ERRORS = {
    "open": (errno.EMFILE, errno.EACCES, errno.EIO),
    "read": (errno.EIO,),
    "write": (errno.ENOSPC, errno.EIO),
    "rename": (errno.EIO, errno.ENOSPC),
    "folder": (errno.ENOSPC, errno.EACCES),
    "remove": (errno.EIO,),
    "process": (errno.EAGAIN, errno.ENOMEM),
    "pipe": (errno.EMFILE,),
    "map": (errno.ENOMEM,),
}
"""The errors of each sort of call."""
CALLS = {
    "open": ("open",), "read": ("read",), "write": ("write", "truncate", "fsync"),
    "rename": ("replace", "rename", "link"),
    "folder": ("mkdir",), "remove": ("unlink", "rmdir"), "process": ("fork",), "pipe": ("pipe",),
}  # fmt: skip
"""The functions of `os` of each sort."""


class Faults:
    """Counts the calls of a process and its children, of which the call of one number fails."""

    def __init__(self, failing: int = 0, seed: int = 0) -> None:
        self.failing, self.number, self.draw = failing, 0, random.Random(seed)
        self.failed = ""
        self.opened = dict[int, str]()

    def point(self, sort: str, what: object) -> None:
        """A call; the one that is to fail raises.

        Raises:
            OSError: it is the one.
        """
        if isinstance(what, int):
            if stat.S_ISFIFO(os.fstat(what).st_mode) or what in (1, 2):
                return  # a pipe between the processes of the program, or the streams of the command
            what = self.opened.get(what, what)
        if isinstance(what, str | os.PathLike) and os.fspath(what).startswith(OWN):
            return  # a file of the installation
        self.number += 1
        if self.number == self.failing:
            code = self.draw.choice(ERRORS[sort])
            self.failed = f"{sort} {what!r}: {errno.errorcode[code]}"
            os.write(SAID, f"{self.failed}\n".encode())
            raise OSError(code, os.strerror(code), *([os.fspath(what)] if isinstance(what, str | os.PathLike) else []))

    def install(self) -> None:
        """Count the calls of this process from now on."""
        for sort, names in CALLS.items():
            for name in names:
                setattr(os, name, self._counted(sort, getattr(os, name)))
        mapped = mmap.mmap
        mmap.mmap = lambda *given, **named: self.point("map", "") or mapped(*given, **named)  # type: ignore
        opened = self._opener()
        builtins.open = io.open = opened

    def _counted(self, sort: str, call: Callable[..., Any]) -> Callable[..., Any]:
        def counted(*given: Any, **named: Any) -> Any:
            if not (call is _WRITE and given[0] == SAID):
                self.point(sort, given[0] if given else "")
            result = call(*given, **named)
            if sort == "open":
                self.opened[result] = os.fspath(given[0])
            return result

        return counted

    def _opener(self) -> Callable[..., Any]:
        point = self.point

        class File(io.FileIO):
            """A file whose reads and writes are calls."""

            def readinto(self, buffer: Any) -> Any:
                point("read", self.name)
                return super().readinto(buffer)

            def readall(self) -> bytes:
                point("read", self.name)
                return super().readall()

            def write(self, data: Any) -> Any:
                point("write", self.name)
                return super().write(data)

        def opened(
            file: Any, mode: str = "r", buffering: int = -1, encoding: Any = None, errors: Any = None,
            newline: Any = None, closefd: bool = True, opener: Any = None,
        ) -> Any:  # fmt: skip
            point("open", file)
            raw = File(file, mode.replace("b", "").replace("t", ""), closefd, opener)
            if buffering == 0:
                return raw
            wide = {"+": io.BufferedRandom, "r": io.BufferedReader}
            kind = wide.get("+" if "+" in mode else mode[0], io.BufferedWriter)
            buffered = kind(raw)
            if "b" in mode:
                return buffered
            return io.TextIOWrapper(buffered, encoding, errors, newline, line_buffering=buffering == 1)

        return opened


_WRITE = os.write
SAID = 999
"""The descriptor to which a process writes the call that fails."""
OWN = tuple({str(Path(__file__).parents[2]), sys.prefix, sys.base_prefix, "/usr", "/proc", "/sys", "/dev"})
"""Where the files of the installation are."""


class Outcome(NamedTuple):
    """How a command ended."""

    code: int
    said: str
    """What it wrote to standard error."""
    calls: int
    failed: str
    """The call that failed."""
    files: Mapping[str, bytes]
    """The files that it wrote or changed, by path."""


def lay_out(folder: Path) -> None:
    """Write what the commands read to a folder."""
    for path, content in files().items():
        if path.startswith("pack/"):
            continue
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(content)


def run_in(folder: Path, line: str, failing: int = 0, seed: int = 0) -> Outcome:
    """Run a command line in a folder, in a copy of this process of which one call fails."""
    said, calls = folder.parent / "said", folder.parent / "calls"
    with said.open("wb") as errors, calls.open("wb") as counts:
        child = os.fork()
        if not child:
            _run(folder, line, Faults(failing, seed), errors.fileno(), counts.fileno())
    status = _wait(child)
    written = calls.read_text("utf-8", "replace").splitlines()
    number = max((int(text) for text in written if text.isdigit()), default=0)
    failed = "; ".join(text for text in written if not text.isdigit())
    found = {
        path.relative_to(folder).as_posix(): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()
    }
    changed = {path: content for path, content in found.items() if files().get(path) != content}
    return Outcome(status, said.read_text("utf-8", "replace"), number, failed, changed)


def _wait(child: int) -> int:
    def late(*_: object) -> None:
        os.kill(child, signal.SIGKILL)

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(120)
    try:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def _run(folder: Path, line: str, faults: Faults, errors: int, counts: int) -> None:
    """Run the program in this process, and end it."""
    code = 99
    try:
        os.chdir(folder)
        os.dup2(counts, SAID)
        os.dup2(errors, 2)
        os.dup2(os.open(os.devnull, os.O_RDWR), 1)
        sys.stdout, sys.stderr = (os.fdopen(number, "w", encoding="utf-8", closefd=False) for number in (1, 2))
        os.environ["XDG_CACHE_HOME"] = str(folder / "cache")
        from sonnx.__main__ import main

        sys.argv = ["sonnx", *line.split()]
        faults.install()
        try:
            code = main()
        except SystemExit as end:
            code = int(end.code or 0)
        with contextlib.suppress(OSError):
            sys.stderr.flush()
        _WRITE(SAID, f"{faults.number}\n".encode())
    except BaseException:  # noqa: BLE001  what would be a traceback
        _WRITE(2, traceback.format_exc().encode())
    finally:
        os._exit(code)


def wrong_with(line: str, expected: Outcome, outcome: Outcome, again: Outcome) -> str:
    """What is wrong with how a command ended of which a call failed, and with its repetition; "" if nothing is."""
    said = outcome.said.strip()
    if outcome.code not in (0, 1, 2, 3, 4):
        return f"it ends with {outcome.code}: {said[-300:]}"
    if "Traceback" in said:
        return f"it prints a traceback: {said[-300:]}"
    if outcome.code in (2, 4) and not said.startswith(("sonnx: ", "wrote ")):
        return f"it ends with {outcome.code} and says {said[:200]!r}"
    if outcome.code == 4 and not re.match(r"process|pipe|map", outcome.failed):
        return f"it ends with 4: {said[:300]}"
    for path, content in outcome.files.items():
        if "/." in f"/{path}" and not outcome.failed.startswith("remove"):
            return f"{path} is left"
        name = path.partition("/")[0]
        if path.startswith("cache/") or name in GROWING or Path(path).name in VARYING or "/." in f"/{path}":
            continue
        if expected.files.get(path) != content and not _is_about_fault(path, outcome):
            return f"{path} is half written, or differs"
    listed = {path.partition("/")[0] for path in outcome.files}
    for folder in listed & {path.partition("/")[0] for path in expected.files if "/" in path} - {"cache"}:
        if outcome.code != expected.code:
            continue  # it may say what failed, on fewer pages
        missing = {path for path in expected.files if path.startswith(f"{folder}/")} - outcome.files.keys()
        if missing:
            return f"the folder {folder} lacks {sorted(missing)[:3]}"
    return _wrong_again(line, expected, outcome, again)


def _is_about_fault(path: str, outcome: Outcome) -> bool:
    """Whether a report may say what failed: that a model was not read, or a call was."""
    return path in ("out.json", "pages/index.html") and outcome.code in (2, 3, 4)


def _wrong_again(line: str, expected: Outcome, outcome: Outcome, again: Outcome) -> str:
    """What is wrong with the same command afterwards, in the same folder."""
    if again.code == 2 and ("exists" in again.said or "is not empty" in again.said) and outcome.files:
        return ""  # the first run had written it all
    if again.code != expected.code:
        return f"the next run ends with {again.code}, not {expected.code}: {again.said[:200]}"
    for path, content in expected.files.items():
        if path.startswith("cache/") or Path(path).name in VARYING or path in GROWING:
            continue
        if again.files.get(path) != content:
            return f"{path} of the next run differs"
    return ""


def tried(name: str, number: int | None, seed: int) -> Iterator[tuple[Outcome, str]]:
    """Run a command with faults at so many of its calls, all of them if None: each outcome, with what is wrong."""
    line, draw = LINES[name], random.Random(f"{name} {seed}")
    with TemporaryDirectory() as place:
        folder = Path(place) / "folder"

        def fresh() -> None:
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
            lay_out(folder)

        fresh()
        expected = run_in(folder, line)
        places = [*range(1, expected.calls + 1)]
        for at in places if number is None else sorted(draw.sample(places, min(number, len(places)))):
            fresh()
            outcome = run_in(folder, line, at, seed)
            again = run_in(folder, line)
            yield outcome, wrong_with(line, expected, outcome, again)


def main() -> None:
    """Run the campaign."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--faults", type=int, default=500)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--line", choices=LINES)
    options = parser.parse_args()
    lines = [options.line] if options.line else [*LINES]
    total = failures = 0
    for name in lines:
        number, seen = -(-options.faults // len(lines)), set[str]()
        results = [*tried(name, number, options.seed)]
        for outcome, reason in results:
            if reason:
                failures += 1
                if reason[:50] not in seen:
                    seen.add(reason[:50])
                    print(f"{name}, {outcome.failed} ({outcome.code}): {reason}", flush=True)
        total += len(results)
        print(f"{name}: {len(results)} faults", flush=True)
    print(f"{total} faults, {failures} failures")
    sys.exit(failures > 0)


if __name__ == "__main__":
    main()
