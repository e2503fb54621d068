"""Checks a certificate of `sonnx verify`: this file, the standard library, and exact integers; nothing of sonnx.

    python certificate_checker.py MODEL.onnx PROPERTY.vnnlib CERTIFICATE.json

Exit code 0: the property holds for every input of its boxes, in every implementation of the model that computes as
`CLAIM` says.  1: the certificate does not show it.  2: a file cannot be read, or is outside what this program knows.

A certificate is trusted in nothing.  For each box of the property it has a tree of parts; a leaf has, for each layer, a
slope between 0 and 1 for each neuron.  Where several leaves are slabs of one part, that part has the slopes and a slab
has the word "above": what holds on the part holds on its slabs.  This program reads the weights from the model and the
boxes and rows from the property, walks the trees, and computes for each part that has slopes:

* bounds of each neuron z before its Relu.  From l <= z <= u follow relu(z) >= slope * z for any slope from 0 to 1, and
  relu(z) <= s * z + t for any s and t with s * l + t >= 0 and s * u + t >= u, since relu is convex.  A row over the
  neurons of a layer becomes a row over those of the layer before by these lines, down to the inputs;
* the roundings of each neuron.  z is a sum of products and constants: n products, as many again if constants are
  added before, and the constants after; a sum of two values has the terms of both.  Each of these m terms passes at
  most k = m + 6 roundings: its product, its additions in any order, products of constants in advance, and one from a
  wider format.  So they change z by at most k u / (1 - k u) times the sum of the absolute values, with u = 2^-24, and
  by less than 2^-126 for each operand and result that underflows, times what it is multiplied by;
* the error of each row over the outputs: the roundings of a neuron times the largest coefficient with which they reach
  the row.  Where a neuron is above 0 in every implementation, relu passes a difference on; where it is below 0, none;
  else some share between none and all.

A model has Add, Sub, MatMul, Gemm, Conv, Relu and MaxPool on one row of elements or one image, and Identity, Flatten
and Reshape between them.  It is read as layers z = W x + b, with Relu on some z; the others go on as they are.  A
Relu ends a layer, so does a value that two operators read; what later operators read of the layer before, such as the
one side of a residual Add, is carried through the layer without rounding.  A MaxPool is max(a, b) = b + relu(a - b),
pair by pair: it returns one of its elements, so nothing of this is rounded, and what implementations differ in a and
b it passes on in shares that add up to 1.  Outputs and inputs of the property are numbered one tensor after another.

Numbers of the property are decimals, read exactly; cases without any input are skipped.  Where the certificate claims
`ROUNDED_CLAIM`, an input that is fixed to a decimal takes the nearest float.

A set of outputs is excluded on a leaf if, for its inputs, one of its rows, less its error, is above its bound.

A part is also divided by the sign of a neuron: "above" has the inputs whose ideal z is at least 0, "below" those whose
z is at most 0, so that each input is in one of them.  There relu is a line, and for a row and a number n >= 0

    row y >= row y - n s z,  as s z >= 0 for the sign s of the side:

a leaf has such multipliers, in 256ths, for the signs of its own path and for each comparison of the property.  It takes
the bounds of the part that has "lines"; they hold on all that is inside.  Implementations may have the other sign where
z is about 0: such a neuron passes some share of a difference on.
"""

from __future__ import annotations

import hashlib
import json
import re
import struct
import sys
from collections import Counter
from collections.abc import Iterable
from fractions import Fraction
from itertools import chain, product
from math import prod
from operator import mul
from pathlib import Path
from typing import Any, NamedTuple

CLAIM = (
    "float, each operation rounded to nearest, sums in any order, with or without fused multiply-add, constants added "
    "and multiplied in advance, a value that two operators read computed once, numbers below 2^-126 kept or flushed to "
    "zero"
)
ROUNDED_CLAIM = f"{CLAIM}; inputs that the property fixes rounded to the nearest float"
FORMAT = "sonnx certificate 4"
GRID = 80
"""Bounds are integers: multiples of 2^-GRID, rounded outward."""
MULTIPLIER = 8
"""Multipliers are multiples of 2^-MULTIPLIER."""
SLOPE = 24
"""Slopes are multiples of 2^-SLOPE; those of a certificate are digits, eighths from 0 to 8."""
LARGEST = 1 << 127
MOST_TERMS = 1 << 20
MOST_CASES = 100_000
"""Conjunctions of a property."""
NUMBER = re.compile(r"-?((?:0|[1-9][0-9]*)(?:\.[0-9]+)?)(?:[eE][+-]?0*([0-9]{1,3}))?")
"""A number of a property: the digits, of which at most `MOST_DIGITS` are read, and the exponent."""
PLACE = re.compile(r"-?[0-9]{1,40}(?:\.[0-9]{1,400})?(?:e[+-]?[0-9]{1,3})?")
"""The place of a halving."""
MOST_DIGITS = 1000


Row = dict[int, Fraction]
"""Coefficients by the numbers of elements."""
WholeRow = tuple[list[int] | None, list[int]]
"""The places of integers in a row, None for all places, and the integers."""
Message = dict[int, list[Any]]
"""The fields of an encoded message by number."""
Constant = tuple[list[int], list[float]]
"""The extents and the numbers of a tensor."""
Ends = dict[int, tuple[Fraction | None, Fraction | None]]
"""The bounds of the inputs by number."""
Atoms = list[tuple[dict[int, Fraction], Fraction]]
"""A set of outputs: rows by output, each with the bound that it is at most."""
Box = list[tuple[int, int]]
"""Intervals of integers over 2^GRID."""
Signs = dict[tuple[int, int], int]
"""The sides of a part: 1 or -1 for neurons, by layer and number."""
Multipliers = dict[tuple[int, int], int]
"""For neurons a number of at least 0 times the sign of their side."""
Lines = tuple[list[int], list[int], list[int]]
"""For each neuron of a layer the slope below, the slope above, and the offset above."""


class Refused(Exception):
    """A file cannot be read, or has what this program does not know."""


class NotShown(Refused):
    """The files are read, and the certificate does not show the property."""


# ------------------------------------------------------------------ the model


def varint(data: bytes, at: int) -> tuple[int, int]:
    """The unsigned integer at a place, and the place after it."""
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value, at


def grouped(data: bytes) -> Message:
    """The fields of an encoded message as lists of integers or bytes, by number."""
    lists: Message = {}
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        if key & 7 == 0:
            number, at = varint(data, at)
            lists.setdefault(key >> 3, []).append(number)
            continue
        size, at = {1: (8, at), 5: (4, at)}.get(key & 7) or varint(data, at)
        if key & 7 not in (1, 2, 5) or at + size > len(data):
            raise Refused("the model is not an encoded message")
        lists.setdefault(key >> 3, []).append(data[at : at + size])
        at += size
    return lists


