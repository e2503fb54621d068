"""The campaigns: tests marked `campaign`, each in a child process: `python -m tests.support.campaigns`.

A test that hangs or crashes fails alone; an interrupt keeps the finished tests, and --resume continues.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import io
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from sonnx.base.errors import UsageError
from sonnx.base.progress import Line, bar
from sonnx.checker.report import Why
from sonnx.cli.check_options import amount
from sonnx.workers.crews import Crew, answers, counted, crew_of
from sonnx.workers.journal import Journal
from sonnx.workers.tasks import Bounds, Task, Work

TESTS = Path(__file__).parent.parent
PACKAGES = ("onnx", "numpy", "ml_dtypes", "gmpy2", "z3-solver", "onnxruntime", "pytest")
MAX_SHOWN_CHARACTERS = 4000
"""Characters of what a failed test printed."""


class Reports:
    """The tests that pytest collected, and their outcomes."""

    def __init__(self) -> None:
        self.items: list[str] = []
        self.outcomes: Counter[str] = Counter()

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """A hook of pytest."""
        self.items += [item.nodeid for item in session.items]

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """A hook of pytest."""
        if report.when == "call" or report.outcome != "passed":
            self.outcomes[report.outcome] += 1


def pytest_on(folder: str | Path, *arguments: str) -> tuple[int, Reports, str]:
    """The exit code of pytest in a folder of tests, the outcomes, and the output."""
    printed, reports = io.StringIO(), Reports()
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
        usual = ["-q", "-p", "no:cacheprovider", "-m", "campaign", "--rootdir", str(folder)]
        code = pytest.main([*usual, *arguments], plugins=[reports])
    return int(code), reports, printed.getvalue()


# In a child process


def prepare() -> None:
    """Does nothing: a test loads what it needs."""


def answer(request: Mapping[str, Any], content: object) -> dict[str, Any]:
    """The outcome of one test."""
    code, reports, printed = pytest_on(request["folder"], f"{request['folder']}/{request['test']}")
    if code or set(reports.outcomes) - {"passed", "skipped"} or not reports.outcomes:
        return {"sentence": f"failed\n{printed[-MAX_SHOWN_CHARACTERS:]}", "why": Why.FAILED}
    return {"outcome": "skipped" if reports.outcomes["skipped"] else "passed"}


# In the parent


def tasks_of(select: str, folder: Path) -> list[Task]:
    """A task for each test whose name has the text."""
    files = [path for path in sorted(folder.rglob("test_*.py")) if "mark.campaign" in path.read_text("utf-8")]
    code, reports, printed = pytest_on(folder, "--collect-only", *map(str, files))
    if code:
        sys.exit(printed)
    found = [Task(name, {"folder": str(folder), "test": name}) for name in reports.items if select in name]
    return found or sys.exit(f"no campaign has {select!r} in its name")


def hash_of(folder: Path) -> str:
    """The hash of all tests: results of other tests are not resumed."""
    made = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        if path.suffix in (".py", ".toml", ".md", ".txt"):
            made.update(f"{path.relative_to(folder)}\0".encode() + path.read_bytes() + b"\0")
    return made.hexdigest()


def run(tasks: Sequence[Task], crew: Crew, journal: Journal | None, line: Line) -> tuple[dict[str, Any], bool]:
    """The results of all tests; whether the run was interrupted."""
    made: dict[str, Any] = {} if journal is None else journal.answers(tasks)
    words = Counter(map(word, made.values()))
    with closing(answers([task for task in tasks if task.name not in made], crew)) as coming:
        try:
            for task, each in coming:
                made[task.name] = each
                words[word(each)] += 1
                if journal is not None:
                    journal.keep(task, each)
                line(f"{bar(len(made), len(tasks))} {counted(len(made), len(tasks), words)}  {task.name}")
        except KeyboardInterrupt:
            return made, True
    return made, False


def word(each: Mapping[str, Any]) -> str:
    """The name of an outcome."""
    return each["outcome"] if "outcome" in each else Why(each["why"]).word


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the campaigns; 0 if all passed, 1 where one failed, 3 where one was not finished, 130 interrupted."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--select", default="", metavar="TEXT", help="only the tests whose name has this text")
    parser.add_argument("--jobs", type=amount("processes"), help="default: the cores")
    parser.add_argument("--timeout", type=amount("seconds"), default=7200, help="how long one test may take")
    parser.add_argument("--memory", type=amount("megabytes"), default=8192, help="how much memory one test may take")
    parser.add_argument("--cluster", metavar="ADDRESS", help="a Dask cluster; its workers need tests/ in PYTHONPATH")
    parser.add_argument("--resume", type=Path, metavar="FILE", help="keep what passed in FILE and take what it has")
    parser.add_argument("--tests", type=Path, default=TESTS, metavar="PATH", help="where the tests are")
    options = parser.parse_args(arguments)
    tasks = tasks_of(options.select, options.tests.resolve())
    work = Work("campaigns", "finished", PACKAGES, Bounds(options.timeout, options.memory))
    asked = {"tests": hash_of(options.tests)}
    journal = Journal(options.resume, work, asked, lambda task: []) if options.resume else None
    with crew_of(work, options.cluster, options.jobs, len(tasks)) as crew, Line() as line:
        made, interrupted = run(tasks, crew, journal, line)
    for task in tasks:
        each = made.get(task.name, work.interrupted)
        print(task.name, each.get("outcome") or each["sentence"])
    words = Counter(word(made.get(task.name, work.interrupted)) for task in tasks)
    print(counted(len(made), len(tasks), words))
    return 130 if interrupted else 1 if words["failed"] else 3 if words["stopped"] else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (UsageError, OSError) as error:
        print(f"campaigns: {error}", file=sys.stderr)
        sys.exit(2)
