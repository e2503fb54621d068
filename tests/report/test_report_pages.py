"""The reports that are read by people and CI: JUnit XML, GitHub annotations, Markdown, HTML."""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from pathlib import Path, PurePath
from typing import Any
from xml.etree import ElementTree

import pytest

import sonnx
from sonnx.cli import check_reports
from sonnx.cli.main import run
from sonnx.report.html import TEMPLATES, _page_names
from sonnx.report.rendered import render_document
from tests.support.paths import ROOT
from tests.support.report_pages import COMMAND, VOID, Page, outside_code, unescaped

pytestmark = pytest.mark.usefixtures("runtimes_in_this_process")
"""What is said of a runtime is tested here, not what one may do to its process."""
# ------------------------------------------------------------------ JUnit


def test_junit_has_one_case_for_each_rule(various: list[str], printed: Any) -> None:
    document = json.loads(printed("json", *various))
    said = printed("junit", *various)
    assert said.isascii()
    root = ElementTree.fromstring(said)
    suites = root.findall("testsuite")
    assert len(suites) == len(various)
    for report, suite in zip(document["reports"], suites, strict=False):
        rules = [case.get("name") for case in suite.findall("testcase")]
        assert sorted(rules) == sorted({count["rule"] for count in report["counts"]})
        shown = [case for case in suite.findall("testcase") if case.find("skipped") is None]
        lines = [line for case in shown for text in case.itertext() for line in text.splitlines()]
        assert len(lines) == len(report["findings"])
        failing = {each["rule"] for each in report["findings"] if each["verdict"] == "fail"}
        assert {case.get("name") for case in suite.findall("testcase[failure]")} == failing
        others = {each["rule"] for each in report["findings"]} - failing
        assert {case.get("name") for case in suite.findall("testcase[error]")} == others
    for part in [root, *suites]:
        for key, element in (("tests", ""), ("failures", "/failure"), ("errors", "/error"), ("skipped", "/skipped")):
            assert int(part.get(key, "")) == len(part.findall(f".//testcase{element}"))
    assert [suite.findall("testcase/error")[0].get("type") for suite in suites[-2:]] == ["unreadable"] * 2


def test_junit_has_no_open_answer_as_a_skip(various: list[str], printed: Any) -> None:
    def errors(*arguments: str) -> str | None:
        return ElementTree.fromstring(printed("junit", *arguments)).get("errors")

    said = [errors("open.onnx"), errors("run_time.onnx"), errors("run_time.onnx", "--accept-assumptions")]
    assert said == ["1", "2", "0"]


# ------------------------------------------------------------------ GitHub


def test_every_line_is_one_workflow_command(various: list[str], printed: Any) -> None:
    document = json.loads(printed("json", *various))
    commands = [COMMAND.fullmatch(line) for line in printed("github", *various).splitlines()]
    assert all(commands)
    said = [tuple(map(unescaped, command.groups())) for command in commands if command]
    assert [level for level, _, title, _ in said if title == "sonnx: unreadable"] == ["error", "error"]
    assert len([title for _, _, title, _ in said if title == "sonnx: verdict"]) == len(document["reports"])
    roots = [
        (PurePath(report["model"]).as_posix(), each)
        for report in document["reports"]
        for each in report["findings"]
        if not each["because_of"]
    ]
    wanted = {
        ("error" if each["verdict"] == "fail" else "notice", file, f"{each['rule']}: {each['verdict']}")
        for file, each in roots
    }
    assert {each[:3] for each in said if not each[2].startswith("sonnx: ")} == wanted
    for _, each in roots:
        assert any(each["message"] in text for _, _, _, text in said)


# ------------------------------------------------------------------ Markdown


def test_markdown_keeps_the_text_of_a_model_in_code_spans(various: list[str], printed: Any) -> None:
    document = json.loads(printed("json", *various))
    said = printed("markdown", *various)
    bare = re.sub(r"\\.", "", "\n".join(map(outside_code, said.splitlines())))
    assert not re.search(r"[<>`@]|\]\(|script|e\.org", bare)
    table = [line for line in said.splitlines() if line.startswith("|")]
    assert {len(re.sub(r"\\.", "", row).split("|")) for row in table} == {10}
    assert len(table) == len(various) + 2
    for report in document["reports"]:
        for finding in report["findings"]:
            assert finding["because_of"] or finding["message"] in said


