"""The layout of a drawn graph: nodes with findings are marked and linked to them; a template writes the SVG.

The layers come from a layout library, which is an extra; without it the page says so.  A long graph is cut into pieces
that each fit on a printed page; the pieces stand side by side.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from importlib.util import find_spec
from typing import Any, NamedTuple, Protocol

from sonnx.base.escaping import escape
from sonnx.checker.graph_outline import INPUT, OUTPUT, Box, Outline
from sonnx.checker.report import Finding, Report
from sonnx.checker.verdicts import Verdict
from sonnx.profile.rewrites import OUTSIDE
from sonnx.report.repeated_blocks import REPEATED, blocks_drawn_once

LIBRARY = "fast_sugiyama"
WIDTH, HEIGHT, LAYER, SPACE = 150, 42, 60, 20
LAYERS_PER_PIECE = 14
"""A piece of so many layers is a little lower than a printed page."""
MAX_NAME_CHARACTERS = 24
"""Longer names are shortened in a box."""
MAX_OPEN_BOXES = 60
"""Drawings with more boxes are folded on a screen."""
MAX_PRINTED_BOXES = 500
"""Drawings with more boxes are not printed."""
MAX_LISTED_BOXES = 200
"""Nodes that the table below a drawing lists."""
NODE_HEADS = ("node", "inputs", "output", "attributes")
Points = Mapping[int, tuple[float, int]]
"""The middle of each box or bend, and its layer."""


class DrawnMarker(Protocol):
    """What gives a box the styles by which a reader's choice of a rule colours it."""

    def marks(self, criteria: Iterable[str], verdicts: Iterable[str]) -> str:
        """The CSS classes that mark a box with these rules and verdicts."""


@dataclass(frozen=True, slots=True)
class DrawnBox:
    """A box at its place, with its styles, texts, and the anchor of its findings."""

    left: str
    top: str
    middle: str
    width: int
    height: int
    round: int
    kind: str
    title: str
    lines: tuple[tuple[str, str, str], ...]
    """Each line of text with its height and its style."""
    link: str
    marked: bool = False
    """Whether it has findings."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A piece of the graph that fits on a page."""

    width: str
    height: str
    paths: tuple[str, ...]
    boxes: tuple[DrawnBox, ...]


@dataclass(frozen=True, slots=True)
class Drawing:
    """The drawing of a model; `missing` if the layout library is not installed, and the rest is then empty."""

    prefix: str
    summary: str = ""
    legend: str = ""
    pieces: tuple[Piece, ...] = ()
    missing: bool = False
    small: bool = False
    """Whether it is shown at once."""
    large: bool = False
    """Whether it is left out in print."""
    nodes: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """For each drawn node its anchor, and the cells of `NODE_HEADS`."""
    unlisted: int = 0
    """Drawn nodes that the table leaves out."""

    @property
    def heads(self) -> tuple[str, ...]:
        """The heads of the table of nodes."""
        return NODE_HEADS

    @property
    def marked(self) -> list[int]:
        """The pieces with a marked box, where there are several pieces."""
        numbers = [number for number, piece in enumerate(self.pieces, 1) if any(box.marked for box in piece.boxes)]
        return numbers if len(self.pieces) > 1 else []


class Marks(NamedTuple):
    """What is known of a place: the style of its worst finding, the anchor of its findings, and their rules."""

    kind: Mapping[str, str]
    anchor: Mapping[str, str]
    rules: Mapping[str, frozenset[str]]


