"""The campaigns: tests marked `campaign`, each in a child process: `python -m tests.support.campaigns`.

A test that hangs or crashes fails alone.  An interrupted run keeps its results, and --resume continues it.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import io
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from sonnx.base.errors import BadInput, UsageError
from sonnx.base.progress import Progress
from sonnx.checker.report import NoVerdict
from sonnx.cli.arguments import amount_argument
from sonnx.workers.kept_answers import SUBJECT, KeptAnswers
from sonnx.workers.pools import answers_to, counted, word
from sonnx.workers.tasks import Answer, TaskLimits, Work, WorkerTask, WorkPlace
from tests.support.paths import TESTS

PACKAGES = ("onnx", "numpy", "ml_dtypes", "gmpy2", "z3-solver", "onnxruntime", "pytest")
MAX_OUTPUT = 4000
"""Characters of what a failed test printed."""

ALL_TESTS = "all tests"
"""What an answer is about; their hash is one of the options."""


class Reports:
    """The tests pytest collected, and the number of each outcome."""

    def __init__(self) -> None:
        self.items: list[str] = []
        self.outcomes: Counter[str] = Counter()

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        self.items += [item.nodeid for item in session.items]

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "call" or report.outcome != "passed":
            self.outcomes[report.outcome] += 1


def pytest_on(folder: Path | str, *arguments: str) -> tuple[int, Reports, str]:
    """The exit code of pytest in a folder of tests, its results, and its output."""
    said, reports = io.StringIO(), Reports()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        usual = ["-q", "-p", "no:cacheprovider", "-m", "campaign", "--rootdir", str(folder)]
        code = pytest.main([*usual, *arguments], plugins=[reports])
    return int(code), reports, said.getvalue()


# ------------------------------------------------------------------ in a child


def prepare() -> None:
    """Do nothing: a test loads what it needs."""


def answer(request: Mapping[str, Any]) -> Answer:
    """The outcome of one test."""
    code, reports, said = pytest_on(request["folder"], f"{request['folder']}/{request['test']}")
    if code or set(reports.outcomes) - {"passed", "skipped"} or not reports.outcomes:
        return {"sentence": f"failed\n{said[-MAX_OUTPUT:]}", "why": NoVerdict.FAILED}
    return {"word": "skipped" if reports.outcomes["skipped"] else "passed", SUBJECT: ALL_TESTS}


# ------------------------------------------------------------------ in the parent


def tasks_of(select: Sequence[str], folder: Path) -> list[WorkerTask]:
    """A task for each test whose name contains one of the texts."""
    files = [path for path in sorted(folder.rglob("test_*.py")) if "mark.campaign" in path.read_text("utf-8")]
    code, reports, said = pytest_on(folder, "--collect-only", *map(str, files))
    if code:
        sys.exit(said)
    found = [
        WorkerTask(name, {"folder": str(folder), "test": name})
        for name in reports.items
        if any(map(name.__contains__, select))
    ]
    return found or sys.exit(f"no campaign has {' or '.join(map(repr, select))} in its name")


def hash_of(folder: Path) -> str:
    """The hash of all tests; answers for other tests are not used."""
    made = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        if path.suffix in (".py", ".toml", ".md", ".txt"):
            made.update(f"{path.relative_to(folder)}\0".encode() + path.read_bytes() + b"\0")
    return made.hexdigest()


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the campaigns; 0 if all passed, 1 if one failed, 3 if one was not finished, 130 if interrupted."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--select", action="append", metavar="TEXT", help="only the tests whose name has this text")
    parser.add_argument("--jobs", type=amount_argument("processes"), help="default: the cores")
    parser.add_argument("--timeout", type=amount_argument("seconds"), default=7200, help="how long one test may take")
    parser.add_argument(
        "--memory", type=amount_argument("megabytes"), default=8192, help="how much memory one test may take"
    )
    parser.add_argument(
        "--cluster", metavar="ADDRESS", help="a Dask cluster; its workers need the repository in PYTHONPATH"
    )
    parser.add_argument("--resume", type=Path, metavar="FILE", help="keep what passed in FILE and take what it has")
    parser.add_argument("--tests", type=Path, default=TESTS, metavar="PATH", help="where the tests are")
    options = parser.parse_args(arguments)
    tasks = tasks_of(options.select or [""], options.tests.resolve())
    work = Work("tests.support.campaigns", "finished", PACKAGES, TaskLimits(options.timeout, options.memory))
    asked = {"tests": hash_of(options.tests)}
    kept = KeptAnswers(options.resume, work, asked, lambda task: ALL_TESTS) if options.resume else None
    with Progress("campaigns") as progress:
        made, interrupted = answers_to(
            tasks, work, WorkPlace(options.jobs, options.cluster), kept=kept, progress=progress
        )
    for name, each in made.items():
        print(name, each.get("word") or each["sentence"])
    words = Counter(map(word, made.values()))
    print(counted(len(made), len(tasks), words))
    return 130 if interrupted else 1 if words["failed"] else 3 if words["stopped"] else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (BadInput, UsageError, OSError) as error:
        print(f"campaigns: {error}", file=sys.stderr)
        sys.exit(2)
