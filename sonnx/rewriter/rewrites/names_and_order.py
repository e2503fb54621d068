"""Names of graphs and values, and the order of nodes."""

from __future__ import annotations

from collections import Counter
from heapq import heapify, heappop, heappush

from msgspec import Struct
from msgspec.structs import replace

from sonnx.base.escaping import quote
from sonnx.checker.verdicts import Where
from sonnx.model import value_names
from sonnx.model.ir import Graph, Node, Tensor, subgraphs
from sonnx.model.scopes import Scope, captured, free_names, nested_scopes
from sonnx.rewriter import constant_tensors, descriptions
from sonnx.rewriter.context import RewriteContext
from sonnx.rewriter.rewrite import Edit, ModelChange, Trigger, changed_graph, rewrite

GRAPH_NAME = "graph"
"""The name that graphs without one get; nothing refers to a graph by its name."""


@rewrite("named-graph", Trigger.RULE_SELECTED)
def named_graph(context: RewriteContext) -> ModelChange | None:
    """The model with a name for each graph."""
    edits: list[Edit] = []
    graph = _with_name(context.model.graph, "graph", edits)
    return ModelChange(replace(context.model, graph=graph), edits) if edits else None


def _with_name(graph: Graph, place: str, edits: list[Edit]) -> Graph:
    if not graph.name:
        edits.append(Edit(Where(place, "graph"), "no name", f"'{GRAPH_NAME}'"))
    nodes = (_with_named_graphs(node, f"{place}/node[{index}]", edits) for index, node in enumerate(graph.nodes))
    return replace(graph, name=graph.name or GRAPH_NAME, nodes=tuple(nodes))


def _with_named_graphs(node: Node, place: str, edits: list[Edit]) -> Node:
    return value_names.with_subgraphs(node, lambda graph, name: _with_name(graph, f"{place}/{name}", edits))


@rewrite("sorted-nodes", Trigger.RULE_SELECTED, makes_executable=True)
def sorted_nodes(context: RewriteContext) -> ModelChange | None:
    """The model with each node after the nodes it uses; where the order is free, and on a cycle, that of the file."""
    nodes = context.model.graph.nodes
    order = _topological_order(Scope("graph", context.model.graph, {}), nodes)
    edits = [
        Edit(Where(f"graph/node[{old}]", "node", nodes[old].name, nodes[old].operator), f"at {old}", f"at {new}")
        for new, old in enumerate(order)
        if new != old
    ]
    return changed_graph(context, edits, nodes=tuple(nodes[index] for index in order))


def _topological_order(scope: Scope, nodes: tuple[Node, ...]) -> list[int]:
    """The lexicographically least order of indices; nodes on a cycle or behind one at the end."""
    users: list[list[int]] = [[] for _ in nodes]
    missing = [0] * len(nodes)
    for index, node in enumerate(nodes):
        makers = {scope.defined_at.get(name, -1) for name in (*node.inputs, *free_names(node))} - {-1}
        missing[index] = len(makers)
        for maker in makers:
            users[maker].append(index)
    ready = [index for index, number in enumerate(missing) if not number]
    heapify(ready)
    order: list[int] = []
    while ready:
        order.append(heappop(ready))
        for user in users[order[-1]]:
            missing[user] -= 1
            if not missing[user]:
                heappush(ready, user)
    return order + sorted(set(range(len(nodes))) - set(order))


@rewrite("unique-names", Trigger.RULE_SELECTED)
def unique_names(context: RewriteContext) -> ModelChange | None:
    """The model with unique names, as far as they can be given.

    Of several equal initializers of one name, one stays.  An output of a node in a nested graph that hides a value
    around it gets another name, if every use there comes after the node; so does any name there that a later node of a
    graph around it defines, because nodes move.  Everything else that is defined twice stays, also an initializer or
    input of a nested graph that hides a value: the reference implementation of ONNX takes the
    outer one.
    """
    edits: list[Edit] = []
    graph = _without_copies(context.model.graph, edits)
    if any(scope.outer for scope in nested_scopes(Scope("graph", graph, {}))):
        taken = value_names.TakenNames(
            name for scope in nested_scopes(Scope("graph", graph, {})) for name in value_names.own_names(scope.graph)
        )
        graph = _unhidden_inside(graph, "graph", _Around(set(), Counter()), taken, edits)
    return ModelChange(replace(context.model, graph=graph), edits) if edits else None


