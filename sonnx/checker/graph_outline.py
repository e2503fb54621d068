"""The outline of a graph, for drawing it: its nodes, and the edges between them."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from sonnx.base.escaping import escape
from sonnx.model.ir import NOT_STATED, Attribute, Graph, Model, Node, Type, subgraphs

INPUT, OUTPUT = "input", "output"
MAX_WRITTEN = 40
"""Characters of the value of an attribute that a drawing states."""
WRITTEN_KINDS = ("int", "float", "string")
"""The kinds of attributes whose value a drawing states; of others it states the kind."""


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
    declared: str = ""
    """Type and shape of the first output of the node, or of the input or output, as the model declares them."""
    operands: tuple[str, ...] = ()
    """The inputs of the node, each with its declared type and shape."""
    attributes: tuple[str, ...] = ()
    """The attributes of the node as `name=value`, escaped; long values are cut."""


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
    types = _declared(graph)
    boxes = [
        Box(f"graph/input[{position}]", name, INPUT, declared=_written_type(types.get(name)))
        for position, name in inputs
    ]
    box_of = {name: number for number, (_, name) in enumerate(inputs)}
    edges: dict[tuple[int, int], None] = {}
    backward = 0
    drawn = [index for index in range(len(graph.nodes)) if index not in users]
    produced = {name for index in drawn for name in graph.nodes[index].outputs if name}
    for index in drawn:
        node, number = graph.nodes[index], len(boxes)
        nested = any(True for _ in subgraphs(node))
        boxes.append(_box_of_node(node, f"graph/node[{index}]", tuple(inner.get(index, ())), nested, types))
        for name in node.inputs:
            if name in box_of:
                edges[box_of[name], number] = None
            elif name in produced:
                backward += 1
        box_of |= dict.fromkeys(filter(None, node.outputs), number)
    for position, value in enumerate(graph.outputs):
        number = len(boxes)
        boxes.append(Box(f"graph/output[{position}]", value.name, OUTPUT, declared=_written_type(value.type)))
        if value.name in box_of:
            edges[box_of[value.name], number] = None
    return Outline(tuple(boxes), tuple(edges), backward)


def _declared(graph: Graph) -> dict[str, Type]:
    """The types that the graph declares, those of constants included."""
    types = {tensor.name: Type("tensor", tensor.element, tensor.dims) for tensor in graph.initializers}
    return types | {value.name: value.type for value in (*graph.value_info, *graph.outputs, *graph.inputs)}


def _box_of_node(node: Node, place: str, inner: tuple[str, ...], nested: bool, types: Mapping[str, Type]) -> Box:
    output = next(filter(None, node.outputs), "")
    operands = tuple([f"{escape(name)} {_written_type(types.get(name))}".strip() for name in node.inputs if name])
    return Box(
        place, node.name, node.operator, inner, nested, _written_type(types.get(output)), operands,
        tuple(map(_written_attribute, node.attributes)),
    )  # fmt: skip


def _written_type(type_: Type | None) -> str:
    return "" if type_ is None or type_ == NOT_STATED else str(type_)


def _written_attribute(attribute: Attribute) -> str:
    value = attribute.value
    if attribute.reference:
        text = f"the attribute {escape(attribute.reference)} of the function"
    elif attribute.kind.rstrip("s") in WRITTEN_KINDS:
        text = escape(str(list(value[:MAX_WRITTEN]) if isinstance(value, tuple) else value))
    else:
        text = attribute.kind
    return f"{escape(attribute.name)}={text if len(text) <= MAX_WRITTEN else f'{text[: MAX_WRITTEN - 1]}…'}"


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
