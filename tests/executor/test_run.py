"""Running whole models: which inputs they take, what is refused with which message, what is returned."""

import hashlib
import struct
import subprocess
import sys
from functools import partial
from pathlib import Path

import ml_dtypes
import numpy
import pytest
from onnx import AttributeProto, TensorProto, helper, numpy_helper

import sonnx
from sonnx.executor import executor
from sonnx.executor.distance import first_difference
from sonnx.executor.plan import build_plan
from sonnx.executor.preparation import RunDomain
from sonnx.model.reader import read
from sonnx.numerics.formats import ELEMENTS, format_of, patterns
from tests.support.cases import each_case
from tests.support.definitions import run_by_definitions
from tests.support.models import FLOAT, INT64, MAX, VIOLATING, chain, graph, node_model
from tests.support.seed_examples import CASES, EDITIONS, elements, violated
from tests.support.seed_examples import model as example_model

A, B = numpy.zeros((2, 3), "f4"), numpy.array([1, -1, numpy.nan], "f4")


# ------------------------------------------------------------------ values


def tensor(case):
    kind = ELEMENTS[case["type"]]
    made = format_of(kind)
    whole = numpy.array(elements(case), made.unsigned if made else kind)
    return whole.view(kind).reshape(case["shape"])


@each_case("edition", [edition["name"] for edition in EDITIONS])
@each_case("case", CASES.values(), ids=CASES)
def test_examples_of_the_texts(case, edition):
    """The stated results, to the bit; where the edition refuses the model it says so, and runs it unchecked."""
    source = example_model(case).SerializeToString()
    given = {f"x{m}": tensor(x) for m, x in enumerate(case["inputs"])}
    violates = violated(case, edition)
    if violates:
        with pytest.raises(sonnx.NotConforming) as refused:
            sonnx.run(source, given, edition)
        assert {finding.rule for finding in refused.value.report.findings} >= set(violates)
    found = sonnx.run(source, given, edition, unchecked=bool(violates))["y"]
    assert first_difference(found, tensor(case["output"]), bits=True) is None


@each_case("case", CASES.values(), ids=CASES)
def test_definitions_without_kernels_give_the_same(case):
    given = {f"x{m}": tensor(x) for m, x in enumerate(case["inputs"])}
    found = run_by_definitions(example_model(case).SerializeToString(), given, "2025-11")["y"]
    assert first_difference(found, tensor(case["output"]), bits=True) is None


def test_bfloat16_from_its_bits():
    source = node_model("Max", [(TensorProto.BFLOAT16, [2])] * 2, (TensorProto.BFLOAT16, [2]))
    a, b = (numpy.array(bits, "u2").view(ml_dtypes.bfloat16) for bits in ([0x8000, 0x7F81], [0x0000, 0x7FC0]))
    assert patterns(sonnx.run(source, {"a": a, "b": b})["y"]).tolist() == [0, 0x7F81]


@each_case(
    ("element", "pattern"),
    [("float", 0xFF800000), ("double", 0xFFF0000000000000), ("float16", 0xFC00), ("bfloat16", 0xFF80), ("bool", 0),
     ("int8", -128), ("uint8", 0), ("int32", -(2**31)), ("int64", -(2**63)), ("uint64", 0)],
)  # fmt: skip
def test_the_maximum_of_no_element(element, pattern):
    number = getattr(TensorProto, element.upper())
    inputs = [(number, [2, 0]), (INT64, [1])]
    source = node_model("ReduceMax", inputs, (number, [2]), operator_set=20, keepdims=0, noop_with_empty_axes=0)
    given = {"a": numpy.zeros((2, 0), ELEMENTS[element]), "b": numpy.array([-1])}
    assert patterns(sonnx.run(source, given)["y"]).tolist() == [pattern] * 2


@each_case(("edition", "first", "last"), [("2025-10", 1, 1), ("2025-11", 1, 1), ("2026-08", 0, 2), ("2026-11", 0, 2)])
def test_zeros_of_argmax_by_edition(edition, first, last):
    for select, wanted in ((0, first), (1, last)):
        source = node_model("ArgMax", [(FLOAT, [3])], (INT64, []), axis=0, keepdims=0, select_last_index=select)
        found = sonnx.run(source, {"a": numpy.array([-0.0, 0.0, -0.0], "f4")}, edition)
        assert found["y"].tolist() == wanted
        assert found["y"].shape == ()


