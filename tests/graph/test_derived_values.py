"""Constants that follow from constants, compared with the reference evaluator of the onnx package."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import onnx
import onnx.parser
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

import sonnx
from sonnx.checker.checker import stated_facts
from sonnx.checker.rules import ActiveRules
from sonnx.graph.derived_values import MAX_DERIVED_ELEMENTS
from sonnx.language.evaluator import TensorFacts, Unknown
from sonnx.model.reader import read
from sonnx.profile import catalogue
from tests.support.cases import examples

INTEGERS = (np.int64, np.int32, np.int8, np.uint8)
Draw = Callable[[random.Random], "tuple[list[Any], dict[str, Any]]"]
"""Inputs and attributes of one call; None stands for an omitted input."""


def integers(chance: random.Random, shape: tuple[int, ...], kind: Any = np.int64, low: int = -4, high: int = 5) -> Any:
    least = max(low, np.iinfo(kind).min)
    return np.array([chance.randint(least, high) for _ in range(int(np.prod(shape)))], kind).reshape(shape)


def list_shape(chance: random.Random) -> tuple[int, ...]:
    return chance.choice([(), (1,), (3,), (3,), (0,)])


def pair(low: int = -4, *, divisor: bool = False) -> Draw:
    def drawn(chance: random.Random) -> tuple[list[Any], dict[str, Any]]:
        kind = chance.choice(INTEGERS)
        left, right = (integers(chance, list_shape(chance), kind, low) for _ in range(2))
        if divisor:
            right = np.where(right == 0, np.array(3, kind), right).astype(kind)
        return [left, right], {}

    return drawn


def several(chance: random.Random) -> tuple[list[Any], dict[str, Any]]:
    kind = chance.choice((np.int64, np.int32))
    return [integers(chance, list_shape(chance), kind) for _ in range(chance.randint(1, 3))], {}


def single(chance: random.Random) -> tuple[list[Any], dict[str, Any]]:
    return [integers(chance, list_shape(chance), chance.choice((np.int64, np.int8)))], {}


def mod(chance: random.Random) -> tuple[list[Any], dict[str, Any]]:
    return pair(divisor=True)(chance)[0], {"fmod": chance.choice((0, 1))}


def cast(chance: random.Random) -> tuple[list[Any], dict[str, Any]]:
    to = chance.choice((TensorProto.INT32, TensorProto.INT64, TensorProto.BOOL, TensorProto.UINT8))
    value = integers(chance, list_shape(chance), np.int64, 0 if to == TensorProto.UINT8 else -3)
    if chance.random() < 0.4:
        value = (value * 0.75).astype(chance.choice((np.float32, np.float64, np.float16)))
    elif chance.random() < 0.3:
        value = value > 0
    return [value], {"to": to}


def shape(chance: random.Random) -> tuple[list[Any], dict[str, Any]]:
    value = np.zeros([chance.randint(0, 3) for _ in range(chance.randint(0, 4))], np.float32)
    # below -rank the reference evaluator adds the rank twice, where the text clamps
    return [value], {name: chance.randint(-value.ndim, 5) for name in ("start", "end") if chance.random() < 0.6}


def concat(chance: random.Random) -> tuple[list[Any], dict[str, Any]]:
    return [integers(chance, (chance.randint(0, 3),)) for _ in range(chance.randint(1, 4))], {"axis": 0}


def gather(chance: random.Random) -> tuple[list[Any], dict[str, Any]]:
    rank = chance.choice((1, 1, 2))
    data, axis = integers(chance, (3, 2)[:rank]), chance.randrange(-rank, rank)
    indices = integers(chance, chance.choice([(), (1,), (2,)]) if rank == 1 else ())
    return [data, np.clip(indices, -data.shape[axis], data.shape[axis] - 1)], {"axis": axis}


def slices(chance: random.Random) -> tuple[list[Any], dict[str, Any]]:
    """Starts are indices of the axis: where a negative step begins before it, numpy and ONNX's text differ."""
    extent = chance.randint(1, 5)
    start = np.array([chance.randrange(-extent, extent)], np.int64)
    end = np.array([chance.randint(-6, 6)], np.int64)
    step = np.array([chance.choice((-2, -1, 1, 2))], np.int64)
    axes = chance.choice((np.array([0], np.int64), np.array([-1], np.int64)))
    return [integers(chance, (extent,)), start, end, axes, step], {}