def inner(message: Message, number: int) -> Message:
    """The one message of a field."""
    if len(message.get(number, [])) != 1:
        raise Refused(f"the model has {len(message.get(number, []))} messages in field {number} where it needs one")
    return grouped(message[number][0])


def text(message: Message, number: int) -> str:
    """The text of a field, "" if it is absent."""
    return str(message.get(number, [b""])[-1].decode())


def signed(value: int) -> int:
    """An int64 of its encoding."""
    return value - (1 << 64) if value >> 63 else value


def whole_numbers(message: Message, number: int) -> list[int]:
    """The int64 numbers of a repeated field, packed or not."""
    numbers: list[int] = []
    for value in message.get(number, []):
        at = 0
        while not isinstance(value, int) and at < len(value):
            number, at = varint(value, at)
            numbers.append(signed(number))
        numbers += [signed(value)] if isinstance(value, int) else []
    return numbers


def tensor(message: Message) -> Constant:
    """The extents and exact numbers of a tensor of type float or int64."""
    dims, kind = whole_numbers(message, 1), message.get(2, [0])[-1]
    if 13 in message or message.get(14, [0])[-1] == 1:
        raise Refused("weights in other files are not read; save the model with its weights inside")
    size = 1
    for extent in dims:
        size *= extent
    raw = message.get(9, [b""])[-1]
    if kind == 1:
        raw = raw or b"".join(message.get(4, []))
        values = [number for (number,) in struct.iter_unpack("<f", raw)]
        if any(number - number != 0 for number in values):
            raise Refused("a weight is not a finite number")
    elif kind == 7:
        whole = [number for (number,) in struct.iter_unpack("<q", raw)] if raw else whole_numbers(message, 7)
        values = [float(number) for number in whole]
    else:
        raise Refused(f"a constant has element type {kind}; float and int64 are read")
    if len(values) != size:
        raise Refused(f"a constant of extents {dims} has {len(values)} elements")
    return dims, values


class SumTerms(NamedTuple):
    """How a number is computed: the terms that its roundings are about.

    Attributes:
        products: how many numbers are multiplied and added, at most; added: how many operators add something.
        inner: the largest constant that is added before the product.
    """

    products: int
    added: int
    inner: Fraction

    @property
    def terms(self) -> int:
        """How many products and constants it is the sum of, at most."""
        return (2 if self.inner else 1) * self.products + self.added


class AffineValue(NamedTuple):
    """Numbers W (x + c) + b of elements x of the layer before, as a model computes them one operator after another.

    Attributes:
        dims: the extents.
        rows: of W, by the numbers of elements; sizes: the sums of the absolute values of what is added in W.
        bias: W c + b; fixed: the sums of the absolute values of the constants in it.
        sum: how each is computed; None where it is some of x itself.
        multiplied: whether W is that of a product; direct: whether each is one element of x, plus constants.
    """

    dims: list[int]
    rows: list[Row]
    sizes: list[Row]
    bias: list[Fraction]
    fixed: list[Fraction]
    sum: SumTerms | None = None
    multiplied: bool = False
    direct: bool = True

    def plus(self, constants: list[Fraction], dims: list[int]) -> AffineValue:
        """With constants added, before or after the product."""
        sums = self.sum or SumTerms(1, 0, Fraction(0))
        bias = [a + c for a, c in zip(self.bias, constants, strict=True)]
        fixed = [a + abs(c) for a, c in zip(self.fixed, constants, strict=True)]
        largest = max(fixed, default=Fraction(0)) if self.direct else sums.inner
        return self._replace(dims=dims, bias=bias, fixed=fixed, sum=SumTerms(sums.products, sums.added + 1, largest))

    def joined(self, other: AffineValue, sign: int) -> AffineValue:
        """The sum with other numbers of the same extents, or the difference."""
        one, two = (each.sum or SumTerms(1, 0, Fraction(0)) for each in (self, other))
        return AffineValue(
            self.dims,
            [added(a, b, sign) for a, b in zip(self.rows, other.rows, strict=True)],
            [added(a, b, 1) for a, b in zip(self.sizes, other.sizes, strict=True)],
            [a + sign * b for a, b in zip(self.bias, other.bias, strict=True)],
            [a + b for a, b in zip(self.fixed, other.fixed, strict=True)],
            SumTerms(one.products + two.products, one.added + two.added + 1, max(one.inner, two.inner)),
            self.multiplied or other.multiplied, False,
        )  # fmt: skip

    def times(self, matrix: list[Row], products: int, dims: list[int]) -> AffineValue:
        """The product with a matrix, of rows by the places of these numbers."""
        if self.multiplied:
            raise Refused("two products follow each other without a Relu between them")
        if not self.direct:
            raise Refused("a product follows a sum of two values without a Relu between them")
        places = [next(iter(row)) for row in self.rows]
        rows = [{places[j]: w for j, w in row.items()} for row in matrix]
        sums = self.sum or SumTerms(1, 0, Fraction(0))
        return AffineValue(
            dims, rows, [{j: abs(w) for j, w in row.items()} for row in rows],
            [sum((w * self.bias[j] for j, w in row.items()), Fraction(0)) for row in matrix],
            [sum((abs(w) * self.fixed[j] for j, w in row.items()), Fraction(0)) for row in matrix],
            SumTerms(products, sums.added, sums.inner), True, False,
        )  # fmt: skip


def added(one: Row, other: Row, sign: int) -> Row:
    """The sum of rows, or their difference."""
    return {j: one.get(j, Fraction(0)) + sign * other.get(j, Fraction(0)) for j in one.keys() | other.keys()}


def elements(first: int, dims: list[int]) -> AffineValue:
    """The elements of a layer from a number on, as they are."""
    n, zero = prod(dims), Fraction(0)
    rows: list[Row] = [{first + j: Fraction(1)} for j in range(n)]
    return AffineValue(dims, rows, rows, [zero] * n, [zero] * n)


