"""Goals for the time of commands: `python -m benchmarks.goals` prints a table.

Processor seconds of whole processes, the median of three rounds in which all commands take turns; what is a ratio is
one of the same round.  `benchmarks.check` and `benchmarks.networks --products` have the goals beside other programs.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import onnx

from benchmarks.processes import REPOSITORY, spent

LIGHT = Path(onnx.__file__).parent / "backend/test/data/light"
DENSENET = str(LIGHT / "light_densenet121.onnx")
TWO_NODES = str(REPOSITORY / "examples/conforming.onnx")
DENSENET_CHECKED = "`check` densenet121, seconds"
CHECKED_BY_ONNX = "`onnx.checker` with full_check, densenet121, seconds"
PEER = ("-c", "import sys, onnx; onnx.checker.check_model(sys.argv[1], full_check=True)")
"""The arguments of Python for a check by the onnx package."""
SONNX = ("-m", "sonnx")
ROUNDS = 3
SMALL_MODELS = 5000


class Goal(NamedTuple):
    """A command, and how long it may take."""

    what: str
    words: Sequence[str]
    goal: float | None = None
    """None for a command that only others are compared with."""
    beside: str = ""
    """The command whose time divides this one's."""
    program: Sequence[str] = SONNX
    """The arguments of Python before the words."""
    rounds: int = ROUNDS


def goals(folder: Path) -> list[Goal]:
    """All goals; the commands write to a folder."""

    def fix(name: str, goal: float) -> Goal:
        network = str(LIGHT / f"light_{name}.onnx")
        return Goal(f"`fix` {name}, seconds", ["fix", network, "--dry-run"], goal, rounds=1)

    formats = {"json": 1.3, "sarif": 1.5, "html": 2.0}
    return [
        Goal(DENSENET_CHECKED, ["check", DENSENET]),
        Goal(CHECKED_BY_ONNX, [DENSENET], program=PEER),
        Goal("`check` densenet121 / `onnx.checker`", ["check", DENSENET], 0.75, CHECKED_BY_ONNX),
        *(
            Goal(f"`--format {form}` / text", ["check", DENSENET, "--format", form], goal, DENSENET_CHECKED)
            for form, goal in formats.items()
        ),
        fix("squeezenet", 1.2), fix("shufflenet", 2.2), fix("densenet121", 6.0),
        Goal("`audit`, two nodes, seconds", ["audit", TWO_NODES, "--output", str(folder / "pack")], 1.5),
        Goal("`explain` of a rule, seconds", ["explain", "no-dead-node"], 0.1),
        Goal("`rules`, seconds", ["rules"], 0.1),
        Goal("`theorems --emit-smt2` of all, seconds", ["theorems", "--emit-smt2", str(folder / "smt2")], 30, rounds=1),
    ]  # fmt: skip


def measured(listed: Sequence[Goal], clear: Callable[[], None]) -> dict[str, list[float]]:
    """The seconds of each round, in which the commands take turns."""
    taken: dict[str, list[float]] = {each.what: [] for each in listed}
    for number in range(max(each.rounds for each in listed)):
        for each in listed:
            if number < each.rounds:
                clear()
                taken[each.what].append(spent(*each.program, *each.words).seconds)
    return taken


def many(folder: Path) -> float:
    """Milliseconds of wall time for each of many small models, by two jobs."""
    zoo = folder / "zoo"
    zoo.mkdir()
    data = Path(TWO_NODES).read_bytes()
    for number in range(SMALL_MODELS):
        (zoo / f"{number}.onnx").write_bytes(data)
    begun = time.perf_counter()
    spent(*SONNX, "check", str(zoo), "--jobs", "2", "--quiet")
    return (time.perf_counter() - begun) / SMALL_MODELS * 1e3


def row(what: str, value: float, goal: float | None) -> str:
    """A row of the table."""
    if goal is None:
        return f"| {what} | {value:.2f} |  |  |"
    return f"| {what} | {value:.2f} | {goal:g} | {'met' if value <= goal else '**missed**'} |"


def main() -> None:
    """Print the table."""
    print("| | measured | goal | |\n|---|---|---|---|")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)

        def clear() -> None:
            for made in ("pack", "smt2"):
                if (folder / made).exists():
                    (folder / made).rename(folder / f"{made}{time.monotonic_ns()}")

        listed = goals(folder)
        taken = measured(listed, clear)
        for each in listed:
            beside = taken.get(each.beside, [1.0] * each.rounds)
            ratios = [own / other for own, other in zip(taken[each.what], beside, strict=True)]
            print(row(each.what, statistics.median(ratios), each.goal), flush=True)
        print(row(f"{SMALL_MODELS:,} models of two nodes, `--jobs 2`, ms each", many(folder), 5), flush=True)


if __name__ == "__main__":
    main()