def unsqueeze(chance: random.Random) -> tuple[list[Any], dict[str, Any]]:
    return [integers(chance, ()), np.array([chance.choice((0, -1))], np.int64)], {}


def squeeze(chance: random.Random) -> tuple[list[Any], dict[str, Any]]:
    return [integers(chance, (1,)), np.array([chance.choice((0, -1))], np.int64)], {}


def reshape(chance: random.Random) -> tuple[list[Any], dict[str, Any]]:
    target = chance.choice(([1], [], [-1]))
    return [integers(chance, chance.choice([(), (1,), (1, 1)])), np.array(target, np.int64)], {}


def ranges(chance: random.Random) -> tuple[list[Any], dict[str, Any]]:
    kind = chance.choice((np.int64, np.int32))
    step = np.array(chance.choice((-3, -1, 1, 2)), kind)
    return [integers(chance, (), kind), integers(chance, (), kind, -9, 9), step], {}


def constant(chance: random.Random) -> tuple[list[Any], dict[str, Any]]:
    numbers = [chance.randint(-3, 3) for _ in range(chance.randint(1, 3))]
    return [], chance.choice([{"value_int": chance.randint(-3, 3)}, {"value_ints": numbers}, {"value_floats": [0.5]}])


def constant_of_shape(chance: random.Random) -> tuple[list[Any], dict[str, Any]]:
    value = numpy_helper.from_array(np.array([chance.randint(-3, 3)], np.int64))
    return [np.array(chance.choice(([], [3], [0])), np.int64)], {"value": value}


def expand(chance: random.Random) -> tuple[list[Any], dict[str, Any]]:
    return [integers(chance, chance.choice([(), (1,)])), np.array(chance.choice(([], [1], [4])), np.int64)], {}


def where(chance: random.Random) -> tuple[list[Any], dict[str, Any]]:
    shapes = [chance.choice([(), (1,), (3,)]) for _ in range(3)]
    return [integers(chance, shapes[0]) > 0, integers(chance, shapes[1]), integers(chance, shapes[2])], {}


def logical(chance: random.Random) -> tuple[list[Any], dict[str, Any]]:
    return [integers(chance, list_shape(chance)) > 0], {}


DRAWN: dict[str, Draw] = {
    "Abs": single,
    "Add": pair(),
    "Cast": cast,
    "Concat": concat,
    "Constant": constant,
    "ConstantOfShape": constant_of_shape,
    "Div": pair(divisor=True),
    "Equal": pair(),
    "Expand": expand,
    "Gather": gather,
    "Identity": single,
    "Less": pair(),
    "Max": several,
    "Min": several,
    "Mod": mod,
    "Mul": pair(),
    "Neg": single,
    "Not": logical,
    "Range": ranges,
    "Reshape": reshape,
    "Shape": shape,
    "Slice": slices,
    "Squeeze": squeeze,
    "Sub": pair(),
    "Transpose": single,
    "Unsqueeze": unsqueeze,
    "Where": where,
}


def model_of(operator: str, inputs: list[Any], attributes: dict[str, Any]) -> onnx.ModelProto:
    """A model of one node whose inputs are constants; its output is declared by no shape."""
    names = [f"i{index}" for index in range(len(inputs))]
    node = helper.make_node(operator, names, ["y"], name="n", **attributes)
    tensors = [numpy_helper.from_array(np.asarray(each), name) for each, name in zip(inputs, names, strict=True)]
    graph = helper.make_graph([node], "g", [], [onnx.ValueInfoProto(name="y")], tensors)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 22)], ir_version=10)


def facts_of(model: onnx.ModelProto) -> TensorFacts:
    found = stated_facts(read(model.SerializeToString()), ActiveRules(catalogue.edition_named(None))).value("y")
    assert found is not None
    return found


def calls() -> Iterator[tuple[str, list[Any], dict[str, Any]]]:
    chance = random.Random(28)
    for operator, draw in DRAWN.items():
        for _ in range(examples(40, 2000)):
            yield operator, *draw(chance)


def test_every_operator_with_values_is_drawn() -> None:
    assert DRAWN.keys() == {each.name for each in catalogue.operators() if any(one.values for one in each.outputs)}


