"""Compare by Less with the operands exchanged.  About Greater."""

from __future__ import annotations

from sonnx.rewriter import descriptions, new_nodes
from sonnx.rewriter.rewrite import Change
from sonnx.rewriter.site import Site

RULES = ("operator-in-profile",)


def rewrite(site: Site) -> Change | None:
    """Less: a > b where b < a, false in both where one is NaN."""
    node = site.node
    if node.operator != "Greater" or site.call.domain or len(node.inputs) != 2 or not site.fails(RULES):
        return None
    made = new_nodes.node("Less", node.inputs[::-1], node.outputs[0], node.name)
    return Change((made,), descriptions.call(node), descriptions.call(made))
