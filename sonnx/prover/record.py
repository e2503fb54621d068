"""Outcomes of a run of `sonnx prove`, kept as data, so that pages can say what was proved without asking again.

A record is JSON, one line for each theorem: what came out, the hash of its questions in SMT-LIB and of the source it is
about, who answered, and which mutants were refuted.  An entry whose hashes are not those of the theorem is stale.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from sonnx.base.errors import UsageError
from sonnx.base.files import write_whole
from sonnx.base.resources import folder
from sonnx.prover.driver import TheoremResult, refutes

FORMAT = 1
Entry = Mapping[str, Any]


def usual_path() -> Path:
    """The record that comes with the theorems."""
    return folder("proofs") / "record.json"


def read(path: Path) -> dict[str, Entry]:
    """The entries by theorem; none where there is no file.

    Raises:
        Misuse: the file is no record.
    """
    if not path.exists():
        return {}
    try:
        document = json.loads(path.read_text("utf-8"))
        if document["format"] == FORMAT:
            return dict(document["theorems"])
    except (ValueError, KeyError, TypeError):
        pass
    raise UsageError(f"{path} is no record of theorems; sonnx prove --record writes one.")


def write(
    path: Path, outcomes: Sequence[TheoremResult], command: str, present: Iterable[str], answers: Any = None
) -> None:
    """Put the outcomes into a record; entries of other theorems that are `present` stay, all else goes.

    Raises:
        Misuse: the file there is no record.
        OSError: it cannot be written.
    """
    kept = {name: each for name, each in read(path).items() if name in set(present)}
    kept |= {outcome.theorem.id: entry(outcome, command, answers) for outcome in outcomes}
    lines = [f"{json.dumps(name)}: {json.dumps(kept[name], ensure_ascii=True)}" for name in sorted(kept)]
    write_whole(path, f'{{"format": {FORMAT}, "theorems": {{\n' + ",\n".join(lines) + "\n}}\n")


def entry(outcome: TheoremResult, command: str, answers: Any = None) -> Entry:
    """What is kept of an outcome; its mutants are asked here."""
    given = [answer for each in outcome.obligations for answer in each.answers]
    counted = Counter(f"{answer.solver} {answer.version}: {answer.result}" for answer in given)
    made: dict[str, Any] = {
        "status": outcome.status,
        "confirmed": outcome.confirmed,
        "questions": len(outcome.obligations),
        "smt2_sha256": questions_hash((each.name, each.hash) for each in outcome.obligations),
        "source_sha256": outcome.source,
        "answers": dict(sorted(counted.items())),
        "mutants": {each.name: "refuted" if refutes(outcome.theorem, each, answers) else "survives"
                    for each in outcome.theorem.mutants},
        "command": command,
    }  # fmt: skip
    steps = sum(answer.steps for answer in given)
    if steps:
        made |= {"proof_steps": steps, "trusted_steps": sum(answer.trusted for answer in given)}
    if outcome.counterexample:
        made |= {"counterexample": dict(outcome.counterexample), "replayed": outcome.replayed}
    return made


def questions_hash(named: Iterable[tuple[str, str]]) -> str:
    """One hash of all questions of a theorem: of their names and the hashes of their texts."""
    return hashlib.sha256("".join(f"{name}\t{text}\n" for name, text in named).encode()).hexdigest()
