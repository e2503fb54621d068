"""Take neighbouring elements of an axis by Slice.  About Gather with constant indices."""

from __future__ import annotations

from sonnx.graph.environment import whole_numbers
from sonnx.model.ir import Node, Tensor
from sonnx.rewriter import descriptions, new_nodes
from sonnx.rewriter.rewrite import Change
from sonnx.rewriter.site import Site

RULES = ("operator-in-profile",)


def rewrite(site: Site) -> Change | None:
    """Slice, and Reshape where one element is taken without its axis."""
    node, shape, axis, indices = site.node, site.shape(0), site.known("axis"), site.constant(1)
    version = site.world.operator_set or 0
    if node.operator != "Gather" or site.call.domain or not site.fails(RULES) or version < 5:
        return None
    if (
        shape is None
        or axis is None
        or indices is None
        or len(indices.dims) > 1
        or not -len(shape) <= axis < len(shape)
    ):
        return None
    axis %= len(shape)
    wanted = _indices(indices, shape[axis])
    if not wanted or wanted != list(range(wanted[0], wanted[0] + len(wanted))):
        return None
    return _taken(site, shape, axis, (wanted[0], wanted[-1] + 1), bool(indices.dims))


def _indices(constant: Tensor, extent: int) -> list[int]:
    """The indices, counted from the first element; none where one is outside the axis or not readable."""
    found = whole_numbers(constant)
    if not isinstance(found, tuple) or any(not -extent <= index < extent for index in found):
        return []
    return [index % extent for index in found]


def _taken(site: Site, shape: tuple[int, ...], axis: int, span: tuple[int, int], keeps: bool) -> Change:
    source, output = site.node.inputs[0], site.node.outputs[0]
    name = output if keeps else f"{output}.part"
    first, constants = new_nodes.part(source, name, shape, axis, span, site.world.operator_set or 0)
    nodes, made = [first], list[Tensor](constants)
    if not keeps:
        left = [*shape[:axis], *shape[axis + 1 :]]
        second: Node
        second, constant = new_nodes.reshape(name, output, left, site.world.operator_set or 0)
        nodes.append(second)
        made.append(constant)
    which = f"index {span[0]}" if span[1] == span[0] + 1 else f"indices {span[0]} to {span[1] - 1}"
    after = f"{which} of axis {axis} by {' and '.join(each.operator for each in nodes)}"
    return Change(tuple(nodes), descriptions.call(site.node), after, tuple(made))
