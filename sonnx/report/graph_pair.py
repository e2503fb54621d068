"""The graphs of two models side by side, for pages: what became of each node, and what is shown equal."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from enum import StrEnum

from msgspec import Struct

from sonnx.base.errors import Stop
from sonnx.checker.graph_outline import Outline, is_drawable, outline
from sonnx.equivalence.diff.changes import NodeChange, NodeStatus
from sonnx.equivalence.diff.difference import node_changes
from sonnx.equivalence.options import PairOptions
from sonnx.equivalence.result import Answer
from sonnx.equivalence.sides import Side
from sonnx.model.ir import Model
from sonnx.report.document import Picture

KINDS = {NodeStatus.NEW: "pass", NodeStatus.GONE: "fail", NodeStatus.CHANGED: "open", NodeStatus.MOVED: "deviated"}
MARKS = {NodeStatus.NEW: "+", NodeStatus.GONE: "-", NodeStatus.CHANGED: "~", NodeStatus.MOVED: ">"}
"""The styles of the drawing, and the signs that say the same without colour."""
UNMATCHED = "?"


class Emphasis(StrEnum):
    """What a drawing of two graphs shows: its legend."""

    CHANGES = (
        "+ (green): new. - (red): gone. ~ (yellow): changed. > (blue): moved. Values of a box with a dashed frame are "
        "not shown equal."
    )
    MATCHES = (
        "Grey: the values are shown equal to values of the other model. ? (yellow, dashed): no value of the other "
        "model is shown equal."
    )


class Outlines(Struct, frozen=True):
    """The outlines of both graphs, None where one is too large to be drawn."""

    first: Outline | None = None
    second: Outline | None = None

    @classmethod
    def of(cls, first: Model, second: Model) -> Outlines:
        """The outlines of two models."""
        graphs = [outline(model) for model in (first, second)]
        return cls(*(graph if is_drawable(graph) else None for graph in graphs))


NOT_DRAWN = Outlines()


class PairedGraphs(Struct, frozen=True):
    """Two graphs with what became of their nodes."""

    outlines: Outlines
    nodes: tuple[NodeChange, ...]

    @classmethod
    def of(cls, first: Side, second: Side, options: PairOptions) -> PairedGraphs:
        """The graphs of two models; without nodes where the models cannot be compared."""
        try:
            nodes = tuple(node_changes(first, second, options))
        except Stop:
            nodes = ()
        return cls(Outlines.of(first.model, second.model), nodes)


def pictures(
    nodes: Iterable[NodeChange], outlines: Outlines, names: tuple[str, str], emphasis: Emphasis
) -> Iterator[Picture]:
    """The drawing of both graphs; none where one cannot be drawn."""
    if outlines.first is None or outlines.second is None:
        return
    from sonnx.report.graph_drawing import StyledBox, outline_drawing  # only pages draw
    from sonnx.report.html import side_by_side

    styles: tuple[dict[str, StyledBox], dict[str, StyledBox]] = ({}, {})
    for change in nodes:
        style, sign = _change_style(change) if emphasis is Emphasis.CHANGES else _match_style(change)
        for node, styles_of_model in zip((change.first, change.second), styles, strict=True):
            if node is not None:
                styles_of_model[f"graph/node[{node.index}]"] = StyledBox(style, sign)
    first, second = (
        outline_drawing(graph, prefix, marks, name)
        for graph, prefix, marks, name in zip(
            (outlines.first, outlines.second), ("first", "second"), styles, names, strict=True
        )
    )
    yield Picture("Both graphs", emphasis.value, side_by_side(first, second))


def _change_style(change: NodeChange) -> tuple[str, str]:
    """The style and the sign of a node: filled where it changed, dashed where its values are not shown equal."""
    kind = KINDS.get(change.status, "")
    unlike = "unlike" if change.value is Answer.UNDECIDED else ""
    return " ".join(filter(None, (kind and f"shade {kind}", unlike))), MARKS.get(change.status, "")


def _match_style(change: NodeChange) -> tuple[str, str]:
    matched = change.value in (Answer.IDENTICAL, Answer.ROUNDING)
    return ("matched", "") if matched else ("shade open unlike", UNMATCHED)
