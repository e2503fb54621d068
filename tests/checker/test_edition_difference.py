"""What differs between editions is what the files of the profile say, and what the check says of models."""

from __future__ import annotations

import json
import tomllib
from itertools import pairwise
from pathlib import Path

import pytest

import sonnx
from sonnx.checker.edition_difference import Changed, compare_editions
from sonnx.cli.main import run
from sonnx.profile import catalogue
from tests.support.cases import each_case
from tests.support.editions import NEWEST

ROOT = Path(__file__).parent.parent.parent
EDITIONS = list(catalogue.editions().editions)
EXPORTED = str(ROOT / "examples" / "as_exported.onnx")


@each_case("edition", EDITIONS)
def test_an_edition_does_not_differ_from_itself(edition: str) -> None:
    found = compare_editions(edition, edition)
    assert not (found.rules_gone or found.rules_new or found.operators_gone or found.operators_new or found.changed)


@each_case(("before", "after"), list(pairwise(EDITIONS)))
def test_the_other_way_round_is_the_mirror_image(before: str, after: str) -> None:
    there, back = compare_editions(before, after), compare_editions(after, before)
    assert (there.rules_gone, there.rules_new) == (back.rules_new, back.rules_gone)
    assert (there.operators_gone, there.operators_new) == (back.operators_new, back.operators_gone)
    mirrored = {Changed(each.name, each.what, each.after, each.before) for each in back.changed}
    assert set(there.changed) == mirrored
    assert there.changed


def test_between_the_seeds_the_rules_introduced_by_the_second_are_new() -> None:
    rules = [
        rule
        for name in ("general.toml", "graph.toml")
        for rule in tomllib.loads((ROOT / "restrictions" / name).read_text("utf-8"))["rule"]
    ]
    introduced = {rule["slug"] for rule in rules if rule.get("introduced") == "2025-11"}
    assert set(compare_editions("2025-10", "2025-11").rules_new) == introduced
    assert introduced == {"no-sparse-tensor", "explicit-shape", "explicit-type"}


def test_what_the_drafts_changed() -> None:
    """Add of 2026-08 wants equal shapes, the draft of 2026-10 broadcasts; ReduceMax has no text in either."""
    found = compare_editions("2026-08", "2026-10")
    assert "Add.same-shape" in found.rules_gone
    assert "Acos" in found.operators_new
    assert Changed("Add", "text", "2026-08", "2026-10") in found.changed
    changed = {each.name for each in found.changed}
    assert "no-default-values" not in changed
    assert "Softmax" not in changed


def test_verdicts_are_those_of_the_check(capsys: pytest.CaptureFixture[str]) -> None:
    conforming = str(ROOT / "examples" / "conforming.onnx")
    code = run(["rules", "--since", "2025-10", "--edition", NEWEST, EXPORTED, conforming, "--format", "json"])
    document = json.loads(capsys.readouterr().out)
    for each, path in zip(document["models"], (EXPORTED, conforming), strict=True):
        reports = [sonnx.check(path, edition) for edition in ("2025-10", NEWEST)]
        assert [each["before"], each["after"]] == [report.verdict for report in reports]
        keys = [
            {(found.rule, str(found.verdict), found.where.place, found.actual) for found in report.findings}
            for report in reports
        ]
        for said, wanted in (("gone", keys[0] - keys[1]), ("new", keys[1] - keys[0])):
            assert {(f["rule"], f["verdict"], f["place"], f["message"]) for f in each[said]} == wanted
    assert code == int(any(each["before"] != each["after"] for each in document["models"]))


def test_exit_codes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = tmp_path / "no.onnx"
    text.write_text("hello")
    assert run(["rules", "--since", "2025-10", "--edition", "2025-11"]) == 0
    assert run(["rules", "--since", "2025-10", "--edition", "2025-11", EXPORTED]) == 0, "it fails in both"
    assert run(["rules", "--since", "2025-10", "--edition", "2025-11", str(ROOT / "examples" / "symbolic.onnx")]) == 1
    assert run(["rules", "--since", "2025-10", "--edition", "2025-11", str(text), EXPORTED]) == 2
    capsys.readouterr()
    assert run(["rules", "--since", "2025-10", "--edition", "1999-01"]) == 2
    assert run(["rules", "--since", "2025-10", "--edition", "2025-11", EXPORTED, "--bind", "Q=3"]) == 2
    assert capsys.readouterr().err.count("\n") == 2
