"""Replace a shape that is known by its numbers.  About Shape and Size."""

from __future__ import annotations

from math import prod

from sonnx.language.builtins import clamped, from_first
from sonnx.rewriter import constant_tensors, descriptions
from sonnx.rewriter.rewrite import Change
from sonnx.rewriter.site import Site

RULES = ("operator-in-profile",)
FIRST = True


def rewrite(site: Site) -> Change | None:
    """No node: its output is a constant."""
    node = site.node
    if node.operator not in ("Shape", "Size") or site.call.domain or not site.world.wants_any(RULES):
        return None
    shape = site.shape(0)
    if (
        shape is None
        or len(node.outputs) != 1
        or {"start", "end"} & {each.name for each in node.attributes if each.reference}
    ):
        return None
    numbers = prod(shape) if node.operator == "Size" else shape[slice(*_span(site, len(shape)))]
    dims = () if isinstance(numbers, int) else (len(numbers),)
    constant = constant_tensors.of_numbers(node.outputs[0], "int64", numbers, dims)
    if constant is None:
        return None
    before = f"{descriptions.call(node)}, of shape {list(shape)}"
    return Change((), before, f"constant {descriptions.tensor(constant)}", (constant,))


def _span(site: Site, rank: int) -> tuple[int, int]:
    """The axes from start to end, both brought into the rank (ONNX Shape-15)."""
    start, end = (site.attributes[name].value if name in site.attributes else None for name in ("start", "end"))
    first = clamped(from_first(start, rank), 0, rank) if isinstance(start, int) else 0
    last = clamped(from_first(end, rank), 0, rank) if isinstance(end, int) else rank
    return first, last
