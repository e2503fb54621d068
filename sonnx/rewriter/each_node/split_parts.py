"""Cut along an axis by one Slice for each part.  About Split."""

from __future__ import annotations

from sonnx.model.ir import Tensor
from sonnx.rewriter import descriptions, new_nodes
from sonnx.rewriter.rewrite import Change
from sonnx.rewriter.site import Site

RULES = ("operator-in-profile",)


def rewrite(site: Site) -> Change | None:
    """A Slice for each output that is named."""
    node, shape, axis = site.node, site.shape(0), site.known("axis")
    if node.operator != "Split" or site.call.domain or not site.fails(RULES) or not site.steady:
        return None
    if shape is None or axis is None or not -len(shape) <= axis < len(shape):
        return None
    axis %= len(shape)
    parts = [site.output_shape(index) for index in range(len(node.outputs))]
    if None in parts or sum(part[axis] for part in parts if part) != shape[axis]:
        return None
    if any(part and 0 in part for part in parts):  # Slice has no empty result
        return None
    nodes, constants, start = [], list[Tensor](), 0
    for name, part in zip(node.outputs, parts, strict=True):
        end = start + (part[axis] if part else 0)
        if name:
            made, bounds = new_nodes.part(node.inputs[0], name, shape, axis, (start, end), site.world.operator_set or 0)
            nodes.append(made)
            constants += bounds
        start = end
    return Change(tuple(nodes), descriptions.call(node), f"{len(nodes)} slices of axis {axis}", tuple(constants))
