"""Every command on generated models: none ends with 4, none takes longer than it is allowed.

    nice -n 19 python -m tests.fuzz.commands --models 20000

Each model is a number (`damaged_calls.model`).  The commands run in one process, which is started again where it ends,
takes too long, or has grown; `compare` and `audit` start processes or hash the installation, so they take fewer models.
A model that conforms is given without --unchecked, so that an error of the tool is not taken for one of the model.
What each command ended with is a line of the journal; a campaign that is started again goes on behind the last.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import io
import json
import os
import resource
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

SECONDS = 5
"""The time limit of each command."""
MEGABYTES = 2048
"""The memory limit of each command."""
GRACE = 1.0
"""Seconds of processor time after its time limit at which a command must have ended."""
IDLE = 60
"""Seconds after which a command must have ended that waits, or that other processes hold up."""
SEARCH = 1
"""Seconds for which `verify` searches."""
LARGEST = 4000
"""Megabytes beyond which the process is started anew."""
EVERY = {"compare": 25, "audit": 200}
"""Of so many models such a command takes one."""


def commands(
    path: str, number: int, seconds: int = SECONDS, megabytes: int = MEGABYTES
) -> Iterator[tuple[str, list[str]]]:
    """The name and the arguments of each command for a model, with a changed copy in the same folder."""
    from sonnx.base.errors import Unreadable
    from sonnx.model.reader import read

    changed = str(Path(path).with_name("changed.onnx"))
    try:
        names = [each.name for each in read(Path(path)).graph.inputs]
    except Unreadable:
        names = []
    box = [part for name in names for part in ("--box", f"{name}=[-1,2]")]
    common = ["--timeout", str(seconds), "--memory", str(megabytes)]
    yield "check", [path, "--format", ("text", "json", "github", "markdown")[number % 4]]
    yield "rules", ["--since", "2025-11", path, *common]
    yield "run", [path, "--random", "--unchecked", *common]
    yield "compare", [path, "--runtime", "reference", "--unchecked", "--runtime-timeout", "3", *common]
    within = ["--within-bound", *(f"--box={bounds}" for bounds in box[1::2])] if number % 4 == 3 else []
    yield "fix", [path, "--dry-run", *within, *common]
    yield "prove", [path, *common]
    yield "bound", [path, *box, "--unchecked", *common]
    yield "audit", [path, "--output", str(Path(path).with_name("pack")), *common]
    yield "equivalent", [path, changed, *common]
    yield "diff", [path, changed, *common]
    property_file = Path(path).with_name("p.toml")
    require = "largest = 0" if number % 2 else "output = 0\nabove = -0.5"
    property_file.write_text(f"input = {json.dumps(box[1::2])}\n[[require]]\n{require}\n")
    yield "verify", [path, str(property_file), "--search", str(SEARCH), "--unchecked", *common]


def serve(first: int, last: int, only: str | None) -> None:
    """Run the commands on the models of these numbers; a line in JSON before and after each command."""
    from tests.fuzz.damaged_calls import changed, model

    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)

    def say(*answer: object) -> None:
        answers.write(json.dumps(answer) + "\n")
        answers.flush()

    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "m.onnx")
        for number in range(first, last):
            data = model(number)
            Path(path).write_bytes(data)
            Path(path).with_name("changed.onnx").write_bytes(changed(data, number))
            conforms = False
            for name, arguments in commands(path, number):
                if only not in (None, name) or (only is None and number % EVERY.get(name, 1)):
                    continue
                say("begins", number, name)
                started = time.process_time()
                ended, reason = code([name, *(part for part in arguments if part != "--unchecked" or not conforms)])
                conforms = conforms or (name == "check" and ended == 0)
                say("ended", number, name, ended, round(time.process_time() - started, 3), reason)
            if resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10 > LARGEST:
                return


def code(arguments: list[str]) -> tuple[int, str]:
    """The exit code of a command, and where it fails."""
    import shutil
    import traceback

    from sonnx.cli.main import run

    out, err = io.StringIO(), io.StringIO()
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            ended = run(arguments)
    except SystemExit as stop:
        return int(stop.code or 0), ""
    except Exception as error:  # noqa: BLE001  what the program would end with 4 for
        frames = [each for each in traceback.extract_tb(error.__traceback__) if "sonnx" in each.filename]
        place = f"{Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else ""
        return 4, f"{type(error).__name__} at {place}: {str(error)[:200]}"
    finally:
        if "--output" in arguments:
            shutil.rmtree(arguments[arguments.index("--output") + 1], ignore_errors=True)
    if len(err.getvalue().splitlines()) > 3:
        return ended, f"many lines: {err.getvalue()[:200]}"
    return ended, ""


class Ended(NamedTuple):
    """What one command on one model ended with; `seconds` are of the processor."""

    number: int
    name: str
    code: int | str
    seconds: float
    reason: str = ""


class Campaign:
    """The journal of a campaign: a line for each command that ended.

    Raises:
        SystemExit: the file belongs to another version of the program or of the models.
    """

    def __init__(self, path: Path, first: int, only: str | None) -> None:
        self.path, self.ended = path, list[Ended]()
        head = json.dumps({"first": first, "only": only, "for": subject()})
        lines = path.read_text().splitlines(keepends=True) if path.exists() else []
        if lines and lines[0].strip() != head:
            raise SystemExit(f"{path} is the journal of another campaign or program; remove it, or name another")
        for line in lines[1:]:
            if line.endswith("\n"):
                self.ended.append(Ended(*json.loads(line)))
        self.next = self.ended[-1].number if self.ended else first
        self.ended = [each for each in self.ended if each.number < self.next]
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(f"{line}\n" for line in [head, *map(json.dumps, self.ended)]))

    def keep(self, ended: Ended) -> None:
        """Add a command, to the file also."""
        self.ended.append(ended)
        with self.path.open("a") as file:
            file.write(json.dumps(ended) + "\n")

    def figures(self) -> str:
        """How many commands ended with what, and those that failed, as JSON."""
        codes: dict[str, Counter[str]] = {}
        slowest: dict[str, tuple[float, int]] = {}
        failures: dict[str, int] = {}
        for each in self.ended:
            codes.setdefault(each.name, Counter())[str(each.code)] += 1
            slowest[each.name] = max(slowest.get(each.name, (0.0, 0)), (each.seconds, each.number))
            if each.code == 4 or each.reason:
                failures.setdefault(f"{each.name}: {each.reason}", each.number)
        figures = {
            "models": len({each.number for each in self.ended}), "commands": len(self.ended),
            "codes": codes, "slowest": slowest, "failures": failures,
        }  # fmt: skip
        return json.dumps(figures, indent=1) + "\n"


def subject() -> str:
    """The hash of the program, of its data, and of what makes the models."""
    from sonnx.base.resources import own_hash

    ours = [Path(__file__), Path(__file__).with_name("damaged_calls.py")]
    return hashlib.sha256(own_hash().encode() + b"".join(each.read_bytes() for each in ours)).hexdigest()


def run_all(campaign: Campaign, last: int, only: str | None) -> None:
    """Run the commands on the models up to this number."""
    at = campaign.next
    while at < last:
        arguments = [
            sys.executable,
            "-m",
            "tests.fuzz.commands",
            "--serve",
            str(at),
            str(last),
            *([only] if only else []),
        ]
        with subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
            at = _follow(process, campaign, at)


def _follow(process: subprocess.Popen[str], campaign: Campaign, at: int) -> int:
    """Keep what a process says until it ends; the number of the next model."""
    assert process.stdout is not None
    begun: tuple[int, str] | None = None
    with _Watch(process) as watch:
        for line in process.stdout:
            kind, number, name, *rest = json.loads(line)
            if kind == "begins":
                begun, at = (number, name), number
                watch.start()
            else:
                begun = None
                watch.stop()
                campaign.keep(Ended(number, name, *rest))
    process.wait()
    if begun is None:
        return at + 1
    reason = "it did not end in time" if watch.late else f"its process ended with {process.returncode}"
    campaign.keep(Ended(*begun, "ended by the parent" if watch.late else process.returncode, 0.0, reason))
    return begun[0] + 1


class _Watch:
    """Ends a process whose command takes too much processor time, or waits too long."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process, self.late = process, False
        self.begun: tuple[float, float] | None = None
        self.over = threading.Event()

    def __enter__(self) -> _Watch:
        threading.Thread(target=self._watch, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.over.set()

    def start(self) -> None:
        """A command begins."""
        self.begun = time.monotonic(), self._processor_seconds()

    def stop(self) -> None:
        """It has ended."""
        self.begun = None

    def _watch(self) -> None:
        while not self.over.wait(0.2):
            if (begun := self.begun) is None:
                continue
            used, passed = self._processor_seconds() - begun[1], time.monotonic() - begun[0]
            if (used > SECONDS + GRACE or passed > IDLE) and begun == self.begun:
                self.late = True
                self.process.kill()
                return

    def _processor_seconds(self) -> float:
        try:
            fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            return 0.0
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def main() -> None:
    """Run the campaign, or a part of it as its child process."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--models", type=int, default=20_000)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--only", help="one command")
    parser.add_argument("--journal", type=Path, default=Path("build/commands.jsonl"))
    parser.add_argument("--serve", nargs="+", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        serve(int(options.serve[0]), int(options.serve[1]), *(options.serve[2:] or [None]))
        return
    campaign = Campaign(options.journal, options.first, options.only)
    run_all(campaign, options.first + options.models, options.only)
    sys.stdout.write(campaign.figures())


if __name__ == "__main__":
    main()
