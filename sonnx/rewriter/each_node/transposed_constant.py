"""Store constant matrices transposed.  About Gemm."""

from __future__ import annotations

from dataclasses import replace

from sonnx.model.ir import Attribute, Tensor
from sonnx.rewriter import constant_tensors, descriptions
from sonnx.rewriter.rewrite import Change
from sonnx.rewriter.site import Site, with_attributes

RULES = ("Gemm.no-transposition",)


def rewrite(site: Site) -> Change | None:
    """The node with the matrices it transposes transposed already, where all of them are constants."""
    if not site.fails(RULES):
        return None
    inputs, constants, written = list(site.node.inputs), list[Tensor](), dict[str, Attribute | None]()
    for index, name in enumerate(("transA", "transB")):
        if not site.known(name):
            continue
        constant = site.constant(index)
        turned = constant_tensors.transposed(constant, f"{constant.name}.transposed") if constant else None
        if turned is None or len(turned.dims) != 2:
            continue
        constants.append(turned)
        inputs[index] = turned.name
        written[name] = constant_tensors.attribute(name, "int", 0)
    if not constants:
        return None
    node = with_attributes(replace(site.node, inputs=tuple(inputs)), written)
    before = ", ".join(descriptions.attribute(site.attributes[name]) for name in written)
    after = ", ".join((each and descriptions.attribute(each)) or "" for each in written.values())
    stored = ", ".join(map(descriptions.tensor, constants))
    return Change((node,), before, f"{after}, the constant as {stored}", tuple(constants))
