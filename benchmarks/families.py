"""The cost of files that repeat one thing: `python -m benchmarks.families`.

For each family of tests/support/families.py, a file of about a megabyte: the result of its check, and processor seconds
and peak memory of the process beyond those of an empty model, by megabyte and by byte.  `--command fix` measures
another command on files of a tenth of that, beyond the start with two nodes.  `--random 1000` looks for
further families: mixtures of these, changed at random, of which those with the most steps by byte are changed again.
`--reviewed` measures the files that a review found to be the most expensive.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from random import Random
from typing import NamedTuple

from tests.fuzz.commands import commands
from tests.support import families
from tests.support.families import FAMILIES, MAKERS, Family, attribute, field, graph, inputs, model, node, nodes, value
from tests.support.growth import LARGEST_EXPONENT, mixtures

MEASURED = r"""
import re, resource, sys
from pathlib import Path
from sonnx.base.garbage import collect_rarely
from sonnx.cli.main import run
collect_rarely()  # as the program does
code = run(sys.argv[1:])
used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
seconds = sum(each.ru_utime + each.ru_stime for each in used)
status = Path("/proc/self/status")  # that of Linux; ru_maxrss counts what the parent had when it started this process
own = int(re.search(r"VmHWM:\s*(\d+)", status.read_text())[1]) if status.exists() else used[0].ru_maxrss
print(code, seconds, max(own, used[1].ru_maxrss), file=sys.stderr)
"""
COMMANDS = (
    "check", "rules", "run", "compare", "fix", "prove", "bound", "audit", "equivalent", "diff", "verify",
)  # fmt: skip
MEGABYTES = 4096
"""The memory limit of a command."""
SMALL = 100_000
"""Bytes of a file for the commands that are slower than `check`."""
MORE = field(1, node("Identity", ["x"], ["unused"]))
"""A node that is added to the copy of a model, for commands that compare two."""


def _inputs_and_ranks() -> bytes:
    """820 Max nodes of 380 inputs drawn from two shapes of rank 1,000."""
    listed = [["ab"[i >> k % 16 & 1] for k in range(380)] for i in range(820)]
    declared = inputs([value(each, *[2] * 1000) for each in "ab"])
    return model(graph(nodes([node("Max", each, [f"o{i}"]) for i, each in enumerate(listed)]), declared))


def _branches() -> bytes:
    """8 If nodes of which an attribute holds 60,000 empty graphs."""
    empty = attribute("then_branch", families.GRAPHS, field(11, b"") * 60_000)
    return model(graph(nodes([node("If", ["a"], [f"b{i}"], empty) for i in range(8)])))


def _readers(operator: str, element: int, data: bytes) -> bytes:
    return families.readers_of_a_constant(200, 262_144, operator, element, data)


REVIEWED: Mapping[str, Callable[[], bytes]] = {
    "200 Gather nodes of different types on one constant of 262,144 int32 indices":
        lambda: _readers("Gather", families.INT32, b"\1\0\0\0"),
    "200 Div nodes of different types by one int8 constant of 262,144 elements":
        lambda: _readers("Div", families.INT8, b"\2"),
    "820 Max nodes of 380 inputs drawn from two shapes of rank 1,000": _inputs_and_ranks,
    "100,000 different symbolic dimensions": lambda: families.MAKERS["symbols"](100_000),
    "8 If nodes whose branch attribute holds 60,000 empty graphs": _branches,
    "100,000 empty tensors in an attribute": lambda: families.MAKERS["tensors_of_an_attribute"](100_000),
    "100,000 empty initializers": lambda: families.MAKERS["empty_initializers"](100_000),
    "100,000 different constants": lambda: families.MAKERS["different_constants"](100_000),
    "100,000 nodes outside every operator set": lambda: families.MAKERS["foreign_nodes"](100_000),
    "100,000 nodes without an operator": lambda: families.MAKERS["empty_nodes"](100_000),
    "490,000 inputs without a name": lambda: families.MAKERS["empty_inputs"](490_000),
    "an attribute text of 5 MB": lambda: families.MAKERS["text_of_an_attribute"](5_000_000),
}  # fmt: skip
"""What a review found to take up to 200 seconds, 600 megabytes, or 17 megabytes of text."""


def reviewed(seconds: int) -> Iterator[str]:
    """A row for each of these files."""
    least = spent(model(graph()), seconds)
    yield "| file | megabytes | exit code | seconds | megabytes of memory | characters printed |"
    yield "|---|---|---|---|---|---|"
    for name, make in REVIEWED.items():
        data = make()
        found = spent(data, seconds)
        took, more = max(0, found.seconds - least.seconds), max(0, found.peak - least.peak) / 1000
        yield f"| {name} | {len(data) / 1e6:.2f} | {found.code} | {took:.2f} | {more:.0f} | {found.printed:,} |"


class Spent(NamedTuple):
    """What a command took: processor seconds, peak kilobytes, printed characters, bytes of the file that it wrote.

    The exit code is -1 where it took too long, -2 where it failed.
    """

    code: int
    seconds: float = 0.0
    peak: int = 0
    printed: int = 0
    written: int = 0


def spent(data: bytes, seconds: int, command: str = "check") -> Spent:
    """What a command takes for a file."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "m.onnx"
        path.write_bytes(data)
        path.with_name("changed.onnx").write_bytes(data + field(7, MORE))
        [arguments] = [each for name, each in commands(str(path), 0, seconds, MEGABYTES) if name == command]
        written = path.with_name("fixed.onnx")
        if command == "fix":
            arguments = [arguments[0], "--output", str(written), *arguments[2:]]
        try:
            done = subprocess.run(
                [sys.executable, "-c", MEASURED, command, *arguments],
                check=True, capture_output=True, text=True, timeout=2 * seconds + 5,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            return Spent(-1, seconds)
        except subprocess.CalledProcessError as failed:
            print(command, failed.stderr[-300:], file=sys.stderr)
            return Spent(-2, seconds)
        size = written.stat().st_size if written.exists() else 0
    code, time_, peak = done.stderr.splitlines()[-1].split()
    said = done.stderr.partition("\n")[0] if int(code) == 2 else ""
    return Spent(int(code), float(time_), int(peak), len(done.stdout) + len(said), size)


def table(chosen: list[Family], size: int, seconds: int, worst: int, command: str = "check") -> Iterator[str]:
    """A row for each family, the most expensive first; only as many as `worst`."""
    smallest = model(graph()) if command == "check" else MAKERS["permutations"](1)
    least = min(spent(smallest, seconds, command) for _ in range(3))
    yield "| family | bytes | bytes written | exit code | seconds | by megabyte read and written | memory by byte |"
    yield "|---|---|---|---|---|---|---|"
    rows = list[tuple[float, str]]()
    for each in chosen:
        data = each.of_size(size)
        found = spent(data, seconds, command)
        took, more = max(0, found.seconds - least.seconds), max(0, found.peak - least.peak) * 1024
        whole = len(data) + found.written
        sizes = f"{len(data):,} | {found.written:,} | {found.code}"
        by_byte = f"{took:.2f} | {took / whole * 1e6:.2f} | {more / whole:.0f}"
        rows.append((took / whole, f"| {each.name} | {sizes} | {by_byte} |"))
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
    parser.add_argument("--command", choices=COMMANDS, default="check")
    parser.add_argument("--bytes", type=int, help="the size of each file (default: a megabyte, a tenth but for check)")
    parser.add_argument("--worst", type=int, default=len(FAMILIES), help="print as many rows, the most expensive")
    parser.add_argument("--timeout", type=int, default=60, help="seconds for one file")
    parser.add_argument("--random", type=int, default=0, help="look for as many random families instead")
    parser.add_argument("--reviewed", action="store_true", help="measure the files of a review instead")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    chosen = [family for family in FAMILIES if not options.names or family.name in options.names]
    rows = (
        random_families(options.random, options.seed)
        if options.random
        else reviewed(options.timeout)
        if options.reviewed
        else table(
            chosen,
            options.bytes or (1_000_000 if options.command == "check" else SMALL),
            options.timeout,
            options.worst,
            options.command,
        )
    )
    for row in rows:
        print(row, flush=True)


if __name__ == "__main__":
    main()
