"""`sonnx compare`: distances against a count by hand, inputs by seed, rows, bounds, sentences, exit codes, formats."""

import json
import math
from fractions import Fraction
from pathlib import Path

import ml_dtypes
import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from onnx import TensorProto, helper, numpy_helper

import sonnx
from sonnx.base.errors import BadInput
from sonnx.checker.conditions import Conditions
from sonnx.cli.main import run
from sonnx.executor.comparison import ACCUMULATED, EQUAL, OUTPUT, Comparison, ComparisonLimits, Row
from sonnx.executor.distance import Distance, Incomparable, SpecialMismatch, distance, first_difference
from sonnx.executor.probes import KINDS, probe
from sonnx.executor.runtimes import Failure
from sonnx.model.ir import Type, ValueInfo
from sonnx.numerics.draws import is_ordinary
from sonnx.numerics.formats import ELEMENTS
from sonnx.report.comparison import judgement
from tests.support.cases import each_case

SCHEMA = json.loads((Path(sonnx.__file__).parent / "report/comparison.schema.json").read_text("utf-8"))
STRICT = ComparisonLimits(max_ulp=0, zero_signs=True)
FLOAT, INT64 = TensorProto.FLOAT, TensorProto.INT64
pytestmark = pytest.mark.usefixtures("runtimes_in_this_process")


# ------------------------------------------------------------------ distances


def every_half():
    """All finite float16 values from the least to the largest, both zeros as one, by their real value."""
    values = numpy.arange(1 << 16, dtype=numpy.uint16).view(numpy.float16)
    return sorted({float(each) for each in values if math.isfinite(each)})


RANKS = {value: rank for rank, value in enumerate(every_half())}


@given(st.lists(st.tuples(*[st.integers(0, 0xFFFF)] * 2), min_size=1, max_size=9))
def test_steps_are_counted_between_representable_values(pairs):
    found, exact = (numpy.array(each, numpy.uint16).view(numpy.float16) for each in zip(*pairs, strict=True))
    made = distance(found, exact)
    finite = [(float(a), float(b)) for a, b in zip(found, exact, strict=True) if math.isfinite(a) and math.isfinite(b)]
    steps = [abs(RANKS[a] - RANKS[b]) for a, b in finite]
    gaps = [abs(Fraction(a) - Fraction(b)) for a, b in finite]
    assert made.measured == len(finite)
    assert made.ulp == max(steps, default=0)
    assert made.ulp_sum == sum(steps)
    assert made.absolute == max(gaps, default=0)
    assert sum(special.number for special in made.specials) == sum(
        _special(*pair) for pair in zip(found, exact, strict=True)
    )
    same = sum(a.tobytes() == b.tobytes() or (a != a and b != b) for a, b in zip(found, exact, strict=True))
    assert made.identical == same


def _special(a, b):
    """Alike: NaN and NaN, equal infinities, zeros of one sign; other pairs that are not finite are special."""
    if a != a or b != b:
        return (a != a) != (b != b)
    if math.isinf(a) or math.isinf(b):
        return a != b
    return a == b == 0 and math.copysign(1, a) != math.copysign(1, b)


def test_the_steps_of_every_neighbour_are_one():
    for kind in (numpy.float16, ml_dtypes.bfloat16):
        infinity = int(numpy.array([numpy.inf], kind).view(numpy.uint16)[0])
        ordered = numpy.concatenate([numpy.arange(infinity - 1, 0, -1) + 0x8000, numpy.arange(infinity)])
        values = ordered.astype(numpy.uint16).view(kind)
        made = distance(values[1:], values[:-1])
        assert (made.ulp, made.ulp_sum) == (1, len(values) - 1)


@each_case(
    ("element", "found", "exact", "largest"),
    [
        ("int64", [2**63 - 1, 0], [-(2**63), 0], 2.0**64 - 1),
        ("uint64", [0, 5], [2**64 - 1, 5], 2.0**64 - 1),
        ("int8", [-128, 1], [127, 1], 255),
        ("bool", [True, False], [False, False], 1),
    ],
)
def test_whole_numbers_have_absolute_distances_only(element, found, exact, largest):
    made = distance(*(numpy.array(each, ELEMENTS[element]) for each in (found, exact)))
    assert (made.ulp, made.absolute, made.identical, made.at) == (None, largest, 1, (0,))


