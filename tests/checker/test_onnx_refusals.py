"""What is not valid ONNX is reported as that, and no deviation, option or assumption makes it conform."""

from __future__ import annotations

import onnx
import onnx.parser
import pytest

import sonnx
from sonnx.evidence.verification import model_bytes
from sonnx.profile.cases import RuleCase, all_cases
from tests.support import invalid_models
from tests.support.cases import DEEP, examples, first_of_each, spread

SIZES = (2, 3, 1, 5, 4, 2, 2, 2)


def shapes_of_inputs(data: bytes) -> dict[str, list[int]]:
    """A shape for each graph input, as --input-shape gives it, where the file leaves a dimension or the rank open."""
    found = {}
    for value in onnx.ModelProto.FromString(data).graph.input:
        tensor = value.type.tensor_type
        if not tensor.HasField("shape"):
            found[value.name] = [2, 3]
        elif any(dim.WhichOneof("value") != "dim_value" for dim in tensor.shape.dim):
            found[value.name] = [dim.dim_value or SIZES[axis % 8] for axis, dim in enumerate(tensor.shape.dim)]
    return found


def invalid_rules(case: RuleCase) -> frozenset[str]:
    return (case.expected_in("") or case.expected.get("", {})).get("invalid", frozenset())


def test_nothing_makes_an_invalid_case_conform() -> None:
    listed = [case for case in all_cases() if invalid_rules(case)]
    assert len(listed) > 400
    found = []
    for case in first_of_each(listed, lambda case: (case.file, *sorted(invalid_rules(case)))):
        data = model_bytes(case)
        shapes = shapes_of_inputs(data)
        found += [
            case.id for options in ({}, {"input_shapes": shapes}) if invalid_models.conforms_somehow(data, **options)
        ]
    assert found == []


def test_what_the_checker_of_onnx_refuses_is_reported_in_every_case() -> None:
    listed = {case.id: model_bytes(case) for case in all_cases() if case.beside is None}
    counts, found = invalid_models.unexplained(spread(listed.items(), 700))
    assert [(name, sentence) for name, sentence, _ in found] == []
    assert counts["reported as not valid ONNX"] > (300 if DEEP else 100)


def test_edited_models_that_the_checker_of_onnx_refuses_are_reported() -> None:
    counts, found = invalid_models.unexplained(list(invalid_models.edited(examples(120, 3000), 20261127)))
    assert [(edits, sentence) for edits, sentence, _ in found] == []
    assert counts["reported as not valid ONNX"] > counts["tried"] / 2


def test_a_refusal_has_a_text() -> None:
    named = ("IR.md", "onnx.proto", "ONNX ", "The text of the operator is silent", "The model is given")
    assert [
        each
        for each in invalid_models.RECORDED
        if not each["reason"].startswith(named) and "IR.md" not in each["reason"]
    ] == []


@pytest.mark.parametrize("name", ["before_Sin", "recursive"])
def test_a_demand_of_onnx_is_not_waived(name: str) -> None:
    texts = {
        "before_Sin": '<ir_version: 10, opset_import: ["" : 6]> g (float[2] a) => (float[2] y) { y = Sin(a) }',
        "recursive": '<ir_version: 10, opset_import: ["" : 14, "d" : 1]> g (float[2] a) => (float[2] y) { y = d.f(a) } '
        '<domain: "d", opset_import: ["d" : 1]> f (a) => (b) { b = d.f(a) }',
    }
    data = onnx.parser.parse_model(texts[name]).SerializeToString()
    assert any(finding.breaks_onnx for finding in sonnx.check(data).findings)
    assert not invalid_models.conforms_somehow(data)
