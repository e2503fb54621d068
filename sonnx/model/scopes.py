"""Scopes of names: the main graph, subgraphs of nodes, the bodies of model-local functions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property

from msgspec import Struct

from sonnx.base.escaping import escape
from sonnx.model.ir import (
    GRAPH_KINDS,
    NOT_STATED,
    Attribute,
    Function,
    Graph,
    Import,
    Model,
    Node,
    SparseTensor,
    Tensor,
    Type,
    ValueInfo,
    joined_type,
    subgraphs,
)

STANDARD = ("", "ai.onnx")
"""The two names of the standard domain."""


def canonical_domain(domain: str) -> str:
    """The domain, with "" for the standard one."""
    return "" if domain == STANDARD[1] else domain


class Scope(Struct, frozen=True, dict=True):
    """One list of nodes with the names visible to it; a function body is a graph whose inputs have no types."""

    place: str
    graph: Graph
    imports: Mapping[str, int | None]
    outer: Scope | None = None
    position: int = 0
    """The index of the node around this graph."""
    function: Function | None = None

    @cached_property
    def kind(self) -> tuple[object, ...]:
        """What the meaning of a node depends on besides the node: the imported operator sets, and whether it stands in
        a function.
        """
        return (self.function is not None, *self.imports.items())

    @cached_property
    def defined_at(self) -> Mapping[str, int]:
        """The index of the first node that defines a name; -1 for graph inputs and initializers."""
        positions: dict[str, int] = {}
        for index in range(len(self.graph.nodes) - 1, -1, -1):
            for name in self.graph.nodes[index].outputs:
                positions[name] = index
        graph = self.graph
        for named in (graph.inputs, graph.initializers, graph.sparse_initializers):
            positions.update(dict.fromkeys([each.name for each in named], -1))
        positions.pop("", None)
        return positions

    @cached_property
    def declared(self) -> Mapping[str, Type]:
        """The type that the declarations of each name state together."""
        declarations = (*self.graph.inputs, *self.graph.outputs, *self.graph.value_info)
        types = {value.name: value.type for value in declarations}
        if len(types) < len(declarations):
            several: dict[str, dict[Type, None]] = {}
            for value in declarations:
                several.setdefault(value.name, {})[value.type] = None
            types.update((name, joined_type(tuple(stated))) for name, stated in several.items() if len(stated) > 1)
        return types

    @cached_property
    def graph_inputs(self) -> frozenset[str]:
        """The names of the graph's inputs."""
        return frozenset(value.name for value in self.graph.inputs)

    @cached_property
    def early_uses(self) -> tuple[tuple[int, str], ...]:
        """Node and name of each use that is not after the definition of the name in this graph, or has none here."""
        defined, many = self.defined_at, len(self.graph.nodes)
        return tuple(
            [
                (index, name)
                for index, node in enumerate(self.graph.nodes)
                for name in node.inputs
                if defined.get(name, many) >= index and name
            ]
        )

    def visible(self, name: str, position: int) -> bool:
        """Whether a node at a position may use the name, from this graph or one around it."""
        scope: Scope | None = self
        while scope is not None:
            if scope.defined_at.get(name, position) < position:
                return True
            position, scope = scope.position, scope.outer
        return False

    def node_place(self, index: int) -> str:
        """The path of a node."""
        return f"{self.place}/node[{index}]"


def imports_of(entries: Iterable[Import]) -> dict[str, int | None]:
    """The version of each domain; the first of a domain imported twice, which fails operator-set-imported-once."""
    imports: dict[str, int | None] = {}
    for entry in entries:
        imports.setdefault(canonical_domain(entry.domain), entry.version)
    return imports


def function_key(function: Function) -> tuple[str, str, str]:
    """Domain, operator and overload of the nodes that call the function."""
    return canonical_domain(function.domain), function.name, function.overload


def scopes(model: Model) -> Iterator[Scope]:
    """Every scope of a model, a graph before those nested in it, functions after the main graph."""
    imports = imports_of(model.imports)
    yield from nested_scopes(Scope("graph", model.graph, imports))
    for index, function in enumerate(model.functions):
        body = Scope(f"function[{index}]", _as_graph(function), imports_of(function.imports), function=function)
        yield from nested_scopes(body)


def holds_graph(node: Node) -> bool:
    """Whether an attribute of a node is of a kind that holds graphs."""
    return bool(node.attributes) and not GRAPH_KINDS.isdisjoint([attribute.kind for attribute in node.attributes])


