"""Facts of operators, seen by running them: on the calls of onnx's node tests, with inputs that are changed.

An operator that sonnx runs is run by sonnx, another one by the reference evaluator of the onnx package.  Each check
says of one call whether the fact holds there: True, False, or None where the call does not tell.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from itertools import pairwise
from typing import Any

import numpy as np
import onnx
from onnx import helper
from onnx.reference import ReferenceEvaluator

import sonnx
from sonnx.base.errors import Stop
from sonnx.numerics.application import NoValue
from sonnx.operators import find_operator
from tests.support.cases import spread
from tests.support.node_tests import node_tests

Array = np.ndarray
Inputs = Sequence[Array | None]
MAX_ELEMENTS = 7000
CALLS_OF_OPERATOR = 4
FLOATS = (np.dtype(np.float16), np.dtype(np.float32), np.dtype(np.float64))
SPECIAL = np.array(
    [np.nan, -np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.0, 0.5, -0.75, 3.0, -2.5, 60000.0, -60000.0, 1e-7, 0.1, -1e-7]
)
"""Values at which a function of floats may differ from what it is elsewhere."""


@dataclass(frozen=True, eq=False)
class Call:
    """A node of one operator with inputs; `sources` are the inputs by name, None where one is left out."""

    node: Any
    operator_set: int
    inputs: tuple[Array | None, ...]
    outputs: tuple[int, ...]
    """The element types of its outputs."""

    @property
    def operator(self) -> str:
        """The operator."""
        return str(self.node.op_type)

    @property
    def attributes(self) -> dict[str, Any]:
        """The attributes by name."""
        return {each.name: helper.get_attribute_value(each) for each in self.node.attribute}

    def of(self, inputs: Inputs) -> list[Array] | None:
        """The outputs for other inputs, None where there are none."""
        return replace(self, inputs=tuple(inputs)).run()

    def written(self, **attributes: Any) -> Call:
        """The call with other attributes; None leaves one out."""
        made = {name: value for name, value in {**self.attributes, **attributes}.items() if value is not None}
        node = helper.make_node(self.operator, [*self.node.input], [*self.node.output], **made)
        return replace(self, node=node)

    def run(self) -> list[Array] | None:
        """The outputs, None where the operator gives none."""
        given = dict(zip(self.node.input, self.inputs, strict=True))
        values = {name: given[name] for name in self.node.input if name}
        kinds = tuple((name, array.dtype, array.shape) for name, array in values.items())
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            try:
                return _runner(self.node.SerializeToString(), self.operator_set, kinds, self.outputs)(values)
            except (Stop, NoValue):
                return None
            except Exception:  # the evaluator of onnx raises anything
                if find_operator(self.operator) is not None:
                    raise
                return None


Kind = tuple[str, "np.dtype[Any]", tuple[int, ...]]
"""The name, the type and the shape of an input."""


@lru_cache(maxsize=512)
def _runner(
    node: bytes, operator_set: int, kinds: tuple[Kind, ...], elements: tuple[int, ...]
) -> Callable[[Mapping[str, Array]], list[Array]]:
    """What runs a node on inputs of these kinds; many checks change the elements only."""
    call = onnx.NodeProto.FromString(node)
    declared = [
        helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(dtype), shape)
        for name, dtype, shape in kinds
    ]
    results = [
        helper.make_tensor_value_info(name, element, None)
        for name, element in zip(filter(None, call.output), elements, strict=True)
    ]
    graph = helper.make_graph([call], "g", declared, results)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", operator_set)], ir_version=10)
    if find_operator(call.op_type) is not None:
        prepared = sonnx.prepare(model, unchecked=True)
        return lambda values: [*prepared.run(values).values()]
    evaluator = ReferenceEvaluator(model)
    return lambda values: [np.asarray(each) for each in evaluator.run(None, dict(values))]


def _call(case: Any) -> Call | None:
    """The call of a node test, None where it has other inputs or outputs than tensors of numpy's own types."""
    if case.model is None or len(case.model.graph.node) != 1 or not case.data_sets:
        return None
    [node], [inputs, outputs] = case.model.graph.node, case.data_sets[0]
    if node.domain or any(each.type == onnx.AttributeProto.GRAPH for each in node.attribute):
        return None
    if not all(isinstance(each, np.ndarray) and each.dtype.kind in "biuf" for each in (*inputs, *outputs)):
        return None
    given_names = [name for name in node.input if name]
    if sum(each.size for each in (*inputs, *outputs)) > MAX_ELEMENTS or len(set(given_names)) < len(given_names):
        return None
    given = dict(zip([each.name for each in case.model.graph.input], inputs, strict=True))
    [opset] = [each.version for each in case.model.opset_import if not each.domain]
    elements = tuple(helper.np_dtype_to_tensor_dtype(each.dtype) for each in outputs)
    return Call(node, opset, tuple(given.get(name) for name in node.input), elements)


