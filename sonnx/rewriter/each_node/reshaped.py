"""Write by Reshape what only gives elements another shape.

About Squeeze, and about Transpose where it moves no axis past another one of more than one element.
"""

from __future__ import annotations

from sonnx.rewriter import descriptions, new_nodes
from sonnx.rewriter.rewrite import Change
from sonnx.rewriter.site import Site

RULES = ("operator-in-profile",)


def rewrite(site: Site) -> Change | None:
    """Reshape to the shape the node computes."""
    node, shape = site.node, site.output_shape()
    if (
        not site.fails(RULES)
        or not site.steady
        or shape is None
        or 0 in shape
        or site.call.domain
        or (site.world.operator_set or 0) < 5
    ):
        return None
    if node.operator != "Squeeze" and not (node.operator == "Transpose" and _keeps_order(site)):
        return None
    made, constant = new_nodes.reshape(node.inputs[0], node.outputs[0], shape, site.world.operator_set or 0)
    return Change((made,), descriptions.call(node), f"Reshape to {list(shape)}", (constant,))


def _keeps_order(site: Site) -> bool:
    shape, order = site.shape(0), site.known("perm")
    if shape is None or order is None:
        return False
    long = [axis for axis in order if shape[axis] != 1]
    return long == sorted(long)
