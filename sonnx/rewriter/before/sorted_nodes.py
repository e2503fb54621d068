"""Sort the nodes so that every value is defined before it is used.

Nodes keep their order where it does not matter; nodes on a cycle are left where they are.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from heapq import heapify, heappop, heappush

from sonnx.checker.report import Where
from sonnx.model.ir import Model, Node
from sonnx.model.scopes import Scope, captured
from sonnx.rewriter.rewrite import Rewrite
from sonnx.rewriter.site import World

RULES = ("names-defined-before-use",)


def rewrite(model: Model, world: World) -> tuple[Model, Iterator[Rewrite]]:
    """The model with its nodes in an order of execution."""
    nodes = model.graph.nodes
    order = _order(Scope("graph", model.graph, {}), nodes)
    if order == list(range(len(nodes))) or not world.wants_any(RULES):
        return model, iter(())
    graph = replace(model.graph, nodes=tuple(nodes[index] for index in order))
    return replace(model, graph=graph), _records(nodes, order)


def _order(scope: Scope, nodes: tuple[Node, ...]) -> list[int]:
    """The least order, by the places in the file; what is on a cycle or behind one at the end."""
    users: list[list[int]] = [[] for _ in nodes]
    missing = [0] * len(nodes)
    for index, node in enumerate(nodes):
        makers = {scope.defined_at.get(name, -1) for name in (*node.inputs, *captured(node))} - {-1}
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


def _records(nodes: tuple[Node, ...], order: list[int]) -> Iterator[Rewrite]:
    for place, index in enumerate(order):
        if place != index:
            where = Where(f"graph/node[{index}]", "node", nodes[index].name, nodes[index].operator)
            yield Rewrite("sorted-nodes", RULES, where, f"at {index}", f"at {place}")