def test_argmax_selects_first_or_last_nan():
    row = numpy.array([1, numpy.nan, 5, numpy.nan, numpy.inf], "f4")
    for select, wanted in ((0, 1), (1, 3)):
        source = node_model("ArgMax", [(FLOAT, [5])], (INT64, []), axis=0, keepdims=0, select_last_index=select)
        assert sonnx.run(source, {"a": row})["y"] == wanted


def test_many_inputs_and_rank_0():
    many = node_model("Max", [(INT64, [])] * 20, (INT64, []))
    given = {chr(ord("a") + i): numpy.array((7 * i) % 20) for i in range(20)}
    assert sonnx.run(many, given)["y"] == 19


# ------------------------------------------------------------------ plans


def planned(model, given):
    domain = RunDomain(executor.active_rules(None), conforming=False)
    return build_plan(read(model.SerializeToString()), domain, given)


def test_a_chain_takes_two_buffers_and_drops_its_values():
    given = {"a": numpy.arange(1024, dtype="f4"), "b": numpy.ones(1024, "f4")}
    made = planned(chain(100), given)
    assert made.buffers == 2
    assert [executor.execute(made)["y"].tolist() for _ in range(2)] == [[1, 1, *range(2, 1024)]] * 2
    dropped = {place for step in made.steps for place in step.dead_values}
    assert {place for step in made.steps for place in (*step.inputs, *step.outputs)} - dropped == {made.outputs["y"]}


def test_all_values():
    given = {"a": numpy.arange(4, dtype="f4"), "b": numpy.ones(4, "f4")}
    found = sonnx.run(chain(3).SerializeToString(), given, all_values=True)
    assert list(found) == ["y", "v1", "v2"]
    assert all(value.tolist() == [1, 1, 2, 3] for value in found.values())


def test_a_value_used_twice_and_late_is_kept():
    nodes = [
        helper.make_node("Max", ["a", "b"], ["p"]),
        helper.make_node("Max", ["p", "b"], ["q"]),
        helper.make_node("Max", ["q", "b"], ["r"]),
        helper.make_node("Max", ["r", "p"], ["y"]),
    ]
    info = {name: (FLOAT, [2]) for name in "pqr"}
    model = graph(nodes, {"a": (FLOAT, [2]), "b": (FLOAT, [2])}, {"y": (FLOAT, [2]), "p": (FLOAT, [2])}, info=info)
    a, b = numpy.array([1, 5], "f4"), numpy.array([2, 4], "f4")
    found = sonnx.run(model.SerializeToString(), {"a": a, "b": b}, unchecked=True)
    assert [value.tolist() for value in found.values()] == [[2, 5], [2, 5]]
    assert not numpy.shares_memory(found["y"], found["p"])


def test_outputs_share_no_memory_with_inputs_or_each_other():
    nodes = [helper.make_node("Identity", ["a"], [name]) for name in ("y", "z")]
    model = graph(nodes, {"a": (FLOAT, [2])}, {"y": (FLOAT, [2]), "z": (FLOAT, [2])})
    a = numpy.array([0x7F800001, 1], "u4").view("f4")  # a signalling NaN stays one
    found = sonnx.run(model.SerializeToString(), {"a": a}, unchecked=True)
    assert [patterns(value).tolist() for value in found.values()] == [[0x7F800001, 1]] * 2
    arrays = [a, *found.values()]
    assert not any(numpy.shares_memory(x, y) for i, x in enumerate(arrays) for y in arrays[:i])


