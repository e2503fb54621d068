"""Prove theorems with all solvers, run their mutants, and record the results: `python -m tools.record`.

The record, proofs/record.json, comes with the theorems; `make docs` and evidence packs read it.  With `--check` it is
compared with the theorems: `make proofs`, which continuous integration runs.  What asks the questions of its entry is
as recorded if the solvers are those versions, and only the rest is decided; with `--no-cache` everything is.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from sonnx.base.errors import UsageError
from sonnx.base.progress import Progress
from sonnx.proofs import registry
from sonnx.prover import driver, record
from sonnx.prover.recorded_answers import Entry, answered_by_these_versions
from sonnx.prover.results import SOLVERS
from sonnx.prover.solver_cache import SolverCache, usual_folder
from sonnx.prover.theorem import ReplayFailed, Theorem
from sonnx.report.theorems import TheoremReport
from sonnx.workers.tasks import WorkPlace
from sonnx.workers.theorems import prove_theorems, question_hashes

SOLVER = "all"


def main(arguments: Sequence[str] | None = None) -> int:
    """Prove and record; 0 if all results are as expected, 1 if not, 3 if theorems have no result."""
    parser = argparse.ArgumentParser(prog="python -m tools.record", description="Record the results of the theorems.")
    parser.add_argument("--select", action="append", default=[], metavar="ID", help="only these theorems or topics")
    parser.add_argument("--output", type=Path, default=record.usual_path(), metavar="FILE", help="the record to update")
    parser.add_argument("--jobs", type=int, default=None, metavar="N", help="processes (default: the cores)")
    parser.add_argument("--no-cache", action="store_true", help="ask every question again")
    parser.add_argument("--check", action="store_true", help="write nothing: compare the results with the record")
    options = parser.parse_args(arguments)
    if not options.output.parent.is_dir():
        raise UsageError(f"the folder {options.output.parent} does not exist")
    recorded = record.read(options.output)  # refuse a file that is not a record before anything is proved
    wanted = [name for value in options.select for name in value.split(",") if name]
    known = registry.theorems()
    found = driver.select(known, wanted)
    cache = SolverCache(None if options.no_cache else usual_folder())
    place = WorkPlace(options.jobs)
    with Progress("recording results") as line:
        decided = found
        if options.check and not options.no_cache:
            driver.require_solver(SOLVER)
            hashes = question_hashes(found, place, line)
            decided = tuple(
                theorem for theorem in found if not as_recorded(theorem, recorded.get(theorem.id), hashes[theorem.id])
            )
        results, _ = prove_theorems(decided, SOLVER, cache.folder, place, line) if decided else ((), False)
    lacking = sum(result.unanswered is not None for result in results)
    if lacking:
        print(f"{lacking} theorems have no result; {options.output} is left as it is", file=sys.stderr)
        return 3
    if options.check:
        same = len(found) - len(decided)
        print(f"{same} of {len(found)} statements are as recorded: the same questions, answered by these versions of "
              f"the solvers; {len(decided)} are decided now")  # fmt: skip
        return _compared(TheoremReport(results), recorded) if results else 0
    record.write(options.output, results, [theorem.id for theorem in known], cache)
    return int(not all(result.expected for result in results))


def as_recorded(theorem: Theorem, entry: Entry | None, asked: str) -> bool:
    """Whether the entry of a theorem says what is expected of it, of these questions and installed solvers.

    The counterexample of a refuted sentence is shown by the code again.  A witness is a test for questions that have
    changed: the model of one that has not is not checked again.
    """
    if entry is None or entry["smt2_sha256"] != asked or entry["status"] != theorem.expected:
        return False
    if entry["confirmed"] == bool(theorem.reason_single) or not answered_by_these_versions(entry, SOLVERS):
        return False
    if theorem.expected != "refuted" or theorem.replay is None:
        return True
    try:
        return bool(theorem.replay(entry["counterexample"]) == entry["replayed"])
    except ReplayFailed:
        return False


def _compared(report: TheoremReport, recorded: Mapping[str, Entry]) -> int:
    """Print the report, and the entries that differ from it; the exit code of the report, 1 where entries differ."""
    sys.stdout.write(report.to_format("text"))
    stale = [
        result.theorem.id for result in report.results if not record.describes(recorded.get(result.theorem.id), result)
    ]
    for name in stale:
        print(f"{name}: proofs/record.json is stale; python -m tools.record --select {name}", file=sys.stderr)
    return report.exit_code or int(bool(stale))


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (UsageError, OSError) as error:
        print(f"record: {error}", file=sys.stderr)
        sys.exit(2)
