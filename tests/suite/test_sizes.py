"""Calls with large extents: which there are, and that kernels which are wrong only at some sizes are detected."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest

from benchmarks.suite_mutants import DETECTED, fate, of_suite, signature_of, types_of
from benchmarks.wrong_kernels import total, wrong_kernels
from sonnx.executor.executor import ModelRunner
from sonnx.model.reader import read
from sonnx.suite.archive import StoredCase, Suite, read_cases
from sonnx.suite.making import chosen_operators
from sonnx.suite.options import MakeOptions
from sonnx.suite.sizes import FEW_SIZES, MANY, SIZES, sized_calls
from sonnx.suite.structures import WIDE_EXTENT
from tests.support.cases import spread
from tests.support.conforming_models import conforming_models

OPERATORS = ("Relu", "ArgMax")
OTHERS = ("Constant", "Range", "Reshape", "LSTM")
"""Operators without an input that may be long, and those whose first call within the bounds has none."""


@pytest.fixture(scope="module")
def suites(relu: Suite, arg_max: Suite) -> Mapping[str, Suite]:
    return {"Relu": relu, "ArgMax": arg_max}


def grown(suite: Suite, operator: str) -> list[StoredCase]:
    stored_cases = [stored for stored in read_cases(suite, operator) if isinstance(stored, StoredCase)]
    return [stored for stored in stored_cases if any("has extent" in name and name.startswith("input ")
                                                     for name in stored.case.classes)]  # fmt: skip


def shapes(stored: StoredCase) -> list[tuple[int, ...]]:
    model = read(stored.model)
    return [tuple(int(str(extent)) for extent in operand.type.shape or ()) for operand in model.graph.inputs]


def test_the_last_axis_has_every_size(relu: Suite) -> None:
    last = {shape[-1] for stored in grown(relu, "Relu") for shape in shapes(stored)}
    assert last >= {*SIZES}


def test_every_axis_of_a_selecting_operator_has_every_size_where_it_is_reduced(arg_max: Suite) -> None:
    reduced: dict[int, set[int]] = {}
    for stored in grown(arg_max, "ArgMax"):
        model = read(stored.model)
        node = model.graph.nodes[-1]
        [axis] = [attribute.value for attribute in node.attributes if attribute.name == "axis"]
        [shape] = [value.type.shape for value in (*model.graph.value_info, *model.graph.inputs)
                   if value.name == node.inputs[0]]  # fmt: skip
        assert shape is not None
        assert isinstance(axis, int)
        reduced.setdefault(axis % len(shape) - len(shape), set()).add(int(str(shape[axis])))
    assert {from_end: sorted({*SIZES} - reduced[from_end]) for from_end in (-1, -2)} == {-1: [], -2: []}


def test_every_outer_axis_has_some_sizes(relu: Suite) -> None:
    extents = {(len(shape) - axis, extent) for stored in grown(relu, "Relu") for shape in shapes(stored)
               for axis, extent in enumerate(shape)}  # fmt: skip
    assert all((from_end, extent) in extents for from_end in (2, 3, 4) for extent in FEW_SIZES)


@pytest.mark.parametrize(
    "operator", spread(sorted({each.name for each in chosen_operators(MakeOptions())} - {*OTHERS}), 6)
)
def test_the_first_input_of_every_operator_grows(operator: str) -> None:
    """Also one whose elements a rule reads; at most two sizes are not possible in a call."""
    with conforming_models(operator) as (family, models):
        sized = sized_calls(family, models)
    assert len({each.extent for each in sized if each.input == 0} & {*SIZES}) >= len(SIZES) - 2


def test_an_extent_that_an_attribute_states_grows_with_it() -> None:
    """hidden_size of LSTM, with all inputs that have as many elements on an axis, or a multiple of them."""
    least = {"X.0": 1, "X.1": 1, "X.2": 1, "hidden_size": 1}
    with conforming_models("LSTM", least, WIDE_EXTENT) as (family, models):
        sized = sized_calls(family, models)
    names = [operand.name for operand in family.signature.inputs]
    hidden = {}
    for each in (each for each in sized if names[each.input] == "R"):
        stated = {attribute.name: attribute.value for attribute in each.call.attributes}
        hidden[stated["hidden_size"]] = {
            name: facts.shape[1:] for name, facts in zip(names, each.call.inputs, strict=True) if facts is not None
        }
    assert hidden.keys() >= {*SIZES}
    for size, of_inputs in hidden.items():
        assert of_inputs["R"] == (4 * size, size)
        assert of_inputs["W"][0] == 4 * size
        assert of_inputs["B"] == (8 * size,)


@pytest.mark.parametrize("operator", ["LSTM", "Pad"])
def test_no_input_that_grows_is_empty(operator: str) -> None:
    with conforming_models(operator) as (family, models):
        sized = sized_calls(family, models)
    for each in sized:
        facts = each.call.inputs[each.input]
        assert facts is not None
        assert 0 not in facts.shape


@pytest.mark.parametrize("operator", OPERATORS)
def test_every_type_has_a_large_call(suites: Mapping[str, Suite], operator: str) -> None:
    stored_cases = [stored for stored in read_cases(suites[operator], operator) if isinstance(stored, StoredCase)]
    conforming = [stored for stored in stored_cases if not stored.case.broken]
    types = {stored.case.call.partition("(")[2].partition(" ")[0] for stored in conforming}
    large = {stored.case.call.partition("(")[2].partition(" ")[0] for stored in conforming
             if any(np.prod(shape) >= MANY for shape in shapes(stored))}  # fmt: skip
    assert types == large


@pytest.mark.parametrize("operator", OPERATORS)
def test_some_calls_have_elements_that_are_not_adjacent(suites: Mapping[str, Suite], operator: str) -> None:
    behind = [
        stored for stored in grown(suites[operator], operator) if read(stored.model).graph.nodes[0].operator == "Slice"
    ]
    assert behind
    for stored in behind:
        model = read(stored.model)
        [given] = stored.inputs(0).values()
        exact = [*ModelRunner(model, None, stored.case.edition).run(stored.inputs(0)).values.values()]
        assert stored.arrays(0, "output")[0].tobytes() == exact[0].tobytes()
        if operator == "Relu":
            np.testing.assert_array_equal(exact[0], np.maximum(given[..., ::2], 0))


@pytest.mark.parametrize("operator", OPERATORS)
def test_kernels_that_are_wrong_at_some_sizes_are_detected(suites: Mapping[str, Suite], operator: str) -> None:
    suite = suites[operator]
    calls = of_suite(suite, operator)
    kernels = wrong_kernels(signature_of(operator, suite.edition), types_of(suite, operator, calls))
    by_kernel = {str(kernel): fate(kernel, calls, [], []) for kernel in map(total, kernels) if kernel.family == "size"}
    assert len(by_kernel) > 10
    assert {name: answer for name, answer in by_kernel.items() if answer != DETECTED} == {}
