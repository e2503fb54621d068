"""ConvTranspose as Conv over an input that is spread out: between two elements stand stride - 1 zeros.

The output gets the same products, in a kernel that is turned round, and products with the zeros.  So the ideal values
are equal; of a sum that is -0 the sign may change, which no rounding does.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sonnx.base.errors import NotExecutable
from sonnx.operators import convtranspose
from sonnx.rewriter import constant_tensors, descriptions
from sonnx.rewriter.node_builders import SHAPE_AS_INPUT, NodeSequence
from sonnx.rewriter.operator_names import OperatorName
from sonnx.rewriter.rewrite import Replacement, Trigger, rewrite
from sonnx.rewriter.rewrites.sums import FLOATS
from sonnx.rewriter.site import Shape, Site

PLANE = 2
"""The spatial axes that Conv has in the profile."""


@rewrite("spread-convolution", Trigger.RULE_FAILS)
def spread_convolution(site: Site) -> Replacement | None:
    """Reshape, Concat with zeros, and Conv with padding; of one group, with constant kernels."""
    node, shape, kernels, application = site.node, site.shape(0), site.constant(1), site.application
    element, weights = site.element_type(0) or "", None if kernels is None else constant_tensors.decoded(kernels)
    if shape is None or weights is None or application is None or len(shape) != PLANE + 2 or element not in FLOATS:
        return None
    if site.operator_set < SHAPE_AS_INPUT or 0 in (*shape, *(site.output_shape() or (0,))):
        return None
    if application.parameter("group") != 1 or not np.isfinite(weights.astype(np.float64)).all():
        return None
    try:
        places, cut = convtranspose.places(application, shape, weights.shape)
    except NotExecutable:
        return None
    strides, dilations = (application.parameter(name) for name in ("strides", "dilations"))
    sequence = NodeSequence(node.outputs[0], site.operator_set)
    value, extents = _spread(sequence, node.inputs[0], shape, strides, element)
    reach = [dilation * (size - 1) for dilation, size in zip(dilations, weights.shape[2:], strict=True)]
    begins = [reach[axis] - cut[axis] for axis in range(PLANE)]
    ends = [places[axis] + reach[axis] - begins[axis] - extents[axis] for axis in range(PLANE)]
    if min((*begins, *ends)) < 0:
        return None
    turned = np.ascontiguousarray(np.flip(weights, (2, 3)).swapaxes(0, 1))
    constant = constant_tensors.from_array(f"{node.outputs[0]}.W", turned)
    sequence.constants.append(constant)
    bias = node.inputs[2] if len(node.inputs) > 2 else ""
    sequence.convolution(
        value, constant.name, weights.shape[2:], dilations=dilations, pads=(*begins, *ends), bias=bias,
        output=node.outputs[0],
    )  # fmt: skip
    what = f"Conv over an input with {' and '.join(str(stride - 1) for stride in strides)} zeros between its elements"
    return sequence.replacement(descriptions.call(node), what)


def _spread(
    sequence: NodeSequence, value: str, shape: Shape, strides: Sequence[int], element: str
) -> tuple[str, list[int]]:
    """Append the nodes that put zeros between the elements of the spatial axes; the value, and its extents."""
    current = list(shape)
    for axis, stride in ((3, strides[1]), (2, strides[0])):
        if stride == 1 or current[axis] == 1:
            continue
        before, behind = current[: axis + 1], current[axis + 1 :]
        zeros = sequence.constant(f"zeros{axis}", element, 0, (*before, stride - 1, *behind))
        column = sequence.reshape(value, (*before, 1, *behind))
        joined = sequence.add(OperatorName.CONCAT, (column, zeros), sequence.name("joined"), axis=axis + 1)
        current[axis] = (shape[axis] - 1) * stride + 1
        whole = (*shape[:axis], shape[axis] * stride, *behind)
        flat = sequence.reshape(joined, whole)
        value = sequence.slice(flat, whole, axis, (0, current[axis]), sequence.name("spread"))
    return value, current[2:]