def test_axes_that_a_node_computes():
    nodes = [
        helper.make_node("Max", ["b", "b"], ["axes"]),
        helper.make_node("ReduceMax", ["a", "axes"], ["r"], keepdims=0, noop_with_empty_axes=0),
        helper.make_node("Max", ["r", "r"], ["y"]),
    ]
    model = graph(nodes, {"a": (FLOAT, [2, 3]), "b": (INT64, [1])}, {"y": (FLOAT, None)}, operator_set=18)
    a = numpy.arange(6, dtype="f4").reshape(2, 3)
    for axis, wanted in ((0, [3, 4, 5]), (-1, [2, 5])):
        found = sonnx.run(model.SerializeToString(), {"a": a, "b": numpy.array([axis])}, unchecked=True)
        assert found["y"].tolist() == wanted
    with pytest.raises(sonnx.ErrorCondition, match=r"ReduceMax\.axes-range") as stop:
        sonnx.run(model.SerializeToString(), {"a": a, "b": numpy.array([2])}, unchecked=True)
    assert stop.value.rule == "ReduceMax.axes-range"


def test_a_constant_node_gives_axes():
    axes = helper.make_node("Constant", [], ["axes"], value_ints=[1])
    reduce = helper.make_node("ReduceMax", ["a", "axes"], ["y"], keepdims=0)
    model = graph([axes, reduce], {"a": (FLOAT, [2, 3])}, {"y": (FLOAT, [2])}, operator_set=18)
    a = numpy.arange(6, dtype="f4").reshape(2, 3)
    assert sonnx.run(model.SerializeToString(), {"a": a}, unchecked=True)["y"].tolist() == [2, 5]


@each_case(
    ("attributes", "element", "wanted"),
    [({"value_float": 1.5}, "float", 1.5), ({"value_floats": [1.5, -0.0]}, "float", [1.5, -0.0]),
     ({"value_string": "é"}, "string", "é"), ({"value_strings": ["a", ""]}, "string", ["a", ""]),
     ({"value_int": 7}, "int64", 7), ({"value_ints": [7, 8]}, "int64", [7, 8]),
     ({"value": numpy_helper.from_array(numpy.array([[1, 2]], "i2"))}, "int16", [[1, 2]])],
)  # fmt: skip
def test_constants(attributes, element, wanted):
    node = helper.make_node("Constant", [], ["y"], **attributes)
    model = graph([node], {}, {"y": (getattr(TensorProto, element.upper()), numpy.shape(wanted))})
    found = sonnx.run(model.SerializeToString(), {}, unchecked=True)["y"]
    assert (found.tolist(), found.dtype) == (wanted, ELEMENTS[element])


@each_case("attributes", [{"value_string": b"\xff"}, {"value_int": 1, "value_float": 1.0}, {}])
def test_constants_without_a_meaning(attributes):
    model = graph([helper.make_node("Constant", [], ["y"], **attributes)], {}, {"y": (FLOAT, [])})
    with pytest.raises(sonnx.Stop, match="Constant"):
        sonnx.run(model.SerializeToString(), {}, unchecked=True)


# ------------------------------------------------------------------ initializers


def test_initializers_are_constants_and_not_asked_for():
    weights = numpy_helper.from_array(B, "b")
    node = helper.make_node("Max", ["a", "b"], ["y"])
    for ir_version, inputs in ((8, {"a": (FLOAT, [2, 3])}), (3, {"a": (FLOAT, [2, 3]), "b": (FLOAT, [3])})):
        model = graph([node], inputs, {"y": (FLOAT, [2, 3])}, ir_version=ir_version, initializers=[weights])
        found = sonnx.run(model.SerializeToString(), {"a": A})["y"]
        assert first_difference(found, numpy.maximum(A, B)) is None
        with pytest.raises(sonnx.BadInput, match="unknown inputs: 'b'"):
            sonnx.run(model.SerializeToString(), {"a": A, "b": B})


def external(location, **entries):
    made = TensorProto(name="b", data_type=FLOAT, dims=[3], data_location=TensorProto.EXTERNAL)
    for key, value in {"location": location, **entries}.items():
        made.external_data.add(key=key, value=str(value))
    return made


