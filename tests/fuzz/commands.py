"""Every command on generated models: none ends with 4, none takes longer than it is allowed.

    python -m tests.fuzz.commands --models 20000

Each model is a number (`damaged_calls.model`).  The commands run in one process, which is started again where it ends,
takes too long, or has grown; `compare` and `audit` start processes or hash the installation, so they take fewer models.
"""

from __future__ import annotations

import argparse
import contextlib
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

SECONDS = 5
"""The time limit of each command."""
MEGABYTES = 2048
"""The memory limit of each command."""
GRACE = 1.0
"""Seconds after its time limit at which a command must have ended."""
LARGEST = 4000
"""Megabytes beyond which the process is started anew."""
EVERY = {"compare": 25, "audit": 200}
"""Of so many models such a command takes one."""


def commands(path: str, number: int) -> Iterator[tuple[str, list[str]]]:
    """The name and the arguments of each command for a model."""
    from sonnx.model.reader import Unreadable, read

    changed = str(Path(path).with_name("changed.onnx"))
    try:
        names = [each.name for each in read(Path(path)).graph.inputs]
    except Unreadable:
        names = []
    box = [part for name in names for part in ("--input", f"{name}=[-1,2]")]
    common = ["--timeout", str(SECONDS), "--memory", str(MEGABYTES)]
    yield "check", [path, "--format", ("text", "json", "github", "markdown")[number % 4]]
    yield "run", [path, "--random", "--unchecked", *common]
    yield "compare", [path, "--runtime", "reference", "--unchecked", "--runtime-timeout", "3", *common]
    yield "fix", [path, "--dry-run", *common]
    yield "prove", [path, *common]
    yield "bound", [path, *box, "--unchecked", *common]
    yield "audit", [path, "--output", str(Path(path).with_name("pack")), *common]
    yield "equivalent", [path, changed, *common]
    yield "diff", [path, changed, *common]


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
            for name, arguments in commands(path, number):
                if only not in (None, name) or (only is None and number % EVERY.get(name, 1)):
                    continue
                say("begins", number, name)
                started = time.monotonic()
                ended, reason = code([name, *arguments])
                say("ended", number, name, ended, time.monotonic() - started, reason)
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


class Campaign:
    """What the commands ended with."""

    def __init__(self) -> None:
        self.codes: dict[str, Counter[str]] = {}
        self.slowest: dict[str, tuple[float, int]] = {}
        self.failures: dict[str, int] = {}

    def ended(self, number: int, name: str, code: object, seconds: float, reason: str) -> None:
        """Count one command."""
        self.codes.setdefault(name, Counter())[str(code)] += 1
        self.slowest[name] = max(self.slowest.get(name, (0.0, 0)), (round(seconds, 2), number))
        if code == 4 or reason:
            self.failures.setdefault(f"{name}: {reason}", number)

    def figures(self) -> str:
        """All of it, as JSON."""
        return json.dumps({"codes": self.codes, "slowest": self.slowest, "failures": self.failures}, indent=1) + "\n"


def run_all(first: int, last: int, only: str | None, report: Path) -> Campaign:
    """Run the commands on the models of these numbers."""
    campaign, at = Campaign(), first
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
            at = _follow(process, campaign, at, report)
    return campaign


def _follow(process: subprocess.Popen[str], campaign: Campaign, at: int, report: Path) -> int:
    """Read what a process says until it ends, and write the figures; the number of the next model."""
    assert process.stdout is not None
    begun: tuple[int, str] | None = None
    late = threading.Event()
    timer = None
    for line in process.stdout:
        if timer is not None:
            timer.cancel()
        kind, number, name, *rest = json.loads(line)
        begun = (number, name) if kind == "begins" else None
        if kind == "ended":
            campaign.ended(number, name, *rest)
            if number > at and number % 50 == 0:
                report.write_text(campaign.figures())
            at = number
        else:
            timer = threading.Timer(SECONDS + GRACE, lambda: (late.set(), process.kill()))
            timer.start()
    if timer is not None:
        timer.cancel()
    process.wait()
    report.write_text(campaign.figures())
    if begun is None:
        return at + 1
    number, name = begun
    campaign.ended(number, name, "ended by the parent" if late.is_set() else process.returncode, 0.0,
                   "" if late.is_set() else f"its process ended with {process.returncode}")  # fmt: skip
    return number + 1


def main() -> None:
    """Run the campaign, or a part of it as its child process."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--models", type=int, default=20_000)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--only", help="one command")
    parser.add_argument("--report", type=Path, default=Path("commands.json"))
    parser.add_argument("--serve", nargs="+")
    options = parser.parse_args()
    if options.serve:
        serve(int(options.serve[0]), int(options.serve[1]), *(options.serve[2:] or [None]))
        return
    campaign = run_all(options.first, options.first + options.models, options.only, options.report)
    sys.stdout.write(campaign.figures())


if __name__ == "__main__":
    main()
