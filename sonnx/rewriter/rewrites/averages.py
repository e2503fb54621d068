"""AveragePool as a convolution with ones: the sum under each window, over its number of elements.

Where the number is a power of two and no window lies over padding that does not count, a factor gives exact addends, so
that the exact sum is rounded once, as by AveragePool.  Else a division follows, which rounds again.
"""

from __future__ import annotations

import numpy as np

from sonnx.base.errors import NotExecutable
from sonnx.numerics.formats import Array
from sonnx.numerics.windows import Windows
from sonnx.operators import averagepool
from sonnx.rewriter import descriptions
from sonnx.rewriter.node_builders import SHAPE_AS_INPUT, NodeSequence
from sonnx.rewriter.operator_names import OperatorName
from sonnx.rewriter.rewrite import Replacement, Trigger, rewrite
from sonnx.rewriter.rewrites.sums import FLOATS, is_exact_divisor, is_number_of
from sonnx.rewriter.site import Site


@rewrite("averaged-windows", Trigger.RULE_FAILS)
def averaged_windows(site: Site) -> Replacement | None:
    """Conv of each channel with one over the number of elements."""
    windows = _windows(site)
    if windows is None:
        return None
    slid, numbers = windows
    number = int(np.prod(slid.kernel))
    return (
        _convolved(site, slid, numbers, 1 / number) if (numbers == number).all() and is_exact_divisor(number) else None
    )


@rewrite("divided-windows", Trigger.RULE_FAILS)
def divided_windows(site: Site) -> Replacement | None:
    """Conv of each channel with ones, and Div by the number of elements under each window."""
    windows = _windows(site)
    if windows is None or not all(
        is_number_of(site.element_type(0) or "", int(window)) for window in np.unique(windows[1])
    ):
        return None
    return _convolved(site, *windows, 1.0)


def _windows(site: Site) -> tuple[Windows, Array] | None:
    """The windows and their numbers of elements, of a tensor with one or two spatial axes."""
    shape, application = site.shape(0), site.application
    if shape is None or application is None or 0 in shape or len(shape) not in (3, 4):
        return None
    if site.element_type(0) not in FLOATS or site.operator_set < SHAPE_AS_INPUT:
        return None
    try:
        slid = averagepool.slid_over(application, shape)
    except NotExecutable:
        return None
    numbers = averagepool.numbers_of_elements(slid, averagepool.counted(application, slid))
    return (slid, numbers) if numbers.size and numbers.all() else None


def _convolved(site: Site, slid: Windows, numbers: Array, factor: float) -> Replacement | None:
    """The nodes; one spatial axis becomes the second of two."""
    shape, result, element = site.shape(0) or (), site.output_shape(), site.element_type(0) or ""
    if result is None:
        return None
    source, output = site.node.inputs[0], site.node.outputs[0]
    sequence, line = NodeSequence(output, site.operator_set), len(shape) == 3
    ends = [
        max(0, (places - 1) * stride + (size - 1) * dilation + 1 - extent - begin)
        for places, stride, size, dilation, extent, begin in zip(
            slid.places, slid.strides, slid.kernel, slid.dilations, slid.extents, slid.begins, strict=True
        )
    ]
    if min((*slid.begins, *slid.ends)) < 0:
        return None
    one, zero = ((1,), (0,)) if line else ((), ())
    kernel, divided = (*one, *slid.kernel), factor == 1 and bool((numbers != 1).any())
    kernels = sequence.constant("weights", element, factor, (shape[1], 1, *kernel))
    value = sequence.convolution(
        sequence.reshape(source, (*shape[:2], 1, shape[2])) if line else source, kernels, kernel, group=shape[1],
        strides=(*one, *slid.strides), dilations=(*one, *slid.dilations), pads=(*zero, *slid.begins, *zero, *ends),
        output="" if line or divided else output,
    )  # fmt: skip
    what = f"Conv with {int(np.prod(kernel))} times {factor:g}"
    if divided:
        same = bool((numbers == numbers.flat[0]).all())
        divisors = numbers.flat[0] if same else numbers.reshape((1, 1, *one, *numbers.shape))
        operands = value, sequence.constant("numbers", element, divisors, np.shape(divisors))
        value = sequence.add(OperatorName.DIV, operands, sequence.name("mean") if line else output)
        what += f", divided by {int(numbers.flat[0])}" if same else ", divided by the numbers of elements"
    if line:
        sequence.reshape(value, result, output)
    return sequence.replacement(descriptions.call(site.node), what)
