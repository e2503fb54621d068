"""A comparison with a runtime as text or JSON (comparison.schema.json); HTML is in comparison_html.py."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from itertools import groupby
from math import log2
from typing import Any

from sonnx.base.escaping import escape, plural
from sonnx.base.resources import tool_version
from sonnx.executor.comparison import ACCUMULATED, EQUAL, Comparison, Row
from sonnx.executor.distance import Distance
from sonnx.report.html import OPENED
from sonnx.report.markup import Markup, code, document, element, folding, join, table, terms

FORMAT = 1
FORMATS = ("text", "json", "html")
"""What is rendered here; the other formats render a result, see comparison_result.py."""
HEADS = ("value", "elements", "identical", "ulp, largest", "mean", "absolute, largest", "special values")


def render(form: str, found: Comparison, broken: Sequence[str]) -> str:
    """The whole document in a format, ending in a line feed."""
    if form == "html":
        return page(found, broken)
    return as_json(found, broken) if form == "json" else "".join(f"{line}\n" for line in _lines(found, broken))


# ------------------------------------------------------------------ text


def _lines(found: Comparison, broken: Sequence[str]) -> Iterator[str]:
    yield f"{escape(found.model)}: {found.runtime} against the exact values"
    yield f"{found.runs} {'run' if found.runs == 1 else 'runs'}, inputs {found.inputs}"
    yield standing(found)
    yield from (f"skipped: {escape(reason)}" for reason in found.skipped)
    for way, rows in groupby(found.rows, key=lambda row: row.way):
        yield ""
        yield from _table(way, list(rows))
    first = found.first_diverging
    if first is not None:
        yield ""
        yield f"first node that differs on equal inputs: {first.place}"
        if first.distance is not None and first.distance.found:
            yield f"  at {list(first.distance.at)}: {first.distance.found}, exact {first.distance.exact}"
    yield ""
    yield from (f"broken: {escape(sentence)}" for sentence in broken)
    if not broken:
        yield summary(found)


def standing(found: Comparison) -> str:
    """What the profile says of the model."""
    if found.unchecked:
        return "UNCHECKED: nothing says that the model is inside the profile"
    return f"the model conforms to edition {found.edition}"


def summary(found: Comparison) -> str:
    """How many values are the same, in one sentence."""
    same = sum(row.distance is not None and not row.differs for row in found.rows)
    missing = sum(row.distance is None for row in found.rows)
    rest = f"; {missing} could not be compared" if missing else ""
    return f"{same} of {len(found.rows)} values are identical bit for bit{rest}"


def _table(way: str, rows: Sequence[Row]) -> Iterator[str]:
    cells = [HEADS, *((label(row), *cells_of(row.distance)) for row in rows)]
    widths = [max(len(line[column]) for line in cells) for column in range(len(HEADS))]
    yield {"output": "outputs, whole model", "on equal inputs": "nodes on equal inputs"}.get(way, "values, accumulated")
    for line, row in zip(cells, [None, *rows], strict=True):
        aligned = [line[0].ljust(widths[0]), *(cell.rjust(w) for cell, w in zip(line[1:-1], widths[1:-1], strict=True))]
        yield f"  {'  '.join(aligned)}  {line[-1]}".rstrip()
        if row is not None:
            yield from (f"      not compared in {escape(failure)}" for failure in row.failures[:1])
            yield from (f"      and {len(row.failures) - 1} more" for _ in row.failures[1:2])


def label(row: Row) -> str:
    """The value with its operator."""
    name = escape(row.value)
    return f"{name} ({escape(row.operator)})" if row.operator else f"{name}: {row.type}"


def cells_of(distance: Distance | None) -> tuple[str, ...]:
    """The figures of a row as text."""
    if distance is None:
        return ("", "", "", "", "", "")
    share = distance.identical / distance.elements if distance.elements else 1.0
    whole = distance.identical == distance.elements
    steps = ("", "") if distance.ulp is None else (str(distance.ulp), f"{distance.ulp_mean:.3g}")
    specials = ", ".join(f"{special.kind} {special.number}" for special in distance.specials)
    shown = "100 %" if whole else f"{min(share * 100, 99.999):.3f} %"
    return (str(distance.elements), shown, *steps, f"{distance.absolute:.3g}", specials)


# ------------------------------------------------------------------ JSON


def as_json(found: Comparison, broken: Sequence[str]) -> str:
    """The comparison as one JSON document."""
    document = {
        "format": FORMAT,
        "tool": {"name": "sonnx", "version": tool_version()},
        "model": found.model,
        "sha256": found.sha256 or None,
        "runtime": found.runtime,
        "edition": found.edition or None,
        "unchecked": found.unchecked,
        "inputs": found.inputs,
        "runs": found.runs,
        "skipped": list(found.skipped),
        "rows": [_row(row) for row in found.rows],
        "first_diverging": found.first_diverging.place if found.first_diverging else None,
        "broken": list(broken),
    }
    return json.dumps(document, indent=1, ensure_ascii=True) + "\n"


def _row(row: Row) -> dict[str, Any]:
    return {
        "way": row.way,
        "value": row.value,
        "operator": row.operator or None,
        "place": row.place or None,
        "type": row.type,
        "distance": None if row.distance is None else _distance(row.distance),
        "failures": list(row.failures),
    }


def _distance(each: Distance) -> dict[str, Any]:
    return {
        "elements": each.elements,
        "identical": each.identical,
        "measured": each.measured,
        "ulp": None if each.ulp is None else {"largest": each.ulp, "mean": each.ulp_mean},
        "absolute": {"largest": _number(each.absolute), "mean": _number(each.absolute_mean)},
        "at": list(each.at) if each.exact else None,
        "exact": each.exact or None,
        "found": each.found or None,
        "specials": [
            {"kind": s.kind, "number": s.number, "at": list(s.at), "exact": s.exact, "found": s.found}
            for s in each.specials
        ],
    }


def _number(value: float) -> float | str:
    """JSON has no infinity."""
    return value if value - value == 0 else "infinity"


# ------------------------------------------------------------------
# A comparison with a runtime as one HTML page: what is far away first seen in a plot, then in a table.
#
# No network, no script; the plot is SVG inside the page.


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
        yield _html_table([row for row in found.rows if row.way == way])
    yield element("h3", "Identity")
    edition = "not checked" if found.unchecked else found.edition
    digest = code(found.sha256) if found.sha256 else "not computed"
    yield terms((("file", code(found.model)), ("SHA-256", digest), ("edition", edition), ("runtime", found.runtime)))


def _key(name: str) -> Markup:
    return Markup(f'<svg width="12" height="12" role="img"><circle cx="6" cy="6" r="4" class="dot {name}"/></svg>')


def _html_table(rows: Sequence[Row]) -> Markup:
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