# ------------------------------------------------------------------ HTML

ELEMENTS = {
    "html", "head", "title", "style", "body", "main", "nav", "h1", "h2", "h3", "section", "div", "p", "span", "b", "a",
    "code", "svg", "path", "rect", "g", "text", "ul", "li", "dl", "dt", "dd", "table", "thead", "tbody", "tr", "th",
    "td", "details", "summary", "fieldset", "legend", "label", *VOID,
}  # fmt: skip


def test_html_has_only_its_own_elements_and_nothing_from_elsewhere(various: list[str], printed: Any) -> None:
    said = printed("html", *various)
    assert said.isascii()
    page = Page(said)
    assert {tag for tag, _ in page.used} <= ELEMENTS
    for tag, attributes in page.used:
        if tag in ("path", "rect", "text"):
            assert attributes.pop("class", "type") == "type"
            assert all(re.fullmatch(r"[MC0-9. -]+", value or "") for value in attributes.values())
            continue
        allowed = {
            "lang",
            "charset",
            "http-equiv",
            "content",
            "name",
            "class",
            "id",
            "href",
            "open",
            "aria-label",
            "scope",
            "data-head",
        }
        shown = {"viewbox", "width", "height", "role"} if tag == "svg" else set()
        assert attributes.keys() <= allowed | shown | ({"type", "checked"} if tag == "input" else set())
        assert (attributes.get("href") or "#").startswith("#")
    assert not re.search(r"url\(|@import|https?:", (TEMPLATES / "style.css").read_text("utf-8"))
    anchors = [f"#{each['id']}" for _, each in page.used if "id" in each]
    assert len(set(anchors)) == len(anchors)
    assert {each["href"] for _, each in page.used if "href" in each} <= set(anchors)


def test_html_says_what_the_json_says(various: list[str], printed: Any) -> None:
    document = json.loads(printed("json", *various))
    page = Page(printed("html", *various))
    text = " ".join(page.text.split())
    for report in document["reports"]:
        if report["model"].isprintable():
            assert report["model"] in text
        assert f"{report['coverage']['evaluated']} of {report['coverage']['applicable']}" in text
        for each in report["findings"]:
            assert " ".join(each["message"].split()) in text
            assert each["rule"] in text
        assert all(note in text for note in report["notes"])
        assert report["edition"]["title"] in text
    for name in various[:-2]:
        assert hashlib.sha256(Path(name).read_bytes()).hexdigest() in text
    assert text.count("unreadable: nothing was checked") == len(document["unreadable"])
    assert "-data.rank <= a < data.rank for a in axes" in text.partition("Assumptions")[2]
    assert "Relu × 1" in text


def test_html_of_a_part_does_not_look_green(various: list[str], printed: Any) -> None:
    banner = re.compile('<div class="banner (\\w+)">')
    assert banner.findall(printed("html", "fine.onnx")) == ["pass"]
    assert banner.findall(printed("html", "fine.onnx", "--select", "Max")) == ["open"]
    assert banner.findall(printed("html", "exported.onnx", "absent.onnx")) == ["fail", "fail"]
    assert banner.findall(printed("html", "run_time.onnx", "--accept-assumptions")) == ["open"]


def test_a_folder_has_an_index_and_a_page_for_each_model(various: list[str], capsys: Any) -> None:
    together = ["check", "--jobs", "0", *various]  # in this process
    code = run([*together, "--format", "json", "--output", "report.json"])
    assert run([*together, "--pages", "pages"]) == code
    document = json.loads(Path("report.json").read_text("utf-8"))
    index = Page(Path("pages/index.html").read_text("ascii"))
    links = [each["href"] or "" for tag, each in index.used if tag == "a"]
    assert len(links) == len(document["reports"])
    for link, report in zip(links, document["reports"], strict=True):
        page = Page((Path("pages") / link).read_text("ascii"))
        assert all(" ".join(each["message"].split()) in " ".join(page.text.split()) for each in report["findings"])
    counted = Counter(finding["rule"] for report in document["reports"] for finding in report["findings"]
                      if finding["because_of"] is None)  # fmt: skip
    assert counted
    assert all(rule in index.text for rule in counted), "the index has the findings by rule"
    assert run([*together, "--pages", "pages"]) == 2
    assert "pages" in capsys.readouterr().err