def drawing(report: Report, prefix: str, marker: DrawnMarker) -> Drawing | None:
    """The drawing of the main graph, None if it was not asked for; `prefix` makes its anchors unique in the page."""
    whole = report.outline
    if whole is None or not whole.boxes:
        return None
    if find_spec(LIBRARY) is None:
        return Drawing(prefix, missing=True)
    marks = _marks(report, prefix)
    graph = blocks_drawn_once(whole) if len(whole.boxes) > MAX_OPEN_BOXES else whole
    numbers = {kind: sum(_kind(box, marks) == kind for box in whole.boxes) for kind in ("fail", "open")}
    outside = sum(OUTSIDE in _rules(box, marks) for box in whole.boxes)
    rows = _anchors_of_nodes(graph, prefix)
    pieces = tuple(_pieces(graph, lambda box, x, y: _box(box, marks, marker, x, y, rows)))
    return Drawing(
        prefix,
        f"{len(whole.boxes)} boxes, {outside} outside the profile, {numbers['fail']} with a failure, "
        f"{numbers['open']} with an open result",
        " ".join(_legend(graph, len(pieces), len(whole.boxes))),
        pieces,
        small=len(graph.boxes) <= MAX_OPEN_BOXES,
        large=len(graph.boxes) > MAX_PRINTED_BOXES,
        **_listed_nodes(graph, prefix),
    )


def _legend(graph: Outline, pieces: int, boxes: int) -> Iterator[str]:
    if len(graph.boxes) < boxes:
        yield f"Repeated blocks are drawn once: {len(graph.boxes)} boxes stand for {boxes}."
    yield "Filled: the operator is outside the profile, or the rule chosen above has a finding."
    yield "Red frame: a rule fails. Yellow: open. Blue: deviated."
    yield "A marked box leads to its findings, any other node to its inputs and attributes."
    if any(box.inner for box in graph.boxes if REPEATED not in box.operator):
        yield "+n: nodes that compute from constants only, drawn as a part of their first user."
    if any(box.nested for box in graph.boxes):
        yield "A double frame holds graphs that are not drawn; what is found inside marks the box."
    if graph.backward:
        yield f"{graph.backward} uses of a value before it is computed are not drawn."
    if pieces > 1:
        yield f"The graph is cut into {pieces} pieces, to be read from left to right and top to bottom."


def anchors(report: Report, prefix: str) -> dict[str, str]:
    """The anchor of the findings at each place, in the order in which the page lists the places."""
    places = dict.fromkeys(finding.where.place for finding in report.findings)
    return {place: f"{prefix}-at-{number}" for number, place in enumerate(places)}


def _marks(report: Report, prefix: str) -> Marks:
    """All findings at a node, in it, or about a value it computes, under the place of the node."""
    worst: dict[str, str] = {}
    first: dict[str, str] = {}
    rules: dict[str, set[str]] = {}
    anchor_of = anchors(report, prefix)
    order = ("fail", "open", "deviated")
    for finding in report.findings:
        place = "/".join(finding.where.place.split("/")[:2])
        kind = _finding_kind(finding)
        if not finding.cause:
            rules.setdefault(place, set()).add(finding.rule)
        if place not in worst or order.index(kind) < order.index(worst[place]):
            worst[place], first[place] = kind, anchor_of[finding.where.place]
    return Marks(worst, first, {place: frozenset(names) for place, names in rules.items()})


def _finding_kind(finding: Finding) -> str:
    if finding.verdict is Verdict.DEVIATED:
        return "deviated"
    return "fail" if finding.verdict is Verdict.FAIL else "open"


def _kind(box: Box, marks: Marks) -> str:
    kinds = {marks.kind.get(place, "") for place in (box.place, *box.inner)}
    return next((kind for kind in ("fail", "open", "deviated") if kind in kinds), "")


def _rules(box: Box, marks: Marks) -> list[str]:
    """The rules with a finding at a box or at what is drawn as a part of it."""
    return sorted({rule for place in (box.place, *box.inner) for rule in marks.rules.get(place, ())})


Draw = Callable[[Box, float, float], DrawnBox]


def _pieces(graph: Outline, draw: Draw) -> Iterator[Piece]:
    library = import_module(LIBRARY)
    alone = set(range(len(graph.boxes))) - {end for edge in graph.edges for end in edge}
    parts = _connected(graph)  # the library takes memory for each pair of them
    layouts = [
        from_edge for part in parts for from_edge in library.from_edges(part, vertex_spacing=float(WIDTH + SPACE))
    ]
    for positions, _, _, edges in sorted(layouts, key=lambda layout: min(number for number, _ in layout[0])):
        yield from _cut(graph, draw, _layered(positions), sorted(edges))
    for number in sorted(alone):
        yield _piece(graph, draw, {number: (0.0, 0)}, [], 0)


