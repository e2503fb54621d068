"""Every key of audit.json takes two values, and the options are those of the request."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from typing import Any

import onnx.parser
import pytest
from msgspec.structs import replace

from sonnx.evidence.options import AuditOptions
from sonnx.evidence.pack import pack
from sonnx.profile import catalogue

HEAD = '<ir_version: 10, opset_import: ["" : 13]> g '
PLAIN = HEAD + "(float[N, M] a) => (float[N, M] y) { y = Identity(a) }"
ASSUMING = (
    '<ir_version: 9, producer_name: "maker", opset_import: ["" : 14]> g '
    + "(int32[2] p, int32[2] q) => (int32[2] y) { y = Div(p, q) }"
)

SAME = {
    "conditions": "by command (tests/report/test_json_keys.py)",
    "edition.files": "one set of rules",
    "model.external_data": "needs files (test_audit.py)",
    "options.date": "needs deviations",
    "options.limits": "the defaults (test_audit.py)",
    "options.deviations": "needs a file",
    "theorems.answers": "by solver",
    "theorems.obligations.proof": "needs certificates (test_audit_options.py)",
    "theorems.outcome": "the record has what is expected",
    "without.operators_without_rules": "every operator of the profile has rules",
    "without.operators_without_theorems": "every operator has theorems",
    "without.rules_without_conforming_case": "every rule has cases",
    "without.rules_without_violating_case": "every rule has cases",
    "format": "one version of the format",
    "report_format": "one version of the format",
    "tool": "one program",
    "packages": "one environment",
    "rewrites": "needs a record of sonnx fix (test_audit.py)",
    "box": "needs ranges of the inputs (tests/bounds/test_discharge.py)",
    "limits": "the others are those of rewrites and boxes",
    "extracted": "needs the program (test_extracted_verdict.py)",
    "derived_from": "needs another model file (test_audit.py)",
    "options.derived_from": "needs another model file",
    "properties": "needs certificates (test_audit.py)",
    "options.properties": "needs certificates",
    "suite": "needs a report of sonnx suite run (test_audit.py)",
    "options.suites": "needs a report of sonnx suite run",
    "options.rewrites": "needs a record of sonnx fix",
    "options.proofs": "needs certificates",
    "options.box": "needs ranges",
    "options.tailoring": "needs a file",
}
"""Keys with one value here, with the reason."""


def source(text: str) -> bytes:
    model = onnx.parser.parse_model(text)
    if model.producer_name:
        model.metadata_props.add(key="author", value="someone")
    return bytes(model.SerializeToString())


@pytest.fixture(scope="module")
def packs(tmp_path_factory: pytest.TempPathFactory) -> list[Any]:
    requests = [
        AuditOptions("2026-08", bind={"N": 3}, input_shapes={"a": [3, 4]}, strict_versions=True, name="plain.onnx"),
        AuditOptions(accept_assumptions=True, name="assuming.onnx"),
    ]
    assuming = pack(source(ASSUMING), requests[1]).files["audit.json"]
    earlier = tmp_path_factory.mktemp("earlier")
    (earlier / "audit.json").write_bytes(assuming)
    plain = pack(source(PLAIN), replace(requests[0], since=earlier)).files["audit.json"]
    return [json.loads(plain), json.loads(assuming)]


def values(document: Any, path: str = "") -> Iterator[tuple[str, str]]:
    """The paths of all keys with what stands there; elements of lists share the path of the list."""
    if isinstance(document, list):
        for each in document:
            yield from values(each, path)
    elif isinstance(document, dict):
        for key, inner in document.items():
            own = f"{path}.{key}" if path else key
            yield own, json.dumps(inner, sort_keys=True)
            yield from values(inner, own)


def test_every_key_takes_two_values(packs: list[Any]) -> None:
    """Mappings by name are one value."""
    found: dict[str, set[str]] = {}
    for document in packs:
        for path, value in values(document):
            found.setdefault(path, set()).add(value)
    shared = {path for path, _ in values(packs[0])} & {path for path, _ in values(packs[1])}
    once = {path for path in shared if len(found[path]) < 2}
    assert sorted(path for path in once if not any(path == key or path.startswith(f"{key}.") for key in SAME)) == []
    assert SAME.keys() <= shared


def test_options_are_those_of_the_request(packs: list[Any]) -> None:
    plain, assuming = (document["options"] for document in packs)
    usual = {
        "edition": catalogue.editions().default, "bind": {}, "input_shapes": {}, "strict_versions": False,
        "accept_assumptions": False, "tailoring": None, "deviations": None, "date": None, "rewrites": None,
        "proofs": None, "box": [], "since": None, "derived_from": None, "properties": [], "suites": [], "limits": {},
    }  # fmt: skip
    given = {
        "edition": "2026-08", "bind": {"N": 3}, "input_shapes": {"a": [3, 4]}, "strict_versions": True,
        "since": "configuration/since",
    }  # fmt: skip
    assert {key: plain[key] for key in usual} == usual | given
    assert {key: assuming[key] for key in usual} == usual | {"accept_assumptions": True}
    assert " ".join(packs[0]["command"]).startswith(
        "sonnx audit plain.onnx --edition 2026-08 --bind N=3 --input-shape a=3,4 --strict-versions "
        "--since configuration/since"
    )
    assert packs[1]["command"][-1] == "--accept-assumptions"


def test_verdicts_and_assumptions(packs: list[Any]) -> None:
    plain, assuming = packs
    assert (plain["verdict"], plain["exit"], plain["assumptions"]) == ("fail", 1, [])
    assert (assuming["verdict"], assuming["exit"]) == ("assumed", 0)
    rows = {each["rule"]: each for each in assuming["assumptions"]}
    assert rows.keys() == {"Div.integer-divisor-not-zero", "Div.quotient-representable"}
    row = rows["Div.quotient-representable"]
    assert (row["place"], row["operands"]) == ("graph/node[0]", {"A": "p", "B": "q"})
    assert row["condition"]
    assert row["why"]
    assert [each["model"]["sha256"] for each in packs] == [
        hashlib.sha256(source(text)).hexdigest() for text in (PLAIN, ASSUMING)
    ]
