"""Give each value a name of its own where every user of the name is known.

Of several equal initializers of one name one stays.  An output of a node in a nested graph that hides a value around it
gets another name, if every use there comes after the node.  What else is defined twice stays, also an initializer or
input of a nested graph that hides a value: the reference implementation of ONNX takes the one around it.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

from sonnx.base.escaping import quote
from sonnx.checker.report import Where
from sonnx.model.ir import Graph, Model, Node, Tensor
from sonnx.model.scopes import Scope, captured, nested
from sonnx.rewriter import descriptions, naming
from sonnx.rewriter.rewrite import Rewrite
from sonnx.rewriter.site import World

RULES = ("names-defined-once",)
KIND = "unique-names"


def rewrite(model: Model, world: World) -> tuple[Model, Iterator[Rewrite]]:
    """The model with one initializer of each name, and no name in a nested graph that hides another."""
    if not world.wants_any(RULES):
        return model, iter(())
    records: list[Rewrite] = []
    graph = _one_of_equals(model.graph, records)
    if any(scope.outer for scope in nested(Scope("graph", graph, {}))):
        taken = {name for scope in nested(Scope("graph", graph, {})) for name in naming.own_names(scope.graph)}
        graph = _inside(graph, "graph", frozenset(), taken, records)
    return (replace(model, graph=graph), iter(records)) if records else (model, iter(()))


def _one_of_equals(graph: Graph, records: list[Rewrite]) -> Graph:
    first: dict[str, object] = {}
    kept: list[Tensor] = []
    for index, tensor in enumerate(graph.initializers):
        content = _content(tensor)
        if tensor.name and content is not None and first.get(tensor.name) == content:
            where = Where(f"graph/initializer[{index}]", "tensor", tensor.name)
            records.append(
                Rewrite(KIND, RULES, where, descriptions.tensor(tensor), "removed: it equals an earlier one")
            )
            continue
        first.setdefault(tensor.name, content)
        kept.append(tensor)
    return replace(graph, initializers=tuple(kept)) if len(kept) < len(graph.initializers) else graph


def _content(tensor: Tensor) -> object | None:
    """What makes two tensors equal; None where the values are not in the file as bytes, or not all of them."""
    if tensor.data is None or tensor.segment or tensor.misfit is not None:
        return None
    return tensor.element, tensor.dims, hashlib.sha256(tensor.data).hexdigest()


def _inside(graph: Graph, place: str, around: frozenset[str], taken: set[str], records: list[Rewrite]) -> Graph:
    """The graph with unique names in the graphs of its nodes; `around` are the names its nodes see from outside."""
    seen = around.union(_given(graph))
    nodes: list[Node] = []
    for index, node in enumerate(graph.nodes):
        nodes.append(_node(node, f"{place}/node[{index}]", seen, taken, records))
        seen |= {*node.outputs}
    return replace(graph, nodes=tuple(nodes))


def _node(node: Node, place: str, around: frozenset[str], taken: set[str], records: list[Rewrite]) -> Node:
    def unique(graph: Graph, name: str) -> Graph:
        made = _inside(graph, f"{place}/{name}", around, taken, records)
        return _unhidden(made, f"{place}/{name}", around, taken, records)

    return naming.with_graphs(node, unique)


def _unhidden(graph: Graph, place: str, around: frozenset[str], taken: set[str], records: list[Rewrite]) -> Graph:
    names = {}
    for name in _hiding(graph, around):
        names[name] = naming.fresh(name, taken)
        records.append(Rewrite(KIND, RULES, Where(place, "value", name), quote(name), quote(names[name])))
    return naming.defining(graph, names) if names else graph


def _hiding(graph: Graph, around: frozenset[str]) -> list[str]:
    """Outputs of nodes that hide a value around the graph, are no other value here or below, and not used before."""
    number = Counter(name for node in graph.nodes for name in node.outputs)
    whole = Scope("", graph, {})
    defined = whole.defined_at
    below = {name for scope in nested(whole) if scope.outer for name in scope.defined_at}
    early = {
        name
        for index, node in enumerate(graph.nodes)
        for name in (*node.inputs, *captured(node))
        if defined.get(name, -1) >= index
    }
    hidden = around - {"", *_given(graph)} - early - below
    return [name for name in number if name in hidden and number[name] == 1]


def _given(graph: Graph) -> list[str]:
    """The names of inputs and constants."""
    constants = *(each.name for each in graph.initializers), *(each.name for each in graph.sparse_initializers)
    return [*(each.name for each in graph.inputs), *constants]
