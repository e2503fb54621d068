"""A suite as files: its expected outputs have no deviation, and every change of them is one of its kind."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import onnx.parser
import pytest

import sonnx
from sonnx.base.errors import BadInput, Unfinished, UsageError
from sonnx.cli.main import run
from sonnx.executor.executor import ModelRunner
from sonnx.model.reader import read
from sonnx.numerics.enclosures.hypotheses import hypotheses_named
from sonnx.suite.archive import StoredCase, Suite, read_cases, read_suite, tensor_file
from sonnx.suite.expected import Ends, Tolerances
from sonnx.suite.judge import JudgedDifference, differences
from sonnx.suite.kept_results import KeptResults
from sonnx.suite.options import RunOptions
from sonnx.suite.other_reading import is_value_by_onnx
from sonnx.suite.runs import is_instead, judge_outputs, run_suite
from tests.support.cases import DEEP
from tests.support.editions import NEWEST
from tests.support.faulty_runtimes import Exact

SCHEMAS = Path(sonnx.__file__).parent / "report"


@pytest.fixture(scope="module")
def suite(relu: Suite) -> Suite:
    return relu


def cases(suite: Suite) -> list[StoredCase]:
    found = [*read_cases(suite, suite.parts[0].operator)]
    assert all(isinstance(each, StoredCase) for each in found)
    return [each for each in found if isinstance(each, StoredCase)]


def expected_outputs(suite: Suite, folder: Path) -> None:
    for each in cases(suite):
        for name, content in each.files.items():
            if "/output_" in name:
                path = folder / each.case.id / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(content)


def test_the_expected_outputs_have_no_deviation(relu: Suite, few_of_relu: Suite, tmp_path: Path) -> None:
    suite = relu if DEEP else few_of_relu
    expected_outputs(suite, tmp_path)
    found = judge_outputs(Path(suite.folder), tmp_path)
    assert (found.deviations, found.problems, found.exit_code) == ((), (), 0)
    assert found.operators["Relu"].within == suite.parts[0].sets > 0


def test_changed_and_missing_outputs_are_deviations_of_their_kinds(few_of_relu: Suite, tmp_path: Path) -> None:
    suite = few_of_relu
    expected_outputs(suite, tmp_path)
    first = next(each for each in cases(suite) if each.case.sets)
    folder = tmp_path / first.case.id
    (folder / "test_data_set_0" / "output_0.pb").write_bytes(b"rubbish")
    array = first.arrays(1, "output")[0]
    (folder / "test_data_set_1" / "output_0.pb").write_bytes(tensor_file("y0", array[:1]))
    (folder / "test_data_set_2" / "output_0.pb").unlink()
    found = judge_outputs(Path(suite.folder), tmp_path)
    assert {each.kind for each in found.deviations} == {"fault", "shape", "missing output"}
    assert found.exit_code == 1


def test_equal_suites_are_equal_files_whatever_process_makes_them(suite: Suite, tmp_path: Path) -> None:
    made = sonnx.make_suite(tmp_path / "again", operator=("Relu",), jobs=2)
    assert (made.archives, made.exit_code) == (suite.archives, 0)
    assert contents(tmp_path / "again") == contents(Path(suite.folder))


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_a_process_that_ends_leaves_no_suite(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ready = "import sys; sys.stdout.buffer.write(bytes(9)); sys.stdout.flush(); sys.stdin.buffer.read(9)"
    monkeypatch.setattr("sonnx.supervise.service.CHILD_CODE", ready)
    with pytest.raises(Unfinished, match="Relu was not made: its process ended with exit code 0"):
        sonnx.make_suite(tmp_path / "made", operator=("Relu",), jobs=2)
    assert not [*tmp_path.iterdir()]


def test_the_description_of_a_call_names_tensors_by_type_and_shape(of_two: Suite) -> None:
    calls = [each.case.call for each in read_cases(of_two, "Constant") if isinstance(each, StoredCase)]
    assert any("value=float [" in each for each in calls)
    assert not any("memory" in each for each in calls)


def test_a_changed_archive_and_a_folder_that_is_no_suite_are_told(suite: Suite, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"has no suite\.json"):
        read_suite(tmp_path)
    (tmp_path / "suite.json").write_bytes((Path(suite.folder) / "suite.json").read_bytes())
    (tmp_path / "Relu.zip").write_bytes(b"PK")
    [said] = read_cases(read_suite(tmp_path), "Relu")
    assert isinstance(said, str)
    assert said.startswith("'Relu.zip' is not an archive of cases: ")


def test_a_program_needs_a_place_for_its_outputs(suite: Suite) -> None:
    with pytest.raises(UsageError, match="lacks"):
        run_suite(Path(suite.folder), RunOptions(program="prog {model}"))


@pytest.mark.usefixtures("runtimes_in_this_process")
def test_a_run_that_goes_on_has_the_report_of_one_that_was_not_interrupted(
    of_two: Suite, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "sonnx.executor.runtime_process._own_modules", lambda name: ""
    )  # this process loads more and more
    folder, kept = Path(of_two.folder), tmp_path / "kept"
    whole = run_suite(folder, RunOptions(runtime="reference", jobs=2, resume=kept))
    assert [*whole.operators] == ["Constant", "Neg"]
    assert sum(getattr(whole.operators["Neg"], name) for name in ("within", "outside")) == of_two.parts[1].sets
    lines = kept.read_bytes().splitlines(keepends=True)
    kept.write_bytes(b"".join(lines[:2]) + lines[2][:20])
    ran: list[str] = []
    again = run_suite(folder, RunOptions(runtime="reference", resume=kept), ran.append)
    assert again.to_json() == whole.to_json()
    assert len(ran) == 1
    assert sorted(kept.read_bytes().splitlines()) == sorted(b"".join(lines).splitlines())
    with pytest.raises(BadInput, match="was written for another set of options"):
        run_suite(folder, RunOptions(runtime="reference", resume=kept, timeout=3))
    kept.write_bytes(b"letter")
    with pytest.raises(BadInput, match="not a --resume journal"):
        run_suite(folder, RunOptions(runtime="reference", resume=kept))
    assert kept.read_bytes() == b"letter"
    with pytest.raises(UsageError, match="1 or more"):
        run_suite(folder, RunOptions(jobs=0))


class OncePerProcess(Exact):
    """The first answer of a process is wrong."""

    answers = 0

    def changed(self, operators: list[str], values: Any, inputs: list[Any]) -> Any:
        """See `Exact.changed`."""
        self.answers += 1
        return values + 1 if self.answers == 1 else values


def test_what_depends_on_the_process_is_a_deviation_of_its_own(few_of_relu: Suite) -> None:
    found = run_suite(Path(few_of_relu.folder), RunOptions(runtime=f"{__name__}:OncePerProcess"))
    assert found.operators["Relu"].nondeterministic in (1, 2)
    assert "nondeterministic" in {each.kind for each in found.deviations}


ELEMENTS = {
    "rounding": (2.0, 1.0, 0.5, 1.5),
    "NaN": (np.nan, 1.0, 0.5, 1.5),
    "infinity": (np.inf, 1.0, 0.5, 1.5),
}


@pytest.mark.parametrize("kind", ELEMENTS)
def test_an_element_outside_its_ends_is_a_deviation(kind: str) -> None:
    actual, expected, lower, upper = (np.array([each]) for each in ELEMENTS[kind])
    assert [each.kind for each in differences(0, actual, expected, Ends(lower, upper))] == [kind]
    assert not differences(0, np.array([1.25]), expected, Ends(lower, upper))
    none = np.array([np.nan])
    assert not differences(0, actual, expected, Ends(none, none))


def test_exact_outputs_differ_in_the_sign_of_a_zero_and_in_value() -> None:
    answer = differences(0, np.array([-1.0, -0.0]), np.array([0.0, 0.0]), None)
    assert {each.kind for each in answer} == {"value", "sign of zero"}


def test_the_command_reports_what_a_suite_covers(suite: Suite, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["suite", "report", suite.folder, "--format", "json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["archives"] == suite.archives
    jsonschema.validate(document, json.loads((SCHEMAS / "suite.schema.json").read_text("utf-8")))
    assert run(["suite", "report", suite.folder]) == 0
    text = capsys.readouterr().out
    [part] = suite.parts
    assert f"decided: {len(part.classes)} classes" in text
    assert f"{part.positive} conforming cases with {part.sets} data sets" in text


def test_the_functions_do_what_the_command_does(constant: Suite, tmp_path: Path) -> None:
    folder = Path(constant.folder)
    expected_outputs(constant, tmp_path / "outputs")
    judged = sonnx.judge_suite(folder, tmp_path / "outputs")
    assert judged.operators["Constant"].within == constant.parts[0].sets
    shutil.rmtree(next((tmp_path / "outputs").iterdir()))
    missing = sonnx.judge_suite(folder, tmp_path / "outputs")
    assert missing.operators["Constant"].within < constant.parts[0].sets
    assert (missing.operators["Constant"].refused, missing.exit_code) != (0, 0)
    for suite_run in (judged, missing):
        schema = json.loads((SCHEMAS / "suite_run.schema.json").read_text("utf-8"))
        jsonschema.validate(json.loads(suite_run.to_json()), schema)
    with pytest.raises(sonnx.BadInput, match="has no outputs of a case of the suite"):
        sonnx.judge_suite(folder, folder)
    with pytest.raises(sonnx.UsageError, match="unknown runtime"):
        sonnx.run_suite(folder, runtime="nothing")


def ends_of(operator: str, version: int, values: list[float]) -> tuple[str, Ends]:
    """What is expected of an operator of one float vector."""
    text = f'<ir_version: 10, opset_import: ["" : {version}]> g (float[{len(values)}] X) => (float[{len(values)}] y) {{ y = {operator}(X) }}'  # noqa: E501  # fmt: skip
    model = read(onnx.parser.parse_model(text).SerializeToString())
    inputs = {"X": np.array(values, np.float32)}
    exact = ModelRunner(model, None, None, unchecked=True).run(inputs).values
    [found] = Tolerances(model, hypotheses_named("ieee-any"), NEWEST).ends(inputs, exact)
    assert found.ends is not None
    return found.decides, found.ends


def test_an_operator_that_has_bounds_for_constants_only_has_ends_at_a_point() -> None:
    """The elements of Range, S + i D, whichever of the three numbers are inputs."""
    text = (
        '<ir_version: 10, opset_import: ["" : 27]> g (float s, float l, float d) => (float[3] y) { y = Range(s, l, d) }'
    )
    model = read(onnx.parser.parse_model(text).SerializeToString())
    inputs = {"s": np.float32(0.1), "l": np.float32(0.7), "d": np.float32(0.2)}
    arrays = {name: np.asarray(number) for name, number in inputs.items()}
    exact = ModelRunner(model, None, None, unchecked=True).run(arrays).values
    [found] = Tolerances(model, hypotheses_named("ieee-any"), NEWEST).ends(arrays, exact)
    assert (found.decides, exact["y"].shape) == ("derived", (3,))
    steps = [inputs["s"] + np.float32(place) * inputs["d"] for place in range(3)]
    assert found.ends is not None
    assert ((found.ends.lower <= steps) & (steps <= found.ends.upper)).all()
    assert (found.ends.upper - found.ends.lower < 1e-5).all()


def test_each_element_has_ends_beside_special_values_and_poles() -> None:
    decides, ends = ends_of("Log", 13, [0.0, -1.0, 2.0, np.inf, np.nan])
    assert decides == "derived"
    assert np.isnan(ends.lower).tolist() == [False, True, False, False, True]  # the definition gives NaN there
    assert (ends.lower[0], ends.upper[0]) == (-np.inf, -np.inf)
    assert ends.lower[2] < np.log(2.0) < ends.upper[2] < ends.lower[2] + 1e-6
    assert (ends.lower[3], ends.upper[3]) == (np.inf, np.inf)


def test_rounding_decides_about_a_value_near_the_largest_number() -> None:
    decides, ends = ends_of("Exp", 13, [88.8, 1.0])
    assert decides == "derived"
    assert ends.upper[0] == np.inf
    assert np.isfinite(ends.lower[0])
    assert ends.lower[1] < np.e < ends.upper[1] < ends.lower[1] + 1e-5


def test_the_limit_at_an_infinity_has_the_error_of_the_function() -> None:
    _, ends = ends_of("Tanh", 13, [np.inf, -np.inf])
    assert (ends.lower <= [1, -1]).all()
    assert (ends.upper >= [1, -1]).all()
    assert (ends.upper - ends.lower < 1e-6).all()


@pytest.mark.parametrize("ends", [None, Ends(np.array([-1.0, np.nan]), np.array([1.0, np.nan]))])
def test_a_nan_that_is_given_and_one_that_is_lost_are_two_deviations(ends: Ends | None) -> None:
    found = differences(0, np.array([np.nan, 1.0]), np.array([0.0, np.nan]), ends)
    assert [(each.kind, each.at) for each in found] == [("NaN", (0,)), ("NaN", (1,))]


@pytest.mark.parametrize(
    ("operator", "erratum", "actual", "answer"),
    [
        ("Clip", "clip-not-a-number-and-crossed-bounds", "nan (0x7fc00000)", True),
        ("Clip", "clip-not-a-number-and-crossed-bounds", "2.0 (0x40000000)", False),
        ("ArgMax", "argmax-nan-is-greatest", "2", False),
    ],
)
def test_an_erratum_explains_what_its_other_reading_gives(
    operator: str, erratum: str, actual: str, answer: bool
) -> None:
    far = JudgedDifference("NaN", 0, (0,), "", actual)
    assert is_instead(operator, erratum, far, {}, b"", None) is answer


@pytest.mark.parametrize(
    ("given_nans", "answer"),
    [([0], True), ([2], False), ([0, 2], False), ([], False)],
    ids=["a slice of -inf", "another slice", "both", "none"],
)
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_a_nan_of_softmax_is_explained_in_slices_of_minus_infinity_alone(
    given_nans: list[int], answer: bool, dtype: type[np.floating[Any]]
) -> None:
    """The inputs decide, not the value class: a NaN of another slice of the same data set is not explained."""
    element = {np.float16: "float16", np.float32: "float", np.float64: "double"}[dtype]  # type: ignore[index]
    head = f'<ir_version: 10, opset_import: ["" : 13]> g ({element}[4,2] x) => ({element}[4,2] y)'
    model = onnx.parser.parse_model(f"{head} {{ y = Softmax<axis=1>(x) }}").SerializeToString()
    inputs = {"x": np.array([[-np.inf, -np.inf], [np.nan, -np.inf], [1, -np.inf], [np.inf, 1]], dtype)}
    actual = np.array([[0, 0], [np.nan, np.nan], [1, 0], [np.nan, np.nan]], dtype)
    actual[given_nans] = np.nan
    far = JudgedDifference("NaN", 0, (0, 0), "0.0", "nan (0x7fc00000)")
    assert is_instead("Softmax", "softmax-all-minus-infinity", far, inputs, model, actual) is answer


@pytest.mark.parametrize("under_gap", [np.nan, np.inf, 3.0])
def test_a_convolution_without_gaps_is_explained_whatever_lies_under_a_gap(under_gap: float) -> None:
    """Kernel [1, 1] with dilation 2: the element between is not read by the text of ONNX."""
    head = '<ir_version: 10, opset_import: ["" : 22]> g (float[1,1,4] x, float[1,1,2] w) => (float[1,1,2] y)'
    node = "y = Conv<dilations=[2], group=1, kernel_shape=[2], pads=[0,0], strides=[1]>(x, w)"
    model = read(onnx.parser.parse_model(f"{head} {{ {node} }}").SerializeToString())
    inputs = {
        "x": np.array([[[1, under_gap, 0.1, 0.7]]], np.float32), "w": np.array([[[1, 1.1]]], np.float32),
    }  # fmt: skip
    other = np.array([[[1 + 0.1 * 1.1, under_gap + 0.7 * 1.1]]], np.float32)
    assert is_value_by_onnx(model, inputs, 0, other)
    for wrong in (other + np.array([0.01, 0], np.float32), np.zeros_like(other), np.full_like(other, np.inf)):
        assert not is_value_by_onnx(model, inputs, 0, wrong)


def test_an_element_without_a_value_leaves_the_others_their_ends() -> None:
    decides, ends = ends_of("Sqrt", 13, [-1.0, 0.0, 2.0, np.inf])
    assert decides == "derived"
    assert np.isnan(ends.lower).tolist() == [True, False, False, False]
    assert ends.lower[1] <= 0 <= ends.upper[1] < 1e-30
    assert ends.lower[2] < np.sqrt(2.0) < ends.upper[2] < ends.lower[2] + 1e-6


def test_nothing_is_said_of_a_sum_of_which_a_part_may_overflow_to_the_other_side() -> None:
    head = '<ir_version: 10, opset_import: ["" : 13]> g (float[1,2] a, float[2,2] b) => (float[1,2] y)'
    text = f"{head} {{ y = MatMul(a, b) }}"
    model = read(onnx.parser.parse_model(text).SerializeToString())
    largest = np.finfo(np.float32).max
    inputs = {"a": np.array([[-largest, -largest]]), "b": np.array([[-8, 8], [16, 16]], np.float32)}
    exact = ModelRunner(model, None, None, unchecked=True).run(inputs).values
    assert (exact["y"] == -np.inf).all()
    [found] = Tolerances(model, hypotheses_named("ieee-any"), NEWEST).ends(inputs, exact)
    assert found.decides == "may overflow"
    assert found.ends is not None
    assert np.isnan(found.ends.lower).tolist() == [[True, False]]
    assert found.ends.upper[0, 1] == -largest


def test_elements_that_a_large_sum_swallows_still_decide_about_its_parts() -> None:
    """2.5 M - 8 M + M of Gemm overflows, but M + 1 and M + 0.71875 are the same double."""
    head = '<ir_version: 10, opset_import: ["" : 13]> g (float[1,2] a, float[2,1] b, float[1,1] c) => (float[1,1] y)'
    model = read(onnx.parser.parse_model(f"{head} {{ y = Gemm(a, b, c) }}").SerializeToString())
    largest = np.finfo(np.float32).max
    inputs = {"a": np.array([[2.5, -8]]), "b": np.array([[-largest], [-largest]]), "c": np.array([[largest]])}
    inputs = {name: array.astype(np.float32) for name, array in inputs.items()}
    exact = ModelRunner(model, None, None, unchecked=True).run(inputs).values
    assert exact["y"] == np.inf
    with np.errstate(over="ignore", invalid="ignore"):
        assert np.isnan(inputs["a"][0] @ inputs["b"] + inputs["c"])
    [found] = Tolerances(model, hypotheses_named("ieee-any"), NEWEST).ends(inputs, exact)
    assert found.decides == "may overflow"


def test_an_infinity_that_is_not_at_its_limit_decides_nothing() -> None:
    """3 x of the largest number overflows, so that -inf has no limit; with 1 in its place the value is another one."""
    head = '<ir_version: 10, opset_import: ["" : 13]> g (float[2] x) => (float[2] y) <float[2] c = {3, 3}>'
    model = read(onnx.parser.parse_model(f"{head} {{ z = Mul(x, c) y = Tanh(z) }}").SerializeToString())
    inputs = {"x": np.array([-np.inf, 0.5], np.float32)}
    exact = ModelRunner(model, None, None, unchecked=True).run(inputs).values
    [found] = Tolerances(model, hypotheses_named("ieee-any"), NEWEST).ends(inputs, exact)
    assert found.ends is not None
    assert not found.ends.upper[0] > -0.9
    assert found.ends.lower[1] <= np.tanh(1.5) <= found.ends.upper[1]


def test_an_archive_that_cannot_be_read_is_no_identity_of_results(suite: Suite, tmp_path: Path) -> None:
    """Results that are kept would be refused by the next run, which reads it."""
    (tmp_path / "suite.json").write_bytes((Path(suite.folder) / "suite.json").read_bytes())
    (tmp_path / "Relu.zip").mkdir()
    with pytest.raises(OSError, match="not a regular file"):
        KeptResults(tmp_path / "kept", read_suite(tmp_path), RunOptions(), {})
    assert not (tmp_path / "kept").exists()
