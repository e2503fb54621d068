"""Where the processor time of the tests goes: `python -m benchmarks.time_of_tests` prints a table, longest first.

Each folder runs alone, in one process with its children: the sum is what the tests take on all processes of `make test`
together, but for what each of these collects.  The last row is lint in a fresh clone, which has no cache.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.processes import REPOSITORY, Spent, spent, spent_by


def folders() -> list[Path]:
    """The folders that have files of tests."""
    return sorted({path.parent for path in (REPOSITORY / "tests").glob("*/test_*.py")})


def lint() -> Spent:
    """Of lint without what mypy and ruff keep."""
    with TemporaryDirectory() as empty:
        return spent_by(["make", "lint", f"PYTHON={sys.executable}"], MYPY_CACHE_DIR=empty, RUFF_CACHE_DIR=empty)


def main() -> None:
    """Print the table."""
    os.chdir(REPOSITORY)
    taken = {folder.name: spent("-m", "pytest", str(folder), "-n", "0") for folder in folders()}
    print("| folder of tests | processor seconds |\n|---|---|")
    rows = [*sorted(taken.items(), key=lambda item: -item[1][0]), ("lint", lint())]
    for name, (used, code) in rows:
        print(f"| {name}{' (a test fails)' if code else ''} | {used:.0f} |")
    print(f"| all | {sum(used for _, (used, _) in rows):.0f} |")


if __name__ == "__main__":
    main()
