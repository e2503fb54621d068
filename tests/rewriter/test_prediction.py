"""What `check` says of `fix` against what `fix` does: findings with rewrites are gone, the others are left."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path

import sonnx
from sonnx.checker.report import Finding
from sonnx.report.phrases import rewrites_of
from sonnx.rewriter.fix import fix
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
    without, left = rules(each for each in result.before.roots if not rewrites_of(each)), rules(result.after.roots)
    assert left - without == LEFT.get(path.stem, {})
    assert without - left == GONE.get(path.stem, {})


def test_every_exception_is_about_a_model() -> None:
    assert LEFT.keys() | GONE.keys() <= {path.stem for path in MODELS}
