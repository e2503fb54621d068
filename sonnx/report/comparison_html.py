"""A comparison with a runtime as one HTML page: what is far away first seen in a plot, then in a table.

No network, no script; the plot is SVG inside the page.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import log2

from sonnx.comparison.comparing import ACCUMULATED, EQUAL, Comparison, Row
from sonnx.quoting import plural
from sonnx.report.comparison import cells_of, label, standing, summary
from sonnx.report.html_findings import OPENED
from sonnx.report.html_parts import Markup, code, document, element, folding, join, table, terms
from sonnx.report.json import tool_version

WIDTH, HEIGHT, LEFT, BOTTOM, TOP = 960, 260, 60, 40, 14
SHORT = ("value", "#count", "#identical", "#ulp", "#mean", "#absolute", "other")
"""The heads of a table, short, so that names of values have room on paper."""
KEY = (
    "count: the elements compared; ulp and absolute: the largest distance of one; mean: in ulp; "
    "other: elements that differ in being NaN or infinite, or in the sign of a zero"
)
DRAWN = {EQUAL: "dot equal", ACCUMULATED: "dot accumulated"}


def page(found: Comparison, broken: Sequence[str]) -> str:
    """The whole page, ending in a line feed."""
    return document(f"sonnx: {found.model} in {found.runtime}", list(_parts(found, broken)))


def _parts(found: Comparison, broken: Sequence[str]) -> Iterator[Markup]:
    yield element("h1", f"sonnx {tool_version()}: a runtime against the exact values")
    kind = "fail" if broken else "pass" if not any(row.differs for row in found.rows) else "open"
    runs = plural(found.runs, "run")
    yield element(
        "div",
        element("h2", found.model),
        element("p", f"{plural(len(broken), 'bound')} broken" if broken else summary(found), class_="answer"),
        element("p", summary(found), class_="soft") if broken else Markup(""),
        element("p", f"{found.runtime}; {runs}, inputs {found.inputs}; {standing(found)}", class_="soft"),
        class_=f"banner {kind}",
    )
    if broken:
        yield element("h3", "Broken bounds")
        listed = element("ul", *(element("li", sentence) for sentence in broken))
        yield listed if len(broken) <= OPENED else folding(f"{broken[0]}; and {len(broken) - 1} more", listed)
    if found.skipped:
        yield element("h3", "Runs without exact values")
        yield element("ul", *(element("li", reason) for reason in found.skipped))
    if any(row.way in DRAWN for row in found.rows):
        yield element("h3", "Largest distance of each node, in ulp")
        yield element("p", _key("equal"), " on equal inputs ", _key("accumulated"), " accumulated ", class_="soft")
        yield _plot(found.rows)
    yield element("p", KEY, class_="soft")
    for way in dict.fromkeys(row.way for row in found.rows):
        yield element("h3", {"output": "Outputs of the whole model"}.get(way, f"Nodes, {way}"))
        yield _table([row for row in found.rows if row.way == way])
    yield element("h3", "Identity")
    edition = "not checked" if found.unchecked else found.edition
    digest = code(found.sha256) if found.sha256 else "not computed"
    yield terms((("file", code(found.model)), ("SHA-256", digest), ("edition", edition), ("runtime", found.runtime)))


def _key(name: str) -> Markup:
    return Markup(f'<svg width="12" height="12" role="img"><circle cx="6" cy="6" r="4" class="dot {name}"/></svg>')


def _table(rows: Sequence[Row]) -> Markup:
    return table(SHORT, (_cells(row) for row in rows), class_="said")


def _cells(row: Row) -> tuple[str, ...]:
    name: str = element("span", label(row), title=row.place)
    if row.failures:
        name = join((name, element("div", f"not compared in {row.failures[0]}", class_="fail")), "")
    return (name, *cells_of(row.distance))


def _plot(rows: Sequence[Row]) -> Markup:
    """One dot for each node and way: its number from left to right, its largest distance upwards, in powers of two."""
    listed = {way: [row for row in rows if row.way == way] for way in DRAWN}
    most = max([_height(row) for row in rows if row.way in DRAWN], default=0.0)
    top, longest = max(4, int(most) + 1), max(len(each) for each in listed.values())

    def x(index: float) -> str:
        return f"{LEFT + (index + 0.5) * (WIDTH - LEFT - 10) / max(1, longest):.1f}"

    def y(height: float) -> str:
        return f"{HEIGHT - BOTTOM - height * (HEIGHT - BOTTOM - TOP) / top:.1f}"

    parts = [f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" class="plot" role="img" aria-label="distances by node">']
    for height in range(0, top + 1, max(1, top // 6)):
        text = "0" if height == 0 else f"{2 ** (height - 1)}"
        parts.append(f'<line x1="{LEFT}" x2="{WIDTH - 10}" y1="{y(height)}" y2="{y(height)}"/>')
        parts.append(f'<text x="{LEFT - 8}" y="{y(height - 0.02)}" text-anchor="end">{text}</text>')
    for way, class_ in DRAWN.items():
        for index, row in enumerate(listed[way]):
            if row.distance is not None:
                said = element("title", f"{label(row)}: {row.distance.ulp or 0} ulp, {way}")
                parts.append(f'<circle cx="{x(index)}" cy="{y(_height(row))}" r="3.2" class="{class_}">{said}</circle>')
    parts.append(
        f'<text x="{(LEFT + WIDTH) / 2}" y="{HEIGHT - 8}" text-anchor="middle">nodes, in their order</text></svg>'
    )
    return Markup("".join(parts))


def _height(row: Row) -> float:
    """0 for no distance, 1 for one ulp, one more for each power of two."""
    steps = row.distance.ulp if row.distance is not None and row.distance.ulp else 0
    return 1 + log2(steps) if steps else 0.0
