"""What a report states beside the findings, by value: options, open inputs, coverage, counts, and labels of rules."""

from __future__ import annotations

from hashlib import sha256

import onnx.parser
import pytest

import sonnx
from sonnx.checker.verdicts import Verdict
from tests.support.cases import each_case

HEAD = '<ir_version: 10, opset_import: ["" : 13]> g '


def source(text: str) -> bytes:
    return bytes(onnx.parser.parse_model(HEAD + text).SerializeToString())


SYMBOLIC = source("(float[N, 3] a, float[2, M, K] b, float c, float[4] d) => (float[N, 3] y) { y = Max(a) }")


def test_open_inputs_have_a_dimension_without_a_number() -> None:
    assert sonnx.check(SYMBOLIC).open_inputs == (("a", ("N", "3")), ("b", ("2", "M", "K")))
    assert sonnx.check(SYMBOLIC, bind={"N": 2}).open_inputs == (("b", ("2", "M", "K")),)
    assert sonnx.check(SYMBOLIC, bind={"N": 2, "M": 3, "K": 4}).open_inputs == ()


def test_an_unset_or_negative_dimension_is_open() -> None:
    model = onnx.load_from_string(SYMBOLIC)
    dims = model.graph.input[1].type.tensor_type.shape.dim
    dims[1].Clear()
    dims[2].dim_value = -1
    assert dict(sonnx.check(model.SerializeToString()).open_inputs)["b"] == ("2", "?", "?")


def test_options_are_stated() -> None:
    report = sonnx.check(SYMBOLIC, bind={"N": 2, "M": 3}, strict_versions=True, name="m.onnx")
    assert (report.bound, report.input_shapes, report.strict_versions) == ({"M": 3, "N": 2}, {}, True)
    report = sonnx.check(SYMBOLIC, input_shapes={"a": [5, 3]})
    assert (report.bound, report.input_shapes, report.strict_versions) == ({}, {"a": (5, 3)}, False)
    assert report.open_inputs == (("b", ("2", "M", "K")),)


PLACEHOLDERS = source("(float[N, 3] a, float[3] b) => (float[N, 3] y) { m = Max(a, b) y = Max(m) }")


def with_dimensions(name: str) -> bytes:
    """The model with all dimensions of one name."""
    model = onnx.load_from_string(PLACEHOLDERS)
    for value in (*model.graph.input, *model.graph.output):
        for dimension in value.type.tensor_type.shape.dim:
            dimension.dim_param = name
    return model.SerializeToString()


@pytest.mark.parametrize("name", ["?", "-1", "None"])
def test_a_name_for_any_size_is_not_one_symbol(name: str) -> None:
    report = sonnx.check(with_dimensions(name), input_shapes={"a": [4, 3], "b": [3]})
    assert any(f"the name {name!r} of dimensions is not taken for one symbol" in note for note in report.notes)
    assert {each.where.name for each in report.findings if each.rule == "explicit-shape"} == {"m", "y"}
    result = sonnx.fix(with_dimensions(name), input_shapes={"a": [4, 3], "b": [3]})
    assert {each.rule for each in result.after.roots} == set()


def test_a_symbol_with_two_sizes_is_refused() -> None:
    with pytest.raises(sonnx.UsageError, match="the dimension N is given as 4 and as 3"):
        sonnx.check(with_dimensions("N"), input_shapes={"a": [4, 3], "b": [3]})
    with pytest.raises(sonnx.UsageError, match=r"the dimension \? is given as 4 and as 3"):
        sonnx.check(with_dimensions("?"), bind={"?": 4}, input_shapes={"a": [4, 3]})


@pytest.mark.parametrize("hashed", [True, False])
def test_the_hash_is_that_of_the_bytes(hashed: bool) -> None:
    report = sonnx.check(SYMBOLIC, hashed=hashed)
    assert report.sha256 == (sha256(SYMBOLIC).hexdigest() if hashed else "")


@each_case(
    ("edition", "labels"),
    [
        ("2025-10", [("2025-10", label) for label in ("R2", "RI", "RJ", "RK", "RL")]),
        ("2025-11", [("2025-11", "E1"), ("2025-11", "C1")]),
        ("2026-08", [("2026-08", "C1")]),
        ("2026-10", [("2026-08", "C1")]),
        ("2026-11", [("2025-11", "E1"), ("2025-11", "C1")]),
    ],
)
def test_labels_of_the_text_in_force(edition: str, labels: list[tuple[str, str]]) -> None:
    """The text that the edition takes for the operator, not the newest one that has a label."""
    text = "(float[2] a, float[3] b) => (float[3] y) { y = Max(a, b) }"
    [found] = [each for each in sonnx.check(source(text), edition).findings if each.rule == "Max.broadcastable"]
    assert [(tag.text, tag.label) for tag in found.tags] == labels


def test_coverage_and_counts() -> None:
    """Two nodes that pass, one outside the profile, one whose rules wait for a shape."""
    text = """(float[2] a, float[N] b) => (float[2] y, float[N] z) {
      t = Max(a, a)
      u = Max(t, a)
      y = NoSuchOperator(u)
      z = Max(b, b)
    }"""
    report = sonnx.check(source(text))
    assert (report.coverage.nodes, report.coverage.nodes_in_profile, report.coverage.nodes_not_checked) == (4, 3, 0)
    assert report.coverage.applicable >= report.coverage.evaluated > 0
    numbers = {(count.rule, count.verdict): count.number for count in report.counts}
    assert numbers["operator-in-profile", Verdict.FAIL] == 1
    assert numbers["operator-in-profile", Verdict.PASS] == 3
    assert report.verdict is Verdict.FAIL
    applicable = {count.rule for count in report.counts if count.verdict is not Verdict.NOT_APPLICABLE}
    assert report.coverage.applicable == len(applicable)
