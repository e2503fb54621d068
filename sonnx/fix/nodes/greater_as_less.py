"""Compare by Less with the operands exchanged.  About Greater."""

from __future__ import annotations

from sonnx.fix import making, showing
from sonnx.fix.record import Change
from sonnx.fix.site import Site

RULES = ("operator-in-profile",)


def rewrite(site: Site) -> Change | None:
    """Less: a > b where b < a, false in both where one is NaN."""
    node = site.node
    if node.operator != "Greater" or site.call.domain or len(node.inputs) != 2 or not site.fails(RULES):
        return None
    made = making.node("Less", node.inputs[::-1], node.outputs[0], node.name)
    return Change((made,), showing.call(node), showing.call(made))