@cache
def calls() -> Mapping[str, Sequence[Call]]:
    """Some calls of each operator that runs: with different attributes, types and numbers of inputs."""
    found: dict[str, dict[Any, Call]] = {}
    for case in node_tests():
        call = _call(case)
        if call is not None:
            kinds = tuple(None if each is None else (each.dtype.char, each.ndim) for each in call.inputs)
            key = (kinds, repr(sorted(call.attributes.items())), len(call.node.output))
            found.setdefault(call.operator, {}).setdefault(key, call)
    taken = {name: spread(each.values(), CALLS_OF_OPERATOR) for name, each in found.items()}
    for call in further_calls():
        taken.setdefault(call.operator, []).append(call)
    ran = {name: [call for call in each if call.run() is not None] for name, each in taken.items()}
    return {name: ran[name] for name in sorted(ran) if ran[name]}


FURTHER: Sequence[tuple[str, int, Sequence[Any], Mapping[str, Any], str]] = (
    ("BatchNormalization", 15, [("f", 2, 3, 2), ("f", 3), ("f", 3), ("f", 3), ("p", 3)], {}, "f"),
    ("Bernoulli", 15, [("u", 40)], {}, "f"),
    ("Cast", 19, [("f", 2, 3)], {"to": 11}, "d"),
    ("Cast", 19, [("i", 2, 3)], {"to": 1}, "f"),
    ("Cast", 19, [("f", 2, 3)], {"to": 6}, "i"),
    ("Cast", 19, [("f", 2, 3)], {"to": 9}, "?"),
    ("CastLike", 19, [("i", 2, 3), ("f", 1)], {}, "f"),
    ("Clip", 13, [("f", 2, 3), ("n",), ("p",)], {}, "f"),
    ("Clip", 13, [("f", 2, 3), ("p",), ("n",)], {}, "f"),
    ("Concat", 13, [("f", 2, 3), ("f", 2, 3)], {"axis": 0}, "f"),
    ("ConvInteger", 10, [("B", 1, 1, 3, 3), ("B", 1, 1, 2, 2)], {}, "i"),
    ("CumProd", 26, [("f", 2, 3), ("axis",)], {}, "f"),
    ("CumSum", 14, [("f", 2, 3), ("axis",)], {}, "f"),
    ("DequantizeLinear", 13, [("B", 2, 3), ("p",), ("B",)], {}, "f"),
    ("DynamicQuantizeLinear", 11, [("f", 2, 3)], {}, "Bff"),
    ("Elu", 6, [("f", 2, 3)], {"alpha": -1.5}, "f"),
    ("GlobalLpPool", 18, [("f", 1, 2, 3, 3)], {}, "f"),
    ("HardSigmoid", 6, [("f", 2, 3)], {"alpha": -0.5}, "f"),
    ("LeakyRelu", 6, [("f", 2, 3)], {"alpha": -0.5}, "f"),
    ("Max", 13, [("f", 2, 3), ("f", 2, 3)], {}, "f"),
    ("MaxPool", 12, [("f", 1, 1, 4, 4)], {"kernel_shape": [2, 2]}, "fl"),
    ("Mean", 13, [("f", 2, 3), ("f", 2, 3)], {}, "f"),
    ("Min", 13, [("f", 2, 3), ("f", 2, 3)], {}, "f"),
    ("Mod", 13, [("f", 2, 3), ("f", 2, 3)], {"fmod": 1}, "f"),
    ("OneHot", 11, [("l", 3), ("l",), ("f", 2)], {}, "f"),
    ("Pad", 13, [("f", 2, 3), ("l", 4), ("f",)], {}, "f"),
    ("Pad", 13, [("f", 2, 3), ("pads",)], {}, "f"),
    ("Pad", 13, [("f", 2, 3), ("pads",)], {"mode": "edge"}, "f"),
    ("QuantizeLinear", 13, [("f", 2, 3), ("p",), ("B",)], {}, "B"),
    ("QuantizeLinear", 13, [("f", 2, 3), ("p",)], {}, "B"),
    ("Range", 11, [("f",), ("f",), ("p",)], {}, "f"),
    ("Resize", 13, [("f", 1, 1, 3, 3), None, None, ("four",)], {"mode": "linear"}, "f"),
    ("Resize", 13, [("f", 1, 1, 3, 3), None, None, ("four",)], {"mode": "nearest"}, "f"),
    ("Selu", 6, [("f", 2, 3)], {"alpha": -1.5}, "f"),
    ("Shrink", 9, [("f", 2, 3)], {"bias": 2.5, "lambd": 1.0}, "f"),
    ("Sum", 13, [("f", 2, 3), ("f", 2, 3)], {}, "f"),
    ("Sum", 13, [("f", 2, 3), ("f", 3), ("f", 2, 1)], {}, "f"),
    ("Swish", 24, [("f", 2, 3)], {"alpha": 0.125}, "f"),
    ("ThresholdedRelu", 10, [("f", 2, 3)], {"alpha": -1.0}, "f"),
    ("Trilu", 14, [("f", 3, 3)], {}, "f"),
    ("Upsample", 9, [("f", 1, 1, 3, 3), ("scales",)], {"mode": "nearest"}, "f"),
    ("Where", 16, [("?", 2, 3), ("f", 2, 3), ("f", 3)], {}, "f"),
)  # fmt: skip
"""Operator, operator set, inputs (kind and shape; None for one left out), attributes, element types of the outputs.

The kinds are numpy's codes of types; p are positive floats, n negative ones, u probabilities, the others by name.
"""
NAMED: Mapping[str, Array] = {
    "axis": np.array(1, np.int64),
    "pads": np.array([1, 0, 0, 2], np.int64),
    "four": np.array([1, 1, 5, 4], np.int64),
    "scales": np.array([1, 1, 2, 2], np.float32),
}


