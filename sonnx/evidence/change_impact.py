"""What of an earlier evidence pack still holds for the model, edition, tool and options of a new one."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from msgspec import convert

from sonnx.base.decoding import decoding
from sonnx.base.errors import Unreadable, UsageError
from sonnx.base.escaping import plural, quote
from sonnx.base.files import json_value
from sonnx.evidence.audit_document import AuditDocument, ChangedResults, ChangeImpact, EarlierModel, StandingEvidence
from sonnx.evidence.pack_parts import StatedTheorem
from sonnx.model.reader import file_bytes

STANDS, RENEWED, TO_RENEW = "stands", "renewed by this pack", "must be renewed"
FILE = "audit.json"


class EarlierPack(NamedTuple):
    """The document of an earlier pack, its bytes, and the SHA-256 of them."""

    document: AuditDocument
    content: bytes
    sha256: str


def earlier_pack(folder: Path) -> EarlierPack:
    """Read the document of an earlier pack.

    Raises:
        UsageError: the folder is not an evidence pack.
        BadInput: its document is not one of this version.
    """
    path = folder / FILE
    if not path.is_file():
        raise UsageError(f"{quote(str(folder))} is not an evidence pack: it has no {FILE}")
    try:
        content = file_bytes(path, quote(str(path)))
    except Unreadable as reason:
        raise UsageError(str(reason)) from None
    with decoding(path, "the document of an evidence pack as this version writes it"):
        document = convert(json_value(content), AuditDocument)
    return EarlierPack(document, content, hashlib.sha256(content).hexdigest())


def change_impact(before: EarlierPack, now: AuditDocument) -> ChangeImpact:
    """What changed since an earlier pack, and for each kind of evidence whether it stands.

    Args:
        before: the earlier pack.
        now: the document of the new one.
    """
    was = before.document
    changed = tuple(_changed(was, now))
    same_function = was.model.canonical_sha256 == now.model.canonical_sha256
    results = tuple(_results(was, now))
    return ChangeImpact(
        before.sha256,
        EarlierModel(was.model.file, was.model.sha256, same_function),
        changed,
        results,
        tuple(StandingEvidence(*row) for row in _evidence(was, now, changed, len(results), same_function)),
    )


def _changed(was: AuditDocument, now: AuditDocument) -> Iterator[str]:
    """What evidence depends on and what is not the same in both packs."""
    both = was.edition.files.keys() & now.edition.files.keys()  # the others follow from the operators
    old, new = (_subjects(document, both) for document in (was, now))
    yield from (name for name in new if old[name] != new[name])


def _subjects(document: AuditDocument, files: Collection[str]) -> dict[str, Any]:
    edition = document.edition
    return {
        "model": document.model.sha256,
        "external data": document.model.external_data,
        "edition": (edition.name, {name: edition.files[name] for name in files}),
        "tool": document.tool,
        "packages": document.packages,
        "options": {**document.options, "since": None},
    }


def _results(was: AuditDocument, now: AuditDocument) -> Iterator[ChangedResults]:
    """The rules with other results than before; None where a pack does not have the rule."""
    old, new = ({row.rule: dict(row.answers) for row in document.rules} for document in (was, now))
    for rule in sorted(old.keys() | new.keys()):
        if old.get(rule) != new.get(rule):
            yield ChangedResults(rule, old.get(rule), new.get(rule))


def _evidence(
    was: AuditDocument, now: AuditDocument, changed: Collection[str], differing_rules: int, same_function: bool
) -> Iterator[tuple[str, str, str]]:
    """Each kind of evidence with its state and the reason."""
    causes = ", ".join(changed) or "nothing it depends on"
    results = f"{causes} changed; {plural(differing_rules, 'rule')} with other results"
    yield "results of the rules", RENEWED if changed else STANDS, results
    old, new = ({theorem.id: _queries(theorem) for theorem in document.theorems} for document in (was, now))
    fresh = [name for name, digest in new.items() if old.get(name) != digest]
    unproved = [stated.id for stated in now.theorems if stated.id in fresh and stated.outcome != "as expected"]
    state = TO_RENEW if unproved else RENEWED if fresh else STANDS
    told = f"{plural(len(fresh), 'theorem')} with new questions, {len(unproved)} of them without the expected result"
    yield "theorems", state, told
    monitored = _conditions(was) != _conditions(now)
    told = f"the conditions on run-time values are {'others' if monitored else 'the same'}"
    yield "monitors of assumptions", TO_RENEW if monitored else STANDS, told
    if was.box is not None or now.box is not None:
        state = RENEWED if now.box is not None else STANDS if same_function else TO_RENEW
        yield "bounds on a box of inputs", state, f"this pack has {'a' if now.box is not None else 'no'} box"
    if was.rewrites is not None or now.rewrites is not None:
        state = RENEWED if now.rewrites is not None else TO_RENEW
        yield "record of rewrites", state, f"this pack has {'a' if now.rewrites is not None else 'no'} record"
    state, told = TO_RENEW, "another model; sonnx equivalent says whether it is the same function"
    if same_function:
        state, told = STANDS, "the canonical forms are equal"
    yield "values, accuracy and behaviour of the model", state, told
    state, told = STANDS, "the file is the same; the runtime must be the same, too"
    if "model" in changed or "external data" in changed:
        state, told = TO_RENEW, "they are about the bytes of a model file, and of a runtime"
    yield "comparisons with runtimes, measured time and memory", state, told
    tool = [name for name in changed if name in ("tool", "packages")]
    told = f"{' and '.join(tool)} changed" if tool else "tool and packages are the same"
    yield "qualification of the tool", TO_RENEW if tool else STANDS, told


def _queries(theorem: StatedTheorem) -> tuple[str, ...]:
    return tuple(query.smt2_sha256 for query in theorem.obligations)


def _conditions(document: AuditDocument) -> list[tuple[str, str, str]]:
    return sorted((open_.place, open_.rule, open_.condition) for open_ in document.assumptions)
