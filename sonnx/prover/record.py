"""Results of a run of `sonnx theorems`, kept as JSON, so that pages and evidence can state them without asking solvers.

One line for each theorem: its kind and status, the hash of its questions in SMT-LIB, the answers of the solvers, and
which mutants were refuted.  An entry answers these questions and no others: it is stale if the theorem asks others, not
if a comment or a docstring changes.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from sonnx.base.errors import UsageError
from sonnx.base.files import write_whole
from sonnx.base.resources import folder
from sonnx.prover.driver import refutes
from sonnx.prover.recorded_answers import Entry, questions_hash
from sonnx.prover.results import TheoremResult
from sonnx.prover.solver_cache import SolverCache

FORMAT = 2


def usual_path() -> Path:
    """The record that is installed with the theorems."""
    return folder("proofs") / "record.json"


def read(path: Path) -> dict[str, Entry]:
    """The entries by theorem; none without a file.

    Raises:
        UsageError: the file is not a record.
    """
    if not path.exists():
        return {}
    try:
        document = json.loads(path.read_text("utf-8"))
        if document["format"] == FORMAT:
            return dict(document["theorems"])
    except (ValueError, KeyError, TypeError):
        pass
    raise UsageError(f"{path} is not a record of theorems; python -m tools.record writes one.")


def write(
    path: Path,
    results: Sequence[TheoremResult],
    present: Iterable[str],
    cache: SolverCache | None = None,
) -> None:
    """Put the results into a record; entries of other theorems that are `present` stay, all others are removed.

    Raises:
        UsageError: the existing file is not a record.
        OSError: the file cannot be written.
    """
    kept = {name: each for name, each in read(path).items() if name in set(present)}
    kept |= {result.theorem.id: entry(result, cache) for result in results}
    lines = [f"{json.dumps(name)}: {json.dumps(kept[name], ensure_ascii=True)}" for name in sorted(kept)]
    write_whole(path, f'{{"format": {FORMAT}, "theorems": {{\n' + ",\n".join(lines) + "\n}}\n")


def entry(result: TheoremResult, cache: SolverCache | None = None) -> Entry:
    """The entry of a result; its mutants are refuted here."""
    answers = [answer for obligation in result.obligations for answer in obligation.answers]
    counted = Counter(f"{answer.solver} {answer.version}: {answer.result}" for answer in answers)
    outcome = _statement(result) | {
        "answers": dict(sorted(counted.items())),
        "mutants": {mutant.name: "refuted" if refutes(result.theorem, mutant, cache) else "survives"
                    for mutant in result.theorem.mutants},
    }  # fmt: skip
    if result.counterexample and result.status == "refuted":
        outcome |= {"counterexample": dict(result.counterexample), "replayed": result.replayed}
    return outcome


def describes(recorded: Entry | None, result: TheoremResult) -> bool:
    """Whether an entry has the kind, the outcome and the questions of a result."""
    return recorded is not None and _statement(result).items() <= recorded.items()


def _statement(result: TheoremResult) -> dict[str, Any]:
    return {
        "kind": result.kind,
        "status": result.status,
        "confirmed": result.confirmed,
        "questions": sum(not obligation.computed for obligation in result.obligations),
        "computed": sum(bool(obligation.computed) for obligation in result.obligations),
        "smt2_sha256": questions_hash((obligation.name, obligation.hash) for obligation in result.obligations),
    }
