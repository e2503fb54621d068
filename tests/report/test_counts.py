"""Counts have one source: what a report lists in part it counts whole, and rules that are new are those in force."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from onnx import TensorProto, helper

from sonnx.checker.options import BatchOptions
from sonnx.cli.main import run

FAILURES = 30
LISTED = 20


@pytest.fixture
def chain(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A model whose inner values have no declaration: two rules fail at each of them."""
    nodes = [helper.make_node("Max", [f"x{i}"], [f"x{i + 1}"], name=f"n{i}") for i in range(FAILURES + 1)]
    ends = [helper.make_tensor_value_info(f"x{i}", TensorProto.FLOAT, [2]) for i in (0, FAILURES + 1)]
    graph = helper.make_graph(nodes, "chain", ends[:1], ends[1:])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    (tmp_path / "chain.onnx").write_bytes(model.SerializeToString())
    monkeypatch.chdir(tmp_path)
    return "chain.onnx"


def printed(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    run([*arguments])
    return capsys.readouterr().out


def test_a_report_that_lists_a_part_counts_all(chain: str, capsys: pytest.CaptureFixture[str]) -> None:
    part = "--limit", f"findings={LISTED}"
    said = printed(capsys, "check", chain, *part)
    assert f"{2 * FAILURES} failures of 2 rules" in said
    places = [int(number) for number in re.findall(r"and (\d+) more places", said)]
    shown = sum(line.lstrip(" at").startswith("value '") for line in said.splitlines())
    assert shown + sum(places) == 2 * FAILURES
    assert f"of {FAILURES} results fail of explicit-type the first {LISTED} are listed" in said
    assert "10 of 30 failures of explicit-type are missing here" in printed(
        capsys, "check", chain, *part, "-f", "deviations"
    )
    document = json.loads(printed(capsys, "check", chain, *part, "-f", "json"))["reports"][0]
    counted = {each["rule"]: each["number"] for each in document["counts"] if each["verdict"] == "fail"}
    assert counted == {"explicit-shape": FAILURES, "explicit-type": FAILURES}
    assert len(document["findings"]) == 2 * LISTED
    assert BatchOptions().limits  # a limit of findings is there by default, too


def test_new_rules_are_those_in_force_that_were_not(capsys: pytest.CaptureFixture[str]) -> None:
    """Of the editions 2025-10 and 2026-11, also of operators that no text specifies yet."""
    in_force = [
        {rule["rule"] for rule in json.loads(printed(capsys, "rules", "--edition", edition, "-f", "json"))["rules"]}
        for edition in ("2025-10", "2026-11")
    ]
    changes = json.loads(printed(capsys, "rules", "--since", "2025-10", "-f", "json"))
    assert set(changes["rules_new"]) == in_force[1] - in_force[0]