class CheckedLayer:
    """z = W x + b, then Relu for some, in integers: W over 2^bits, b over 2^bias_bits.

    A row of W has the places and the numbers that are not 0; it has no places where it has a number for each.

    Attributes:
        relu: for each z whether Relu follows; the others go on as they are.
        sums: for each z how it is computed; None where it is exact.
        sizes: the rows of the sums of absolute values in W.
        fixed: for each z the sum of the absolute values of the constants in it.
        heaviest: for each z its largest weight.
        columns: of W, where it has few zeros.
    """

    def __init__(self, base: list[range], values: list[tuple[AffineValue, list[bool]]]) -> None:
        place = {number: i for i, number in enumerate(chain.from_iterable(base))}
        self.n = len(place)
        self.relu = list(chain.from_iterable(relu for _, relu in values))
        self.sums = [value.sum for value, _ in values for _ in value.rows]
        if any(each is not None and each.terms > MOST_TERMS for each in self.sums):
            raise Refused(f"a sum has more than {MOST_TERMS} terms, for which the lemma is used")
        rows = [sorted((place[j], w) for j, w in row.items() if w) for value, _ in values for row in value.rows]
        sizes = [sorted((place[j], w) for j, w in row.items() if w) for value, _ in values for row in value.sizes]
        bias = [b for value, _ in values for b in value.bias]
        self.fixed = [b for value, _ in values for b in value.fixed]
        self.heaviest = [max((w for _, w in row), default=Fraction(0)) for row in sizes]
        self.bits = max((w.denominator.bit_length() - 1 for row in chain(rows, sizes) for _, w in row), default=0)
        self.W, self.sizes = ([self._whole(row) for row in each] for each in (rows, sizes))
        self.bias_bits = max((b.denominator.bit_length() - 1 for b in bias), default=0)
        self.bias = [int(b * 2**self.bias_bits) for b in bias]
        self.columns: list[list[int]] = []
        if 2 * sum(map(len, rows)) > self.n * len(rows):
            full = [[0] * self.n for _ in rows]
            for numbers, (places, weights) in zip(full, self.W, strict=True):
                for j, w in zip(places or range(self.n), weights, strict=True):
                    numbers[j] = w
            self.columns = [list(column) for column in zip(*full, strict=True)]

    def _whole(self, row: list[tuple[int, Fraction]]) -> WholeRow:
        places = None if row and len(row) == self.n else [j for j, _ in row]
        return places, [int(w * 2**self.bits) for _, w in row]

    def pulled(self, row: list[int]) -> list[int]:
        """A row over z as a row over x, over 2^bits more."""
        if self.columns:
            return [dot(row, column) for column in self.columns]
        total = [0] * self.n
        for r, (places, weights) in zip(row, self.W, strict=True):
            if r:
                for j, w in zip(range(self.n) if places is None else places, weights, strict=True):
                    total[j] += r * w
        return total

    def pulled_ends(self, low: list[int], high: list[int]) -> Box:
        """As `pulled`, of coefficients between ends."""
        if self.columns:
            return [
                (sum(w * (a if w >= 0 else b) for w, a, b in zip(column, low, high, strict=True)),
                 sum(w * (b if w >= 0 else a) for w, a, b in zip(column, low, high, strict=True)))
                for column in self.columns
            ]  # fmt: skip
        least, most = [0] * self.n, [0] * self.n
        for a, b, (places, weights) in zip(low, high, self.W, strict=True):
            if a or b:
                for j, w in zip(range(self.n) if places is None else places, weights, strict=True):
                    least[j] += w * (a if w >= 0 else b)
                    most[j] += w * (b if w >= 0 else a)
        return list(zip(least, most, strict=True))


def along(row: WholeRow, values: list[int]) -> int:
    """The product of a row of W with x."""
    places, weights = row
    return dot(weights, values if places is None else map(values.__getitem__, places))


def one_row(dims: list[int], n: int) -> bool:
    """Whether extents are 1, 1, ..., n."""
    return dims[-1:] == [n] and all(extent == 1 for extent in dims[:-1])


def layers(data: bytes) -> list[CheckedLayer]:
    """The layers of a model of affine operators, Relu and MaxPool; only the last one has no Relu for any z."""
    model = grouped(data)
    graph = inner(model, 7)
    if 25 in model or 15 in graph:
        raise Refused("models with functions or sparse constants are not known")
    return Reading(graph).layers()


