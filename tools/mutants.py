"""Mutation test of the code: which small changes of a module do its tests miss?

    python -m tools.mutants MODULE ... [--sample 40] [--seed 1] [--tests PATH ...]

MODULE is a module or a package, such as `sonnx.bounds.box` or `sonnx.bounds`.  cosmic-ray makes the changes and runs
the tests of the package on each, in a copy of the checkout.  Of each MODULE a sample is tried, because a change takes
as long as the tests take until one fails.  Each change that no test detects is printed with its module, function, kind
and number, then a table of the figures.  Nothing is recorded: a survivor is a question to the tests of this commit.
`make mutants` installs cosmic-ray.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).parent.parent
TESTS = {
    "sonnx.api": ("tests/cli",),
    "sonnx.numerics": ("tests/numerics", "tests/operators"),
    "sonnx.numerics.enclosures": ("tests/bounds",),
    "sonnx.operators": ("tests/operators", "tests/numerics", "tests/bounds"),
    "sonnx.proofs": ("tests/prover",),
}
"""The tests of packages whose tests do not stand in the folder of their name, by the longest prefix of the module."""
LEFT_OUT = (".git", ".venv", "build", "__pycache__", ".*_cache", ".hypothesis", "handover")
"""What the copy of the checkout does not have."""
SECONDS = 600
"""The longest time of the tests on one change; a change that makes them longer is detected."""
HEAD = "| code | tests | mutants | tried | detected | not detected |\n|---|---|---|---|---|---|"


class Survivor(NamedTuple):
    """A change that no test detects: where and which, by names that other changes of the module leave as they are."""

    module: str
    function: str
    kind: str
    number: int
    """Which place of the module that this kind can change, from 0."""
    diff: str

    def lines(self) -> Iterator[str]:
        """The name, and the changed line before and after."""
        yield f"{self.module}.{self.function}: {self.kind} {self.number}"
        changed = (line for line in self.diff.splitlines() if line[:1] in "+-" and line[:3] not in ("+++", "---"))
        yield from (f"    {line}" for line in changed)


class Result(NamedTuple):
    """The figures of one module or package."""

    name: str
    tests: tuple[str, ...]
    mutants: int
    tried: int
    survivors: tuple[Survivor, ...]

    @property
    def row(self) -> str:
        """A row of the table."""
        missed = len(self.survivors)
        cells = (f"`{self.name}`", " ".join(f"`{each}`" for each in self.tests))
        return f"| {' | '.join(cells)} | {self.mutants:,} | {self.tried} | {self.tried - missed} | {missed} |"


def tests_of(name: str) -> tuple[str, ...]:
    """The tests of a module or package."""
    known = [prefix for prefix in TESTS if f"{name}.".startswith(f"{prefix}.")]
    return TESTS[max(known, key=len)] if known else (f"tests/{name.split('.')[1]}",)


def files_of(name: str) -> list[Path]:
    """The files of a module or package, from the root.

    Raises:
        FileNotFoundError: there is no such module.
    """
    path = Path(name.replace("sonnx.proofs", "proofs", 1).replace(".", "/"))
    files = sorted((ROOT / path).rglob("*.py")) if (ROOT / path).is_dir() else [ROOT / path.with_suffix(".py")]
    if not files or not files[0].is_file():
        raise FileNotFoundError(f"there is no module {name}")
    return [file.relative_to(ROOT) for file in files]


def annotation_places(source: str) -> list[tuple[tuple[int, int], tuple[int, int]]]:
    """Where the annotations begin and end; no value depends on them."""
    nodes: list[ast.expr | None] = []
    for node in ast.walk(ast.parse(source)):
        nodes += [getattr(node, "annotation", None), getattr(node, "returns", None)]
    return [
        ((node.lineno, node.col_offset), (node.end_lineno or node.lineno, node.end_col_offset or node.col_offset))
        for node in nodes
        if node is not None
    ]


def mutation_test(name: str, tests: Sequence[str], sample: int, seed: int) -> Result:
    """Try some changes of a module or package."""
    from cosmic_ray.work_db import WorkDB, use_db  # not among the requirements

    files = files_of(name)
    with tempfile.TemporaryDirectory() as folder:
        copy, session = Path(folder) / "checkout", Path(folder) / "session.sqlite"
        shutil.copytree(ROOT, copy, symlinks=True, ignore=shutil.ignore_patterns(*LEFT_OUT))
        words = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", *tests]
        (copy / "mutants.toml").write_text(
            f"[cosmic-ray]\nmodule-path = {json.dumps([str(file) for file in files])}\ntimeout = {SECONDS}.0\n"
            f'test-command = {json.dumps(" ".join(words))}\n[cosmic-ray.distributor]\nname = "local"\n',
            "utf-8",
        )
        _run(copy, "baseline", "mutants.toml")
        _run(copy, "init", "mutants.toml", str(session))
        with use_db(str(session), WorkDB.Mode.open) as work:
            every = [item for item in work.work_items if _changes_a_value(item)]
            chosen = random.Random(seed).sample(every, min(sample or len(every), len(every)))  # noqa: S311
            work.clear()
            work.add_work_items(chosen)
        _run(copy, "exec", "mutants.toml", str(session))
        with use_db(str(session), WorkDB.Mode.open) as work:
            found = [(item, result) for item, result in work.completed_work_items if not result.is_killed]
            survivors = [_survivor(item.mutations[0], result.diff or "") for item, result in found]
    return Result(name, tuple(tests), len(every), len(chosen), tuple(sorted(survivors)))


def _run(copy: Path, *words: str) -> None:
    own = {"PYTHONPATH": str(copy), "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, "-m", "cosmic_ray.cli", *words]
    subprocess.run(command, cwd=copy, env={**os.environ, **own}, check=True)  # noqa: S603  this Python


def _changes_a_value(item: Any) -> bool:
    [change] = item.mutations
    inside = annotation_places((ROOT / change.module_path).read_text("utf-8"))
    return not any(begin <= change.start_pos < end for begin, end in inside)


def _survivor(change: Any, diff: str) -> Survivor:
    module = ".".join(Path(change.module_path).with_suffix("").parts)
    kind = change.operator_name.removeprefix("core/")
    return Survivor(module, change.definition_name or "<module>", kind, change.occurrence, diff)


def main(arguments: Sequence[str]) -> int:
    """Try the changes, print what survives, and the table."""
    parser = argparse.ArgumentParser(prog="python -m tools.mutants", description=__doc__.partition("\n")[0])
    parser.add_argument("modules", nargs="+", metavar="MODULE")
    parser.add_argument("--sample", type=int, default=40, help="changes of each MODULE, 0 for all (default 40)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--tests", nargs="+", metavar="PATH", help="other tests than those of the package")
    options = parser.parse_args(arguments)
    results = []
    for name in options.modules:
        results.append(mutation_test(name, options.tests or tests_of(name), options.sample, options.seed))
        print(*(line for survivor in results[-1].survivors for line in survivor.lines()), sep="\n", flush=True)
    print("", HEAD, *(result.row for result in results), sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
