"""Prove theorems with all solvers, run their mutants, and record the results: `python -m tools.record`.

The record, proofs/record.json, comes with the theorems; `make docs` and evidence packs read it.  With `--check` the
results are compared with it: `make proofs`, which continuous integration runs.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from sonnx.base.errors import UsageError
from sonnx.base.progress import StatusLine
from sonnx.proofs import registry
from sonnx.prover import driver, record
from sonnx.prover.solver_cache import SolverCache, usual_folder
from sonnx.report.theorems import TheoremReport
from sonnx.workers.tasks import WorkPlace
from sonnx.workers.theorems import prove_theorems

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
    with StatusLine() as line:
        results, _ = prove_theorems(found, SOLVER, cache.folder, WorkPlace(options.jobs), line)
    lacking = sum(each.unanswered is not None for each in results)
    if lacking:
        print(f"{options.output} is not written: {lacking} theorems have no result", file=sys.stderr)
        return 3
    if options.check:
        return _compared(TheoremReport(results), recorded)
    record.write(options.output, results, [each.id for each in known], cache)
    return int(not all(each.expected for each in results))


def _compared(report: TheoremReport, recorded: Mapping[str, record.Entry]) -> int:
    """Print the report, and the entries that differ from it; the exit code of the report, 1 where entries differ."""
    sys.stdout.write(report.to_format("text"))
    stale = [each.theorem.id for each in report.results if not record.describes(recorded.get(each.theorem.id), each)]
    for name in stale:
        print(f"{name}: proofs/record.json is stale; python -m tools.record --select {name}", file=sys.stderr)
    return report.exit_code or int(bool(stale))


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (UsageError, OSError) as error:
        print(f"record: {error}", file=sys.stderr)
        sys.exit(2)
