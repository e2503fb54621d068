"""Add two tensors by Add.  About Sum."""

from __future__ import annotations

from sonnx.fix import making, showing
from sonnx.fix.record import Change
from sonnx.fix.site import Site

RULES = ("operator-in-profile",)


def rewrite(site: Site) -> Change | None:
    """Add; the sum of two is rounded once in both."""
    node = site.node
    if node.operator != "Sum" or site.call.domain or len(node.inputs) != 2 or not site.fails(RULES):
        return None
    made = making.node("Add", node.inputs, node.outputs[0], node.name)
    return Change((made,), showing.call(node), showing.call(made))
