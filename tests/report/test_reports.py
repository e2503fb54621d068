"""Every format of `sonnx check` says the same, in valid files that no text of a model can break."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import jsonschema
import onnx
import pytest

import sonnx
from sonnx.checker.verdicts import Verdict
from sonnx.cli.main import run
from sonnx.profile import catalogue
from sonnx.report.formats import FORMATS
from sonnx.report.rules import rules_of
from tests.support.paths import ROOT
from tests.support.sarif import official


def findings(document: dict[str, Any]) -> list[tuple[str, str, str]]:
    return [
        (each["rule"], each["verdict"], each["message"])
        for report in document["reports"]
        for each in report["findings"]
    ]


# ------------------------------------------------------------------ all formats


@pytest.mark.parametrize("name", FORMATS)
def test_says_the_same_twice_on_a_terminal_and_in_a_file(name: str, various: list[str], printed: Any) -> None:
    said = printed(name, *various)
    assert said.endswith("\n")
    assert printed(name, *various) == said
    assert printed(name, *various, "--output", "report") == ""
    assert Path("report").read_text("utf-8") == said


@pytest.mark.parametrize("name", FORMATS)
def test_never_changes_the_exit_code(name: str, various: list[str]) -> None:
    for model in various:
        assert run(["check", model, "--format", name]) == run(["check", model])
        assert run(["check", model, "--select", "Max", "--format", name]) == run(["check", model, "--select", "Max"])
    assert run(["check", "run_time.onnx", "--accept-assumptions", "--format", name]) == 0


@pytest.mark.parametrize("name", FORMATS)
def test_no_character_of_a_model_acts(name: str, various: list[str], printed: Any) -> None:
    said = printed(name, *various)
    assert all(character.isprintable() or character == "\n" for character in said)


@pytest.mark.parametrize("name", FORMATS)
def test_only_unreadable_files(name: str, various: list[str], printed: Any) -> None:
    said = printed(name, "absent.onnx")
    assert name == "text" or "absent.onnx" in said
    assert run(["check", "absent.onnx", "--format", name]) == 2


# ------------------------------------------------------------------ SARIF


@pytest.fixture
def sarif(various: list[str], printed: Any) -> dict[str, Any]:
    return json.loads(printed("sarif", *various))


def test_sarif_follows_the_official_schema(sarif: dict[str, Any], printed: Any) -> None:
    assert official()["id"] == sarif["$schema"]
    assert json.dumps(sarif, ensure_ascii=False).encode("utf-8"), "no half of a surrogate pair"
    validator = jsonschema.Draft4Validator(official(), format_checker=jsonschema.FormatChecker())
    validator.validate(sarif)
    validator.validate(json.loads(printed("sarif", "absent.onnx")))
    validator.validate(json.loads(printed("sarif", "fine.onnx", "--select", "Max", "--edition", "2025-10")))
    validator.validate(json.loads(printed("sarif", str(ROOT / "examples" / "conforming.onnx"))))


def test_sarif_declares_every_rule(sarif: dict[str, Any], printed: Any) -> None:
    for name, edition in catalogue.editions().editions.items():
        [run_] = json.loads(printed("sarif", "fine.onnx", "--edition", name))["runs"]
        declared = [rule["id"] for rule in run_["tool"]["driver"]["rules"]]
        assert {rule.slug for rule in rules_of(edition)} == set(declared)
        assert len(set(declared)) == len(declared)
        assert all(rule["properties"]["tags"] and rule["help"]["text"] for rule in run_["tool"]["driver"]["rules"])


def test_sarif_has_the_findings_of_the_json(sarif: dict[str, Any], various: list[str], printed: Any) -> None:
    document = json.loads(printed("json", *various))
    [run_] = sarif["runs"]
    results = run_["results"]
    said = [(each["ruleId"], each["properties"]["verdict"], each["properties"]["message"]) for each in results]
    assert said == findings(document)
    assert {verdict for _, verdict, _ in said} == {"fail", "undecided", "assumed", "not-checked"}
    for result in results:
        assert run_["tool"]["driver"]["rules"][result["ruleIndex"]]["id"] == result["ruleId"]
        assert (result["kind"] == "fail") == (result["properties"]["verdict"] == Verdict.FAIL)
        assert result["level"] == ("error" if result["kind"] == "fail" else "none")
        [location] = result["locations"]
        assert location["physicalLocation"]["region"] == {"startLine": 1}
        assert location["logicalLocations"][0]["fullyQualifiedName"]
    assert [each["model"] for each in run_["properties"]["reports"]] == [each["model"] for each in document["reports"]]


def test_sarif_names_the_files(sarif: dict[str, Any], various: list[str], printed: Any) -> None:
    [run_] = sarif["runs"]
    artifacts = {each["location"]["uri"]: each.get("hashes") for each in run_["artifacts"]}
    assert artifacts["fine.onnx"] == {"sha-256": hashlib.sha256(Path("fine.onnx").read_bytes()).hexdigest()}
    assert "names/%3Cb%3E%20%7C%60%26%27%25%2C%3A.onnx" in artifacts
    assert artifacts["no%0Amodel.onnx"] is None
    [invocation] = run_["invocations"]
    assert (invocation["executionSuccessful"], invocation["exitCode"]) == (False, 2)
    levels = [notification["level"] for notification in invocation["toolExecutionNotifications"]]
    assert (levels.count("error"), levels.count("note")) == (2, len(levels) - 2)
    absolute = json.loads(printed("sarif", str(Path("fine.onnx").absolute())))["runs"][0]["artifacts"][0]
    assert absolute["location"]["uri"].startswith("file:///")


def test_sarif_of_standard_input_has_the_hash_of_the_bytes(various: list[str], printed: Any, monkeypatch: Any) -> None:
    with Path("exported.onnx").open("rb") as file:
        monkeypatch.setattr("sys.stdin", type("Input", (), {"buffer": file}))
        [artifact] = json.loads(printed("sarif", "-"))["runs"][0]["artifacts"]
    assert artifact["hashes"]["sha-256"] == hashlib.sha256(Path("exported.onnx").read_bytes()).hexdigest()
    assert artifact["location"]["uri"] == "standard%20input"


def test_sarif_fingerprints_stay_when_a_model_grows(various: list[str], printed: Any) -> None:
    """A node before the others changes every index, and no fingerprint of a place with a name."""
    model = onnx.load("exported.onnx")
    model.graph.node.insert(0, onnx.helper.make_node("Max", ["scores"], ["first"], name="first"))
    onnx.save(model, "grown.onnx")

    def prints(name: str) -> set[str]:
        results = json.loads(printed("sarif", name))["runs"][0]["results"]
        values = [each for each in results if each["locations"][0]["logicalLocations"][0]["kind"] == "variable"]
        found = [each["partialFingerprints"]["primaryLocationLineHash"] for each in values]
        assert len(set(found)) == len(found)
        return set(found)

    assert prints("exported.onnx") <= prints("grown.onnx")


def test_notes_on_equivalent_versions_are_one_line_of_the_text() -> None:
    report = sonnx.check(ROOT / "tests" / "models" / "cnn.onnx")
    alike = [note for note in report.notes if "accepted like" in note]
    assert len(alike) > 1
    lines = [line for line in report.to_text().splitlines() if "accepted like" in line]
    assert len(lines) == 1
    assert all(" ".join(note.split()[:2]) in lines[0] for note in alike)
