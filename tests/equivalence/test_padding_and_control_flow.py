"""Pad before pooling, loops and branches with known conditions: by hand, with answers that follow from the texts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from sonnx.equivalence.result import Answer
from tests.equivalence.test_unequal_models import EQUAL, answer, model, same_by_another_file, value

IMAGE = [value("x", [1, 2, 5, 5])]
ONE = [1, 1, 1, 1]
LEAST = -np.inf


def padded(operator: str, filler: float, around: Sequence[int] = ONE, **attributes: Any) -> onnx.ModelProto:
    """A pooling of the image after Pad of its spatial axes."""
    pads = [0, 0, *around[:2], 0, 0, *around[2:]]
    nodes = [
        helper.make_node("Pad", ["x", "pads", "filler"], ["p"]),
        helper.make_node(operator, ["p"], ["y"], kernel_shape=[3, 3], **attributes),
    ]
    return model(nodes, {"pads": np.array(pads), "filler": np.float32(filler)}, inputs=IMAGE)


def pooled(operator: str, **attributes: Any) -> onnx.ModelProto:
    return model([helper.make_node(operator, ["x"], ["y"], kernel_shape=[3, 3], **attributes)], inputs=IMAGE)


COUNTED: dict[str, Any] = {"count_include_pad": 1}
POOLINGS = {
    "maximum": (padded("MaxPool", LEAST), pooled("MaxPool", pads=ONE), True),
    "maximum in steps": (padded("MaxPool", LEAST, strides=[2, 2]), pooled("MaxPool", pads=ONE, strides=[2, 2]), True),
    "maximum padded twice": (padded("MaxPool", LEAST, pads=[1, 0, 0, 0]), pooled("MaxPool", pads=[2, 1, 1, 1]), True),
    "maximum with 0": (padded("MaxPool", 0), pooled("MaxPool", pads=ONE), False),
    "maximum with the least finite number": (
        padded("MaxPool", float(np.finfo(np.float32).min)), pooled("MaxPool", pads=ONE), False),
    "a window over padding only": (padded("MaxPool", LEAST, [3, 3, 3, 3]), pooled("MaxPool", pads=[3, 3, 3, 3]), False),
    "mean": (padded("AveragePool", 0), pooled("AveragePool", pads=ONE, **COUNTED), True),
    "mean padded twice": (
        padded("AveragePool", 0, pads=ONE, **COUNTED), pooled("AveragePool", pads=[2, 2, 2, 2], **COUNTED), True),
    "mean that counts the second padding only": (
        padded("AveragePool", 0, pads=ONE), pooled("AveragePool", pads=[2, 2, 2, 2], **COUNTED), False),
    "mean of elements only": (padded("AveragePool", 0), pooled("AveragePool", pads=ONE), False),
    "mean with -0": (padded("AveragePool", -0.0), pooled("AveragePool", pads=ONE, **COUNTED), False),
    "mean with 1": (padded("AveragePool", 1), pooled("AveragePool", pads=ONE, **COUNTED), False),
    "mean, other sides": (
        padded("AveragePool", 0, [1, 0, 0, 1]), pooled("AveragePool", pads=[0, 1, 1, 0], **COUNTED), False),
    "mean without padding": (pooled("AveragePool", **COUNTED), pooled("AveragePool"), True),
}  # fmt: skip


@pytest.mark.parametrize("case", POOLINGS)
def test_pad_before_a_pooling(case: str) -> None:
    first, second, same = POOLINGS[case]
    assert (answer(first, second, runs=2) == Answer.IDENTICAL) is same


def test_pad_of_moved_elements_before_a_convolution() -> None:
    weights = {"w": np.arange(18, dtype=np.float32).reshape(1, 2, 3, 3), "pads": np.array([0, 0, *ONE[:2], 0, 0, 1, 1])}
    turn = helper.make_node("Transpose", ["x"], ["t"], perm=[0, 1, 3, 2])
    first = model(
        [turn, helper.make_node("Pad", ["t", "pads"], ["p"]), helper.make_node("Conv", ["p", "w"], ["y"])],
        weights, inputs=IMAGE,
    )  # fmt: skip
    second = model([turn, helper.make_node("Conv", ["t", "w"], ["y"], pads=ONE)], weights, inputs=IMAGE)
    assert answer(first, second) == Answer.IDENTICAL


CONDITIONS: dict[str, tuple[list[onnx.NodeProto], dict[str, object]]] = {
    "the one it gets": ([helper.make_node("Identity", ["c"], ["c2"])], {}),
    "a node": (
        [helper.make_node("Constant", [], ["c2"], value=numpy_helper.from_array(np.array(True)))], {}),
    "a constant": ([], {"c2": np.array(True)}),
    "false": ([], {"c2": np.array(False)}),
    "computed": (
        [helper.make_node("Constant", [], ["most"], value=numpy_helper.from_array(np.array(2))),
         helper.make_node("Less", ["i", "most"], ["c2"])], {}),
}  # fmt: skip
"""The condition of a body, as its nodes and constants make it."""


def loop(
    times: int = 3, condition: str = "the one it gets", *, starts: bool = True, stacked: bool = True, version: int = 17
) -> onnx.ModelProto:
    """S becomes (s + i) (-x) in each iteration; the sums are stacked."""
    nodes, constants = CONDITIONS[condition]
    steps = [
        helper.make_node("Cast", ["i"], ["f"], to=TensorProto.FLOAT),
        helper.make_node("Add", ["s", "f"], ["t"]), helper.make_node("Mul", ["t", "k"], ["s2"]), *nodes,
    ]  # fmt: skip
    outputs = [value("c2", [], TensorProto.BOOL), value("s2", [2, 3]), value("t", [2, 3])]
    body = helper.make_graph(
        steps, "body",
        [value("i", [], TensorProto.INT64), value("c", [], TensorProto.BOOL), value("s", [2, 3])],
        outputs[: 3 if stacked else 2], [numpy_helper.from_array(np.asarray(a), name) for name, a in constants.items()],
    )  # fmt: skip
    names = ["y", "z"][: 2 if stacked else 1]
    listed = [
        helper.make_node("Neg", ["x"], ["k"]), helper.make_node("Loop", ["times", "starts", "x"], names, body=body),
    ]  # fmt: skip
    given = {"times": np.array(times), "starts": np.array(starts)}
    return model(listed, given, outputs=names, version=version)


def iterations(order: Sequence[int] = (0, 1, 2), version: int = 17) -> onnx.ModelProto:
    """The same, written out."""
    nodes, constants, last = [helper.make_node("Neg", ["x"], ["k"])], dict[str, object](), "x"
    axes = {"axes": [0]} if version < 13 else {}
    for place, number in enumerate(order):
        constants[f"f{place}"] = np.float32(number)
        nodes += [
            helper.make_node("Add", [last, f"f{place}"], [f"t{place}"]),
            helper.make_node("Mul", [f"t{place}", "k"], [f"s{place}"]),
            helper.make_node("Unsqueeze", [f"t{place}", *([] if axes else ["first"])], [f"u{place}"], **axes),
        ]
        last = f"s{place}"
    constants["first"] = np.array([0])
    nodes += [
        helper.make_node("Identity", [last], ["y"]),
        helper.make_node("Concat", [f"u{place}" for place in range(len(order))], ["z"], axis=0),
    ]
    return model(nodes, constants, outputs=["y", "z"], version=version)


def test_a_loop_whose_iterations_are_known() -> None:
    for condition in ("the one it gets", "a node", "a constant"):
        assert answer(loop(condition=condition), iterations()) == Answer.IDENTICAL
    assert answer(loop(version=11), iterations(version=11)) == Answer.IDENTICAL
    for other in (loop(4), loop(condition="false"), loop(condition="computed")):
        assert answer(other, iterations(), runs=2) not in EQUAL
    assert answer(loop(), iterations((0, 2, 1)), runs=2) == Answer.DIFFERENT


def test_a_loop_that_never_runs() -> None:
    nothing = model([helper.make_node("Identity", ["x"], ["y"])])
    for never in (loop(0, stacked=False), loop(starts=False, stacked=False)):
        assert answer(never, nothing) == Answer.IDENTICAL


def test_a_long_loop_is_a_value_of_its_own() -> None:
    long = loop(10_000, stacked=False)
    assert answer(long, same_by_another_file(long)) == Answer.IDENTICAL
    assert answer(long, loop(10_001, stacked=False), runs=0) == Answer.UNDECIDED


def branch(rows: int | str) -> onnx.ModelProto:
    """Relu where the input has two rows, else Neg."""
    graphs = {
        name: helper.make_graph([helper.make_node(operator, ["x"], ["q"])], name, [], [value("q")])
        for name, operator in (("then_branch", "Relu"), ("else_branch", "Neg"))
    }
    nodes = [
        helper.make_node("Shape", ["x"], ["s"]), helper.make_node("Gather", ["s", "zero"], ["rows"]),
        helper.make_node("Equal", ["rows", "two"], ["c"]), helper.make_node("If", ["c"], ["y"], **graphs),
    ]  # fmt: skip
    return model(nodes, {"zero": np.array(0), "two": np.array(2)}, inputs=[value("x", [rows, 3])])


@pytest.mark.parametrize(("rows", "operator", "same"), [(2, "Relu", True), (5, "Neg", True), ("N", "Neg", False)])
def test_a_branch_whose_condition_is_a_shape(rows: int | str, operator: str, same: bool) -> None:
    taken = model([helper.make_node(operator, ["x"], ["y"])], inputs=[value("x", [rows, 3])])
    assert (answer(branch(rows), taken) == Answer.IDENTICAL) is same
