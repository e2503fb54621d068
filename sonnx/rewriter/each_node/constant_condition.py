"""Put the branch that is taken in place of a choice that is constant.  About If.

Not where the branch defines a name that is defined around it: which one a user of the name gets is open.
"""

from __future__ import annotations

from dataclasses import replace

from sonnx.model.ir import Graph
from sonnx.model.scopes import captured
from sonnx.rewriter import descriptions, naming
from sonnx.rewriter.rewrite import Change
from sonnx.rewriter.site import Site

RULES = ("operator-in-profile",)
FIRST = True


def rewrite(site: Site) -> Change | None:
    """The nodes of the branch, and its constants."""
    node, condition = site.node, site.constant(0)
    if node.operator != "If" or site.call.domain or not site.fails(RULES) or condition is None:
        return None
    if condition.element != "bool" or condition.data is None or len(condition.data) != 1:
        return None
    taken = "then_branch" if condition.data[0] else "else_branch"
    branch = site.attributes[taken].value if taken in site.attributes else None
    if not isinstance(branch, Graph) or branch.sparse_initializers or len(branch.outputs) != len(node.outputs):
        return None
    around = {*node.inputs, *node.outputs, *captured(node)}
    own = [name for each in branch.nodes for name in each.outputs if name] + [each.name for each in branch.initializers]
    if any(name in site.visible for name in own):
        return None
    names = {name: naming.fresh(name, around) for name in dict.fromkeys(own)}
    nodes = tuple(naming.renamed(each, names, outputs=True) for each in branch.nodes)
    constants = tuple(replace(each, name=names[each.name]) for each in branch.initializers)
    pairs = zip(node.outputs, branch.outputs, strict=True)
    same = tuple((old, names.get(value.name, value.name)) for old, value in pairs if old)
    before = f"{descriptions.call(node)}, which is {bool(condition.data[0])}"
    return Change(nodes, before, f"the nodes of {taken}", constants, same)
