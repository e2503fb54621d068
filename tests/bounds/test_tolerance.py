"""`sonnx compare --bound`: a runtime within the hypotheses passes; one with rounded weights is found, with its node."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import numpy_helper

from sonnx import compare
from sonnx.cli.main import run
from sonnx.executor.comparator import compare_source, source_of
from sonnx.executor.comparison import ComparisonLimits
from sonnx.executor.options import ComparisonOptions
from sonnx.executor.runtimes import runtime_class
from sonnx.model.reader import read
from sonnx.numerics.enclosures.hypotheses import hypotheses_named

pytest.importorskip("onnxruntime")
CNN = Path(__file__).parent.parent / "models" / "cnn.onnx"


def test_onnxruntime_is_within_its_hypotheses(capsys: Any) -> None:
    assert (
        run(["compare", str(CNN), "--unchecked", "--every-node", "--bound", "--class-runs", "0", "--random", "1"]) == 0
    )
    assert "outside the ideal range" not in capsys.readouterr().out


class Rounded:
    """onnxruntime with weights of 16 digits."""

    title = "rounded"

    def load(self, model: bytes | Path, folder: Path | None) -> Any:
        """See `Runtime.load`."""
        made = onnx.load_from_string(model) if isinstance(model, bytes) else onnx.load(model)
        for each in made.graph.initializer:
            array = numpy_helper.to_array(each)
            if array.dtype == np.float32 and array.ndim > 1:
                bits = array.view(np.uint32) & np.uint32(0xFFFFFF00)
                each.CopyFrom(numpy_helper.from_array(bits.view(np.float32), each.name))
        ready = runtime_class("onnxruntime")().load(made.SerializeToString(), folder)

        def computed(inputs: Any) -> Any:
            cut = {
                name: (each.view(np.uint32) & np.uint32(0xFFFFFF00)).view(np.float32) if ".weight" in name else each
                for name, each in inputs.items()
            }
            return ready(cut)

        return computed


def test_weights_of_16_digits_are_found_with_their_node() -> None:
    from sonnx.bounds.tolerance import BoundTolerance

    source = source_of(read(CNN), CNN, changed=False)
    tolerance = BoundTolerance(source.model, hypotheses_named("onnxruntime-cpu"), source.folder, None, every_node=True)
    image = np.random.default_rng(0).uniform(size=(1, 1, 16, 16)).astype(np.float32)
    options = ComparisonOptions(inputs=(), unchecked=True, every_node=True, class_runs=0)
    found = compare_source(source, Rounded(), [{"image": image}], options, tolerance=tolerance)
    outside = [row for row in found.rows if row.exceeded and row.way == "on equal inputs"]
    assert {row.operator for row in outside} <= {"Conv", "Gemm"}
    assert any(row.operator == "Conv" for row in outside)
    assert any("outside the ideal range" in each.sentence for each in found.violations(ComparisonLimits()))


def test_inputs_that_are_not_finite_are_said_not_to_be_judged(capsys: Any, tmp_path: Path) -> None:
    np.save(tmp_path / "image.npy", np.full((1, 1, 16, 16), np.inf, np.float32))
    run(["compare", str(CNN), "--unchecked", "--bound", "--input", f"image={tmp_path / 'image.npy'}"])
    assert "sonnx: not compared with bounds: run " in capsys.readouterr().err


class Unlucky:
    """onnxruntime, with an output that is moved within its bound by far more than roundings do at random."""

    title = "unlucky"

    def load(self, model: bytes | Path, folder: Path | None) -> Any:
        """See `Runtime.load`."""
        ready = runtime_class("onnxruntime")().load(model, folder)

        def computed(inputs: Any) -> Any:
            return {name: value * np.float32(1 + 5.5e-6) for name, value in ready(inputs).items()}

        return computed


def test_what_random_rounding_rarely_does_is_a_warning() -> None:
    image = np.random.default_rng(0).uniform(size=(1, 1, 16, 16)).astype(np.float32)
    for used, number in (("onnxruntime", 0), (Unlucky(), 1)):
        report = compare(CNN, used, inputs=[{"image": image}], unchecked=True, bound="onnxruntime-cpu")
        assert (len(report.unusual), report.exit_code) == (number, 0)
        assert ("warning, estimated by random rounding and not proved: run 1:" in report.to_text()) == bool(number)


def test_a_comparison_without_any_bound_breaks() -> None:
    image = np.full((1, 1, 16, 16), np.inf, np.float32)
    report = compare(CNN, inputs=[{"image": image}], unchecked=True, bound="onnxruntime-cpu")
    assert report.exit_code == 1
    assert "no run has bounds for all values: run 1:" in report.to_text()
    assert "rounding explains" not in report.to_text()