def _connected(graph: Outline) -> list[list[tuple[int, int]]]:
    """The edges of each connected part."""
    root = list(range(len(graph.boxes)))

    def root_of(number: int) -> int:
        while root[number] != number:
            root[number] = number = root[root[number]]
        return number

    for start, end in graph.edges:
        root[root_of(end)] = root_of(start)
    parts: dict[int, list[tuple[int, int]]] = {}
    for start, end in graph.edges:
        parts.setdefault(root_of(start), []).append((start, end))
    return list(parts.values())


def _layered(positions: Sequence[tuple[int, tuple[float, float]]]) -> Points:
    """The library counts upwards; layers count from the first one down."""
    levels = sorted({y for _, (_, y) in positions}, reverse=True)
    layer = {y: number for number, y in enumerate(levels)}
    return {number: (x, layer[y]) for number, (x, y) in positions}


def _cut(graph: Outline, draw: Draw, points: Points, edges: Sequence[tuple[int, int]]) -> Iterator[Piece]:
    """One piece for each so many layers; an edge that is cut is drawn to the border of both."""
    last = max(layer for _, layer in points.values())
    for top in range(0, last + 1, LAYERS_PER_PIECE):
        inside = {number: at for number, at in points.items() if top <= at[1] < top + LAYERS_PER_PIECE}
        lines = [(points[start], points[end]) for start, end in edges if start in inside or end in inside]
        yield _piece(graph, draw, inside, lines, top)


def _piece(
    graph: Outline, draw: Draw, points: Points, lines: Sequence[tuple[tuple[float, int], tuple[float, int]]], top: int
) -> Piece:
    all_x = [x for x, _ in points.values()]
    bends = [x for line in lines for x, layer in line if top <= layer < top + LAYERS_PER_PIECE]
    left, right = min((*all_x, *bends)) - WIDTH / 2 - 2, max((*all_x, *bends)) + WIDTH / 2 + 2
    layers = max(layer for _, layer in points.values()) - top + 1
    width, height = right - left, layers * LAYER + 8
    boxes = (
        draw(graph.boxes[number], x - left, (layer - top) * LAYER + HEIGHT / 2 + 4)
        for number, (x, layer) in sorted(points.items())
        if number < len(graph.boxes)
    )
    paths = tuple(_line(line, left, top, height) for line in lines)
    return Piece(f"{width:.0f}", f"{height:.0f}", paths, tuple(boxes))


def _line(line: tuple[tuple[float, int], tuple[float, int]], left: float, top: int, height: float) -> str:
    (x0, from_), (x1, to) = line
    y0, y1 = ((layer - top) * LAYER + HEIGHT / 2 + 4 for layer in (from_, to))
    if to >= top + LAYERS_PER_PIECE:  # the rest stands in the next piece
        x1, y1 = x0, height
    elif from_ < top:
        x0, y0 = x1, 0
    middle = (y0 + y1) / 2
    start, end = f"{x0 - left:.0f}", f"{x1 - left:.0f}"
    return f"M{start} {y0:.0f}C{start} {middle:.0f} {end} {middle:.0f} {end} {y1:.0f}"


def _box(box: Box, marks: Marks, marker: DrawnMarker, x: float, y: float, rows: Mapping[str, str]) -> DrawnBox:
    kind, rules = _kind(box, marks), _rules(box, marks)
    styles = [kind, "out" if OUTSIDE in rules else "", marker.marks(rules, ())]
    place = next((name for name in (box.place, *box.inner) if marks.kind.get(name) == kind), "")
    has_findings = bool(place and kind)
    return replace(
        _drawn(box, x, y, styles, "", marks.anchor[place] if has_findings else rows.get(box.place, "")),
        marked=has_findings,
    )


