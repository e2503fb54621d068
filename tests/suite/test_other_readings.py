"""Where an erratum says that a text has two readings, an implementation that takes either one is not called wrong."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import onnx.parser
import pytest

from sonnx.executor.executor import ModelRunner
from sonnx.model.reader import read
from sonnx.numerics.enclosures.hypotheses import hypotheses_named
from sonnx.numerics.formats import Array
from sonnx.operators import find_operator
from sonnx.operators.batchnormalization import ORDERS
from sonnx.profile import catalogue
from sonnx.suite.expected import Tolerances
from sonnx.suite.judge import differences
from sonnx.suite.other_reading import DemandedOutput
from sonnx.suite.runs import is_instead
from tests.support.editions import NEWEST

STATED = "value by another reading"


def judged(text: str, inputs: Mapping[str, Array], output: int, actual: Array) -> str:
    """What a suite says of an output of the only node: "as expected", "other reading" or "wrong"."""
    content = onnx.parser.parse_model(text).SerializeToString()
    model = read(content)
    exact = ModelRunner(model, None, NEWEST, unchecked=True).run(inputs).values
    ends = Tolerances(model, hypotheses_named("ieee-any"), NEWEST).ends(inputs, exact)[output].ends
    expected = DemandedOutput(output, exact[model.graph.outputs[output].name], ends)
    operator = model.graph.nodes[0].operator
    errata = [each.id for each in catalogue.errata().values() if each.instead.get(operator) == STATED]
    found = differences(output, actual, expected.exact, ends)
    if not found:
        return "as expected"
    explained = [
        any(is_instead(operator, erratum, each, inputs, content, actual, expected, NEWEST) for erratum in errata)
        for each in found
    ]
    return "other reading" if all(explained) else "wrong"


def test_an_operator_states_the_readings_that_its_errata_admit() -> None:
    stated = {
        (name, erratum.id)
        for erratum in catalogue.errata().values()
        for name, instead in erratum.instead.items()
        if instead == STATED
    }
    known = [find_operator(described.name) for described in catalogue.operators()]
    assert {(each.name, erratum) for each in known if each is not None for erratum in each.other_readings} == stated


# ------------------------------------------------------------------ LSTM without steps


def recurrent(steps: int, layout: int, element: str = "float") -> str:
    """An LSTM with 2 sequences and 1 hidden element, without biases and peepholes."""
    shape = f"{steps},2,1" if layout == 0 else f"2,{steps},1"
    state = "1,2,1" if layout == 0 else "2,1,1"
    inputs = f"{element}[{shape}] x, {element}[{state}] h, {element}[{state}] c"
    outputs = f"{element}[{state}] y_h, {element}[{state}] y_c"
    weights = f"{element}[1,4,1] w = {{1,1,1,1}}, {element}[1,4,1] r = {{1,1,1,1}}"
    node = f", y_h, y_c = LSTM<hidden_size=1, layout={layout}>(x, w, r, , , h, c)"
    head = f'<ir_version: 10, opset_import: ["" : 22]> g ({inputs}) => ({outputs})'
    return f"{head} <{weights}> {{ {node} }}"


def sequences(steps: int, layout: int, dtype: type, cell: Sequence[float]) -> dict[str, Array]:
    """The inputs of `recurrent`; the initial state is 0.5 and -0.25."""
    shape = (1, 2, 1) if layout == 0 else (2, 1, 1)
    x = np.ones((steps, 2, 1) if layout == 0 else (2, steps, 1), dtype)
    return {"x": x, "h": np.array([0.5, -0.25], dtype).reshape(shape), "c": np.array(cell, dtype).reshape(shape)}


@pytest.mark.parametrize("layout", [0, 1])
@pytest.mark.parametrize(("element", "dtype"), [("float", np.float32), ("double", np.float64)])
@pytest.mark.parametrize("cell", [(2.0, -3.0), (np.inf, 1.0), (np.nan, 1e-40)])
def test_the_last_state_of_no_steps_is_the_first_one_or_zero(
    layout: int, element: str, dtype: type, cell: Sequence[float]
) -> None:
    inputs = sequences(0, layout, dtype, cell)
    text = recurrent(0, layout, element)
    for output, initial in enumerate((inputs["h"], inputs["c"])):
        assert judged(text, inputs, output, initial) == "as expected"
        assert judged(text, inputs, output, np.zeros_like(initial)) == "other reading"
        one_of_both = initial.copy()
        one_of_both.flat[0] = 0
        for wrong in (np.ones_like(initial), one_of_both, -initial - 1):
            assert judged(text, inputs, output, wrong) == "wrong"


@pytest.mark.parametrize("layout", [0, 1])
def test_the_last_state_of_a_step_is_not_zero(layout: int) -> None:
    inputs = sequences(1, layout, np.float32, (2.0, -3.0))
    for output in (0, 1):
        zeros = np.zeros_like(inputs["h"])
        assert judged(recurrent(1, layout), inputs, output, zeros) == "wrong"


# ------------------------------------------------------------------ BatchNormalization in any order

HALF, SINGLE = np.float16, np.float32
LARGEST = float(np.finfo(SINGLE).max)
LEAST = float(np.finfo(SINGLE).smallest_subnormal)
Constants = Mapping[str, tuple[float, type]]
NORMALIZED: dict[str, tuple[list[float], float, float]] = {
    # The product with scale overflows before the division, and then an infinity of the other sign is added.
    "scales first": ([4.0, -4.0], -LARGEST, np.inf),
    # The quotient of the least number is 0, which an infinite scale makes a NaN.
    "divides first": ([LEAST, 1.0], -np.inf, 0.0),
    # The quotient of scale is 0, which an infinite difference makes a NaN.
    "factor first": ([np.inf, 1.0], LEAST, 0.0),
}
"""Elements, scale and addend."""


def normalization(row: Constants) -> tuple[str, list[Array]]:
    """A BatchNormalization of two elements of float in one channel, with constants; and these constants."""
    names = {HALF: "float16", SINGLE: "float"}
    operands = ", ".join(f"{names[kind]}[1] {name}" for name, (_, kind) in row.items())
    node = "y = BatchNormalization<epsilon=2.0>(x, scale, b, mean, var)"
    head = f'<ir_version: 10, opset_import: ["" : 15]> g (float[2,1] x, {operands}) => (float[2,1] y)'
    return f"{head} {{ {node} }}", [np.array([number], kind) for number, kind in row.values()]


@pytest.mark.parametrize("name", NORMALIZED)
def test_any_order_of_a_normalization_is_a_reading(name: str) -> None:
    elements, factor, addend = NORMALIZED[name]
    row = {"scale": (factor, SINGLE), "b": (addend, SINGLE), "mean": (0.0, HALF), "var": (14.0, HALF)}
    text, constants = normalization(row)
    x = np.array(elements, SINGLE).reshape(2, 1)
    inputs = {"x": x, **dict(zip(row, constants, strict=True))}
    scale, b, mean, var = (constant.astype(SINGLE) for constant in constants)
    with np.errstate(all="ignore"):
        by_orders = [order(x - mean, scale, np.sqrt(var + SINGLE(2))) + b for order in ORDERS]
    answers = {judged(text, inputs, 0, array) for array in by_orders}
    assert answers == {"as expected", "other reading"}  # the orders differ here
    nans = [array for array in by_orders if np.isnan(array[0, 0])]
    assert nans
    for array in nans:
        assert judged(text, inputs, 0, array) == "other reading"
        beside = array.copy()
        beside[1, 0] = 12345 if np.isfinite(array[1, 0]) else 0
        assert judged(text, inputs, 0, beside) == "wrong"
        everywhere = judged(text, inputs, 0, np.full_like(array, np.nan))
        assert everywhere == ("other reading" if np.isnan(array).all() else "wrong")


def test_a_normalization_without_an_overflow_has_one_value() -> None:
    row = {"scale": (3.0, SINGLE), "b": (0.5, SINGLE), "mean": (0.25, SINGLE), "var": (5.0, SINGLE)}
    text, constants = normalization(row)
    inputs = {"x": np.array([[1.0], [2.0]], SINGLE), **dict(zip(row, constants, strict=True))}
    for wrong in ([[np.nan], [1.0]], [[np.inf], [1.0]], [[2.0], [2.0]]):
        assert judged(text, inputs, 0, np.array(wrong, SINGLE)) == "wrong"


# ------------------------------------------------------------------ Range with a rounded length

RANGES: dict[str, tuple[str, list[float], list[int], int]] = {
    # The difference is the start, rounded to float or double.
    "float": ("float", [LARGEST, -2.5, -LARGEST], [1], 2),
    # The quotient of two integers is 1, rounded to double.
    "int64": ("int64", [2, 2**53 + 4, 2**53 + 1], [1], 2),
    # No rounding makes another length of it.
    "plain": ("float", [0.0, 5.0, 2.0], [], 3),
    "wraps around": ("int16", [-32768, 32767, 20000], [], 4),
}
"""Element type, start, limit and step; lengths by other readings, and the exact one."""


@pytest.mark.parametrize("name", RANGES)
def test_the_length_of_a_range_may_be_rounded(name: str) -> None:
    element, numbers, rounded, exact = RANGES[name]
    dtype = {"float": SINGLE, "int64": np.int64, "int16": np.int16}[element]
    head = f'<ir_version: 10, opset_import: ["" : 11]> g ({element} s, {element} l, {element} d) => ({element}[n] y)'
    text = f"{head} {{ y = Range(s, l, d) }}"
    inputs = {each: np.array(number, dtype) for each, number in zip("sld", numbers, strict=True)}
    longest = np.array([numbers[0] + k * numbers[2] for k in range(exact)]).astype(dtype)
    assert judged(text, inputs, 0, longest) == "as expected"
    for length in range(exact):
        answer = "other reading" if length in rounded else "wrong"
        assert judged(text, inputs, 0, longest[:length]) == answer
    if rounded and element == "int64":  # of the float nothing is demanded: its ends are those of an overflow
        wrong = longest[: rounded[0]].copy()
        wrong[0] = 0
        assert judged(text, inputs, 0, wrong) == "wrong"
