"""The pieces of a SARIF 2.1.0 log; docs/reports.md says which field holds what.

ASCII only, so that no encoding of the output changes it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import PurePath
from typing import Any
from urllib.parse import quote as percent

from sonnx.quoting import escape
from sonnx.report.json import tool_version
from sonnx.report.result import Declared
from sonnx.verdict import Where

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
LOGICAL = {"node": "element", "value": "variable", "tensor": "variable", "function": "function", "model": "module"}
"""The kind of a logical location for the kind of a place; a graph is an object."""


def log(
    declared: Mapping[str, Declared],
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


def _descriptor(name: str, declared: Declared) -> dict[str, Any]:
    told = (("Because", declared.because), ("Remedy", declared.remedy), ("Source", declared.source))
    return {
        "id": name,
        "shortDescription": message(declared.statement),
        "fullDescription": message(f"{declared.statement} {declared.because}".rstrip()),
        "help": message("\n".join(f"{term}: {said}" for term, said in told if said) or declared.statement),
        "defaultConfiguration": {"level": "error"},
        "properties": {"class": declared.kind, "tags": [declared.kind, *declared.tags]},
    }


def message(text: str) -> dict[str, str]:
    """A message as the standard wants it: braces doubled, and no link that is not meant as one (3.11.5, 3.11.6)."""
    return {"text": text.replace("{", "{{").replace("}", "}}").replace("](", "\\](")}


def uri(name: str) -> str:
    """The file as a URI reference: relative to where the command was given, or absolute if it was given so."""
    path = PurePath(name)
    return path.as_uri() if path.is_absolute() else percent(path.as_posix().encode("utf-8", "surrogateescape"))


def artifact(name: str, digest: str = "") -> dict[str, Any]:
    """A file that was judged, with its SHA-256 if it is known."""
    hashed = {"hashes": {"sha-256": digest}} if digest else {}
    return {"location": {"uri": uri(name)}, "roles": ["analysisTarget"], **hashed}


def location(file: str, where: Where) -> dict[str, Any]:
    """A place in a file: line 1, because some readers refuse a result without one, and the place in the model."""
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
    """The same for the same answer in the next version of the model: by name, by place where there is none."""
    parts = (rule, verdict, where.kind, escape(where.name) or where.place)
    return hashlib.sha256("\n".join(parts).encode("utf-8")).hexdigest()[:32]
