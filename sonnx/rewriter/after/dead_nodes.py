"""Remove nodes that no graph output depends on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from sonnx.checker.report import Where
from sonnx.language.evaluator import TensorFacts
from sonnx.model.ir import Model, Node
from sonnx.model.scopes import captured
from sonnx.rewriter import descriptions
from sonnx.rewriter.rewrite import Rewrite
from sonnx.rewriter.site import World

RULES = ("no-dead-node",)


def rewrite(model: Model, world: World, facts: Mapping[str, TensorFacts]) -> tuple[Model, Iterator[Rewrite]]:
    """The model with the nodes that contribute to an output."""
    del facts
    wanted = {value.name for value in model.graph.outputs}
    kept: list[Node] = []
    dead: list[tuple[int, Node]] = []
    for index in range(len(model.graph.nodes) - 1, -1, -1):
        node = model.graph.nodes[index]
        if wanted.isdisjoint(filter(None, node.outputs)):
            dead.append((index, node))
        else:
            kept.append(node)
            wanted.update(node.inputs, captured(node))
    if not dead or not world.wants_any(RULES):
        return model, iter(())
    graph = replace(model.graph, nodes=tuple(reversed(kept)))
    return replace(model, graph=graph), (_record(*each) for each in reversed(dead))


def _record(index: int, node: Node) -> Rewrite:
    where = Where(f"graph/node[{index}]", "node", node.name, node.operator)
    return Rewrite("dead-nodes", RULES, where, descriptions.call(node), "removed")
