"""Conv and MaxPool over one or three spatial axes by those over two, as the profile has them.

One axis becomes the second of two, the first of extent 1.  Over three axes each depth of the output of Conv is one Conv
whose channels are those of the depths under its window, so that each element is the same sum of the same products,
rounded once; a maximum over three axes is the maximum along the first one of maxima over the others.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np
from msgspec.structs import replace

from sonnx.model.ir import Attribute, Node
from sonnx.rewriter import constant_tensors, descriptions
from sonnx.rewriter.node_builders import SHAPE_AS_INPUT, NodeSequence, attribute, with_attributes
from sonnx.rewriter.operator_names import OperatorName
from sonnx.rewriter.rewrite import NoReplacement, Replacement, Trigger, rewrite
from sonnx.rewriter.rewrites.sums import FLOATS
from sonnx.rewriter.site import Shape, Site

MAX_DEPTHS = 64
"""A Conv over three axes stays where its output has more depths."""
LINE, SPACE = 3, 5
"""The ranks of tensors with one and with three spatial axes."""
ON_AXES = {"dilations": 1, "kernel_shape": 1, "strides": 1}
"""The attributes that have a number for each axis, with the one of an axis that is added."""


@rewrite("line-as-plane", Trigger.RULE_FAILS)
def line_as_plane(site: Site) -> Replacement | None:
    """Reshape to a plane of one row, the operator over the plane, Reshape."""
    shape, result, node = site.shape(0), site.output_shape(), site.node
    written = _lists(site, 1)
    if shape is None or result is None or written is None or len(shape) != LINE or 0 in (*shape, *result):
        return None
    sequence = NodeSequence(node.outputs[0], site.operator_set)
    inputs = [sequence.reshape(node.inputs[0], (*shape[:2], 1, shape[2])), *node.inputs[1:]]
    if node.operator == OperatorName.CONV:
        kernels, weights = site.constant(1), site.shape(1)
        if weights is None:
            return None
        wide = (*weights[:2], 1, weights[2])
        if kernels is None:
            inputs[1] = sequence.reshape(node.inputs[1], wide)
        else:
            stored = constant_tensors.reshaped(kernels, f"{sequence.output}.kernels", wide)
            sequence.constants.append(stored)
            inputs[1] = stored.name
    changed: dict[str, Attribute | None] = {
        name: attribute(name, "ints", (ON_AXES[name], *values)) for name, values in written.items() if name in ON_AXES
    }
    begin, end = written["pads"]
    changed["pads"] = attribute("pads", "ints", (0, begin, 0, end))
    changed["auto_pad"] = attribute("auto_pad", "string", "NOTSET")
    plane = sequence.name("plane")
    sequence.nodes.append(with_attributes(_renamed(site, inputs, plane), changed))
    sequence.reshape(plane, result, node.outputs[0])
    return sequence.replacement(descriptions.call(node), f"{node.operator} over a plane of one row")


def _renamed(site: Site, inputs: Sequence[str], output: str) -> Node:
    return replace(site.node, inputs=tuple(inputs), outputs=(output,))


def _lists(site: Site, axes: int) -> dict[str, tuple[int, ...]] | None:
    """Windows, strides, dilations and padding as they are meant, also where they are not written; None where a text
    does not say so, or the node has several outputs.
    """
    names, node = (("strides", 1), ("dilations", 1), ("pads", 0)), site.node
    if site.known("auto_pad") not in (None, "NOTSET") or site.known("ceil_mode") or any(node.outputs[1:]):
        return None
    weights, kernel = site.shape(1) if node.operator == OperatorName.CONV else None, site.known("kernel_shape")
    kernel = tuple(weights[2:]) if kernel is None and weights is not None else kernel
    found: dict[str, tuple[int, ...]] = {}
    for name, absent in names:
        value = site.known(name)
        found[name] = tuple(value) if value else (absent,) * (2 * axes if name == "pads" else axes)
    if kernel is None or site.operator_set < SHAPE_AS_INPUT:
        return None
    found["kernel_shape"] = tuple(kernel)
    lengths = {name: len(values) for name, values in found.items()}
    return found if lengths == {"strides": axes, "dilations": axes, "pads": 2 * axes, "kernel_shape": axes} else None


@rewrite("space-as-planes", Trigger.RULE_FAILS)
def space_as_planes(site: Site) -> Replacement | None:
    """Conv for each depth of the output, or MaxPool over planes and then along the depth."""
    shape, result, written = site.shape(0), site.output_shape(), _lists(site, 3)
    if shape is None or result is None or written is None or len(shape) != SPACE or 0 in (*shape, *result):
        return None
    if site.node.operator == OperatorName.CONV:
        return _depths(site, shape, result, written)
    return _planes_then_depth(site, shape, result, written)


def _depths(site: Site, shape: Shape, result: Shape, written: dict[str, tuple[int, ...]]) -> Replacement | None:
    """The channels of depth d of the window are those of one Slice of X; depths of padding have no channels."""
    kernels, bias, group = site.constant(1), site.node.inputs[2:3], site.known("group")
    weights = None if kernels is None else constant_tensors.undecoded(kernels)
    if kernels is None or weights is None or group not in (None, 1) or result[2] > MAX_DEPTHS:
        return None
    if site.element_type(0) not in FLOATS or weights.shape[1] != shape[1]:
        return None
    n, channels, depth = shape[:3]
    sequence, outputs, known = NodeSequence(site.node.outputs[0], site.operator_set), list[str](), dict[Any, str]()
    (stride, *strides), (dilation, *dilations), kernel = (
        written["strides"],
        written["dilations"],
        written["kernel_shape"],
    )
    pads = (*written["pads"][1:3], *written["pads"][4:6])
    planes: dict[int, str] = {}
    for place in range(result[2]):
        first = place * stride - written["pads"][0]
        used = [(k, first + k * dilation) for k in range(kernel[0]) if 0 <= first + k * dilation < depth]
        if not used:
            return None
        for _, at in used:
            if at not in planes:
                part = sequence.slice(site.node.inputs[0], shape, 2, (at, at + 1))
                planes[at] = sequence.reshape(part, (n, channels, *shape[3:]))
        taken = [planes[at] for _, at in used]
        source = taken[0] if len(taken) == 1 else sequence.add(
            OperatorName.CONCAT, taken, sequence.name("depths"), axis=1
        )  # fmt: skip
        which = tuple(k for k, _ in used)
        if which not in known:
            rows = np.concatenate([weights[:, :, k] for k in which], axis=1)
            name = f"{sequence.output}.kernels{len(known)}"
            sequence.constants.append(
                constant_tensors.from_bytes(name, kernels.element, rows.shape, np.ascontiguousarray(rows).tobytes())
            )
            known[which] = name
        flat = sequence.convolution(
            source, known[which], kernel[1:], strides=strides, dilations=dilations, pads=pads,
            bias=bias[0] if bias else "",
        )  # fmt: skip
        outputs.append(sequence.reshape(flat, (n, result[1], 1, *result[3:])))
    if len(outputs) == 1:
        sequence.reshape(outputs[0], result, sequence.output)
    else:
        sequence.add(OperatorName.CONCAT, outputs, sequence.output, axis=2)
    return sequence.replacement(descriptions.call(site.node), f"{len(outputs)} convolutions of planes")


def _planes_then_depth(
    site: Site, shape: Shape, result: Shape, written: dict[str, tuple[int, ...]]
) -> Replacement | None:
    node, (n, c, depth) = site.node, shape[:3]
    if prod(result) == 0:
        raise NoReplacement("no element")
    sequence = NodeSequence(node.outputs[0], site.operator_set)
    begins, ends = written["pads"][:3], written["pads"][3:]

    def pooled(source: str, axes: slice, pads: tuple[int, ...], *, column: bool) -> str:
        lists = {name: written[name][axes] for name in ON_AXES}
        one, none = ((1,), (0,)) if column else ((), ())
        half = len(pads) // 2
        all_pads = (*pads[:half], *none, *pads[half:], *none)
        changed: dict[str, Attribute | None] = {
            name: attribute(name, "ints", (*values, *one)) for name, values in lists.items()
        }
        changed["pads"] = attribute("pads", "ints", all_pads)
        changed["auto_pad"] = attribute("auto_pad", "string", "NOTSET")
        output = sequence.name("largest")
        sequence.nodes.append(with_attributes(_renamed(site, (source,), output), changed))
        return output

    planes = sequence.reshape(node.inputs[0], (n, c * depth, *shape[3:]))
    planes = pooled(planes, slice(1, 3), (*begins[1:], *ends[1:]), column=False)
    columns = sequence.reshape(planes, (n, c, depth, prod(result[3:])))
    columns = pooled(columns, slice(0, 1), (begins[0], ends[0]), column=True)
    sequence.reshape(columns, result, node.outputs[0])
    return sequence.replacement(descriptions.call(node), "maxima over planes, then along the depth")