def saved(tmp_path, initializer):
    folder = tmp_path / "model"
    folder.mkdir(exist_ok=True)
    node = helper.make_node("Max", ["a", "b"], ["y"])
    model = graph([node], {"a": (FLOAT, [2, 3])}, {"y": (FLOAT, [2, 3])}, initializers=[initializer])
    (folder / "model.onnx").write_bytes(model.SerializeToString())
    (folder / "weights").write_bytes(b"\0" * 5 + B.tobytes())  # unaligned
    (tmp_path / "outside").write_bytes(B.tobytes())
    return folder / "model.onnx"


def test_external_data(tmp_path):
    path = saved(tmp_path, external("weights", offset=5, length=12))
    assert first_difference(sonnx.run(path, {"a": A})["y"], numpy.maximum(A, B)) is None


def test_the_checksum_of_external_data_is_compared(tmp_path):
    right = hashlib.sha1(b"\0" * 5 + B.tobytes(), usedforsecurity=False).hexdigest()
    for stated in (right, right.upper()):
        path = saved(tmp_path, external("weights", offset=5, length=12, checksum=stated))
        assert first_difference(sonnx.run(path, {"a": A})["y"], numpy.maximum(A, B)) is None
    path = saved(tmp_path, external("weights", offset=5, length=12, checksum="0" * 40))
    with pytest.raises(sonnx.NotExecutable, match="the file 'weights' of the constant 'b' has not the checksum '0000"):
        sonnx.run(path, {"a": A})


@pytest.mark.parametrize("divisors", [(3, -2), (3, 0)])
def test_external_divisors_are_decided_by_their_values(tmp_path, divisors):
    (tmp_path / "b").write_bytes(numpy.array(divisors, "<i4").tobytes())
    constant = TensorProto(name="b", data_type=TensorProto.INT32, dims=[2], data_location=TensorProto.EXTERNAL)
    constant.external_data.add(key="location", value="b")
    shape = (TensorProto.INT32, [2])
    model = graph([helper.make_node("Div", ["a", "b"], ["y"])], {"a": shape}, {"y": shape}, initializers=[constant])
    (tmp_path / "model.onnx").write_bytes(model.SerializeToString())
    a = numpy.array([7, 7], "i4")
    assert sonnx.check(tmp_path / "model.onnx").verdict.value == "undecided"
    if 0 in divisors:
        with pytest.raises(sonnx.NotConforming, match=r"fail Div\.integer-divisor-not-zero"):
            sonnx.run(tmp_path / "model.onnx", {"a": a})
    else:
        assert sonnx.run(tmp_path / "model.onnx", {"a": a})["y"].tolist() == [2, -3]


@pytest.mark.parametrize(
    ("tensor", "sentence"),
    [
        (external("missing"), "does not exist"),
        (external("../outside"), "is not in the folder of the model"),
        (external("link"), "is not in the folder of the model"),
        (external(""), "is not in the folder of the model"),
        (external("weights", offset=5, length=8), "takes 12 bytes; the file states 8 from byte 5 of 17"),
        (external("weights", offset=6, length=12), "takes 12 bytes; the file states 12 from byte 6 of 17"),
        (external("weights", offset=10**19), "takes 12 bytes"),
        (external("weights"), "takes 12 bytes; the file states 17"),
        (external("weights", offset="five"), "not a number"),
    ],
    ids=lambda each: each if isinstance(each, str) else str(each.external_data)[:40],
)
def test_external_data_refused(tmp_path, tensor, sentence):
    path = saved(tmp_path, tensor)
    (path.parent / "link").symlink_to(tmp_path / "outside")
    with pytest.raises(sonnx.NotExecutable, match=sentence):
        sonnx.run(path, {"a": A}, unchecked=True)
    with pytest.raises(sonnx.Stop):
        sonnx.run(path.read_bytes(), {"a": A})