def test_the_widest_distance_of_doubles_fits():
    largest = numpy.array([numpy.finfo(numpy.float64).max])
    assert distance(-largest, largest).ulp == 2 * (0x7FF0000000000000 - 1)


def test_examples_name_index_and_bits():
    exact = numpy.array([[1, 0.0, numpy.inf]], numpy.float32)
    found = numpy.array([[1.0000002, -0.0, numpy.nan]], numpy.float32)
    made = distance(found, exact)
    assert (made.at, made.exact, made.found) == ((0, 0), "1.0 (0x3f800000)", "1.000000238418579 (0x3f800002)")
    said = [(each.kind, each.at, each.exact, each.found) for each in made.specials]
    assert said == [
        ("NaN", (0, 2), "inf (0x7f800000)", "nan (0x7fc00000)"),
        ("sign of zero", (0, 1), "0.0 (0x00000000)", "-0.0 (0x80000000)"),
    ]


def test_nothing_and_scalars():
    assert distance(numpy.zeros((0, 3)), numpy.zeros((0, 3))).elements == 0
    made = distance(numpy.array(2.0), numpy.array(-2.0))
    assert (made.at, made.absolute) == ((), 4.0)


@each_case(
    ("found", "sentence"),
    [
        (numpy.zeros(3, "f8"), "its type is double, not float"),
        (numpy.zeros((3, 1), "f4"), "its shape is [3, 1], not [3]"),
    ],
)
def test_another_type_or_shape_is_no_distance(found, sentence):
    with pytest.raises(Incomparable) as raised:
        distance(found, numpy.zeros(3, "f4"))
    assert str(raised.value) == sentence


# ------------------------------------------------------------------ inputs


def values(element, shape, seed, number):
    return probe([ValueInfo("x", Type("tensor", element, shape))], seed, number)["x"]


@each_case("element", list(ELEMENTS))
@each_case("number", range(len(KINDS)))
def test_the_same_seed_gives_the_same_inputs(element, number):
    one, two, other = (values(element, (4, 64), seed, number) for seed in (7, 7, 8))
    assert (one.dtype, one.shape) == (ELEMENTS[element], (4, 64))
    assert first_difference(one, two, bits=True) is None
    assert first_difference(one, other, bits=True) is not None


def test_the_stream_is_the_one_of_today():
    """Pinned: the numbers of a seed stay what they are, on every machine and with every numpy."""
    shown = [values("float", (2,), 1, number).view(numpy.uint32).tolist() for number in range(4)]
    assert shown == [
        [1062675583, 1062507687],
        [1065353216, 1069547520],
        [3179820331, 1045728765],
        [3229614080, 3204448256],
    ]


@each_case("element", list(ELEMENTS))
@each_case("number", range(len(KINDS)))
def test_generated_numbers_are_ordinary(element, number):
    assert is_ordinary(values(element, (64, 64), 3, number))


@each_case(
    "value", [numpy.nan, numpy.inf, -numpy.inf, -0.0, 1e-40, -1e-40, numpy.finfo("f4").max, numpy.finfo("f4").min]
)
def test_a_special_value_is_not_ordinary(value):
    assert not is_ordinary(numpy.array([1, value, 2], "f4"))
    assert is_ordinary(numpy.array([0, 1.2e-38, -3.4e38], "f4"))


def test_ordinary_values_are_of_the_interval():
    found = values("double", (1000,), 0, 0)
    assert -1 <= found.min() < -0.9
    assert 0.9 < found.max() < 1


@each_case(
    ("type_", "sentence"),
    [
        (Type("tensor", "type 99", (1,)), "type type 99"),
        (Type("tensor", "float", None), "has no shape"),
        (Type("tensor", "float", ("N", 2)), "the dimension N: give it a number with --bind"),
    ],
)
def test_inputs_that_cannot_be_made(type_, sentence):
    with pytest.raises(BadInput, match=sentence):
        probe([ValueInfo("x", type_)], 0, 0)


# ------------------------------------------------------------------ comparisons


