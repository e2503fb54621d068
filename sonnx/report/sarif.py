"""SARIF 2.1.0, for code scanning: every rule declared, every finding with its file and its place in it.

docs/reports.md explains the fields. ASCII only, so that the log does not depend on the encoding of the output.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote as percent

from sonnx.base.escaping import escape
from sonnx.base.reported import holds_float, indented, indented_without_floats
from sonnx.base.resources import tool_version
from sonnx.checker.verdicts import Where
from sonnx.report.document import CaseResult, Criterion, Document, Standing

STANDINGS = {
    Standing.BAD: ("fail", "error"),
    Standing.OPEN: ("open", "none"),
    Standing.ASSUMED: ("review", "none"),
    Standing.NOTE: ("fail", "note"),
    Standing.SKIPPED: ("notApplicable", "none"),
    Standing.JUSTIFIED: ("fail", "error"),
}
"""Kind and level of a case; passing cases have no result."""
BASELINE_STATES = {"new": "new", "unchanged": "unchanged", "gone": "absent"}
SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
LOGICAL = {"node": "element", "value": "variable", "tensor": "variable", "function": "function", "model": "module"}
"""The kind of a logical location for each kind of place; a graph is an object."""


def render_document(document: Document) -> str:
    """A document as one SARIF log with one run: passing cases are declared and counted, all others have a result."""
    files = dict.fromkeys(section.file for section in document.sections)
    default = {
        "command": document.command,
        "about": document.subject,
        "answers": dict(Counter(case.verdict for case in document.cases)),
        "facts": dict(document.facts),
        "notes": list(document.notes),
    }
    driver = {
        "name": "sonnx",
        "version": tool_version(),
        "rules": [_descriptor(name, criterion) for name, criterion in document.criteria.items()],
    }
    run = {
        "tool": {"driver": driver},
        "invocations": [_invocation(document)],
        "artifacts": [_artifact(file, document.hashes.get(file, "")) for file in (*files, *document.unreadable)],
        "results": list(_results(document)),
        "properties": {"headline": document.headline, **(document.properties or default)},
    }
    log = {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}
    different = {id(case.properties): case.properties for section in document.sections for case in section.cases}
    with_floats = holds_float([document.properties, *different.values()])
    return indented(log) if with_floats else indented_without_floats(log)


def _results(document: Document) -> Iterator[dict[str, Any]]:
    """The results of all files; equal fingerprints in one file are numbered."""
    index = {name: number for number, name in enumerate(document.criteria)}
    seen: Counter[tuple[str, str]] = Counter()
    alike: dict[tuple[object, ...], tuple[str, dict[str, Any]]] = {}
    for section in document.sections:
        uri = _uri(section.file)
        places: dict[Where, tuple[str, list[dict[str, Any]], str]] = {}
        for case in (*section.cases, *section.gone):
            if case.standing in STANDINGS and case.criterion in index:  # a rule that was removed has no alerts
                where = case.where or Where(case.name, "model")
                place = places.get(where)
                if place is None:
                    location = _location(uri, where)
                    place = _escaped(case.at), [location], location["logicalLocations"][0]["name"]
                    places[where] = place
                shared = (
                    case.criterion, case.standing, case.verdict, case.message, case.details, case.justification,
                    case.state, id(case.properties),
                )  # fmt: skip
                result = alike.get(shared)
                if result is None:
                    result = _escaped(case.message_with_details), _result(case, index[case.criterion])
                    alike[shared] = result
                print_of = _fingerprint(case, where, place[2])
                number = seen[section.file, print_of] = seen[section.file, print_of] + 1
                yield {
                    **result[1],
                    "message": {"text": f"{place[0]}: {result[0]}"},
                    "locations": place[1],
                    "partialFingerprints": {"primaryLocationLineHash": f"{print_of}:{number}"},
                }


def _result(case: CaseResult, index: int) -> dict[str, Any]:
    """The result of cases that differ in their places only, which its empty values are for."""
    kind, level = STANDINGS[case.standing]
    suppression = {"kind": "external", "status": "accepted", "justification": case.justification}
    properties = case.properties or {
        "verdict": case.verdict,
        "message": case.message,
        "details": [f"{term}: {text}" for term, text in case.details],
    }
    return {
        "ruleId": case.criterion,
        "ruleIndex": index,
        "kind": kind,
        "level": level,
        "message": {},
        "locations": [],
        **({"baselineState": BASELINE_STATES[case.state]} if case.state else {}),
        "partialFingerprints": {},
        **({"suppressions": [suppression]} if case.justification else {}),
        "properties": properties,
    }


def _invocation(document: Document) -> dict[str, Any]:
    notifications = [
        {
            "level": "error",
            "message": _message(escape(reason)),
            "locations": [{"physicalLocation": {"artifactLocation": {"uri": _uri(name)}}}],
        }
        for name, reason in document.unreadable.items()
    ]
    verdicts = [section for section in document.sections if section.headline]
    said = [f"{section.name}: {section.headline}" for section in verdicts] or [document.headline]
    notifications += [{"level": "note", "message": _message(sentence)} for sentence in said]
    successful = not document.unreadable
    return {"executionSuccessful": successful, "exitCode": document.code, "toolExecutionNotifications": notifications}


def _descriptor(name: str, declared: Criterion) -> dict[str, Any]:
    details = (("Because", declared.because), ("Remedy", declared.remedy), ("Source", declared.source))
    return {
        "id": name,
        "shortDescription": _message(declared.statement),
        "fullDescription": _message(f"{declared.statement} {declared.because}".rstrip()),
        **({"helpUri": declared.address} if declared.address else {}),
        "help": _message("\n".join(f"{term}: {text}" for term, text in details if text) or declared.statement),
        "defaultConfiguration": {"level": "error"},
        "properties": {"class": declared.kind, "tags": [declared.kind, *declared.tags]},
    }


def _message(text: str) -> dict[str, str]:
    return {"text": _escaped(text)}


def _escaped(text: str) -> str:
    """A text as the standard requires: braces doubled, and brackets that are not links escaped (3.11.5, 3.11.6)."""
    return text.replace("{", "{{").replace("}", "}}").replace("](", "\\](")


def _uri(name: str) -> str:
    """The file as a URI reference: relative to the working folder, or absolute if it was named so."""
    path = Path(name)
    return path.as_uri() if path.is_absolute() else percent(path.as_posix().encode("utf-8", "surrogateescape"))


def _artifact(name: str, digest: str = "") -> dict[str, Any]:
    """A file that was checked, with its SHA-256 if it is known."""
    hashed = {"hashes": {"sha-256": digest}} if digest else {}
    return {"location": {"uri": _uri(name)}, "roles": ["analysisTarget"], **hashed}


def _location(uri: str, where: Where) -> dict[str, Any]:
    """A place in a file: line 1, because some readers require a line, and the place in the model."""
    logical = {
        "fullyQualifiedName": where.place,
        "kind": LOGICAL.get(where.kind, "object"),
        "name": escape(where.name) or where.place,
    }
    return {
        "physicalLocation": {"artifactLocation": {"uri": uri}, "region": {"startLine": 1}},
        "logicalLocations": [logical],
    }


def _fingerprint(case: CaseResult, where: Where, name: str) -> str:
    """Equal for the same finding in the next version of the model: by the name, or the place if it has no name."""
    verdict = "fail" if case.justification else case.verdict
    parts = (case.criterion, verdict, where.kind, name)
    return hashlib.sha256("\n".join(parts).encode("utf-8")).hexdigest()[:32]