def further_calls() -> Iterator[Call]:
    """Calls that no node test has."""
    for operator, opset, inputs, attributes, results in FURTHER:
        chance = np.random.default_rng(len(operator))
        names = ["" if each is None else f"x{place}" for place, each in enumerate(inputs)]
        outputs = [f"y{place}" for place in range(len(results))]
        node = helper.make_node(operator, names, outputs, **attributes)
        given = tuple(None if each is None else _drawn(*each, chance=chance) for each in inputs)
        yield Call(node, opset, given, tuple(helper.np_dtype_to_tensor_dtype(np.dtype(each)) for each in results))


def _drawn(kind: str, *shape: int, chance: np.random.Generator) -> Array:
    if kind in NAMED:
        return NAMED[kind]
    if kind in ("p", "n", "u"):
        low, high = {"p": (0.5, 2), "n": (-2, -0.5), "u": (0.2, 0.8)}[kind]
        return np.asarray(chance.uniform(low, high, shape)).astype(np.float32)
    if kind == "f":
        return np.asarray(chance.normal(size=shape) * 3).astype(np.float32)
    return np.asarray(chance.integers(0, 2 if kind in "?l" else 100, shape)).astype(kind)


def same(one: Sequence[Array] | None, other: Sequence[Array] | None) -> bool:
    """Whether outputs are equal, bit for bit."""
    return one is not None and other is not None and all(map(_same, one, other))