def two_maxima(path="two.onnx"):
    """y = Max(Max(a, b), b), and i = ArgMax of the first, with a symbol."""
    nodes = [
        helper.make_node("Max", ["a", "b"], ["t"], name="first"),
        helper.make_node("Max", ["t", "b"], ["y"], name="second"),
        helper.make_node("ArgMax", ["t"], ["i"], name="third", axis=0, keepdims=1, select_last_index=0),
    ]
    declared = {"a": ["N", 4], "b": [1, 4], "t": ["N", 4], "y": ["N", 4]}
    a, b, t, y = (helper.make_tensor_value_info(name, FLOAT, shape) for name, shape in declared.items())
    i = helper.make_tensor_value_info("i", INT64, [1, 4])
    graph = helper.make_graph(nodes, "g", [a, b], [y, i], value_info=[t])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    Path(path).write_bytes(model.SerializeToString())
    return path


class Exact:
    """A runtime that is this executor; `spoil` changes what one operator gives, `refuses` names one it cannot load."""

    title = "exact, spoiled"

    def __init__(self, spoil=None, refuses=""):
        self.spoil, self.refuses = spoil, refuses

    def load(self, model, folder):
        data = model if isinstance(model, bytes) else Path(model).read_bytes()
        read = __import__("onnx").ModelProto.FromString(data)
        operators = [node.op_type for node in read.graph.node]
        if self.refuses and operators == [self.refuses]:
            raise Failure(f"{self.refuses} is not implemented")

        def loaded(inputs):
            made = sonnx.run(data, inputs, unchecked=True)
            return {name: self.spoil(name, array) if self.spoil else array for name, array in made.items()}

        return loaded


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_what_is_exact_is_identical():
    made = sonnx.compare(two_maxima(), Exact(), bind={"N": 3}, runs=4, every_node=True, class_runs=0)
    assert [(row.way, row.value) for row in made.rows if not row.differs] == [
        *((OUTPUT, name) for name in "yi"),
        *((EQUAL, name) for name in "tyi"),
        *((ACCUMULATED, name) for name in "tyi"),
    ]
    assert made.first_diverging is None
    assert not list(made.violations(STRICT))


def test_equal_inputs_show_the_node_that_is_wrong():
    """Only t is spoiled: y is right on equal inputs, and what is wrong accumulates nowhere, because y comes from t."""

    def spoil(name, array):
        return numpy.nextafter(array, numpy.float32(9)) if name == "t" else array

    made = sonnx.compare(two_maxima(), Exact(spoil), bind={"N": 2}, runs=1, every_node=True, class_runs=0)
    wrong = [(row.way, row.value, row.distance.ulp) for row in made.rows if row.differs]
    assert wrong == [(EQUAL, "t", 1), (ACCUMULATED, "t", 1)]
    assert made.first_diverging.place == "node 'first' (Max, graph/node[0])"
    assert (
        next(iter(made.violations(ComparisonLimits(max_ulp=0)))).sentence
        == "t (on equal inputs) is up to 1 ulp away, more than 0"
    )
    assert not list(made.violations(ComparisonLimits(max_ulp=1, zero_signs=True)))


def test_a_node_the_runtime_refuses_is_reported_and_the_rest_goes_on():
    made = sonnx.compare(two_maxima(), Exact(refuses="ArgMax"), bind={"N": 2}, runs=2, every_node=True, class_runs=0)
    rows = {(row.way, row.value): row for row in made.rows}
    assert rows[EQUAL, "i"].distance is None
    assert rows[EQUAL, "i"].failures == tuple(f"run {n}: ArgMax is not implemented" for n in (1, 2))
    assert rows[EQUAL, "y"].distance.elements == 16
    assert "was not compared in every run" in next(made.violations(ComparisonLimits(max_ulp=0))).sentence
    assert not list(made.violations(ComparisonLimits()))


@each_case("name", ["onnxruntime", "reference"])
def test_runtimes_agree_on_maxima_of_ordinary_numbers(name):
    if name == "onnxruntime":
        pytest.importorskip(name)
    made = sonnx.compare(two_maxima(), name, bind={"N": 3}, runs=1, every_node=True, class_runs=0)
    assert [row.failures for row in made.rows] == [()] * 8
    assert all(row.distance.ulp in (0, None) for row in made.rows)


