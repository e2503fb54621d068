"""The page of rewritten exports: each of its commands makes a model that conforms and computes the same."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import numpy
import onnx
import onnxruntime
import pytest

import sonnx
from sonnx.cli.main import run
from sonnx.equivalence.result import Answer
from tests.support.paths import DOCS, ROOT

PAGE = (DOCS / "fix-gallery.md").read_text("utf-8")
COMMANDS = re.findall(r"^\$ sonnx (fix \S+.*) --dry-run$", PAGE, re.MULTILINE)


def outputs(model: bytes, image: dict[str, numpy.ndarray]) -> list[numpy.ndarray]:
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    return list(onnxruntime.InferenceSession(model, options, ["CPUExecutionProvider"]).run(None, image))


def test_every_kind_of_model_has_a_command() -> None:
    assert len(COMMANDS) == PAGE.count("\n## ") == PAGE.count("```console") == 5


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: Path(command.split()[1]).stem)
def test_the_command_makes_a_model_that_conforms(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(ROOT)
    source, target = ROOT / command.split()[1], tmp_path / "fixed.onnx"
    assert sonnx.check(source).exit_code() == 1
    assert run([*shlex.split(command), "--samples", "1", "--output", str(target)]) == 0
    text = capsys.readouterr().out
    assert sonnx.check(target).exit_code() == 0
    assert sonnx.fix(target, samples=0, approximate=True).model_bytes() == target.read_bytes()
    confirmed = re.search(r"shown for all inputs: ([\w ]+)", text)
    assert confirmed is not None
    assert confirmed[1].strip() in (Answer.IDENTICAL, Answer.ROUNDING, f"{Answer.ROUNDING} for these sizes")
    draw, graph = numpy.random.default_rng(3), onnx.load(target).graph
    given = {
        value.name: draw.standard_normal([each.dim_value for each in value.type.tensor_type.shape.dim]).astype("f4")
        for value in graph.input
    }
    for one, other in zip(outputs(source.read_bytes(), given), outputs(target.read_bytes(), given), strict=True):
        assert one.shape == other.shape
        numpy.testing.assert_allclose(other, one, rtol=1e-4, atol=0.05 if "quantized" in command else 1e-5)
