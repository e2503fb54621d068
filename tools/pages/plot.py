"""The plot of docs/values.md, drawn as SVG from its table of measured times."""

from __future__ import annotations

import re
from html import escape
from math import ceil, floor, log10

WIDTH, LEFT, ROW, TOP, BOTTOM = 880, 270, 22, 12, 66
COLOURS = ("#1f77b4", "#ff7f0e", "#2ca02c", "#d62728", "#9467bd", "#8c564b", "#e377c2")
TABLE = re.compile(r"<!-- values\.py -->\n(.*?)<!-- end -->", re.DOTALL)


def plot(page: str) -> str:
    """The ratios to numpy of all cases of the table as dots, by type, and the targets as bars; a logarithmic scale.

    Args:
        page: the text of docs/values.md.
    """
    table = TABLE.search(page)
    lines = table[1].splitlines() if table else []
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("| ")][1:]
    cases = list(dict.fromkeys(f"{operator}: {detail}" for operator, _, detail, *_ in rows))
    types = list(dict.fromkeys(row[1] for row in rows))
    points = [
        (cases.index(f"{row[0]}: {row[2]}"), types.index(row[1]), float(row[4]), row[5].removeprefix("≤").strip())
        for row in rows
    ]
    values = [1.0, *(ratio for _, _, ratio, _ in points), *(float(target) for *_, target in points if target)]
    low, high = floor(log10(min(values))), ceil(log10(max(values)))
    bottom = TOP + ROW * len(cases)

    def x(value: float) -> str:
        return f"{LEFT + (log10(value) - low) / (high - low) * (WIDTH - LEFT - 20):.1f}"

    def y(case: int, type_: int) -> float:
        return TOP + ROW * (case + 0.5) + 1.8 * (type_ - len(types) / 2)

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {bottom + BOTTOM}" font-family="sans-serif" '
        'font-size="11">',
        f'<rect width="{WIDTH}" height="{bottom + BOTTOM}" fill="white"/>',
    ]
    for power in range(low, high + 1):
        at, colour = x(10**power), "#888" if power == 0 else "#ddd"
        parts.append(f'<path d="M{at} {TOP}V{bottom}" stroke="{colour}"/>')
        parts.append(f'<text x="{at}" y="{bottom + 16}" text-anchor="middle">{10**power:g}</text>')
    for number, case in enumerate(cases):
        parts.append(f'<text x="{LEFT - 8}" y="{y(number, 0) + 8:.1f}" text-anchor="end">{escape(case)}</text>')
    for case_, type_, ratio, target in points:
        height, colour = y(case_, type_), COLOURS[type_ % len(COLOURS)]
        parts.append(f'<circle cx="{x(ratio)}" cy="{height:.1f}" r="2.6" fill="{colour}"/>')
        if target:
            parts.append(f'<path d="M{x(float(target))} {height - 4:.1f}v8" stroke="{colour}"/>')
    for number, name in enumerate(types):
        start = LEFT + 84 * number
        parts.append(f'<circle cx="{start}" cy="{bottom + 30}" r="3" fill="{COLOURS[number % len(COLOURS)]}"/>')
        parts.append(f'<text x="{start + 8}" y="{bottom + 34}">{escape(name)}</text>')
    label = "time / time of numpy (dots) and targets (bars); less than 1 is faster than numpy"
    parts.append(f'<text x="{LEFT}" y="{bottom + 54}">{label}</text>')
    return "\n".join([*parts, "</svg>"]) + "\n"
