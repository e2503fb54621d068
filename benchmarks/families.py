"""The cost of files that repeat one thing: `python -m benchmarks.families`.

For each family of tests/support/families.py, a file of about a megabyte: the result of its check, and processor seconds
and peak memory of the process beyond those of an empty model, by megabyte and by byte.  `--random 1000` looks for
further families: mixtures of these, changed at random, of which those with the most steps by byte are changed again.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from random import Random

from tests.support.families import FAMILIES, Family, graph, model
from tests.support.growth import LARGEST_EXPONENT, mixtures

MEASURED = """
import sys, time
from sonnx.cli.main import run
code = run(["check", sys.argv[1]])
[peak] = [line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM")]
print(code, time.process_time(), peak, file=sys.stderr)
"""


def spent(data: bytes, seconds: int) -> tuple[int, float, int]:
    """Exit code, processor seconds and peak kilobytes of a check; code -1 where it takes longer than allowed."""
    with tempfile.NamedTemporaryFile(suffix=".onnx") as file:
        Path(file.name).write_bytes(data)
        try:
            done = subprocess.run(
                [sys.executable, "-c", MEASURED, file.name],
                check=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, timeout=seconds,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            return -1, seconds, 0
    code, time_, peak = done.stderr.splitlines()[-1].split()
    return int(code), float(time_), int(peak)


def table(families: list[Family], size: int, seconds: int, worst: int) -> Iterator[str]:
    """A row for each family, the most expensive first; only as many as `worst`."""
    _, start, base = min(spent(model(graph()), seconds) for _ in range(3))
    yield "| family | bytes | exit code | seconds | seconds by megabyte | bytes of memory by byte |"
    yield "|---|---|---|---|---|---|"
    rows = list[tuple[float, str]]()
    for each in families:
        data = each.of_size(size)
        code, took, peak = spent(data, seconds)
        took, more = max(0, took - start), max(0, peak - base) * 1024
        by_byte = f"{took:.2f} | {took / len(data) * 1e6:.2f} | {more / len(data):.0f}"
        rows.append((took / len(data), f"| {each.name} | {len(data):,} | {code} | {by_byte} |"))
    yield from (row for _, row in sorted(rows, reverse=True)[:worst])


def random_families(number: int, seed: int) -> Iterator[str]:
    """The mixtures whose exponent is too large, and at the end the largest exponent and the most steps by byte."""
    largest, most = 0.0, 0.0
    for mixture in mixtures(Random(seed), number, 1500):
        largest, most = max(largest, mixture.exponent), max(most, mixture.steps_by_byte)
        if mixture.exponent >= LARGEST_EXPONENT:
            yield f"{mixture.exponent:.2f}: {mixture}"
    yield f"{number} random families: the largest exponent is {largest:.2f}, the most steps by byte are {most:.0f}"


def main() -> None:
    """Print the lines."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="families (default: all)")
    parser.add_argument("--bytes", type=int, default=1_000_000, help="the size of each file")
    parser.add_argument("--worst", type=int, default=len(FAMILIES), help="print as many rows, the most expensive")
    parser.add_argument("--timeout", type=int, default=60, help="seconds for one file")
    parser.add_argument("--random", type=int, default=0, help="look for as many random families instead")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    chosen = [each for each in FAMILIES if not options.names or each.name in options.names]
    rows = (
        random_families(options.random, options.seed)
        if options.random
        else table(chosen, options.bytes, options.timeout, options.worst)
    )
    for row in rows:
        print(row, flush=True)


if __name__ == "__main__":
    main()