def _without_copies(graph: Graph, edits: list[Edit]) -> Graph:
    """The graph without initializers that equal an earlier one of their name."""
    first: dict[str, object] = {}
    kept: list[Tensor] = []
    named = Counter(tensor.name for tensor in graph.initializers)
    for index, tensor in enumerate(graph.initializers):
        content = constant_tensors.content(tensor) if named[tensor.name] > 1 else None
        if tensor.name and content is not None and first.get(tensor.name) == content:
            where = Where(f"graph/initializer[{index}]", "tensor", tensor.name)
            edits.append(Edit(where, descriptions.tensor(tensor), "removed: equal to an earlier one"))
            continue
        first.setdefault(tensor.name, content)
        kept.append(tensor)
    return replace(graph, initializers=tuple(kept)) if len(kept) < len(graph.initializers) else graph


class _Around(Struct):
    """The names that the graph being visited sees from outside: `before` a node, and those that come `later`."""

    before: set[str]
    later: Counter[str]

    def holds(self, name: str) -> bool:
        """Whether a graph around defines the name anywhere."""
        return name in self.before or self.later[name] > 0


def _unhidden_inside(
    graph: Graph, place: str, around: _Around, taken: value_names.TakenNames, edits: list[Edit]
) -> Graph:
    """The graph with unique names in the graphs of its nodes; `around` has those of the graph while its nodes are
    visited.
    """
    if all(next(subgraphs(node), None) is None for node in graph.nodes):
        return graph
    own = {name for name in _inputs_and_constants(graph) if name not in around.before}
    around.before |= own
    around.later.update(name for node in graph.nodes for name in node.outputs)
    nodes: list[Node] = []
    for index, node in enumerate(graph.nodes):
        nodes.append(_unhidden_in_node(node, f"{place}/node[{index}]", around, taken, edits))
        own.update([name for name in node.outputs if name not in around.before])
        around.before.update(node.outputs)
        around.later.subtract(node.outputs)
    around.before -= own
    return replace(graph, nodes=tuple(nodes))


def _unhidden_in_node(
    node: Node, place: str, around: _Around, taken: value_names.TakenNames, edits: list[Edit]
) -> Node:
    def unhidden(graph: Graph, name: str) -> Graph:
        changed = _unhidden_inside(graph, f"{place}/{name}", around, taken, edits)
        return _unhidden(changed, f"{place}/{name}", around, taken, edits)

    return value_names.with_subgraphs(node, unhidden)


def _unhidden(graph: Graph, place: str, around: _Around, taken: value_names.TakenNames, edits: list[Edit]) -> Graph:
    names = {}
    for name in _hiding(graph, around):
        names[name] = value_names.unused(name, taken)
        edits.append(Edit(Where(place, "value", name), quote(name), quote(names[name])))
    return value_names.with_own_renamed(graph, names) if names else graph


def _hiding(graph: Graph, around: _Around) -> list[str]:
    """The names of a graph that one around it has too, name nothing else here or below, and are not used before.

    Inputs and constants stay where a value of their name is defined before: it is open which one users get.
    """
    scope = Scope("", graph, {})
    fixed = _inputs_and_constants(graph)
    number = Counter([*(name for node in graph.nodes for name in node.outputs), *fixed])
    defined = scope.defined_at
    below = {name for inner in nested_scopes(scope) if inner.outer for name in inner.defined_at}
    early = {
        name
        for index, node in enumerate(graph.nodes)
        for name in (*node.inputs, *captured(node))
        if defined.get(name, -1) >= index
    }
    stay = {"", *early, *below, *(name for name in fixed if name in around.before)}
    return [name for name in number if around.holds(name) and name not in stay and number[name] == 1]


def _inputs_and_constants(graph: Graph) -> list[str]:
    """The names of inputs and constants."""
    constants = (
        *(initializer.name for initializer in graph.initializers),
        *(sparse_initializer.name for sparse_initializer in graph.sparse_initializers),
    )
    return [*(operand.name for operand in graph.inputs), *constants]
