"""All tables of what commands cost, measured in one run on one commit: `make cost` writes them to docs/measurements.

The tables of wall time and of ratios are measured one after the other, those of processor time two at a time.  The
machine should do nothing else; on two cores a run takes ten minutes.
"""

from __future__ import annotations

import argparse
import os
import platform
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from benchmarks.measurements import printed_by, printed_tables, table, write

ALONE = ("goals", "check", "large", "networks-products")
"""Tables that are measured one after the other."""
BESIDE = (
    "families-compare", "families-check", "families-prove", "legal-models", "families-audit", "families-diff",
    "families-fix", "families-equivalent", "families-verify", "families-reviewed", "families-bound", "families-run",
    "families-rules",
)  # fmt: skip
"""Tables of processor time, measured two at a time; the longest come first."""


def circumstances(commit: str, begun: float) -> str:
    """The table that says when and where the others were measured."""
    model = next(
        (line.partition(": ")[2] for line in _lines("/proc/cpuinfo") if line.startswith("model name")),
        platform.machine(),
    )
    day, minutes = time.strftime("%Y-%m-%d", time.gmtime(begun)), (time.time() - begun) / 60
    return (
        "| day | commit | processors | Python | minutes |\n|---|---|---|---|---|\n"
        f"| {day} | {commit} | {os.cpu_count()} of {model.strip()} | {platform.python_version()} | {minutes:.0f} |"
    )


def _lines(path: str) -> list[str]:
    try:
        return Path(path).read_text("utf-8").splitlines()
    except OSError:
        return []


def measured(name: str) -> str:
    """The tables that the command of a table prints."""
    begun = time.time()
    text = printed_tables(printed_by(table(name).command))
    print(f"{name}: {time.time() - begun:.0f} s", file=sys.stderr, flush=True)
    return text


def main() -> None:
    """Measure all tables, then write them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="only these tables", metavar="TABLE")
    chosen = parser.parse_args().names or [*ALONE, *BESIDE]
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], check=False, capture_output=True, text=True).stdout
    begun = time.time()
    found = {name: measured(name) for name in ALONE if name in chosen}
    beside = [name for name in BESIDE if name in chosen]
    with ThreadPoolExecutor(2) as pool:
        found |= dict(zip(beside, pool.map(measured, beside), strict=True))
    for name, text in found.items():
        write(name, text)
    write("cost", circumstances(commit.strip() or "no commit", begun))


if __name__ == "__main__":
    main()
