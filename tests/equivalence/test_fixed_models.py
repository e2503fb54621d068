"""What `fix` writes is the same function as the original, by the comparison of models.

Without the option that admits other roundings, and without folding on request, the exact values are equal bit for bit.
"""

from __future__ import annotations

from pathlib import Path

import onnx
import pytest

import sonnx
from sonnx.base.errors import UsageError
from sonnx.equivalence.result import Answer
from sonnx.evidence.rewrite_cases import RewriteCase, rewrite_cases
from tests.support.cases import each_case, spread
from tests.support.paths import ROOT

MODELS = sorted(
    path.relative_to(ROOT).as_posix()
    for folder in ("examples", "tests/models")
    for path in (ROOT / folder).rglob("*.onnx")
)
NOT_WRITTEN = {"tests/models/frameworks/sklearn_forest.onnx": "whose inner types are not kept"}
"""The models that `fix` refuses, with a part of its message."""
OVER_THE_REALS = {"tests/models/frameworks/keras_cnn.onnx"}
"""Models that are shown equal over the reals only: a Cast of an input to its own type gives the quiet NaN for every
NaN, which the Conv behind it gives with and without the Cast; terms are not compared up to that.
"""


def answer(original: bytes | Path, fixed: bytes, **options: object) -> Answer:
    """How the comparison answers for all inputs; a model that is not valid ONNX is not decided, whatever it becomes."""
    found = sonnx.equivalent(original, fixed, runs=0, **options).result
    if any(sentence.startswith("the first model is not valid ONNX") for sentence in found.not_valid):
        return Answer.IDENTICAL
    return found.answer.at_any_size if not found.binding else Answer.UNDECIDED


def inputs_of(model: bytes) -> set[str]:
    """The names of the graph inputs without a default."""
    graph = onnx.ModelProto.FromString(model).graph
    return {value.name for value in graph.input} - {tensor.name for tensor in graph.initializer}


@each_case("name", spread(MODELS, 8), ids=str)
def test_a_fixed_model_is_the_same_function(name: str) -> None:
    if name in NOT_WRITTEN:
        with pytest.raises(UsageError, match=NOT_WRITTEN[name]):
            sonnx.fix(ROOT / name, samples=0)
        return
    fixed = sonnx.fix(ROOT / name, samples=0).model_bytes()
    if name in OVER_THE_REALS:
        text = sonnx.fix(ROOT / name, samples=1).to_text()
        assert "for all inputs shown is equal up to rounding" in text or "for all inputs not decided" in text
        assert sonnx.equivalent(ROOT / name, fixed, runs=0).result.answer.at_any_size is Answer.ROUNDING
        return
    assert answer(ROOT / name, fixed) is Answer.IDENTICAL


@each_case("case", spread(rewrite_cases(), 25), ids=lambda case: case.title)
def test_a_rewritten_model_is_the_same_function(case: RewriteCase) -> None:
    data, options = case.model_bytes(), case.options()
    report = sonnx.fix(data, samples=1, **{**options, "bind": options["bind"] or None})
    if case.approximate:  # another function, within a certified bound
        assert answer(data, report.model_bytes(), bind=case.bind) is not Answer.IDENTICAL
        return
    is_exact = not (case.within_bound or case.fold_batch_normalization)
    expected = {Answer.IDENTICAL} if is_exact else {Answer.IDENTICAL, Answer.ROUNDING}
    expected |= {Answer.UNDECIDED} if case.function == Answer.UNDECIDED else set()
    if inputs_of(data) != inputs_of(report.model_bytes()):  # an input that nothing uses is gone
        assert report.validation.for_all_inputs in expected
    else:
        assert answer(data, report.model_bytes(), bind=case.bind) in expected


def test_only_cases_that_admit_other_roundings_are_not_identical() -> None:
    rounded = [case for case in rewrite_cases() if case.function not in ("identical", "not decided")]
    assert all(case.within_bound or case.fold_batch_normalization for case in rounded)
    assert {case.function for case in rounded} == {"equal up to rounding"}
