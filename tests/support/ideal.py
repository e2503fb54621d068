"""The ideal values of operators in long double, written for the tests of bounds: an oracle independent of sonnx."""

from __future__ import annotations

from itertools import product
from math import prod
from typing import Any

import numpy as np

Wide = np.longdouble

Array = np.ndarray[Any, Any]


def wide(array: Array) -> Array:
    return np.asarray(array).astype(Wide) if np.asarray(array).dtype.kind == "f" else np.asarray(array)


def patches(x: Array, kernel: list[int], attributes: dict[str, Any], padding: float) -> Array:
    """(N, C, kernel elements, places) by loops, with the extents of the output."""
    axes = x.ndim - 2
    strides = attributes.get("strides", [1] * axes)
    dilations = attributes.get("dilations", [1] * axes)
    pads = attributes.get("pads", [0] * 2 * axes)
    x = np.pad(x, [(0, 0), (0, 0), *zip(pads[:axes], pads[axes:], strict=True)], constant_values=padding)
    spans = [(k - 1) * d + 1 for k, d in zip(kernel, dilations, strict=True)]
    places = [(e - s) // t + 1 for e, s, t in zip(x.shape[2:], spans, strides, strict=True)]
    made = np.empty((*x.shape[:2], prod(kernel), *places), x.dtype)
    for place in product(*[range(p) for p in places]):
        for number, offset in enumerate(product(*[range(k) for k in kernel])):
            at: Any = tuple(p * t + o * d for p, t, o, d in zip(place, strides, offset, dilations, strict=True))
            into: Any = (slice(None), slice(None), number, *place)
            made[into] = x[(slice(None), slice(None), *at)]
    return made


def conv(inputs: list[Array], attributes: dict[str, Any]) -> Array:
    x, w, *bias = map(wide, inputs)
    group = attributes.get("group", 1)
    columns = patches(x, list(w.shape[2:]), attributes, 0.0)
    places = columns.shape[3:]
    columns = columns.reshape(x.shape[0], group, -1, prod(places))
    kernels = w.reshape(group, w.shape[0] // group, -1)
    made = np.einsum("gmk,ngkp->ngmp", kernels, columns).reshape(x.shape[0], w.shape[0], *places)
    return np.asarray(made + bias[0].reshape(-1, *[1] * len(places)) if bias else made)


def gemm(inputs: list[Array], attributes: dict[str, Any]) -> Array:
    a, b, *c = map(wide, inputs)
    a = a.T if attributes.get("transA") else a
    b = b.T if attributes.get("transB") else b
    alpha, beta = (Wide(np.float32(attributes.get(name, 1.0))) for name in ("alpha", "beta"))
    return np.asarray(alpha * (a @ b) + (beta * c[0] if c else Wide(0)))


def batch_normalization(inputs: list[Array], attributes: dict[str, Any]) -> Array:
    x, scale, b, mean, var = map(wide, inputs)
    shape = (-1, *[1] * (x.ndim - 2))
    root = np.sqrt(var + Wide(np.float32(attributes.get("epsilon", 1e-5))))
    return np.asarray((x - mean.reshape(shape)) / root.reshape(shape) * scale.reshape(shape) + b.reshape(shape))


def softmax(inputs: list[Array], attributes: dict[str, Any]) -> Array:
    x, axis = wide(inputs[0]), attributes.get("axis", -1)
    e = np.exp(x - x.max(axis=axis, keepdims=True))
    return np.asarray(e / e.sum(axis=axis, keepdims=True))


def pool(inputs: list[Array], attributes: dict[str, Any], *, mean: bool) -> Array:
    x = wide(inputs[0])
    kernel = attributes.get("kernel_shape", list(x.shape[2:]))
    if not mean:
        return np.asarray(patches(x, kernel, attributes, -np.inf).max(axis=2))
    ones = patches(np.ones_like(x), kernel, attributes, 1.0 if attributes.get("count_include_pad") else 0.0)
    return np.asarray(patches(x, kernel, attributes, 0.0).sum(axis=2) / ones.sum(axis=2))


IDEAL: dict[str, Any] = {
    "Conv": conv,
    "Gemm": gemm,
    "MatMul": lambda i, a: wide(i[0]) @ wide(i[1]),
    "Add": lambda i, a: wide(i[0]) + wide(i[1]),
    "Sub": lambda i, a: wide(i[0]) - wide(i[1]),
    "Mul": lambda i, a: wide(i[0]) * wide(i[1]),
    "Div": lambda i, a: wide(i[0]) / wide(i[1]),
    "Sum": lambda i, a: sum(map(wide, i)),
    "BatchNormalization": batch_normalization,
    "Softmax": softmax,
    "MaxPool": lambda i, a: pool(i, a, mean=False),
    "AveragePool": lambda i, a: pool(i, a, mean=True),
    "GlobalAveragePool": lambda i, a: pool(i, a, mean=True),
    "GlobalMaxPool": lambda i, a: pool(i, a, mean=False),
    "Relu": lambda i, a: np.maximum(wide(i[0]), 0),
    "LeakyRelu": lambda i, a: np.where(i[0] >= 0, wide(i[0]), wide(i[0]) * Wide(np.float32(a.get("alpha", 0.01)))),
    "Sigmoid": lambda i, a: 1 / (1 + np.exp(-wide(i[0]))),
    "Tanh": lambda i, a: np.tanh(wide(i[0])),
    "Exp": lambda i, a: np.exp(wide(i[0])),
    "Log": lambda i, a: np.log(wide(i[0])),
    "Sqrt": lambda i, a: np.sqrt(wide(i[0])),
    "Sin": lambda i, a: np.sin(wide(i[0])),
    "Softplus": lambda i, a: np.log1p(np.exp(wide(i[0]))),
    "Abs": lambda i, a: np.abs(wide(i[0])),
    "Neg": lambda i, a: -wide(i[0]),
    "Max": lambda i, a: np.maximum.reduce(np.broadcast_arrays(*map(wide, i))),
    "Min": lambda i, a: np.minimum.reduce(np.broadcast_arrays(*map(wide, i))),
    "Clip": lambda i, a: np.clip(wide(i[0]), wide(i[1]), wide(i[2])),
    "Where": lambda i, a: np.where(i[0], wide(i[1]), wide(i[2])),
    "ReduceMean": lambda i, a: wide(i[0]).mean(axis=tuple(a["axes"]), keepdims=bool(a.get("keepdims", 1))),
    "ReduceSum": lambda i, a: wide(i[0]).sum(axis=tuple(i[1].tolist()), keepdims=bool(a.get("keepdims", 1))),
    "Flatten": lambda i, a: wide(i[0]).reshape(prod(i[0].shape[: a.get("axis", 1)]), -1),
    "Reshape": lambda i, a: wide(i[0]).reshape(i[1].tolist()),
    "Transpose": lambda i, a: wide(i[0]).transpose(a.get("perm")),
    "Concat": lambda i, a: np.concatenate(list(map(wide, i)), axis=a["axis"]),
    "Squeeze": lambda i, a: wide(i[0]).squeeze(tuple(i[1].tolist())),
    "Unsqueeze": lambda i, a: np.expand_dims(wide(i[0]), tuple(i[1].tolist())),
    "Identity": lambda i, a: wide(i[0]),
    "Gather": lambda i, a: np.take(wide(i[0]), i[1], axis=a.get("axis", 0)),
    "Slice": lambda i, a: wide(i[0])[
        tuple(slice(*each) for each in zip(i[1].tolist(), i[2].tolist(), strict=True))
    ],
    "Expand": lambda i, a: np.broadcast_to(wide(i[0]), np.broadcast_shapes(i[0].shape, tuple(i[1].tolist()))),
    "Pad": lambda i, a: np.pad(
        wide(i[0]), list(zip(i[1][: len(i[1]) // 2], i[1][len(i[1]) // 2 :], strict=True)),
        constant_values=i[2].item() if len(i) > 2 else 0.0,
    ),
}  # fmt: skip


def evaluate(model: Any, given: dict[str, Array]) -> dict[str, Array]:
    """Every value of a model (a ModelProto) in long double."""
    from onnx import helper, numpy_helper

    values: dict[str, Array] = {t.name: numpy_helper.to_array(t) for t in model.graph.initializer} | given
    for node in model.graph.node:
        attributes = {each.name: helper.get_attribute_value(each) for each in node.attribute}
        if node.op_type == "Constant":
            values[node.output[0]] = numpy_helper.to_array(attributes["value"])
            continue
        inputs = [values[name] for name in node.input if name]
        values[node.output[0]] = np.asarray(IDEAL[node.op_type](inputs, attributes))
    return values
