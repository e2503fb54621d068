"""Pairs of small models for the comparison of models: a random model, the same as an optimizer leaves it, and mutants.

A mutant differs in one place: the last bit of a weight, epsilon, pads, axes of equal extent, a stride, the order of
operands, a dropped Relu, a constant that another one absorbs, a shape that agrees for N = 1 only, a signed zero, an
infinite weight, a zero point, the direction of a recurrent operator, the operator set.  The judge runs both models
exactly, with special values, and in double precision.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

from sonnx.equivalence.result import Answer, Equivalence, Evidence
from sonnx.executor.distance import first_difference
from sonnx.executor.executor import ModelRunner
from sonnx.executor.model_inputs import required_inputs
from sonnx.executor.probes import probe
from sonnx.model.reader import read
from sonnx.model.symbols import bind_symbols

FLOAT, INT = TensorProto.FLOAT, TensorProto.INT64
SYMBOLS = (1, 2, 3)
"""The numbers of N for which the judge runs models with a symbol."""


class Builder:
    """Builds a model node by node."""

    def __init__(self, seed: int) -> None:
        self.random = np.random.default_rng(seed)
        self.nodes: list[onnx.NodeProto] = []
        self.constants: list[onnx.TensorProto] = []

    def constant(self, array: object, kind: type = np.float32) -> str:
        """A name for a constant."""
        name = f"c{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.asarray(array, kind), name))
        return name

    def weights(self, *shape: int) -> str:
        """Random weights."""
        return self.constant(self.random.standard_normal(shape))

    def __call__(self, operator: str, *inputs: str, outputs: int = 1, **attributes: Any) -> str:
        """The first output of a new node."""
        names = [f"v{len(self.nodes)}_{index}" for index in range(outputs)]
        self.nodes.append(helper.make_node(operator, list(inputs), names, **attributes))
        return names[0]

    def model(self, shape: list[int | str], output: str) -> onnx.ModelProto:
        """The model from the input x to a value."""
        graph = helper.make_graph(
            self.nodes, "g", [helper.make_tensor_value_info("x", FLOAT, shape)],
            [helper.make_tensor_value_info(output, FLOAT, None)], self.constants,
        )  # fmt: skip
        domains = sorted({node.domain for node in graph.node} - {""})
        imports = [helper.make_opsetid("", 17), *(helper.make_opsetid(domain, 1) for domain in domains)]
        made = helper.make_model(graph, opset_imports=imports, ir_version=8)
        graph = made.graph
        graph.node.append(helper.make_node("Identity", [output], ["y"]))
        graph.output[0].name = "y"
        return made


def convolutional(seed: int) -> onnx.ModelProto:
    """Conv, BatchNormalization, Relu, pooling, a residual sum, a product with a matrix."""
    b, channels = Builder(seed), 4
    pads = [1, 1, 1, 1]
    value = b("Conv", "x", b.weights(channels, 2, 3, 3), b.weights(channels), pads=pads)
    value = b("Relu", normalized(b, value, channels))
    branch = b("Conv", value, b.weights(channels, channels, 3, 3), pads=pads)
    branch = normalized(b, branch, channels)
    value = b("Relu", b("Add", branch, value))
    value = b("MaxPool" if seed % 2 else "AveragePool", value, kernel_shape=[2, 2], strides=[2, 2], pads=[0, 0, 0, 0])
    value = b("Mul", value, b.weights(channels, 1, 1))
    value = b("Add", value, b.weights(channels, 1, 1))
    value = b("Flatten", b("GlobalAveragePool", b("Relu", value)))
    value = b("Gemm", value, b.weights(3, channels), b.weights(3), transB=1)
    return b.model([1, 2, 6, 6] if seed % 3 else ["N", 2, 6, 6], b("Softmax", value) if seed % 2 else value)


def normalized(b: Builder, value: str, channels: int) -> str:
    """A BatchNormalization."""
    scale, mean = b.weights(channels), b.weights(channels)
    bias, variance = b.weights(channels), b.constant(b.random.uniform(0.01, 2, channels))
    return b("BatchNormalization", value, scale, bias, mean, variance, epsilon=1e-3)


def dense(seed: int) -> onnx.ModelProto:
    """Products with matrices, sums, scales, Sub and Div by constants, Sigmoid, Max."""
    b, width = Builder(seed), 4
    value = b("Add", b("MatMul", "x", b.weights(width, width)), b.weights(width))
    value = b("Relu", b("Mul", value, b.constant(1.5)))
    other = b("Sub", value, b.weights(width))
    value = b("Max", b("Sub", b("Sigmoid", value), other), b("Div", other, b.constant(3.0)))
    value = b("Concat", value, b("Neg", other), axis=1)
    value = b("MatMul", value, b.weights(2 * width, width))
    value = b("Add", b("Add", value, b.constant([1e4] * width)), b.weights(width))
    return b.model([2, width] if seed % 2 else ["N", width], b("Clip", value, b.constant(-2e4), b.constant(2e4)))


def moving(seed: int) -> onnx.ModelProto:
    """Reshape, Transpose, Slice, Concat, Gather, Pad, Split on axes of equal extents, around elementwise operators."""
    b, n = Builder(seed), 4
    value = b("Transpose", "x", perm=[1, 0, 2])
    value = b("Relu", value)
    value = b("Reshape", value, b.constant([n, n * 2] if seed % 2 else [n, -1], np.int64))
    part = b("Slice", value, b.constant([1], np.int64), b.constant([5], np.int64), b.constant([1], np.int64),
             b.constant([1 + seed % 2], np.int64))  # fmt: skip
    value = b("Concat", part, b("Gather", value, b.constant([3, 0, 2], np.int64), axis=1), axis=1)
    value = b("Pad", value, b.constant([0, 1, 0, 1], np.int64), b.constant(0.0))
    value = b("Mul", value, b.constant(b.random.standard_normal((n, 1))))
    value = b("Transpose", b("Add", value, b.constant(0.0 if seed % 2 else 0.25)), perm=[1, 0])
    return b.model([n, n, 2], b("Expand", value, b.constant([2, 1, 1], np.int64)))


def shaped(seed: int) -> onnx.ModelProto:
    """A shape computed from the shape of the input, with a symbol N."""
    b = Builder(seed)
    batch = b("Gather", b("Shape", "x"), b.constant([0], np.int64))
    target = b("Concat", batch, b.constant([-1], np.int64), axis=0)
    value = b("Reshape", b("Relu", "x"), target)
    return b.model(["N", 2, 3], b("Add", b("MatMul", value, b.weights(6, 3)), b.weights(3)))


def absorbing(seed: int) -> onnx.ModelProto:
    """A constant beside which another one vanishes in every format."""
    b = Builder(seed)
    value = b("Add", b("Add", "x", b.constant(1e20)), b.weights(3))
    return b.model([2, 3], b("Relu", b("Sub", value, b.constant(1e20))))


def versioned(seed: int) -> onnx.ModelProto:
    """Operators whose meaning depends on the operator set: Softmax, Clip with crossed bounds, negative axes."""
    b = Builder(seed)
    value = b("Softmax", "x", **({} if seed % 4 == 3 else {"axis": seed % 3}))
    low, high = (0.6, 0.2) if seed % 5 == 0 else (0.1, 0.7)
    value = b("Clip", value, b.constant(low), b.constant(high))
    value = b("Add", b("Softmax", b("Mul", value, b.weights(3, 1)), axis=1), b("ReduceMax", value, axes=[1 - seed % 2]))
    return b.model([2, 3, 1 + seed // 3 % 2], b("Flatten", value, axis=1 if seed % 2 else -1))


def gated(seed: int) -> onnx.ModelProto:
    """Products of values that vary with factors, squares, means, maxima taken again."""
    b = Builder(seed)
    centred = b("Sub", "x", b("ReduceMean", "x", axes=[-1]))
    spread = b("Sqrt", b("Add", b("ReduceMean", b("Pow", centred, b.constant(2.0)), axes=[-1]), b.constant(1e-3)))
    value = b("Add", b("Mul", b("Div", centred, spread), b.weights(4)), b.weights(4))
    more = b("Mul", b("Add", b("Erf", b("Mul", value, b.constant(0.5))), b.constant(1.0)), b.constant(0.25))
    value = b("Mul", more, b("Mul", value, b.constant(3.0)))
    top = b("Max", value, centred)
    return b.model([2, 4], b("Max", top, value) if seed % 2 else b("Max", value, top))


def quantized(seed: int) -> onnx.ModelProto:
    """Two products between QuantizeLinear and DequantizeLinear, of which the second has integer weights by channel."""
    b = Builder(seed)
    scale, zero, weight_zero = b.constant(0.05), b.constant(128, np.uint8), b.constant(0, np.int8)

    def passage(value: str, step: str, least: str) -> str:
        return b("DequantizeLinear", b("QuantizeLinear", value, step, least), step, least)

    weights = b("DequantizeLinear", b.constant(b.random.integers(-100, 100, (4, 3)), np.int8), b.constant(0.02),
                weight_zero)  # fmt: skip
    value = b("MatMul", passage(b("Relu", "x") if seed % 2 else "x", scale, zero), weights)
    value = passage(b("Add", value, b.weights(3)), b.constant(0.1), b.constant(110, np.uint8))
    value = passage(b("Transpose", value, perm=[1, 0]), scale, b.constant(100, np.uint8))
    further = b("DequantizeLinear", b.constant(b.random.integers(-100, 100, (2, 3)), np.int8),
                b.constant([0.01, 0.02, 0.03]), b.constant([0, 0, 0], np.int8), axis=1)  # fmt: skip
    return b.model([2, 4], b("MatMul", value, further) if seed % 3 else b("Relu", b("MatMul", value, further)))


def recurrent(seed: int) -> onnx.ModelProto:
    """LSTM or GRU with constant weights, forwards, backwards or both, and what reads its sequence."""
    b, hidden = Builder(seed), 2
    operator, gates = (("LSTM", 4), ("GRU", 3))[seed % 2]
    direction = ("forward", "reverse", "bidirectional")[seed // 2 % 3]
    count = 1 + (direction == "bidirectional")
    weights = b.weights(count, gates * hidden, 3), b.weights(count, gates * hidden, hidden)
    bias = [b.weights(count, 2 * gates * hidden)] if seed % 5 else []
    value = b(operator, "x", *weights, *bias, hidden_size=hidden, direction=direction, outputs=2)
    value = b("Reshape", b("Transpose", value, perm=[0, 2, 1, 3]), b.constant([3, 2, -1], np.int64))
    return b.model([3, 2, 3], b("Relu", b("Add", value, b.weights(count * hidden))))


def repeated(seed: int) -> onnx.ModelProto:
    """A Loop or a Scan whose body reads constants from outside."""
    b = Builder(seed)
    factor, offset = b.weights(3), b.weights(3)
    row = [helper.make_node("Mul", ["state", factor], ["scaled"]), helper.make_node("Tanh", ["scaled"], ["bent"])]
    declared = {name: helper.make_tensor_value_info(name, FLOAT, [3]) for name in ("state", "step", "next", "seen")}
    if seed % 2:
        row += [helper.make_node("Add", ["bent", "step"], ["next"]), helper.make_node("Neg", ["next"], ["seen"])]
        body = helper.make_graph(row, "body", [declared[name] for name in ("state", "step")],
                                 [declared[name] for name in ("next", "seen")])  # fmt: skip
        value = b("Scan", offset, "x", outputs=2, body=body, num_scan_inputs=1)
    else:
        row += [helper.make_node("Add", ["bent", offset], ["next"]), helper.make_node("Neg", ["next"], ["seen"]),
                helper.make_node("Identity", ["go"], ["on"])]  # fmt: skip
        number, go = (helper.make_tensor_value_info(name, kind, []) for name, kind in (
            ("number", INT), ("go", TensorProto.BOOL)))  # fmt: skip
        on = helper.make_tensor_value_info("on", TensorProto.BOOL, [])
        body = helper.make_graph(row, "body", [number, go, declared["state"]],
                                 [on, declared["next"], declared["seen"]])  # fmt: skip
        first = b("ReduceMax", "x", axes=[0], keepdims=0)
        value = b("Loop", b.constant(2 + seed % 3, np.int64), b.constant(True, np.bool_), first, outputs=2, body=body)
    listed = b.nodes[-1].output[1]
    total = b("Sub", listed, b("Unsqueeze", value, b.constant([0], np.int64)))
    return b.model([4, 3], b("Mul", total, b.weights(3)))


FAMILIES = (
    convolutional, dense, moving, shaped, absorbing, versioned, gated, quantized, recurrent, repeated,
)  # fmt: skip


# ------------------------------------------------------------------ what an optimizer does


def optimized(model: onnx.ModelProto) -> onnx.ModelProto:
    """BatchNormalization folded into the Conv before it, in float32; squares as products, a repeated Max left out, a
    factor moved from one operand of a product to the other.
    """
    made = onnx.ModelProto()
    made.CopyFrom(model)
    graph = made.graph
    values = {each.name: numpy_helper.to_array(each) for each in graph.initializer}
    makers = {name: node for node in graph.node for name in node.output}
    for node in [each for each in graph.node if each.op_type == "BatchNormalization"]:
        conv = makers.get(node.input[0])
        if conv is None or conv.op_type != "Conv":
            continue
        scale, bias, mean, variance = (values[name] for name in node.input[1:])
        epsilon = np.float32(next(each.f for each in node.attribute if each.name == "epsilon"))
        factor = scale / np.sqrt(variance + epsilon)
        W = values[conv.input[1]]
        added = values[conv.input[2]] if len(conv.input) > 2 else np.float32(0)
        names = f"{conv.output[0]}_w", f"{conv.output[0]}_b"
        graph.initializer.append(numpy_helper.from_array(W * factor.reshape(-1, 1, 1, 1), names[0]))
        graph.initializer.append(numpy_helper.from_array((added - mean) * factor + bias, names[1]))
        conv.CopyFrom(
            helper.make_node(
                "Conv",
                [conv.input[0], *names],
                [node.output[0]],
                conv.name,
                **{each.name: helper.get_attribute_value(each) for each in conv.attribute},
            )
        )
        graph.node.remove(node)
    _simplify_products(graph, makers)
    return made


def _simplify_products(graph: onnx.GraphProto, makers: dict[str, onnx.NodeProto]) -> None:
    for node in graph.node:
        if node.op_type == "Pow":
            node.CopyFrom(helper.make_node("Mul", [node.input[0]] * 2, node.output))
        inner = [makers.get(name) for name in node.input]
        products = [each for each in inner if each is not None and each.op_type == "Mul"]
        if node.op_type == "Mul" and len(products) == len(inner) == 2:
            first, second = products
            first.input[1], second.input[1] = second.input[1], first.input[1]
        for place, each in enumerate(inner):
            if node.op_type == "Max" and each and each.op_type == "Max":
                node.CopyFrom(helper.make_node("Identity", [node.input[place]], node.output))


# ------------------------------------------------------------------ mutants


@dataclass(frozen=True)
class Pair:
    """A model and a mutant of it, with what was changed."""

    family: str
    kind: str
    first: bytes
    second: bytes


def pairs(seed: int) -> Iterator[Pair]:
    """The mutants of one seed: of each family every kind that it has a place for, in the model or as optimized."""
    random = np.random.default_rng([seed, 1])
    for family in FAMILIES:
        model = family(seed)
        for kind, change in KINDS.items():
            mutant = onnx.ModelProto()
            mutant.CopyFrom(optimized(model) if random.random() < 0.4 else model)
            if change(mutant, random):
                yield Pair(family.__name__, kind, model.SerializeToString(), mutant.SerializeToString())


def _chosen(random: np.random.Generator, listed: Sequence[Any]) -> Any:
    return listed[int(random.integers(len(listed)))] if listed else None


def _float(model: onnx.ModelProto, random: np.random.Generator, change: Callable[[Any], Any]) -> bool:
    tensor = _chosen(random, [each for each in model.graph.initializer if each.data_type == FLOAT])
    if tensor is None:
        return False
    array = numpy_helper.to_array(tensor).copy()
    flat = array.reshape(-1)
    place = int(random.integers(flat.size))
    before = flat[place].tobytes()
    flat[place] = change(flat[place])
    tensor.CopyFrom(numpy_helper.from_array(array, tensor.name))
    return bool(flat[place].tobytes() != before)


def last_bit(model: onnx.ModelProto, random: np.random.Generator) -> bool:
    return _float(model, random, lambda value: np.nextafter(value, np.float32(np.inf)))


def infinite(model: onnx.ModelProto, random: np.random.Generator) -> bool:
    return _float(model, random, lambda value: np.float32(np.inf))


def zero_sign(model: onnx.ModelProto, random: np.random.Generator) -> bool:
    return _float(model, random, lambda value: -value if value == 0 else value)


def negated(model: onnx.ModelProto, random: np.random.Generator) -> bool:
    return _float(model, random, lambda value: -value)


def _attribute(model: onnx.ModelProto, random: np.random.Generator, name: str, change: Callable[[Any], Any]) -> bool:
    listed = [each for node in model.graph.node for each in node.attribute if each.name == name]
    attribute = _chosen(random, listed)
    if attribute is None:
        return False
    value = helper.get_attribute_value(attribute)
    changed = change(value)
    if changed == value:
        return False
    attribute.CopyFrom(helper.make_attribute(name, changed))
    return True


def epsilon(model: onnx.ModelProto, random: np.random.Generator) -> bool:
    return _attribute(model, random, "epsilon", lambda value: value * 1.5)


def pads(model: onnx.ModelProto, random: np.random.Generator) -> bool:
    return _attribute(model, random, "pads", lambda value: [value[1] + 1, value[0], max(0, value[3] - 1), value[2]])


def strides(model: onnx.ModelProto, random: np.random.Generator) -> bool:
    return _attribute(model, random, "strides", lambda value: [value[0], 1])


def axes(model: onnx.ModelProto, random: np.random.Generator) -> bool:
    return _attribute(model, random, "perm", lambda value: [value[-1], *value[1:-1], value[0]])


def axis(model: onnx.ModelProto, random: np.random.Generator) -> bool:
    return _attribute(model, random, "axis", lambda value: 1 - value)


def operands(model: onnx.ModelProto, random: np.random.Generator) -> bool:
    listed = [
        each for each in model.graph.node if each.op_type in ("Sub", "Div", "Concat", "MatMul", "Add", "Max", "Mul")
    ]
    node = _chosen(random, listed)
    if node is None:
        return False
    node.input[0], node.input[1] = node.input[1], node.input[0]
    return True


def dropped(model: onnx.ModelProto, random: np.random.Generator) -> bool:
    node = _chosen(random, [each for each in model.graph.node if each.op_type in ("Relu", "Sigmoid", "Neg")])
    if node is None:
        return False
    node.op_type = "Identity"
    return True


def index(model: onnx.ModelProto, random: np.random.Generator) -> bool:
    tensor = _chosen(random, [each for each in model.graph.initializer if each.data_type == INT])
    if tensor is None:
        return False
    array = numpy_helper.to_array(tensor).copy()
    place = int(random.integers(array.size))
    array.reshape(-1)[place] += int(random.choice([-1, 1]))
    tensor.CopyFrom(numpy_helper.from_array(array, tensor.name))
    return True


def small_integer(model: onnx.ModelProto, random: np.random.Generator) -> bool:
    """A zero point or a quantized weight."""
    small = TensorProto.UINT8, TensorProto.INT8
    tensor = _chosen(random, [each for each in model.graph.initializer if each.data_type in small])
    if tensor is None:
        return False
    array = numpy_helper.to_array(tensor).copy()
    array.reshape(-1)[int(random.integers(array.size))] += 1
    tensor.CopyFrom(numpy_helper.from_array(array, tensor.name))
    return True


def direction(model: onnx.ModelProto, random: np.random.Generator) -> bool:
    return _attribute(model, random, "direction", lambda value: {b"forward": "reverse"}.get(value, "forward"))


def one_sample(model: onnx.ModelProto, random: np.random.Generator) -> bool:
    """A shape that holds for N = 1 only."""
    changed = False
    for node in model.graph.node:
        if node.op_type == "Gather" and node.output[0] == "v1_0":
            node.CopyFrom(
                helper.make_node("Constant", [], ["v1_0"], value=numpy_helper.from_array(np.array([1]), "one"))
            )
            changed = True
    return changed


def operator_set(model: onnx.ModelProto, random: np.random.Generator) -> bool:
    model.opset_import[0].version = int(random.choice([11, 12, 13, 15]))
    return True


def nothing(model: onnx.ModelProto, random: np.random.Generator) -> bool:
    return True


KINDS = {
    each.__name__: each
    for each in (last_bit, infinite, zero_sign, negated, epsilon, pads, strides, axes, axis, operands, dropped, index,
                 one_sample, operator_set, small_integer, direction, nothing)
}  # fmt: skip


# ------------------------------------------------------------------ the judge


@dataclass(frozen=True)
class Judged:
    """What exact runs show: whether any ran, the first difference in bits, and the largest distance in double precision
    of finite values, relative to the largest of them.
    """

    ran: bool
    bits: str
    distance: float


def judged(pair: Pair, sets: int = 4) -> Judged:
    """Run both models on generated inputs with special values, for several numbers of N."""
    ran, bits, distance = False, "", 0.0
    for number in SYMBOLS if b"N" in _symbols(pair.first) else (None,):
        runners = [_runner(data, number) for data in (pair.first, pair.second)]
        wide = [_runner(as_double(data), number) for data in (pair.first, pair.second)]
        for each in range(sets):
            given = probe(required_inputs(runners[0].model), 5, each)
            values = [_run(runner, given) for runner in runners]
            if values[0] is None and values[1] is None:
                continue
            ran = True
            if values[0] is None or values[1] is None or values[0].shape != values[1].shape:
                return Judged(True, f"one has no value, or another shape, for set {each}", np.inf)
            found = first_difference(values[1], values[0])
            bits = bits or (f"{found.place}: {found.wanted}, {found.found}" if found else "")
            if each % 4 in (0, 2):  # ordinary numbers
                one, other = (_run(runner, {"x": given["x"].astype(np.float64)}) for runner in wide)
                if one is not None and other is not None:
                    distance = max(distance, _distance(one, other))
    return Judged(ran, bits, distance)


def _distance(one: np.ndarray, other: np.ndarray) -> float:
    finite = np.isfinite(one) & np.isfinite(other)
    if not (np.isfinite(one) == np.isfinite(other)).all():
        return np.inf
    size = max(np.abs(one[finite]).max(initial=0), np.abs(other[finite]).max(initial=0))
    apart = np.abs(one - other)[finite].max(initial=0)
    return float(apart / size) if size else 0.0


def _symbols(data: bytes) -> bytes:
    model = onnx.load_from_string(data)
    return b"N" if any(each.dim_param for each in model.graph.input[0].type.tensor_type.shape.dim) else b""


def _runner(data: bytes, number: int | None) -> ModelRunner:
    model = read(data)
    return ModelRunner(bind_symbols(model, {"N": number}) if number is not None else model, unchecked=True)


def _run(runner: ModelRunner, given: dict[str, np.ndarray]) -> np.ndarray | None:
    try:
        return runner.run(given).values["y"]
    except Exception:  # noqa: BLE001  a mutant may have no value in many ways
        return None


def as_double(data: bytes) -> bytes:
    """The model in double precision, with the same numbers."""
    model = onnx.load_from_string(data)
    for tensor in model.graph.initializer:
        if tensor.data_type == FLOAT:
            tensor.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(tensor).astype(np.float64), tensor.name))
    for value in (*model.graph.input, *model.graph.output):
        value.type.tensor_type.elem_type = TensorProto.DOUBLE
    return model.SerializeToString()


TOLERANCE, CLOSE = 1e-4, 1e-9
"""Relative distances in double precision: of models whose folded constants are listed, and of models without any."""


def refuted(pair: Pair, found: Equivalence, judge: Judged) -> str:
    """Why the answer of a comparison is wrong, "" where the judge does not refute it; an answer for one number of N is
    judged by its binding alone.
    """
    if found.answer is Answer.DIFFERENT:
        return "" if _confirmed(pair, found) else "the exact values at the witness are others, or equal"
    if found.binding or not found.proved:
        return ""
    if found.answer is Answer.IDENTICAL:
        return judge.bits
    if pair.family == "absorbing" and pair.kind in ("last_bit", "negated", "infinite"):
        return "a constant that another one absorbs is another one"
    return f"apart by {judge.distance:.3g}" if judge.distance > (TOLERANCE if found.constants else CLOSE) else ""


def _confirmed(pair: Pair, found: Equivalence) -> bool:
    witness = found.witness
    assert witness is not None
    number = next(iter(found.binding.values()))[0] if found.binding else None
    runners = [_runner(data, number) for data in (pair.first, pair.second)]
    names: dict[str, Any] = {"np": np}
    exec(witness.program[1], names)
    given = names["x"]
    if witness.evidence is Evidence.REFERENCE:
        models = [onnx.load_from_string(data) for data in (pair.first, pair.second)]
        ran: list[Any] = [ReferenceEvaluator(model).run([witness.output], given) for model in models]
        return bool(ran[0][0][witness.at] != ran[1][0][witness.at])
    one, other = (_run(runner, given) for runner in runners)
    if one is None or other is None:
        return False
    if one.shape != other.shape or not witness.at:
        return one.shape != other.shape
    values = float(one[witness.at]), float(other[witness.at])
    return repr(values) == repr(witness.exact) and repr(values[0]) != repr(values[1])
