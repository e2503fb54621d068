"""Certificates: the proof of each question in cvc5's format CPC, so that a checker of proofs replaces the solvers.

A question is certified if cvc5 answers `unsat` with a proof in which every step follows from a rule of the format.  A
folder of certificates has `NAME.smt2` and `NAME.cpc` for each certified question, `NAME.smt2` alone for the others, and
`manifest.json` with the SHA-256 of each file, the obligations that a question decides, and why a proof is missing.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from sonnx.base.escaping import plural
from sonnx.prover import solvers
from sonnx.prover.model_proof import ModelQuestion
from sonnx.prover.queries import questions_of
from sonnx.prover.theorem import Theorem

FORMAT = 1
MANIFEST = "manifest.json"
MAX_BYTES = 4 << 20
"""A larger proof is listed and not written: the independent checker needs minutes for it."""
PROOF_FORMAT = "CPC"


@dataclass(frozen=True, slots=True)
class CertifiedQuestion:
    """A question with the obligations it decides; `name` is that of its files, without the suffix."""

    name: str
    text: str
    decides: tuple[str, ...]
    expected: str = "proved"
    """"refuted" for a question of which a counterexample is expected, so that no proof can exist."""

    @property
    def sha256(self) -> str:
        """The SHA-256 of the text."""
        return hashlib.sha256(self.text.encode()).hexdigest()


class Certificate(NamedTuple):
    """The proof of a question in CPC with its number of steps, or why there is none."""

    proof: str
    steps: int
    missing: str


def certified_questions(theorems: Iterable[Theorem]) -> tuple[CertifiedQuestion, ...]:
    """The different questions of theorems, named after the first obligation with the text."""
    texts: dict[str, list[tuple[str, str, str]]] = {}
    for theorem in theorems:
        for number, question in enumerate(questions_of(theorem, "z3", theorem.obligations), 1):
            texts.setdefault(question.text, []).append(
                (f"{theorem.id}.{number}", f"{theorem.id}: {question.name}", theorem.expected)
            )
    return tuple(
        CertifiedQuestion(
            uses[0][0], text, tuple(decided for _, decided, _ in uses),
            "proved" if any(expected == "proved" for _, _, expected in uses) else "refuted",
        )
        for text, uses in texts.items()
    )  # fmt: skip


def questions_of_model(questions: Iterable[ModelQuestion]) -> tuple[CertifiedQuestion, ...]:
    """The different questions that decide the rules of a model."""
    uses: dict[tuple[str, str], list[ModelQuestion]] = {}
    for question in questions:
        uses.setdefault((question.text, question.expected), []).append(question)
    return tuple(
        CertifiedQuestion(
            f"{same[0].rule}.{number}", text, tuple(f"{each.rule} at {each.where.place}" for each in same),
            "proved" if expected == "unsat" else "refuted",
        )
        for number, ((text, expected), same) in enumerate(uses.items(), 1)
    )  # fmt: skip


def certificate(name: str, text: str) -> Certificate:
    """The certificate of a question in SMT-LIB.

    The proof begins with a reference to the file of the question: a checker then refuses every assumption of the proof
    that the question does not assert.
    """
    cvc5_proof = solvers.proof(text)
    if cvc5_proof.result != "unsat":
        return Certificate("", 0, f"cvc5 answers {cvc5_proof.result}")
    if cvc5_proof.trusted:
        return Certificate(
            "", cvc5_proof.steps, f"the proof of cvc5 trusts {cvc5_proof.trusted} of its {cvc5_proof.steps} steps"
        )
    proof = f'(reference "{name}.smt2")\n{_steps_only(cvc5_proof.text)}'
    if len(proof) > MAX_BYTES:
        return Certificate("", cvc5_proof.steps, f"the proof has {len(proof)} bytes, more than {MAX_BYTES}")
    return Certificate(proof, cvc5_proof.steps, "")


def _steps_only(text: str) -> str:
    """The commands of a proof without the parentheses that `get-proof` of SMT-LIB puts around them."""
    return text.strip().removeprefix("(").removesuffix(")").strip() + "\n"


def manifest(certified: Sequence[tuple[CertifiedQuestion, Certificate]]) -> Mapping[str, Any]:
    """The content of `manifest.json`."""
    rows = [_row(question, certificate) for question, certificate in certified]
    return {
        "format": FORMAT,
        "solver": f"cvc5 {solvers.installed('cvc5')}",
        "proof_format": PROOF_FORMAT,
        "max_bytes": MAX_BYTES,
        "proofs": sum("proof" in row for row in rows),
        "questions": rows,
    }


def _row(question: CertifiedQuestion, certificate: Certificate) -> dict[str, Any]:
    row: dict[str, Any] = {
        "question": f"{question.name}.smt2",
        "question_sha256": question.sha256,
        "expected": question.expected,
        "decides": list(question.decides),
        "steps": certificate.steps,
    }
    if certificate.missing:
        return row | {"missing": certificate.missing}
    proof = certificate.proof.encode()
    return row | {
        "proof": f"{question.name}.cpc",
        "proof_sha256": hashlib.sha256(proof).hexdigest(),
        "proof_bytes": len(proof),
    }


def as_text(document: Mapping[str, Any]) -> str:
    """A manifest as text, one line for each question."""
    head = {key: value for key, value in document.items() if key != "questions"}
    rows = ",\n".join(json.dumps(each, ensure_ascii=True) for each in document["questions"])
    return f'{json.dumps(head)[:-1]}, "questions": [\n{rows}\n]}}\n'


def summary(document: Mapping[str, Any]) -> str:
    """One sentence on a manifest: how many questions have a proof, and where the others are listed."""
    needed = [entry for entry in document["questions"] if entry["expected"] == "proved"]
    missing = len(needed) - document["proofs"]
    text = f"{plural(document['proofs'], 'proof')} for {plural(len(needed), 'question')}"
    return f"{text}; {MANIFEST} says why {missing} have none" if missing else text
