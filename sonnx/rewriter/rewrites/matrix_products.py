"""Matrix products: MatMul of stacks and vectors as products of matrices, and transposed constants of Gemm.

Every element of the output is the same sum of the same products.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

from msgspec.structs import replace

from sonnx.language import builtins
from sonnx.model.ir import Attribute, Tensor
from sonnx.rewriter import constant_tensors, descriptions
from sonnx.rewriter.node_builders import SHAPE_AS_INPUT, NodeSequence, attribute, with_attributes
from sonnx.rewriter.operator_names import OperatorName
from sonnx.rewriter.pieces import Pieces
from sonnx.rewriter.rewrite import Replacement, Trigger, rewrite
from sonnx.rewriter.site import Shape, Site

MAX_PRODUCTS = 64
"""A product of stacks stays where it would become more products of matrices."""


@rewrite("matrix-products", Trigger.RULE_FAILS)
def matrix_products(site: Site) -> Replacement | None:
    """One MatMul where the second operand is a matrix or vector, else one for each pair of matrices."""
    a, b, y = site.shape(0), site.shape(1), site.output_shape()
    if not a or not b or y is None or 0 in (*a, *b) or site.operator_set < SHAPE_AS_INPUT:
        return None
    sequence = _Products(site.node.outputs[0], site.operator_set, site.pieces)
    first, second = site.node.inputs
    if len(b) <= 2:
        rows, columns = prod(a[:-1]), b[1] if len(b) == 2 else 1
        left = sequence.shaped(first, a, (rows, a[-1]))
        product = sequence.product(left, sequence.shaped(second, b, (b[0], columns)))
        sequence.reshape(product, y, sequence.output)
        return sequence.replacement(descriptions.call(site.node), "one product of matrices")
    pairs = _pairs((1, *a) if len(a) == 1 else a, b)
    if not 0 < len(pairs) <= MAX_PRODUCTS:
        return None
    left, right = (sequence.shaped(name, shape, _stack(shape)) for name, shape in ((first, a), (second, b)))
    size = (_stack(a)[1], b[-1])
    products = [
        sequence.product(sequence.matrix(left, _stack(a), i), sequence.matrix(right, _stack(b), j)) for i, j in pairs
    ]
    stacked = [sequence.shaped(name, size, (1, *size)) for name in products]
    joined = sequence.add(OperatorName.CONCAT, stacked, sequence.name("joined"), axis=0)
    sequence.reshape(joined, y, sequence.output)
    return sequence.replacement(descriptions.call(site.node), f"{len(pairs)} products of matrices")


def _stack(shape: Shape) -> Shape:
    """The shape as a list of matrices; a vector on the left is a row."""
    rows = shape[-2] if len(shape) > 1 else 1
    return (prod(shape[:-2]), rows, shape[-1])


def _pairs(a: Shape, b: Shape) -> list[tuple[int, int]]:
    """Which matrix of the first stack meets which of the second, in the order of the broadcast stack."""
    try:
        common = builtins.broadcast([[*a[:-2]], [*b[:-2]]])
    except builtins.Undefined:
        return []
    return [(_place(index, common, a[:-2]), _place(index, common, b[:-2])) for index in range(prod(common))]


def _place(index: int, common: list[int], shape: Shape) -> int:
    """The place in a stack of an element of the stack it is broadcast to."""
    place, step = 0, 1
    for k in range(1, len(common) + 1):
        index, at = divmod(index, common[-k])
        if k <= len(shape):
            place += step * (at if shape[-k] != 1 else 0)
            step *= shape[-k]
    return place


class _Products(NodeSequence):
    """Nodes that multiply matrices; each matrix of a stack is cut out once."""

    def __init__(self, output: str, operator_set: int, pieces: Mapping[str, Pieces]) -> None:
        super().__init__(output, operator_set, pieces)
        self.known: dict[tuple[str, int], str] = {}

    def shaped(self, source: str, shape: Shape, wanted: Shape) -> str:
        """The value under another shape."""
        return source if shape == wanted else self.reshape(source, wanted)

    def matrix(self, source: str, stack: Shape, index: int) -> str:
        """One matrix of a stack."""
        if (source, index) not in self.known:
            part = self.slice(source, stack, 0, (index, index + 1))
            self.known[source, index] = self.reshape(part, stack[1:])
        return self.known[source, index]

    def product(self, left: str, right: str) -> str:
        """The product of two matrices."""
        return self.add(OperatorName.MATMUL, (left, right), self.name("product"))


TRANSPOSITIONS = ("transA", "transB")
"""The attributes of Gemm that transpose the first and the second input."""


@rewrite("transposed-constant", Trigger.RULE_FAILS)
def transposed_constant(site: Site) -> Replacement | None:
    """The node with each constant matrix it transposes stored transposed."""
    inputs, constants, written = list(site.node.inputs), list[Tensor](), dict[str, Attribute]()
    for index, name in enumerate(TRANSPOSITIONS):
        if not site.known(name):
            continue
        constant = site.constant(index)
        stored = constant_tensors.transposed(constant, f"{constant.name}.transposed") if constant else None
        if stored is None or len(stored.dims) != 2:
            continue
        constants.append(stored)
        inputs[index] = stored.name
        written[name] = attribute(name, "int", 0)
    if not constants:
        return None
    node = with_attributes(replace(site.node, inputs=tuple(inputs)), written)
    before = ", ".join(descriptions.attribute(site.attributes[name]) for name in written)
    after = ", ".join(map(descriptions.attribute, written.values()))
    shown = ", ".join(map(descriptions.tensor, constants))
    return Replacement((node,), before, f"{after}, the constant as {shown}", tuple(constants))
