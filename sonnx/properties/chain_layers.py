"""A model of affine operators, Relu and MaxPool, as a chain of layers.

`certificate_checker` reads the same models by a parser of its own, in exact integers, so that an error of one reading
is not an error of the other.  A test compares the two.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from math import fsum, inf, prod
from typing import Any, NamedTuple

import numpy as np
from msgspec import Struct

from sonnx.model.ir import Attribute, Graph, Model, Node, Tensor, ValueInfo
from sonnx.model.scopes import canonical_domain
from sonnx.numerics.constant_data import decode
from sonnx.numerics.formats import Array

MAX_TERMS = 1 << 20
"""Terms of a sum for which a certificate is made: its checker refuses more."""
MAX_WEIGHTS = 1 << 24
"""Numbers in the matrix of a layer."""
ZERO = ("storage_order", "ceil_mode")
"""Attributes of MaxPool that are 0."""


class NotAChain(Exception):
    """The model is not such a chain; the message is the reason."""


class ChainLayer(Struct, frozen=True, eq=False):
    """z = W (x + c) + b, then Relu for some; sums of constants and of weights are rounded once, to float64.

    Attributes:
        W: of shape (neurons, inputs).
        sizes: for each weight the sum of the absolute values of what it is the sum of, of the same shape.
        bias: W c + b, of shape (neurons,).
        constant_sizes: for each neuron the sum of the absolute values of the constants in it, |W| |c| + |b|.
        relu: for each neuron whether Relu follows; the others go on as they are.
        terms: for each neuron how many products and constants it is the sum of, at most; 0 where it is exact.
        products: how many of them are products.
        additions: how many operators add something to it.
        largest_inner: the largest constant that is added before its products.
    """

    W: Array
    sizes: Array
    bias: Array
    constant_sizes: Array
    relu: Array
    terms: Array
    products: Array
    additions: Array
    largest_inner: Array


def chain_layers(model: Model) -> list[ChainLayer]:
    """The layers of a model; no neuron of the last one has a Relu.

    Raises:
        NotAChain: it has other operators, or two products without a Relu between them.
    """
    return _Reading(model).layers()


class _Sum(NamedTuple):
    """How each number of a value is computed; as the attributes of a layer."""

    products: int = 1
    additions: int = 0
    inner: float = 0.0

    @property
    def terms(self) -> int:
        return (2 if self.inner else 1) * self.products + self.additions


class _Affine(NamedTuple):
    """A value W (x + c) + b, of elements x that have numbers.

    Attributes:
        shape: of the value.
        row, element, weight: the entries of W; those of one place are added.
        addends: for each number of the value, the constants in it.
        how: it is computed; None where it is elements as they are.
        is_product: whether W is that of a product; is_direct: whether each number is one element, plus constants.
    """

    shape: tuple[int, ...]
    row: Array
    element: Array
    weight: Array
    addends: list[list[float]]
    how: _Sum | None = None
    is_product: bool = False
    is_direct: bool = True

    def plus(self, constants: Array, sign: float, shape: tuple[int, ...]) -> _Affine:
        addends = [[*each, sign * float(c)] for each, c in zip(self.addends, constants, strict=True)]
        how = self.how or _Sum()
        inner = max((fsum(map(abs, each)) for each in addends), default=0.0) if self.is_direct else how.inner
        how = _Sum(how.products, how.additions + 1, inner)
        return self._replace(shape=shape, addends=addends, how=how)

    def joined(self, value: _Affine, sign: float) -> _Affine:
        one, two = self.how or _Sum(), value.how or _Sum()
        return _Affine(
            self.shape, np.concatenate([self.row, value.row]), np.concatenate([self.element, value.element]),
            np.concatenate([self.weight, sign * value.weight]),
            [[*a, *(sign * each for each in b)] for a, b in zip(self.addends, value.addends, strict=True)],
            _Sum(one.products + two.products, one.additions + two.additions + 1, max(one.inner, two.inner)),
            self.is_product or value.is_product, False,
        )  # fmt: skip

    def times(self, row: Array, column: Array, weight: Array, products: int, shape: tuple[int, ...]) -> _Affine:
        """The product with a matrix, by its entries."""
        if self.is_product:
            raise NotAChain("two products follow each other without a Relu between them")
        if not self.is_direct:
            raise NotAChain("a product follows a sum of two values without a Relu between them")
        addends: list[list[float]] = [[] for _ in range(prod(shape))]
        if any(self.addends):
            # Products of two float32 numbers are exact in float64.
            for i, j, w in zip(row.tolist(), column.tolist(), weight.tolist(), strict=True):
                addends[i] += [w * c for c in self.addends[j]]
        how = self.how or _Sum()
        return _Affine(shape, row, self.element[column], weight, addends, how._replace(products=products), True, False)


def _elements(first: int, shape: tuple[int, ...]) -> _Affine:
    """Elements from a number on, as they are."""
    n = prod(shape)
    return _Affine(shape, np.arange(n), first + np.arange(n), np.ones(n), [[] for _ in range(n)])


def _exact(rows: Sequence[Mapping[int, float]], shape: tuple[int, ...]) -> _Affine:
    """Sums and differences of elements that are not rounded."""
    entries = [(i, j, w) for i, row in enumerate(rows) for j, w in row.items()]
    row, element, weight = zip(*entries, strict=True)
    return _Affine(shape, np.array(row), np.array(element), np.array(weight, float), [[] for _ in rows])


class _Reading:
    """Reads a graph, as the checker does: what ends a layer and the order of elements are those it states."""

    def __init__(self, model: Model) -> None:
        graph = model.graph
        if model.functions or graph.sparse_initializers:
            raise NotAChain("models with functions or sparse constants are not known")
        self.graph: Graph = graph
        self.constants = {tensor.name: tensor for tensor in graph.initializers}
        inputs = [value for value in graph.inputs if value.name not in self.constants]
        self.outputs = [value.name for value in graph.outputs]
        if not inputs or not self.outputs or len({*self.outputs}) != len(self.outputs):
            raise NotAChain("the model has no input or output, or two outputs of one name")
        self.names = {*self.constants, *(value.name for value in inputs)}
        if len(self.names) != len(inputs) + len(graph.initializers):
            raise NotAChain("two values have one name")
        self.left = Counter([*(name for node in graph.nodes for name in node.inputs), *self.outputs])
        self.base: list[range] = []
        self.count = 0
        self.values = {value.name: self._numbered(_shape_of_input(value)) for value in inputs}
        self.chain: list[ChainLayer] = []

    def _numbered(self, shape: tuple[int, ...]) -> _Affine:
        first, self.count = self.count, self.count + prod(shape)
        self.base.append(range(first, self.count))
        return _elements(first, shape)

    def layers(self) -> list[ChainLayer]:
        for node in self.graph.nodes:
            self._apply(node)
        if not self.values.keys() >= {*self.outputs}:
            raise NotAChain("an output is not a result")
        values = [self.values[name] for name in self.outputs]
        return [*self.chain, self._layer([(value, np.zeros(len(value.addends), bool)) for value in values])]

    def _apply(self, node: Node) -> None:
        if canonical_domain(node.domain):
            raise NotAChain(f"operator {node.operator} of domain {node.domain} is not known")
        if len(node.outputs) != 1 or node.outputs[0] in self.names:
            raise NotAChain(f"{node.operator}: a node has one result, of a new name")
        result = node.outputs[0]
        self.names.add(result)
        if node.operator == "Constant":
            self.constants[result] = _constant_of(node)
            return
        if not {*self.values, *self.constants} >= {*node.inputs}:
            raise NotAChain(f"{node.operator}: an input is neither a constant nor a result before")
        if not self.left[result]:
            raise NotAChain(f"{node.operator}: its result is not read")
        self.left.subtract(node.inputs)
        value = self._result(node)
        if self.left[result] > 1 and value.how is not None:
            value = self._ended(value)
        self.values[result] = value

    def _result(self, node: Node) -> _Affine:
        values = [self.values[name] for name in node.inputs if name in self.values]
        constants = [self.constants[name] for name in node.inputs if name in self.constants]
        attributes = {attribute.name: attribute for attribute in node.attributes}
        is_first = bool(node.inputs) and node.inputs[0] in self.values
        sign = -1.0 if node.operator == "Sub" else 1.0
        match node.operator, values, constants:
            case "Add" | "Sub", [value], [constant] if not attributes and (is_first or sign > 0):
                return _with_constant(value, constant, sign)
            case "Add" | "Sub", [one, two], [] if not attributes and one.shape == two.shape:
                return one.joined(two, sign)
            case _, [value], _ if is_first:
                result = self._of_one(node.operator, value, constants, attributes)
                if result is not None:
                    return result
        raise NotAChain(f"operator {node.operator} with these inputs and attributes is not known")

    def _of_one(
        self, operator: str, value: _Affine, constants: Sequence[Tensor], attributes: Mapping[str, Attribute]
    ) -> _Affine | None:
        """The value of a node whose other inputs are constants; None where it is not known."""
        rank, size = len(value.shape), prod(value.shape)
        match operator, constants:
            case "Relu", []:
                return self._ended(value, relu=True)
            case "MatMul", [constant]:
                return _multiplied(value, constant, transposed=False)
            case "Gemm", [constant, *bias] if len(bias) <= 1 and rank == 2 and _is_plain_gemm(attributes):
                result = _multiplied(value, constant, transposed=_integer(attributes, "transB", 0) == 1)
                return _with_constant(result, bias[0], 1.0) if bias else result
            case "Conv", [kernel, *bias] if len(bias) <= 1 and rank == 4:
                return _convolved(value, kernel, bias, attributes)
            case "MaxPool", [] if rank == 4:
                return self._largest(value, attributes)
            case "Identity", []:
                return value
            case "Flatten", [] if _integer(attributes, "axis", 1) == 1 and rank >= 2:
                return value._replace(shape=(1, size))
            case "Reshape", [constant] if not _integer(attributes, "allowzero", 0):
                shape = _reshaped(constant, size)
                return None if shape is None else value._replace(shape=shape)
        return None

    def _ended(self, value: _Affine, *, relu: bool | Array = False) -> _Affine:
        """End a layer with a value, and with what later nodes read of the layer before."""
        pending = [each.element for name, each in self.values.items() if self.left[name] > 0]
        needed = {*np.concatenate(pending).tolist()} if pending else set[int]()
        kept = [each for each in self.base if not needed.isdisjoint(each)]
        carried = [_elements(each.start, (len(each),)) for each in kept]
        flags = np.broadcast_to(relu, len(value.addends))
        self.chain.append(self._layer([(value, flags), *((each, np.zeros(len(each.row), bool)) for each in carried)]))
        self.base = []
        new = self._numbered(value.shape)
        self.base += kept
        return new

    def _layer(self, values: Sequence[tuple[_Affine, Array]]) -> ChainLayer:
        """The layer from the elements that enter it to some values."""
        places = np.full(self.count, -1)
        entering = np.concatenate([np.arange(each.start, each.stop) for each in self.base])
        places[entering] = np.arange(len(entering))
        counts = [len(value.addends) for value, _ in values]
        if sum(counts) * len(entering) > MAX_WEIGHTS:
            raise NotAChain(f"a layer has {sum(counts)} times {len(entering)} weights, more than {MAX_WEIGHTS}")
        W, sizes = (np.zeros((sum(counts), len(entering))) for _ in range(2))
        hows = [value.how for value, _ in values]
        first = 0
        for (value, _), count in zip(values, counts, strict=True):
            _place(W, first + value.row, places[value.element], value.weight)
            _place(sizes, first + value.row, places[value.element], np.abs(value.weight))
            first += count
        addends = [each for value, _ in values for each in value.addends]
        stated = [(how.terms, how.products, how.additions, how.inner) if how else (0, 0, 0, 0.0) for how in hows]
        terms, products, additions, inner = (np.repeat(column, counts) for column in zip(*stated, strict=True))
        if terms.max(initial=0) > MAX_TERMS:
            raise NotAChain(f"a sum has {terms.max()} terms; a certificate is made for at most {MAX_TERMS}")
        return ChainLayer(
            W, sizes, np.array([fsum(each) for each in addends]),
            np.array([fsum(map(abs, each)) for each in addends]),
            np.concatenate([flags for _, flags in values]), terms, products, additions, inner,
        )  # fmt: skip

    def _largest(self, value: _Affine, attributes: Mapping[str, Attribute]) -> _Affine:
        """A MaxPool by the larger ones of pairs: max(a, b) = b + relu(a - b), and nothing of it is rounded."""
        if value.how is not None:
            value = self._ended(value)
        _, channels, *size = value.shape
        counts, taps = _windows(attributes, size, None, ZERO)
        area = prod(size)
        windows: list[list[dict[int, float]]] = [
            [{int(value.element[channel * area + place]): 1.0} for _, place in tap]
            for channel in range(channels) for tap in taps
        ]  # fmt: skip
        if not all(windows):
            raise NotAChain("MaxPool: a window has no element")
        while max(map(len, windows)) > 1:
            rows: list[dict[int, float]] = []
            relu: list[bool] = []
            sizes: list[list[int]] = []
            for window in windows:
                pairs = list(zip(window[::2], window[1::2], strict=False))
                for one, two in pairs:
                    rows += [one | {j: one.get(j, 0.0) - w for j, w in two.items()}, two]
                    relu += [True, False]
                sizes.append([2] * len(pairs) + [1] * (len(window) % 2))
                if len(window) % 2:
                    rows.append(window[-1])
                    relu.append(False)
            new = self._ended(_exact(rows, (1, len(rows))), relu=np.array(relu))
            numbers = iter(new.element.tolist())
            windows = [[{next(numbers): 1.0 for _ in range(size)} for size in each] for each in sizes]
        return self._ended(_exact([window[0] for window in windows], (1, channels, *counts)))


def _place(matrix: Array, row: Array, column: Array, weight: Array) -> None:
    """Add entries to a matrix of zeros; the sum of those of one place is rounded once."""
    matrix[row, column] = weight
    keys = row.astype(np.int64) * matrix.shape[1] + column
    order = np.argsort(keys, kind="stable")
    starts = np.flatnonzero(np.diff(keys[order], prepend=-1))
    if len(starts) < len(keys):
        for group in np.split(order, starts[1:]):
            if len(group) > 1:
                matrix[row[group[0]], column[group[0]]] = fsum(weight[group].tolist())


def _windows(
    attributes: Mapping[str, Attribute], size: Sequence[int], kernel: Sequence[int] | None, zero: Sequence[str] = ()
) -> tuple[tuple[int, int], list[list[tuple[int, int]]]]:
    """How many outputs there are along two axes, and what each reads: places in the kernel and in the image."""
    stated: dict[str, Any] = {name: each.value for name, each in attributes.items()}
    shape = [*stated.get("kernel_shape", kernel or ())]
    pads, strides = stated.get("pads", (0,) * 4), stated.get("strides", (1, 1))
    dilations = stated.get("dilations", (1, 1))
    padding = stated.get("auto_pad", "NOTSET")
    if (
        not stated.keys() <= {"kernel_shape", "pads", "strides", "dilations", "group", "auto_pad", *zero}
        or padding not in ("NOTSET", b"NOTSET") or any(_integer(attributes, name, 0) for name in zero)
        or not len(shape) == len(strides) == len(dilations) == len(pads) - 2 == 2
        or min(*shape, *strides, *dilations) < 1 or min(pads) < 0 or (kernel is not None and shape != [*kernel])
    ):  # fmt: skip
        raise NotAChain("a window with these attributes is not known")
    high, wide = (
        (size[k] + pads[k] + pads[k + 2] - dilations[k] * (shape[k] - 1) - 1) // strides[k] + 1 for k in range(2)
    )
    if high < 1 or wide < 1:
        raise NotAChain("a window does not fit")
    taps = []
    for top in range(-pads[0], -pads[0] + high * strides[0], strides[0]):
        for left in range(-pads[1], -pads[1] + wide * strides[1], strides[1]):
            corners = ((i, j, top + i * dilations[0], left + j * dilations[1]) for i in range(shape[0])
                       for j in range(shape[1]))  # fmt: skip
            taps.append(
                [
                    (i * shape[1] + j, y * size[1] + x) for i, j, y, x in corners
                    if 0 <= y < size[0] and 0 <= x < size[1]
                ]
            )  # fmt: skip
    return (high, wide), taps


def _convolved(value: _Affine, kernel: Tensor, bias: Sequence[Tensor], attributes: Mapping[str, Attribute]) -> _Affine:
    """A Conv of one image."""
    groups, channels, area = _integer(attributes, "group", 1), value.shape[1], prod(value.shape[2:])
    if len(kernel.dims) != 4 or groups < 1 or channels != kernel.dims[1] * groups or kernel.dims[0] % groups:
        raise NotAChain(
            f"a kernel of shape {[*kernel.dims]} is applied to {channels} channels in {groups} groups"
        )  # fmt: skip
    outputs, inner = kernel.dims[:2]
    counts, taps = _windows(attributes, value.shape[2:], kernel.dims[2:])
    weights = _numbers(kernel).reshape(outputs, inner, -1)
    place = np.concatenate([np.full(len(tap), number) for number, tap in enumerate(taps)])
    number, image = np.array([each for tap in taps for each in tap], np.int64).reshape(-1, 2).T
    o, c, entry = np.meshgrid(np.arange(outputs), np.arange(inner), np.arange(len(place)), indexing="ij")
    row = o * len(taps) + place[entry]
    column = (o // (outputs // groups) * inner + c) * area + image[entry]
    weight = weights[o, c, number[entry]]
    shape = (1, outputs, *counts)
    result = value.times(row.reshape(-1), column.reshape(-1), weight.reshape(-1), prod(kernel.dims[1:]), shape)
    if not bias:
        return result
    if [*bias[0].dims] != [outputs]:
        raise NotAChain(f"a Conv of {outputs} channels adds numbers of shape {[*bias[0].dims]}")
    return result.plus(np.repeat(_numbers(bias[0]), len(taps)), 1.0, shape)


def _multiplied(value: _Affine, constant: Tensor, *, transposed: bool) -> _Affine:
    """A row times a constant matrix."""
    n = prod(value.shape)
    if value.shape[-1] != n:
        raise NotAChain(f"a value of shape {[*value.shape]} is multiplied with a matrix; a row of elements is")
    if len(constant.dims) != 2 or constant.dims[int(transposed)] != n:
        raise NotAChain(f"a matrix of shape {[*constant.dims]} is multiplied with a row of {n}")
    weights = _numbers(constant)
    weights = weights if transposed else weights.T
    row, column = np.indices(weights.shape)
    shape = (*value.shape[:-1], len(weights))
    return value.times(row.reshape(-1), column.reshape(-1), weights.reshape(-1), n, shape)


def _with_constant(value: _Affine, constant: Tensor, sign: float) -> _Affine:
    """A value plus a constant that is spread over its elements, or minus it."""
    rank = max(len(value.shape), len(constant.dims))
    shape = (1,) * (rank - len(value.shape)) + value.shape
    own = (1,) * (rank - len(constant.dims)) + (*constant.dims,)
    if any(a not in (1, b) for a, b in zip(own, shape, strict=True)):
        raise NotAChain(f"a constant of shape {[*constant.dims]} is added to a value of shape {[*value.shape]}")
    return value.plus(np.broadcast_to(_numbers(constant).reshape(own), shape).reshape(-1), sign, shape)


def _reshaped(constant: Tensor, size: int) -> tuple[int, ...] | None:
    """The shape that a constant gives to some elements, if that is of one row or image."""
    if constant.element != "int64" or constant.external is not None:
        return None
    shape = decode(constant, None).reshape(-1).tolist()
    rest = prod(extent for extent in shape if extent != -1)
    if shape.count(-1) <= 1 and rest > 0 and size % rest == 0:
        shape = [size // rest if extent == -1 else extent for extent in shape]
    is_known = len(shape) >= 2 and shape[0] == 1 and min(shape) > 0 and prod(shape) == size
    return (*shape,) if is_known else None


def _shape_of_input(value: ValueInfo) -> tuple[int, ...]:
    """The shape of an input; a symbol is one row, as a property counts elements."""
    if value.type.kind != "tensor" or value.type.element != "float":
        raise NotAChain("the input is not of type float")
    dims = tuple(extent if isinstance(extent, int) else 1 for extent in value.type.shape or ())
    if not dims or not (prod(dims) == dims[-1] or (len(dims) == 4 and dims[0] == 1)):
        raise NotAChain(
            f"the input has shape {[*dims]}; a row of elements is read: 1, ..., 1, n; or an image: 1, C, H, W"
        )  # fmt: skip
    return dims


def _numbers(constant: Tensor) -> Array:
    """The finite float32 numbers of a constant, in float64."""
    if constant.external is not None:
        raise NotAChain("weights in other files are not read; save the model with its weights inside")
    if constant.element != "float":
        raise NotAChain(f"a constant has element type {constant.element}; float is read")
    values = decode(constant, None).astype(np.float64)
    if not (np.abs(values) < inf).all():
        raise NotAChain("a weight is not a finite number")
    return values


def _constant_of(node: Node) -> Tensor:
    match node.attributes:
        case (Attribute(name="value", value=Tensor() as constant),) if not node.inputs:
            return constant
    raise NotAChain("a Constant has another attribute than value")


def _integer(attributes: Mapping[str, Attribute], name: str, default: int) -> int:
    value: Any = attributes[name].value if name in attributes else default
    return int(value)


def _is_plain_gemm(attributes: Mapping[str, Attribute]) -> bool:
    """Whether alpha and beta are 1 and A is not transposed."""
    factors = [attributes[name].value for name in ("alpha", "beta") if name in attributes]
    return all(factor == 1.0 for factor in factors) and not _integer(attributes, "transA", 0)
