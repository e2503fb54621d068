"""Parts of an evidence pack: the theorems that a verdict depends on, the record of rewrites, and certificates.

No solver runs: the status of a theorem comes from the record of the tool, and only if its queries are equal.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cache
from importlib.util import cache_from_source
from pathlib import Path
from typing import Any, NamedTuple

from msgspec import Struct, convert
from msgspec.structs import asdict

from sonnx.base.decoding import decoding
from sonnx.base.errors import UsageError
from sonnx.base.escaping import quote
from sonnx.base.files import json_value, sha256, whole_bytes
from sonnx.base.resources import own_hash
from sonnx.evidence.traceability import of_operator, operator_in_identifier
from sonnx.profile import catalogue
from sonnx.profile.definitions import Rule
from sonnx.profile.profile_data import INSTALLED, in_use
from sonnx.profile.stored_tables import store_values, stored_values
from sonnx.proofs import registry
from sonnx.prover import driver, record
from sonnx.prover.certificates import FORMAT, MANIFEST, as_text
from sonnx.prover.dependencies import bears_on
from sonnx.prover.queries import Question, questions_of
from sonnx.prover.recorded_answers import Entry, questions_hash
from sonnx.prover.results import KINDS
from sonnx.prover.signature_family import FAMILY_KEYS, families
from sonnx.prover.solvers import installed, script
from sonnx.prover.theorem import Theorem
from sonnx.report.fix_record import ReadRecord

NOT_ASKED = "not recorded"


class ProofQuery(Struct, frozen=True):
    """A query of a theorem."""

    name: str
    """Its name."""
    computed: str
    """Why no solver is asked, "" where one is."""
    smt2_sha256: str
    """The SHA-256 of its text."""
    file: str
    """The file of the pack in the folder theorems; "" without one."""
    proof: str | None = None
    """The file of the pack with its proof; null without one."""


class ListedProof(Struct, frozen=True):
    """What a pack reads of a question in the manifest of a folder of proofs."""

    question: str
    """Its file."""
    question_sha256: str
    """The SHA-256 of it."""
    proof: str = ""
    """The file of its proof; "" without one."""
    proof_sha256: str = ""
    """The SHA-256 of it."""


class RecordedResult(Struct, frozen=True, kw_only=True):
    """The recorded result of a theorem; the defaults are that of one without an entry for its queries."""

    kind: str = ""
    """What sort of statement it is."""
    status: str = NOT_ASKED
    """The result."""
    outcome: str = NOT_ASKED
    """Whether it is the expected one."""
    confirmed: bool = False
    """Whether a second solver gave the same result."""
    answers: Mapping[str, int] = {}
    """How many queries each solver answered."""


class StatedTheorem(RecordedResult, frozen=True, kw_only=True):
    """A theorem that the verdict rests on, with its recorded result."""

    id: str
    """Its name."""
    statement: str
    """What it says."""
    formula: str
    """The same as a formula."""
    expected: str
    """The expected result."""
    bounds: str
    """The sizes for which it holds; "" for all."""
    because: str
    """Why it matters."""
    erratum: str
    """The erratum that it is about."""
    source_sha256: str
    """The SHA-256 of its source."""
    obligations: tuple[ProofQuery, ...]
    """Its queries."""


def relied_on(
    rules: Iterable[Rule], used: Collection[tuple[str, int]], edition: str, named: Collection[str] = ()
) -> list[Theorem]:
    """The theorems derived from the operators in the versions used, those about the rules, and those named."""
    wanted = {rule.slug for rule in rules}
    labels = set(_labels(used, edition))
    derived_from = {operator_in_identifier(identifier) for identifier in named} | {name for name, _ in used}
    return [
        theorem
        for theorem in registry.about_operators(frozenset(derived_from))
        if theorem.id in named
        or (theorem.id.split(".")[1] in labels if of_operator(theorem) else not wanted.isdisjoint(bears_on(theorem)))
    ]


def _labels(used: Collection[tuple[str, int]], edition: str) -> Iterator[str]:
    """The labels of the operator families that contain a version used in the edition."""
    for described in catalogue.operators():
        versions = {version for name, version in used if name == described.name}
        for key in FAMILY_KEYS if versions else ():
            for family in families(described, key):
                if any((version, edition) in family.members for version in versions):
                    yield family.label


class Query(NamedTuple):
    """A query of a theorem: its name, why it is computed, the hash of its text, and the texts by ending of the file."""

    name: str
    computed: str
    hash: str
    texts: Mapping[str, str]


@cache
def _queries(theorem: Theorem) -> tuple[Query, ...]:
    """The queries of a theorem; a process that makes several packs builds their terms once."""
    return tuple(
        Query(question.name, question.obligation.computed, question.hash, dict(_texts(question)))
        for question in questions_of(theorem, "z3", theorem.obligations)
    )


def _stored_queries(listed: Sequence[Theorem]) -> dict[str, tuple[Query, ...]]:
    """The queries of theorems by identifier, those that this program has built before from a table beside its bytecode.

    The table is of these very files of the program, of its own catalogue and of this version of the solver.
    """
    if in_use() is not INSTALLED or sys.implementation.cache_tag is None:
        return {theorem.id: _queries(theorem) for theorem in listed}
    place = Path(cache_from_source(__file__)).with_suffix(".table")
    head = f"{own_hash()} {installed('z3')}\n".encode()
    stored = stored_values(place, head) or {}
    before = len(stored)
    found: dict[str, tuple[Query, ...]] = {}
    for theorem in listed:
        key = f"{theorem.id} {driver.source_hash(theorem)}"
        if key not in stored:
            stored[key] = tuple(tuple(query) for query in _queries(theorem))
        found[theorem.id] = tuple(Query(*each) for each in stored[key])
    if len(stored) > before:
        store_values(place, head, stored)
    return found


def _texts(question: Question) -> Iterator[tuple[str, str]]:
    if not question.obligation.computed:
        yield "smt2", question.text
        if question.obligation.hypotheses:
            yield "hypotheses.smt2", script(question.obligation.hypotheses)


def evidence(
    relied_on: Iterable[Theorem], proofs: Mapping[str, str]
) -> tuple[tuple[StatedTheorem, ...], dict[str, str]]:
    """Each theorem with its result, and the files with its queries by name; `proofs` are files by hash of the query."""
    recorded = record.read(record.usual_path())
    theorems: list[StatedTheorem] = []
    files: dict[str, str] = {}
    listed = [*relied_on]
    queries_by_theorem = _stored_queries(listed)
    for theorem in listed:
        queries, obligations = queries_by_theorem[theorem.id], []
        for number, query in enumerate(queries, 1):
            name = f"{theorem.id}.{number}"
            files |= {f"{name}.{ending}": text for ending, text in query.texts.items()}
            file = f"{name}.smt2" if query.texts else ""
            obligations.append(ProofQuery(query.name, query.computed, query.hash, file, proofs.get(query.hash)))
        theorems.append(
            StatedTheorem(
                id=theorem.id, statement=theorem.statement, formula=theorem.formula, expected=theorem.expected,
                bounds=theorem.bounds, because=theorem.because, erratum=theorem.erratum,
                source_sha256=driver.source_hash(theorem), obligations=tuple(obligations),
                **asdict(recorded_result(theorem, queries, recorded)),
            )
        )  # fmt: skip
    return tuple(theorems), files


def recorded_result(theorem: Theorem, queries: Sequence[Query], recorded: Mapping[str, Entry]) -> RecordedResult:
    """The recorded result of a theorem; NOT_ASKED if its queries differ from the recorded ones."""
    entry = recorded.get(theorem.id)
    if entry is None or entry["smt2_sha256"] != questions_hash((query.name, query.hash) for query in queries):
        return RecordedResult()
    status = entry["status"]
    return RecordedResult(
        kind=entry["kind"],
        status=status,
        outcome="as expected" if status == theorem.expected else "unexpected",
        confirmed=entry["confirmed"],
        answers=dict(entry["answers"]),
    )


def totals(theorems: Iterable[RecordedResult]) -> dict[str, int]:
    """The number of results of each kind, and of theorems without a recorded result."""
    counter = Counter(theorem.kind or NOT_ASKED for theorem in theorems)
    return {kind: counter[kind] for kind in (*KINDS, NOT_ASKED) if counter[kind]}


# ------------------------------------------------------------------ the record of rewrites


LIMIT = (
    "The record of rewrites is shown as sonnx fix wrote it. Its hash of the rewritten file is that of the model; the "
    "rewrites were not repeated for this pack, and no values were compared."
)


def require_about(record: ReadRecord, name: str, digest: str) -> None:
    """Refuse a record of another file, or one that names unknown theorems.

    Raises:
        UsageError: with the difference.
    """
    if record.content.rewritten.sha256 != digest:
        raise UsageError(
            f"{quote(record.file)} is the record of another file: it states the SHA-256 "
            f"{quote(record.content.rewritten.sha256)}, and {quote(name)} has {digest}"
        )
    unknown = sorted(theorems(record) - {theorem.id for theorem in registry.theorems()})
    if unknown:
        raise UsageError(f"{quote(record.file)} names a theorem unknown to this tool: {quote(unknown[0])}")


def theorems(record: ReadRecord) -> set[str]:
    """The theorems that justify the rewrites."""
    return {rewrite.theorem for rewrite in record.content.rewrites if rewrite.theorem}


def theorems_about(topic: str) -> set[str]:
    """The theorems of a topic."""
    return {theorem.id for theorem in registry.theorems() if theorem.id.startswith(topic)}


# ------------------------------------------------------------------ certificates: the proofs of the queries


CERTIFICATES = "certificates"
"""The folder of a pack that has them."""


def certified(folder: Path, theorems: Iterable[Theorem]) -> tuple[dict[str, bytes], dict[str, str]]:
    """The files of a pack for the queries of theorems, and the file of the proof by SHA-256 of its query.

    Raises:
        UsageError: the folder has no manifest, or a file differs from its manifest.
    """
    document = _manifest(folder)
    questions = {query.hash for theorem in theorems for query in _queries(theorem)}
    rows = [row for row in document["questions"] if row["question_sha256"] in questions and "proof" in row]
    files: dict[str, bytes] = {}
    for row in rows:
        for kind in ("question", "proof"):
            files[f"{CERTIFICATES}/{row[kind]}"] = _content(folder, row[kind], row[f"{kind}_sha256"])
    files[f"{CERTIFICATES}/{MANIFEST}"] = as_text({**document, "proofs": len(rows), "questions": rows}).encode("ascii")
    return files, {row["question_sha256"]: f"{CERTIFICATES}/{row['proof']}" for row in rows}


def _manifest(folder: Path) -> dict[str, Any]:
    path = folder / MANIFEST
    if not path.exists():
        raise UsageError(f"{quote(str(folder))} has no {MANIFEST}; sonnx theorems --proofs writes such a folder")
    with decoding(path, "a manifest that sonnx theorems --proofs wrote"):
        document: dict[str, Any] = json_value(whole_bytes(path))
        if document["format"] != FORMAT:
            raise ValueError(f"its format is not {FORMAT}")
        convert(document["questions"], tuple[ListedProof, ...])
    return document


def _content(folder: Path, name: str, digest: str) -> bytes:
    if Path(name).name != name:
        raise UsageError(f"{folder / MANIFEST} names a file outside its folder: {name!r}")
    try:
        content = whole_bytes(folder / name)
    except OSError as error:
        raise UsageError(f"{folder / name} cannot be read ({error.strerror})") from None
    if sha256(content) != digest:
        raise UsageError(f"{folder / name} differs from its SHA-256 in {MANIFEST}")
    return content
