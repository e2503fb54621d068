"""`sonnx check --facts FILE`: the facts of the calls as JSON, and the verdicts on them."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import onnx.parser
import pytest

from sonnx import check
from sonnx.base.reported import json_data
from sonnx.checker.options import CheckOptions
from sonnx.checker.verdicts import Verdict
from sonnx.cli.main import run
from sonnx.language.evaluator import RUN_TIME, Unknown, UnknownCause
from sonnx.report.facts_json import fact
from tests.support.call_facts import document_of
from tests.support.paths import ROOT

HEAD = '<ir_version: 10, opset_import: ["" : 13]>'
FAILING = HEAD + "g (float[N] a, float[3] b) => (float[3] y) { y = Max(a, b) }"
FACTS: list[tuple[Any, Any]] = [
    (True, True),
    (2**70, 2**70),
    ("text", "text"),
    ((1, (2,)), [1, [2]]),
    (0.1, {"float": [3602879701896397, 36028797018963968]}),
    (Fraction(-1, 3), {"float": [-1, 3]}),
    (RUN_TIME, {"unknown": "run time", "symbol": ""}),
    (Unknown(UnknownCause.NOT_STATED, "", "N"), {"unknown": "not stated", "symbol": "N"}),
    ({"written": False}, {"record": {"written": False}}),
]


def encoded(text: str) -> bytes:
    return onnx.parser.parse_model(text).SerializeToString()


@pytest.mark.parametrize(("value", "written"), FACTS)
def test_a_fact_as_json(value: Any, written: Any) -> None:
    assert json.dumps(fact(value)) == json.dumps(written)


def test_the_document_of_a_model() -> None:
    made = json_data(document_of(encoded(FAILING), CheckOptions(edition="2026-11"), "failing.onnx"))
    [call] = made["calls"]
    assert (made["edition"], call["operator"], call["version"], call["left_out"]) == ("2026-11", "Max", 13, None)
    assert [each["record"]["shape"] for each in call["facts"]["X"]] == [[{"unknown": "not stated", "symbol": "N"}], [3]]
    report = check(encoded(FAILING), edition="2026-11")
    assert call["verdicts"].items() <= {(each.rule, each.verdict) for each in report.counts}


def test_symbols_are_bound() -> None:
    [call] = document_of(encoded(FAILING), CheckOptions(bind={"N": 3}), "").calls
    assert set(call.verdicts.values()) == {Verdict.PASS}


def test_a_call_with_a_number_that_is_not_finite_is_left_out() -> None:
    text = HEAD + "g (float[2] a) => (float[2] y) { y = LeakyRelu <alpha = 1.5> (a) }"
    model = onnx.parser.parse_model(text)
    model.graph.node[0].attribute[0].f = float("inf")
    [call] = document_of(model.SerializeToString(), CheckOptions(), "").calls
    assert (call.left_out, call.facts) == ("a number is not finite", None)
    assert call.verdicts


def test_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("failing.onnx").write_bytes(encoded(FAILING))
    assert run(["check", "failing.onnx", "--facts", "facts.json"]) == 1
    document = json.loads(Path("facts.json").read_text("ascii"))
    schema = json.loads((ROOT / "sonnx/report/facts.schema.json").read_text("utf-8"))
    assert list(document) == list(schema["properties"])
    assert document["sha256"] == check("failing.onnx", hashed=True).sha256


@pytest.mark.parametrize(
    "options",
    [
        ["-", "--facts", "facts.json"],
        ["m.onnx", "m.onnx", "--facts", "facts.json"],
        ["m.onnx", "--timeout", "9", "--facts", "facts.json"],
        ["m.onnx", "--fix", "--facts", "facts.json"],
        ["m.onnx", "--facts", "m.onnx"],
        ["m.onnx", "--format", "json=facts.json", "--facts", "facts.json"],
    ],
)
def test_what_is_refused(options: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("m.onnx").write_bytes(encoded(FAILING))
    assert run(["check", *options]) == 2
    assert [each.name for each in tmp_path.iterdir()] == ["m.onnx"]
