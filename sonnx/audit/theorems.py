"""The theorems about the operators and words a verdict rests on, each with its questions in SMT-LIB.

The solvers are not asked: a status is that of the record that comes with the tool, for equal questions only.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from importlib import import_module
from typing import Any

from sonnx import catalogue, proving, record
from sonnx.asking import questions
from sonnx.bearing import bears_on
from sonnx.profile import Rule
from sonnx.traceability import of_operator

NOT_ASKED = "not asked here"
STATED = ("id", "statement", "formula", "expected", "bounds", "because", "erratum")


KEYS = ("everything", "but_types", "types", "conditions", "shapes", "against_onnx")
"""What must be equal for versions and editions of an operator to share a theorem, by sort of theorem."""


def relied_on(
    rules: Iterable[Rule], used: Collection[tuple[str, int]], edition: str, named: Collection[str] = ()
) -> list[Any]:
    """The theorems derived from the operators in the versions used, those that bear on the rules, and those named."""
    wanted = {rule.slug for rule in rules}
    labels = set(_labels(used, edition))
    return [
        theorem
        for theorem in proving.theorems()
        if theorem.id in named
        or (theorem.id.split(".")[1] in labels if of_operator(theorem) else not wanted.isdisjoint(bears_on(theorem)))
    ]


def _labels(used: Collection[tuple[str, int]], edition: str) -> Iterator[str]:
    """The labels of the families that speak for a version in the edition."""
    family = import_module("sonnx.proofs.family")
    for described in catalogue.operators():
        versions = {version for name, version in used if name == described.name}
        for key in KEYS if versions else ():
            for each in family.families(described, getattr(family.Family, key)):
                if any((version, edition) in each.members for version in versions):
                    yield each.label


def evidence(found: Iterable[Any]) -> tuple[list[dict[str, Any]], dict[str, str]]:
    """What is known of each theorem, and the files with its questions by name."""
    known = record.read(record.usual_path())
    certificates: list[dict[str, Any]] = []
    files: dict[str, str] = {}
    for theorem in found:
        asked = list(questions(theorem, "z3", theorem.obligations))
        names = [f"{theorem.id}.{number}.smt2" for number in range(1, len(asked) + 1)]
        files |= dict(_texts(names, asked))
        said = certificate(theorem, asked, known)
        said["obligations"] = [
            {"name": each.name, "smt2_sha256": _hash(each), "file": name}
            for each, name in zip(asked, names, strict=True)
        ]
        stated = {name: getattr(theorem, name) for name in STATED}
        certificates.append({**stated, "source_sha256": proving.source_hash(theorem), **said})
    return certificates, files


def certificate(theorem: Any, asked: Sequence[Any], known: Mapping[str, record.Entry]) -> dict[str, Any]:
    """What the record says of a theorem; not asked where its questions are other ones than those recorded."""
    entry = known.get(theorem.id)
    if entry is None or entry["smt2_sha256"] != record.questions_hash((each.name, _hash(each)) for each in asked):
        return {"status": NOT_ASKED, "as_stated": False, "confirmed": False, "answers": {}}
    status = entry["status"]
    return {
        "status": status,
        "as_stated": status == theorem.expected,
        "confirmed": entry["confirmed"],
        "answers": dict(entry["answers"]),
    }


def _hash(question: Any) -> str:
    return hashlib.sha256(question.text.encode()).hexdigest()


def _texts(names: Iterable[str], asked: Iterable[Any]) -> Iterator[tuple[str, str]]:
    for name, question in zip(names, asked, strict=True):
        yield name, question.text
        if question.hypotheses:
            yield name.replace(".smt2", ".hypotheses.smt2"), question.hypotheses


def totals(certificates: Iterable[Mapping[str, Any]]) -> dict[str, int]:
    """How many theorems have each status."""
    found: dict[str, int] = {}
    for each in certificates:
        found[each["status"]] = found.get(each["status"], 0) + 1
    return dict(sorted(found.items()))