@each_case(
    ("tensor", "sentence"),
    [
        (TensorProto(name="b", data_type=FLOAT, dims=[3]), "has no values"),
        (TensorProto(name="b", data_type=FLOAT, dims=[3], raw_data=b"\0" * 11), "has 11 bytes"),
        (TensorProto(name="b", data_type=FLOAT, dims=[-3], raw_data=b""), "negative dimension"),
        (TensorProto(name="b", data_type=TensorProto.BOOL, dims=[1], raw_data=b"\2"), "neither 0 nor 1"),
        (TensorProto(name="b", data_type=TensorProto.STRING, dims=[1], string_data=[b"\xff"]), "not UTF-8"),
        (TensorProto(name="b", data_type=TensorProto.STRING, dims=[2], string_data=[b"x"]), "has 1 strings"),
        (TensorProto(name="b", data_type=TensorProto.INT4, dims=[3], raw_data=b"x"), "has 1 bytes"),
    ],
)
def test_constants_that_are_not_well_formed(tensor, sentence):
    node = helper.make_node("Max", ["a", "b"], ["y"])
    model = graph([node], {"a": (FLOAT, [2, 3])}, {"y": (FLOAT, [2, 3])}, initializers=[tensor])
    with pytest.raises(sonnx.NotExecutable, match=sentence):
        sonnx.run(model.SerializeToString(), {"a": A}, unchecked=True)


# ------------------------------------------------------------------ inputs


@each_case(
    ("given", "sentence"),
    [
        ({"a": A}, r"missing inputs: 'b'; the model takes 'a' float \[2, 3\], 'b' float \[3\]"),
        ({"a": A, "b": B, "c": B}, "unknown inputs: 'c'; the model takes 'a' float"),
        ({"a": A, "b": B.astype("f8")}, "the input 'b' is of type double; the model declares float"),
        ({"a": A, "b": B.astype(">f4")}, "the input 'b' is of type >f4; the model declares float"),
        ({"a": A, "b": numpy.zeros(4, "f4")}, r"the input 'b' has the shape \[4\]; the model declares \[3\]"),
        ({"a": A.T, "b": B}, r"the input 'a' has the shape \[3, 2\]; the model declares \[2, 3\]"),
        ({"a": A, "b": B[None]}, r"the input 'b' has the shape \[1, 3\]; the model declares \[3\]"),
        ({"a": A, "b": [1.0, 2.0, 3.0]}, "the input 'b' is not a numpy array but of type list"),
    ],
)
def test_inputs_that_do_not_fit(given, sentence):
    with pytest.raises(sonnx.BadInput, match=sentence) as stop:
        sonnx.run(MAX, given)
    assert stop.value.exit_code == 2


def test_symbols_stand_for_one_number():
    source = node_model("Max", [(FLOAT, ["N"]), (FLOAT, ["N"])], (FLOAT, ["N"]))
    assert sonnx.run(source, {"a": B, "b": B}, unchecked=True)["y"].shape == (3,)
    with pytest.raises(sonnx.BadInput, match="the symbol 'N' is 3 in the input 'a' and 6 in 'b'"):
        sonnx.run(source, {"a": B, "b": A.ravel()}, unchecked=True)


def test_any_strides_and_no_write_to_inputs():
    a = numpy.flip(numpy.broadcast_to(numpy.array([3, 1, 2], "f4"), (2, 3)))
    assert sonnx.run(MAX, {"a": a, "b": B})["y"].tolist()[0][:2] == [2, 1]
    big = numpy.arange(12, dtype="f4").reshape(4, 3)[::2]
    sonnx.run(MAX, {"a": big, "b": B})
    assert big.tolist() == [[0, 1, 2], [6, 7, 8]]


# ------------------------------------------------------------------ refusals


