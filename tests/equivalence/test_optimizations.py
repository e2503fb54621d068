"""The optimized graphs of a runtime: which value stops to match where an optimizer is wrong."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import onnx
import pytest
from onnx import numpy_helper

import sonnx
from sonnx.cli.main import run
from sonnx.executor.runtimes import OnnxReference
from tests.support.equivalence_mutants import convolutional


class Optimizing(OnnxReference):
    """A runtime whose optimizer makes of every model the given one."""

    def __init__(self, made: bytes) -> None:
        super().__init__()
        self.made = made

    def optimized(self, model: bytes | Path, folder: Path | None, level: str) -> bytes:
        """See `OnnxRuntime.optimized`."""
        del model, folder, level
        return self.made


def compared(model: onnx.ModelProto, made: onnx.ModelProto) -> sonnx.ComparisonReport:
    return sonnx.compare(
        model.SerializeToString(), Optimizing(made.SerializeToString()), unchecked=True, runs=1, class_runs=0,
        optimizations=True,
    )  # fmt: skip


def of_one_sample() -> onnx.ModelProto:
    model = convolutional(0)
    model.graph.input[0].type.tensor_type.shape.dim[0].dim_value = 1
    return model


def copied(model: onnx.ModelProto) -> onnx.ModelProto:
    made = onnx.ModelProto()
    made.CopyFrom(model)
    return made


def with_another_weight(model: onnx.ModelProto) -> str:
    """The value whose weight is another one."""
    node = [each for each in model.graph.node if each.op_type == "Conv"][1]
    [weight] = [each for each in model.graph.initializer if each.name == node.input[1]]
    weight.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(weight) * 2, weight.name))
    return str(node.output[0])


def without_relu(model: onnx.ModelProto) -> str:
    """The value that is a Relu in the model only."""
    node = [each for each in model.graph.node if each.op_type == "Relu"][1]
    node.op_type = "Identity"
    return str(node.output[0])


@pytest.mark.parametrize("change", [with_another_weight, without_relu])
def test_the_first_value_that_does_not_match_is_named(change: Callable[[onnx.ModelProto], str]) -> None:
    model = of_one_sample()
    made = copied(model)
    value = change(made)
    found = compared(model, made)
    assert found.exit_code == 1
    for each in found.optimizations:
        assert (each.answer, each.second) == ("different", value)
        assert each.operators[1] == next(node.op_type for node in made.graph.node if value in node.output)
    assert f"'{value}'" in found.broken_bounds[-1].sentence
    document = json.loads(found.to_json())
    assert [each["level"] for each in document["optimizations"]] == ["basic", "extended"]
    assert document["optimizations"][0]["second"] == value


def test_a_graph_that_is_the_model_is_identical() -> None:
    model = of_one_sample()
    made = copied(model)
    made.graph.name = "optimized"
    found = compared(model, made)
    assert [each.answer for each in found.optimizations] == ["identical", "identical"]
    assert (found.exit_code, found.broken_bounds) == (0, ())


def test_a_graph_with_other_inputs_is_not_compared() -> None:
    model = of_one_sample()
    made = copied(model)
    made.graph.input[0].name = "renamed"
    made.graph.node[0].input[0] = "renamed"
    found = compared(model, made)
    assert [each.answer for each in found.optimizations] == [None, None]
    assert found.exit_code == 3
    assert "not compared: the first model has the inputs" in found.to_text()


def test_the_optimizer_of_onnxruntime(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("onnxruntime")
    path = tmp_path / "model.onnx"
    onnx.save(of_one_sample(), path)
    asked = [
        "compare",
        str(path),
        "--unchecked",
        "--random",
        "1",
        "--class-runs",
        "0",
        "--optimizations",
    ]
    assert run(asked) == 0
    said = capsys.readouterr().out
    assert "optimized graph, basic" in said
    assert "optimized graph, extended" in said
    assert said.count("equal up to rounding") == 2