def _same(one: Array, other: Array) -> bool:
    return one.dtype == other.dtype and one.shape == other.shape and one.tobytes() == other.tobytes()


def same_numbers(one: Sequence[Array] | None, other: Sequence[Array] | None) -> bool:
    """Whether outputs are equal but for which NaN an element is."""
    if one is None or other is None:
        return False
    return all(
        _same(*(np.where(each == each, each, np.asarray(0, each.dtype)) for each in pair))
        and np.array_equal(pair[0] == pair[0], pair[1] == pair[1])
        for pair in zip(one, other, strict=True)
    )


def generator(call: Call) -> np.random.Generator:
    """Chance, the same in every run."""
    return np.random.default_rng([len(call.operator), *map(ord, call.operator)])


def of_kind(array: Array, chance: np.random.Generator) -> Array:
    """Other elements of the type and shape of an array, those of floats among them special ones."""
    if array.dtype.kind == "f":
        drawn = chance.choice(np.concatenate([SPECIAL, chance.normal(size=16) * 4]), array.shape)
        with np.errstate(all="ignore"):
            return np.asarray(drawn.astype(array.dtype))
    if array.dtype.kind == "b":
        return np.asarray(chance.random(array.shape) < 0.5)
    return np.asarray(chance.integers(0, 5, array.shape).astype(array.dtype))


# ------------------------------------------------------------------ functions of elements


@cache
def elementwise(call: Call) -> bool | None:
    """Elements that change places change places in the output, and one that changes moves no other."""
    given = [each for each in call.inputs if each is not None]
    large = [each for each in given if each.size != 1]
    if not large or call.run() is None:
        return None
    try:
        shape = np.broadcast_shapes(*(each.shape for each in large))
    except ValueError:
        return False
    full = [each if each is None or each.size == 1 else np.broadcast_to(each, shape).copy() for each in call.inputs]
    first, outputs = call.run(), call.of(full)
    if outputs is None or not same(outputs, first) or any(each.shape != shape for each in outputs):
        return False
    order = generator(call).permutation(large[0].size if shape == large[0].shape else int(np.prod(shape)))

    def at(array: Array | None, places: Array) -> Array | None:
        return array if array is None or array.size == 1 else array.reshape(-1)[places].reshape(shape)

    one = np.arange(order.size)
    one[-1] = 0
    for places in (order, one):
        moved = [array for each in outputs if (array := at(each, places)) is not None]
        if not same(call.of([at(each, places) for each in full]), moved):
            return False
    return True if order.size > 1 else None


def elementwise_with_scalars(call: Call) -> bool | None:
    """The same, of calls whose further inputs have one element."""
    if len(call.inputs) < 2 or any(each is not None and each.size != 1 for each in call.inputs[1:]):
        return None
    return elementwise(call)


def monotone(call: Call) -> str | None:
    """The order that elements in order have, "" for none; None where the call does not tell."""
    first = call.inputs[0] if call.inputs else None
    if first is None or len([each for each in call.inputs if each is not None and each.size != 1]) > 1:
        return None
    if not elementwise(call) or first.dtype.kind not in "iuf":
        return None if first.dtype.kind != "b" else _truths(call)
    numbers = (
        np.linspace(-4, 4, 161) if first.dtype.kind == "f" else np.arange(-60 if first.dtype.kind == "i" else 0, 60)
    )
    outputs = call.of([numbers.astype(first.dtype), *call.inputs[1:]])
    if outputs is None:  # Acos
        outputs = call.of([(numbers / 4).astype(first.dtype), *call.inputs[1:]])
    if outputs is None or outputs[0].dtype.kind not in "biuf":
        return None
    found = outputs[0][~np.isnan(outputs[0])] if outputs[0].dtype.kind == "f" else outputs[0]
    return _order(found.astype(np.float64))


