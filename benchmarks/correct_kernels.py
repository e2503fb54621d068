"""Correct implementations of all operators, in numpy and without the executor.

Sums are computed in the element type in sequence, from the last term to the first, and in pairs; with the matrix
product of BLAS; and in a wider format, rounded once.  Functions are computed in a wider format and rounded, or by numpy
and by the C library in the element type.  Operators that do no arithmetic are in
`benchmarks/correct_kernels_exact.py`.  `benchmarks/suite_correct.py` runs them on a suite.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from ctypes import CDLL, c_double, c_float
from ctypes.util import find_library
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import product
from math import ceil, prod
from operator import add
from typing import Any

import numpy as np

from benchmarks.correct_kernels_exact import EXACT, integer_power
from sonnx.model.ir import Node
from sonnx.numerics.formats import Array, is_integer, limits_of

WIDE = np.longdouble
"""The format above double."""
Term = Callable[[int], Array]
Combination = Callable[[Array, Array], Array]
Kernel = Callable[["Implementation", Sequence[Array | None], Mapping[str, Any]], list[Array]]
"""All outputs that the operator has, from the inputs and the attributes."""


def wider(kind: np.dtype[Any]) -> np.dtype[Any]:
    """The format in which a function or a sum is computed before it is rounded once."""
    return kind if is_integer(kind) else np.dtype(WIDE if kind == np.float64 else np.float64)


# ------------------------------------------------------------------ functions


def sigmoid(x: Array) -> Array:
    """1 / (1 + exp(-x)) in the type of x."""
    one = x.dtype.type(1)
    return one / (one + np.exp(-x))


NUMPY: dict[str, Callable[[Array], Array]] = {
    "Acos": np.arccos, "Exp": np.exp, "Log": np.log, "Sin": np.sin, "Sqrt": np.sqrt, "Tanh": np.tanh,
    "Sigmoid": sigmoid,
}  # fmt: skip
LIBRARY = {"Acos": "acos", "Exp": "exp", "Log": "log", "Sin": "sin", "Sqrt": "sqrt", "Tanh": "tanh"}


def in_wider(name: str, x: Array) -> Array:
    """A function in a wider format, rounded."""
    return np.asarray(NUMPY[name](x.astype(wider(x.dtype)))).astype(x.dtype)


def in_numpy(name: str, x: Array) -> Array:
    """A function of numpy in the element type."""
    return np.asarray(NUMPY[name](x)).astype(x.dtype)


@cache
def of_library(name: str, *, double: bool) -> Callable[[float], float]:
    """A function of the C library."""
    library = CDLL(find_library("m"))
    number = c_double if double else c_float
    function = getattr(library, name if double else f"{name}f")
    function.restype, function.argtypes = number, [number]
    return function  # type: ignore[no-any-return]


def in_library(name: str, x: Array) -> Array:
    """A function of the C library: of double, and of float for all others."""
    if name == "Sigmoid":
        one = x.dtype.type(1)
        return np.asarray(one / (one + in_library("Exp", np.asarray(-x)))).astype(x.dtype)
    function = of_library(LIBRARY[name], double=x.dtype == np.float64)
    return np.array([function(float(each)) for each in x.ravel()]).astype(x.dtype).reshape(x.shape)


# ------------------------------------------------------------------ sums


def in_sequence(terms: int, term: Term, combine: Combination = add) -> Array:
    """From the first term to the last."""
    total = term(0)
    for k in range(1, terms):
        total = combine(total, term(k))
    return total


def from_the_end(terms: int, term: Term, combine: Combination = add) -> Array:
    """From the last term to the first."""
    return in_sequence(terms, lambda k: term(terms - 1 - k), combine)


def in_pairs(terms: int, term: Term, combine: Combination = add) -> Array:
    """The sums of both halves."""

    def part(start: int, end: int) -> Array:
        if end - start == 1:
            return term(start)
        middle = (start + end) // 2
        return combine(part(start, middle), part(middle, end))

    return part(0, terms)


@dataclass(frozen=True)
class Implementation:
    """How sums and functions are computed.

    Attributes:
        name: what it is called.
        add: the sum of terms; None for the matrix product of BLAS.
        function: a function of an array.
        once: sums are computed in a wider format and rounded once.
        folded: the constants of BatchNormalization become a factor and an addend.
        other_readings: where the texts have another reading that implementations may take, by that one:
            BatchNormalization scales before it divides, in the types of the operands; the last states of LSTM without
            steps are 0; Softmax is its formula.
        by_place: the places of elements are computed, in place of a function of numpy that moves them, and elements
            are compared by their bit patterns.
    """

    name: str
    add: Callable[..., Array] | None
    function: Callable[[str, Array], Array] = in_wider
    once: bool = False
    folded: bool = False
    other_readings: bool = False
    by_place: bool = False

    def total(self, terms: Array) -> Array:
        """The sum along the last axis."""
        if self.add is None:
            return np.asarray(np.add.reduce(terms, axis=-1))
        wide = terms.astype(wider(terms.dtype)) if self.once else terms
        return self.add(terms.shape[-1], lambda k: wide[..., k]).astype(terms.dtype)

    def matrix(self, left: Array, right: Array) -> Array:
        """The matrix product of stacks of matrices, in their element type."""
        kind, terms = left.dtype, left.shape[-1]
        if not terms:
            shape = np.broadcast_shapes(left.shape[:-2], right.shape[:-2])
            return np.zeros((*shape, left.shape[-2], right.shape[-1]), kind)
        if self.add is None:
            single = kind if is_integer(kind) or kind.itemsize > 2 else np.dtype(np.float32)
            return np.asarray(np.matmul(left.astype(single), right.astype(single))).astype(kind)
        if self.once:
            left, right = left.astype(wider(kind)), right.astype(wider(kind))
        return self.add(terms, lambda k: left[..., :, k, None] * right[..., None, k, :]).astype(kind)


WITHIN = (
    Implementation("in sequence", in_sequence, by_place=True),
    Implementation("from the end", from_the_end),
    Implementation("in pairs", in_pairs),
    Implementation("BLAS", None),
    Implementation("wider, rounded once", in_sequence, once=True, by_place=True),
)
"""Implementations within the hypotheses of a suite."""

# ------------------------------------------------------------------ operators


def given(inputs: Sequence[Array | None], count: int) -> list[Array]:
    """The first inputs, none of which is left out."""
    arrays = [array for array in inputs[:count] if array is not None]
    assert len(arrays) == count
    return arrays


def input_at(inputs: Sequence[Array | None], place: int) -> Array | None:
    """An input that may be left out."""
    return inputs[place] if place < len(inputs) else None


def function(name: str) -> Kernel:
    """A function of each element."""
    return lambda used, inputs, attributes: [used.function(name, *given(inputs, 1))]


def pairwise(compute: Callable[[Array, Array], Array]) -> Kernel:
    """An operation of each pair of elements."""
    return lambda used, inputs, attributes: [np.asarray(compute(*given(inputs, 2)))]


def quotient(left: Array, right: Array) -> Array:
    """Of integers cut off."""
    if not is_integer(left.dtype):
        return left / right
    floor, rest = left // right, left % right
    return np.where((rest != 0) & ((left < 0) != (right < 0)), floor + 1, floor).astype(left.dtype)


def leaky_relu(used: Implementation, inputs: Sequence[Array | None], attributes: Any) -> list[Array]:
    [x] = given(inputs, 1)
    alpha = np.float64(np.float32(attributes.get("alpha", 0.01)))
    return [np.where(x < 0, (x.astype(np.float64) * alpha).astype(x.dtype), x)]


def power(used: Implementation, inputs: Sequence[Array | None], attributes: Any) -> list[Array]:
    x, y = given(inputs, 2)
    if is_integer(x.dtype):
        return [integer_power(x, y)]
    return [np.power(x.astype(WIDE), y.astype(WIDE)).astype(x.dtype)]


def softmax(used: Implementation, inputs: Sequence[Array | None], attributes: Any) -> list[Array]:
    [x] = given(inputs, 1)
    axis = attributes.get("axis", -1)
    if not x.size:
        return [x]
    moved = np.moveaxis(x, axis, -1)
    most = moved.max(axis=-1, keepdims=True)
    shares = used.function("Exp", moved - most)
    quotients = shares / used.total(shares)[..., None]
    undefined = (most == -np.inf) & (not used.other_readings)  # erratum softmax-all-minus-infinity
    chosen = np.where(undefined, x.dtype.type(0), quotients)
    return [np.moveaxis(chosen, -1, axis).astype(x.dtype)]


def matmul(used: Implementation, inputs: Sequence[Array | None], attributes: Any) -> list[Array]:
    left, right = given(inputs, 2)
    one, other = left.ndim == 1, right.ndim == 1
    array = used.matrix(left[None] if one else left, right[:, None] if other else right)
    if other:
        array = array[..., 0]
    return [array[..., 0, :] if one and not other else array[..., 0] if one else array]


def gemm(used: Implementation, inputs: Sequence[Array | None], attributes: Any) -> list[Array]:
    (left, right), addend = given(inputs, 2), input_at(inputs, 2)
    alpha, beta = (np.float32(attributes.get(name, 1.0)) for name in ("alpha", "beta"))
    left = left.T if attributes.get("transA", 0) else left
    right = right.T if attributes.get("transB", 0) else right
    array = used.matrix(left, right)
    if alpha != 1:
        array = _times(array, alpha)
    if addend is not None:
        array = array + (addend if beta == 1 else _times(addend, beta))
    return [array]


def _times(array: Array, factor: np.float32) -> Array:
    if is_integer(array.dtype):
        raise NotImplementedError("Gemm of integers with a factor")
    return (array.astype(wider(array.dtype)) * factor.astype(wider(array.dtype))).astype(array.dtype)


def _columns(x: Array, kernel: Sequence[int], attributes: Mapping[str, Any], fill: Any) -> tuple[Array, list[int]]:
    """The elements under each place of a window: (batch, channels, elements of the window, places)."""
    if attributes.get("auto_pad", "NOTSET") not in ("NOTSET", b"NOTSET", "VALID", b"VALID"):
        raise NotImplementedError("auto_pad")
    axes = len(kernel)
    strides, dilations = (attributes.get(name) or [1] * axes for name in ("strides", "dilations"))
    pads = attributes.get("pads") or [0] * (2 * axes)
    padded = np.pad(x, [(0, 0), (0, 0), *zip(pads[:axes], pads[axes:], strict=True)], constant_values=fill)
    places = [(padded.shape[2 + d] - dilations[d] * (kernel[d] - 1) - 1) // strides[d] + 1 for d in range(axes)]
    taken = []
    for offsets in product(*map(range, kernel)):
        at = tuple(
            slice(start, start + (count - 1) * stride + 1, stride)
            for start, count, stride in zip(
                (offset * dilation for offset, dilation in zip(offsets, dilations, strict=True)),
                places, strides, strict=True,
            )
        )  # fmt: skip
        taken.append(padded[(slice(None), slice(None), *at)].reshape(*x.shape[:2], prod(places)))
    return np.stack(taken, axis=2), places


def _convolution(used: Implementation, x: Array, weights: Array, attributes: Mapping[str, Any], fill: Any) -> Array:
    groups = attributes.get("group", 1)
    columns, places = _columns(x, weights.shape[2:], attributes, fill)
    batch, channels = x.shape[:2]
    terms = channels // groups * prod(weights.shape[2:])
    right = columns.reshape(batch, groups, terms, prod(places))
    left = weights.reshape(groups, weights.shape[0] // groups, terms)
    return used.matrix(left[None], right).reshape(batch, weights.shape[0], *places)


def conv(used: Implementation, inputs: Sequence[Array | None], attributes: Any) -> list[Array]:
    (x, weights), bias = given(inputs, 2), input_at(inputs, 2)
    array = _convolution(used, x, weights, attributes, x.dtype.type(0))
    return [array if bias is None else array + bias.reshape(-1, *[1] * (x.ndim - 2))]


def conv_integer(used: Implementation, inputs: Sequence[Array | None], attributes: Any) -> list[Array]:
    x, weights = (array.astype(np.int32) for array in given(inputs, 2))
    x_zero, weights_zero = input_at(inputs, 2), input_at(inputs, 3)
    fill = np.int32(0) if x_zero is None else -x_zero.astype(np.int32)  # the padding is 0 before it
    x = x + fill
    if weights_zero is not None:
        weights = weights - weights_zero.astype(np.int32).reshape(-1, *[1] * (weights.ndim - 1))
    return [_convolution(used, x, weights, attributes, fill)]


def batch_normalization(used: Implementation, inputs: Sequence[Array | None], attributes: Any) -> list[Array]:
    arrays = given(inputs, 5)
    kind = arrays[0].dtype
    common = max((array.dtype for array in arrays), key=lambda each: each.itemsize)
    if used.other_readings:
        common = np.result_type(*arrays)
    elif any(array.dtype not in (common, kind) for array in arrays) or len({array.dtype for array in arrays}) > 1:
        common = np.dtype(np.float64)
    x, *rows = (array.astype(common) for array in arrays)
    scale, shift, mean, variance = (row.reshape(-1, *[1] * (x.ndim - 2)) if x.ndim > 1 else row for row in rows)
    epsilon = np.float32(attributes.get("epsilon", 1e-5)).astype(common)
    root = np.sqrt(variance + epsilon)
    if used.folded:
        factor = scale / root
        return [(x * factor + (shift - mean * factor)).astype(kind)]
    if used.other_readings:  # erratum batch-normalization-order
        return [((x - mean) * scale / root + shift).astype(kind)]
    return [((x - mean) / root * scale + shift).astype(kind)]


def _along(values: Array, x: Array, attributes: Mapping[str, Any]) -> Array:
    """Scales or zero points with the axes of x."""
    axis, block = attributes.get("axis", 1), attributes.get("block_size", 0)
    if values.ndim == 0 or (values.ndim == 1 and values.size == 1 and x.ndim == 0):
        return values
    if values.ndim == 1 and not block:
        return values.reshape([-1 if place == axis % x.ndim else 1 for place in range(x.ndim)])
    return np.repeat(values, block, axis=axis)[tuple(map(slice, x.shape))]


def dequantize(used: Implementation, inputs: Sequence[Array | None], attributes: Any) -> list[Array]:
    (x, scale), zero = given(inputs, 2), input_at(inputs, 2)
    if not is_integer(x.dtype):
        raise NotImplementedError("DequantizeLinear of floats")
    common = np.int32 if x.dtype == np.int32 else np.int64  # the difference of int32 wraps around
    wide = x.astype(common) - (0 if zero is None else _along(zero, x, attributes).astype(common))
    kind = scale.dtype
    middle = np.float32 if kind.itemsize <= 2 else kind
    return [(wide.astype(middle) * _along(scale, x, attributes).astype(middle)).astype(kind)]


def quantize(used: Implementation, inputs: Sequence[Array | None], attributes: Any) -> list[Array]:
    (x, scale), zero = given(inputs, 2), input_at(inputs, 2)
    kind = np.dtype(np.uint8) if zero is None else zero.dtype
    if not is_integer(kind) or attributes.get("output_dtype", 0):
        raise NotImplementedError("QuantizeLinear to floats, or with output_dtype")
    rounded = np.rint(x / _along(scale, x, attributes)).astype(np.float64)
    least, most = limits_of(kind)
    shifted = rounded + (0 if zero is None else _along(zero, x, attributes).astype(np.float64))
    return [np.clip(shifted, float(least), float(most)).astype(np.int64).astype(kind)]


def _fraction(number: Array) -> Fraction:
    return Fraction(number.item() if is_integer(number.dtype) else number.astype(np.float64).item())


def arithmetic_range(used: Implementation, inputs: Sequence[Array | None], attributes: Any) -> list[Array]:
    start, limit, step = given(inputs, 3)
    first, end, by = (_fraction(number) for number in (start, limit, step))
    count = max(0, ceil((end - first) / by))  # exact, by erratum range-length-exact
    if is_integer(start.dtype):
        return [np.array([int(start) + k * int(step) for k in range(count)], start.dtype)]
    return [start + np.arange(count).astype(start.dtype) * step]


def lstm(used: Implementation, inputs: Sequence[Array | None], attributes: Any) -> list[Array]:
    x, weights, recurrence = given(inputs, 3)
    biases, h0, c0, peephole = (input_at(inputs, place) for place in (3, 5, 6, 7))
    layout, clip = attributes.get("layout", 0), attributes.get("clip")
    direction = attributes.get("direction", "forward")
    direction = direction.decode() if isinstance(direction, bytes) else direction
    ways = {"forward": [False], "reverse": [True], "bidirectional": [False, True]}[direction]
    names = attributes.get("activations") or ["Sigmoid", "Tanh", "Tanh"] * len(ways)
    names = [name.decode() if isinstance(name, bytes) else name for name in names]
    kind, hidden = x.dtype, recurrence.shape[2]
    if layout:
        x = x.swapaxes(0, 1)
        h0, c0 = (None if state is None else state.swapaxes(0, 1) for state in (h0, c0))

    def activated(name: str, array: Array) -> Array:
        return np.maximum(array, kind.type(0)) if name == "Relu" else used.function(name, array)

    def limited(array: Array) -> Array:
        return array if clip is None else np.clip(array, kind.type(-clip), kind.type(clip)).astype(kind)

    whole, last_h, last_c = np.zeros((len(x), len(ways), x.shape[1], hidden), kind), [], []
    for d, backwards in enumerate(ways):
        first, second, third = names[3 * d : 3 * d + 3]
        zeros = np.zeros((x.shape[1], hidden), kind)
        h, c = (zeros if state is None else state[d] for state in (h0, c0))
        bias = np.zeros(4 * hidden, kind) if biases is None else biases[d][: 4 * hidden] + biases[d][4 * hidden :]
        peepholes = None if peephole is None else np.split(peephole[d], 3)
        for t in reversed(range(len(x))) if backwards else range(len(x)):
            gates = used.matrix(x[t], weights[d].T) + used.matrix(h, recurrence[d].T) + bias
            i, o, f, g = np.split(gates, 4, axis=1)
            if peepholes is not None:
                i, f = i + peepholes[0] * c, f + peepholes[2] * c
            i, g = activated(first, limited(i)), activated(second, limited(g))
            if attributes.get("input_forget", 0):
                c = (kind.type(1) - i) * c + i * g
            else:
                c = activated(first, limited(f)) * c + i * g
            if peepholes is not None:
                o = o + peepholes[1] * c
            h = activated(first, limited(o)) * activated(third, limited(c))
            whole[t, d] = h
        last_h.append(h)
        last_c.append(c)
    states = [np.stack(last_h), np.stack(last_c)]
    if used.other_readings and not len(x):  # erratum lstm-without-steps
        states = [np.zeros_like(state) for state in states]
    if layout:
        whole, states = whole.transpose(2, 0, 1, 3), [state.swapaxes(0, 1) for state in states]
    return [whole, *states]


KERNELS: dict[str, Kernel] = {
    "Add": pairwise(np.add), "Sub": pairwise(np.subtract), "Mul": pairwise(np.multiply), "Div": pairwise(quotient),
    "BatchNormalization": batch_normalization, "Conv": conv, "ConvInteger": conv_integer,
    "DequantizeLinear": dequantize, "QuantizeLinear": quantize, "Gemm": gemm, "LSTM": lstm, "LeakyRelu": leaky_relu,
    "MatMul": matmul, "Pow": power, "Range": arithmetic_range, "Softmax": softmax,
    **{name: function(name) for name in NUMPY}, **EXACT,
}  # fmt: skip
BY_OTHER_READINGS = {
    Implementation("by the other readings", in_sequence, other_readings=True): {"BatchNormalization", "LSTM", "Softmax"}
}
"""Implementations of some operators that are within the hypotheses, too."""
OUTSIDE = {
    Implementation("functions of numpy", None, in_numpy): {*NUMPY, "Softmax", "LSTM"},
    Implementation("functions of the C library", in_sequence, in_library): {*NUMPY, "Softmax", "LSTM"},
    Implementation("folded BatchNormalization", in_sequence, folded=True): {"BatchNormalization"},
}
"""Implementations that may leave the hypotheses, and the operators in which they differ from the others."""


def outputs_of(used: Implementation, node: Node, inputs: Sequence[Array | None]) -> list[Array]:
    """What an implementation gives for a node.

    Raises:
        NotImplementedError: it has no such form of the operator.
    """
    attributes = {attribute.name: attribute.value for attribute in node.attributes}
    with np.errstate(all="ignore"):
        outputs = KERNELS[node.operator](used, inputs, attributes)
    return [np.asarray(output) for output, name in zip(outputs, node.outputs, strict=False) if name]