# ------------------------------------------------------------------ the command


def command(text):
    return run(["compare", *text.split()])


def inputs_and_outputs(outputs):
    data = Path("data")
    data.mkdir()
    a, b = numpy.array([[1, 2, -0.0, numpy.nan]], "f4"), numpy.zeros((1, 4), "f4")
    for name, array in {"input_0": a, "input_1": b, **outputs}.items():
        (data / f"{name}.pb").write_bytes(numpy_helper.from_array(array).SerializeToString())


RIGHT = {"output_0": numpy.array([[1, 2, 0, numpy.nan]], "f4"), "output_1": numpy.zeros((1, 4), "i8")}


def test_recorded_outputs(capsys):
    wrong = {**RIGHT, "output_0": numpy.array([[1, 2.0000002, -0.0, 7]], "f4")}
    inputs_and_outputs(wrong)
    arguments = f"{two_maxima()} --bind N=1 --test-data data --outputs data"
    assert command(arguments) == 1
    said = capsys.readouterr().out
    assert "broken: y (output) differs in NaN at [0, 3]: 7.0" in said
    assert "  runtime     outputs in data\n  inputs      1 run, from files\n" in said
    assert "NaN 1, sign of zero 1" in said
    numbers = {**RIGHT, "output_0": numpy.array([[1, 2.0000002, -0.0, numpy.nan]], "f4")}
    for name, array in numbers.items():
        Path(f"data/{name}.pb").write_bytes(numpy_helper.from_array(array).SerializeToString())
    assert command(arguments) == 0
    assert command(f"{arguments} --max-ulp 1") == 0
    assert command(f"{arguments} --max-ulp 0") == 1
    assert "broken: y (output) is up to 1 ulp away, more than 0" in capsys.readouterr().out
    assert command(f"{arguments} --max-ulp 1 --no-special-mismatch") == 1
    assert "y (output) differs in sign of zero at [0, 2]" in capsys.readouterr().out


def test_json_keeps_its_schema_and_repeats(capsys):
    pytest.importorskip("onnxruntime")
    arguments = f"{two_maxima()} --bind N=3 --every-node --random 2 --seed 9 --class-runs 8 --format json"
    assert command(arguments) == 1
    said = capsys.readouterr().out
    Draft202012Validator(SCHEMA).validate(json.loads(said))
    assert command(arguments) == 1
    assert capsys.readouterr().out == said


def test_html_is_one_page_without_script(capsys):
    pytest.importorskip("onnxruntime")
    assert command(f"{two_maxima()} --bind N=3 --every-node --class-runs 0 --format html --output page.html") == 0
    page = Path("page.html").read_text("ascii")
    assert "<circle" not in page, "a chart of distances has only those that are not 0"
    assert "<script" not in page
    assert "http" not in page.replace("http-equiv", "")


def test_a_hostile_name_is_no_markup(capsys):
    nodes = [helper.make_node("Max", ["a"], ["<b>&\x1b[31m"], name="<i>")]
    a, y = (helper.make_tensor_value_info(name, FLOAT, [1]) for name in ("a", "<b>&\x1b[31m"))
    model = helper.make_model(
        helper.make_graph(nodes, "g", [a], [y]), opset_imports=[helper.make_opsetid("", 13)], ir_version=8
    )
    Path("bad.onnx").write_bytes(model.SerializeToString())
    for form in ("text", "html", "json"):
        assert command(f"bad.onnx --runtime reference --every-node --class-runs 9 --format {form} --unchecked") == 0
        said = capsys.readouterr().out
        assert "\x1b" not in said
        assert form != "html" or "<b>&" not in said


