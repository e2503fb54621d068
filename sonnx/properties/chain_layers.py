"""A model that is a chain of affine operators and Relu on one row of elements, as its layers.

`certificate_checker` reads the same models by a parser of its own, in exact integers, so that an error of one reading
is not an error of the other.  A test compares the two.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import fsum, inf
from typing import Any

import numpy as np
from msgspec import Struct

from sonnx.model.ir import Attribute, Graph, Model, Node, Tensor, ValueInfo
from sonnx.model.scopes import canonical_domain
from sonnx.numerics.constant_data import decode
from sonnx.numerics.formats import Array

MAX_TERMS = 1 << 20
"""Terms of a sum for which a certificate is made: its checker refuses more."""


class NotAChain(Exception):
    """The model is not such a chain; the message is the reason."""


class ChainLayer(Struct, frozen=True, eq=False):
    """z = W (x + c) + b, then Relu or not; sums of constants are rounded once, to float64.

    Attributes:
        W: of shape (neurons, inputs).
        bias: W c + b, of shape (neurons,).
        constant_sizes: for each neuron the sum of the absolute values of the constants in it, |W| |c| + |b|.
        largest_inner: the largest element of the absolute values of c.
        terms: how many products and constants a neuron is the sum of, at most.
        additions: how many operators add constants.
        relu: whether a Relu follows.
    """

    W: Array
    bias: Array
    constant_sizes: Array
    largest_inner: float
    terms: int
    additions: int
    relu: bool


def chain_layers(model: Model) -> list[ChainLayer]:
    """The layers of a model; only the last one has no Relu.

    Raises:
        NotAChain: it is not a chain of affine operators and Relu on one row of elements.
    """
    return _Reading(model).layers()


class _Affine:
    """The operators since the last Relu: rows that are added before the product, the product, rows added after it."""

    def __init__(self, width: int) -> None:
        self.inputs = self.width = width
        self.weights: Array | None = None
        self.before: list[Array] = []
        self.after: list[Array] = []

    def add(self, row: Array) -> None:
        (self.before if self.weights is None else self.after).append(row)

    def multiply(self, weights: Array) -> None:
        if self.weights is not None:
            raise NotAChain("two products follow each other without a Relu between them")
        self.weights, self.width = weights, len(weights)

    def layer(self, *, relu: bool) -> ChainLayer:
        W = np.eye(self.inputs) if self.weights is None else self.weights
        # Products of two float32 numbers are exact in float64, and fsum rounds a sum once.
        inner = [fsum(map(abs, column)) for column in zip(*self.before, strict=True)] if self.before else []
        terms = (2 if any(inner) else 1) * self.inputs + len(self.before) + len(self.after)
        if terms > MAX_TERMS:
            raise NotAChain(f"a sum has {terms} terms; a certificate is made for at most {MAX_TERMS}")
        bias, sizes = np.empty(self.width), np.empty(self.width)
        for place, row in enumerate(W):
            constants = [float(product) for added in self.before for product in row * added]
            constants += [float(added[place]) for added in self.after]
            bias[place], sizes[place] = fsum(constants), fsum(map(abs, constants))
        return ChainLayer(W, bias, sizes, max(inner, default=0.0), terms, len(self.before) + len(self.after), relu)


class _Reading:
    def __init__(self, model: Model) -> None:
        graph = model.graph
        if model.functions or graph.sparse_initializers:
            raise NotAChain("models with functions or sparse constants are not known")
        self.graph: Graph = graph
        self.constants = {tensor.name: tensor for tensor in graph.initializers}
        inputs = [value for value in graph.inputs if value.name not in self.constants]
        if len(inputs) != 1 or len(graph.outputs) != 1:
            raise NotAChain("the model has more than one input or output")
        self.value = inputs[0].name
        if len({self.value, *self.constants}) != 1 + len(graph.initializers):
            raise NotAChain("two values have one name")
        self.rank, width = _row_of_input(inputs[0])
        self.affine = _Affine(width)

    def layers(self) -> list[ChainLayer]:
        names = {self.value, *self.constants}
        chain: list[ChainLayer] = []
        for node in self.graph.nodes:
            if canonical_domain(node.domain):
                raise NotAChain(f"operator {node.operator} of domain {node.domain} is not known")
            if len(node.outputs) != 1 or node.outputs[0] in names:
                raise NotAChain(f"{node.operator}: a node has one result, of a new name")
            names.add(node.outputs[0])
            if node.operator == "Constant":
                self.constants[node.outputs[0]] = _constant_of(node)
                continue
            constants = [name for name in node.inputs if name != self.value]
            if len(constants) != len(node.inputs) - 1 or not self.constants.keys() >= {*constants}:
                reason = "the model is not a chain; one input of each node is the result before"
                raise NotAChain(f"{node.operator}: {reason}")
            if node.operator == "Relu":
                chain.append(self.affine.layer(relu=True))
                self.affine = _Affine(self.affine.width)
            else:
                self._apply(node, [self.constants[name] for name in constants])
            self.value = node.outputs[0]
        if self.value != self.graph.outputs[0].name:
            raise NotAChain("the output is not the last result")
        return [*chain, self.affine.layer(relu=False)]

    def _apply(self, node: Node, constants: Sequence[Tensor]) -> None:
        """Apply a node with its other inputs, constants, to the row of elements."""
        attributes = {attribute.name: attribute for attribute in node.attributes}
        is_first = bool(node.inputs) and node.inputs[0] == self.value
        match node.operator, constants:
            case "Add", [constant] if not attributes:
                self.affine.add(self._row(constant))
            case "Sub", [constant] if not attributes and is_first:
                self.affine.add(-self._row(constant))
            case "MatMul", [constant] if is_first:
                self.affine.multiply(self._matrix(constant, transposed=False))
            case "Gemm", [constant, *added] if is_first and len(added) <= 1 and _is_plain_gemm(attributes):
                self.affine.multiply(self._matrix(constant, transposed=_integer(attributes, "transB", 0) == 1))
                for row in added:
                    self.affine.add(self._row(row))
            case "Identity", []:
                pass
            case "Flatten", [] if _integer(attributes, "axis", 1) == 1 and self.rank >= 2:
                self.rank = 2
            case "Reshape", [constant] if is_first and self._keeps_the_row(constant, attributes):
                self.rank = 2
            case _:
                raise NotAChain(f"operator {node.operator} with these inputs and attributes is not known")

    def _row(self, constant: Tensor) -> Array:
        """The numbers that a constant adds to the row."""
        values = _numbers(constant)
        if not _is_row(constant.dims, self.affine.width) and not (values.size == 1 and set(constant.dims) <= {1}):
            raise NotAChain(f"a constant of shape {[*constant.dims]} is added to a row of {self.affine.width}")
        return np.broadcast_to(values.reshape(-1), (self.affine.width,))

    def _matrix(self, constant: Tensor, *, transposed: bool) -> Array:
        """A constant as the matrix W of W x."""
        if len(constant.dims) != 2 or constant.dims[int(transposed)] != self.affine.width:
            raise NotAChain(f"a matrix of shape {[*constant.dims]} is multiplied with a row of {self.affine.width}")
        values = _numbers(constant)
        return values if transposed else np.ascontiguousarray(values.T)

    def _keeps_the_row(self, shape: Tensor, attributes: Mapping[str, Attribute]) -> bool:
        """Whether a reshaping gives one row of the same elements."""
        if shape.element != "int64" or shape.external is not None or _integer(attributes, "allowzero", 0):
            return False
        sizes = decode(shape, None).reshape(-1).tolist()
        return len(sizes) >= 2 and sizes[-1] in (self.affine.width, -1) and set(sizes[:-1]) <= {1}


def _row_of_input(value: ValueInfo) -> tuple[int, int]:
    """The rank of the input and how many elements it has; a symbol is one row, as a property counts elements."""
    if value.type.kind != "tensor" or value.type.element != "float":
        raise NotAChain("the input is not of type float")
    dims = [extent if isinstance(extent, int) else 1 for extent in value.type.shape or ()]
    if not dims or not _is_row(dims, dims[-1]):
        raise NotAChain(f"the input has shape {dims}; a row of elements is read: 1, ..., 1, n")
    return len(dims), dims[-1]


def _is_row(dims: Sequence[int], width: int) -> bool:
    return len(dims) > 0 and dims[-1] == width and set(dims[:-1]) <= {1}


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
