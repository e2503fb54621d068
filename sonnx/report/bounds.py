"""The bounds of a model as a page: the answer, a picture of range and error along the network, the tables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from math import ceil, floor, inf, isfinite, log10
from typing import Any

from markupsafe import Markup

from sonnx.base.escaping import escape
from sonnx.bounds.result import Bounds, Tensor
from sonnx.numerics.formats import Array
from sonnx.report.html import code, page

MAX_SHARES = 20
"""Nodes in the list of shares."""
CURVES = (
    ("largest magnitude", "var(--text)"),
    ("error", "var(--fail)"),
    ("introduced by the node", "var(--soft)"),
)
"""The lines of the picture with their colours."""
WIDTH, HEIGHT, LEFT, TOP = 900, 320, 70, 10
"""The picture, and the room for its numbers, in pixels."""


def render(bounds: Bounds, code_: int, *, every_node: bool) -> str:
    """The whole page, ending in a line feed."""
    known = [each for each in bounds.tensors if not each.unbounded and each.low.size]
    waiting = [each for each in bounds.conditions if not each.holds]
    conditions = (*waiting, *(each for each in bounds.conditions if each.holds))
    return page(
        "bounds.html",
        title=f"sonnx bound: {bounds.model}",
        bounds=bounds,
        code=code_,
        stopped=[f"Not bounded: {each.unbounded}" for each in bounds.tensors if each.unbounded][:1],
        box=[(code(name), list(low.shape), *_ends(low, high)) for name, (low, high) in bounds.box.items()],
        decisions=[
            (code(each.what), f"{each.low:.6g}", f"{each.high:.6g}", f"{each.error:.3g}",
             "the same" if each.same else "not shown") for each in bounds.decisions
        ],
        outputs=_rows(bounds.outputs),
        legend=CURVES,
        plot=Markup(picture(known)) if len(known) > 1 else "",  # noqa: S704  (numbers only)
        shares=[(code(escape(node)), f"{share:.1%}") for node, share in bounds.shares[:MAX_SHARES]],
        conditions=[
            (code(escape(each.node)), each.name, escape(each.detail), "holds" if each.holds else "not shown")
            for each in conditions
        ],
        waiting=len(waiting),
        tensors=_rows(bounds.tensors),
        every_node=every_node,
    )  # fmt: skip


def _ends(low: Array, high: Array) -> tuple[str, str]:
    return (f"{low.min():.6g}", f"{high.max():.6g}") if low.size else ("", "")


def _rows(tensors: Sequence[Tensor]) -> Iterator[tuple[Any, ...]]:
    for each in tensors:
        numbers = ("",) * 5
        if each.unbounded:
            numbers = ("not bounded", "", "", "", "")
        elif each.low.size:
            found = each.low.min(), each.high.max(), each.introduced.max(), each.propagated.max(), each.error.max()
            low, high, introduced, propagated, error = (f"{number:.6g}" for number in found)
            numbers = low, high, introduced, propagated, error
        yield code(escape(each.name)), code(escape(each.node)), list(each.low.shape), *numbers


def picture(tensors: Sequence[Tensor]) -> str:
    """The largest magnitude, error and introduced error of each value, from inputs to outputs, in powers of 10."""
    curves = (
        [_positive(max(abs(each.low.min()), abs(each.high.max()))) for each in tensors],
        [_positive(each.error.max()) for each in tensors],
        [_positive(each.introduced.max()) for each in tensors],
    )
    numbers = [number for curve in curves for number in curve if number is not None]
    low, high = (floor(min(numbers, default=0)), ceil(max(numbers, default=1)))
    high = max(high, low + 1)
    steps = range(low, high + 1, max(1, (high - low) // 8))
    parts = [_rule(step, _height(step, low, high)) for step in steps]
    for (_, colour), curve in zip(CURVES, curves, strict=True):
        parts += _drawn(curve, colour, low, high)
    return (
        f'<svg class="plot" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
        f'aria-label="range and error along the network">{"".join(parts)}</svg>'
    )


def _positive(value: float) -> float | None:
    return log10(value) if 0 < value < inf else None


def _height(number: float, low: int, high: int) -> float:
    return TOP + (high - number) / (high - low) * (HEIGHT - 2 * TOP)


def _rule(step: int, y: float) -> str:
    return (
        f'<line x1="{LEFT}" y1="{y:.1f}" x2="{WIDTH}" y2="{y:.1f}"/>'
        f'<text x="{LEFT - 8}" y="{y + 4:.1f}" text-anchor="end" font-size="12" fill="currentColor">1e{step}</text>'
    )


def _drawn(curve: Sequence[float | None], colour: str, low: int, high: int) -> Iterator[str]:
    """Lines between neighbours that both have a number, and a dot for each."""
    step = (WIDTH - LEFT - 10) / max(1, len(curve) - 1)
    points = [
        None if number is None or not isfinite(number) else (LEFT + index * step, _height(number, low, high))
        for index, number in enumerate(curve)
    ]
    for first, second in pairwise(points):
        if first is not None and second is not None:
            yield (
                f'<path d="M{first[0]:.1f} {first[1]:.1f}L{second[0]:.1f} {second[1]:.1f}" fill="none" '
                f'style="stroke:{colour};stroke-width:1.5"/>'
            )
    for point in points:
        if point is not None:
            yield f'<circle cx="{point[0]:.1f}" cy="{point[1]:.1f}" r="2.5" style="fill:{colour}"/>'
