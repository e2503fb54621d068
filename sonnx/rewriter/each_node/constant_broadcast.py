"""Store constants in the shape they are broadcast to.

Where an operator's text wants equal shapes.  Not for the versions before 7 that broadcast along a named axis.
"""

from __future__ import annotations

from dataclasses import replace

from sonnx.language.builtins import expands_to
from sonnx.model.ir import Tensor
from sonnx.rewriter import constant_tensors, descriptions
from sonnx.rewriter.rewrite import Change
from sonnx.rewriter.site import Site

RULES = ("same-shape", "bias-not-broadcast")
THEOREM = "rewrite.broadcast-constant"


def rewrite(site: Site) -> Change | None:
    """The node with its constants repeated to the shape it computes with."""
    made = site.signature
    if made is None or not site.fails(RULES) or ("broadcast" in site.names and made.version < 7):
        return None
    inputs, constants, before = list(site.node.inputs), list[Tensor](), list[str]()
    for index, formal in enumerate(made.inputs[: len(inputs)]):
        target = site.shape_demanded(formal.name) or site.output_shape()
        constant = site.constant(index)
        if constant is None or target is None or constant.dims == target or not expands_to([*constant.dims], [*target]):
            continue
        larger = constant_tensors.broadcast(constant, f"{constant.name}.broadcast", target)
        if larger is not None:
            before.append(f"{formal.name} {descriptions.tensor(constant)}")
            constants.append(larger)
            inputs[index] = larger.name
    if not constants:
        return None
    after = ", ".join(descriptions.tensor(each) for each in constants)
    return Change((replace(site.node, inputs=tuple(inputs)),), ", ".join(before), after, tuple(constants))