@pytest.mark.parametrize(
    ("arguments", "code", "sentence"),
    [
        ("{}", 2, "the input 'a' has the dimension N: give it a number with --bind"),
        (
            "{} --bind N=1 --runtime tflite",
            2,
            "unknown runtime 'tflite'; known are onnxruntime, reference, ",
        ),
        (
            "{} --bind N=1 --runtime no_such:Adapter",
            2,
            "the runtime no_such:Adapter cannot be imported: ModuleNotFoundError: No module named 'no_such'",
        ),
        ("{} --bind M=1", 2, "no dimension of the model is the symbol M; it has N"),
        ("{} --bind N=1 --outputs data", 2, "--outputs requires --input or --test-data: the inputs they"),
        ("{} --bind N=1 --test-data .", 2, "the folder '.' has no input_*.pb"),
        ("{} --bind N=1 --test-data data --random 2", 2, "--random excludes --input and --test-data"),
        ("{} --bind N=1 --test-data data --outputs data --every-node", 2, "--every-node excludes --outputs"),
        ("{} --bind N=1 --edition 1999", 2, "unknown edition '1999'"),
        ("missing.onnx", 2, "missing.onnx"),
        ("{} --bind N=1 --output nowhere/report.txt", 2, "No such file or directory"),
    ],
)
def test_misuse_is_one_sentence(arguments, code, sentence, capsys):
    inputs_and_outputs(RIGHT)
    assert command(arguments.format(two_maxima())) == code
    said = capsys.readouterr()
    assert sentence in said.err
    assert said.err.count("\n") == 1
    assert not said.out


def test_a_model_outside_the_profile_is_refused_or_marked(capsys):
    nodes = [helper.make_node("Identity", ["a"], ["y"])]
    a, y = (helper.make_tensor_value_info(name, FLOAT, [2]) for name in "ay")
    model = helper.make_model(
        helper.make_graph(nodes, "g", [a], [y]), opset_imports=[helper.make_opsetid("", 13)], ir_version=8
    )
    Path("identity.onnx").write_bytes(model.SerializeToString())
    assert command("identity.onnx --runtime reference") == 1
    said = capsys.readouterr()
    assert "operator-in-profile" in said.out
    assert "--unchecked compares it anyway" in said.err
    assert command("identity.onnx --runtime reference --unchecked") == 0
    assert "UNCHECKED: the model may be outside the profile" in capsys.readouterr().out


def row(way, ordinary, distance, exceeded=""):
    return Row(way, "y", type="float", distance=distance, ordinary=ordinary, exceeded=exceeded)


def far(ulp, specials=()):
    return Distance(4, 4 if not ulp and not specials else 1, 4, ulp, float(ulp), 0.5, 0.5, specials=specials)


NAN_MISMATCH = SpecialMismatch("NaN", 3, (0,), "1.0", "NaN")


@each_case(
    ("ordinary", "whole", "hypotheses", "exceeded", "said"),
    [
        (far(0), far(0), "", "", ["every output is identical bit for bit"]),
        (far(0), far(9), "", "", ["every output is identical bit for bit", "--bound says whether rounding"]),
        (far(9), far(9), "", "", ["at most 9 ulp, 0.5 absolute, and none differs in kind", "--bound says"]),
        (far(2), far(9, (NAN_MISMATCH,)), "", "", ["at most 2 ulp", "differ in kind: NaN 3", "--bound says"]),
        (far(2, (NAN_MISMATCH,)), far(2, (NAN_MISMATCH,)), "", "", ["elements that differ in kind: NaN 3", "--bound"]),
        (far(2), far(9), "h", "", ["at most 2 ulp", "every value is inside the bound under h"]),
        (far(2), far(9), "h", "is out", ["at most 2 ulp", "1 value is outside the bound under h"]),
        (None, far(9, (NAN_MISMATCH,)), "", "", ["no run has ordinary", "differ in kind: NaN 3", "--bound says"]),
    ],
)
def test_the_judgement_keeps_special_inputs_apart(ordinary, whole, hypotheses, exceeded, said):
    found = Comparison(
        "m", "r", Conditions(edition="2026-11", checked=True, hypotheses=hypotheses or None), "given", 4,
        (row(OUTPUT, ordinary, whole, exceeded),), ordinary_runs=2,
    )  # fmt: skip
    sentences = list(judgement(found))
    assert len(sentences) == len(said)
    assert all(part in sentence for part, sentence in zip(said, sentences, strict=True))


def test_generated_runs_of_ordinary_numbers_are_known(capsys):
    assert command(f"{two_maxima()} --bind N=3 --runtime reference --random 6 --class-runs 0") == 0
    assert "on ordinary inputs (6 of 6 runs): every output is identical bit for bit" in capsys.readouterr().out
