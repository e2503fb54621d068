"""Mutation test of the commands `fix`, `equivalent` and `suite` by the cases of the qualification kit.

    python -m tools.command_mutants [--sample N] [--seed S] [--command NAME]

Each module of a command is changed in one small way (tools/code_mutants.py), and the cases that `sonnx qualify` runs
for that command are run in a process of their own, until one has another result.  The record is
sonnx/evidence/command_mutants.toml, which the kit shows; all modules take some minutes.
"""

from __future__ import annotations

import argparse
import gc
import importlib
import json
import random
import sys
from collections.abc import Callable, Iterator
from functools import _lru_cache_wrapper
from pathlib import Path
from typing import NamedTuple

from sonnx.base.files import sha256
from sonnx.cli import main as command_line
from sonnx.evidence.command_cases import output_cases, pair_cases
from sonnx.evidence.mutation import COMMAND_RECORD, ModuleMutants, command_mutants
from sonnx.evidence.rewrite_cases import rewrite_cases, wrong_rewrite
from sonnx.profile.profile_data import in_use
from tools.code_mutants import ROOT, Place, in_child, module_path, patch, places

SECONDS = 60.0
"""Processor time of the cases for one mutant."""
SAMPLE = 6
DETECTED, SURVIVED, NOT_TRIED = 1, 0, 2


class KitCase(NamedTuple):
    """A case of the kit: what is wrong with its result, "" if nothing is."""

    title: str
    wrong: Callable[[], str]


def rewriting() -> Iterator[KitCase]:
    """The cases of `fix`."""
    for case in rewrite_cases():
        yield KitCase(case.title, lambda case=case: wrong_rewrite(case, command_line.run))  # type: ignore[misc]


def comparing() -> Iterator[KitCase]:
    """The cases of `equivalent`, and of the comparison that `fix` makes."""
    yield from (KitCase(case.title, case.wrong) for case in pair_cases())
    yield from rewriting()


def judging() -> Iterator[KitCase]:
    """The cases of `suite`."""
    yield from (KitCase(case.title, case.wrong) for case in output_cases())


COMMANDS = {
    "suite": ("sonnx/suite/judge.py", judging),
    "fix": ("sonnx/rewriter/rewrites/*.py", rewriting),
    "equivalent": ("sonnx/equivalence/*.py", comparing),
}
"""The modules of each command, and its cases.  The other modules of a suite make cases and start processes."""
HEADER = """\
# The mutation test of commands by the cases of the kit: `python -m tools.command_mutants` writes this file.
sample = {sample}
seed = {seed}

"""
OF_DIFF = ("changes", "difference", "node_pairs")
"""Modules of equivalence/ that only the command `diff` uses, which has procedures and no cases."""


def main() -> int:
    """Try the mutants and write the record."""
    parser = argparse.ArgumentParser(description="Mutation test by the cases of the qualification kit.")
    parser.add_argument("--sample", type=int, default=SAMPLE, help=f"mutants of a module, default {SAMPLE}; 0: all")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--command", choices=COMMANDS, help="only this one; the record keeps the others")
    options = parser.parse_args()
    (ROOT / "build" / "mutants").mkdir(parents=True, exist_ok=True)
    entries = {name: [] for name in COMMANDS} if options.command is None else recorded()
    for command in COMMANDS if options.command is None else (options.command,):
        pattern, cases = COMMANDS[command]
        known = list(cases())
        if failed := [case.title for case in known if case.wrong()]:
            sys.exit(f"a case fails without a mutant: {failed[0]}")
        paths = sorted(path for path in ROOT.glob(pattern) if path.stem not in OF_DIFF)
        entries[command] = [
            entry for path in paths if (entry := tried(command, path, known, options.sample, options.seed))
        ]
    written = "\n".join(entry for texts in entries.values() for entry in texts)
    COMMAND_RECORD.write_text(HEADER.format(sample=options.sample, seed=options.seed) + written, "utf-8")
    return 0


def recorded() -> dict[str, list[str]]:
    """The entries of the record, by command."""
    return {
        command: [
            entry_text(module_mutants)
            for module_mutants in command_mutants().module
            if module_mutants.command == command
        ]
        for command in COMMANDS
    }


def entry_text(each: ModuleMutants) -> str:
    """The entry of a module."""
    heads = [
        f"{name} = {json.dumps(getattr(each, name))}" for name in ("command", "name", "sha256", "mutants", "tried")
    ]
    rows = [f"  {json.dumps(row, ensure_ascii=False)}," for row in each.survivors]
    return "\n".join(["[[module]]", *heads, "survivors = [", *rows, "]"]) + "\n"


def tried(command: str, path: Path, cases: list[KitCase], sample: int, seed: int) -> str:
    """The entry of a module, "" for one without functions."""
    module = ".".join(path.relative_to(ROOT).with_suffix("").parts)
    importlib.import_module(module)
    every = places(module_path(module).read_text("utf-8"))
    chosen = random.Random(f"{seed} {module}").sample(every, min(sample or len(every), len(every)))  # noqa: S311
    results = [(place, outcome(module, place, cases)) for place in chosen]
    results = [(place, number) for place, number in results if number != NOT_TRIED]
    if not results:
        return ""
    lost = [place.mutant for place, number in results if number == SURVIVED]
    survivors = tuple((mutant.function, mutant.old, mutant.new) for mutant in lost)
    print(f"{module}: {len(results) - len(survivors)} of {len(results)} mutants detected", flush=True)
    return entry_text(ModuleMutants(command, module, sha256(path.read_bytes()), len(every), len(results), survivors))


def outcome(module: str, place: Place, cases: list[KitCase]) -> int:
    """Whether a case has another result with a mutant; the first cases detected others."""

    def run() -> int:
        try:
            patch(module, place.text)
        except ValueError:
            return NOT_TRIED
        for get_object in gc.get_objects():  # answers that the module gave before
            if isinstance(get_object, _lru_cache_wrapper) and (get_object.__module__ or "").startswith(
                module.rpartition(".")[0]
            ):
                get_object.cache_clear()
        in_use().forget()
        for number, case in enumerate(cases):
            if _differs(case):
                return 10 + min(number, 80)
        return SURVIVED

    status = in_child(run, SECONDS)
    if status is None:
        return DETECTED  # it does not end
    if status < 10:
        return status
    cases.insert(0, cases.pop(status - 10))
    return DETECTED


def _differs(case: KitCase) -> bool:
    try:
        return bool(case.wrong())
    except Exception:  # noqa: BLE001  # a mutant may raise anything
        return True


if __name__ == "__main__":
    sys.exit(main())
