"""Ranges where rectifiers are undecided, against the values on a fine grid of the box."""

from __future__ import annotations

import itertools
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import numpy as np
from onnx import TensorProto, helper, numpy_helper

from sonnx.bounds.analysis import Analyser, decision_bounds, tightened
from sonnx.bounds.box import box_of_arrays
from sonnx.model.reader import read
from sonnx.numerics.enclosures.elementwise import rectifier_lines
from sonnx.numerics.enclosures.hypotheses import hypotheses_named
from sonnx.numerics.enclosures.values import Lines
from tests.support.cases import each_case, examples

ALPHA = float(np.float32(0.25))


def network(seed: int, activation: str, *, skips: bool) -> tuple[bytes, Any]:
    """Three layers of rectifiers over two inputs, and the same in numpy; with `skips` each layer adds what it read."""
    source = np.random.default_rng(seed)
    sizes = (2, 8, 8, 8, 3)
    weights = [source.normal(size=pair).astype(np.float32) for pair in itertools.pairwise(sizes)]
    nodes, slope = [], {"Relu": 0.0, "LeakyRelu": ALPHA}[activation]
    before = "x"
    for layer, _ in enumerate(weights):
        nodes.append(helper.make_node("MatMul", [before, f"w{layer}"], [f"s{layer}"]))
        if layer < 3:
            alpha = {"alpha": ALPHA} if slope else {}
            nodes.append(helper.make_node(activation, [f"s{layer}"], [f"r{layer}"], **alpha))
            names = [f"r{layer}", before] if skips and layer else [f"r{layer}"]
            nodes.append(helper.make_node("Sum", names, [f"a{layer}"]))
            before = f"a{layer}"
    inputs, outputs = (
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, size])] for name, size in (("x", 2), ("s3", 3))
    )
    stored = [numpy_helper.from_array(each, f"w{layer}") for layer, each in enumerate(weights)]
    graph = helper.make_graph(nodes, "g", inputs, outputs, stored)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)

    def values(x: Any) -> Any:
        for layer, each in enumerate(weights[:-1]):
            made = x @ each.astype(float)
            made = np.where(made > 0, made, slope * made)
            x = made + x if skips and layer else made
        return x @ weights[-1].astype(float)

    return model.SerializeToString(), values


@each_case("skips", [False, True])
@each_case("activation", ["Relu", "LeakyRelu"])
@each_case("seed", range(examples(2, 4)))
def test_ranges_at_kinks_are_those_that_are_attained(seed: int, activation: str, skips: bool) -> None:
    data, values = network(seed, activation, skips=skips)
    grid, middle = np.linspace(-0.125, 0.125, 129), np.array([0.5, -0.25])
    seen = values(np.stack(np.meshgrid(grid, grid), -1).reshape(-1, 2) + middle)
    model = read(data)
    box = box_of_arrays(model, {"x": (middle[None] - 0.125, middle[None] + 0.125)})
    found = {}
    for rounds in (0, 1, 32):
        run = Analyser(model, hypotheses_named("ieee-any"), rounds=rounds).run(box)
        found[rounds] = tightened(run, "s3")
        assert (found[rounds].low <= seen.min(0)).all()
        assert (found[rounds].high >= seen.max(0)).all()
    widths = {rounds: float((value.high - value.low).sum()) for rounds, value in found.items()}
    attained = float((seen.max(0) - seen.min(0)).sum())
    assert widths[32] <= 1.05 * attained, (widths, attained)
    assert widths[32] <= widths[1] <= widths[0]
    pairs = [(0, 1), (1, 2), (0, 2)]
    decisions = decision_bounds(found[32], pairs, argmax=False, rounds=32)
    for (i, j), each in zip(pairs, decisions, strict=True):
        apart = seen[:, i] - seen[:, j]
        assert each.low <= apart.min()
        assert each.high >= apart.max()
        assert each.high - each.low <= 1.05 * (apart.max() - apart.min())


@each_case("alpha", [-7.5, -0.25, 0.0, 0.25, 1.0, 1.5, 4.0])
def test_the_lines_of_a_rectifier_are_below_and_above_it(alpha: float) -> None:
    source = np.random.default_rng(0)
    low, high = np.sort(source.normal(size=(2, 60)) * 10.0 ** source.integers(-9, 9, size=60), axis=0)
    lines = rectifier_lines(SimpleNamespace(low=low, high=high), alpha)  # type: ignore[arg-type]
    exact = [[*map(Fraction, array)] for array in (low, high, *lines_of(lines))]
    for first, last, lower, lower_offset, upper, upper_offset in zip(*exact, strict=True):
        for part in range(9):
            x = first + (last - first) * Fraction(part, 8)
            value = x if x >= 0 else Fraction(alpha) * x
            assert lower * x + lower_offset <= value <= upper * x + upper_offset


def lines_of(lines: Lines) -> list[Any]:
    return [lines.lower_slope, lines.lower_offset, lines.upper_slope, lines.upper_offset]