class Reading:
    """Reads a graph node after node.

    A Relu ends a layer; so does a value that two nodes read, which is computed once, and a round of a MaxPool.  What
    later nodes read of values before the layer goes through it as it is.

    Attributes:
        values: what is computed by name; left: how often each is read by nodes to come and as an output.
        base: the numbers of the elements that enter the layer which is being read.
    """

    def __init__(self, graph: Message) -> None:
        self.constants = {text(each, 8): tensor(each) for each in map(grouped, graph.get(5, []))}
        inputs = [each for each in map(grouped, graph.get(11, [])) if text(each, 1) not in self.constants]
        self.outputs = [text(grouped(each), 1) for each in graph.get(12, [])]
        self.nodes = list(map(grouped, graph.get(1, [])))
        names = [text(each, 1) for each in inputs]
        if not inputs or not self.outputs or len({*self.outputs}) != len(self.outputs):
            raise Refused("the model has no input or output, or two outputs of one name")
        if len({*self.constants, *names}) != len(inputs) + len(graph.get(5, [])):
            raise Refused("two constants have one name")
        self.known = {*names, *self.constants}
        self.left = Counter([*(name.decode() for node in self.nodes for name in node.get(1, [])), *self.outputs])
        self.base: list[range] = []
        self.values: dict[str, AffineValue] = {}
        self.read_layers: list[CheckedLayer] = []
        self.count = 0
        for name, each in zip(names, inputs, strict=True):
            dims = extents(each)
            if not dims or not (one_row(dims, dims[-1]) or (len(dims) == 4 and dims[0] == 1)):
                raise Refused(f"the input has extents {dims}; a row of elements is read: 1, ..., 1, n; or 1, C, H, W")
            self.values[name] = self._numbered(dims)

    def _numbered(self, dims: list[int]) -> AffineValue:
        """New elements that enter the layer which is read next."""
        first, self.count = self.count, self.count + prod(dims)
        self.base.append(range(first, self.count))
        return elements(first, dims)

    def layers(self) -> list[CheckedLayer]:
        """All layers."""
        for node in self.nodes:
            self._node(node)
        if any(name not in self.values for name in self.outputs):
            raise Refused("an output is not a result")
        values = [self.values[name] for name in self.outputs]
        return [*self.read_layers, CheckedLayer(self.base, [(each, [False] * len(each.rows)) for each in values])]

    def _node(self, node: Message) -> None:
        operator, names = text(node, 4), [each.decode() for each in node.get(1, [])]
        attributes = {text(each, 1): each for each in map(grouped, node.get(5, []))}
        results = [each.decode() for each in node.get(2, [])]
        if text(node, 7) not in ("", "ai.onnx"):
            raise Refused(f"operator {operator} of domain {text(node, 7)} is not known")
        if len(results) != 1 or results[0] in self.known:
            raise Refused(f"{operator}: a node has one result, of a new name")
        self.known.add(results[0])
        if operator == "Constant" and set(attributes) == {"value"} and not names:
            self.constants[results[0]] = tensor(inner(attributes["value"], 5))
            return
        if any(name not in self.values and name not in self.constants for name in names):
            raise Refused(f"{operator}: an input is neither a constant nor a result before")
        if not self.left[results[0]]:
            raise Refused(f"{operator}: its result is not read")
        self.left.subtract(names)
        value = self._result(operator, names, attributes)
        if self.left[results[0]] > 1 and value.sum is not None:
            value = self._ended(value, [False] * len(value.rows))
        self.values[results[0]] = value

    def _result(self, operator: str, names: list[str], attributes: dict[str, Message]) -> AffineValue:
        read = [self.values[name] for name in names if name in self.values]
        fixed = [self.constants[name] for name in names if name in self.constants]
        is_first = names[:1] != [] and names[0] in self.values
        if operator in ("Add", "Sub") and not attributes and len(names) == 2 and (is_first or operator == "Add"):
            sign = 1 if operator == "Add" else -1
            if len(read) == 1:
                return read[0].plus(*spread(fixed[0], read[0].dims, sign))
            if len(read) == 2 and read[0].dims == read[1].dims:
                return read[0].joined(read[1], sign)
        elif len(read) == 1 and is_first:
            value, dims = read[0], read[0].dims
            if operator == "Relu" and not fixed:
                return self._ended(value, [True] * len(value.rows))
            if operator == "MatMul" and len(fixed) == 1:
                return multiplied(value, fixed, False)
            if operator == "Gemm" and 1 <= len(fixed) <= 2 and len(dims) == 2 and plain_gemm(attributes):
                return multiplied(value, fixed, integer(attributes, "transB", 0) == 1)
            if operator == "Conv" and 1 <= len(fixed) <= 2 and len(dims) == 4:
                return convolved(value, fixed, attributes)
            if operator == "MaxPool" and not fixed and len(dims) == 4:
                return self._largest(value, attributes)
            shape = reshaped(operator, attributes, dims, fixed)
            if shape is not None:
                return value._replace(dims=shape)
        raise Refused(f"operator {operator} with these inputs and attributes is not known")

    def _ended(self, value: AffineValue, relu: list[bool], dims: list[int] | None = None) -> AffineValue:
        """End a layer: new elements, those of a value after Relu or as they are."""
        needed = {j for name, each in self.values.items() if self.left[name] > 0 for row in each.rows for j in row}
        kept = [each for each in self.base if not needed.isdisjoint(each)]
        carried = [elements(each.start, [len(each)]) for each in kept]
        values = [(value, relu), *((each, [False] * len(each.rows)) for each in carried)]
        self.read_layers.append(CheckedLayer(self.base, values))
        self.base = []
        new = self._numbered(dims or value.dims)
        self.base += kept
        return new

    def _largest(self, value: AffineValue, attributes: dict[str, Message]) -> AffineValue:
        """A MaxPool, by pairs: max(a, b) = b + relu(a - b), where differences and sums are exact."""
        if value.sum is not None:
            value = self._ended(value, [False] * len(value.rows))
        window = Window(attributes, value.dims[2:], None, ("storage_order", "ceil_mode"))
        channels, size = value.dims[1], prod(value.dims[2:])
        groups = [
            [value.rows[c * size + j] for _, j in window.places(at)] for c in range(channels) for at in window.all
        ]
        if not all(groups):
            raise Refused("MaxPool: a window has no element")
        while any(len(group) > 1 for group in groups):
            rows, relu, numbers = list[Row](), list[bool](), list[list[list[int]]]()
            for group in groups:
                numbers.append([])
                for a, b in zip(group[::2], group[1::2], strict=False):
                    numbers[-1].append([len(rows), len(rows) + 1])
                    rows += [added(a, b, -1), b]
                    relu += [True, False]
                if len(group) % 2:
                    numbers[-1].append([len(rows)])
                    rows.append(group[-1])
                    relu.append(False)
            new = self._ended(exact(rows, [1, len(rows)]), relu)
            groups = [
                [dict.fromkeys((next(iter(new.rows[j])) for j in pair), Fraction(1)) for pair in group]
                for group in numbers
            ]
        dims = [1, channels, *window.count]
        largest = exact([group[0] for group in groups], dims)
        return self._ended(largest, [False] * len(groups))


def exact(rows: list[Row], dims: list[int]) -> AffineValue:
    """Numbers that are sums and differences of elements, without roundings."""
    sizes = [{j: abs(w) for j, w in row.items()} for row in rows]
    zeros = [Fraction(0)] * len(rows)
    return AffineValue(dims, rows, sizes, zeros, zeros)


class Window:
    """The places of a window of two axes; `count` and `all` are those of the outputs."""

    def __init__(self, attributes: dict[str, Message], size: list[int], kernel: list[int] | None,
                 zero: tuple[str, ...] = ()) -> None:  # fmt: skip
        numbers = {name: whole_numbers(each, 8) for name, each in attributes.items()}
        self.kernel, pads = numbers.get("kernel_shape", kernel or []), numbers.get("pads", [0] * 4)
        self.strides, self.dilations = (numbers.get(name, [1, 1]) for name in ("strides", "dilations"))
        known = {"kernel_shape", "pads", "strides", "dilations", "group", "auto_pad", *zero}
        padding = attributes["auto_pad"].get(4, [b""])[-1] if "auto_pad" in attributes else b"NOTSET"
        if (
            not set(attributes) <= known or padding != b"NOTSET" or any(integer(attributes, name, 0) for name in zero)
            or not len(self.kernel) == len(self.strides) == len(self.dilations) == len(pads) - 2 == 2
            or min(*self.kernel, *self.strides, *self.dilations) < 1 or min(pads) < 0
            or (kernel is not None and self.kernel != kernel)
        ):  # fmt: skip
            raise Refused("a window with these attributes is not known")
        self.size, self.begin = size, pads[:2]
        self.count = [
            (size[k] + pads[k] + pads[k + 2] - self.dilations[k] * (self.kernel[k] - 1) - 1) // self.strides[k] + 1
            for k in range(2)
        ]
        if min(self.count) < 1:
            raise Refused("a window does not fit")
        self.all = list(product(*map(range, self.count)))

    def places(self, at: tuple[int, ...]) -> list[tuple[int, int]]:
        """The places in the kernel and in the image that an output reads."""
        found = []
        for number, offset in enumerate(product(*map(range, self.kernel))):
            y, x = (at[k] * self.strides[k] + offset[k] * self.dilations[k] - self.begin[k] for k in range(2))
            if 0 <= y < self.size[0] and 0 <= x < self.size[1]:
                found.append((number, y * self.size[1] + x))
        return found


