"""A sum that may be fused with the next one keeps its own rounding: implementations that fuse nothing stay inside."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from onnx import TensorProto, helper, numpy_helper

from sonnx import bound
from sonnx.numerics.enclosures.hypotheses import hypotheses_named
from tests.support.cases import each_case

IEEE = hypotheses_named("ieee-any")
WIDE = replace(IEEE, name="wide", accumulators={"float16": "float"})
"""Partial sums in float: a fused sum of float16 is rounded to float16 once, two sums are rounded twice."""


def chain(first: float, last: float) -> bytes:
    """Y = (x + first) + last, of float16."""
    constants = [numpy_helper.from_array(np.array([value], np.float16), name) for name, value in
                 (("first", first), ("last", last))]  # fmt: skip
    nodes = [helper.make_node("Add", ["x", "first"], ["t"]), helper.make_node("Add", ["t", "last"], ["y"])]
    ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT16, [1]) for name in "xy"]
    graph = helper.make_graph(nodes, "g", ends[:1], ends[1:], constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    return bytes(model.SerializeToString())


@each_case(("first", "last"), [(1000.0, -1000.0), (1000.0, -999.5), (2040.0, -1.0), (-3.0, 2.5), (0.1, 0.1)])
def test_two_sums_that_are_not_fused(first: float, last: float) -> None:
    """Every float16 of the box, added twice with two roundings; and each of both roundings is in the bound."""
    low, high = np.float16(1), np.float16(2)
    X = np.arange(low.view(np.uint16), high.view(np.uint16) + 1, dtype=np.uint16).view(np.float16)
    t = X + np.float16(first)
    y = t + np.float16(last)
    ideal = X.astype(np.float64) + np.float64(np.float16(first)) + np.float64(np.float16(last))
    for hypotheses in (IEEE, WIDE):
        box = {"x": (np.array([low]), np.array([high]))}
        found = {each.name: each for each in bound(chain(first, last), box, hypotheses, unchecked=True).tensors}
        assert np.abs(y.astype(np.float64) - ideal).max() <= found["y"].error[0]
        of_first = np.abs(X.astype(np.float64) + np.float64(np.float16(first))).max() * 2.0**-11
        of_last = np.abs(ideal).max() * 2.0**-11
        assert found["t"].introduced[0] >= of_first
        assert found["y"].introduced[0] >= of_last
        assert found["y"].error[0] >= of_first + of_last
