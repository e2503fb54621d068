"""Ask the solver about the classes of every operator of the newest edition: `python -m tools.suite_decisions`.

The answers, in sonnx/suite/decided, come with the suite; a file that answers the questions of today stays as it is.
With `--check` nothing is written: the solver is asked about every operator, and other answers than those of the files
are named.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from multiprocessing import get_context
from pathlib import Path

from sonnx.base.files import make_folder, write_whole
from sonnx.profile.catalogue import edition_named
from sonnx.prover.signature_family import SignatureFamily
from sonnx.suite.cases import families_of
from sonnx.suite.decisions import FOLDER, decisions_file, kept_bytes, kept_decisions
from sonnx.suite.making import chosen_operators
from sonnx.suite.options import MakeOptions
from sonnx.suite.structures import decide, questions_of


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the files; 0, with `--check` 1 if one differs."""
    parser = argparse.ArgumentParser(prog="python -m tools.suite_decisions", description="Decide classes of suites.")
    parser.add_argument("--operator", action="append", default=[], metavar="NAME", help="only these operators")
    parser.add_argument("--jobs", type=int, default=2, metavar="N", help="operators at a time (default 2)")
    parser.add_argument("--check", action="store_true", help="write nothing: compare the answers with the files")
    options = parser.parse_args(arguments)
    make_folder(FOLDER)
    names = [described.name for described in chosen_operators(MakeOptions(operator=tuple(options.operator)))]
    with get_context("spawn").Pool(options.jobs, maxtasksperchild=1) as pool:
        wrong = [*filter(None, pool.imap_unordered(checked if options.check else written, names))]
    if not options.operator and not options.check:
        kept = {path for name in names for path, _ in files_of(name)}
        for path in {*FOLDER.iterdir()} - kept:
            path.unlink()
    print(*sorted(wrong), sep="\n", file=sys.stderr, end="\n" if wrong else "")
    return 1 if wrong else 0


def files_of(name: str) -> Iterator[tuple[Path, SignatureFamily]]:
    """The file of the newest version of an operator in the newest edition."""
    options = MakeOptions(operator=(name,))
    [described] = chosen_operators(options)
    for family in families_of(described, edition_named(options.edition).name, every=False):
        yield decisions_file(family), family


def written(name: str) -> str:
    """Write the file of an operator, unless it answers the questions; nothing to report."""
    for path, family in files_of(name):
        if kept_decisions(path, questions_of(family)) is None:
            write_whole(path, kept_bytes(*decide(family)))
    return ""


def checked(name: str) -> str:
    """What is wrong with the file of an operator."""
    return "\n".join(
        f"{path.name} is not what the solver says: run python -m tools.suite_decisions"
        for path, family in files_of(name)
        if not path.is_file() or path.read_bytes() != kept_bytes(*decide(family))
    )


if __name__ == "__main__":
    sys.exit(main())