REFUSED = {
    "an edition": (lambda: sonnx.run(MAX, {}, "2099"), "unknown edition '2099'"),
    "bytes": (lambda: sonnx.run(b"no model", {}), "the model"),
    "planned": (
        lambda: sonnx.run(node_model("Identity", [(FLOAT, [3])], (FLOAT, [3])), {"a": B}),
        "operator-in-profile",
    ),
    "not known": (
        lambda: unchecked(node_model("Einsum", [(FLOAT, [3])], (FLOAT, [3]))),
        "does not know the operator 'Einsum'",
    ),
    "the registry": (
        lambda: unchecked(node_model("Registry", [(FLOAT, [3])], (FLOAT, [3]))),
        "does not know the operator 'Registry'",
    ),
    "a shared module": (
        lambda: unchecked(node_model("Recurrent_cells", [(FLOAT, [3])], (FLOAT, [3]))),
        "does not know the operator 'Recurrent_cells'",
    ),
    "letter case": (
        lambda: unchecked(node_model("max", [(FLOAT, [3])], (FLOAT, [3]))),
        "does not know the operator 'max'",
    ),
    "a path": (
        lambda: unchecked(node_model("../operators/max", [(FLOAT, [3])], (FLOAT, [3]))),
        "does not know the operator",
    ),
    "an attribute": (lambda: unchecked(node_model("Max", [(FLOAT, [3])], (FLOAT, [3]), axis=1)), "known-attribute"),
    "a kind": (
        lambda: unchecked(node_model("ArgMax", [(FLOAT, [3])], (INT64, []), axis=0.5, keepdims=0)),
        "attribute-kind",
    ),
    "an input too many": (
        lambda: unchecked(node_model("ArgMax", [(FLOAT, [3])] * 2, (INT64, []))),
        "input-count",
    ),
    "no input": (lambda: unchecked(node_model("ArgMax", [], (INT64, [])), {}), "input-count"),
}


def unchecked(source, given=None):
    names = {value.name for value in read(source).graph.inputs}
    return sonnx.run(source, dict.fromkeys(names, B) if given is None else given, unchecked=True)


@each_case("what", REFUSED)
def test_refused(what):
    call, sentence = REFUSED[what]
    with pytest.raises((sonnx.Stop, sonnx.Unreadable, ValueError), match=sentence):
        call()


@each_case("rule", VIOLATING)
@each_case("run", [partial(sonnx.run, unchecked=True), run_by_definitions], ids=["kernel", "definition"])
def test_rules_that_values_rest_on_stop_even_unchecked(rule, run):
    inputs = read(VIOLATING[rule]).graph.inputs
    given = {value.name: numpy.zeros(value.type.shape, ELEMENTS[value.type.element]) for value in inputs}
    with pytest.raises(sonnx.ErrorCondition) as stop:
        run(VIOLATING[rule], given)
    assert (stop.value.rule, stop.value.exit_code) == (rule, 1)
    assert str(stop.value).startswith("node 'n' (")
    assert rule in str(stop.value)


def test_graphs_that_do_not_hang_together():
    for nodes, sentence in (
        ([helper.make_node("Max", ["a", "later"], ["y"])], "an input is 'later', which nothing before it defines"),
        ([helper.make_node("Max", ["a"], ["z"])], "a graph output is 'y', which nothing before it defines"),
        ([helper.make_node("Max", ["a"], ["y"])] * 2, "the name 'y' is defined twice"),
        ([helper.make_node("Identity", ["a"], ["a"])], "the name 'a' is defined twice"),
    ):
        with pytest.raises(sonnx.NotExecutable, match=sentence):
            unchecked(graph(nodes, {"a": (FLOAT, [3])}, {"y": (FLOAT, [3])}).SerializeToString())


def test_an_attribute_of_a_caller_is_refused():
    node = helper.make_node("ArgMax", ["a"], ["y"], keepdims=0)
    node.attribute.append(AttributeProto(name="axis", type=AttributeProto.INT, ref_attr_name="outer"))
    with pytest.raises(sonnx.NotExecutable, match="attribute-reference"):
        unchecked(graph([node], {"a": (FLOAT, [3])}, {"y": (INT64, [])}).SerializeToString())


# ------------------------------------------------------------------ the package


def test_a_check_loads_no_numpy():
    code = (
        "import sys, sonnx\n"
        f"sonnx.check({MAX!r})\n"
        "assert 'numpy' not in sys.modules and 'run' in sonnx.__all__\n"
        "assert callable(sonnx.run)\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, cwd=Path(sonnx.__file__).parent.parent)


def test_a_name_the_package_lacks():
    with pytest.raises(AttributeError, match="no attribute 'runs'"):
        sonnx.runs  # noqa: B018


def test_float_bits_of_the_examples_are_the_packages():
    """The tests' own packing of floats and the executor's patterns are one encoding."""
    assert patterns(numpy.array([1.5], "f4")).tolist() == [struct.unpack("<I", struct.pack("<f", 1.5))[0]]
