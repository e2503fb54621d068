"""The drawn graph: every node once, every edge, and the marks of the findings; no model breaks it."""

from __future__ import annotations

import html
import re
import tomllib
from pathlib import Path
from typing import Any

import onnx
import onnx.parser
import pytest

from sonnx.checker.graph_outline import Box, Outline, is_drawable, outline
from sonnx.checker.request import NOT_DRAWN, CheckRequest, check_model
from sonnx.checker.verdicts import Verdict
from sonnx.evidence.verification import model_bytes
from sonnx.model.ir import Model
from sonnx.model.reader import read
from sonnx.profile.cases import all_cases
from sonnx.report import graph_drawing as drawn
from sonnx.report.check_run import CheckRun
from sonnx.report.html import render
from sonnx.report.repeated_blocks import REPEATED, blocks_drawn_once
from tests.support import families
from tests.support.cases import DEEP, each_case, spread
from tests.support.paths import DATA
from tests.support.report_pages import Page

LIGHT = Path(onnx.__file__).parent / "backend" / "test" / "data" / "light"
DRAWINGS = tomllib.loads((DATA / "drawings.toml").read_text("utf-8"))["drawing"]
TEXT = DRAWINGS[0]["model"]


def model(text: str = TEXT) -> Model:
    return read(onnx.parser.parse_model(text).SerializeToString())


def page(source: Model) -> str:
    return render(CheckRun([check_model(source, "", CheckRequest(), "m", drawn=True)], code=1))


@each_case("drawing", DRAWINGS, ids=lambda drawing: drawing["title"])
def test_outline_of_a_small_graph(drawing: dict[str, Any]) -> None:
    found = outline(model(drawing["model"]))
    assert [[box.place, box.name, box.operator, *box.inner] for box in found.boxes] == [
        [place, name, operator, *inner] for place, name, operator, _, *inner in drawing["boxes"]
    ]
    assert [*map(list, found.edges)] == drawing["edges"]
    assert found.backward == drawing.get("backward", 0)


@each_case("drawing", DRAWINGS, ids=lambda drawing: drawing["title"])
def test_the_page_has_each_box_with_its_mark(drawing: dict[str, Any]) -> None:
    pytest.importorskip(drawn.LIBRARY)
    said = boxes(page(model(drawing["model"])))
    marks = {title.split()[0]: re.sub(r" ?\br\d+", "", classes) for classes, title in said}
    assert len(said) == len(marks)
    assert marks == {place: mark for place, _, _, mark, *_ in drawing["boxes"]}


def test_outline_holds_every_node_once_and_goes_forward() -> None:
    models = [read(path) for path in spread(sorted(LIGHT.glob("*.onnx")), 2)]
    models += [read(model_bytes(case)) for case in spread(all_cases(), 60)]
    for each in models:
        found = outline(each)
        places = [place for box in found.boxes for place in (box.place, *box.inner) if "/node[" in place]
        assert sorted(places) == sorted(f"graph/node[{index}]" for index in range(len(each.graph.nodes)))
        assert all(0 <= start < end < len(found.boxes) for start, end in found.edges)


def test_without_the_library_the_page_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(drawn, "find_spec", lambda _: None)
    said = page(model())
    assert "Not drawn" in said
    assert "<svg" not in said


def boxes(text: str) -> list[tuple[str, str]]:
    """Class and title of each box."""
    return re.findall(r'<g class="box ?([a-z0-9 -]*)"><title>([^<]*)</title>', text)


@pytest.fixture
def library() -> None:
    pytest.importorskip(drawn.LIBRARY)


@pytest.mark.usefixtures("library")
@pytest.mark.parametrize("name", ["squeezenet", "resnet50", "inception_v1"] if DEEP else ["squeezenet"])
def test_real_models_are_drawn_whole(name: str) -> None:
    report = check_model(read(LIGHT / f"light_{name}.onnx"), "", CheckRequest(), "m", drawn=True)
    said = render(CheckRun([report], code=1))
    Page(said)
    found = boxes(said)
    assert report.outline is not None
    shown = blocks_drawn_once(report.outline)
    assert len(shown.boxes) < len(report.outline.boxes), "equal blocks are drawn once"
    assert sorted(title.split()[0] for _, title in found) == sorted(box.place for box in shown.boxes)
    assert said.count("<path") >= len(shown.edges)
    failing = {each.where.place for each in report.findings if each.verdict is Verdict.FAIL}
    inside = {box.place: failing.intersection((box.place, *box.inner)) for box in shown.boxes}
    assert all(("fail" in kind) == bool(inside[title.split()[0]]) for kind, title in found)
    heights = [int(height) for height in re.findall(r'<svg [^>]*height="(\d+)"', said)]
    assert heights
    assert max(heights) <= drawn.LAYERS_PER_PIECE * drawn.LAYER + 8 <= 900, "every piece fits a page"


