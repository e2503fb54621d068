"""The outline of a graph, for drawing it: its nodes, and the edges between them."""

from __future__ import annotations

from msgspec import Struct

from sonnx.model.ir import Graph, Model, subgraphs

INPUT, OUTPUT = "input", "output"


class Box(Struct, frozen=True):
    """A box of the drawing: a node with its place, or an input or output of the graph.

    `inner` are the places of nodes that compute from constants only; they are drawn as part of their first user.
    """

    place: str
    name: str
    operator: str
    inner: tuple[str, ...] = ()
    nested: bool = False
    """Whether the node has subgraphs, which are not drawn."""


class Outline(Struct, frozen=True):
    """Boxes in the order of the file, and edges between their indices, each from an earlier to a later box.

    `backward` counts the uses of a value before it is computed, which are not drawn.
    """

    boxes: tuple[Box, ...]
    edges: tuple[tuple[int, int], ...]
    backward: int = 0


MOST_DRAWN = 20_000
"""Boxes and layers between their ends of the edges in the largest drawing: the layout takes a second for so many."""


def is_drawable(drawing: Outline) -> bool:
    """Whether a drawing is small enough to be laid out."""
    layers, size = [0] * len(drawing.boxes), len(drawing.boxes)
    for start, end in sorted(drawing.edges):
        layers[end] = max(layers[end], layers[start] + 1)
    return size + sum([layers[end] - layers[start] for start, end in drawing.edges]) <= MOST_DRAWN


def outline(model: Model) -> Outline:
    """The outline of the main graph."""
    graph = model.graph
    users = _first_users(graph)
    inner: dict[int, list[str]] = {}
    for index, user in users.items():
        inner.setdefault(_drawn(user, users), []).append(f"graph/node[{index}]")
    constants = {tensor.name for tensor in graph.initializers} | {tensor.name for tensor in graph.sparse_initializers}
    inputs = [(position, value.name) for position, value in enumerate(graph.inputs) if value.name not in constants]
    boxes = [Box(f"graph/input[{position}]", name, INPUT) for position, name in inputs]
    box_of = {name: number for number, (_, name) in enumerate(inputs)}
    edges: dict[tuple[int, int], None] = {}
    backward = 0
    drawn = [index for index in range(len(graph.nodes)) if index not in users]
    produced = {name for index in drawn for name in graph.nodes[index].outputs if name}
    for index in drawn:
        node, number = graph.nodes[index], len(boxes)
        nested = any(True for _ in subgraphs(node))
        boxes.append(Box(f"graph/node[{index}]", node.name, node.operator, tuple(inner.get(index, ())), nested))
        for name in node.inputs:
            if name in box_of:
                edges[box_of[name], number] = None
            elif name in produced:
                backward += 1
        box_of |= dict.fromkeys(filter(None, node.outputs), number)
    for position, value in enumerate(graph.outputs):
        number = len(boxes)
        boxes.append(Box(f"graph/output[{position}]", value.name, OUTPUT))
        if value.name in box_of:
            edges[box_of[value.name], number] = None
    return Outline(tuple(boxes), tuple(edges), backward)


def _first_users(graph: Graph) -> dict[int, int]:
    """The nodes that compute from constants only, each with its first user, which comes later."""
    moving = {value.name for value in graph.inputs} - {tensor.name for tensor in graph.initializers}
    produced = {name for node in graph.nodes for name in node.outputs if name}
    user_of: dict[str, int] = {}
    for index, node in enumerate(graph.nodes):
        for name in node.inputs:
            user_of.setdefault(name, index)
    seen: set[str] = set()
    first_users: dict[int, int] = {}
    kept = {value.name for value in graph.outputs}
    for index, node in enumerate(graph.nodes):
        early = any(name in produced and name not in seen for name in node.inputs)
        seen.update(node.outputs)
        user = min((user_of[name] for name in node.outputs if name in user_of), default=None)
        still = not moving.intersection(node.inputs) and not early and not any(True for _ in subgraphs(node))
        if still and user is not None and user > index and kept.isdisjoint(node.outputs):
            first_users[index] = user
        else:
            moving.update(node.outputs)
    return first_users


def _drawn(index: int, users: dict[int, int]) -> int:
    """The node whose box contains a node: its first user, or the first user of that, and so on."""
    while index in users:
        index = users[index]
    return index
