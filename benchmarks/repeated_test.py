"""`make test` again and again in fresh clones, every second time beside two busy processes with little memory.

    python -m benchmarks.repeated_test --times 10
    python -m benchmarks.repeated_test --times 3 --every 1      # each time beside them

A row for each run: what ran beside it, its exit code, and its seconds.  The environment of each clone is installed
before the clock starts.  A process that holds memory leaves only so much free beside the busy ones (Linux).
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parent.parent
BUSY = 2
"""Processes that compute beside a run."""
HOLDER = "import sys, time; kept = b'x' * int(sys.argv[1]); print(len(kept), flush=True); time.sleep(1e6)"


def main() -> int:
    """Print the table; 0 if all runs passed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", type=int, default=10)
    parser.add_argument("--megabytes", type=int, default=2048)
    parser.add_argument("--every", type=int, default=2, help="so many runs have one beside busy processes, the last")
    options = parser.parse_args()
    print("| run | beside | free memory | exit code | seconds |\n|---|---|---|---|---|", flush=True)
    codes = [
        _run(number, options.megabytes, BUSY * (number % options.every == 0)) for number in range(1, options.times + 1)
    ]
    return int(any(codes))


def _available() -> int:
    """Megabytes of memory that are available now."""
    lines = Path("/proc/meminfo").read_text().splitlines()
    return next(int(line.split()[1]) >> 10 for line in lines if line.startswith("MemAvailable"))


def _run(number: int, megabytes: int, busy: int) -> int:
    """One run in a clone of its own, beside busy processes; its exit code."""
    held = max(0, _available() - megabytes) if busy else 0
    with tempfile.TemporaryDirectory() as folder:
        clone = Path(folder) / "clone"
        subprocess.run(["git", "clone", "--quiet", str(ROOT), str(clone)], check=True)
        subprocess.run(["make", ".venv/installed"], cwd=clone, check=True, stdout=subprocess.DEVNULL)
        beside = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(busy)]
        if held:
            beside.append(subprocess.Popen([sys.executable, "-c", HOLDER, str(held << 20)], stdout=subprocess.PIPE))
            assert beside[-1].stdout is not None
            beside[-1].stdout.readline()
        started = time.monotonic()
        try:
            with (Path(folder) / "log").open("w") as log:
                code = subprocess.run(["make", "test"], cwd=clone, stdout=log, stderr=log, check=False).returncode
        finally:
            for process in beside:
                process.kill()
                process.wait()
        seconds = time.monotonic() - started
        memory = f"{megabytes} MB" if held else "all"
        print(f"| {number} | {busy} busy processes | {memory} | {code} | {seconds:.0f} |", flush=True)
        if code:
            print((Path(folder) / "log").read_text()[-3000:], file=sys.stderr)
    return code


if __name__ == "__main__":
    sys.exit(main())
