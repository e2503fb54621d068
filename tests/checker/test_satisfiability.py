"""A declared shape that waits for a run-time operand is assumed if, and only if, some value of the operand gives it."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator, Sequence

import numpy as np
import pytest
from onnx import NodeProto, TensorProto, ValueInfoProto, helper

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


def slices(shape: Shape, axes: Shape, steps: Shape, is_open: tuple[bool, bool]) -> set[Shape]:
    """The shapes of all slices along axes; a start or an end that is not open is the first or the last element."""
    numbers = range(-max(shape) - 1, max(shape) + 2)
    starts = itertools.product(numbers, repeat=len(axes)) if is_open[0] else [(0,) * len(axes)]
    ends = [*itertools.product(numbers, repeat=len(axes))] if is_open[1] else [(-1,) * len(axes)]
    found = set()
    for start, end in itertools.product(starts, ends):
        taken = [slice(None)] * len(shape)
        for axis, first, last, step in zip(axes, start, end, steps, strict=True):
            taken[axis] = slice(first, None if step < 0 and last < -shape[axis] else last, step)
        found.add(np.zeros(shape)[tuple(taken)].shape)
    return found


def sliced_model(shape: Shape, axes: Shape, steps: Shape, is_open: tuple[bool, bool], declared: Shape) -> bytes:
    number = len(axes)
    constants = {"axes": axes, "steps": steps, "starts": (0,) * number, "ends": (-1,) * number}
    opened = [name for name, each in zip(("starts", "ends"), is_open, strict=True) if each]
    inputs = [helper.make_tensor_value_info(name, TensorProto.INT64, [number]) for name in opened]
    initializers = [
        helper.make_tensor(name, TensorProto.INT64, [number], value)
        for name, value in constants.items() if name not in opened
    ]  # fmt: skip
    node = helper.make_node("Slice", ["x", "starts", "ends", "axes", "steps"], ["y"])
    return written_model(node, shape, inputs, [declared], initializers)


def written_model(
    node: NodeProto,
    shape: Shape,
    inputs: Sequence[ValueInfoProto],
    declared: Sequence[Shape],
    initializers: Sequence[TensorProto] = (),
) -> bytes:
    outputs = [
        helper.make_tensor_value_info(name, TensorProto.FLOAT, each)
        for name, each in zip(node.output, declared, strict=True)
    ]
    data = helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)
    graph = helper.make_graph([node], "g", [data, *inputs], outputs, initializers)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=9)
    written: bytes = model.SerializeToString()
    return written


def is_invalid(content: bytes) -> bool:
    return any(finding.breaks_onnx for finding in sonnx.check(content).findings)


def test_slices_of_run_time_operands() -> None:
    draw, numbers = random.Random(7), {True: 0, False: 0}
    for _ in range(examples(150, 3000)):
        shape = tuple(draw.randint(1, 4) for _ in range(draw.randint(1, 2)))
        axes = tuple(draw.sample(range(len(shape)), draw.randint(1, len(shape))))
        steps = tuple(draw.choice((1, 2, 3, -1, -2)) for _ in axes)
        is_open = draw.choice([(True, True), (True, False), (False, True)])
        possible = slices(shape, axes, steps, is_open)
        declared = draw.choice(sorted(possible)) if draw.random() < 0.5 else tuple(draw.randint(0, 4) for _ in shape)
        call = shape, axes, steps, is_open, declared
        assert is_invalid(sliced_model(*call)) is (declared not in possible), call
        numbers[declared in possible] += 1
    assert min(numbers.values()) > 30


@pytest.mark.parametrize("is_open", [(True, True), (True, False), (False, True)])
@pytest.mark.parametrize("declared", [(2, 3), (0, 3)])
def test_a_slice_of_no_axis_gives_the_operand(is_open: tuple[bool, bool], declared: Shape) -> None:
    assert is_invalid(sliced_model((2, 3), (), (), is_open, declared)) is (declared != (2, 3))


@pytest.mark.parametrize("is_open", [(True, True), (True, False), (False, True)])
def test_a_search_that_is_too_large_says_nothing(is_open: tuple[bool, bool]) -> None:
    assert not is_invalid(sliced_model((2**40,), (0,), (1,), is_open, (5,)))
    assert not is_invalid(sliced_model((2,) * 40, tuple(range(20)), (1,) * 20, is_open, (1,) * 20 + (2,) * 20))


@pytest.mark.parametrize("opened", ["axes", "steps", "starts"])
def test_an_operand_of_many_elements_is_not_listed(opened: str) -> None:
    constants = {"starts": 0, "ends": 1, "axes": 0, "steps": 1}
    initializers = [
        helper.make_tensor(name, TensorProto.INT64, [1], [value]) for name, value in constants.items() if name != opened
    ]
    operand = helper.make_tensor_value_info(opened, TensorProto.INT64, [2**40])
    node = helper.make_node("Slice", ["x", *constants], ["y"])
    sonnx.check(written_model(node, (2, 2), [operand], [(2, 2)], initializers))
    axes = helper.make_tensor_value_info("axes", TensorProto.INT64, [2**40])
    sonnx.check(written_model(helper.make_node("Unsqueeze", ["x", "axes"], ["y"]), (2,), [axes], [(2, 1)]))


def test_pads_and_parts_of_run_time_operands() -> None:
    """A reflection adds at most all elements but one at each end; parts fill the axis."""
    pads = helper.make_tensor_value_info("p", TensorProto.INT64, [2])
    pad = helper.make_node("Pad", ["x", "p"], ["y"], mode="reflect")
    parts = helper.make_tensor_value_info("p", TensorProto.INT64, [2])
    split = helper.make_node("Split", ["x", "p"], ["y", "z"], axis=0)
    for extent, declared in itertools.product(range(1, 5), range(9)):
        rejected = {each.rule for each in sonnx.check(written_model(pad, (extent,), [pads], [(declared,)])).findings
                    if each.verdict is Verdict.FAIL} - {"inputs-connected", "explicit-shape"}  # fmt: skip
        assert (rejected == set()) is (declared <= extent + 2 * (extent - 1)), (extent, declared, rejected)
    for first, second in itertools.product(range(4), repeat=2):
        model_of_parts = written_model(split, (3,), [parts], [(first,), (second,)])
        assert is_invalid(model_of_parts) is (first + second != 3), (first, second)


def test_what_only_the_profile_makes_impossible_is_a_violation() -> None:
    """An empty result is ONNX, and no start and end give one within the profile."""
    report = sonnx.check(sliced_model((2,), (0,), (1,), (True, True), (0,)))
    failing = {finding.rule: finding.breaks_onnx for finding in report.findings if finding.verdict is Verdict.FAIL}
    assert failing == {"Slice.result-not-empty": False}


def test_the_witness_is_in_the_report() -> None:
    report = sonnx.check(model("Unsqueeze", (2, 3), 1, 0, (2, 1, 3)))
    [finding] = [each for each in report.findings if each.rule == "Unsqueeze.Y-shape"]
    assert (finding.verdict, finding.witness) == (Verdict.ASSUMED, "axes = [1]")
