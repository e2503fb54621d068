"""Write the starts and ends of slices inside their axes, and every axis.  About Slice.

A slice that selects nothing stays: with bounds inside the axes it would fail another rule.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from sonnx.language.builtins import Undefined, normal, sliced
from sonnx.language.shape_arithmetic import end_in_axis, start_in_axis
from sonnx.model.ir import Tensor
from sonnx.rewriter import constant_tensors
from sonnx.rewriter.rewrite import Change
from sonnx.rewriter.site import Site

RULES = ("Slice.starts-in-axis", "Slice.ends-in-axis", "Slice.every-axis-named")
THEOREM = "rewrite.slice-bounds"

Row = tuple[int, int, int, int]
"""Start, end, axis, step."""


def rewrite(site: Site) -> Change | None:
    """The node with bounds inside the axes, for all axes; from version 10 on, where they are inputs."""
    shape, element = site.shape(0), site.element(1)
    made, parts = site.signature, [site.known(name) for name in ("starts", "ends", "axes", "steps")]
    if made is None or made.version < 10 or shape is None or element is None or not site.fails(RULES) or None in parts:
        return None
    if len({len(part) for part in parts}) != 1:
        return None
    old = list(zip(*parts, strict=True))
    rows = _rows(old, shape)
    if rows is None or rows == old:
        return None
    return _change(site, old, rows, element)


def _rows(old: list[Row], shape: tuple[int, ...]) -> list[Row] | None:
    try:
        rows = {normal(axis, len(shape)): (start, end, axis, step) for start, end, axis, step in old}
    except Undefined:
        return None
    if len(rows) != len(old) or any(step == 0 for *_, step in old):
        return None
    inside = list(_inside(rows, shape))
    kept = (0 <= start < shape[axis] and sliced(shape[axis], start, end, step) > 0 for start, end, axis, step in inside)
    return inside if all(kept) else None


def _inside(rows: dict[int, Row], shape: tuple[int, ...]) -> Iterator[Row]:
    for axis, extent in enumerate(shape):
        start, end, _, step = rows.get(axis, (0, extent, axis, 1))
        yield start_in_axis(start, extent, step), end_in_axis(end, extent, step), axis, step


def _change(site: Site, old: list[Row], rows: list[Row], element: str) -> Change | None:
    names, inputs, constants = ("starts", "ends", "axes", "steps"), list(site.node.inputs), list[Tensor]()
    inputs += [""] * (len(names) + 1 - len(inputs))
    for index, (name, part) in enumerate(_parts(names, rows), 1):
        if not inputs[index] or part != site.known(name):
            made = constant_tensors.of_numbers(f"{site.node.outputs[0]}.{name}", element, part, (len(part),))
            if made is None:
                return None
            constants.append(made)
            inputs[index] = made.name
    node = replace(site.node, inputs=tuple(inputs))
    return Change((node,), _shown(names, old), _shown(names, rows), tuple(constants))


def _parts(names: tuple[str, ...], rows: list[Row]) -> list[tuple[str, tuple[int, ...]]]:
    return list(zip(names, zip(*rows, strict=True), strict=True))


def _shown(names: tuple[str, ...], rows: list[Row]) -> str:
    return ", ".join(f"{name}={list(part)}" for name, part in _parts(names, rows))
