"""Every operator with some of its inputs constant, which transfer functions treat in other ways than varying ones."""

from __future__ import annotations

import random
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from onnx import helper, numpy_helper

import sonnx
from sonnx.base.errors import Stop, UsageError
from sonnx.bounds.analysis import Analyser, tightened
from sonnx.bounds.box import Interval
from sonnx.model.reader import read
from sonnx.numerics.enclosures.hypotheses import hypotheses_named
from sonnx.numerics.enclosures.values import NotBounded
from tests.support.cases import spread
from tests.support.random_models import SampleCall, sample_calls
from tests.support.recorded_bounds import FLOATS, alone, distinct

POINTS = 3
MANY = [name for name, calls in sample_calls().items() if any(len(call.inputs) > 1 for call in calls)]


def with_constants(
    call: SampleCall, constants: tuple[int, ...], chance: random.Random
) -> tuple[Any, dict[str, Interval]]:
    """A model of the call in which these inputs are initializers, and a box of the others."""
    drawn = alone(chance, call, (0.25, 2.0), "ieee-any")
    model, box = drawn.model, dict(drawn.box)
    for place in constants:
        interval = box.pop(f"x{place}")
        kept = next(each for each in model.graph.input if each.name == f"x{place}")
        kind = kept.type.tensor_type.elem_type
        model.graph.input.remove(kept)
        array = interval.low.astype(helper.tensor_dtype_to_np_dtype(kind))
        model.graph.initializer.append(numpy_helper.from_array(array, f"x{place}"))
    return model, box


@pytest.mark.parametrize("operator", MANY)
def test_exact_values_are_inside_whichever_inputs_are_constant(operator: str) -> None:
    """At the ends and the middle of the box, of ranges that were also made narrower by the adjoint pass."""
    chance = random.Random(operator)
    for call in spread(distinct(sample_calls()[operator]), 2):
        floats = [place for place, kind in enumerate(call.inputs) if isinstance(kind, tuple) and kind[0] in FLOATS]
        for number in range(1, len(floats)):
            for constants in spread(combinations(floats, number), 2):
                _is_inside(*with_constants(call, constants, chance), f"{call.node.op_type} with {constants} constant")


def _is_inside(model: Any, box: dict[str, Interval], what: str) -> None:
    source = model.SerializeToString()
    outputs = [each.name for each in model.graph.output]
    types = {each.name: each.type.tensor_type.elem_type for each in model.graph.input}
    try:
        run = Analyser(read(source), hypotheses_named("executor")).run(box)
        values = {name: tightened(run, name) for name in outputs}
    except NotBounded:
        return
    for share in np.linspace(0.0, 1.0, POINTS):
        given = {}
        for name, each in box.items():
            exact = (1 - share) * each.low + share * each.high
            exact = np.floor(exact) if types[name] not in FLOATS else exact
            given[name] = exact.astype(helper.tensor_dtype_to_np_dtype(types[name]))
            wide = given[name].astype(float)
            given[name] = np.where((wide < each.low) | (wide > each.high), each.low, wide).astype(given[name].dtype)
        try:
            exact_run = sonnx.run(source, given, unchecked=True)
        except (Stop, UsageError):
            continue
        for name, value in values.items():
            if value.unbounded:
                continue
            computed = exact_run[name].astype(float)
            assert (value.low <= value.high).all(), what
            assert (value.low - value.error <= computed).all(), what
            assert (computed <= value.high + value.error).all(), what
