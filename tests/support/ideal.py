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


def conv_transpose(inputs: list[Array], attributes: dict[str, Any]) -> Array:
    x, w, *bias = map(wide, inputs)
    axes, group = x.ndim - 2, attributes.get("group", 1)
    strides, pads = attributes.get("strides", [1] * axes), attributes.get("pads", [0] * 2 * axes)
    dilations, more = attributes.get("dilations", [1] * axes), attributes.get("output_padding", [0] * axes)
    whole = [
        s * (e - 1) + o + (k - 1) * d + 1
        for s, e, o, k, d in zip(strides, x.shape[2:], more, w.shape[2:], dilations, strict=True)
    ]
    made = np.zeros((x.shape[0], w.shape[1] * group, *whole), Wide)
    own, out = x.shape[1] // group, w.shape[1]
    for m in product(*map(range, x.shape[2:])):
        for k in product(*map(range, w.shape[2:])):
            at = tuple(a * s + b * d for a, s, b, d in zip(m, strides, k, dilations, strict=True))
            for g in range(group):
                part: Any = (slice(None), slice(g * out, (g + 1) * out), *at)
                rows: Any = (slice(None), slice(g * own, (g + 1) * own), *m)
                kernels: Any = (slice(g * own, (g + 1) * own), slice(None), *k)
                made[part] += x[rows] @ w[kernels]
    cut: Any = tuple(slice(b, n - e) for b, e, n in zip(pads[:axes], pads[axes:], whole, strict=True))
    made = made[(slice(None), slice(None), *cut)]
    return np.asarray(made + bias[0].reshape(-1, *[1] * axes) if bias else made)


def lrn(inputs: list[Array], a: dict[str, Any]) -> Array:
    x, size = wide(inputs[0]), a["size"]
    alpha, beta, bias = (Wide(np.float32(a.get(n, v))) for n, v in (("alpha", 1e-4), ("beta", 0.75), ("bias", 1.0)))
    made = np.empty_like(x)
    for c in range(x.shape[1]):
        around = x[:, max(0, c - (size - 1) // 2) : c + size // 2 + 1]
        made[:, c] = x[:, c] / (bias + alpha / size * (around**2).sum(axis=1)) ** beta
    return made


def gates(x: Array) -> Array:
    return np.asarray(1 / (1 + np.exp(-x)))


def lstm(inputs: list[Array], attributes: dict[str, Any]) -> Array:
    x, w, r, b = map(wide, inputs[:4])
    made, (h, c) = [], np.zeros((2, x.shape[1], r.shape[2]), Wide)
    for row in x:
        i, o, f, g = np.split(row @ w[0].T + h @ r[0].T + b[0].reshape(2, -1).sum(axis=0), 4, axis=1)
        c = gates(f) * c + gates(i) * np.tanh(g)
        h = gates(o) * np.tanh(c)
        made.append(h)
    return np.stack(made)[:, None]


def gru(inputs: list[Array], attributes: dict[str, Any]) -> Array:
    x, w, r, b = map(wide, inputs[:4])
    made, h = [], np.zeros((x.shape[1], r.shape[2]), Wide)
    (wz, wr, wh), (rz, rr, rh), (bz, br, bh, cz, cr, ch) = np.split(w[0], 3), np.split(r[0], 3), np.split(b[0], 6)
    for row in x:
        z, reset = (gates(row @ m.T + h @ n.T + p + q) for m, n, p, q in ((wz, rz, bz, cz), (wr, rr, br, cr)))
        if attributes.get("linear_before_reset"):
            n = np.tanh(row @ wh.T + bh + reset * (h @ rh.T + ch))
        else:
            n = np.tanh(row @ wh.T + bh + (reset * h) @ rh.T + ch)
        h = (1 - z) * n + z * h
        made.append(h)
    return np.stack(made)[:, None]


def resize(inputs: list[Array], attributes: dict[str, Any]) -> Array:
    """Half-pixel places, by the definition of ONNX: nearest (round_prefer_floor) or linear; scales on all axes."""
    x, scales = wide(inputs[0]), np.asarray(inputs[-1], Wide)
    for axis, scale in enumerate(scales):
        n = x.shape[axis]
        at = (np.arange(int(np.floor(n * scale))) + Wide(0.5)) / scale - Wide(0.5)
        if attributes.get("mode") == b"linear":
            low = np.floor(at).astype(int)
            shape = [-1 if k == axis else 1 for k in range(x.ndim)]
            part = (at - low).reshape(shape)
            ends = [np.take(x, np.clip(low + step, 0, n - 1), axis) for step in (0, 1)]
            x = ends[0] * (1 - part) + ends[1] * part
        else:
            x = np.take(x, np.clip(np.ceil(at - Wide(0.5)).astype(int), 0, n - 1), axis)
    return x


def scatter(inputs: list[Array], attributes: dict[str, Any]) -> Array:
    x = wide(inputs[0]).copy()
    x[inputs[1][:, 0]] = inputs[2]
    return x


def quantize(inputs: list[Array], attributes: dict[str, Any]) -> Array:
    x, scale = wide(inputs[0]), wide(inputs[1])
    zero = np.asarray(inputs[2]).astype(int)
    limits = np.iinfo(inputs[2].dtype)
    return np.asarray(np.clip(np.rint(x / scale) + zero, limits.min, limits.max))


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
    "ReduceMax": lambda i, a: wide(i[0]).max(axis=tuple(a["axes"]), keepdims=bool(a.get("keepdims", 1))),
    "ArgMax": lambda i, a: np.expand_dims(wide(i[0]).argmax(axis=a["axis"]), a["axis"]),
    "Floor": lambda i, a: np.floor(wide(i[0])),
    "Ceil": lambda i, a: np.ceil(wide(i[0])),
    "Sign": lambda i, a: np.sign(wide(i[0])),
    "Reciprocal": lambda i, a: 1 / wide(i[0]),
    "Acos": lambda i, a: np.arccos(wide(i[0])),
    "HardSigmoid": lambda i, a: np.clip(
        Wide(np.float32(a.get("alpha", 0.2))) * wide(i[0]) + Wide(np.float32(a.get("beta", 0.5))), 0, 1),
    "HardSwish": lambda i, a: wide(i[0]) * np.clip((wide(i[0]) + 3) / 6, 0, 1),
    "Pow": lambda i, a: np.power(wide(i[0]), wide(i[1])),
    "Mod": lambda i, a: np.fmod(wide(i[0]), wide(i[1])),
    "ScatterND": scatter,
    "LRN": lrn,
    "ConvTranspose": conv_transpose,
    "LSTM": lstm,
    "GRU": gru,
    "Resize": resize,
    "Cast": lambda i, a: np.trunc(wide(i[0])) if a["to"] in (6, 7) else wide(i[0]),
    "QuantizeLinear": quantize,
    "DequantizeLinear": lambda i, a: (wide(i[0].astype(np.float64)) - i[2].astype(np.int64)) * wide(i[1]),
    "ConvInteger": lambda i, a: conv([
        i[0].astype(np.float64) - float(i[2]), i[1].astype(np.float64) - float(i[3])], a),
    "Less": lambda i, a: wide(i[0]) < wide(i[1]),
    "Greater": lambda i, a: wide(i[0]) > wide(i[1]),
    "And": lambda i, a: i[0] & i[1],
    "Or": lambda i, a: i[0] | i[1],
    "Not": lambda i, a: ~i[0],
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
