"""`sonnx draft`: the data files that it writes, read and validated like those of the profile."""

from __future__ import annotations

from pathlib import Path

import onnx.defs
import pytest

from sonnx.base.errors import UsageError
from sonnx.checker.profile_validation import problems
from sonnx.profile import catalogue
from sonnx.profile.onnx_schemas import schema_operators
from sonnx.profile.profile_data import in_use
from sonnx.report.operator_draft import operator_draft
from tests.support.cases import spread

REFUSED = {"If", "Loop", "Scan", "SequenceMap", "Optional"}
"""Operators with graphs or types as attributes, which a data file cannot state."""
OPEN = [name for name in schema_operators("") if catalogue.operator(name) is None]


def drafted() -> list[str]:
    return [name for name in OPEN if name not in REFUSED and not onnx.defs.get_schema(name).deprecated]


def test_the_profile_is_sound_with_drafts(copy: Path) -> None:
    """The reader takes every draft, and no rule or name in one is wrong."""
    names = spread(drafted(), 20)
    for name in names:
        (copy / "operators" / f"{name.lower()}.toml").write_text(operator_draft(name), "utf-8")
    in_use().forget()
    assert all(catalogue.operator(name) is not None for name in names)
    assert {*problems()} == {f"No edition names {name}." for name in names}


@pytest.mark.parametrize("name", spread(drafted(), 12))
def test_a_draft_has_what_onnx_states(name: str) -> None:
    definition = catalogue.operator_in(operator_draft(name), "draft")
    newest = onnx.defs.get_schema(name)
    assert max(definition.known) == newest.since_version
    last = [each for each in definition.inputs if each.before is None or each.before > newest.since_version]
    assert {each.onnx for each in last} == {each.name for each in newest.inputs}
    parameters = {each.name: each for each in definition.parameters}
    for attribute in newest.attributes.values():
        assert parameters[attribute.name].kind == str(attribute.type).rpartition(".")[2].lower()
        assert attribute.required == (parameters[attribute.name].required is not None)


def test_the_shape_is_stated_where_the_inference_of_onnx_states_it() -> None:
    assert 'shape = "X.shape"' in operator_draft("HardSigmoid")
    assert "OPEN: the shape of Values" in operator_draft("TopK")


def test_a_deprecation_is_a_question() -> None:
    assert "ONNX deprecates the operator from version 10 on" in operator_draft("Upsample")


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("Softmax", "the profile has a data file of Softmax"),
        ("hardsigmoid", "did you mean 'HardSigmoid'"),
        ("If", "kind graph"),
        ("Scaler", "domain ai.onnx.ml"),
    ],
)
def test_what_is_refused(name: str, reason: str) -> None:
    with pytest.raises(UsageError, match=reason):
        operator_draft(name)
