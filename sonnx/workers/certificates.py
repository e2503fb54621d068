"""Proof certificates from child processes: the work of a child, and the parent that writes them to a folder."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from sonnx.base.files import make_folder, require_empty, staged, write_whole
from sonnx.prover import driver
from sonnx.prover.certificates import (
    MANIFEST,
    Certificate,
    CertifiedQuestion,
    as_text,
    certificate,
    certified_questions,
    manifest,
    questions_of_model,
    summary,
)
from sonnx.workers.pools import answers_to
from sonnx.workers.tasks import HERE, Answer, Work, WorkerTask, WorkPlace

__all__ = [
    "CertifiedQuestion", "answer", "certified_questions", "prepare", "questions_of_model", "require_usable", "summary",
    "write_certificates", "write_questions",
]  # fmt: skip
TIMEOUT = 20.0
"""Seconds for one proof, if the caller states none; most proofs take less than one."""
MEMORY = 8192
"""Megabytes for one proof: the solver keeps all of it in memory."""

# ------------------------------------------------------------------ in the parent process


def write_certificates(
    certified: Sequence[CertifiedQuestion],
    folder: Path,
    place: WorkPlace = HERE,
    progress: Callable[[str], None] = lambda _: None,
) -> Mapping[str, Any]:
    """Write every question, each proof when it is there, and the manifest last; after an interrupt the rest has none.

    Args:
        certified: the questions, with different names.
        folder: a folder that is absent or empty.
        place: where the proofs are made.
        progress: called after each question.

    Returns:
        The manifest.

    Raises:
        UsageError: cvc5 is not installed, or the folder has files.
        OSError: the folder cannot be written.
    """
    require_usable(folder)
    make_folder(folder)
    certificates = {question.name: Certificate("", 0, "a counterexample is expected") for question in certified}
    for question in certified:
        write_whole(folder / f"{question.name}.smt2", question.text)

    def keep(task: WorkerTask, answer: Answer) -> None:
        certificates[task.name] = _decoded(answer)
        if certificates[task.name].proof:
            write_whole(folder / f"{task.name}.cpc", certificates[task.name].proof)

    work = Work("sonnx.workers.certificates", "proved", ("cvc5",), place.bounds(TIMEOUT, MEMORY))
    tasks = [
        WorkerTask(question.name, {"name": question.name, "text": question.text})
        for question in certified
        if question.expected == "proved"
    ]
    answers, _ = answers_to(tasks, work, place, keep=keep, progress=progress)
    certificates |= {name: _decoded(answer) for name, answer in answers.items() if "why" in answer}
    document = manifest([(question, certificates[question.name]) for question in certified])
    write_whole(folder / MANIFEST, as_text(document))
    return document


def require_usable(folder: Path) -> None:
    """Refuse a folder with files, so that no file of an older run remains, and a missing solver.

    Raises:
        UsageError: with the reason.
    """
    driver.require(["cvc5"])
    require_empty(folder, "older proof")


def write_questions(certified: Sequence[CertifiedQuestion], folder: Path) -> None:
    """Write questions about a model as SMT-LIB files, all or none; `index.txt` states the expected answers.

    Raises:
        OSError: the folder cannot be written.
    """
    make_folder(folder.absolute().parent)
    lines = [f"{question.name}.smt2\t{question.expected}\t{'; '.join(question.decides)}\n" for question in certified]
    with staged(folder, beside_others=True) as part:
        for certified_question in certified:
            (part / f"{certified_question.name}.smt2").write_text(certified_question.text, "utf-8")
        (part / "index.txt").write_text("".join(lines), "utf-8")


def _decoded(reply: Answer) -> Certificate:
    if "why" in reply:
        return Certificate("", 0, reply["sentence"])
    return Certificate(reply["proof"], reply["steps"], reply["missing"])


# ------------------------------------------------------------------ in a child process


def prepare() -> None:
    """Do nothing: a question names no theorem."""


def answer(request: Mapping[str, Any]) -> Answer:
    """The certificate of a question."""
    proved = certificate(request["name"], request["text"])
    return {"word": "proved" if proved.proof else "without proof", **proved._asdict()}
