"""The operator that CONTRIBUTING adds by example is added by what it says, and by nothing else."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import sonnx
from sonnx.checker.profile_validation import problems
from sonnx.model.text_form import from_text
from tests.support.paths import ROOT

MODEL = '<ir_version: 10, opset_import: ["" : 13]> g ({0}[2] x) => ({0}[2] y) {{ y = Floor(x) }}'


@pytest.fixture
def added(copy: Path) -> None:
    """The blocks of the page, put where it says."""
    _, operator = re.findall(r"^```toml\n(.*?)^```$", (ROOT / "CONTRIBUTING.md").read_text("utf-8"), re.M | re.S)
    path = copy / "editions.toml"
    before, line, after = path.read_text("utf-8").rpartition("onnx    = [")
    path.write_text(f'{before}{line}"Floor", {after}', "utf-8")
    (copy / "operators" / "floor.toml").write_text(operator, "utf-8")


def slugs(report: sonnx.Report) -> set[str]:
    return {finding.rule for finding in report.findings}


@pytest.mark.usefixtures("added")
def test_the_catalogue_is_sound() -> None:
    assert list(problems()) == []


@pytest.mark.usefixtures("added")
def test_it_is_checked_and_run() -> None:
    assert sonnx.check(from_text(MODEL.format("float"))).verdict is sonnx.Verdict.PASS
    assert slugs(sonnx.check(from_text(MODEL.format("int32")))) == {"Floor.X-type"}
    wrong = MODEL.format("float").replace("(float[2] y)", "(float[3] y)")
    assert slugs(sonnx.check(from_text(wrong))) == {"Floor.Y-shape"}
    values = sonnx.run(from_text(MODEL.format("float")), {"x": np.array([1.5, -0.5], np.float32)})
    assert values["y"].tolist() == [1.0, -1.0]


def test_without_it_the_operator_is_outside_the_profile() -> None:
    assert slugs(sonnx.check(from_text(MODEL.format("float")))) == {"operator-in-profile", "operator-conditions"}
