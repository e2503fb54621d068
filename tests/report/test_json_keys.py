"""Every key of every JSON document, asserted by value, and SARIF, JUnit and GitHub annotations of one check.

tests/data/documents holds what the results of tests/support/documents.py must become.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from hashlib import sha256
from typing import Any

import jsonschema

from sonnx.checker.conditions import Conditions
from sonnx.checker.verdicts import Verdict, Where
from sonnx.profile import catalogue
from sonnx.report import check_document, rules, sarif
from sonnx.report.document import CaseResult, Criterion, Document, Section, Standing
from tests.support.cases import each_case
from tests.support.documents import DOCUMENTS, FOLDER, FORMATTED, documents, formatted
from tests.support.paths import ROOT
from tools.schemas import JSON_FILES

ONE_VALUE = {"format", "tool", "tool.name", "tool.version"}
"""Keys that are the same in each document."""
ABOUT_NODES = {"proof": {"refuted.where.kind", "open.where.kind", "questions.where.kind"}}
"""By document, kinds of places that are always nodes."""
OF_A_SUITE = tuple(f"conditions.{name}" for name in Conditions.__struct_fields__)
"""A suite is about no model, so that most of its conditions are empty."""
LISTED = tuple(catalogue.editions().editions)


def schema(name: str) -> Any:
    return json.loads((ROOT / "sonnx" / "report" / f"{name}.schema.json").read_text("utf-8"))


def all_documents(name: str) -> list[Any]:
    return [json.loads(rules.rule_list(each).to_json()) for each in LISTED] if name == "rules" else documents(name)


def keys(node: Any, parts: Any, path: str = "") -> Iterator[str]:
    """The paths of all keys of a schema; elements of lists and values of mappings share the path of the list."""
    if "$ref" in node:
        yield from keys(parts[node["$ref"].rpartition("/")[2]], parts, path)
    for each in node.get("anyOf", ()):
        yield from keys(each, parts, path)
    for key, inner in node.get("properties", {}).items():
        own = f"{path}.{key}" if path else key
        yield own
        yield from keys(inner, parts, own)
    for inner in (node.get("items"), node.get("additionalProperties")):
        if isinstance(inner, dict):
            yield from keys(inner, parts, path)


def values(document: Any, path: list[str], fields: bool) -> Iterator[str]:
    """What stands at a path; `fields` says whether the document is an object of the schema, not a mapping."""
    if isinstance(document, list):
        for each in document:
            yield from values(each, path, fields)
    elif isinstance(document, dict) and path and path[0] in document:
        inner = document[path[0]]
        if len(path) == 1:
            yield json.dumps(inner, sort_keys=True)
        else:
            yield from values(inner, path[1:], fields)
    elif isinstance(document, dict) and path:
        for each in document.values():
            if isinstance(each, dict | list):
                yield from values(each, path, fields)


# ------------------------------------------------------------------ JSON


def test_every_schema_has_documents() -> None:
    names = {path.rpartition("/")[2].removesuffix(".schema.json") for path in JSON_FILES}
    assert names == {*DOCUMENTS, "rules"}


@each_case("name", DOCUMENTS)
def test_documents_are_as_recorded(name: str) -> None:
    assert documents(name) == json.loads((FOLDER / f"{name}.json").read_text("utf-8"))


@each_case("name", [*DOCUMENTS, "rules"])
def test_every_key_takes_two_values(name: str) -> None:
    """A key that is always empty, or always the same, is not tested by any value."""
    described = schema(name)
    validator = jsonschema.Draft202012Validator(described)
    found = all_documents(name)
    for document in found:
        validator.validate(document)
    once = {
        path
        for path in keys(described, described["$defs"])
        if len(set(values(found, path.split("."), fields=True))) < 2
    }
    elsewhere = OF_A_SUITE if name.startswith("suite") else ()
    assert {path for path in once if not path.startswith(elsewhere)} <= ONE_VALUE | ABOUT_NODES.get(name, set())


@each_case("name", LISTED)
def test_listed_rules_have_the_values_of_the_profile(name: str) -> None:
    document = json.loads(rules.rule_list(name).to_json())
    edition = catalogue.editions().editions[name]
    assert document["edition"] == {"name": name, "title": edition.title, "consolidated": edition.consolidated}
    statuses = {
        operator: "planned" if operator in edition.planned else "draft" if operator in edition.drafts else "specified"
        for operator in (*edition.operators, *edition.planned)
    }
    assert document["operators"] == statuses
    order = list(catalogue.editions().texts)
    known = {rule.slug: rule for rule in rules.rules_of(edition)}
    assert [each["rule"] for each in document["rules"]] == list(known)
    for each in document["rules"]:
        rule = known[each["rule"]]
        assert (each["class"], each["statement"]) == (rule.kind, rule.statement)
        assert each["require"] == (rule.require.text if rule.require else None)
        operator = rule.slug.partition(".")[0] if "." in rule.slug else ""
        last = order.index(edition.operators.get(operator) or edition.general)
        until = [tag for tag in rule.tags if order.index(tag.text) <= last]
        assert each["tags"] == [{"text": tag.text, "label": tag.label, "origin": tag.origin} for tag in until]


# ------------------------------------------------------------------ other formats


@each_case("name", FORMATTED)
def test_formats_are_as_recorded(name: str) -> None:
    assert formatted(name) == (FOLDER / name).read_text("utf-8")


def fingerprint(**changed: Any) -> str:
    where = Where("graph/node[1]", "node", "n", "Max", 13)
    usual = {"name": "c", "criterion": "Max.same-shape", "verdict": "fail", "standing": Standing.BAD, "where": where}
    case = CaseResult(**usual | {"message": "It differs."} | changed)
    section = Section("m.onnx", "m.onnx", (case,))
    document = Document("check", "", "", "", 1, {case.criterion: Criterion("", "")}, (section,))
    [result] = json.loads(sarif.render_document(document))["runs"][0]["results"]
    numbered: str = result["partialFingerprints"]["primaryLocationLineHash"]
    assert numbered.endswith(":1")
    return numbered.removesuffix(":1")


PLACES = [
    {"criterion": "Max.broadcastable"},
    {"verdict": "undecided"},
    {"where": Where("graph/node[1]", "value", "n")},
    {"where": Where("graph/node[1]", "node", "m")},
    {"where": Where("graph/node[1]", "node", "")},
    {"where": Where("graph/node[2]", "node", "")},
]


def test_fingerprints_name_rule_verdict_and_subject() -> None:
    """Each of these makes another one; the text of the message, and the place of a subject with a name, do not."""
    found = [fingerprint(), *(fingerprint(**each) for each in PLACES)]
    assert len(set(found)) == len(found)
    assert fingerprint(message="Another.") == fingerprint()
    assert fingerprint(where=Where("graph/node[7]", "node", "n", "Add", 7)) == fingerprint()


def test_a_deviated_failure_keeps_its_fingerprint() -> None:
    """So that an alert that was open stays the same alert."""
    assert fingerprint(verdict="deviated", standing=Standing.JUSTIFIED, justification="record-7") == fingerprint()


def test_fingerprints_stay_between_versions() -> None:
    """A change of what they are made of needs a new major version (docs/versioning.md)."""
    text = b"Max.same-shape\nfail\nnode\nn"
    assert fingerprint() == sha256(text).hexdigest()[:32] == "f5bf339dd4d073a8643a42cb3c6d19f4"


KINDS_AND_LEVELS = {
    "fail": ("fail", "error"),
    "open": ("open", "none"),
    "assumed": ("review", "none"),
    "note": ("fail", "note"),
    "skipped": ("notApplicable", "none"),
    "deviated": ("fail", "error"),
}
"""What is open or assumed has no level, so that no alert is raised for it; a case that passes has no result."""


def test_kinds_and_levels() -> None:
    assert {str(standing): each for standing, each in sarif.STANDINGS.items()} == KINDS_AND_LEVELS
    assert {*map(str, Standing)} - KINDS_AND_LEVELS.keys() == {"pass", "not applicable"}


def test_every_verdict_of_a_finding_has_a_standing() -> None:
    assert {*check_document.STANDINGS} == {*Verdict} - {Verdict.PASS, Verdict.NOT_APPLICABLE}
