"""Every node test that the onnx package generates gets the verdict and the reasons that are recorded."""

from __future__ import annotations

import tomllib
from pathlib import Path

from tests.support import node_verdicts
from tests.support.cases import spread

LINES = node_verdicts.RECORDED.read_text("utf-8").splitlines()
SURPRISES = tomllib.loads((Path(__file__).parent.parent / "data" / "node_surprises.toml").read_text("utf-8"))[
    "surprise"
]


def test_the_verdicts_are_those_recorded() -> None:
    """`make node-verdicts` records them anew; the difference is what a change does to 1900 models.

    In a deep run all of them, else one of eight.
    """
    models = sorted(node_verdicts.models().items())
    assert [name for name, _ in models] == [line.partition(" ")[0] for line in LINES]
    found = [(node_verdicts.line(*each), line) for each, line in spread([*zip(models, LINES, strict=True)], 240)]
    assert [(line, recorded) for line, recorded in found if line != recorded] == []


def test_nothing_is_left_undecided() -> None:
    assert [line for line in LINES if " ~" in line or " undecided" in line or " not-checked" in line] == []


def test_what_is_not_valid_onnx_has_a_reason() -> None:
    said = {(name, each[1:]) for name, _, *found in map(str.split, LINES) for each in found if each.startswith("!")}
    assert said == {(case, each["rule"]) for each in SURPRISES for case in each["cases"]}
    assert all(each["reason"].endswith(".") for each in SURPRISES)


def test_a_line_of_each_kind_is_there() -> None:
    assert "test_max_example pass" in LINES
    assert "test_cast_FLOAT_to_DOUBLE fail operator-in-profile" in LINES
    assert any(" assumed ?" in line for line in LINES)