def test_the_filter_has_a_style_for_each_rule_and_verdict(printed: Any, various: list[str]) -> None:
    """A choice in the page hides what has another style; every result has the styles of its rule and verdict."""
    said = printed("html", "exported.onnx")
    [report] = json.loads(printed("json", "exported.onnx"))["reports"]
    roots = {each["rule"] for each in report["findings"] if not each["because_of"]}
    labels = re.findall(r'class="only show-(r\d+)"> ([\w.-]+) \(\d+\)', said)
    assert {name for _, name in labels} == roots
    for style, name in labels:
        assert f".model:has(.show-{style}:checked) .finding:not(.{style}) {{ display: none; }}" in said
        groups = re.findall(
            rf'<details class="rule finding ([^"]+)"[^>]*><summary><span[^>]*>\w+</span> <b>{name}<', said
        )
        assert groups == [f"{style} is-fail"]


def test_pages_of_rules_are_linked(printed: Any, various: list[str]) -> None:
    address = "https://docs.example/operators/max.html#max-broadcastable"
    options = ("exported.onnx", "--docs", "https://docs.example/")
    assert f'<a href="{address}">' in printed("html", *options)
    assert address in printed("text", *options)
    declared = json.loads(printed("sarif", *options))["runs"][0]["tool"]["driver"]["rules"]
    assert {each["helpUri"] for each in declared if each["id"] == "Max.broadcastable"} == {address}
    assert "docs.example" not in printed("html", "exported.onnx")
    assert run(["check", *options, "--format", "json"]) == run(["check", "exported.onnx", "--docs", "x"]) == 2


def test_sarif_links_the_rules_of_the_published_site(
    various: list[str], printed: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the metadata of the package name a site; this checkout names none."""

    def links() -> set[str | None]:
        declared = json.loads(printed("sarif", "exported.onnx"))["runs"][0]["tool"]["driver"]["rules"]
        return {each.get("helpUri") for each in declared if each["id"] == "explicit-shape"}

    assert links() == {None}
    monkeypatch.setattr(check_reports, "published_rules", lambda: "https://docs.example")
    assert links() == {"https://docs.example/rules/general.html#explicit-shape"}


def test_a_model_keeps_its_page_when_others_come_or_go() -> None:
    names = ["a/net.onnx", "b/net.onnx", "other.onnx", "index.onnx", "a/NET.onnx"]
    pages = dict(zip(names, _page_names(names), strict=True))
    assert pages["other.onnx"] == "other.html"
    assert len({page.lower() for page in pages.values()}) == len(names)
    assert "index.html" not in pages.values()
    assert pages | dict(zip(names[:2], _page_names(names[:2]), strict=True)) == pages


def test_a_conforming_page_says_what_was_checked_in_one_section(various: list[str], printed: Any) -> None:
    page = Page(printed("html", "fine.onnx"))
    text = " ".join(page.text.split())
    assert "Every applicable rule was evaluated everywhere, and all hold." in text
    assert "What was checked" in text
    assert "Not checked, not decided" not in text and "No rule fails and none is open" not in text
    assert "Max" in text.partition("What was checked")[2]
    failing = " ".join(Page(printed("html", "exported.onnx")).text.split())
    assert "What was checked" not in failing and "Not checked, not decided" in failing


def test_what_fails_stands_before_the_chart_and_all_cases(printed: Any) -> None:
    said = render_document("html", sonnx.compare(ROOT / "examples" / "conforming.onnx", "reference").document())
    order = [said.index(heading) for heading in ("What does not pass", "Judgement", "All cases")]
    assert order == sorted(order)
    assert "judgement:" not in said


def test_the_chart_has_the_distances_that_are_not_0() -> None:
    pytest.importorskip("onnxruntime")
    model = ROOT / "examples" / "classifier.onnx"
    compared = sonnx.compare(model, bind={"batch": 1}, unchecked=True, every_node=True, class_runs=0, runs=1, max_ulp=4)
    apart = [row for row in compared.rows if row.distance is not None and (row.distance.ulp or row.distance.specials)]
    said = render_document("html", compared.document())
    assert 0 < said.count("<circle") == len(apart) < len(compared.rows)
    assert '<line class="limit"' in said and ">limit: 4 ulp</text>" in said
    broken = {(id(violation.row)) for violation in compared.broken_bounds if violation.row is not None}
    assert said.count('class="dot wrong"') == len(broken) > 0