def _truths(call: Call) -> str | None:
    outputs = call.of([np.array([False, True]), *call.inputs[1:]])
    return None if outputs is None else _order(outputs[0].astype(np.float64))


def _order(numbers: Array) -> str | None:
    if numbers.size < 2 or numbers.min() == numbers.max():
        return None
    steps = np.diff(numbers)
    return "increasing" if (steps >= 0).all() else "decreasing" if (steps <= 0).all() else ""


def slope(call: Call) -> float | None:
    """The greatest difference of outputs in proportion to that of inputs, of a function of one element of floats."""
    first = call.inputs[0] if call.inputs else None
    if first is None or len(call.inputs) != 1 or first.dtype not in FLOATS[1:] or not elementwise(call):
        return None
    numbers = np.concatenate([np.linspace(-9, 9, 3601), [0.9999, 0.999999, 1e-6, -1e-6, 0, 1e4, -1e4]])
    x = np.unique(numbers.astype(first.dtype))
    outputs = call.of([x])
    if outputs is None or outputs[0].dtype not in FLOATS:
        return None
    y = outputs[0].astype(np.float64)
    with np.errstate(all="ignore"):
        rise = np.abs(np.diff(y)) - 4 * np.spacing(np.maximum(np.abs(y[1:]), np.abs(y[:-1])).astype(outputs[0].dtype))
        slopes = rise / np.diff(x.astype(np.float64))
    finite = slopes[np.isfinite(slopes)]
    return float(finite.max()) if finite.size else None


def extremes(call: Call) -> tuple[float, float] | None:
    """The least and the greatest element of the first output that is not NaN, for all kinds of inputs of floats."""
    if not call.inputs or call.inputs[0] is None or call.inputs[0].dtype not in FLOATS:
        return None
    chance, ends = generator(call), list[float]()
    given = [
        [each if each is None or each.dtype not in FLOATS else of_kind(each, chance) for each in call.inputs]
        for _ in range(4)
    ]
    if len(call.inputs) == 1 and call.inputs[0].ndim > 0 and elementwise(call):
        wide = np.concatenate([SPECIAL, np.linspace(-20, 20, 401), np.linspace(-1, 1, 101)])
        with np.errstate(all="ignore"):
            given.append([wide.astype(call.inputs[0].dtype)])
    for inputs in given:
        outputs = call.of(inputs)
        if outputs is not None and outputs[0].dtype.kind in "iuf":
            known = outputs[0][outputs[0] == outputs[0]].astype(np.float64)
            ends += [float(each) for each in known.ravel()]
    return (min(ends), max(ends)) if ends else None


def continuous(call: Call) -> bool | None:
    """Between two inputs no output jumps: where it changes most, halving the way halves the change, at last."""
    floats = [each is not None and each.dtype.kind == "f" and each.size > 0 for each in call.inputs]
    chance = generator(call)
    if not any(floats) or all(each not in FLOAT_NUMBERS for each in call.outputs[:1]):
        return None
    told = None
    for start, end in ((-4, 4), (0.1, 4), (-0.4, 0.9), (2.5, 6)):
        low, high = (
            [
                _near(each, number, chance) if of_floats else each
                for each, of_floats in zip(call.inputs, floats, strict=True)
            ]
            for number in (start, end)
        )
        jumps = _jumps(call, low, high)
        if jumps:
            return False
        told = True if jumps is False else told
    return told


FLOAT_NUMBERS = tuple(map(helper.np_dtype_to_tensor_dtype, FLOATS))


