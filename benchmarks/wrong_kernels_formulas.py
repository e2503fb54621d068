"""Wrong kernels that compute in another way: accumulators, approximations of functions, formulas, and memory.

Accumulators and approximations are put into the correct implementations of `benchmarks/correct_kernels.py`; a kernel
that differs from the correct implementation nowhere has no effect.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import combinations
from typing import Any

import numpy as np

from benchmarks.correct_kernels import (
    KERNELS,
    WIDE,
    Combination,
    Implementation,
    Term,
    in_sequence,
    in_wider,
    input_at,
    outputs_of,
    sigmoid,
)  # fmt: skip
from sonnx.numerics.formats import ELEMENTS, Array, is_integer, limits_of

Inputs = Sequence[Array | None]
Attributes = Mapping[str, Any]

# ------------------------------------------------------------------ accumulators

NARROWER = {"double": "float", "float": "bfloat16", "float16": "float8e5m2", "bfloat16": "float8e5m2",
            "int64": "int32", "int32": "int16", "int8": "int8", "uint8": "uint8"}  # fmt: skip
NARROW = {ELEMENTS[kind]: ELEMENTS[narrow] for kind, narrow in NARROWER.items()}


def chosen(places: Callable[[int], Sequence[int]]) -> Callable[..., Array]:
    """Only some of the terms are combined, or some twice."""

    def add(terms: int, term: Term, combine: Combination = np.add) -> Array:
        listed = places(terms)
        return in_sequence(len(listed), lambda k: term(listed[k]), combine)

    return add


def narrow(terms: int, term: Term, combine: Combination = np.add) -> Array:
    """Partial sums are kept in a narrower type."""

    def combined(left: Array, right: Array) -> Array:
        total = combine(left, right)
        return total.astype(NARROW.get(total.dtype, total.dtype)).astype(total.dtype)

    return in_sequence(terms, term, combined)


def saturating(terms: int, term: Term, combine: Combination = np.add) -> Array:
    """Partial sums of integers are limited to their type."""

    def combined(left: Array, right: Array) -> Array:
        if not is_integer(left.dtype):
            return combine(left, right)
        return limited(combine(left.astype(WIDE), right.astype(WIDE)), left.dtype)

    return in_sequence(terms, term, combined)


def saturating_pairs(terms: int, term: Term, combine: Combination = np.add) -> Array:
    """The sums of two products of int32 are limited to int16, as an instruction for bytes does."""
    if combine is not np.add or term(0).dtype != np.int32:
        return in_sequence(terms, term, combine)
    pairs = [term(k) + term(k + 1) if k + 1 < terms else term(k) for k in range(0, terms, 2)]
    return in_sequence(len(pairs), lambda k: np.clip(pairs[k], -(2**15), 2**15 - 1))


def limited(values: Array, kind: np.dtype[Any]) -> Array:
    """Numbers in extended precision limited to an integer type."""
    least, most = limits_of(kind)
    return np.where(values >= most, most, np.where(values <= least, least, values)).astype(kind)


ACCUMULATORS: Mapping[str, Callable[..., Array]] = {
    "the last of an odd number of terms lost": chosen(lambda terms: range(terms - (terms > 1 and terms % 2))),
    "the rest after 8 terms lost": chosen(lambda terms: range(terms // 8 * 8 if terms > 8 else terms)),
    "the rest after 16 terms lost": chosen(lambda terms: range(terms // 16 * 16 if terms > 16 else terms)),
    "the last 8 terms again where there is a rest": chosen(lambda terms: [
        *range(terms // 8 * 8), *range(terms - 8, terms)] if terms > 8 and terms % 8 else range(terms)),
    "the first term twice": chosen(lambda terms: [0, *range(terms)] if terms > 1 else range(terms)),
    "every second vector of 8 terms lost": chosen(lambda terms: [k for k in range(terms) if k // 8 % 2 == 0]),
    "only the last block of 64 terms": chosen(lambda terms: range((terms - 1) // 64 * 64, terms)),
    "terms behind 128 lost": chosen(lambda terms: range(min(terms, 128))),
    "terms behind 65535 lost": chosen(lambda terms: range(min(terms, 2**16 - 1))),
    "narrow": narrow,
    "saturating": saturating,
    "pairs saturate to int16": saturating_pairs,
}  # fmt: skip
REDUCTIONS = ("Conv", "ConvInteger", "Gemm", "LSTM", "MatMul", "Max", "MaxPool", "ReduceMax", "Softmax")

# ------------------------------------------------------------------ functions


def series_of_exp(x: Array) -> Array:
    """A power of 2 times a polynomial of degree 4."""
    number = np.rint(x / x.dtype.type(np.log(2)))
    rest = x - number * x.dtype.type(np.log(2))
    total = np.ones_like(x)
    for k in (4, 3, 2, 1):
        total = total * rest / x.dtype.type(k) + x.dtype.type(1)
    return np.ldexp(total.astype(WIDE), np.clip(np.nan_to_num(number.astype(np.float64)), -9999, 9999).astype(int))


def quotient_of_tanh(x: Array) -> Array:
    power = np.exp(x + x)
    return (power - x.dtype.type(1)) / (power + x.dtype.type(1))


FUNCTIONS: Mapping[str, Mapping[str, Callable[[Array], Array]]] = {
    "Exp": {
        "the square of the root": lambda x: np.exp(x / x.dtype.type(2)) ** x.dtype.type(2),
        "a power of 2": lambda x: np.exp2(x * x.dtype.type(np.log2(np.e))),
        "a polynomial of degree 4": series_of_exp,
        "arguments limited to 80": lambda x: np.exp(np.clip(x.astype(WIDE), -80, 80)),
        "through bfloat16": lambda x: np.exp(x.astype(ELEMENTS["bfloat16"]).astype(WIDE)),
    },
    "Log": {
        "a logarithm to base 2": lambda x: np.log2(x) * x.dtype.type(np.log(2)),
        "the least normal number for less": lambda x: np.where(
            (x > 0) & (x < 2.0**-126), np.log(WIDE(2.0**-126)), np.log(x.astype(WIDE))),
        "linear near 1": lambda x: np.where(np.abs(x.astype(WIDE) - 1) < 1e-3, x.astype(WIDE) - 1, np.log(
            x.astype(WIDE))),
    },
    "Sigmoid": {
        "half of tanh": lambda x: np.tanh(x / x.dtype.type(2)) / x.dtype.type(2) + x.dtype.type(0.5),
        "arguments limited to 18": lambda x: sigmoid(np.clip(x.astype(WIDE), -18, 18)),
        "three lines": lambda x: np.clip(x.astype(WIDE) / 5 + 0.5, 0, 1),
        "exp divided by 1 + exp": lambda x: np.exp(x) / (np.exp(x) + x.dtype.type(1)),
    },
    "Tanh": {
        "a quotient of exponentials": quotient_of_tanh,
        "arguments limited to 4": lambda x: np.tanh(np.clip(x.astype(WIDE), -4, 4)),
        "a quotient of polynomials": lambda x: np.clip(x * (27 + x.astype(WIDE) ** 2) / (27 + 9 * x.astype(WIDE) ** 2),
                                                       -1, 1),
        "the argument itself below 0.05": lambda x: np.where(np.abs(x) < 0.05, x, np.tanh(x.astype(WIDE))),
    },
    "Sqrt": {
        "the number times its reciprocal root": lambda x: x * (x.dtype.type(1) / np.sqrt(x)),
        "of float": lambda x: np.sqrt(x.astype(np.float32)),
        "half of the logarithm": lambda x: np.exp2(np.log2(x.astype(np.float64)) / 2),
    },
    "Sin": {
        "reduced by a float of pi": lambda x: np.sin(x - np.rint(x / x.dtype.type(np.pi)) * x.dtype.type(np.pi))
        * np.where(np.rint(x / x.dtype.type(np.pi)) % 2 == 0, 1, -1),
        "a polynomial of degree 7": lambda x: x - x**3 / 6.0 + x**5 / 120.0 - x**7 / 5040.0,
        "0 behind 2^20": lambda x: np.where(np.abs(x.astype(WIDE)) > 2**20, 0, np.sin(x.astype(WIDE))),
        "cosine of a shifted argument": lambda x: np.cos(x - x.dtype.type(np.pi / 2)),
    },
    "Acos": {
        "by the arc of tangent": lambda x: np.arctan2(np.sqrt(x.dtype.type(1) - x * x), x),
        "pi/2 without the arc of sine": lambda x: x.dtype.type(np.pi / 2) - np.arcsin(x),
    },
}  # fmt: skip
USES = {"Softmax": ("Exp",), "LSTM": ("Sigmoid", "Tanh"), **{name: (name,) for name in FUNCTIONS}}

# ------------------------------------------------------------------ formulas


def elementwise(compute: Callable[..., Any]) -> Callable[[Inputs, Attributes], list[Array]]:
    """A formula of the inputs; the output has the type of the first one."""

    def outputs(inputs: Inputs, attributes: Attributes) -> list[Array]:
        arrays = [array for array in inputs if array is not None]
        return [np.asarray(compute(*arrays)).astype(arrays[0].dtype)]

    return outputs


def saturated(compute: Callable[..., Any]) -> Callable[[Inputs, Attributes], list[Array]]:
    """An operation of integers that is limited to their type."""

    def outputs(inputs: Inputs, attributes: Attributes) -> list[Array]:
        arrays = [array for array in inputs if array is not None]
        if not is_integer(arrays[0].dtype):
            raise NotImplementedError
        return [limited(compute(*(array.astype(WIDE) for array in arrays)), arrays[0].dtype)]

    return outputs


def of_kernel(
    operator: str,
    inputs: Callable[[list[Array | None]], list[Array | None]] = lambda given: given,
    attributes: Callable[[Attributes], Attributes] = lambda given: given,
    outputs: Callable[[list[Array]], list[Array]] = lambda given: given,
) -> Callable[[Inputs, Attributes], list[Array]]:
    """The correct implementation with other inputs, attributes or outputs."""
    used = Implementation("in sequence", in_sequence)
    return lambda given, known: outputs(KERNELS[operator](used, inputs([*given]), attributes(known)))


def other_sign(array: Array | None) -> Array | None:
    """The same bits as integers with a sign, or without."""
    if array is None or not is_integer(array.dtype):
        return array
    return array.view(f"{'u' if array.dtype.kind == 'i' else 'i'}{array.dtype.itemsize}")


def all_of_other_sign(given: Sequence[Array | None]) -> list[Any]:
    """All of them with a sign, or without."""
    return [other_sign(array) for array in given]


def with_input(place: int, change: Callable[[Array], Array | None]) -> Callable[[list[Array | None]], Any]:
    """One input changed, where it is given."""
    return lambda given: [
        change(each) if number == place and each is not None else each for number, each in enumerate(given)
    ]


def quantized(quotients: Callable[[Array, Array], Array]) -> Callable[[Inputs, Attributes], list[Array]]:
    """QuantizeLinear of one scale, with other quotients before the zero point is added."""

    def outputs(inputs: Inputs, attributes: Attributes) -> list[Array]:
        x, scale, zero = inputs[0], inputs[1], input_at(inputs, 2)
        if x is None or scale is None or zero is None or scale.size != 1 or not is_integer(zero.dtype):
            raise NotImplementedError
        total = quotients(x, scale.reshape(())).astype(WIDE) + zero.reshape(()).astype(WIDE)
        return [limited(np.nan_to_num(total), zero.dtype)]

    return outputs


def gates(order: Sequence[int]) -> Callable[[Array], Array]:
    """The rows of weights of LSTM with the gates in another order."""
    return lambda array: np.concatenate([np.split(array, len(order), axis=1)[k] for k in order], axis=1)


def with_gates(order: Sequence[int], given: list[Array | None]) -> list[Array | None]:
    """Both weights of LSTM with the gates in another order."""
    return [gates(order)(each) if place in (1, 2) and each is not None else each for place, each in enumerate(given)]


def normalized(root: Callable[[Array, Array], Array]) -> Callable[[Inputs, Attributes], list[Array]]:
    """BatchNormalization with another factor of x - mean than 1 / sqrt(variance + epsilon)."""

    def outputs(inputs: Inputs, attributes: Attributes) -> list[Array]:
        x, *rows = (array for array in inputs if array is not None)
        scale, shift, mean, variance = (row.astype(WIDE).reshape(-1, *[1] * (x.ndim - 2)) for row in rows)
        epsilon = WIDE(np.float32(attributes.get("epsilon", 1e-5)))
        return [((x - mean) * root(variance, epsilon) * scale + shift).astype(x.dtype)]

    return outputs


def counted(count: Callable[[Array, Array, Array], Any]) -> Callable[[Inputs, Attributes], list[Array]]:
    """Range with another number of elements."""

    def outputs(inputs: Inputs, attributes: Attributes) -> list[Array]:
        start, limit, step = (array for array in inputs if array is not None)
        return [start + np.arange(max(0, int(count(start, limit, step)))).astype(start.dtype) * step]

    return outputs


def padded_with_zeros(inputs: Inputs, attributes: Attributes) -> list[Array]:
    """MaxPool with zeros as padding: a sum of ones is less than the size of a window that reaches into it."""
    x, kernel, used = inputs[0], attributes["kernel_shape"], Implementation("", in_sequence)
    assert x is not None
    ones = [np.ones((x.shape[0] * x.shape[1], 1, *x.shape[2:]), np.uint8), np.ones((1, 1, *kernel), np.uint8)]
    [most], [count] = KERNELS["MaxPool"](used, inputs, attributes), KERNELS["ConvInteger"](used, ones, attributes)
    return [np.where((count < np.prod(kernel)).reshape(most.shape) & (most < 0), 0, most).astype(most.dtype)]


def accumulated(inputs: Inputs, attributes: Attributes) -> list[Array]:
    """Range by adding the step to the element before."""
    start, _, step = (array for array in inputs if array is not None)
    count = len(KERNELS["Range"](Implementation("", in_sequence), inputs, attributes)[0])
    return [np.add.accumulate(np.array([start, *[step] * (count - 1)], start.dtype)[:count])]


QUARTERS = {"i, f, o, c": (0, 2, 1, 3), "i, f, c, o": (0, 2, 3, 1), "o, i, f, c": (1, 0, 2, 3)}
FORMULAS: Mapping[str, Mapping[str, Callable[[Inputs, Attributes], list[Array]]]] = {
    "Abs": {"the root of the square": elementwise(lambda x: np.sqrt(x * x)),
            "the larger of x and -x": elementwise(lambda x: np.where(x > -x, x, -x)),
            "saturates": saturated(np.abs)},
    "Neg": {"0 - x": elementwise(lambda x: x.dtype.type(0) - x), "saturates": saturated(np.negative),
            "every bit of an integer": elementwise(lambda x: ~x if is_integer(x.dtype) else -x)},
    "Add": {"saturates": saturated(np.add)},
    "Sub": {"saturates": saturated(np.subtract), "of integers in double": elementwise(
        lambda x, y: x.astype(np.float64) - y.astype(np.float64))},
    "Mul": {"saturates": saturated(np.multiply)},
    "Div": {"times the rounded reciprocal": elementwise(lambda x, y: x * (y.dtype.type(1) / y)),
            "times a reciprocal of 12 bits": elementwise(lambda x, y: x * (1 / y.astype(np.float64)).astype(np.float16)
                                                         .astype(x.dtype)),
            "of integers in float": elementwise(lambda x, y: np.trunc(x.astype(np.float32) / y.astype(np.float32))),
            "of integers in double": elementwise(lambda x, y: np.trunc(x.astype(np.float64) / y.astype(np.float64))),
            "of integers without sign": elementwise(lambda x, y: other_sign(x) // other_sign(y) if is_integer(
                x.dtype) else x / y)},
    "Less": {"the sign of the difference": lambda inputs, attributes: [
                np.asarray((inputs[0] - inputs[1]) < 0)],  # type: ignore[operator]
             "not greater or equal": lambda inputs, attributes: [np.asarray(~(inputs[0] >= inputs[1]))],  # type: ignore[operator]
             "of integers without sign": lambda inputs, attributes: [
                np.asarray(other_sign(inputs[0]) < other_sign(inputs[1]))],  # type: ignore[operator]
             "of float": lambda inputs, attributes: [np.asarray(
                inputs[0].astype(np.float32) < inputs[1].astype(np.float32))]},  # type: ignore[union-attr]
    "Max": {"half of sum and distance": elementwise(lambda x, y: (x + y + np.abs(x - y)) / x.dtype.type(2)),
            "of integers without sign": of_kernel("Max", all_of_other_sign, outputs=all_of_other_sign),
            "by the sign of the difference": elementwise(lambda x, y: np.where(x - y < 0, y, x))},
    "ReduceMax": {"of integers without sign": of_kernel(
        "ReduceMax", with_input(0, other_sign), outputs=all_of_other_sign)},
    "MaxPool": {"of integers without sign": of_kernel("MaxPool", with_input(0, other_sign), outputs=all_of_other_sign),
                "padding of 0": padded_with_zeros},
    "ArgMax": {"of integers without sign": of_kernel("ArgMax", with_input(0, other_sign)),
               "of float": of_kernel("ArgMax", with_input(0, lambda x: x.astype(np.float32)))},
    "Relu": {"half of sum and magnitude": elementwise(lambda x: (x + np.abs(x)) / x.dtype.type(2)),
             "times a mark": elementwise(lambda x: x * (x > 0).astype(x.dtype))},
    "LeakyRelu": {"the larger one": lambda inputs, attributes: [np.maximum(inputs[0], (
        inputs[0].astype(WIDE) * np.float32(attributes["alpha"])).astype(inputs[0].dtype))],  # type: ignore[union-attr, arg-type]
        "a slope of 16 bits": of_kernel("LeakyRelu", attributes=lambda known: {"alpha": np.float32(
            np.float16(known["alpha"]))})},
    "Clip": {"the bounds in the other order": elementwise(lambda x, low, high: np.maximum(np.minimum(x, high), low)),
             "bounds of float": elementwise(lambda x, low, high: np.clip(x, low.astype(np.float32), high.astype(
                 np.float32)))},
    "Where": {"by products": lambda inputs, attributes: [(inputs[0] * inputs[1] + ~inputs[0] * inputs[2]).astype(
        inputs[1].dtype)]},  # type: ignore[operator, union-attr]
    "Pow": {"by exp and log": elementwise(lambda x, y: np.exp(y.astype(WIDE) * np.log(x.astype(WIDE)))),
            "of float": elementwise(lambda x, y: np.power(x.astype(np.float32), y.astype(np.float32))),
            "exponents without their fraction": elementwise(lambda x, y: np.power(x.astype(WIDE), np.trunc(y.astype(
                WIDE))))},
    "QuantizeLinear": {
        "times the reciprocal of the scale": quantized(lambda x, scale: np.rint(x * (x.dtype.type(1) / scale))),
        "half added and cut off": quantized(lambda x, scale: np.floor(x / scale + x.dtype.type(0.5))),
        "cut off": quantized(lambda x, scale: np.trunc(x / scale)),
        "through int32": quantized(lambda x, scale: np.where(np.abs(x / scale) < 2.0**31, np.rint(x / scale),
                                                             -(2.0**31))),
        "limited before the zero point": quantized(lambda x, scale: np.clip(np.rint(x / scale), -128, 255)),
        "a quotient of bfloat16": quantized(lambda x, scale: np.rint((x / scale).astype(ELEMENTS["bfloat16"]).astype(
            x.dtype)))},
    "DequantizeLinear": {
        "the difference wraps around": of_kernel("DequantizeLinear", lambda given: [
            given[0] - given[2] if given[2] is not None and given[2].shape == () else given[0], given[1],  # type: ignore[operator]
            None if given[2] is not None and given[2].shape == () else given[2]]),
        "x with the other sign": of_kernel("DequantizeLinear", with_input(0, other_sign)),
        "the zero point with the other sign": of_kernel("DequantizeLinear", with_input(2, other_sign)),
        "the zero point scaled by itself": of_kernel("DequantizeLinear", lambda given: [
            given[0], given[1], given[2] * 0 if given[2] is not None else None])},
    "ConvInteger": {
        "x with the other sign": of_kernel("ConvInteger", with_input(0, other_sign)),
        "weights with the other sign": of_kernel("ConvInteger", with_input(1, other_sign)),
        "the kernel flipped": of_kernel("ConvInteger", with_input(1, lambda w: np.flip(w, tuple(range(2, w.ndim))))),
        "the first zero point of the weights for all": of_kernel("ConvInteger", with_input(3, lambda zero: np.full_like(
            zero, zero.reshape(-1)[0])))},
    "Conv": {"the kernel flipped": of_kernel("Conv", with_input(1, lambda w: np.flip(w, tuple(range(2, w.ndim))))),
             "groups in the other order": of_kernel("Conv", with_input(1, lambda w: w[::-1].copy()), outputs=lambda
                                                    given: [given[0][:, ::-1]])},
    "Softmax": {"exp of x without the logarithm of the sum": lambda inputs, attributes: [_log_softmax(
        inputs[0], attributes.get("axis", -1))]},  # type: ignore[arg-type]
    "BatchNormalization": {
        "epsilon outside of the root": normalized(lambda variance, epsilon: 1 / (np.sqrt(variance) + epsilon)),
        "a reciprocal root of 12 bits": normalized(lambda variance, epsilon: (1 / np.sqrt(variance + epsilon)).astype(
            np.float16).astype(WIDE)),
        "the variance as a deviation": normalized(lambda variance, epsilon: 1 / (variance + epsilon))},
    "Gemm": {"the addend times alpha": lambda inputs, attributes: KERNELS["Gemm"](
        Implementation("", in_sequence), [inputs[0], inputs[1], None if input_at(inputs, 2) is None else (
            inputs[2].astype(WIDE) * np.float32(attributes["alpha"])).astype(inputs[2].dtype)], attributes)},  # type: ignore[union-attr]
    "Range": {"by adding the step": accumulated,
              "a rounded count": counted(lambda start, limit, step: np.rint((limit - start) / step)),
              "the limit itself": counted(lambda start, limit, step: np.floor((limit - start) / step) + 1)},
    "LSTM": {
        **{f"weights in the order {title}": of_kernel("LSTM", partial(with_gates, order))
           for title, order in QUARTERS.items()},
        **{f"W in the order {title}": of_kernel("LSTM", with_input(1, gates(order)))
           for title, order in QUARTERS.items()},
        "peepholes in the order i, f, o": of_kernel("LSTM", with_input(7, gates((0, 2, 1)))),
        "the second half of the bias lost": of_kernel("LSTM", with_input(3, lambda b: np.concatenate(
            [b[:, : b.shape[1] // 2], 0 * b[:, : b.shape[1] // 2]], axis=1))),
        "the steps in the other order": of_kernel("LSTM", attributes=lambda known: {**known, "direction": {
            "forward": "reverse", "reverse": "forward"}.get(known.get("direction", "forward"), "bidirectional")}),
        "the last states exchanged": of_kernel("LSTM", outputs=lambda given: [given[0], given[2], given[1]]),
    },
}  # fmt: skip


def _log_softmax(x: Array, axis: int) -> Array:
    shifted = x - x.max(axis=axis, keepdims=True)
    total = np.exp(shifted.astype(WIDE)).sum(axis=axis, keepdims=True).astype(x.dtype)
    return np.asarray(np.exp((shifted - np.log(total)).astype(WIDE)).astype(x.dtype))


# ------------------------------------------------------------------ kernels


def of_formula(compute: Callable[[Inputs, Attributes], list[Array]], call: Any) -> Sequence[Array]:
    outputs = compute(call.inputs, {attribute.name: attribute.value for attribute in call.node.attributes})
    return [each for each, name in zip(outputs, call.node.outputs, strict=False) if name]


def with_ingredient(wrong: Implementation, call: Any) -> Sequence[Array]:
    """What a correct implementation gives with a wrong ingredient, if that has an effect."""
    correct = Implementation("in sequence", in_sequence)
    outputs, right = (outputs_of(each, call.node, call.inputs) for each in (wrong, correct))
    same = all(one.tobytes() == other.tobytes() for one, other in zip(outputs, right, strict=True))
    return call.exact if same else outputs


class Remembering:
    """A kernel that keeps something of the call before, by the shapes and types of the inputs."""

    def __init__(self, compute: Callable[[Any, dict[Any, Any], Any], Sequence[Array]]) -> None:
        self.compute, self.known = compute, dict[Any, Any]()

    def __call__(self, call: Any) -> Sequence[Array]:
        shapes = tuple(None if each is None else (each.dtype, each.shape) for each in call.inputs)
        return self.compute(call, self.known, (call.node.attributes, shapes))


def cached(call: Any, known: dict[Any, Any], key: Any) -> Sequence[Array]:
    """The outputs of the call before whose inputs begin with the same elements."""
    first = tuple(None if each is None or not each.size else str(each.reshape(-1)[0]) for each in call.inputs)
    return known.setdefault((*key, first), call.exact)  # type: ignore[no-any-return]


def packed_once(place: int, call: Any, known: dict[Any, Any], key: Any) -> Sequence[Array]:
    """An input is kept from the first call."""
    given = call.inputs[place] if place < len(call.inputs) else None
    kept = known.setdefault(key, given)
    return call.exact if kept is given or kept is None else call.again({place: kept})


def unwritten(call: Any, known: dict[Any, Any], key: Any) -> Sequence[Array]:
    """The last element of each output is that of the call before."""
    before, known[key] = known.get(key), call.exact
    if before is None:
        return call.exact  # type: ignore[no-any-return]
    outputs = [each.copy() for each in call.exact]
    for each, old in zip(outputs, before, strict=True):
        if each.shape == old.shape and each.size:
            each.reshape(-1)[-1:] = old.reshape(-1)[-1:]
    return outputs


def aliased(place: int, call: Any) -> Sequence[Array]:
    """The second half is computed from an input whose first half the output has overwritten."""
    given, exact = call.inputs[place] if place < len(call.inputs) else None, call.exact[0]
    half = exact.size // 2
    if given is None or given.dtype != exact.dtype or given.size < exact.size or not half:
        return call.exact  # type: ignore[no-any-return]
    changed = given.reshape(-1).copy()
    changed[:half] = exact.reshape(-1)[:half]
    other = call.again({place: changed.reshape(given.shape)})[0].reshape(-1)
    return [np.concatenate([exact.reshape(-1)[:half], other[half:]]).reshape(exact.shape), *call.exact[1:]]


def exchanged_attributes(one: str, other: str, call: Any) -> Sequence[Array]:
    known = call.attributes()
    if one not in known or other not in known or np.size(known[one]) != np.size(known[other]):
        return call.exact  # type: ignore[no-any-return]
    return call.again(attributes={one: known[other], other: known[one]})  # type: ignore[no-any-return]


def with_mode(mode: str, call: Any) -> Sequence[Array]:
    return call.again(attributes={"mode": mode}) if call.attributes().get("mode", mode) != mode else call.exact  # type: ignore[no-any-return]


def computing_kernels(operator: str, data: int, attributes: Mapping[str, str]) -> Iterator[tuple[str, str, Any, bool]]:
    """The family, title and outputs of each, and whether it computes another call.

    Args:
        operator: the operator.
        data: how many inputs hold data.
        attributes: the kind of each parameter.
    """
    if operator in REDUCTIONS:
        for title, add in ACCUMULATORS.items():
            yield "accumulator", title, partial(with_ingredient, Implementation(title, add)), True
    for function in USES.get(operator, ()):
        for title, formula in FUNCTIONS[function].items():
            wrong = Implementation(title, in_sequence, partial(_approximated, function, formula))
            yield "function", f"{function} as {title}", partial(with_ingredient, wrong), True
    for title, compute in FORMULAS.get(operator, {}).items():
        yield "formula", title, partial(of_formula, compute), True
    yield "memory", "outputs of a call that begins alike", Remembering(cached), False
    yield "memory", "the last element of the call before", Remembering(unwritten), False
    for place in range(data):
        if place:
            yield "memory", f"input {place} of the first call", Remembering(partial(packed_once, place)), True
        yield "memory", f"output over input {place}", partial(aliased, place), True
    for one, other in combinations(attributes, 2):
        if attributes[one] == attributes[other] in ("int", "ints"):
            yield "axis", f"{one} and {other} exchanged", partial(exchanged_attributes, one, other), True
    if operator == "Pad":
        for mode in ("constant", "edge", "reflect", "wrap"):
            yield "formula", f"always {mode}", partial(with_mode, mode), True


def _approximated(name: str, formula: Callable[[Array], Array], called: str, x: Array) -> Array:
    return np.asarray(formula(x)).astype(x.dtype) if called == name else in_wider(called, x)
