"""LSTM, GRU and RNN that `fix` writes as steps, against onnxruntime."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from sonnx import fix, run
from sonnx.checker.verdicts import Verdict
from sonnx.equivalence.result import Answer
from sonnx.numerics.formats import Array
from tests.support.cases import crossed

STEPS, BATCH, SIZE, HIDDEN = 3, 2, 3, 2
GATES = {"LSTM": 4, "GRU": 3, "RNN": 1}
DIRECTIONS = {"forward": 1, "reverse": 1, "bidirectional": 2}
CALLS = crossed(GATES, DIRECTIONS, (0, 1), every=2)


def model(operator: str, direction: str, before_reset: int) -> onnx.ModelProto:
    """A cell whose states are inputs of the model."""
    random, count, width = np.random.default_rng(2), DIRECTIONS[direction], GATES[operator] * HIDDEN
    shapes = {"W": (count, width, SIZE), "R": (count, width, HIDDEN), "B": (count, 2 * width)}
    constants = [
        numpy_helper.from_array(random.standard_normal(shape).astype(np.float32), name)
        for name, shape in shapes.items()
    ]
    states, state = ["s", "c"][: 1 + (operator == "LSTM")], [count, BATCH, HIDDEN]
    inputs = {"x": [STEPS, BATCH, SIZE], **dict.fromkeys(states, state)}
    outputs = {"y": [STEPS, count, BATCH, HIDDEN], **{f"last_{name}": state for name in states}}
    attributes = {"linear_before_reset": before_reset} if operator == "GRU" else {}
    node = helper.make_node(
        operator, ["x", *shapes, "", *states], [*outputs], hidden_size=HIDDEN, direction=direction, **attributes
    )
    declared = [
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in values.items()]
        for values in (inputs, outputs)
    ]
    graph = helper.make_graph([node], "g", *declared, constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 14)], ir_version=8)


@pytest.mark.parametrize(("operator", "direction", "before_reset"), CALLS)
def test_the_steps_are_the_cell(operator: str, direction: str, before_reset: int) -> None:
    source = model(operator, direction, before_reset)
    fixed = fix(source.SerializeToString(), samples=1, within_bound=True)
    assert fixed.after.verdict is Verdict.PASS, fixed.to_text()
    assert fixed.validation.for_all_inputs is Answer.ROUNDING
    random, given = np.random.default_rng(4), dict[str, Array]()
    for value in source.graph.input:
        shape = [dim.dim_value for dim in value.type.tensor_type.shape.dim]
        given[value.name] = random.standard_normal(shape).astype(np.float32)
    found = run(fixed.model_bytes(), given)
    runtime = pytest.importorskip("onnxruntime")
    session = runtime.InferenceSession(source.SerializeToString(), providers=["CPUExecutionProvider"])
    names = [value.name for value in source.graph.output]
    known = dict(zip(names, session.run(names, given), strict=True))
    for name, own in known.items():
        np.testing.assert_allclose(found[name], own, rtol=1e-5, atol=1e-5)


def test_peepholes_and_lengths_stay() -> None:
    for place, name, array in ((4, "lengths", np.array([1, 2], np.int32)), (7, "P", np.ones((1, 6), np.float32))):
        source = model("LSTM", "forward", 0)
        source.graph.node[0].input.extend([""] * (8 - len(source.graph.node[0].input)))
        source.graph.node[0].input[place] = name
        source.graph.initializer.append(numpy_helper.from_array(array, name))
        fixed = fix(source.SerializeToString(), samples=0, within_bound=True)
        assert "LSTM" in {root.where.operator for root in fixed.after.roots}