def convolved(value: AffineValue, constants: list[Constant], attributes: dict[str, Message]) -> AffineValue:
    """A Conv of an image, with a kernel and numbers that are added to the channels."""
    (dims, weights), groups = constants[0], integer(attributes, "group", 1)
    channels = value.dims[1]
    if len(dims) != 4 or groups < 1 or channels != dims[1] * groups or dims[0] % groups:
        raise Refused(f"a kernel of extents {dims} is applied to {channels} channels in {groups} groups")
    window = Window(attributes, value.dims[2:], dims[2:])
    kernel, size, each = prod(dims[2:]), prod(value.dims[2:]), dims[0] // groups
    exact_weights = list(map(Fraction, weights))
    taps, matrix = [window.places(at) for at in window.all], list[Row]()
    for o, places in product(range(dims[0]), taps):
        matrix.append({
            (o // each * dims[1] + c) * size + j: exact_weights[(o * dims[1] + c) * kernel + number]
            for c in range(dims[1]) for number, j in places
        })  # fmt: skip
    result = value.times(matrix, prod(dims[1:]), [1, dims[0], *window.count])
    if len(constants) == 1:
        return result
    if constants[1][0] != dims[:1]:
        raise Refused(f"a Conv of {dims[0]} channels adds numbers of extents {constants[1][0]}")
    return result.plus([Fraction(b) for b in constants[1][1] for _ in window.all], result.dims)


def multiplied(value: AffineValue, constants: list[Constant], transposed: bool) -> AffineValue:
    """The product of a row with a constant matrix, with a row that is added."""
    n = len(value.rows)
    if not one_row(value.dims, n):
        raise Refused(f"a value of extents {value.dims} is multiplied with a matrix; a row of elements is")
    matrix = [dict(enumerate(map(Fraction, row))) for row in matrix_of(constants[0], n, transposed)]
    result = value.times(matrix, n, [*value.dims[:-1], len(matrix)])
    return result.plus(*spread(constants[1], result.dims, 1)) if len(constants) == 2 else result


def reshaped(
    operator: str, attributes: dict[str, Message], dims: list[int], constants: list[Constant]
) -> list[int] | None:
    """The extents that an operator gives to the same elements; None for any other operator."""
    n = prod(dims)
    if operator == "Identity" and not constants:
        return dims
    if operator == "Flatten" and not constants and integer(attributes, "axis", 1) == 1 and len(dims) >= 2:
        return [1, n]
    if operator == "Reshape" and len(constants) == 1 and integer(attributes, "allowzero", 0) == 0:
        shape = list(map(int, constants[0][1]))
        rest = prod(extent for extent in shape if extent != -1)
        if shape.count(-1) <= 1 and rest > 0 and n % rest == 0:
            shape = [n // rest if extent == -1 else extent for extent in shape]
        if len(shape) >= 2 and shape[0] == 1 and min(shape) > 0 and prod(shape) == n:
            return shape
    return None


def extents(value: Message) -> list[int]:
    """The extents of a graph input of type float."""
    kind = inner(inner(value, 2), 1)
    if kind.get(1, [0])[-1] != 1:
        raise Refused("the input is not of type float")
    dims = []
    for row in map(grouped, inner(kind, 2).get(1, [])):
        dims.append(signed(row[1][-1]) if 1 in row else 1)  # a symbol: the checked claim is about one row
    return dims


def integer(attributes: dict[str, Message], name: str, default: int) -> int:
    """An integer attribute."""
    return signed(attributes[name].get(3, [0])[-1]) if name in attributes else default


def plain_gemm(attributes: dict[str, Message]) -> bool:
    """Whether alpha and beta are 1 and A is not transposed."""
    factors = [struct.unpack("<f", attributes[name][2][-1])[0] for name in ("alpha", "beta") if name in attributes]
    return all(factor == 1.0 for factor in factors) and integer(attributes, "transA", 0) == 0


def spread(constant: Constant, dims: list[int], sign: int) -> tuple[list[Fraction], list[int]]:
    """The numbers, times a sign, that a constant adds to each element of a value, and the extents of the result."""
    extents_of, values = constant
    rank = max(len(dims), len(extents_of))
    wide, own = ([1] * (rank - len(each)) + each for each in (dims, extents_of))
    if any(a not in (1, b) for a, b in zip(own, wide, strict=True)):
        raise Refused(f"a constant of extents {extents_of} is added to a value of extents {dims}")
    numbers = list(map(Fraction, values))
    for axis in range(rank - 1, -1, -1):
        if own[axis] != wide[axis]:
            block = prod(wide[axis + 1 :])
            numbers = [
                each for first in range(0, len(numbers), block) for each in numbers[first : first + block] * wide[axis]
            ]
    return [sign * number for number in numbers], wide


def matrix_of(constant: Constant, n: int, transposed: bool) -> list[list[float]]:
    """The rows of W for a constant matrix."""
    dims, values = constant
    if len(dims) != 2 or dims[1 if transposed else 0] != n:
        raise Refused(f"a matrix of extents {dims} is multiplied with a row of {n}")
    rows = [values[i * dims[1] : (i + 1) * dims[1]] for i in range(dims[0])]
    return rows if transposed else [list(column) for column in zip(*rows, strict=True)]


# ------------------------------------------------------------------ the property


def terms(source: str) -> list[Any]:
    """The nested lists of a VNN-LIB text."""
    stack: list[list[Any]] = [[]]
    for token in re.findall(r"[()]|[^ \t\r\n();]+", re.sub(r";[^\n\r]*", "", source)):
        if token == "(":
            stack.append([])
        elif token == ")":
            last = stack.pop()
            if not stack:
                raise Refused("a parenthesis of the property closes nothing")
            stack[-1].append(last)
        else:
            stack[-1].append(token)
    if len(stack) != 1:
        raise Refused("a parenthesis of the property is not closed")
    return stack[0]


def number_of(word: str) -> Fraction:
    """The number that a word of the property is."""
    parts = NUMBER.fullmatch(word)
    if parts is None or len(parts[1]) > MOST_DIGITS:
        raise Refused(f"{word[:60]!r} in the property is not a number that is read")
    return Fraction(word)


def linear(term: Any) -> dict[str, Fraction]:
    """A linear term as coefficients by variable; "" is the constant."""
    if isinstance(term, str):
        return {term: Fraction(1)} if re.fullmatch(r"[XY]_(0|[1-9][0-9]{0,8})", term) else {"": number_of(term)}
    operation, *parts = term
    values = [linear(part) for part in parts]
    if operation == "*":
        numbers = [value[""] for value in values if set(value) == {""}]
        rest = [value for value in values if set(value) != {""}]
        if len(rest) > 1:
            raise Refused("the property multiplies variables")
        factor = Fraction(1)
        for number in numbers:
            factor *= number
        return {name: factor * coefficient for name, coefficient in (rest[0] if rest else {"": Fraction(1)}).items()}
    if operation not in ("+", "-"):
        raise Refused(f"{operation} in the property is not known")
    if operation == "-" and len(values) == 1:
        return {name: -operand for name, operand in values[0].items()}
    total = dict(values[0])
    for value in values[1:]:
        for name, coefficient in value.items():
            total[name] = total.get(name, Fraction(0)) + (coefficient if operation == "+" else -coefficient)
    return total


def cases(formula: Any) -> list[list[tuple[dict[str, Fraction], Fraction]]]:
    """A formula as a list of conjunctions of atoms; an atom is coefficients and a bound: their sum is at most it."""
    operation, *parts = formula
    if operation == "or":
        return [case for part in parts for case in cases(part)]
    if operation == "and":
        choices = [cases(part) for part in parts]
        if prod(map(len, choices)) > MOST_CASES:
            raise Refused(f"a formula of the property has more than {MOST_CASES} cases")
        return [list(chain.from_iterable(choice)) for choice in product(*choices)]
    if operation not in ("<=", ">=") or len(parts) != 2:
        raise Refused(f"{operation} in the property is not known")
    left, right = map(linear, parts if operation == "<=" else parts[::-1])
    row = {name: left.get(name, Fraction(0)) - right.get(name, Fraction(0)) for name in {*left, *right} if name}
    return [[({name: c for name, c in row.items() if c}, right.get("", Fraction(0)) - left.get("", Fraction(0)))]]


def property_of(source: str) -> list[tuple[Ends, list[Atoms]]]:
    """The boxes of a property, each with its sets of atoms over the outputs, in the order of the file."""
    conjunctions: list[list[tuple[dict[str, Fraction], Fraction]]] = [[]]
    for command in terms(source):
        if command[0] == "assert" and len(command) == 2:
            added = cases(command[1])
            if len(added) * len(conjunctions) > MOST_CASES:
                raise Refused(f"the property has more than {MOST_CASES} cases")
            conjunctions = [one + other for one, other in product(conjunctions, added)]
        elif command[0] != "declare-const":
            raise Refused(f"{command[0]} in the property is not known")
    boxes: dict[tuple[Any, ...], list[Atoms]] = {}
    for conjunction in conjunctions:
        ends: Ends = {}
        rows: Atoms = []
        for row, bound in conjunction:
            names = sorted(row)
            if all(name[0] == "Y" for name in names):
                rows.append(({int(name[2:]): c for name, c in row.items()}, bound))
            elif len(names) == 1:
                low, high = ends.get(int(names[0][2:]), (None, None))
                end = bound / row[names[0]]
                if row[names[0]] > 0:
                    high = end if high is None else min(high, end)
                else:
                    low = end if low is None else max(low, end)
                ends[int(names[0][2:])] = low, high
            else:
                raise Refused("the property compares inputs with each other or with outputs")
        if any(low is not None and high is not None and low > high for low, high in ends.values()):
            continue
        sets = boxes.setdefault(tuple(sorted(ends.items())), [])
        if all(row or bound >= 0 for row, bound in rows):  # else a comparison of constants is false
            sets.append(rows)
    if not boxes:
        raise Refused("the property is about no input")
    return [(dict(key), sets) for key, sets in boxes.items()]


# ------------------------------------------------------------------ a leaf


class Known(NamedTuple):
    """What is known of the layers on a box.

    Attributes:
        lines: below and above each Relu.
        local: for each z what its own roundings add.
        passed: for each neuron whether every implementation passes a difference on, and whether some may.
    """

    lines: list[Lines]
    local: list[list[int]]
    passed: list[list[tuple[bool, bool]]]


def floor(value: int, bits: int) -> int:
    """An integer over 2^bits as a multiple of 2^-GRID, rounded down."""
    return value << GRID - bits if bits <= GRID else value >> bits - GRID


def ceiling(value: int, bits: int) -> int:
    """As `floor`, rounded up."""
    return -floor(-value, bits)


def dot(one: Iterable[int], other: Iterable[int]) -> int:
    """The sum of products."""
    return sum(map(mul, one, other))


def least(
    network: list[CheckedLayer], lines: list[Lines], box: Box, row: list[int], depth: int, multipliers: Multipliers
) -> int:
    """A lower bound of row * z, of the layer of a number, as a multiple of 2^-GRID."""
    total = bits = 0  # the row is over 2^bits
    for number in range(depth, -1, -1):
        layer = network[number]
        total += floor(dot(row, layer.bias), bits + layer.bias_bits)
        row, bits = layer.pulled(row), bits + layer.bits
        if number:
            lower, upper, offset = lines[number - 1]
            total += floor(sum(r * t for r, t in zip(row, offset, strict=True) if r < 0), bits + GRID)
            row = [r * (a if r >= 0 else s) for r, a, s in zip(row, lower, upper, strict=True)]
            bits += SLOPE
            for (split, j), multiplier in multipliers.items():
                if split == number - 1:
                    row[j] -= multiplier << bits - MULTIPLIER
    last = sum(r * (low if r >= 0 else high) for r, (low, high) in zip(row, box, strict=True))
    return total + floor(last, bits + GRID)


def known_on(network: list[CheckedLayer], box: Box, slopes: list[str]) -> Known:
    """What holds on a box, in every implementation."""
    known = Known([], [], [])
    ends, error = box, [1] * len(box)  # an input below 2^-126 may be flushed
    for number, layer in enumerate(network):
        known.local.append(rounding(layer, ends, error))
        if number == len(network) - 1:
            break
        whole = [-(-along(row, error) >> layer.bits) + e for row, e in zip(layer.sizes, known.local[-1], strict=True)]
        ends = [interval(layer, row, b, ends) for row, b in zip(layer.W, layer.bias, strict=True)]
        ends = [
            nearer(network, known.lines, box, j, z, number) if layer.relu[j] else z for j, z in enumerate(ends)
        ]  # fmt: skip
        known.lines.append(relaxed(ends, slopes[number], layer.relu))
        known.passed.append([
            (low - e > 0 or not relu, high + e >= 0 or not relu)
            for (low, high), e, relu in zip(ends, whole, layer.relu, strict=True)
        ])  # fmt: skip
        ends = [(max(low, 0), max(high, 0)) if relu else (low, high)
                for (low, high), relu in zip(ends, layer.relu, strict=True)]  # fmt: skip
        error = [e + 1 if some else 0 for e, (_, some) in zip(whole, known.passed[-1], strict=True)]
    return known


def on_sides(known: Known, signs: Signs) -> Known:
    """What is known, with the lines of neurons whose ideal z has a sign."""
    lines, passed = [tuple(map(list, layer)) for layer in known.lines], [list(layer) for layer in known.passed]
    for (number, j), sign in signs.items():
        (lower, upper, offset), (every, some) = lines[number], passed[number][j]
        lower[j] = upper[j] = 1 << SLOPE if sign > 0 else 0
        offset[j] = 0
        passed[number][j] = every and sign > 0, some or sign > 0
    return Known(lines, known.local, passed)  # type: ignore[arg-type]


def excluded(
    network: list[CheckedLayer], known: Known, box: Box, sets: list[Atoms], multipliers: list[Multipliers]
) -> bool:
    """Whether each set of outputs is excluded on a box, in every implementation; `known` holds on it."""
    numbered = iter(multipliers)
    pairs = [[(atom, next(numbered)) for atom in atoms] for atoms in sets]
    return all(any(row_excluded(network, known, box, *atom, one) for atom, one in atoms) for atoms in pairs)


def multipliers_of(node: dict[str, Any], signs: Signs, count: int) -> list[Multipliers]:
    """The multipliers of a leaf for each of so many comparisons."""
    stated = node.get("multipliers", [{}] * count)
    if not isinstance(stated, list) or len(stated) != count:
        raise Refused(f"a leaf has multipliers for another number of comparisons than {count}")
    result = []
    for one in stated:
        row: Multipliers = {}
        for name, number in one.items():
            layer, _, j = name.partition(",")
            place = int(layer), int(j)
            if place not in signs or type(number) is not int or number < 0:
                raise Refused(f"a leaf has the multiplier {number!r} for the neuron {name!r}")
            row[place] = signs[place] * number
        result.append(row)
    return result


def nearer(
    network: list[CheckedLayer], lines: list[Lines], box: Box, j: int, ends: tuple[int, int], number: int
) -> tuple[int, int]:
    """The ends of one z of a layer, nearer where their signs differ."""
    low, high = ends
    if number and low < 0 < high:
        unit = [0] * len(network[number].bias)
        unit[j] = 1
        low = max(low, least(network, lines, box, unit, number, {}))
        unit[j] = -1
        high = min(high, -least(network, lines, box, unit, number, {}))
    return low, high


def rounding(layer: CheckedLayer, ends: Box, error: list[int]) -> list[int]:
    """For each z of a layer: by how much its roundings change it at most, in multiples of 2^-GRID."""
    largest = [max(-low, high) + e for (low, high), e in zip(ends, error, strict=True)]
    reach = -(-max(largest, default=0) >> GRID) + 1
    roundings = []
    for row, fixed, heaviest, how in zip(layer.sizes, layer.fixed, layer.heaviest, layer.sums, strict=True):
        if how is None:
            roundings.append(0)
            continue
        k, most = how.terms + 6, reach + int(how.inner)
        size = -(-along(row, largest) >> layer.bits) + -(-fixed.numerator * 2**GRID // fixed.denominator)
        lost = 2 * (4 + how.added) * (how.products + 2) * (3 + int(heaviest) + most)  # in multiples of 2^-126
        roundings.append(-(-size * k // (2**24 - k)) + -(-lost >> 126 - GRID) + 1)
        if 2 * size >= LARGEST << GRID:
            raise Refused("a sum may overflow")
    return roundings


def interval(layer: CheckedLayer, row: WholeRow, bias: int, ends: Box) -> tuple[int, int]:
    """The range of one z by the ranges of its inputs."""
    places, weights = row
    pairs = list(zip(weights, ends if places is None else map(ends.__getitem__, places), strict=True))
    low = sum(w * (a if w >= 0 else b) for w, (a, b) in pairs)
    high = sum(w * (b if w >= 0 else a) for w, (a, b) in pairs)
    return (
        floor(low, layer.bits + GRID) + floor(bias, layer.bias_bits),
        ceiling(high, layer.bits + GRID) + ceiling(bias, layer.bias_bits),
    )


def relaxed(ends: Box, digits: str, relu: list[bool]) -> Lines:
    """For each z the slope below, the slope above (over 2^SLOPE) and the offset above (over 2^GRID)."""
    if not isinstance(digits, str) or not re.fullmatch("[0-8]*", digits) or len(digits) != sum(relu):
        raise Refused(f"a layer of {sum(relu)} neurons has the slopes {digits!r}")
    one, lower, upper, offset = 1 << SLOPE, [], [], []
    remaining = iter(digits)
    for (low, high), bends in zip(ends, relu, strict=True):
        slope, above = one, one
        if bends:
            slope, above = int(next(remaining)) << SLOPE - 3, min(one, high * one // max(high - low, 1) + 1)
            if low >= 0:
                slope = above = one
            elif high <= 0:
                slope = above = 0
        lower.append(slope)
        upper.append(above)
        offset.append(max(0, -(above * low >> SLOPE), -(above * high - (high << SLOPE) >> SLOPE)) if bends else 0)
    return lower, upper, offset


def row_excluded(
    network: list[CheckedLayer],
    known: Known,
    box: Box,
    row: dict[int, Fraction],
    bound: Fraction,
    multipliers: Multipliers,
) -> bool:
    """Whether a row over the outputs stays above its bound in every implementation."""
    outputs = len(network[-1].bias)
    if any(index >= outputs for index in row):
        raise Refused(f"the property names Y_{max(row)}; the model has {outputs} outputs")
    scale = prod(c.denominator for c in row.values())
    whole = [int(row.get(index, Fraction(0)) * scale) for index in range(outputs)]  # row and bound times an integer
    scaled = {place: multiplier * scale for place, multiplier in multipliers.items()}
    margin = least(network, known.lines, box, whole, len(network) - 1, scaled) - row_error(network, known, whole)
    return margin > int(-(-bound * scale * 2**GRID // 1))


def row_error(network: list[CheckedLayer], known: Known, row: list[int]) -> int:
    """How far a row over the outputs is from its ideal value at most, in multiples of 2^-GRID, rounded up."""
    low = high = row  # the coefficients, over 2^bits, with which the roundings of a layer reach the row
    bits = error = 0
    for number in range(len(network) - 1, -1, -1):
        layer = network[number]
        reach = [max(-a, b) for a, b in zip(low, high, strict=True)]
        error += -(-dot(reach, known.local[number]) >> bits)
        ends = layer.pulled_ends(low, high)
        bits += layer.bits
        some = [True] * len(ends)
        if number:
            some = [flag for _, flag in known.passed[number - 1]]
            every = [flag for flag, _ in known.passed[number - 1]]
            low = [
                a if whole else min(a, 0) if part else 0 for (a, _), whole, part in zip(ends, every, some, strict=True)
            ]
            high = [
                b if whole else max(b, 0) if part else 0 for (_, b), whole, part in zip(ends, every, some, strict=True)
            ]
        # an input or a result of Relu may be flushed
        error += -(-sum(max(-a, b) for (a, b), part in zip(ends, some, strict=True) if part) >> bits)
    return error


# ------------------------------------------------------------------ a certificate


def leaves_of(network: list[CheckedLayer], box: Box, tree: Any, sets: list[Atoms]) -> int:
    """How many leaves a tree has, all of which exclude the sets.

    Raises:
        Refused: one does not, or the tree is malformed.
    """
    if not sets:
        return 0
    leaves, pending = 0, list[tuple[Box, Any, Known | None, Signs]]([(box, tree, None, {})])
    while pending:
        part, node, known, signs = pending.pop()
        if not isinstance(node, dict):
            raise Refused("a part is an object")
        if "lines" in node:
            known = known_on(network, part, node["lines"])
        if "slopes" in node:
            if node["slopes"] != "above":
                known = known_on(network, part, node["slopes"])
            multipliers = multipliers_of(node, signs, sum(map(len, sets)))
            if known is None or not excluded(network, on_sides(known, signs), part, sets, multipliers):
                ends = ", ".join(
                    f"[{float(Fraction(a, 2**GRID)):.9g}, {float(Fraction(b, 2**GRID)):.9g}]" for a, b in part
                )
                raise NotShown(f"not shown on the part {ends}")
            leaves += 1
            continue
        if "neuron" in node:
            number, j = node["neuron"]
            if type(number) is not int or type(j) is not int or not 0 <= number < len(network) - 1:
                raise Refused(f"a part is divided by the neuron {node['neuron']!r}")
            if not 0 <= j < len(network[number].relu) or not network[number].relu[j] or (number, j) in signs:
                raise Refused(f"a part is divided by the neuron {node['neuron']!r}, which is none, or once more")
            pending.append((part, node["above"], known, signs | {(number, j): 1}))
            pending.append((part, node["below"], known, signs | {(number, j): -1}))
            continue
        if not PLACE.fullmatch(node["at"]):
            raise Refused(f"a part is halved at {node['at'][:60]!r}, not a number")
        axis, at = node["axis"], int(Fraction(node["at"]) * 2**GRID)
        if not 0 <= axis < len(part) or not part[axis][0] <= at <= part[axis][1]:
            raise Refused(f"a part is halved outside itself, at {node['at']}")
        low, high = part[axis]
        pending.append(([*part[:axis], (at, high), *part[axis + 1 :]], node["above"], known, signs))
        pending.append(([*part[:axis], (low, at), *part[axis + 1 :]], node["below"], known, signs))
    return leaves


def nearest_float(number: Fraction) -> Fraction:
    """The float that is nearest to a number, ties to even."""
    size = abs(number)
    exponent = size.numerator.bit_length() - size.denominator.bit_length()
    if size < Fraction(2) ** exponent:
        exponent -= 1
    step = Fraction(2) ** max(exponent - 23, -149)
    return round(number / step) * step


def box_of(ends: Ends, n: int, is_rounded: bool) -> Box:
    """A box as pairs of integers over 2^GRID, rounded outward."""
    if sorted(ends) != list(range(n)):
        raise Refused(f"the model has {n} input elements; the property bounds {sorted(ends)}")
    box = []
    for index in range(n):
        low, high = ends[index]
        if low is None or high is None or low > high:
            raise Refused(f"X_{index} has no lower and upper bound")
        if is_rounded and low == high:
            low = high = nearest_float(low)
        box.append((low * 2**GRID // 1, -(-high * 2**GRID // 1)))
    return box


class Shown(NamedTuple):
    """What a certificate shows: on how many leaves, and for which implementations."""

    leaves: int
    claim: str


def check(model: bytes, source: bytes, certificate: bytes) -> Shown:
    """Check a certificate.

    Args:
        model: the bytes of the model.
        source: the bytes of the property.
        certificate: the bytes of the certificate.

    Raises:
        NotShown: it does not show the property.
        Refused: a file has what this program does not know.
    """
    stated = json.loads(certificate)
    if not isinstance(stated, dict) or not isinstance(stated.get("boxes"), list):
        raise Refused("the certificate is not an object with a list of boxes")
    is_rounded = stated.get("claim") == ROUNDED_CLAIM
    for name, value in (
        ("format", FORMAT), ("claim", ROUNDED_CLAIM if is_rounded else CLAIM),
        ("model", hashlib.sha256(model).hexdigest()), ("property", hashlib.sha256(source).hexdigest()),
    ):  # fmt: skip
        if stated.get(name) != value:
            raise NotShown(f"the certificate is about another {name}: {stated.get(name)!r}, and this is {value!r}")
    network, boxes, trees = layers(model), property_of(source.decode()), stated["boxes"]
    if len(trees) != len(boxes):
        raise NotShown(f"the property has {len(boxes)} boxes; the certificate has {len(trees)}")
    leaves = sum(
        leaves_of(network, box_of(ends, network[0].n, is_rounded), tree, sets)
        for (ends, sets), tree in zip(boxes, trees, strict=True)
    )
    return Shown(leaves, stated["claim"])


def main(arguments: list[str]) -> int:
    """Check the certificate of three files."""
    if len(arguments) != 3:
        print("usage: python certificate_checker.py MODEL.onnx PROPERTY.vnnlib CERTIFICATE.json", file=sys.stderr)
        return 2
    try:
        shown = check(*(Path(name).read_bytes() for name in arguments))
    except NotShown as error:
        print(f"not shown: {error}", file=sys.stderr)
        return 1
    except Refused as error:
        print(f"cannot be read: {error}", file=sys.stderr)
        return 2
    except (OSError, ArithmeticError, AttributeError, LookupError, TypeError, ValueError, struct.error, RecursionError,
            MemoryError) as error:  # fmt: skip
        print(f"cannot be read: {type(error).__name__}: {error}", file=sys.stderr)
        return 2
    print(f"shown, on {shown.leaves} parts, for every implementation that computes in {shown.claim}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
