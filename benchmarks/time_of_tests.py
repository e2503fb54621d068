"""Where the processor time of the tests goes: `python -m benchmarks.time_of_tests` prints a table, longest first.

Each folder runs alone, in one process with its children: the sum is what the tests take on all processes of `make test`
together, but for what each of these collects.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

REPOSITORY = Path(__file__).parent.parent
ENVIRONMENT = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
"""Tests that start processes would compile the package again and again."""


def folders() -> list[Path]:
    """The folders that have files of tests."""
    return sorted({path.parent for path in (REPOSITORY / "tests").glob("*/test_*.py")})


def seconds(folder: Path) -> tuple[float, int]:
    """Seconds of processor time of the tests of a folder and of their processes, and the exit code."""
    quiet = [(os.POSIX_SPAWN_OPEN, place, os.devnull, os.O_WRONLY, 0) for place in (1, 2)]
    order = [sys.executable, "-m", "pytest", str(folder), "-n", "0"]
    _, status, used = os.wait4(os.posix_spawn(sys.executable, order, ENVIRONMENT, file_actions=quiet), 0)
    return used.ru_utime + used.ru_stime, os.waitstatus_to_exitcode(status)


def main() -> None:
    """Print the table."""
    os.chdir(REPOSITORY)
    taken = {folder.name: seconds(folder) for folder in folders()}
    print("| folder of tests | processor seconds |\n|---|---|")
    for name, (used, code) in sorted(taken.items(), key=lambda item: -item[1][0]):
        print(f"| {name}{' (a test fails)' if code else ''} | {used:.0f} |")
    print(f"| all | {sum(used for used, _ in taken.values()):.0f} |")


if __name__ == "__main__":
    main()
