"""Small models for tests of the executor: of one node, and of a chain of nodes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeAlias

import onnx
from onnx import TensorProto, helper

import sonnx
from sonnx.numerics.formats import Array

FLOAT, INT64 = TensorProto.FLOAT, TensorProto.INT64

Declared: TypeAlias = tuple[int, Sequence[int | str] | None]
"""ONNX's number of an element type, and a shape."""


def graph(
    nodes: Sequence[onnx.NodeProto],
    inputs: Mapping[str, Declared],
    outputs: Mapping[str, Declared],
    *,
    operator_set: int = 13,
    ir_version: int = 8,
    initializers: Iterable[onnx.TensorProto] = (),
    info: Mapping[str, Declared] | Sequence[tuple[str, Declared]] = (),
) -> onnx.ModelProto:
    """A model from nodes."""
    declared = [
        [helper.make_tensor_value_info(name, *each) for name, each in values.items()]
        for values in (inputs, outputs, dict(info))
    ]
    made = helper.make_graph(nodes, "g", declared[0], declared[1], list(initializers), value_info=declared[2])
    imports = [helper.make_opsetid("", operator_set)]
    return helper.make_model(made, opset_imports=imports, ir_version=ir_version)


def node_model(
    operator: str, inputs: Sequence[Declared], output: Declared, *, operator_set: int = 13, **attributes: Any
) -> bytes:
    """A model of one node with inputs a, b, … and the output y."""
    names = [chr(ord("a") + i) for i in range(len(inputs))]
    node = helper.make_node(operator, names, ["y"], name="n", **attributes)
    made = graph([node], dict(zip(names, inputs, strict=True)), {"y": output}, operator_set=operator_set)
    return made.SerializeToString()


def chain(count: int, shape: Sequence[int] = (4,)) -> onnx.ModelProto:
    """A model of `count` nodes, each of which takes the value before and b."""
    nodes = [
        helper.make_node("Max", [f"v{i}" if i else "a", "b"], [f"v{i + 1}" if i < count - 1 else "y"])
        for i in range(count)
    ]
    info: dict[str, Declared] = {f"v{i}": (FLOAT, shape) for i in range(1, count)}
    return graph(nodes, {"a": (FLOAT, shape), "b": (FLOAT, shape)}, {"y": (FLOAT, shape)}, info=info)


MAX = node_model("Max", [(FLOAT, [2, 3]), (FLOAT, [3])], (FLOAT, [2, 3]))
"""A conforming model."""

_SELECTING = {"keepdims": 0, "select_last_index": 0}

VIOLATING = {
    "Max.broadcastable": node_model("Max", [(FLOAT, [3]), (FLOAT, [2])], (FLOAT, [3])),
    "Max.same-shape": node_model("Max", [(FLOAT, [3]), (FLOAT, [1])], (FLOAT, [3]), operator_set=7),
    "no-implicit-conversion": node_model("Max", [(FLOAT, [3]), (TensorProto.INT32, [3])], (FLOAT, [3])),
    "ArgMax.axis-not-empty": node_model("ArgMax", [(FLOAT, [2, 0])], (INT64, [2]), axis=1, **_SELECTING),
    "ArgMax.axis-range": node_model("ArgMax", [(FLOAT, [2, 3])], (INT64, [2]), axis=2, **_SELECTING),
    "ArgMax.keepdims-flag": node_model(
        "ArgMax", [(FLOAT, [2, 3])], (INT64, [2]), axis=1, keepdims=2, select_last_index=0
    ),
    "ArgMax.select-last-index-flag": node_model(
        "ArgMax", [(FLOAT, [3])], (INT64, []), axis=0, keepdims=0, select_last_index=2
    ),
    "ReduceMax.axes-range": node_model("ReduceMax", [(FLOAT, [2, 3])], (FLOAT, [2]), axes=[-3], keepdims=0),
    "ReduceMax.axes-distinct": node_model("ReduceMax", [(FLOAT, [2, 3])], (FLOAT, [2]), axes=[1, -1], keepdims=0),
    "ReduceMax.reduction-not-empty": node_model("ReduceMax", [(FLOAT, [2, 0])], (FLOAT, [2]), axes=[1], keepdims=0),
    "ReduceMax.noop-flag": node_model(
        "ReduceMax", [(FLOAT, [3])], (FLOAT, []), operator_set=18, noop_with_empty_axes=2
    ),
}
"""By the rule that values rest on and that the model violates."""


def node_of(
    operator: str, names: Sequence[str], outputs: Sequence[str], attributes: Mapping[str, Any]
) -> onnx.NodeProto:
    """A node named n; an attribute with an empty list is one of integers."""
    node = helper.make_node(
        operator, names, outputs, "n", **{key: each for key, each in attributes.items() if each != []}
    )
    empty = [key for key, each in attributes.items() if each == []]
    node.attribute.extend(helper.make_attribute(key, [], attr_type=onnx.AttributeProto.INTS) for key in empty)
    return node


def run_node(
    operator: str,
    inputs: Sequence[Array | None],
    shape: Sequence[int] | None,
    kind: int = TensorProto.FLOAT,
    operator_set: int = 13,
    outputs: int = 1,
    **attributes: Any,
) -> tuple[bytes, Callable[[], Array]]:
    """A model of one node with inputs i0, i1, … and outputs o0, o1, …, and a function that runs it unchecked.

    An input that is None is left out.
    """
    made = [f"o{n}" for n in range(outputs)]
    given = {f"i{n}": each for n, each in enumerate(inputs) if each is not None}
    names = [f"i{n}" if each is not None else "" for n, each in enumerate(inputs)]
    node = node_of(operator, names, made, attributes)
    declared = {name: (helper.np_dtype_to_tensor_dtype(each.dtype), each.shape) for name, each in given.items()}
    source = graph([node], declared, dict.fromkeys(made, (kind, shape)), operator_set=operator_set).SerializeToString()
    return source, lambda: sonnx.run(source, given, unchecked=True)["o0"]
