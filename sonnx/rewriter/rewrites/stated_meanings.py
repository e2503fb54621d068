"""Operators whose meaning `equivalent` states by steps (fused.toml), written by these steps.

What the steps are is said there, once.  Where they keep every bit, so does the rewrite; where they hold over the reals,
each step rounds, and the rewrite has an option.
"""

from __future__ import annotations

from msgspec.structs import replace

from sonnx.equivalence.fused import fused_operators
from sonnx.equivalence.written_out import written_out
from sonnx.model.scopes import canonical_domain
from sonnx.rewriter import constant_tensors, descriptions
from sonnx.rewriter.rewrite import Replacement, Trigger, rewrite
from sonnx.rewriter.site import Site

BROADCASTS = 8
"""The operator set from which every operator of the steps broadcasts a number (ONNX Max-8)."""


@rewrite("stated-steps", Trigger.RULE_FAILS, makes_executable=True)
def stated_steps(site: Site) -> Replacement | None:
    """The steps that give the same bits."""
    return _steps(site, ideal=False)


@rewrite("stated-formula", Trigger.RULE_FAILS)
def stated_formula(site: Site) -> Replacement | None:
    """The steps that give the same ideal value."""
    return _steps(site, ideal=True)


def _steps(site: Site, *, ideal: bool) -> Replacement | None:
    """The nodes of the steps; None where a number of an attribute is not one of the element type."""
    node = site.node
    fused = fused_operators().get((canonical_domain(node.domain), node.operator))
    if fused is None or fused.ideal != ideal or fused.axiom or not node.outputs or site.operator_set < BROADCASTS:
        return None
    output = node.outputs[0]
    if any(node.outputs[1:]):
        return None
    written = written_out(fused, node, site.inputs[0], site.operator_set, lambda role: f"{output}.{role}")
    if written is None or not written.stated or not written.nodes:
        return None
    constants = [constant_tensors.from_array(name, array) for name, array in written.constants.items()]
    nodes = [replace(each, outputs=(output,)) if each.outputs == (written.result,) else each for each in written.nodes]
    if nodes[-1].outputs != (output,):
        return None
    steps = ", ".join(each.operator for each in nodes)
    return Replacement(tuple(nodes), descriptions.call(node), f"its steps: {steps}", tuple(constants))
