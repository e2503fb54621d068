"""SARIF 2.1.0, for code scanning: every rule declared, every finding with its file and its place in it."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote as percent

from sonnx.base.escaping import escape
from sonnx.base.resources import tool_version
from sonnx.checker.verdicts import Where
from sonnx.report.document import CaseResult, Criterion, Document, Section, Standing

STANDINGS = {
    Standing.BAD: ("fail", "error"),
    Standing.OPEN: ("open", "none"),
    Standing.ASSUMED: ("review", "none"),
    Standing.NOTE: ("fail", "note"),
    Standing.SKIPPED: ("notApplicable", "none"),
    Standing.JUSTIFIED: ("fail", "error"),
}
"""Kind and level of a case; passing cases have no result."""


def render_document(found: Document) -> str:
    """A document as one SARIF log with one run: passing cases are declared and counted, all others have a result."""
    index = {name: number for number, name in enumerate(found.criteria)}
    files = dict.fromkeys(section.file for section in found.sections)
    default = {
        "command": found.command,
        "about": found.subject,
        "headline": found.headline,
        "answers": dict(Counter(case.verdict for case in found.cases)),
        "facts": dict(found.facts),
        "notes": list(found.notes),
    }
    return log(
        found.criteria,
        _invocation(found.unreadable, found.code),
        [*(artifact(file, found.hashes.get(file, "")) for file in files), *map(artifact, found.unreadable)],
        [result for results in _results(found, index) for result in results],
        found.properties or default,
    )


def _results(found: Document, index: Mapping[str, int]) -> Iterator[list[dict[str, Any]]]:
    """The results of each file; equal fingerprints in one file are numbered."""
    seen: dict[str, Counter[str]] = {}
    for section in found.sections:
        counter = seen.setdefault(section.file, Counter())
        cases = (case for case in section.cases if case.standing in STANDINGS)
        yield [_case(section, case, index[case.criterion], counter) for case in cases]


def _case(section: Section, case: CaseResult, index: int, seen: Counter[str]) -> dict[str, Any]:
    kind, level = STANDINGS[case.standing]
    where = case.where or Where(case.name, "model")
    details = [f"{term}: {text}" for term, text in case.details]
    print_of = fingerprint(case.criterion, "fail" if case.justification else case.verdict, where)
    seen[print_of] += 1
    suppression = {"kind": "external", "status": "accepted", "justification": case.justification}
    return {
        "ruleId": case.criterion,
        "ruleIndex": index,
        "kind": kind,
        "level": level,
        "message": message(case.sentence),
        "locations": [location(section.file, where)],
        "partialFingerprints": {"primaryLocationLineHash": f"{print_of}:{seen[print_of]}"},
        **({"suppressions": [suppression]} if case.justification else {}),
        "properties": case.properties or {"verdict": case.verdict, "message": case.message, "details": details},
    }


def _invocation(unreadable: Mapping[str, str], code: int) -> dict[str, Any]:
    notifications = [
        {
            "level": "error",
            "message": message(escape(reason)),
            "locations": [{"physicalLocation": {"artifactLocation": {"uri": uri(name)}}}],
        }
        for name, reason in unreadable.items()
    ]
    return {"executionSuccessful": not unreadable, "exitCode": code, "toolExecutionNotifications": notifications}


# ------------------------------------------------------------------ the log
# docs/reports.md explains the fields. ASCII only, so that it does not depend on the encoding of the output.


SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
LOGICAL = {"node": "element", "value": "variable", "tensor": "variable", "function": "function", "model": "module"}
"""The kind of a logical location for each kind of place; a graph is an object."""


def log(
    declared: Mapping[str, Criterion],
    invocation: Mapping[str, Any],
    artifacts: Sequence[Mapping[str, Any]],
    results: Sequence[Mapping[str, Any]],
    properties: Mapping[str, Any],
) -> str:
    """One log with one run, ending in a line feed."""
    driver = {
        "name": "sonnx",
        "version": tool_version(),
        "rules": [_descriptor(name, each) for name, each in declared.items()],
    }
    run = {
        "tool": {"driver": driver},
        "invocations": [invocation],
        "artifacts": artifacts,
        "results": results,
        "properties": properties,
    }
    return json.dumps({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}, indent=1, ensure_ascii=True) + "\n"


def _descriptor(name: str, declared: Criterion) -> dict[str, Any]:
    details = (("Because", declared.because), ("Remedy", declared.remedy), ("Source", declared.source))
    return {
        "id": name,
        "shortDescription": message(declared.statement),
        "fullDescription": message(f"{declared.statement} {declared.because}".rstrip()),
        **({"helpUri": declared.address} if declared.address else {}),
        "help": message("\n".join(f"{term}: {text}" for term, text in details if text) or declared.statement),
        "defaultConfiguration": {"level": "error"},
        "properties": {"class": declared.kind, "tags": [declared.kind, *declared.tags]},
    }


def message(text: str) -> dict[str, str]:
    """A message as the standard requires: braces doubled, and brackets that are not links escaped (3.11.5, 3.11.6)."""
    return {"text": text.replace("{", "{{").replace("}", "}}").replace("](", "\\](")}


def uri(name: str) -> str:
    """The file as a URI reference: relative to the working folder, or absolute if it was named so."""
    path = Path(name)
    return path.as_uri() if path.is_absolute() else percent(path.as_posix().encode("utf-8", "surrogateescape"))


def artifact(name: str, digest: str = "") -> dict[str, Any]:
    """A file that was checked, with its SHA-256 if it is known."""
    hashed = {"hashes": {"sha-256": digest}} if digest else {}
    return {"location": {"uri": uri(name)}, "roles": ["analysisTarget"], **hashed}


def location(file: str, where: Where) -> dict[str, Any]:
    """A place in a file: line 1, because some readers require a line, and the place in the model."""
    logical = {
        "fullyQualifiedName": where.place,
        "kind": LOGICAL.get(where.kind, "object"),
        "name": escape(where.name) or where.place,
    }
    return {
        "physicalLocation": {"artifactLocation": {"uri": uri(file)}, "region": {"startLine": 1}},
        "logicalLocations": [logical],
    }


def fingerprint(rule: str, verdict: str, where: Where) -> str:
    """Equal for the same finding in the next version of the model: by the name, or the place if it has no name."""
    parts = (rule, verdict, where.kind, escape(where.name) or where.place)
    return hashlib.sha256("\n".join(parts).encode("utf-8")).hexdigest()[:32]