def chain(operators: str) -> Outline:
    """A chain of boxes, each a letter, behind an input."""
    boxes = [Box("graph/input[0]", "x", "input")]
    boxes += [Box(f"graph/node[{index}]", "", letter) for index, letter in enumerate(operators)]
    return Outline(tuple(boxes), tuple((index, index + 1) for index in range(len(operators))))


BLOCKS = {
    "abc" * 3: ["a", "b", "c", "2 × block above"],
    "x" + "abc" * 4 + "y": ["x", "a", "b", "c", "3 × block above", "y"],
    "abc" * 3 + "de" * 5: ["a", "b", "c", "2 × block above", "d", "e", "4 × block above"],
    "a" * 12: ["a", "11 × block above"],
    "abcabd" * 2: [*"abcabdabcabd"],
    "ab" * 4: [*"abababab"],
    "abcdefgh": [*"abcdefgh"],
}
"""Operators of a chain, and the boxes that are drawn: blocks of nine boxes in all, at least three times."""


@each_case(("operators", "drawn_boxes"), [*BLOCKS.items()])
def test_equal_blocks_are_drawn_once(operators: str, drawn_boxes: list[str]) -> None:
    graph = chain(operators)
    found = blocks_drawn_once(graph)
    assert [box.operator for box in found.boxes[1:]] == drawn_boxes
    places = [place for box in found.boxes for place in (box.inner if REPEATED in box.operator else (box.place,))]
    assert places == [box.place for box in graph.boxes], "no node is lost"
    assert all(start < end for start, end in found.edges)
    assert {end for _, end in found.edges} == {*range(1, len(found.boxes))}


def test_blocks_that_read_elsewhere_are_not_equal() -> None:
    """In the last block the second node reads two boxes before it."""
    graph = chain("abc" * 4)
    edges = tuple((start - 1, end) if end == 11 else (start, end) for start, end in graph.edges)
    found = blocks_drawn_once(Outline(graph.boxes, edges))
    assert [box.operator for box in found.boxes[1:]] == ["a", "b", "c", "2 × block above", "a", "b", "c"]


@pytest.mark.usefixtures("library")
def test_a_long_network_has_a_page_that_can_be_read() -> None:
    """The size of its page, and a drawing of a few pieces: `DenseNet-121` has 670 boxes in four runs of blocks."""
    report = check_model(read(LIGHT / "light_densenet121.onnx"), "", CheckRequest(), "m", drawn=True)
    said = render(CheckRun([report], code=1))
    assert len(said) < 600_000
    assert len(re.findall("<svg ", said)) < 10
    assert [f"{number} × block above" in html.unescape(said) for number in (5, 11, 23, 15)] == [True] * 4


@pytest.mark.usefixtures("library")
def test_no_case_breaks_the_page() -> None:
    """One page for each drawing: words do not change it, other signs do."""
    seen = set()
    for case in spread(all_cases(), 40):
        report = check_model(read(model_bytes(case)), "", CheckRequest(), "m", drawn=True)
        marks = sorted({(each.where.place, each.verdict) for each in report.findings})
        drawing = re.sub(r"\w+", "w", f"{report.outline}", flags=re.ASCII), len(marks), *marks[:1]
        if drawing not in seen and report.outline is not None:
            seen.add(drawing)
            said = render(CheckRun([report], code=1))
            Page(said)
            assert said.isascii()
            assert len(boxes(said)) == len(report.outline.boxes)
    assert len(seen) > 15


@pytest.mark.usefixtures("library")
def test_names_of_a_model_are_text_only() -> None:
    source = onnx.parser.parse_model(TEXT)
    for index, node in enumerate(source.graph.node):
        node.name = '"/><script>a()</script>\u202e\x1b]]>' + str(index)
    said = page(read(source.SerializeToString()))
    Page(said)
    assert "<script" not in said
    assert "\x1b" not in said


def test_a_graph_with_long_edges_is_not_drawn() -> None:
    """Each node reads the input of the graph: the layout would take time by the square of the nodes."""
    source = read(families.MAKERS["chain_of_equal_nodes"](300))
    report = check_model(source, "", CheckRequest(), "m", drawn=True)
    assert report.outline is None
    assert NOT_DRAWN in report.notes
    assert not is_drawable(outline(source))
    assert is_drawable(outline(model()))


def test_parts_without_a_common_edge_are_laid_out_alone() -> None:
    boxes = tuple(outline(model()).boxes[:1] * 6)
    parts = drawn._connected(Outline(boxes, ((0, 2), (1, 2), (3, 5))))
    assert parts == [[(0, 2), (1, 2)], [(3, 5)]]
