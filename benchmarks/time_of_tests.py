"""Where the processor time of the tests goes: `python -m benchmarks.time_of_tests` prints a table, longest first.

Each folder runs alone, in one process with its children: the sum is what the tests take on all processes of `make test`
together, but for what each of these collects.
"""

from __future__ import annotations

import os
from pathlib import Path

from benchmarks.processes import REPOSITORY, spent


def folders() -> list[Path]:
    """The folders that have files of tests."""
    return sorted({path.parent for path in (REPOSITORY / "tests").glob("*/test_*.py")})


def main() -> None:
    """Print the table."""
    os.chdir(REPOSITORY)
    taken = {folder.name: spent("-m", "pytest", str(folder), "-n", "0") for folder in folders()}
    print("| folder of tests | processor seconds |\n|---|---|")
    for name, (used, code) in sorted(taken.items(), key=lambda item: -item[1][0]):
        print(f"| {name}{' (a test fails)' if code else ''} | {used:.0f} |")
    print(f"| all | {sum(used for used, _ in taken.values()):.0f} |")


if __name__ == "__main__":
    main()