def _drawn(box: Box, x: float, y: float, styles: Sequence[str], sign: str, link: str) -> DrawnBox:
    """A box with its styles, a sign before its operator, and its link."""
    shape = "end" if box.operator in (INPUT, OUTPUT) else "nested" if box.nested else ""
    more = f" +{len(box.inner)}" if box.inner and REPEATED not in box.operator else ""
    heading = f"{sign} {_short(box.operator)}{more}".strip()
    lines = [
        (heading, ""),
        *((_short(text), style) for text, style in ((box.name, ""), (box.declared, "type")) if text),
    ]
    top = y + 4 - 6.5 * (len(lines) - 1)
    return DrawnBox(
        f"{x - WIDTH / 2:.0f}", f"{y - HEIGHT / 2:.0f}", f"{x:.0f}", WIDTH, HEIGHT,
        HEIGHT // 2 if shape == "end" else 4,
        "".join(f" {style}" for style in (shape, *styles) if style),
        "; ".join([f"{box.place} {escape(box.operator)} {escape(box.name)}".rstrip(), *filter(None, (box.declared,)),
                   *box.attributes]),
        tuple((f"{top + 13 * number:.0f}", text, style) for number, (text, style) in enumerate(lines)),
        link,
    )  # fmt: skip


def _nodes(graph: Outline) -> list[Box]:
    """The boxes that are nodes."""
    return [box for box in graph.boxes if box.operator not in (INPUT, OUTPUT) and REPEATED not in box.operator]


def _anchors_of_nodes(graph: Outline, prefix: str) -> dict[str, str]:
    """The anchors of the rows of the nodes that the table lists, by place."""
    return {box.place: f"{prefix}-node-{number}" for number, box in enumerate(_nodes(graph)[:MAX_LISTED_BOXES])}


def _listed_nodes(graph: Outline, prefix: str) -> dict[str, Any]:
    """The table of the nodes below the drawing."""
    anchors_, nodes = _anchors_of_nodes(graph, prefix), _nodes(graph)
    rows = tuple(
        (anchors_[box.place], (_heading(box), ", ".join(box.operands), box.declared, ", ".join(box.attributes)))
        for box in nodes[:MAX_LISTED_BOXES]
    )
    return {"nodes": rows, "unlisted": len(nodes) - len(rows)}


def _heading(box: Box) -> str:
    named = f" {escape(box.name)}" if box.name else ""
    return f"{escape(box.operator)}{named}, {box.place}"


class StyledBox(NamedTuple):
    """How a box is drawn: its style, and a sign before its operator."""

    style: str
    sign: str


def outline_drawing(graph: Outline, prefix: str, styles: Mapping[str, StyledBox], title: str) -> Drawing:
    """The drawing of a graph whose boxes have styles by their places; a box takes that of what is drawn as a part of
    it where it has none; `prefix` makes its anchors unique in the page.
    """
    if find_spec(LIBRARY) is None or not graph.boxes:
        return Drawing(prefix, missing=True)

    def draw(box: Box, x: float, y: float) -> DrawnBox:
        listed = [styles[place] for place in (box.place, *box.inner) if place in styles]
        style = next((each for each in listed if each.sign), listed[0] if listed else StyledBox("", ""))
        return _drawn(box, x, y, [style.style], style.sign, rows.get(box.place, ""))

    rows = _anchors_of_nodes(graph, prefix)
    pieces = tuple(_pieces(graph, draw))
    large = len(graph.boxes) > MAX_PRINTED_BOXES
    return Drawing(
        prefix, f"{escape(title)}: {len(graph.boxes)} boxes", "", pieces, small=not large, large=large,
        **_listed_nodes(graph, prefix),
    )  # fmt: skip


def _short(text: str) -> str:
    shown, half = escape(text), MAX_NAME_CHARACTERS // 2
    return shown if len(shown) <= MAX_NAME_CHARACTERS else f"{shown[:half]}\u2026{shown[-half + 1 :]}"
