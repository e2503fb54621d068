"""Names of values: unused ones, and renaming, also in graphs inside nodes."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping

from msgspec.structs import replace

from sonnx.base.escaping import escape
from sonnx.model.ir import Attribute, Graph, Node, ValueInfo, subgraphs
from sonnx.model.scopes import captured


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
    """Every name of a value in a graph, without those that only graphs inside its nodes define."""
    names = TakenNames(own_names(graph))
    names.update(*map(captured, graph.nodes))
    return names


def own_names(graph: Graph) -> Iterator[str]:
    """Every name of a value that a graph itself defines, declares or uses."""
    for listed in (graph.inputs, graph.outputs, graph.value_info, graph.initializers):
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


def with_renamed_outputs(graph: Graph, names: Mapping[str, str]) -> Graph:
    """The graph with new names for outputs of its nodes."""
    nodes = tuple(renamed(node, names, outputs=True) for node in graph.nodes)
    info, outputs = _values(graph.value_info, names), _values(graph.outputs, names)
    return replace(graph, outputs=outputs, value_info=info, nodes=nodes)


def _with_renamed_captures(graph: Graph, names: Mapping[str, str]) -> Graph:
    """A graph inside a node with new names for captured values; its own definitions hide names around it."""
    own = {operand.name for operand in graph.inputs} | {initializer.name for initializer in graph.initializers}
    own.update(name for node in graph.nodes for name in node.outputs)
    left = {old: new for old, new in names.items() if old not in own}
    nodes = tuple(renamed(node, left) for node in graph.nodes)
    return replace(graph, nodes=nodes, outputs=_values(graph.outputs, left))


def _values(values: Iterable[ValueInfo], names: Mapping[str, str]) -> tuple[ValueInfo, ...]:
    return tuple(ValueInfo(names.get(value.name, value.name), value.type) for value in values)