def _near(array: Array | None, number: float, chance: np.random.Generator) -> Array | None:
    return None if array is None else np.asarray(number * chance.uniform(0.5, 1, array.shape)).astype(array.dtype)


def _jumps(call: Call, low: Inputs, high: Inputs) -> bool | None:
    """Whether an output jumps on the way from some inputs to others, None where it is not known."""
    one, other = call.of(low), call.of(high)
    if one is None or other is None or one[0].shape != other[0].shape or not one[0].size:
        return None
    with np.errstate(all="ignore"):
        at = int(np.nan_to_num(np.abs(one[0].astype(float) - other[0].astype(float)), nan=0, posinf=0).argmax())
    first = change = abs(float(one[0].ravel()[at]) - float(other[0].ravel()[at]))
    largest = abs(float(one[0].ravel()[at]))
    if not np.isfinite(first) or first <= 1e-3 * largest:  # a rounding would count as a jump
        return None
    for _ in range(45):
        middle = [
            x
            if x is None or y is None or x.dtype.kind != "f"
            else ((x.astype(float) + y.astype(float)) / 2).astype(x.dtype)
            for x, y in zip(low, high, strict=True)
        ]
        between = call.of(middle)
        if between is None or between[0].shape != one[0].shape:
            return None if between is None else True
        value = float(between[0].ravel()[at])
        if not np.isfinite(value) or abs(value) > 1e4 * (1 + first):
            return None
        largest = max(largest, abs(value))
        if first <= 1e-3 * largest:
            return None
        steps = abs(value - float(one[0].ravel()[at])), abs(value - float(other[0].ravel()[at]))
        if all(_same(x, y) for x, y in zip(middle, low, strict=True) if x is not None and y is not None) or all(
            _same(x, y) for x, y in zip(middle, high, strict=True) if x is not None and y is not None
        ):
            break
        if steps[0] >= steps[1]:
            high, other, change = middle, between, steps[0]
        else:
            low, one, change = middle, between, steps[1]
        if change < 1e-3 * first:
            return False
    return change >= 0.02 * first


# ------------------------------------------------------------------ operands that change places


def commutative(call: Call, equal: Callable[[Any, Any], bool] = same) -> bool | None:
    """Two inputs that change places change nothing; every two, on special values too."""
    kinds = {None if each is None else each.dtype for each in call.inputs}
    if len(call.inputs) < 2 or len(kinds) > 1 or None in kinds:
        return None
    chance, told = generator(call), False
    trials = [call.inputs, *([of_kind(each, chance) for each in call.inputs if each is not None] for _ in range(3))]
    if call.inputs[0] is not None and call.inputs[0].dtype.kind == "f":
        trials.append(
            [np.full_like(each, np.copysign(np.nan, (-1) ** place)) for place, each in enumerate(call.inputs)]
        )
    for given in trials:
        outputs = call.of(given)
        if outputs is None:
            continue
        for place in range(1, len(given)):
            swapped = [given[place], *given[1:place], given[0], *given[place + 1 :]]
            told = True
            if not equal(call.of(swapped), outputs):
                return False
    return True if told else None


def commutative_numbers(call: Call) -> bool | None:
    """The same, but for which NaN an element is."""
    return commutative(call, same_numbers)


def associative(call: Call) -> bool | None:
    """Whether it does not matter which two of three inputs are combined first; small whole numbers are exact."""
    if len(call.inputs) < 2 or any(each is None for each in call.inputs):
        return None
    one, other, *_ = [each for each in call.inputs if each is not None]
    if one.dtype != other.dtype or (one.dtype.kind == "f" and one.ndim == 0):
        return None
    chance, two = generator(call), replace(call, node=_of_two(call.node), inputs=call.inputs[:2])
    shape = one.shape if call.operator != "MatMul" else (3, 3)
    given = [_small(shape, one.dtype, chance) for _ in range(3)]
    left, right = two.of(given[:2]), two.of(given[1:])
    if left is None or right is None or left[0].dtype != one.dtype:
        return False
    return same(two.of([left[0], given[2]]), two.of([given[0], right[0]]))


