"""`sonnx compare --bound`: a runtime within the hypotheses passes; one with rounded weights is found, with its node."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import numpy_helper

from sonnx import compare
from sonnx.bounds.tolerance import BoundTolerance
from sonnx.cli.main import run
from sonnx.executor.comparator import compare_source
from sonnx.executor.comparison import OUTPUT, ComparisonLimits
from sonnx.executor.loaded_models import source_of
from sonnx.executor.options import ComparisonOptions
from sonnx.executor.runtimes import runtime_class
from sonnx.language.evaluator import RUN_TIME, TensorFacts
from sonnx.model.reader import read
from sonnx.numerics.enclosures.hypotheses import hypotheses_named
from sonnx.numerics.enclosures.values import Value
from tests.support.models import graph

pytest.importorskip("onnxruntime")
pytestmark = pytest.mark.usefixtures("runtimes_in_this_process")
"""What is said of a runtime is tested here, not what one may do to its process."""
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


class Older(Unlucky):
    """A version of onnxruntime with which the hypotheses were not measured."""

    title = "onnxruntime 0.1, CPU"


def test_a_version_that_was_not_measured_is_told() -> None:
    image = np.random.default_rng(0).uniform(size=(1, 1, 16, 16)).astype(np.float32)
    told = "the hypotheses onnxruntime-cpu were measured with onnxruntime 1.31.1 and 1.32.0, not with onnxruntime 0.1"
    for hypotheses in ("onnxruntime-cpu", "ieee-any"):
        report = compare(CNN, Older(), inputs=[{"image": image}], unchecked=True, bound=hypotheses)
        assert (told in report.to_text()) == (hypotheses == "onnxruntime-cpu")


def test_a_comparison_without_any_bound_breaks() -> None:
    image = np.full((1, 1, 16, 16), np.inf, np.float32)
    report = compare(CNN, inputs=[{"image": image}], unchecked=True, bound="onnxruntime-cpu")
    assert report.exit_code == 1
    assert "no run has bounds for all values: run 1:" in report.to_text()
    assert "rounding explains" not in report.to_text()


def value(low: Any, high: Any, error: Any, unbounded: str = "") -> Value:
    arrays = [np.array(each, float) for each in (low, high, error)]
    return Value("y", TensorFacts("float", arrays[0].shape, RUN_TIME), *arrays, np.zeros(arrays[0].shape),
                 unbounded=unbounded)  # fmt: skip


@pytest.mark.parametrize(
    ("bounds", "computed", "told"),
    [
        (value([[1, 1, 1]], [[2, 2, 2]], [[0.5, 0.5, 0.5]]), [[0.5, 2.5, 1.5]], None),
        (value([[1, 1, 1]], [[2, 2, 2]], [[0.5, 0.5, 0.5]]), [[0.25, 9, 2.5]], (7, [0, 1], 0.5)),
        (value([[1, 1]], [[2, 2]], [[0.5, 3]]), [[-0.5, 6.5]], (4.5, [0, 1], 3)),
        (value([[1, 1]], [[2, 2]], [[0.5, 4]]), [[-0.5, 6.5]], (1.5, [0, 0], 0.5)),
        (value([[1, 1]], [[2, 2]], [[0, 4.25]]), [[0.5, 6.5]], (0.5, [0, 0], 0)),
        (value([1, 1], [2, 2], [9, 9]), [1, np.nan], (np.nan, [1], 9)),
        (value([1], [2], [0], unbounded="an overflow"), [9], None),
        (value([1, 1], [2, 2], [0, 0]), [9], None),
    ],
)  # fmt: skip
def test_what_exceeds_a_bound(bounds: Value, computed: Any, told: tuple[float, list[int], float] | None) -> None:
    """The element that is furthest beyond its own bound; without bounds or of another shape nothing is said."""
    tolerance = BoundTolerance(read(CNN), hypotheses_named("ieee-any"), None, None, every_node=False)
    tolerance.whole = {"y": bounds}
    tolerance.deviations = {"y": np.full(bounds.shape, np.inf)}
    sentence = told and f"is {told[0]:g} outside the ideal range at {told[1]}, where the bound is {told[2]:g}"
    assert tolerance.exceeded("along the network", "y", np.array(computed, np.float32)) == sentence
    assert tolerance.exceeded("along the network", "z", np.array(computed, np.float32)) is None


def test_a_run_without_bounds_is_told(tmp_path: Path) -> None:
    """The square of 1e30 overflows: the run is not judged, and the reason names the node."""
    nodes = [onnx.helper.make_node("Mul", ["x", "x"], ["y"], name="square")]
    made = graph(nodes, {"x": (onnx.TensorProto.FLOAT, [2])}, {"y": (onnx.TensorProto.FLOAT, [2])})
    tolerance = BoundTolerance(
        read(made.SerializeToString()), hypotheses_named("ieee-any"), None, None, every_node=False
    )
    for x in (1.0, 1e30):
        given = np.full(2, x, np.float32)
        tolerance.start({"x": given}, {"x": given})
    assert [each.partition(":")[0] for each in tolerance.without_bounds] == ["run 2"]
    assert "square" in tolerance.without_bounds[0]


def test_an_output_that_no_node_rounds_has_no_unusual_deviation() -> None:
    nodes = [onnx.helper.make_node("Identity", ["c"], ["y"])]
    kind = onnx.TensorProto.FLOAT, [2]
    made = graph(nodes, {"x": kind}, {"y": kind}, initializers=[numpy_helper.from_array(np.ones(2, np.float32), "c")])
    tolerance = BoundTolerance(
        read(made.SerializeToString()), hypotheses_named("ieee-any"), None, None, every_node=False
    )
    tolerance.start({"x": np.zeros(2, np.float32)}, {})
    assert tolerance.exceeded(OUTPUT, "y", np.ones(2, np.float32)) is None
    assert tolerance.exceeded(OUTPUT, "y", np.zeros(2, np.float32)) == (
        "is 1 outside the ideal range at [0], where the bound is 0"
    )
    assert tolerance.unusual == []
