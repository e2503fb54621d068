"""Pages for everybody: contrast by WCAG 2.2 AA, headings in order, labels, and drawings that say it without colour."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from pathlib import Path

import pytest

import sonnx
from sonnx.cli.main import run
from sonnx.report import graph_drawing
from sonnx.report.html import TEMPLATES
from sonnx.report.stacked_tables import stacked
from tests.support.cases import each_case
from tests.support.paths import ROOT
from tests.support.report_pages import Page

pytestmark = pytest.mark.usefixtures("runtimes_in_this_process")
"""What is said of a runtime is tested here, not what one may do to its process."""
EXAMPLES = ROOT / "examples"
STYLE = (TEMPLATES / "style.css").read_text("utf-8")
TEXT_CONTRAST, SHAPE_CONTRAST = 4.5, 3.0
"""Success criteria 1.4.3 and 1.4.11."""
TEXTS = ("text", "soft", "link", "fail", "open", "pass")
GROUNDS = ("page", "panel")
ON_COLOURS = [(name, f"{name}-back") for name in ("fail", "open", "pass")]
SHAPES = ("soft", "fail", "open", "pass", "link")
"""What frames, dots and lines are drawn in."""


# ------------------------------------------------------------------ contrast


def palettes() -> dict[str, dict[str, str]]:
    """The colours of the style for light and dark screens and for paper."""
    light, dark, paper = (
        dict(re.findall(r"--([\w-]+): (#[0-9a-f]+);", block))
        for block in re.findall(r":root \{(.*?)\}", STYLE, re.DOTALL)
    )
    return {"light": light, "dark": light | dark, "paper": light | paper}


def luminance(colour: str) -> float:
    """The relative luminance of WCAG of #rgb or #rrggbb."""
    digits = colour[1:] if len(colour) == 7 else "".join(each * 2 for each in colour[1:])
    channels = [int(digits[place : place + 2], 16) / 255 for place in (0, 2, 4)]
    red, green, blue = (each / 12.92 if each <= 0.04045 else ((each + 0.055) / 1.055) ** 2.4 for each in channels)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(first: str, second: str) -> float:
    high, low = sorted((luminance(first), luminance(second)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def test_contrast_of_known_colours() -> None:
    """The examples of the specification: black on white, and the lightest grey that passes on white."""
    assert contrast("#000", "#ffffff") == pytest.approx(21)
    assert contrast("#767676", "#fff") > 4.5 > contrast("#777777", "#fff")


def test_every_text_and_shape_has_enough_contrast() -> None:
    for medium, colours in palettes().items():
        texts = [(text, ground) for text in TEXTS for ground in GROUNDS]
        texts += [
            *ON_COLOURS,
            *(("text", ground) for _, ground in ON_COLOURS),
            *(("soft", ground) for _, ground in ON_COLOURS),
        ]
        for text, ground in texts:
            found = contrast(colours[text], colours[ground])
            assert found >= TEXT_CONTRAST, f"{medium}: {text} on {ground} has {found:.2f}"
        for shape in SHAPES:
            assert min(contrast(colours[shape], colours[ground]) for ground in GROUNDS) >= SHAPE_CONTRAST


def test_every_colour_of_the_style_is_of_the_palette() -> None:
    rules = re.sub(r":root \{.*?\}", "", STYLE, flags=re.DOTALL)
    assert re.findall(r"(?<!&)#[0-9a-f]{3,6}\b", rules) == []
    assert {*re.findall(r"var\(--([\w-]+)\)", rules)} <= palettes()["light"].keys()


# ------------------------------------------------------------------ structure


@cache
def pages(kind: str) -> str:
    """A page of each kind, of the models of the examples."""
    classifier, conforming = EXAMPLES / "classifier.onnx", EXAMPLES / "conforming.onnx"
    symbolic = EXAMPLES / "symbolic.onnx"
    made = {
        "a failing check": lambda: sonnx.check(classifier, drawn=True).to_format("html"),
        "a conforming check": lambda: sonnx.check(conforming, drawn=True).to_format("html"),
        "fix": lambda: sonnx.fix(classifier, bind={"batch": 1}, samples=1).to_format("html"),
        "equivalent": lambda: sonnx.equivalent(conforming, conforming, drawn=True).to_format("html"),
        "diff": lambda: sonnx.diff(classifier, conforming, drawn=True).to_format("html"),
        "prove": lambda: sonnx.prove(symbolic).to_format("html"),
        "compare": lambda: sonnx.compare(conforming, "reference", max_ulp=4, every_node=True).to_format("html"),
        "bound": lambda: sonnx.bound(conforming, ["scores=[0,1]", "floor=[0,1]"], max_error=0.5).to_format("html"),
    }
    return made[kind]()


KINDS = ("a failing check", "a conforming check", "fix", "equivalent", "diff", "prove", "compare", "bound")


def misplaced(page: Page) -> Iterator[str]:
    """What a reader of the structure trips over."""
    levels = [int(tag[1]) for tag, _ in page.used if re.fullmatch(r"h\d", tag)]
    if levels[:1] != [1] or levels.count(1) != 1 or any(after > before + 1 for before, after in pairwise(levels)):
        yield f"headings of the levels {levels}"
    for tag, attributes in page.used:
        if tag == "html" and not attributes.get("lang"):
            yield "a page without a language"
        if tag == "th" and not attributes.get("scope"):
            yield "a head of a table without a scope"
        if tag == "svg" and not (attributes.get("role") and attributes.get("aria-label")):
            yield "a drawing without a name"
        if "tabindex" in attributes:
            yield "another order for the keyboard"


@each_case("kind", KINDS)
def test_structure(kind: str) -> None:
    page = Page(pages(kind))
    assert [*misplaced(page)] == []
    labels = [tag for tag, _ in page.used if tag in ("label", "input")]
    assert all(pair == ("label", "input") for pair in zip(labels[::2], labels[1::2], strict=True)), (
        "a choice has a label"
    )
    assert page.text.strip()


def test_a_skipped_level_is_found() -> None:
    assert [*misplaced(Page('<html lang="en"><h1>a</h1><h3>b</h3></html>'))] == ["headings of the levels [1, 3]"]


def test_the_pages_of_a_pack(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Their structure; and every file of the pack is linked from its first page."""
    monkeypatch.chdir(tmp_path)
    assert run(["audit", str(EXAMPLES / "conforming.onnx"), "--output", "pack"]) == 0
    for path in Path("pack").glob("*.html"):
        assert [*misplaced(Page(path.read_text("ascii")))] == [], path.name
    first = Page(Path("pack/index.html").read_text("ascii"))
    linked = {attributes.get("href") for tag, attributes in first.used if tag == "a"}
    files = {path.relative_to("pack").as_posix() for path in Path("pack").rglob("*") if path.is_file()}
    assert files - {"index.html"} <= linked


# ------------------------------------------------------------------ narrow screens


TABLE = '<table{}><thead><tr><th scope="col">a</th><th scope="col" class="number">b</th></tr></thead><tbody>'


def test_each_cell_has_the_head_of_its_column() -> None:
    plain = (
        TABLE.format("") + '<tr><td>1</td><td class="number">2</td></tr><tr><td>3</td><td>4</td></tr></tbody></table>'
    )
    said = stacked(f"<p>x</p>{plain}")
    assert re.findall(r'<td data-head="(\w)"( class="number")?>(\d)', said) == [
        ("a", "", "1"), ("b", ' class="number"', "2"), ("a", "", "3"), ("b", "", "4"),
    ]  # fmt: skip
    assert said.startswith('<p>x</p><table class="stacks"><thead>')
    assert stacked(TABLE.format(' class="prose"') + "</table>").startswith('<table class="stacks prose">')


def test_tables_without_heads_and_matrices_stay() -> None:
    for page in (
        "<table><tbody><tr><td>1</td></tr></tbody></table>",
        TABLE.format(' class="matrix"') + "<td>1</td></table>",
    ):
        assert stacked(page) == page


@each_case("kind", KINDS)
def test_every_table_with_heads_is_stacked(kind: str) -> None:
    said = pages(kind)
    tables = re.findall(r"<table([^>]*)><thead>", said)
    assert all("stacks" in attributes for attributes in tables)
    assert said.count("<td>") == 0 or "<tbody>" in said


# ------------------------------------------------------------------ drawings


def drawn_boxes(kind: str) -> list[tuple[str, str, str]]:
    """Style, title and texts of each box of a page."""
    pytest.importorskip(graph_drawing.LIBRARY)
    found = re.findall(
        r'<g class="box([\w -]*)"><title>([^<]*)</title>.*?((?:<text[^>]*>[^<]*</text>)+)</g>', pages(kind)
    )
    return [(style.strip(), title, re.sub(r"<[^>]*>", "|", texts)) for style, title, texts in found]


def test_a_box_states_operator_shape_and_attributes() -> None:
    said = drawn_boxes("a conforming check")
    assert ("", "graph/node[1] ArgMax; int64 [1]; axis=1; keepdims=0; select_last_index=0") in [
        (style, title) for style, title, _ in said
    ]
    assert any("ArgMax" in texts and "int64 [1]" in texts for _, _, texts in said)


def test_a_box_leads_to_its_findings_or_its_row() -> None:
    pytest.importorskip(graph_drawing.LIBRARY)
    said = pages("a conforming check")
    links = re.findall(r'<a href="#([\w-]+)"><g class="box', said)
    assert len(links) == 2 and all(f'<tr id="{link}">' in said for link in links)


def test_fix_shows_both_graphs_with_what_changed() -> None:
    """Identity is gone, nodes with written defaults have changed, Relu has not; a sign says the same without colour."""
    said = {(style, texts.split("|")[1].strip()) for style, _, texts in drawn_boxes("fix")}
    assert {("shade fail", "- Identity"), ("shade open", "~ Conv"), ("", "Relu")} <= said
    assert [texts for style, _, texts in drawn_boxes("fix") if "Identity" in texts and style != "shade fail"] == []


def test_equivalent_shows_matched_nodes_grey() -> None:
    said = drawn_boxes("equivalent")
    assert {style for style, title, _ in said if "/node[" in title} == {"matched"}
    assert {style for style, title, _ in drawn_boxes("diff") if "/node[" in title} != {"matched"}


def test_a_chart_has_its_limit_as_a_line() -> None:
    said = pages("bound")
    assert '<line class="limit"' in said
    assert ">limit 0.5</text>" in said


def test_a_page_begins_with_a_number_against_its_limit() -> None:
    for kind, words in (("compare", "at most 4 are allowed"), ("bound", "the limit is 0.5")):
        said = pages(kind)
        assert words in said.partition("<h3>")[0]