def _of_two(node: Any) -> Any:
    made = type(node).FromString(node.SerializeToString())
    del made.input[2:]
    return made


def _small(shape: Sequence[int], kind: np.dtype[Any], chance: np.random.Generator) -> Array:
    if kind.kind == "b":
        return np.asarray(chance.random(shape) < 0.5)
    return np.asarray(chance.integers(0 if kind.kind == "u" else -4, 5, shape).astype(kind))


# ------------------------------------------------------------------ movements


def moved_inputs(call: Call) -> str | None:
    """ "first" or "every" where elements of the first input or of any input of its type are moved, "" where they are
    computed; None where the call does not tell.
    """
    first = call.inputs[0] if call.inputs else None
    if first is None or first.dtype.kind not in "iuf" or first.size < 2:
        return None
    alike = [each is not None and each.dtype == first.dtype for each in call.inputs]
    if sum(alike) > 1 and _moves(call, alike):
        return "every"
    answer = _moves(call, [True] + [False] * (len(alike) - 1))
    return None if answer is None else "first" if answer else ""


def _moves(call: Call, moved: Sequence[bool]) -> bool | None:
    """Whether each output element comes from one place of the moved inputs, whatever their elements are."""
    sizes = [each.size if use and each is not None else 0 for each, use in zip(call.inputs, moved, strict=True)]
    chance, maps = generator(call), list[Any]()
    kind = next(each.dtype for each, use in zip(call.inputs, moved, strict=True) if use and each is not None)
    for _ in range(3):
        numbers = chance.permutation(sum(sizes)) + 1
        if numbers.size > np.iinfo(np.int8).max and kind.itemsize == 1:
            return None
        signs = 1 if kind.kind == "u" else chance.choice([-1, 1], numbers.size)
        elements = np.asarray(numbers * signs).astype(kind)
        if kind.kind == "f":
            elements = np.asarray(elements * 12.25).astype(kind)
        where = {element: place for place, element in enumerate(elements.tolist())}
        parts = np.split(elements, np.cumsum(sizes)[:-1])
        given = [
            part.reshape(each.shape) if use and each is not None else each
            for part, each, use in zip(parts, call.inputs, moved, strict=True)
        ]
        outputs = call.of(given)
        if outputs is None:
            return None
        if outputs[0].dtype != kind:
            return False
        maps.append(
            [
                (each.shape, [(where.get(x), x if where.get(x) is None else None) for x in each.ravel().tolist()])
                for each in outputs[:1]
            ]
        )
    places = [[place for _, row in each for place, _ in row] for each in maps]
    constants = [[value for _, row in each for place, value in row if place is None] for each in maps]
    held = all(one == other for one, other in pairwise(places)) and all(
        one == other for one, other in pairwise(constants)
    )
    return None if held and all(place is None for place in places[0]) else held


def keeps_order(call: Call) -> bool | None:
    """The first output has the elements of the first input in their order."""
    if not call.inputs or call.inputs[0] is None:
        return None
    given = [of_kind(call.inputs[0], generator(call)), *call.inputs[1:]]
    outputs = call.of(given)
    if outputs is None:
        return None
    return outputs[0].dtype == given[0].dtype and outputs[0].tobytes() == given[0].tobytes()  # type: ignore[union-attr]


