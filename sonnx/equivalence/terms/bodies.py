"""Graphs inside nodes without the names that a file gives their values: equal bodies are equal under any names.

A value that a graph defines is called by its place among the definitions, one that it reads from outside by the order
of first use.  Operators, attributes, constants, declared types and the order of nodes count as they are written.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from msgspec.structs import replace

from sonnx.equivalence.terms.keys import frozen
from sonnx.model.ir import Graph, Node
from sonnx.model.value_names import with_subgraphs


@dataclass
class Renaming:
    """The new names of all graphs of a node.

    Attributes:
        outside: the new names of values from outside the node, by their names, in the order of first use.
        defined: how many values the graphs define.
        is_complete: no graph defines a name twice, or has a constant in another file; otherwise the new names say
            nothing.
    """

    outside: dict[str, str] = field(default_factory=dict)
    defined: int = 0
    is_complete: bool = True

    def node(self, node: Node) -> Node:
        """A node with the new names inside its graphs; its own inputs and outputs stay."""
        return with_subgraphs(node, lambda graph, _: self.graph(graph, {}))

    def graph(self, graph: Graph, around: Mapping[str, str]) -> Graph:
        """A graph with the new names.

        Args:
            graph: the graph.
            around: the new names of the values that the graphs around it define.
        """
        own = [value.name for value in graph.inputs] + [tensor.name for tensor in graph.initializers]
        own += [name for node in graph.nodes for name in node.outputs if name]
        is_stored = all(tensor.external is None for tensor in graph.initializers) and not graph.sparse_initializers
        is_unique = len(set(own)) == len(own) and around.keys().isdisjoint(own)
        self.is_complete = self.is_complete and is_stored and is_unique
        names = {**around}
        for name in own:
            names[name] = f"inner {self.defined}"
            self.defined += 1

        def name_of(name: str) -> str:
            if not name or name in names:
                return names.get(name, "")
            return self.outside.setdefault(name, f"outer {len(self.outside)}")

        return replace(
            graph,
            inputs=tuple(replace(value, name=name_of(value.name)) for value in graph.inputs),
            initializers=tuple(replace(tensor, name=name_of(tensor.name)) for tensor in graph.initializers),
            nodes=tuple(
                with_subgraphs(
                    replace(
                        node,
                        name="",
                        inputs=tuple(map(name_of, node.inputs)),
                        outputs=tuple(map(name_of, node.outputs)),
                    ),
                    lambda inner, _: self.graph(inner, names),
                )
                for node in graph.nodes
            ),
            outputs=tuple(replace(value, name=name_of(value.name)) for value in graph.outputs),
        )


def are_one_graph(first: Graph, second: Graph) -> bool:
    """Whether two graphs in one place are one but for the names of the values that they define."""
    renamings = Renaming(), Renaming()
    graphs = [renaming.graph(graph, {}) for renaming, graph in zip(renamings, (first, second), strict=True)]
    alike = [*renamings[0].outside] == [*renamings[1].outside] and all(renaming.is_complete for renaming in renamings)
    return alike and frozen(graphs[0]) == frozen(graphs[1])
