"""What `check` says of `fix` against what `fix` does.

On models of exporters, findings with rewrites are gone and the others are left.  On random models rewrites often do not
apply; there the sentence of every format is about the rewrites that exist, which is certain.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import sonnx
from sonnx.checker.report import Finding
from sonnx.rewriter.fix import fix
from tests.graph.test_agreement import drawn
from tests.support.cases import each_case
from tests.support.paths import ROOT

MODELS = sorted((ROOT / "tests" / "models").glob("*.onnx")) + sorted((ROOT / "examples").glob("*.onnx"))

LEFT: Mapping[str, Mapping[str, int]] = {
    # The shape of an output follows from a node that is not valid ONNX, which no rewrite touches.
    "as_exported": {"explicit-shape": 1, "ArgMax.axis-not-negative": 1},
}
"""Findings that have a rewrite which does not apply, by model and rule."""
GONE: Mapping[str, Mapping[str, int]] = {
    # A Cast of constants is folded.
    "transformer_torchscript": {"operator-in-profile": 1},
    # Its nodes of constants are folded, and its initial states are constants then.
    "lstm_torchscript": {"operator-in-profile": 2, "LSTM.constant-initial-state": 1, "LSTM.constant-initial-cell": 1},
}
"""Findings without a rewrite of their own that others correct."""


def rules(findings: Iterable[Finding]) -> Counter[str]:
    return Counter(each.rule for each in findings)


@each_case("path", MODELS, ids=lambda path: path.stem)
def test_what_has_rewrites_is_corrected_and_the_rest_is_left(path: Path) -> None:
    open_sizes = {each for _, shape in sonnx.check(path).open_inputs for each in shape if not each.isdigit()}
    result = fix(path, bind=dict.fromkeys(open_sizes, 1), samples=0)
    without, left = rules(each for each in result.before.roots if not each.rewrites), rules(result.after.roots)
    assert left - without == LEFT.get(path.stem, {})
    assert without - left == GONE.get(path.stem, {})


REWRITES = tomllib.loads((ROOT / "restrictions" / "rewrites.toml").read_text("utf-8"))
SENTENCE = re.compile(r"sonnx fix has rewrites by rule and operator for (\w+) of them")


def has_a_rewrite(finding: Mapping[str, Any]) -> bool:
    """Whether rewrites.toml has an entry for a failure: the rule, the operator and the kind of the place."""
    rule, where = finding["rule"], finding["where"]
    return finding["verdict"] == "fail" and any(
        "option" not in entry
        and {rule, rule.rpartition(".")[2]} & set(entry["rules"])
        and where["kind"] in entry.get("kinds", [where["kind"]])
        and (where["operator"] in entry.get("operators", [] if rule == "operator-in-profile" else [where["operator"]]))
        for entry in REWRITES.values()
    )


@each_case("source", [*MODELS, *range(50)], ids=str)
def test_each_format_states_the_rewrites_that_exist(source: Path | int) -> None:
    model = source if isinstance(source, Path) else drawn(source)[1].proto().SerializeToString()
    report = sonnx.check(model)
    roots = [each for each in json.loads(report.to_json())["reports"][0]["findings"] if not each["because_of"]]
    failures, number = [each for each in roots if each["verdict"] == "fail"], sum(map(has_a_rewrite, roots))
    assert sum(bool(each["rewrites"]) for each in roots) == number
    stated = set(SENTENCE.findall(report.to_text()))
    assert stated == ({"all" if number == len(failures) else str(number or "none")} if failures else set())
    assert set(SENTENCE.findall(report.to_format("html"))) == (stated if number else set())


def test_every_exception_is_about_a_model() -> None:
    assert LEFT.keys() | GONE.keys() <= {path.stem for path in MODELS}


def test_the_command_is_for_the_edition_and_versions_of_the_check() -> None:
    for options, words in (
        ({"edition": "2026-08"}, " --edition 2026-08"),
        ({"strict_versions": True}, " --strict-versions"),
    ):
        text = sonnx.check(ROOT / "examples" / "as_exported.onnx", **options).to_text()
        assert f"as_exported.onnx{words}" in text
    assert "--edition" not in sonnx.check(ROOT / "examples" / "as_exported.onnx").to_text()
