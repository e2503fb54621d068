"""Compute each group of a convolution by a convolution of its own.  About Conv.

Every element of the output is the same sum of the same products.
"""

from __future__ import annotations

from dataclasses import replace

from sonnx.model.ir import Node, Tensor
from sonnx.rewriter import constant_tensors, descriptions, new_nodes
from sonnx.rewriter.rewrite import Change
from sonnx.rewriter.site import Site, with_attributes

RULES = ("Conv.standard-or-depthwise",)


def rewrite(site: Site) -> Change | None:
    """Slices of X, a convolution with the constant kernels of each group, and Concat."""
    group, shape = site.known("group"), site.shape(0)
    kernels, bias = site.constant(1), site.constant(2)
    if not site.fails(RULES) or group is None or shape is None or kernels is None:
        return None
    given = len(site.node.inputs) > 2 and bool(site.node.inputs[2])
    if shape[1] % group or kernels.dims[0] % group or (given and bias is None):
        return None
    version = site.world.operator_set or 0
    nodes, constants, outputs = list[Node](), list[Tensor](), list[str]()
    for index in range(group):
        base = f"{site.node.outputs[0]}.group{index}"
        span = (index * (shape[1] // group), (index + 1) * (shape[1] // group))
        cut, bounds = new_nodes.part(site.node.inputs[0], f"{base}.X", shape, 1, span, version)
        parts = [
            _rows(each, index, group, f"{base}.{letter}") for each, letter in ((kernels, "W"), (bias, "B")) if each
        ]
        made = [each for each in parts if each is not None]
        if len(made) != 1 + given:
            return None
        inputs = (f"{base}.X", *(each.name for each in made))
        one = {"group": constant_tensors.attribute("group", "int", 1)}
        nodes += [cut, with_attributes(replace(site.node, inputs=inputs, outputs=(base,)), one)]
        constants += [*bounds, *made]
        outputs.append(base)
    nodes.append(new_nodes.node("Concat", outputs, site.node.outputs[0], axis=1))
    return Change(
        tuple(nodes), f"{descriptions.call(site.node)}, group={group}", f"{group} convolutions", tuple(constants)
    )


def _rows(tensor: Tensor, index: int, group: int, name: str) -> Tensor | None:
    """One of equal parts of a constant along its first axis."""
    values = constant_tensors.opaque(tensor)
    if values is None:
        return None
    part = values[index * (values.shape[0] // group) : (index + 1) * (values.shape[0] // group)]
    return constant_tensors.raw(name, tensor.element, part.shape, part.tobytes())
