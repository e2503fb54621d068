"""Where the processor time of the tests goes: `python -m benchmarks.time_of_tests` prints a table, longest first.

Each folder runs alone, in one process with its children: the sum is what the tests take on all processes of `make test`
together, but for what each of these collects.  The last row is lint in a fresh clone, which has no cache.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

REPOSITORY = Path(__file__).parent.parent
ENVIRONMENT = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
"""Tests that start processes would compile the package again and again."""


def folders() -> list[Path]:
    """The folders that have files of tests."""
    return sorted({path.parent for path in (REPOSITORY / "tests").glob("*/test_*.py")})


def seconds(order: Sequence[str], environment: Mapping[str, str] = ENVIRONMENT) -> tuple[float, int]:
    """Seconds of processor time of a command and of its processes, and the exit code."""
    quiet = [(os.POSIX_SPAWN_OPEN, place, os.devnull, os.O_WRONLY, 0) for place in (1, 2)]
    _, status, used = os.wait4(os.posix_spawnp(order[0], order, environment, file_actions=quiet), 0)
    return used.ru_utime + used.ru_stime, os.waitstatus_to_exitcode(status)


def lint() -> tuple[float, int]:
    """As `seconds`, of lint without what mypy and ruff keep."""
    with TemporaryDirectory() as empty:
        caches = dict.fromkeys(("MYPY_CACHE_DIR", "RUFF_CACHE_DIR"), empty)
        return seconds(["make", "lint", f"PYTHON={sys.executable}"], {**ENVIRONMENT, **caches})


def main() -> None:
    """Print the table."""
    os.chdir(REPOSITORY)
    taken = {folder.name: seconds([sys.executable, "-m", "pytest", str(folder), "-n", "0"]) for folder in folders()}
    print("| folder of tests | processor seconds |\n|---|---|")
    rows = [*sorted(taken.items(), key=lambda item: -item[1][0]), ("lint", lint())]
    for name, (used, code) in rows:
        print(f"| {name}{' (a test fails)' if code else ''} | {used:.0f} |")
    print(f"| all | {sum(used for _, (used, _) in rows):.0f} |")


if __name__ == "__main__":
    main()
