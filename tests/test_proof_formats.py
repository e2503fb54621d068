"""Proofs as JUnit and Markdown say what the JSON says, with the same exit code."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import onnx
import onnx.parser
import pytest
from conftest import HOSTILE
from test_report_pages import outside_code

from sonnx import proving
from sonnx.cli import run
from sonnx.model_proof import prove_model
from sonnx.report import proof_formats

SYMBOLIC = str(Path(__file__).parent.parent / "examples" / "symbolic.onnx")


@pytest.fixture(scope="module")
def outcomes() -> list[proving.Outcome]:
    return list(proving.prove(proving.select(proving.theorems(), ["word.clamped", "broadcast.axis-rule"])))


def test_junit_has_a_case_for_each_theorem_and_no_red_one_for_what_is_stated_as_refuted(
    outcomes: list[proving.Outcome],
) -> None:
    refuted = list(proving.prove(proving.select(proving.theorems(), ["broadcast.axis-rules-aligned-left"])))
    assert [each.status for each in refuted] == ["refuted"]
    root = ElementTree.fromstring(proof_formats.junit([*outcomes, *refuted]))
    names = [case.get("name") for case in root.iter("testcase")]
    assert sorted(filter(None, names)) == sorted(each.theorem.id for each in [*outcomes, *refuted])
    assert (root.get("tests"), root.get("failures"), root.get("errors")) == ("3", "0", "0")


def test_what_comes_out_otherwise_is_red(outcomes: list[proving.Outcome]) -> None:
    [first] = [each for each in outcomes if each.theorem.id == "word.clamped"]
    turned = replace(first, theorem=replace(first.theorem, expected="refuted"))
    open_ = replace(first, obligations=())
    assert (turned.expected, open_.status) == (False, "undecided")
    root = ElementTree.fromstring(proof_formats.junit([turned, open_]))
    assert (root.get("failures"), root.get("errors")) == ("1", "1")
    assert "2 theorems, 2 otherwise than stated" in proof_formats.markdown([turned, open_])


def test_markdown_has_a_row_for_each_theorem(outcomes: list[proving.Outcome]) -> None:
    said = proof_formats.markdown(outcomes)
    for each in outcomes:
        assert f"| `{each.theorem.id}` | proved | yes |" in said
    assert "* what has to be believed: docs/trust.md" in said


@pytest.mark.parametrize("name", ["junit", "markdown", "json", "text"])
def test_the_format_never_changes_the_exit_code(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["prove", SYMBOLIC, "--format", name]) == 1
    assert run(["prove", SYMBOLIC, "--assume", "N==M", "--format", name]) == 0
    capsys.readouterr()


def test_a_model_says_the_same_in_each_format(capsys: pytest.CaptureFixture[str]) -> None:
    said = {}
    for name in ("json", "junit", "markdown"):
        run(["prove", SYMBOLIC, "--format", name])
        said[name] = capsys.readouterr().out
    document = json.loads(said["json"])
    root = ElementTree.fromstring(said["junit"])
    failing = [case.get("name") for case in root.iter("testcase") if case.find("failure") is not None]
    wanted = [f"{each['where']['place']}: {each['rule']}" for each in document["refuted"]]
    assert failing == ["proof", *wanted]
    for each in document["refuted"]:
        assert each["actual"] in said["markdown"]
        assert each["rule"] in said["markdown"]


def test_a_name_of_a_model_is_text(tmp_path: Path) -> None:
    model = onnx.load(SYMBOLIC)
    model.graph.node[0].name = HOSTILE
    proof = prove_model(model.SerializeToString(), name=HOSTILE)
    ElementTree.fromstring(proof_formats.junit_of_model(proof))
    said = proof_formats.markdown_of_model(proof)
    assert not any(mark in "".join(map(outside_code, said.splitlines())) for mark in ("<", "`", "script"))
    assert all(character.isprintable() or character == "\n" for character in said)
