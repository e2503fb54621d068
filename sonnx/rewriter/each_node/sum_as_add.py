"""Add two tensors by Add.  About Sum."""

from __future__ import annotations

from sonnx.rewriter import descriptions, new_nodes
from sonnx.rewriter.rewrite import Change
from sonnx.rewriter.site import Site

RULES = ("operator-in-profile",)


def rewrite(site: Site) -> Change | None:
    """Add; the sum of two is rounded once in both."""
    node = site.node
    if node.operator != "Sum" or site.call.domain or len(node.inputs) != 2 or not site.fails(RULES):
        return None
    made = new_nodes.node("Add", node.inputs, node.outputs[0], node.name)
    return Change((made,), descriptions.call(node), descriptions.call(made))
