"""Name the graphs that have no name."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from sonnx.checker.report import Where
from sonnx.model.ir import Graph, Model, Node
from sonnx.rewriter import naming
from sonnx.rewriter.rewrite import Rewrite
from sonnx.rewriter.site import World

RULES = ("graph-named",)
NAME = "graph"


def rewrite(model: Model, world: World) -> tuple[Model, Iterator[Rewrite]]:
    """The model whose main graph and the graphs nested in it have a name; nothing refers to a graph by it."""
    if not world.wants_any(RULES):
        return model, iter(())
    records: list[Rewrite] = []
    graph = _named(model.graph, "graph", records)
    return (replace(model, graph=graph), iter(records)) if records else (model, iter(()))


def _named(graph: Graph, place: str, records: list[Rewrite]) -> Graph:
    if not graph.name:
        records.append(Rewrite("named-graph", RULES, Where(place, "graph"), "no name", f"'{NAME}'"))
    nodes = (_inside(node, f"{place}/node[{index}]", records) for index, node in enumerate(graph.nodes))
    return replace(graph, name=graph.name or NAME, nodes=tuple(nodes))


def _inside(node: Node, place: str, records: list[Rewrite]) -> Node:
    return naming.with_graphs(node, lambda graph, name: _named(graph, f"{place}/{name}", records))
