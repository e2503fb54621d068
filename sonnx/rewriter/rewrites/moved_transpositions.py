"""Transposes that are not needed: moved behind operators of single elements until two meet, or into a constant.

Two Transposes in a row are one, or none where they cancel.  Behind a Transpose and a Reshape to a matrix, a product
with a constant matrix adds the same products as one whose rows are permuted, without the Transpose; a sum is exact and
rounded once, so its order does not matter.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from math import prod

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from sonnx.base.escaping import quote
from sonnx.checker.verdicts import Where
from sonnx.language.evaluator import first_unknown
from sonnx.model import value_names
from sonnx.model.ir import Graph, Node, Tensor
from sonnx.model.scopes import canonical_domain, captured
from sonnx.operators import operator_facts
from sonnx.rewriter import constant_tensors, descriptions
from sonnx.rewriter.context import RewriteContext
from sonnx.rewriter.node_builders import SHAPE_AS_INPUT, NodeSequence, attribute, with_attributes
from sonnx.rewriter.operator_names import OperatorName
from sonnx.rewriter.rewrite import Edit, ModelChange, Trigger, changed_graph, rewrite

Shape = tuple[int, ...]

PRODUCTS = (OperatorName.GEMM, OperatorName.MATMUL)


def may_move(context: RewriteContext) -> bool:
    """Whether a Transpose leads to another one or to a product of matrices; a look at the operators only."""
    if not _replaces(context):
        return False
    uses = _uses(context.model.graph)
    nodes = context.model.graph.nodes
    made = (node.outputs[0] for node in nodes if _is(node, OperatorName.TRANSPOSE) and node.outputs)
    return any(_may_lead(uses, name) for name in made)


def _may_lead(uses: Mapping[str, Sequence[Node]], name: str) -> bool:
    """Whether a value reaches a Transpose or, in another shape, a product."""
    waiting, seen = [(name, False)], set[tuple[str, bool]]()
    while waiting:
        state = waiting.pop()
        if state in seen:
            continue
        seen.add(state)
        value, shaped = state
        for node in uses.get(value, ()):
            if (_is(node, *PRODUCTS) and shaped) or (_is(node, OperatorName.TRANSPOSE) and not shaped):
                return True
            if _keeps_order(node):
                waiting += [(output, True) for output in node.outputs[:1]]
            if _is(node, OperatorName.DROPOUT) or (_may_be_elementwise(node) and not shaped):
                waiting += [(output, shaped) for output in node.outputs[:1]]
    return False


def _keeps_order(node: Node) -> bool:
    return operator_facts(node.operator, node.domain).keeps_order


def _may_be_elementwise(node: Node) -> bool:
    facts = operator_facts(node.operator, node.domain)
    return facts.elementwise or facts.elementwise_with_scalars


def _replaces(context: RewriteContext) -> bool:
    """Whether the edition lacks Transpose, and its nodes may be replaced."""
    inside = context.active_rules.edition.status(OperatorName.TRANSPOSE) in ("specified", "draft")
    if context.kept_nodes and any(
        _is(node, OperatorName.TRANSPOSE) and not context.kept_nodes.isdisjoint(node.outputs)
        for node in context.model.graph.nodes
    ):
        return False
    return not inside and OperatorName.TRANSPOSE not in context.kept


def _is(node: Node, *operators: str) -> bool:
    return node.operator in operators and not canonical_domain(node.domain)


def _uses(graph: Graph) -> dict[str, list[Node]]:
    """The nodes that read each value, once for each time."""
    uses: dict[str, list[Node]] = {}
    for node in graph.nodes:
        for name in (*node.inputs, *captured(node)):
            uses.setdefault(name, []).append(node)
    return uses


@rewrite("moved-transpositions", Trigger.RULE_SELECTED)
def moved_transpositions(context: RewriteContext) -> ModelChange | None:
    """The model after all moves."""
    if not _replaces(context) or (context.operator_set or 0) < SHAPE_AS_INPUT:
        return None
    moves = _Moves(context)
    for index, node in enumerate(context.model.graph.nodes):
        if _is(node, OperatorName.TRANSPOSE) and node.outputs[0] in moves.producers:
            moves.follow(index, node.outputs[0])
    return moves.changed()


class _Moves(Struct, dict=True):
    """The graph while Transposes move: `slots` are the nodes in the place of each original node."""

    context: RewriteContext
    edits: list[Edit] = []
    added: list[Tensor] = []

    @property
    def graph(self) -> Graph:
        return self.context.model.graph

    @cached_property
    def slots(self) -> list[list[Node]]:
        return [[node] for node in self.graph.nodes]

    @cached_property
    def producers(self) -> dict[str, int]:
        """The slot of the node that makes each value."""
        return {name: index for index, node in enumerate(self.graph.nodes) for name in node.outputs if name}

    @cached_property
    def readers(self) -> dict[str, Counter[int]]:
        """The slots that read each value, with how often."""
        found: dict[str, Counter[int]] = {}
        for index, node in enumerate(self.graph.nodes):
            for name in (*node.inputs, *captured(node)):
                found.setdefault(name, Counter())[index] += 1
        return found

    @cached_property
    def fixed(self) -> set[str]:
        """Values that must stay: graph outputs, and those that graphs inside nodes read."""
        return {value.name for value in self.graph.outputs}.union(*map(captured, self.graph.nodes))

    @cached_property
    def taken(self) -> value_names.TakenNames:
        return value_names.taken_names(self.graph)

    @cached_property
    def shapes(self) -> dict[str, Shape]:
        known = self.context.facts.items()
        return {name: tuple(facts.shape) for name, facts in known if first_unknown(facts.shape) is None}  # type: ignore[arg-type]

    @cached_property
    def constants(self) -> dict[str, Tensor]:
        found = {tensor.name: tensor for tensor in self.graph.initializers}
        for node in self.graph.nodes:
            if _is(node, OperatorName.CONSTANT):
                values = [
                    node_attribute.value
                    for node_attribute in node.attributes
                    if isinstance(node_attribute.value, Tensor)
                ]
                found.update(dict.fromkeys(node.outputs, values[0]) if values else {})
        return found

    def node(self, name: str) -> Node | None:
        """The node that makes a value."""
        at = self.producers.get(name)
        made = () if at is None else self.slots[at]
        return next((node for node in made if name in node.outputs), None)

    # One Transpose

    def follow(self, index: int, name: str) -> None:
        """Move the Transpose that makes a value as far as something is gained."""
        first, done = self.node(name), list[str]()
        while (transposed := self.node(name)) is not None and _is(transposed, OperatorName.TRANSPOSE):
            order = self.order(transposed)
            if order is None:
                break
            for at in sorted(self.readers.get(name, ())):
                transposed = self.node(name) or transposed  # a meeting may have renamed its input
                done += self.met(at, transposed, order) or self.folded(at, transposed, order)
            transposed = self.node(name) or transposed
            if not self.readers.get(name) and name not in self.fixed:
                self.remove(name)
                break
            behind = self.swapped(transposed, order)
            if not behind:
                break
            done.append(f"moved behind {self.slots[self.producers[behind]][0].operator}")
            name = behind
        if done and first is not None:
            where = Where(f"graph/node[{index}]", "node", first.name, first.operator, self.context.operator_set)
            self.edits.append(Edit(where, descriptions.call(first), ", ".join(dict.fromkeys(done))))

    def order(self, node: Node) -> Shape | None:
        """The permutation, None where it is not one or the rank is not known."""
        written = next(
            (node_attribute.value for node_attribute in node.attributes if node_attribute.name == "perm"), None
        )
        shape = self.shapes.get(node.inputs[0])
        if shape is None:
            return None
        order = tuple(range(len(shape)))[::-1] if written is None else written
        if not isinstance(order, tuple) or sorted(map(int, order)) != list(range(len(shape))):  # type: ignore[arg-type]
            return None
        return tuple(int(each) for each in order)  # type: ignore[arg-type]

    def sole(self, at: int) -> Node | None:
        """The only node of a slot."""
        return self.slots[at][0] if len(self.slots[at]) == 1 else None

    def met(self, at: int, transposed: Node, order: Shape) -> list[str]:
        """Make one Transpose of two; what was done."""
        other = self.sole(at)
        then = self.order(other) if other is not None and _is(other, OperatorName.TRANSPOSE) else None
        if other is None or then is None:
            return []
        both, source, output = tuple(order[axis] for axis in then), transposed.inputs[0], other.outputs[0]
        if both != tuple(range(len(both))):
            perm = {"perm": attribute("perm", "ints", both)}
            self.put(at, with_attributes(replace(other, inputs=(source,)), perm))
            return [f"joined with the one that makes {quote(output)}"]
        self.put(at)
        if output not in self.fixed:
            self.rename(output, source)
        elif source in self.producers and source not in self.fixed:
            self.rename(source, output)
        else:
            self.put(at, *self.reshaped(source, output, self.shapes[source]))
        return [f"cancelled with the one that makes {quote(output)}"]

    def reshaped(self, source: str, output: str, shape: Shape) -> Iterator[Node]:
        """A Reshape that makes a value of a shape from another one."""
        sequence = NodeSequence(output, self.context.operator_set or 0)
        sequence.reshape(source, shape, output)
        [size] = sequence.constants
        unique = value_names.unused(size.name, self.taken)
        self.added.append(replace(size, name=unique))
        return (value_names.renamed(node, {size.name: unique}) for node in sequence.nodes)

    def folded(self, at: int, transposed: Node, order: Shape) -> list[str]:
        """Permute the rows of the constant matrix behind a Reshape; what was done."""
        shaping, found = self.sole(at), self.product_behind(at, order, transposed.inputs[0])
        if shaping is None or found is None:
            return []
        product, rows = found
        constant = self.constants[product.inputs[1]]
        values = constant_tensors.undecoded(constant)
        if values is None:
            return []
        name = value_names.unused(f"{constant.name}.rows", self.taken)
        self.added.append(
            constant_tensors.from_bytes(
                name, constant.element, constant.dims, np.ascontiguousarray(values[rows]).tobytes()
            )
        )
        output = shaping.outputs[0]
        reshapes = self.reshaped(transposed.inputs[0], output, self.shapes[output])
        self.put(at, *(replace(node, name=shaping.name) for node in reshapes))
        inputs = (product.inputs[0], name, *product.inputs[2:])
        self.put(self.producers[product.outputs[0]], replace(product, inputs=inputs))
        return [f"the rows of {quote(constant.name)} permuted"]

    def product_behind(
        self, at: int, order: Shape, source: str
    ) -> tuple[Node, np.ndarray[tuple[int], np.dtype[np.intp]]] | None:
        """The only product with a constant that reads the output of a Reshape, and the order of the constant's rows."""
        shaping, shape = self.sole(at), self.shapes.get(source)
        if shaping is None or shape is None or not _keeps_order(shaping) or shaping.outputs[0] in self.fixed:
            return None
        readers, size = self.readers.get(shaping.outputs[0], Counter()), self.shapes.get(shaping.outputs[0])
        product = self.sole(next(iter(readers))) if readers.total() == 1 else None
        if product is None or size is None or not _is(product, *PRODUCTS) or product.inputs[0] != shaping.outputs[0]:
            return None
        constant = self.constants.get(product.inputs[1])
        turned = any(
            product_attribute.name in ("transA", "transB") and product_attribute.value
            for product_attribute in product.attributes
        )
        if constant is None or turned or len(size) != 2 or len(constant.dims) != 2 or constant.dims[0] != size[1]:
            return None
        result = tuple(shape[axis] for axis in order)
        for kept in range(len(order)):
            if order[:kept] == tuple(range(kept)) and prod(result[:kept]) == size[0] and size[1]:
                rest = [axis - kept for axis in order[kept:]]
                places = np.arange(size[1]).reshape(result[kept:])
                return product, places.transpose(np.argsort(rest)).reshape(-1)
        return None

    def swapped(self, transposed: Node, order: Shape) -> str:
        """Move the Transpose behind the only node that reads it, where this leads on; the value that it makes then."""
        name = transposed.outputs[0]
        readers = self.readers.get(name, Counter())
        if name in self.fixed or len(readers) != 1:
            return ""
        [at] = readers
        node = self.sole(at)
        if node is None or not self.leads(node, name, order):
            return ""
        operands = [self.moved(operand, order, transposed) for operand in node.inputs]
        output = node.outputs[0]
        new = value_names.unused(f"{output}.moved", self.taken)
        source = tuple(operand for operand in operands if operand is not None)
        result = self.shapes[output]
        self.shapes[new] = tuple(result[order.index(axis)] for axis in range(len(order)))
        self.remove(name)
        self.put(
            at, replace(node, inputs=source, outputs=(new,)), replace(transposed, inputs=(new,), outputs=(output,))
        )
        return output

    def leads(self, node: Node, behind: str, order: Shape) -> bool:
        """Whether a Transpose that makes a value can move behind a node, and then meets another one or a constant."""
        if len(node.outputs) != 1 or not self.is_elementwise(node):
            return False
        output = node.outputs[0]
        if len(self.shapes.get(output, ())) != len(order) or output in self.fixed:
            return False
        if not all(operand == behind or self.movable(operand, order) for operand in node.inputs):
            return False
        for at in self.readers.get(output, ()):
            reader = self.sole(at)
            if reader is None:
                continue
            if _is(reader, OperatorName.TRANSPOSE) or self.leads(reader, output, order):
                return True
            if _keeps_order(reader) and self.ends_in_product(at, order, output):
                return True
        return False

    def is_elementwise(self, node: Node) -> bool:
        """Whether each element of the first output is a function of the elements at its index."""
        facts = operator_facts(node.operator, node.domain)
        if facts.elementwise_at(self.context.operator_set or 0):
            return True
        scalars = (self.shapes.get(operand) for operand in node.inputs[1:] if operand)
        return facts.elementwise_with_scalars and all(shape is not None and prod(shape) == 1 for shape in scalars)

    def ends_in_product(self, at: int, order: Shape, value: str) -> bool:
        """Whether the Transpose that would make a value then folds into a constant matrix."""
        result = self.shapes[value]
        self.shapes[""] = tuple(result[order.index(axis)] for axis in range(len(order)))
        return self.product_behind(at, order, "") is not None

    def movable(self, operand: str, order: Shape) -> bool:
        """Whether an operand can be had in the order before the Transpose."""
        if not operand:
            return True
        shape = self.shapes.get(operand)
        if shape is not None and prod(shape) == 1 and len(shape) <= len(order):
            return True
        inner_node, constant = self.node(operand), self.constants.get(operand)
        if inner_node is not None and _is(inner_node, OperatorName.TRANSPOSE):
            return self.order(inner_node) == order
        return (
            constant is not None
            and len(constant.dims) <= len(order)
            and constant_tensors.undecoded(constant) is not None
        )

    def moved(self, operand: str, order: Shape, transposed: Node) -> str:
        """An operand in the order before the Transpose."""
        if not operand or operand == transposed.outputs[0]:
            return transposed.inputs[0] if operand else ""
        shape, inner_node, constant = self.shapes.get(operand), self.node(operand), self.constants.get(operand)
        if shape is not None and prod(shape) == 1:
            return operand
        if constant is None:
            return inner_node.inputs[0] if inner_node is not None else operand
        values = constant_tensors.undecoded(constant)
        assert values is not None  # noqa: S101  (movable)
        full = values.reshape((*[1] * (len(order) - values.ndim), *values.shape)).transpose(np.argsort(order))
        name = value_names.unused(f"{operand}.moved", self.taken)
        self.added.append(
            constant_tensors.from_bytes(name, constant.element, full.shape, np.ascontiguousarray(full).tobytes())
        )
        self.shapes[name], self.constants[name] = full.shape, self.added[-1]
        return name

    # The graph

    def put(self, at: int, *nodes: Node) -> None:
        """Put nodes into a slot."""
        for node in self.slots[at]:
            for name in (*node.inputs, *captured(node)):
                counter = self.readers[name] if name in self.readers else Counter()
                counter[at] -= 1
                self.readers[name] = +counter
            for name in node.outputs:
                self.producers.pop(name, None)
        self.slots[at] = list(nodes)
        for node in nodes:
            for name in (*node.inputs, *captured(node)):
                self.readers.setdefault(name, Counter())[at] += 1
            self.producers.update(dict.fromkeys(filter(None, node.outputs), at))

    def rename(self, name: str, other: str) -> None:
        """Give a value another name where it is made and read."""
        slots = {*self.readers.pop(name, ()), *([self.producers[name]] if name in self.producers else [])}
        for at in slots:
            self.put(at, *(value_names.renamed(node, {name: other}, outputs=True) for node in self.slots[at]))
        if name in self.shapes:
            self.shapes[other] = self.shapes[name]

    def remove(self, name: str) -> None:
        """Remove the node that makes a value from its slot."""
        at = self.producers[name]
        self.put(at, *(node for node in self.slots[at] if name not in node.outputs))

    def changed(self) -> ModelChange | None:
        """The model, None where nothing moved."""
        nodes = tuple(_flat(self.slots))
        texts = {name for node in nodes for name in node.outputs}
        gone = {name for node in self.graph.nodes for name in node.outputs} - texts
        info = tuple(value for value in self.graph.value_info if value.name not in gone)
        return changed_graph(
            self.context, self.edits, nodes=nodes, value_info=info,
            initializers=(*self.graph.initializers, *self.added),
        )  # fmt: skip


def _flat(slots: Iterable[Sequence[Node]]) -> Iterator[Node]:
    for nodes in slots:
        yield from nodes
