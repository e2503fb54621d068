"""Whole models: those exported from PyTorch get the verdict recorded, and none of any source stays undecided."""

from __future__ import annotations

import importlib.util
import os
from collections import Counter
from pathlib import Path

import sonnx
from sonnx.checker.verdicts import Verdict
from tests.support.cases import each_case

MODELS = Path(__file__).parent.parent / "models"
EXPORTED = sorted(MODELS.glob("*.onnx"))
PACKAGE = Path(importlib.util.find_spec("onnx").submodule_search_locations[0])
LIGHT = sorted((PACKAGE / "backend" / "test" / "data" / "light").glob("*.onnx"))
OTHERS = sorted(Path(os.environ["SONNX_MODELS"]).glob("*.onnx")) if "SONNX_MODELS" in os.environ else []
"""Models of your own to try: every file of the folder that SONNX_MODELS names."""
RECORDED = {
    name: sorted(findings)
    for name, *findings in map(str.split, (MODELS / "verdicts.txt").read_text("utf-8").splitlines())
}


@each_case("path", EXPORTED, ids=lambda path: path.stem)
def test_the_verdict_is_the_one_recorded(path: Path) -> None:
    """A line of verdicts.txt is a model, its verdict and how often each rule fails or rests on an assumption."""
    report = sonnx.check(path)
    found = Counter(f"{'!' if each.breaks_onnx else ''}{each.rule}:{each.verdict}" for each in report.roots)
    assert sorted([report.verdict, *(f"{rule}={number}" for rule, number in found.items())]) == RECORDED[path.stem]


def test_every_recorded_model_is_there() -> None:
    assert RECORDED.keys() == {path.stem for path in EXPORTED}
    assert all(path.stat().st_size < 60_000 for path in EXPORTED)


def test_the_nine_networks_are_there() -> None:
    assert len(LIGHT) == 9


@each_case("path", [*EXPORTED, *LIGHT, *OTHERS], ids=lambda path: path.stem)
def test_every_rule_is_decided(path: Path) -> None:
    """What is not decided is so only because of a rule that fails, and no operator of the profile is unknown."""
    report = sonnx.check(path)
    failing = {finding.rule for finding in report.findings if finding.verdict is Verdict.FAIL}
    for finding in report.findings:
        open_verdicts = (Verdict.UNDECIDED, Verdict.NOT_CHECKED)
        assert finding.verdict not in open_verdicts or finding.cause in failing, finding
