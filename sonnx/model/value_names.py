"""Names of values: unused ones, and renaming, also in graphs inside nodes."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping

from msgspec.structs import replace

from sonnx.base.escaping import escape
from sonnx.model.ir import Attribute, Graph, Node, ValueInfo, subgraphs


class TakenNames(set[str]):
    """Names that are in use, with the number up to which a search has found all names of a base taken."""

    def __init__(self, names: Iterable[str] = ()) -> None:
        super().__init__(names)
        self.searched: dict[str, int] = {}

    def free(self, name: str) -> None:
        """Let others use a name, so that its numbers are searched from the first one again."""
        self.discard(name)
        self.searched.pop(_base(name), None)


def unused(wanted: str, taken: TakenNames) -> str:
    """The name if it is not taken, else with the smallest free number appended; it is then added to `taken`."""
    name = wanted
    if name in taken:
        base = _base(wanted)
        number = taken.searched.get(base, 1)
        while name in taken:
            number += 1
            name = f"{base}_{number}"
        taken.searched[base] = number
    taken.add(name)
    return name


def _base(name: str) -> str:
    """The name without the number at its end."""
    return re.sub(r"_\d+$", "", name)


def taken_names(graph: Graph) -> TakenNames:
    """Every name of a value in a graph and in the graphs inside its nodes."""
    return TakenNames(every_name(graph))


def every_name(graph: Graph) -> Iterator[str]:
    """Every name of a value that a graph or a graph inside its nodes defines, declares or uses."""
    waiting = [graph]
    while waiting:
        inner = waiting.pop()
        yield from own_names(inner)
        waiting += [nested for node in inner.nodes for _, nested in subgraphs(node)]


def names_inside(node: Node) -> Iterator[str]:
    """Every name of a value in the graphs inside a node."""
    for _, graph in subgraphs(node):
        yield from every_name(graph)


def defined_inside(nodes: Iterable[Node]) -> set[str]:
    """The names that the graphs inside nodes define; there they hide values of the same name around them."""
    names: set[str] = set()
    waiting = [graph for node in nodes for _, graph in subgraphs(node)]
    while waiting:
        graph = waiting.pop()
        for listed in (graph.inputs, graph.initializers, graph.sparse_initializers):
            names.update([value.name for value in listed])
        names.update(*[node.outputs for node in graph.nodes])
        waiting += [nested for node in graph.nodes for _, nested in subgraphs(node)]
    return names - {""}


def own_names(graph: Graph) -> Iterator[str]:
    """Every name of a value that a graph itself defines, declares or uses."""
    for listed in (graph.inputs, graph.outputs, graph.value_info, graph.initializers, graph.sparse_initializers):
        yield from [value.name for value in listed]
    for node in graph.nodes:
        yield from node.inputs
        yield from node.outputs


def renamed(node: Node, names: Mapping[str, str], *, outputs: bool = False) -> Node:
    """The node with new names for its inputs and the values its graphs capture, and for its outputs if asked for."""
    if not names:
        return node
    inner_node = node
    if any(name in names for name in node.inputs):
        inner_node = replace(inner_node, inputs=tuple(names.get(name, name) for name in node.inputs))
    if outputs and any(name in names for name in node.outputs):
        inner_node = replace(inner_node, outputs=tuple(names.get(name, name) for name in node.outputs))
    return with_subgraphs(inner_node, lambda graph, _: _with_renamed_captures(graph, names))


def with_subgraphs(node: Node, change: Callable[[Graph, str], Graph]) -> Node:
    """The node with each graph inside it changed; `change` takes the graph and its place below the node."""
    if not node.attributes or next(subgraphs(node), None) is None:
        return node
    return replace(node, attributes=tuple(_attribute(attribute, change) for attribute in node.attributes))


def _attribute(attribute: Attribute, change: Callable[[Graph, str], Graph]) -> Attribute:
    value, name = attribute.value, escape(attribute.name)
    if isinstance(value, tuple):
        items = (
            change(graph, f"{name}[{index}]") if isinstance(graph, Graph) else graph
            for index, graph in enumerate(value)
        )
        return replace(attribute, value=tuple(items))
    return replace(attribute, value=change(value, name)) if isinstance(value, Graph) else attribute


def with_own_renamed(graph: Graph, names: Mapping[str, str]) -> Graph:
    """The graph with new names for its inputs, its constants and the outputs of its nodes."""
    return replace(
        graph,
        inputs=_values(graph.inputs, names),
        outputs=_values(graph.outputs, names),
        value_info=_values(graph.value_info, names),
        initializers=tuple(replace(each, name=names.get(each.name, each.name)) for each in graph.initializers),
        sparse_initializers=tuple(
            replace(each, name=names.get(each.name, each.name)) for each in graph.sparse_initializers
        ),
        nodes=tuple(renamed(node, names, outputs=True) for node in graph.nodes),
    )


def _with_renamed_captures(graph: Graph, names: Mapping[str, str]) -> Graph:
    """A graph inside a node with new names for captured values; its own definitions hide names around it."""
    own = {operand.name for operand in graph.inputs} | {initializer.name for initializer in graph.initializers}
    own.update(name for node in graph.nodes for name in node.outputs)
    left = {old: new for old, new in names.items() if old not in own}
    nodes = tuple(renamed(node, left) for node in graph.nodes)
    return replace(graph, nodes=nodes, outputs=_values(graph.outputs, left))


def _values(values: Iterable[ValueInfo], names: Mapping[str, str]) -> tuple[ValueInfo, ...]:
    return tuple(ValueInfo(names.get(value.name, value.name), value.type) for value in values)