def test_derived_values_are_those_of_the_reference_evaluator() -> None:
    derived = dict.fromkeys(DRAWN, 0)
    for operator, inputs, attributes in calls():
        model = model_of(operator, inputs, attributes)
        facts = facts_of(model)
        if not facts.derived:
            assert isinstance(facts.values, Unknown)
            continue
        [expected] = ReferenceEvaluator(model).run(None, {})
        told = operator, inputs, attributes, facts
        assert facts.shape == np.shape(expected), told
        assert facts.values == tuple(np.asarray(expected).astype(object).reshape(-1).tolist()), told
        derived[operator] += 1
    assert all(number >= 5 for number in derived.values()), derived


def is_derived(operator: str, *inputs: Any, **attributes: Any) -> bool:
    return facts_of(model_of(operator, list(inputs), attributes)).derived


def test_what_wraps_around_or_is_no_integer_is_not_derived() -> None:
    most = np.array([2**63 - 1], np.int64)
    assert is_derived("Add", most, np.array([0], np.int64))
    assert not is_derived("Add", most, np.array([1], np.int64))
    assert not is_derived("Neg", np.array([-128], np.int8))
    assert not is_derived("Add", np.array([1], np.float32), np.array([1], np.float32))
    assert not is_derived("Cast", np.array([1e30], np.float32), to=TensorProto.INT64)
    assert not is_derived("Cast", np.array([np.nan], np.float32), to=TensorProto.INT64)


def test_long_lists_and_matrices_are_not_derived() -> None:
    assert is_derived("Identity", np.zeros(MAX_DERIVED_ELEMENTS, np.int64))
    assert not is_derived("Identity", np.zeros(MAX_DERIVED_ELEMENTS + 1, np.int64))
    assert not is_derived("Identity", np.zeros((2, 2), np.int64))


def test_nothing_is_derived_where_a_rule_of_the_operator_is_open() -> None:
    assert not is_derived("Gather", np.array([1, 2], np.int64), np.array([2], np.int64), axis=0)
    assert not is_derived("Div", np.array([1], np.int64), np.array([0], np.int64))
    assert not is_derived("Concat", np.array([1], np.int64), np.array([1], np.int32), axis=0)
    assert not is_derived("Squeeze", np.array([1, 2], np.int64), np.array([0], np.int64))


def test_a_declaration_that_contradicts_leaves_nothing_to_derive() -> None:
    model = model_of("Shape", [np.zeros((2, 3), np.float32)], {})
    assert facts_of(model).values == (2, 3)
    model.graph.output[0].type.tensor_type.shape.dim.add().dim_value = 3
    model.graph.output[0].type.tensor_type.elem_type = TensorProto.INT64
    assert not facts_of(model).derived


def test_a_default_that_a_caller_may_replace_is_not_known() -> None:
    model = model_of("Neg", [np.array([2], np.int64)], {})
    assert facts_of(model).values == (-2,)
    model.graph.input.append(helper.make_tensor_value_info("i0", TensorProto.INT64, [1]))
    assert not facts_of(model).derived
    model.ir_version = 3
    assert facts_of(model).values == (-2,)


def test_a_rule_of_the_profile_does_not_make_a_constant_unknown() -> None:
    """Div of a list by one number fails Div.same-shape; what it computes is known all the same."""
    text = """<ir_version: 10, opset_import: ["" : 14]> g (float[6] x) => (float[2, 4] y)
    <int64[2] a = {8, 12}, int64[1] b = {4}>
    { s = Div(a, b) y = Reshape <allowzero = 0> (x, s) }"""
    report = sonnx.check(onnx.parser.parse_model(text).SerializeToString())
    said = {finding.rule: (finding.verdict, finding.actual) for finding in report.findings}
    assert said["Div.same-shape"][0] == "fail"
    verdict, actual = said["Reshape.Y-shape"]
    assert verdict == "fail" and "the constants of the model determine shape = [2, 3]" in actual


def test_a_constant_given_by_a_list_is_known() -> None:
    """The profile asks for the attribute value; what another attribute says is known all the same."""
    text = """
    <ir_version: 10, opset_import: ["" : 13]>
    g (float[2, 1] x) => (float[2] y) <int64[1] a> { a = Constant<value_ints = [1]>()  y = Squeeze(x, a) }
    """
    report = sonnx.check(onnx.parser.parse_model(text).SerializeToString())
    assert [each.rule for each in report.findings if each.verdict == "assumed"] == []
    assert {each.rule for each in report.findings if each.verdict == "fail"} == {
        "Constant.value-written",
        "operator-in-profile",
    }
