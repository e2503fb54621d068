"""Write the padding that auto_pad derives.

About every operator with the parameters auto_pad, kernel_shape and strides.  ONNX: with SAME_UPPER and SAME_LOWER the
output has ceil(extent / stride) elements on each axis; an odd element of padding stands at the end or at the beginning.
"""

from __future__ import annotations

from sonnx.language.builtins import window
from sonnx.language.shape_arithmetic import odd_at_beginning, odd_at_end, padding
from sonnx.rewriter import constant_tensors, descriptions
from sonnx.rewriter.rewrite import Change
from sonnx.rewriter.site import Site, with_attributes

RULES = ("explicit-padding",)
THEOREM = "rewrite.same-padding"


def rewrite(site: Site) -> Change | None:
    """The node with pads written and auto_pad NOTSET."""
    if not site.fails(RULES):
        return None
    pads = _pads(site, site.known("auto_pad"))
    if pads is None:
        return None
    made = {
        "auto_pad": constant_tensors.attribute("auto_pad", "string", "NOTSET"),
        "pads": constant_tensors.attribute("pads", "ints", pads),
    }
    before = [each for name, each in site.attributes.items() if name in made]
    node = with_attributes(site.node, made)
    return Change((node,), descriptions.attributes(before), descriptions.attributes(made.values()))


def _pads(site: Site, mode: object) -> tuple[int, ...] | None:
    shape, kernel, strides = site.shape(0), site.known("kernel_shape"), site.known("strides")
    if kernel is None or strides is None or len(kernel) != len(strides):
        return None
    if mode == "VALID":
        return (0,) * (2 * len(kernel))
    spacing = site.known("dilations") or (1,) * len(kernel)
    if shape is None or not len(shape) - 2 == len(kernel) == len(spacing) or mode not in ("SAME_UPPER", "SAME_LOWER"):
        return None
    if min((*kernel, *strides, *spacing), default=0) < 1:
        return None
    totals = [padding(*each) for each in zip(shape[2:], map(window, kernel, spacing), strides, strict=True)]
    first = odd_at_end if mode == "SAME_UPPER" else odd_at_beginning
    begins = tuple(map(first, totals))
    return (*begins, *(total - begin for total, begin in zip(totals, begins, strict=True)))
