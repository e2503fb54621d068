"""The answers of solvers that come with the tool: what was asked when it was made, by the hashes of the questions.

`sonnx prove --solver all --record FILE` writes them.  They say nothing of any other question: one whose text is not
among them is not asked here.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from sonnx.asking import Question, questions
from sonnx.data import folder
from sonnx.proving import SOLVERS, Outcome

FORMAT = 1
FILE = "record.json"
NOT_ASKED = "not asked here"


def key(question: Question) -> str:
    """The hash of a question with that of its hypotheses alone: both decide what its answer means."""
    texts = (hashlib.sha256(text.encode()).hexdigest() for text in (question.text, question.hypotheses))
    return hashlib.sha256(" ".join(texts).encode()).hexdigest()


def as_json(outcomes: Iterable[Outcome]) -> str:
    """The record of a run: the status of each question and who answered, sorted by hash."""
    found: dict[str, list[str]] = {}
    for outcome in outcomes:
        asked = questions(outcome.theorem, "z3", outcome.theorem.obligations)
        for question, judged in zip(asked, outcome.obligations, strict=True):
            said = {f"{each.solver} {each.version} {each.result}" for each in judged.answers}
            found[key(question)] = [judged.status, *sorted(said)]
    lines = (f"{json.dumps(name)}: {json.dumps(answer)}" for name, answer in sorted(found.items()))
    joined = ",\n".join(lines)
    return f'{{"format": {FORMAT}, "answers": {{\n{joined}\n}}}}\n'


def recorded() -> Mapping[str, Sequence[str]]:
    """The record of this installation; empty where there is none."""
    try:
        document = json.loads((folder("proofs") / FILE).read_text("utf-8"))
    except FileNotFoundError:
        return {}
    return dict(document["answers"]) if document.get("format") == FORMAT else {}


def certificate(theorem: Any, asked: Sequence[Question], known: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    """What is known of a theorem: the worst of its questions, and not asked where one of them is not in the record."""
    found = [list(known.get(key(each), [NOT_ASKED])) for each in asked]
    statuses = {each[0] for each in found}
    order = (NOT_ASKED, "vacuous", "undecided", "refuted", "proved")
    status = next((each for each in order if each in statuses), NOT_ASKED)
    deciding = [each[1:] for each in found if each[0] == status]
    solvers = [{said.partition(" ")[0] for said in each if said.endswith(("sat",))} for each in deciding]
    return {
        "status": status,
        "as_stated": status == theorem.expected,
        "confirmed": status in ("proved", "refuted") and all(len(each & set(SOLVERS)) > 1 for each in solvers),
        "obligations": [
            {
                "name": question.name,
                "smt2_sha256": hashlib.sha256(question.text.encode()).hexdigest(),
                "status": each[0],
                "answers": each[1:],
            }
            for question, each in zip(asked, found, strict=True)
        ],
    }
