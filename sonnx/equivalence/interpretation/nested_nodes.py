"""The nodes of graphs inside nodes, and what they may do."""

from __future__ import annotations

from collections.abc import Iterator

from sonnx.equivalence.terms.bodies import are_one_graph
from sonnx.model.ir import Model, Node, subgraphs
from sonnx.model.scopes import canonical_domain
from sonnx.operators import operator_facts


def nested_nodes(node: Node) -> Iterator[Node]:
    """The nodes of the graphs inside a node, at any depth."""
    for _, graph in subgraphs(node):
        for inner in graph.nodes:
            yield inner
            yield from nested_nodes(inner)


def nodes_of(*models: Model) -> Iterator[Node]:
    """The nodes of the main graphs of models, and those inside of them."""
    for model in models:
        for node in model.graph.nodes:
            yield node
            yield from nested_nodes(node)


def may_be_random(node: Node) -> bool:
    """Whether the output of a node may not be a function of its inputs; a Dropout may train."""
    return operator_facts(node.operator, node.domain).random or node.operator == "Dropout"


def has_equal_branches(node: Node) -> bool:
    """Whether a node is an If whose branches are one graph, which draws nothing and has the outputs of the node."""
    graphs = [graph for _, graph in subgraphs(node)]
    if node.operator != "If" or canonical_domain(node.domain) or len(graphs) != 2:
        return False
    if any(map(may_be_random, nested_nodes(node))):
        return False
    return len(graphs[0].outputs) == len(node.outputs) and not graphs[0].inputs and are_one_graph(*graphs)
