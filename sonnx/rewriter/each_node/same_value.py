"""Remove nodes that give their input further.

About Identity, Sum of one, Transpose that exchanges nothing, Cast to the type the input has, and Dropout where it
infers: from operator set 12 on without
training_mode, from 7 to 11 always, before with is_test.
"""

from __future__ import annotations

from sonnx.rewriter import descriptions
from sonnx.rewriter.constant_tensors import NUMBER
from sonnx.rewriter.rewrite import Change
from sonnx.rewriter.site import Site

RULES = ("operator-in-profile",)
FIRST = True


def rewrite(site: Site) -> Change | None:
    """No node: its output is its first input."""
    if not site.fails(RULES) or site.call.domain or not _same(site):
        return None
    first, *others = site.node.outputs
    if not site.node.inputs or not site.node.inputs[0] or site.used.intersection(filter(None, others)):
        return None
    source = site.node.inputs[0]
    return Change((), descriptions.call(site.node), f"its input {source!r} itself", same=((first, source),))


def _same(site: Site) -> bool:
    match site.node.operator:
        case "Identity":
            return True
        case "Sum":
            return len(site.node.inputs) == 1
        case "Transpose":
            return site.shape(0) is not None and site.known("perm") == tuple(range(len(site.shape(0) or ())))
        case "Dropout":
            return _infers(site)
        case "Cast":
            to = site.attributes.get("to")
            return to is not None and site.element(0) is not None and to.value == NUMBER.get(site.element(0) or "")
    return False


def _infers(site: Site) -> bool:
    version = site.world.operator_set or 0
    if version < 7:
        is_test = site.attributes.get("is_test")
        return is_test is not None and is_test.value == 1
    if version < 12 or len(site.node.inputs) < 3 or not site.node.inputs[2]:
        return True
    training = site.constant(2)
    return training is not None and training.data is not None and not any(training.data)