def nested_scopes(root: Scope) -> Iterator[Scope]:
    """A scope, and those of the graphs nested in its nodes, at any depth."""
    waiting = [root]
    while waiting:
        scope = waiting.pop()
        yield scope
        inner = [
            Scope(f"{scope.node_place(index)}/{escape(name)}", graph, scope.imports, scope, index, scope.function)
            for index, node in enumerate(scope.graph.nodes)
            if holds_graph(node)
            for name, graph in subgraphs(node)
        ]
        waiting.extend(reversed(inner))


def _as_graph(function: Function) -> Graph:
    inputs, outputs = (
        tuple(ValueInfo(name, NOT_STATED) for name in names) for names in (function.inputs, function.outputs)
    )
    types = {value.name: value.type for value in function.value_info}
    outputs = tuple(ValueInfo(value.name, types.get(value.name, NOT_STATED)) for value in outputs)
    return Graph(
        function.name,
        inputs,
        outputs,
        function.value_info,
        (),
        (),
        function.nodes,
        repeated_keys=function.repeated_keys,
    )


def captured(node: Node) -> set[str]:
    """The names that the subgraphs of a node use, those they define included."""
    names: set[str] = set()
    waiting = [graph for _, graph in subgraphs(node)] if holds_graph(node) else []
    while waiting:
        graph = waiting.pop()
        for inner in graph.nodes:
            names.update(inner.inputs)
            waiting.extend(nested for _, nested in subgraphs(inner))
        names.update(value.name for value in graph.outputs)
    return names


def free_names(node: Node) -> set[str]:
    """The names that the graphs inside a node take from the graphs around it: used there, and not defined before."""
    free: set[str] = set()
    for _, graph in subgraphs(node) if holds_graph(node) else ():
        free |= _free_names_of(graph)
    return free


def _free_names_of(graph: Graph) -> set[str]:
    free: set[str] = set()
    own = {each.name for listed in (graph.inputs, graph.initializers, graph.sparse_initializers) for each in listed}
    for node in graph.nodes:
        free.update([name for name in (*node.inputs, *free_names(node)) if name not in own])
        own.update(node.outputs)
    free.update([value.name for value in graph.outputs if value.name not in own])
    return free - {""}


def all_constants(model: Model) -> Iterator[Tensor | SparseTensor]:
    """Every constant of a file: initializers and tensors of attributes, in all graphs and functions."""
    yield from _tensors_of_graph(model.graph)
    for function in model.functions:
        inner = list[Graph]()
        yield from _tensors_of_nodes(function.nodes, inner)
        for graph in inner:
            yield from _tensors_of_graph(graph)
    for _, graph in model.training:
        yield from _tensors_of_graph(graph)
    for function in model.functions:
        for attribute in function.defaults:
            yield from _tensors_of_attribute(attribute)


def _tensors_of_graph(root: Graph) -> Iterator[Tensor | SparseTensor]:
    """The constants of a graph, then those of the graphs nested in its nodes, at any depth."""
    waiting = [root]
    while waiting:
        graph, inner = waiting.pop(), list[Graph]()
        yield from graph.initializers
        yield from graph.sparse_initializers
        yield from _tensors_of_nodes(graph.nodes, inner)
        waiting.extend(reversed(inner))


def _tensors_of_nodes(nodes: Iterable[Node], inner: list[Graph]) -> Iterator[Tensor | SparseTensor]:
    """The tensors in attributes of nodes; `inner` gets the graphs."""
    for node in nodes:
        for attribute in node.attributes:
            value = attribute.value
            if isinstance(value, tuple):
                yield from _tensors_of_attribute(attribute)
            elif isinstance(value, Tensor | SparseTensor):
                yield value
        if holds_graph(node):
            inner += [graph for _, graph in subgraphs(node)]


def stored_tensors(model: Model) -> Iterator[Tensor]:
    """Every tensor with values of constants; of a sparse constant its values and its indices."""
    for constant in all_constants(model):
        if isinstance(constant, Tensor):
            yield constant
        else:
            yield from filter(None, (constant.values, constant.indices))


def is_same(model: Model, other: Model) -> bool:
    """Whether two models have equal contents, the bytes of their tensors included."""
    if model != other:
        return False
    tensors = zip(stored_tensors(model), stored_tensors(other), strict=True)
    return all(tensor.data is counterpart.data or tensor.data == counterpart.data for tensor, counterpart in tensors)


def _tensors_of_attribute(attribute: Attribute) -> Iterator[Tensor | SparseTensor]:
    return (value for value in attribute.items if isinstance(value, Tensor | SparseTensor))
