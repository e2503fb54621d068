"""The graph of a model as SVG inside the page: nodes that fail or are open are marked and lead to their findings.

The layers come from a layout library, which is an extra; without it the page says so.  A long graph is cut into pieces
of so many layers that each fits on a printed page; the pieces stand side by side.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from importlib.util import find_spec
from typing import NamedTuple

from sonnx.base.escaping import escape
from sonnx.checker.graph_outline import INPUT, OUTPUT, Box, Outline
from sonnx.checker.report import Finding, Report
from sonnx.checker.verdicts import Verdict
from sonnx.report.html_elements import Markup, colour, element, folding, join, plain

LIBRARY = "fast_sugiyama"
WIDTH, HEIGHT, LAYER, SPACE = 132, 30, 46, 24
LAYERS = 18
"""Layers in one piece, which is then a little lower than a printed page."""
SHOWN = 20
"""Characters of a name in a box."""
OPENED = 60
"""A drawing of at most so many boxes is shown opened."""
PRINTED = 500
"""A drawing of at most so many boxes is printed."""
Points = Mapping[int, tuple[float, int]]
"""The middle of each box or bend, and its layer."""


class Marks(NamedTuple):
    """What is said of a place: the class of the worst answer, and the anchor of its findings."""

    kind: Mapping[str, str]
    anchor: Mapping[str, str]


def drawing(report: Report, prefix: str) -> Iterator[Markup]:
    """The part of the page about one model; `prefix` makes its anchors unique in the page."""
    graph = report.outline
    if graph is None or not graph.boxes:
        return
    yield element("h3", "Graph")
    if find_spec(LIBRARY) is None:
        yield element("p", "Not drawn: the layout library is not installed (pip install 'sonnx[draw]').", class_="soft")
        return
    marks = _marks(report, prefix)
    failing = [box for box in graph.boxes if _kind(box, marks) == "fail"]
    open_ = [box for box in graph.boxes if _kind(box, marks) == "open"]
    said = f"{len(graph.boxes)} boxes, {len(failing)} with a failure, {len(open_)} with an open answer"
    pieces = list(_pieces(graph, marks))
    inside = (element("div", each, id=f"{prefix}-{n}") for n, each in enumerate(pieces, 1))
    legend = element("p", *_legend(graph, pieces, prefix), class_="soft")
    many = len(graph.boxes) > PRINTED
    drawn = element("div", *inside, class_="drawing")
    yield folding(said, legend, drawn, class_="again" if many else "", start=len(graph.boxes) <= OPENED)


def _legend(graph: Outline, pieces: Sequence[Markup], prefix: str) -> Iterator[Markup]:
    yield plain("Red: a rule fails. Yellow: open. Blue: deviated. A marked box leads to its findings. ")
    if any(box.inner for box in graph.boxes):
        yield plain("+n: nodes that compute from constants only, drawn as a part of their first user. ")
    if any(box.nested for box in graph.boxes):
        yield plain("A double frame holds graphs that are not drawn; what is found inside marks the box. ")
    if graph.backward:
        yield plain(f"{graph.backward} uses of a value before it is computed are not drawn. ")
    if len(pieces) > 1:
        yield plain(f"The graph is cut into {len(pieces)} pieces, to be read from left to right and top to bottom. ")
        marked = [number for number, piece in enumerate(pieces, 1) if "<a " in piece]
        links = (element("a", f"{number}", href=f"#{prefix}-{number}") for number in marked)
        yield join((plain("Pieces with a marked box: "), join(links, ", ")), "") if marked else plain("None is marked.")


def anchors(report: Report, prefix: str) -> dict[str, str]:
    """The anchor of the findings at each place, in the order in which the page lists the places."""
    places = dict.fromkeys(each.where.place for each in report.findings)
    return {place: f"{prefix}-at-{number}" for number, place in enumerate(places)}


def _marks(report: Report, prefix: str) -> Marks:
    """Everything said at a node, in it, or about a value it makes, under the place of the node."""
    worst: dict[str, str] = {}
    first: dict[str, str] = {}
    known = anchors(report, prefix)
    order = ("fail", "open", "deviated")
    for each in report.findings:
        place = "/".join(each.where.place.split("/")[:2])
        kind = _finding_kind(each)
        if place not in worst or order.index(kind) < order.index(worst[place]):
            worst[place], first[place] = kind, known[each.where.place]
    return Marks(worst, first)


def _finding_kind(finding: Finding) -> str:
    return "deviated" if finding.verdict is Verdict.DEVIATED else colour(finding.verdict)


def _kind(box: Box, marks: Marks) -> str:
    kinds = {marks.kind.get(place, "") for place in (box.place, *box.inner)}
    return next((kind for kind in ("fail", "open", "deviated") if kind in kinds), "")


def _pieces(graph: Outline, marks: Marks) -> Iterator[Markup]:
    library = import_module(LIBRARY)
    alone = set(range(len(graph.boxes))) - {end for edge in graph.edges for end in edge}
    layouts = library.from_edges(list(graph.edges), vertex_spacing=float(WIDTH + SPACE)) if graph.edges else []
    for positions, _, _, edges in sorted(layouts, key=lambda each: min(number for number, _ in each[0])):
        yield from _cut(graph, marks, _layered(positions), sorted(edges))
    for number in sorted(alone):
        yield _svg(graph, marks, {number: (0.0, 0)}, [], 0)


def _layered(positions: Sequence[tuple[int, tuple[float, float]]]) -> Points:
    """The library counts upwards; layers count from the first one down."""
    levels = sorted({y for _, (_, y) in positions}, reverse=True)
    layer = {y: number for number, y in enumerate(levels)}
    return {number: (x, layer[y]) for number, (x, y) in positions}


def _cut(graph: Outline, marks: Marks, points: Points, edges: Sequence[tuple[int, int]]) -> Iterator[Markup]:
    """One piece for each so many layers; an edge that is cut is drawn to the border of both."""
    last = max(layer for _, layer in points.values())
    for top in range(0, last + 1, LAYERS):
        inside = {number: at for number, at in points.items() if top <= at[1] < top + LAYERS}
        lines = [(points[start], points[end]) for start, end in edges if start in inside or end in inside]
        yield _svg(graph, marks, inside, lines, top)


def _svg(
    graph: Outline, marks: Marks, points: Points, lines: Sequence[tuple[tuple[float, int], tuple[float, int]]], top: int
) -> Markup:
    all_x = [x for x, _ in points.values()]
    bends = [x for line in lines for x, layer in line if top <= layer < top + LAYERS]
    left, right = min((*all_x, *bends)) - WIDTH / 2 - 2, max((*all_x, *bends)) + WIDTH / 2 + 2
    layers = max(layer for _, layer in points.values()) - top + 1
    width, height = right - left, layers * LAYER + 8
    parts = [_line(line, left, top, height) for line in lines]
    parts += [
        _box(graph.boxes[number], marks, x - left, (layer - top) * LAYER + HEIGHT / 2 + 4)
        for number, (x, layer) in sorted(points.items())
        if number < len(graph.boxes)
    ]
    return Markup(
        f'<svg viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" height="{height:.0f}">{join(parts, "")}</svg>'
    )


def _line(line: tuple[tuple[float, int], tuple[float, int]], left: float, top: int, height: float) -> Markup:
    (x0, from_), (x1, to) = line
    y0, y1 = ((layer - top) * LAYER + HEIGHT / 2 + 4 for layer in (from_, to))
    if to >= top + LAYERS:  # the rest stands in the next piece
        x1, y1 = x0, height
    elif from_ < top:
        x0, y0 = x1, 0
    middle = (y0 + y1) / 2
    start, end = f"{x0 - left:.0f}", f"{x1 - left:.0f}"
    curve = f"M{start} {y0:.0f}C{start} {middle:.0f} {end} {middle:.0f} {end} {y1:.0f}"
    return Markup(f'<path d="{curve}"/>')


def _box(box: Box, marks: Marks, x: float, y: float) -> Markup:
    kind = _kind(box, marks)
    shape = " end" if box.operator in (INPUT, OUTPUT) else " nested" if box.nested else ""
    more = f" +{len(box.inner)}" if box.inner else ""
    heading = f"{_short(box.operator)}{more}"
    texts = [heading, _short(box.name)] if box.name else [heading]
    lines = [
        Markup(f'<text x="{x:.0f}" y="{y + offset:.0f}">{element("tspan", text)}</text>')
        for text, offset in zip(texts, (-2, 10) if len(texts) > 1 else (4,), strict=True)
    ]
    round_ = HEIGHT // 2 if shape == " end" else 4
    at = f'x="{x - WIDTH / 2:.0f}" y="{y - HEIGHT / 2:.0f}"'
    corner = Markup(f'<rect {at} width="{WIDTH}" height="{HEIGHT}" rx="{round_}"/>')
    told = element("title", f"{box.place} {box.operator} {box.name}")
    group = element("g", told, corner, *lines, class_=f"box{shape} {kind}".strip())
    place = next((each for each in (box.place, *box.inner) if marks.kind.get(each) == kind), "")
    return element("a", group, href=f"#{marks.anchor[place]}") if place and kind else group


def _short(text: str) -> str:
    shown = escape(text)
    return shown if len(shown) <= SHOWN else f"{shown[: SHOWN // 2]}\u2026{shown[-SHOWN // 2 + 1 :]}"