def selects(call: Call) -> bool | None:
    """Each element of the first output is an element of an input of that type."""
    outputs, chance = call.run(), generator(call)
    kind = outputs[0].dtype if outputs else None
    if kind is None or kind.kind not in "biuf" or all(each is None or each.dtype != kind for each in call.inputs):
        return None
    if any(each is not None and not each.size for each in call.inputs):
        return None
    told = None
    for _ in range(4):
        given = [
            each if each is None or each.dtype != kind or each.size == 1 else _without_zero(of_kind(each, chance))
            for each in call.inputs
        ]
        outputs = call.of(given)
        known = {x.tobytes() for each in given if each is not None and each.dtype == kind for x in each.ravel()}
        if find_operator(call.operator) is None:  # which NaN, the evaluator of onnx leaves open
            known |= {x.tobytes() for x in np.array([np.nan, -np.nan]).astype(kind)} if kind.kind == "f" else set()
        if outputs is not None and outputs[0].size:
            told = told or bool((outputs[0] == outputs[0]).any()) or None
            if not all(x.tobytes() in known for x in outputs[0].ravel()):
                return False
    return told


def _without_zero(array: Array) -> Array:
    return np.ones_like(array) if array.dtype.kind == "b" else np.where(array == 0, np.asarray(7, array.dtype), array)


def reads_shapes_only(call: Call) -> bool | None:
    """Other elements give the same outputs."""
    chance, outputs = generator(call), call.run()
    if not call.inputs:
        return None
    tried = [call.of([each if each is None else of_kind(each, chance) for each in call.inputs]) for _ in range(3)]
    told = [each for each in tried if each is not None]
    return all(same(each, outputs) for each in told) if len(told) > 1 else None


def random(call: Call) -> bool | None:
    """Of several runs two differ, because those of a few truth values may agree; with a seed none need differ."""
    first = call.run()
    return None if "seed" in call.attributes else any(not same(first, call.run()) for _ in range(20))


# ------------------------------------------------------------------ attributes, outputs


def counts_axis(call: Call, name: str) -> bool | None:
    """An axis of the first input, or a list of axes, that counts from the last one, gives the same."""
    value, first = call.attributes.get(name), call.inputs[0] if call.inputs else None
    if value is None or first is None or not first.ndim:
        return None
    listed = list(value) if isinstance(value, list) else [value]
    if not all(isinstance(each, int) and -first.ndim <= each < first.ndim for each in listed):
        return None
    turned = [each - first.ndim if each >= 0 else each + first.ndim for each in reversed(listed)]
    other = call.written(**{name: turned if isinstance(value, list) else turned[0]})
    return same(other.run(), call.run())


def independent_outputs(call: Call) -> bool | None:
    """Each output is the same where it is the only one."""
    named, outputs = [place for place, name in enumerate(call.node.output) if name], call.run()
    if len(named) < 2 or outputs is None:
        return None
    for number, place in enumerate(named):
        node = type(call.node).FromString(call.node.SerializeToString())
        del node.output[:]
        node.output.extend([*[""] * place, call.node.output[place]])
        alone = replace(call, node=node, outputs=call.outputs[number : number + 1]).run()
        if alone is not None and not same(alone[-1:], outputs[number : number + 1]):
            return False
    return True


CANDIDATES: Mapping[Any, Sequence[Any]] = {
    onnx.defs.OpSchema.AttrType.INT: (0, 1, 2, 3, -1, 5),
    onnx.defs.OpSchema.AttrType.FLOAT: (0.0, 0.125, 0.5, 1.0, 2.0, -1.5),
}
"""Values of attributes that are tried."""


def changing_attributes(call: Call, known: Collection[str] = ()) -> Iterator[tuple[str, bool]]:
    """Each attribute of which another value runs, and whether one gives other outputs; but for those known already."""
    schema, outputs = onnx.defs.get_schema(call.operator, call.operator_set), call.run()
    for name, stated in schema.attributes.items():
        ran, changes = 0, False
        for value in () if name in known else CANDIDATES.get(stated.type, ()):
            tried = call.written(**{name: value}).run()
            ran += tried is not None
            changes = changes or (tried is not None and not same(tried, outputs))
            if ran > 1 and changes:
                break
        if ran > 1:
            yield name, changes
