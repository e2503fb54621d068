"""Models of one to three nodes that strain every command: each operator with any type, rank, extent and attribute.

A number gives the same model every time; the numbers take the operators of the first node in turn.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import onnx
from onnx import AttributeProto, TensorProto, helper
from onnx.defs import OpSchema

from tests.support.model_texts import HOSTILE
from tests.support.random_models import sample_calls

EXTENTS = (0, 1, 2, 2**31, 2**62, 2**63 - 1)
USUAL_EXTENTS = (1, 2, 3, 4, 1, 2, 0)
RANKS = range(66)
USUAL_RANKS = RANKS[:6]
NUMBERS = (0, 1, -1, 2, 3, 7, 64, 2**31 - 1, 2**31, -(2**31), 2**40, 2**62, 2**63 - 1, -(2**63))
REALS = (0.0, -0.0, 1.0, -1.5, 1e-45, 3e38, float("inf"), float("-inf"), float("nan"))
TEXTS = ("", "NOTSET", "SAME_UPPER", "VALID", "x", HOSTILE, "9" * 400)
TYPES = tuple(number for name, number in TensorProto.DataType.items() if name != "UNDEFINED")
SYMBOLS = ("N", "M", "N+1", "")
WIDEST_CONSTANT = 64
"""Elements of a constant that has its values; a larger one has none."""


@cache
def schemas() -> Mapping[str, Sequence[OpSchema]]:
    """Every version of every operator of the standard domain, by operator."""
    found = defaultdict[str, list[OpSchema]](list)
    for each in onnx.defs.get_all_schemas_with_history():
        if not each.domain:
            found[each.name].append(each)
    return dict(sorted(found.items()))


def model(number: int) -> bytes:
    """One model of the family."""
    draw = random.Random(number)
    made = onnx.ModelProto(ir_version=draw.choice((3, 8, 8, 8, 10)))
    made.graph.name = "g"
    inputs, outputs = [], []
    known: list[tuple[str, int, list[Any]]] = []
    version = 0
    for place in range(draw.choice((1, 1, 1, 2, 3))):
        node, types, version = _node(draw, place, draw.randrange(2**20) if place else number)
        for index in range(len(node.input)):
            kind = types[index] if index < len(types) else (draw.choice(TYPES), [2])
            if node.input[index] and known and draw.random() < 0.4:
                node.input[index], *kind = draw.choice(known)
            elif node.input[index]:
                _source(draw, made, inputs, node.input[index], *kind)
        made.graph.node.append(node)
        for name in filter(None, node.output):
            kind = draw.choice(types) if types and draw.random() < 0.9 else (draw.choice(TYPES), _shape(draw))
            outputs.append(_value(draw, name, *kind))
            known.append((name, *kind))
    made.graph.input.extend(inputs)
    made.graph.output.extend(outputs)
    made.opset_import.add(domain="", version=draw.choice((version, version, version, 13, 18, 2**62)))
    return made.SerializeToString()


def changed(data: bytes, number: int) -> bytes:
    """The model with one constant, attribute or node changed, or with an Identity before its first output."""
    draw, made = random.Random(~number), onnx.ModelProto.FromString(data)
    graph = made.graph
    match draw.randrange(4):
        case 0 if graph.initializer:
            tensor = draw.choice(graph.initializer)
            elements = max(len(tensor.float_data), len(tensor.int64_data), len(tensor.int32_data))
            for field in ("float_data", "int64_data", "int32_data", "raw_data"):
                tensor.ClearField(field)
            _fill(draw, tensor, elements)
        case 1 if graph.node[0].attribute:
            chosen = draw.choice(graph.node[0].attribute)
            graph.node[0].attribute.remove(chosen)
            _add_attribute(draw, graph.node[0], chosen.name, chosen.type)
        case 2 if graph.node[0].input:
            graph.node[0].input[0] = draw.choice(graph.node[0].input)
        case _ if graph.node[-1].output and graph.node[-1].output[0]:
            name = graph.node[-1].output[0]
            graph.node[-1].output[0] = "before"
            graph.node.add(op_type="Identity", input=["before"], output=[name])
    return made.SerializeToString()


def _node(draw: random.Random, place: int, number: int) -> tuple[onnx.NodeProto, list[tuple[int, list[Any]]], int]:
    """A node, the types of its inputs, and the version of its operator set."""
    calls = sample_calls()
    node = onnx.NodeProto(name=f"n{place}")
    if number % 2:
        call = draw.choice(calls[tuple(calls)[number // 2 % len(calls)]])
        node.CopyFrom(call.node)
        version = call.operator_set
        given = list(call.inputs)
        types = [
            (each.data_type, list(each.dims)) if isinstance(each, TensorProto) else (each[0], list(each[1]))
            for each in given
            if each is not None
        ]
    else:
        schema = draw.choice(schemas()[tuple(schemas())[number // 2 % len(schemas())]])
        node.op_type, version = schema.name, schema.since_version
        wide = draw.randrange(schema.min_input, min(schema.max_input, schema.min_input + 3) + 1)
        kind, shape = draw.choice(TYPES[:11]), _shape(draw)
        types = [(kind if draw.random() < 0.7 else draw.choice(TYPES), shape if draw.random() < 0.6 else _shape(draw))
                 for _ in range(wide)]  # fmt: skip
        node.input.extend(f"x{index}" for index in range(wide))
        node.output.extend(f"y{index}" for index in range(max(1, schema.min_output)))
        for name, attribute in schema.attributes.items():
            if attribute.required or draw.random() < 0.4:
                _add_attribute(draw, node, name, int(attribute.type))
    del node.input[len(types) :]
    node.input[:] = [f"x{place}_{index}" for index in range(len(types))]
    node.output[:] = [f"y{place}_{index}" for index in range(len(node.output))]
    for _ in range(draw.choice((0, 1, 1, 2))):
        _damage(draw, node, types)
    return node, types, version


def _damage(draw: random.Random, node: onnx.NodeProto, types: list[tuple[int, list[Any]]]) -> None:
    """One change of a node or of the types of its inputs."""
    place = draw.randrange(len(types)) if types else 0
    match draw.randrange(9):
        case 0 | 1 if types:
            types[place] = (types[place][0], _shape(draw))
        case 2 if types and types[place][1]:
            types[place][1][draw.randrange(len(types[place][1]))] = draw.choice(EXTENTS)
        case 3 if types:
            types[place] = (draw.choice(TYPES), types[place][1])
        case 4 if types:
            shape = _shape(draw)
            types[:] = [(kind, list(shape)) for kind, _ in types]
        case 5 if node.attribute:
            chosen = draw.choice(node.attribute)
            name, kind = chosen.name, chosen.type
            node.attribute.remove(chosen)
            if draw.random() < 0.8:
                _add_attribute(draw, node, name, kind if draw.random() < 0.8 else draw.choice((1, 2, 3, 4, 6, 7, 8)))
        case 6 if types:
            node.input[place] = ""
        case 7:
            node.output.append("" if draw.random() < 0.5 else f"{node.output[0]}_more") if node.output else None
        case 8 if node.output and draw.random() < 0.3:
            del node.output[0]


def _shape(draw: random.Random) -> list[Any]:
    rank = draw.choice(USUAL_RANKS if draw.random() < 0.7 else RANKS)
    if draw.random() < 0.6:
        shape: list[Any] = [draw.choice(USUAL_EXTENTS[:4] if rank < 6 else (1, 1, 1, 2)) for _ in range(rank)]
    else:
        shape = [1] * rank
    for _ in range(draw.choice((0, 1, 1, 2)) if rank else 0):
        shape[draw.randrange(rank)] = draw.choice(EXTENTS)
    if rank and draw.random() < 0.1:
        shape[draw.randrange(rank)] = draw.choice(SYMBOLS)
    return shape


def _source(
    draw: random.Random, made: onnx.ModelProto, inputs: list[Any], name: str, kind: int, shape: Sequence[Any]
) -> None:
    """A graph input or an initializer; a large one has no values, a small one sometimes too few."""
    numbers = [extent for extent in shape if isinstance(extent, int)]
    if draw.random() < 0.65 or len(numbers) < len(shape):
        inputs.append(_value(draw, name, kind, shape))
        return
    tensor = made.graph.initializer.add(name=name, data_type=kind)
    tensor.dims.extend(numbers)
    elements = 1
    for extent in numbers:
        elements *= extent
    if elements <= WIDEST_CONSTANT:
        _fill(draw, tensor, elements if draw.random() < 0.95 else elements + 1)


def _fill(draw: random.Random, tensor: TensorProto, elements: int) -> None:
    if tensor.data_type in (TensorProto.INT64,):
        tensor.int64_data.extend(draw.choice(NUMBERS if draw.random() < 0.3 else NUMBERS[:5]) for _ in range(elements))
    elif tensor.data_type == TensorProto.FLOAT:
        tensor.float_data.extend(draw.choice(REALS) for _ in range(elements))
    elif tensor.data_type == TensorProto.DOUBLE:
        tensor.double_data.extend(draw.choice(REALS) for _ in range(elements))
    elif tensor.data_type == TensorProto.STRING:
        tensor.string_data.extend(draw.choice(TEXTS).encode("utf-8", "surrogateescape") for _ in range(elements))
    elif tensor.data_type in (TensorProto.UINT32, TensorProto.UINT64):
        tensor.uint64_data.extend(draw.choice((0, 1, 2, 255)) for _ in range(elements))
    else:
        tensor.int32_data.extend(draw.choice((0, 1, 2, 3, -1)) for _ in range(elements))


def _value(draw: random.Random, name: str, kind: int, shape: Sequence[Any]) -> onnx.ValueInfoProto:
    if draw.random() < 0.03:
        return onnx.ValueInfoProto(name=name)
    return helper.make_tensor_value_info(name, kind, None if draw.random() < 0.03 else list(shape))


def _add_attribute(draw: random.Random, node: onnx.NodeProto, name: str, kind: int) -> None:
    made = node.attribute.add(name=name, type=kind)
    few = draw.random() < 0.6
    whole = NUMBERS[:5] if few else NUMBERS
    match kind:
        case AttributeProto.FLOAT:
            made.f = draw.choice(REALS)
        case AttributeProto.INT:
            made.i = draw.choice(whole)
        case AttributeProto.STRING:
            made.s = draw.choice(TEXTS).encode("utf-8", "surrogateescape")
        case AttributeProto.INTS:
            made.ints.extend(draw.choice(whole) for _ in range(draw.choice((0, 1, 2, 2, 4, 65))))
        case AttributeProto.FLOATS:
            made.floats.extend(draw.choice(REALS) for _ in range(draw.choice((0, 1, 2))))
        case AttributeProto.STRINGS:
            made.strings.extend(draw.choice(TEXTS).encode("utf-8", "surrogateescape") for _ in range(2))
        case AttributeProto.TENSOR:
            made.t.data_type = draw.choice(TYPES)
            made.t.dims.extend(draw.choice(EXTENTS) for _ in range(draw.choice((0, 1, 2, 65))))
            if len(made.t.dims) < 2 and all(extent < WIDEST_CONSTANT for extent in made.t.dims):
                _fill(draw, made.t, made.t.dims[0] if made.t.dims else 1)
        case AttributeProto.GRAPH:
            made.g.name = "b"
            made.g.node.add(op_type="Identity", input=["x0_0"], output=["inner"])
            made.g.output.add(name="inner")
        case _:
            made.i = draw.choice(whole)
