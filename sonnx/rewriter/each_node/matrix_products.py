"""Multiply matrices one by one, and vectors and stacks as matrices.  About MatMul.

Every element of the output is the same sum of the same products.
"""

from __future__ import annotations

from math import prod

from sonnx.language.builtins import Undefined, broadcast
from sonnx.model.ir import Node, Tensor
from sonnx.rewriter import descriptions, new_nodes
from sonnx.rewriter.rewrite import Change
from sonnx.rewriter.site import Site

RULES = ("MatMul.two-dimensional",)

MOST = 64
"""Matrices of a stack."""

Shape = tuple[int, ...]


def rewrite(site: Site) -> Change | None:
    """One MatMul where the second operand is a matrix or vector, else one for each pair of matrices."""
    a, b, y = site.shape(0), site.shape(1), site.output_shape() if site.outputs else None
    if not site.fails(RULES) or not a or not b or y is None or 0 in (*a, *b) or (site.world.operator_set or 0) < 5:
        return None
    made = _Products(site.node.outputs[0], site.world.operator_set or 0)
    one, other = site.node.inputs
    if len(b) <= 2:
        rows, columns = prod(a[:-1]), b[1] if len(b) == 2 else 1
        left = made.shaped(one, a, (rows, a[-1]))
        made.finish(made.product(left, made.shaped(other, b, (b[0], columns))), y)
        return made.change(site, "one product of matrices")
    pairs = _pairs((1, *a) if len(a) == 1 else a, b)
    if not 0 < len(pairs) <= MOST:
        return None
    left, right = (made.shaped(name, shape, _stack(shape)) for name, shape in ((one, a), (other, b)))
    size = (_stack(a)[1], b[-1])
    products = [made.product(made.matrix(left, _stack(a), i), made.matrix(right, _stack(b), j)) for i, j in pairs]
    made.join([made.shaped(name, size, (1, *size)) for name in products], y)
    return made.change(site, f"{len(pairs)} products of matrices")


def _stack(shape: Shape) -> Shape:
    """As a list of matrices; a vector on the left is a row."""
    rows = shape[-2] if len(shape) > 1 else 1
    return (prod(shape[:-2]), rows, shape[-1])


def _pairs(a: Shape, b: Shape) -> list[tuple[int, int]]:
    """Which matrix of the first stack meets which of the second, in the order of the broadcast stack."""
    try:
        common = broadcast([[*a[:-2]], [*b[:-2]]])
    except Undefined:
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


class _Products:
    """Nodes that multiply matrices, as they are made."""

    def __init__(self, output: str, version: int) -> None:
        self.output, self.version = output, version
        self.nodes: list[Node] = []
        self.constants: list[Tensor] = []
        self.known: dict[tuple[str, int], str] = {}

    def shaped(self, source: str, shape: Shape, wanted: Shape) -> str:
        """The value under another shape."""
        return source if shape == wanted else self._reshape(source, self._name("shaped"), wanted)

    def matrix(self, source: str, stack: Shape, index: int) -> str:
        """One matrix of a stack, cut out once."""
        if (source, index) not in self.known:
            part = self._name("part")
            made, bounds = new_nodes.part(source, part, stack, 0, (index, index + 1), self.version)
            self.nodes.append(made)
            self.constants += bounds
            self.known[source, index] = self._reshape(part, self._name("shaped"), stack[1:])
        return self.known[source, index]

    def product(self, left: str, right: str) -> str:
        """The product of two matrices."""
        name = self._name("product")
        self.nodes.append(new_nodes.node("MatMul", (left, right), name))
        return name

    def finish(self, source: str, shape: Shape) -> None:
        """The result under its shape and name."""
        self._reshape(source, self.output, shape)

    def join(self, parts: list[str], shape: Shape) -> None:
        """The matrices behind each other, under the shape and name of the result."""
        name = self._name("joined")
        self.nodes.append(new_nodes.node("Concat", parts, name, axis=0))
        self.finish(name, shape)

    def change(self, site: Site, after: str) -> Change:
        """All of them in place of the node."""
        return Change(tuple(self.nodes), descriptions.call(site.node), after, tuple(self.constants))

    def _reshape(self, source: str, output: str, shape: Shape) -> str:
        made, constant = new_nodes.reshape(source, output, shape, self.version)
        self.nodes.append(made)
        self.constants.append(constant)
        return output

    def _name(self, kind: str) -> str:
        return f"{self.output}.{kind}{len(self.nodes)}"
