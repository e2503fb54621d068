"""A plot as SVG: values in their order from left to right, with heights on the scale of the marks at the left."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from markupsafe import escape

WIDTH, HEIGHT, LEFT, RIGHT, TOP = 960, 300, 70, 10, 14
"""The plot, and the room around the values, in pixels."""
LABELS, LONGEST_LABEL = 40, 20
"""Names on the axis of places: the largest number of them, and of their characters."""


class Series(NamedTuple):
    """Dots with their heights, None where there is none; looks are attributes of SVG, titles are escaped."""

    heights: Sequence[float | None]
    dot: str
    line: str = ""
    """The look of the lines between neighbours, "" for none."""
    titles: Sequence[str] = ()
    wrong: frozenset[int] = frozenset()
    """The places whose dots are drawn as wrong."""


class LimitLine(NamedTuple):
    """A line across the plot at a height, with its meaning."""

    height: float
    text: str


def plot(
    series: Sequence[Series],
    marks: Sequence[tuple[float, str]],
    about: str,
    labels: Sequence[str] = (),
    limit: LimitLine | None = None,
) -> str:
    """The SVG of series of values with equal places; `labels` name the places, every n-th where there are many."""
    heights = [height for each in series for height in each.heights if height is not None]
    heights += [limit.height] if limit is not None else []
    low, high = marks[0][0], max(marks[-1][0], *heights, marks[0][0] + 1)
    step = (WIDTH - LEFT - RIGHT) / max((len(each.heights) for each in series), default=1)

    def y(height: float) -> str:
        return f"{TOP + (high - height) / (high - low) * (HEIGHT - 2 * TOP):.1f}"

    longest = min(LONGEST_LABEL, max(map(len, labels), default=0))
    tall = HEIGHT + 6 * longest  # room for the longest, turned
    parts = [f'<svg viewBox="0 0 {WIDTH} {tall}" class="plot" role="img" aria-label="{about}">']
    for height, text in marks:
        parts.append(f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y(height)}" y2="{y(height)}"/>')
        parts.append(f'<text x="{LEFT - 8}" y="{y(height)}" dy="4" text-anchor="end">{text}</text>')
    if limit is not None:
        level, end = y(limit.height), WIDTH - RIGHT
        parts.append(f'<line class="limit" x1="{LEFT}" x2="{end}" y1="{level}" y2="{level}"/>')
        parts.append(f'<text class="limit" x="{end}" y="{level}" dy="-4" text-anchor="end">{escape(limit.text)}</text>')
    for curve in series:
        path = ""
        for place, value in enumerate(curve.heights):
            if value is not None:
                x, title = f"{LEFT + (place + 0.5) * step:.1f}", "".join(curve.titles[place : place + 1])
                path += f"{'M' if not place or curve.heights[place - 1] is None else 'L'}{x} {y(value)}"
                dot = 'r="4.5" class="dot wrong"' if place in curve.wrong else f'r="3" {curve.dot}'
                parts.append(f'<circle cx="{x}" cy="{y(value)}" {dot}><title>{title}</title></circle>')
        parts += [f'<path d="{path}" fill="none" {curve.line}/>'] if curve.line else []
    every = max(1, -(-len(labels) // LABELS))
    for place, label in list(enumerate(labels))[::every]:
        across, bottom = LEFT + (place + 0.5) * step, HEIGHT - TOP + 16
        shown = label if len(label) <= LONGEST_LABEL else f"{label[: LONGEST_LABEL - 1]}…"
        turned = f'transform="translate({across:.1f} {bottom}) rotate(-45)" text-anchor="end"'
        parts.append(f"<text {turned}>{escape(shown)}<title>{escape(label)}</title></text>")
    return f"{''.join(parts)}</svg>"
