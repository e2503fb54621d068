"""Bring values to a shape by their maximum with the least number.

About Expand, and about every operator whose text wants equal shapes.  The least number of a type (-Inf, the smallest
integer) is the identity of Max bit for bit, and Max broadcasts; in the profile not 1 to 0.
"""

from __future__ import annotations

from dataclasses import replace

from sonnx.language.builtins import expands_to
from sonnx.model.ir import Tensor
from sonnx.rewriter import constant_tensors, descriptions, new_nodes
from sonnx.rewriter.rewrite import Change
from sonnx.rewriter.site import Site

RULES = ("same-shape", "operator-in-profile")
THEOREM = "max.identity"

FLOATS = ("float16", "float", "double")
"""The element types Max has from version 8 on; 13 has all (ONNX Max)."""


def rewrite(site: Site) -> Change | None:
    """Max with a constant of the shape wanted."""
    shape, version = site.output_shape() if site.outputs else None, site.world.operator_set or 0
    if (
        shape is None
        or 0 in shape
        or version < 8
        or "broadcast" in site.names
        or not site.fails(RULES)
        or site.call.domain
    ):
        return None
    if version < 13 and (site.element(0) or "") not in FLOATS:
        return None
    if site.node.operator == "Expand":
        return _expanded(site, shape) if site.steady else None
    return _inputs(site, shape) if site.fails(("same-shape",)) else None


def _expanded(site: Site, shape: tuple[int, ...]) -> Change | None:
    least = _least(site.element(0), shape, f"{site.node.outputs[0]}.least")
    if least is None:
        return None
    made = new_nodes.node("Max", (site.node.inputs[0], least.name), site.node.outputs[0], site.node.name)
    return Change((made,), descriptions.call(site.node), descriptions.call(made), (least,))


def _inputs(site: Site, shape: tuple[int, ...]) -> Change | None:
    inputs, nodes, constants = list(site.node.inputs), [], list[Tensor]()
    for index, name in enumerate(site.node.inputs):
        known, output = site.shape(index), f"{site.node.outputs[0]}.input{index}"
        if known is None or known == shape or not expands_to([*known], [*shape]) or site.constant(index):
            continue  # a constant is stored in that shape by another rewrite
        least = _least(site.element(index), shape, f"{output}.least")
        if least is None:
            return None
        nodes.append(new_nodes.node("Max", (name, least.name), output))
        constants.append(least)
        inputs[index] = output
    if not nodes:
        return None
    node = replace(site.node, inputs=tuple(inputs))
    return Change((*nodes, node), descriptions.call(site.node), descriptions.call(node), tuple(constants))


def _least(element: str | None, shape: tuple[int, ...], name: str) -> Tensor | None:
    """A constant of the least number everywhere; truth values and texts have no Max."""
    least = None if element == "bool" else constant_tensors.least(element or "")
    return None if least is None else constant_tensors.of_numbers(name, element or "", least, shape)
