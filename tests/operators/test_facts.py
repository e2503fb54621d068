"""Facts of operators, held by running them: what is declared holds, and what holds is declared or has a reason here.

The calls are those of onnx's node tests and some more (`tests/support/fact_checks.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from math import inf
from typing import Any

import numpy as np
import onnx
import pytest

from sonnx.numerics.formats import NAMES
from sonnx.operators import (
    StatedOperator,
    all_operators,
    all_stated_operators,
    find_operator,
    names_of,
    operator_facts,
    stated_operator,
    stated_operators,
)
from sonnx.operators.operator import CONSUMED_INPUTS
from sonnx.profile import catalogue
from tests.support import fact_checks
from tests.support.cases import DEEP
from tests.support.fact_checks import Call, calls

FACTS = all_stated_operators()
OUTSIDE_CATALOGUE = {name: facts for name, facts in FACTS.items() if catalogue.operator(name) is None}
TENSOR_ONLY = "its input may be an optional value and not a tensor"
ONLY_TYPE = "its second input gives its type only"
OPEN_ORDER = "of more than two inputs the text leaves open in which order they are added"
BY_ATTRIBUTE = "another value of an attribute gives another answer"

ONE_CHECK: Mapping[str, Mapping[str, str]] = {
    "elementwise": {"OptionalGetElement": TENSOR_ONLY, "Dropout": "only outside training", "CastLike": ONLY_TYPE},
    "elementwise_with_scalars": dict.fromkeys(names_of(lambda facts: facts.elementwise), "for other inputs, too")
    | {"CastLike": ONLY_TYPE},
    "continuous": {
        "Cast": "to a type of few digits it jumps",
        "GridSample": "to the nearest element it jumps",
        "RoiAlign": "it jumps where a region is rounded to whole elements",
        "LpNormalization": "it jumps where the norm is 0",
        "Mod": "it jumps where the quotient is a whole number",
        "OptionalGetElement": TENSOR_ONLY,
        "Resize": "to the nearest element it jumps with a scale of floats",
        "Unique": "the number of its elements jumps",
    },
    "commutative": {"Mean": OPEN_ORDER},
    "commutative_numbers": dict.fromkeys(names_of(lambda facts: facts.commutative), "it is commutative")
    | {"Mean": OPEN_ORDER},
    "associative": {"TensorScatter": "the calls write all of the first input"},
    "keeps_order": {"OptionalGetElement": TENSOR_ONLY, "Dropout": "its second output has other elements"},
    "selects": {
        "Clip": "a bound that is left out is that of the type",
        "Dropout": "its second output has other elements",
        "OptionalGetElement": TENSOR_ONLY,
        "ReduceLogSum": "the sums of what is drawn are infinite",
    },
    "reads_shapes_only": {"OptionalHasElement": "it reads whether its input has a value"},
    "random": {},
    "independent_outputs": {},
}  # fmt: skip
"""By fact the operators that pass its check on every call and do not declare it, each with the reason."""

OTHER_REASONS: Mapping[str, Mapping[str, str]] = {
    "moved_inputs": {
        "Pad": "of its other inputs only the element that fills is moved",
        "MaxUnpool": "its second input says where, and two elements may meet",
        "OptionalGetElement": TENSOR_ONLY,
        "TensorScatter": "it moves elements of the first two inputs, not of the third",
        "Upsample": "only to the nearest element",
    },
    "monotone": {
        "CastLike": ONLY_TYPE,
        "DequantizeLinear": "the scale may be negative",
        "QuantizeLinear": "the scale may be negative",
        "Dropout": "only outside training",
        "Max": "of one input only",
        "Mean": "of one input only",
        "Min": "of one input only",
        "OptionalGetElement": TENSOR_ONLY,
        "Sum": "of one input only",
    },
    "lipschitz": {
        "Cast": "between types of floats only",
        "Celu": BY_ATTRIBUTE, "Dropout": "only outside training", "Elu": BY_ATTRIBUTE, "HardSigmoid": BY_ATTRIBUTE,
        "LeakyRelu": BY_ATTRIBUTE, "Max": "of one input only", "Mean": "of one input only", "Min": "of one input only",
        "OptionalGetElement": TENSOR_ONLY, "Selu": BY_ATTRIBUTE, "Sum": "of one input only",
    },
    "ends": {
        "Celu": BY_ATTRIBUTE, "Elu": BY_ATTRIBUTE, "LpNormalization": BY_ATTRIBUTE, "Selu": BY_ATTRIBUTE,
        "Swish": BY_ATTRIBUTE, "ThresholdedRelu": BY_ATTRIBUTE,
    },
    "keeps_shape": {
        "LinearAttention": "the calls have values of the size of the queries", "OptionalGetElement": TENSOR_ONLY,
    },
    "output_element": {
        "OptionalGetElement": TENSOR_ONLY, "QLinearMatMul": "that of its last input",
    },
}  # fmt: skip

NO_OTHER_CALL = "no call here shows the difference"
VALUELESS_REASONS: Mapping[str, str] = {
    "allowzero": NO_OTHER_CALL, "ceil_mode": NO_OTHER_CALL, "center_point_box": NO_OTHER_CALL, "clip": NO_OTHER_CALL,
    "extrapolation_value": NO_OTHER_CALL,
    "linear_before_reset": NO_OTHER_CALL,
    "kv_num_heads": NO_OTHER_CALL, "noop_with_empty_axes": NO_OTHER_CALL, "num_heads": NO_OTHER_CALL,
    "q_num_heads": NO_OTHER_CALL, "right_window_size": NO_OTHER_CALL, "select_last_index": NO_OTHER_CALL,
    "transA": NO_OTHER_CALL, "transB": NO_OTHER_CALL,
    "chunk_size": "how an implementation groups sums, which floats show",
    "hidden_size": "only one value is valid, which the weights have, too",
    "momentum": "training shows it",
    "output_dtype": "a zero point has the type, too; without one it changes the type",
    "precision": "the type in which it divides, which rounds",
    "saturate": "only for types of eight bits",
    "sorted": "the text leaves the order open where it is 0",
}  # fmt: skip
"""Attributes that changed nothing in any call, and are declared for no operator."""


def _runs(name: str) -> list[Call]:
    return list(calls().get(name, ()))


def _passes(check: Callable[[Call], Any], name: str) -> bool | None:
    of_floats = [call for call in _runs(name) if call.outputs[0] in fact_checks.FLOAT_NUMBERS]
    some = _runs(name) if check is not fact_checks.continuous else of_floats if DEEP else of_floats[:1]
    told = None
    for call in some:
        answer = check(call)
        if answer is False:
            return False
        told = told or answer
    return told


def test_every_operator_of_onnx_has_facts() -> None:
    assert set(FACTS) == {schema.name for schema in onnx.defs.get_all_schemas() if not schema.domain}


def test_an_operator_that_runs_has_one_object() -> None:
    assert {*all_operators()}.isdisjoint(each.name for each in stated_operators.STATED)


def test_most_operators_run_here() -> None:
    """What has no call is a draw, a sequence, a function of strings or a node with graphs."""
    missing = {name for name, facts in FACTS.items() if name not in calls() and not facts.random}
    assert {name for name in missing if FACTS[name].elementwise} == {"Mish", "RegexFullMatch", "StringConcat"}
    assert not missing & {*all_operators()} - {"Constant"}
    assert len(missing) < 35


@pytest.mark.parametrize("fact", ONE_CHECK)
def test_a_fact_holds_where_it_is_declared_and_is_declared_where_it_holds(fact: str) -> None:
    check, declared = getattr(fact_checks, fact), names_of(lambda facts: getattr(facts, fact))
    some = {*calls()} if DEEP else {*[*calls()][::3], *declared}
    passed = {name: _passes(check, name) for name in calls() if name in some}
    assert not {name for name in declared if passed.get(name) is False}, f"{fact} does not hold"
    undeclared = {name for name, holds in passed.items() if holds and name not in declared}
    assert undeclared - {*ONE_CHECK[fact]} == set(), f"{fact} holds and is not declared"
    assert any(passed.get(name) for name in declared)
    assert not {name for name in declared if passed.get(name) is None and name in calls()}, f"{fact} was not tried"


# ------------------------------------------------------------------ facts with values


def _moved(name: str) -> str | None:
    told = {fact_checks.moved_inputs(call) for call in _runs(name)} - {None}
    return None if not told else "" if "" in told else "every" if "every" in told else "first"


def _monotone(name: str) -> str | None:
    told = {fact_checks.monotone(call) for call in _runs(name)} - {None}
    return None if not told else told.pop() if len(told) == 1 else ""


@pytest.mark.parametrize(("fact", "seen"), [("moved_inputs", _moved), ("monotone", _monotone)])
def test_movements_and_orders(fact: str, seen: Callable[[str], str | None]) -> None:
    found = {name: answer for name in calls() if (answer := seen(name)) is not None}
    declared = {name: getattr(facts, fact) or "" for name, facts in FACTS.items()}
    wrong = {name: (answer, declared[name]) for name, answer in found.items() if answer != declared[name]}
    assert {name for name in wrong if declared[name]} - {*OTHER_REASONS[fact]} == set()
    assert {name for name in wrong if not declared[name]} - {*OTHER_REASONS[fact]} == set()
    assert len([name for name, answer in found.items() if answer and declared[name]]) >= 20


def test_slopes() -> None:
    """The greatest slope on a grid, which is not much less than the number that is stated."""
    slopes = {name: [each for call in _runs(name) if (each := fact_checks.slope(call)) is not None] for name in calls()}
    greatest = {name: max(each) for name, each in slopes.items() if each}
    for name, facts in FACTS.items():
        if facts.lipschitz is not None and name in greatest:
            assert 0.98 * facts.lipschitz <= greatest[name] <= facts.lipschitz * (1 + 1e-6), name
    bounded = {name for name, found in greatest.items() if found < 15 and FACTS[name].lipschitz is None}
    assert bounded - {*OTHER_REASONS["lipschitz"]} == set()


def test_ends() -> None:
    for name in calls():
        found = [each for call in _runs(name) if (each := fact_checks.extremes(call)) is not None]
        if not found:
            continue
        least, most = min(low for low, _ in found), max(high for _, high in found)
        low, high = FACTS[name].ends or (-inf, inf)
        assert low <= least <= most <= high, name
        one_input = all(len(call.inputs) == 1 for call in _runs(name)) and FACTS[name].elementwise
        if one_input and FACTS[name].ends is None and name not in OTHER_REASONS["ends"]:
            assert least < -10, f"{name} has an end"
            assert most > 10, f"{name} has an end"


@pytest.mark.parametrize("name", ["axis", "axes"])
def test_axes_that_count_from_the_last(name: str) -> None:
    told: dict[str, set[bool]] = {}
    for operator in calls():
        answers = {fact_checks.counts_axis(call, name) for call in _runs(operator)} - {None}
        if answers:
            told[operator] = answers  # type: ignore[assignment]
    declared = names_of(lambda facts: facts.axis_parameter == name)
    assert {operator for operator in declared & told.keys() if False in told[operator]} == set()
    assert {operator for operator, answers in told.items() if answers == {True}} - declared == set()


def test_attributes_that_change_no_value() -> None:
    changes: dict[tuple[str, str], bool] = {}
    declared = {(operator, name) for operator, facts in FACTS.items() for name in facts.valueless_attributes}
    for operator in calls() if DEEP else sorted({*[*calls()][::3], *({name for name, _ in declared} & calls().keys())}):
        for call in _runs(operator):
            known = [name for (other, name), changed in changes.items() if changed and other == operator]
            changes |= {(operator, name): changed for name, changed in fact_checks.changing_attributes(call, known)}
    valueless = {key for key, changed in changes.items() if not changed}
    assert {key for key in declared if changes.get(key)} == set()
    assert {name for operator, name in valueless - declared} - {*VALUELESS_REASONS} == set()
    assert ("Dropout", "seed") in declared & valueless


def test_only_operator_set_1_has_consumed_inputs() -> None:
    with_hint = {each for each in onnx.defs.get_all_schemas_with_history() if "consumed_inputs" in each.attributes}
    assert {each.since_version for each in with_hint if not each.domain} == {1}
    assert all(facts.valueless_attributes.items() >= CONSUMED_INPUTS.items() for facts in FACTS.values())


# ------------------------------------------------------------------ types and shapes of outputs, without a data file


def test_the_first_output_has_the_type_and_the_shape_that_is_stated() -> None:
    for name in OUTSIDE_CATALOGUE.keys() & calls().keys():
        facts, seen = FACTS[name], [_first_output(call) for call in _runs(name)]
        if facts.output_element == "first":
            assert all(element for element, _, _ in seen), name
        elif facts.output_element:
            assert {written for _, written, _ in seen} == {facts.output_element}, name
        elif name not in OTHER_REASONS["output_element"] and not facts.random:
            assert not all(element for element, _, _ in seen), f"{name} has the type of its first input"
        if facts.keeps_shape:
            assert all(shape for *_, shape in seen), name
        elif not facts.elementwise and name not in OTHER_REASONS["keeps_shape"]:
            assert not all(shape for *_, shape in seen), f"{name} has the shape of its first input"


def _first_output(call: Call) -> tuple[bool, str, bool]:
    """Whether it has the type of the first input, its type, and whether it has the shape of the first input."""
    place = next(place for place, name in enumerate(call.node.output) if name)
    outputs, first = call.run(), call.inputs[0] if call.inputs else None
    assert outputs is not None
    if place or first is None:
        return True, NAMES[outputs[0].dtype], False
    return outputs[0].dtype == first.dtype, NAMES[outputs[0].dtype], outputs[0].shape == first.shape


# ------------------------------------------------------------------ versions and defaults, against the package onnx


def _schemas(name: str) -> dict[int, Any]:
    every = onnx.defs.get_all_schemas_with_history()
    return {each.since_version: each for each in every if each.name == name and not each.domain}


@pytest.fixture(scope="module")
def schemas() -> dict[str, dict[int, Any]]:
    found: dict[str, dict[int, Any]] = {}
    for each in onnx.defs.get_all_schemas_with_history():
        if not each.domain:
            found.setdefault(each.name, {})[each.since_version] = each
    return found


def test_the_versions_are_those_of_onnx(schemas: dict[str, dict[int, Any]]) -> None:
    """A version without an attribute or with another default than the one before it has another meaning."""
    for name, facts in OUTSIDE_CATALOGUE.items():
        assert facts.versions == tuple(sorted(schemas[name])), name
        changes = facts.changes or facts.versions
        assert {*changes} <= {*facts.versions}
        assert changes[0] == facts.versions[0]
        for before, after in zip(facts.versions, facts.versions[1:], strict=False):
            one, other = _interface(schemas[name][before]), _interface(schemas[name][after])
            gone = {key for key in one if key not in other} - {"consumed_inputs"}
            differing = {key for key in one.keys() & other.keys() if one[key] != other[key]}
            if gone | differing:
                assert after in changes, (name, after, gone, differing)


def _interface(schema: Any) -> dict[str, Any]:
    """Attributes with their defaults, and the inputs by place."""
    attributes = {name: _value(each.default_value) for name, each in schema.attributes.items()}
    return {**attributes, **{f"input {place}": str(each.option) for place, each in enumerate(schema.inputs)}}


def _value(attribute: Any) -> Any:
    value = onnx.helper.get_attribute_value(attribute) if attribute.type else None
    return tuple(map(_text, value)) if isinstance(value, list) else _text(value)


def _text(value: Any) -> Any:
    return value.decode() if isinstance(value, bytes) else value


def _defaults(schemas: dict[str, dict[int, Any]]) -> Iterator[tuple[StatedOperator, int, str, Any]]:
    for name, facts in OUTSIDE_CATALOGUE.items():
        for version in facts.versions:
            for attribute, stated in schemas[name][version].attributes.items():
                yield facts, version, attribute, _value(stated.default_value)


def test_what_an_absent_attribute_means_is_what_onnx_says(schemas: dict[str, dict[int, Any]]) -> None:
    """A default of ONNX is stated; what ONNX says in words only is stated as ones, zeros or a value of its own."""
    in_words = set()
    for facts, version, attribute, default in _defaults(schemas):
        stated = facts.absent_value(attribute, version)
        if default is None:
            if stated is not None:
                in_words.add((attribute, str(stated)))
            continue
        same = np.float32(stated) == np.float32(default) if isinstance(default, float) else stated == default
        assert same, (facts.name, version, attribute, stated, default)
    assert in_words == {("pads", "zeros"), ("strides", "ones"), ("dilations", "ones"), ("dtype", "1")}


def test_a_name_that_nothing_is_known_of() -> None:
    assert stated_operator("Softsigns") is None
    assert stated_operator("Relu", "com.microsoft") is None
    assert stated_operator("Relu", "ai.onnx") is find_operator("Relu")
    assert not operator_facts("Relu", "com.microsoft").elementwise
    assert operator_facts("Softsign").elementwise
    assert operator_facts("Add").elementwise_at(7)
    assert not operator_facts("Add").elementwise_at(6)
    assert [FACTS["Elu"].since_version(opset) for opset in (0, 1, 6, 22)] == [None, 1, 1, 1]
