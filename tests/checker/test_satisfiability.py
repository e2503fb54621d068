"""A declared shape that waits for a run-time operand is assumed if, and only if, some value of the operand gives it."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator

import numpy as np
from onnx import TensorProto, helper

import sonnx
from sonnx.checker.verdicts import Verdict
from tests.support.cases import examples

EXTENTS = (1, 2, 3)
Shape = tuple[int, ...]


def reachable(operator: str, shape: Shape, length: int, keepdims: int) -> Iterator[Shape]:
    """The shapes that numpy makes with some value of so many entries."""
    data = np.zeros(shape)
    if operator in ("Unsqueeze", "Squeeze", "ReduceMax"):
        rank = len(shape) + (length if operator == "Unsqueeze" else 0)
        for axes in itertools.product(range(rank), repeat=length):
            named = tuple(set(axes))  # an axis may be named twice, but not by Unsqueeze
            try:
                if operator == "Unsqueeze":
                    yield np.expand_dims(data, axes).shape
                elif operator == "Squeeze":
                    yield np.squeeze(data, named).shape
                else:
                    yield data.max(axis=named, keepdims=bool(keepdims)).shape
            except ValueError:
                continue
        return
    for target in itertools.product((*EXTENTS, 4, 6), repeat=length):
        try:
            yield np.broadcast_shapes(shape, target) if operator == "Expand" else data.reshape(target).shape
        except ValueError:
            continue


def drawn(draw: random.Random) -> tuple[str, Shape, int, int, Shape]:
    operator = draw.choice(("Unsqueeze", "Squeeze", "ReduceMax", "Expand", "Reshape"))
    shape = tuple(draw.choice(EXTENTS) for _ in range(draw.randint(1, 3)))
    length, keepdims = draw.randint(1, 3), draw.randint(0, 1)
    if operator == "ReduceMax":
        length = min(length, len(shape))
    possible = sorted(set(reachable(operator, shape, length, keepdims)))
    if possible and draw.random() < 0.6:
        return operator, shape, length, keepdims, draw.choice(possible)
    declared = tuple(draw.choice(EXTENTS) for _ in range(draw.randint(0, 4)))
    return operator, shape, length, keepdims, declared


def model(operator: str, shape: Shape, length: int, keepdims: int, declared: Shape) -> bytes:
    attributes = {"ReduceMax": {"keepdims": keepdims, "noop_with_empty_axes": 0}, "Reshape": {"allowzero": 0}}
    node = helper.make_node(operator, ["x", "a"], ["y"], **attributes.get(operator, {}))
    values = [
        helper.make_tensor_value_info("x", TensorProto.FLOAT, shape),
        helper.make_tensor_value_info("a", TensorProto.INT64, [length]),
    ]
    output = helper.make_tensor_value_info("y", TensorProto.FLOAT, declared)
    graph = helper.make_graph([node], "g", values, [output])
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
    written: bytes = made.SerializeToString()
    return written


def test_assumed_if_some_value_gives_the_shape() -> None:
    draw, numbers = random.Random(5), {True: 0, False: 0}
    for _ in range(examples(150, 5000)):
        call = drawn(draw)
        operator, shape, length, keepdims, declared = call
        satisfiable = declared in set(reachable(operator, shape, length, keepdims))
        report = sonnx.check(model(*call))
        invalid = any(finding.breaks_onnx for finding in report.findings)
        assert invalid is not satisfiable, call
        numbers[satisfiable] += 1
        shapes = [each for each in report.findings if each.verdict is Verdict.ASSUMED and each.rule.endswith("-shape")]
        if satisfiable and operator != "ReduceMax":  # its axes must differ by the profile
            assert all(each.witness for each in shapes), call
    assert min(numbers.values()) > 30


def test_the_witness_is_in_the_report() -> None:
    report = sonnx.check(model("Unsqueeze", (2, 3), 1, 0, (2, 1, 3)))
    [finding] = [each for each in report.findings if each.rule == "Unsqueeze.Y-shape"]
    assert (finding.verdict, finding.witness) == (Verdict.ASSUMED, "axes = [1]")
