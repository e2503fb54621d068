"""What `prove` and `compare` find says the same in every format, in valid files, with the same exit code."""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import replace
from pathlib import Path, PurePath
from typing import Any
from xml.etree import ElementTree

import jsonschema
import onnx
import onnx.parser
import pytest
from msgspec import structs
from onnx import TensorProto, helper

from sonnx.base.escaping import escape
from sonnx.checker.conditions import Conditions
from sonnx.checker.verdicts import Where
from sonnx.cli.main import run
from sonnx.executor.class_runs import ClassDeviation, ClassRuns
from sonnx.executor.comparison import (
    ACCUMULATED,
    CLASS_NODE,
    CLASS_OUTPUT,
    EQUAL,
    OUTPUT,
    BoundViolation,
    Comparison,
    Row,
)
from sonnx.executor.distance import Distance, SpecialMismatch
from sonnx.profile import catalogue
from sonnx.profile.index import rules_by_slug
from sonnx.proofs import registry
from sonnx.prover import driver
from sonnx.prover.model_walk import prove_model
from sonnx.prover.options import ProofOptions
from sonnx.report.comparison import ComparisonReport
from sonnx.report.document import Document
from sonnx.report.formats import DOCUMENT_FORMATS, RESULT_FORMATS
from sonnx.report.model_proof import ProofReport
from sonnx.report.rendered import render_document
from sonnx.report.rules import rules_of
from sonnx.report.theorems import TheoremReport
from sonnx.rewriter import fix_report
from sonnx.rewriter.fix import fix
from tests.support.cases import spread
from tests.support.editions import NEWEST
from tests.support.model_texts import HOSTILE
from tests.support.paths import ROOT
from tests.support.report_pages import COMMAND, Page, outside_code, unescaped
from tests.support.sarif import official

pytestmark = pytest.mark.usefixtures("runtimes_in_this_process")
"""What is said of a runtime is tested here, not what one may do to its process."""
SYMBOLIC = str(ROOT / "examples" / "symbolic.onnx")
LEVELS = {"fail": "error", "open": "none", "notApplicable": "none"}

# ------------------------------------------------------------------ results, one of each kind


@pytest.fixture(scope="module")
def theorems() -> Document:
    """Proved, refuted as stated, refuted otherwise, undecided."""
    wanted = ["built-in.clamped", "broadcast.axis-rule", "broadcast.axis-rules-aligned-left"]
    found = {each.theorem.id: each for each in driver.prove(driver.select(registry.theorems(), wanted))}
    first = found["built-in.clamped"]
    turned = structs.replace(first, theorem=replace(first.theorem, id="built-in.turned", expected="refuted"))
    open_ = structs.replace(first, theorem=replace(first.theorem, id="built-in.open"), obligations=())
    assert [each.status for each in (turned, open_)] == ["proved", "undecided"]
    return TheoremReport((*found.values(), turned, open_)).document()


@pytest.fixture(scope="module")
def proof() -> Document:
    """A model with a rule that is refuted, rules that hold, a rule that waits, and a node that is not asked."""
    model = onnx.load(SYMBOLIC)
    model.graph.node[0].name = HOSTILE
    model.graph.node.append(helper.make_node("Unknown", ["left"], ["more"]))
    return ProofReport.of(prove_model(model.SerializeToString(), ProofOptions(name=HOSTILE, hashed=True))).document()


def distance(
    elements: int, identical: int, ulp: int | None = 0, specials: tuple[SpecialMismatch, ...] = ()
) -> Distance:
    return Distance(elements, identical, elements, ulp, 0.0, 0.5, 0.5, (0, 1), "1.0", "1.5", specials)


ZERO = SpecialMismatch("sign of zero", 2, (3,), "0.0", "-0.0")
DEVIATION = ClassDeviation(
    "nan between", f"{HOSTILE} at [1]", "NaN", 2, (0,), "nan", "1.0", (f"{HOSTILE} = [1.0, nan]",), ("argmax-nan",)
)
ROWS = (
    Row(OUTPUT, "same", type="float", distance=distance(4, 4), where=Where("graph/output[0]", "value", "same")),
    Row(OUTPUT, HOSTILE, type="float", distance=distance(4, 1, 7), where=Where("graph/output[1]", "value", HOSTILE)),
    Row(EQUAL, "far", "Max", distance=distance(4, 3, 9, (ZERO,)), where=Where("graph/node[0]", "node", "n", "Max")),
    Row(EQUAL, "gone", "Max", failures=("run 1: no kernel", "run 2: no kernel")),
    Row(CLASS_OUTPUT, "same", type="float", distance=distance(4, 4), classes=ClassRuns(4, 3, 2)),
    Row(CLASS_NODE, "far", "Max", distance=distance(4, 3, 9, (ZERO,)), classes=ClassRuns(4, deviations=(DEVIATION,))),
    Row(CLASS_NODE, "dead", "Max", failures=("class 'a' of x: gone",), faults=("class 'a' of x: gone",)),
    Row(ACCUMULATED, "whole", "Add", distance=distance(4, 2, None)),
)
BROKEN = [
    BoundViolation("far (on equal inputs) is up to 9 ulp away, more than 8", ROWS[2]),
    BoundViolation("nothing was compared: x"),
]


@pytest.fixture(scope="module")
def comparison() -> Document:
    """Values that are identical, differ, break a bound, were not compared; a run without exact values; the whole."""
    found = Comparison(
        "m.onnx", "a runtime", Conditions("2026-11", digests={"model": "ab"}), "given", 2, ROWS,
        ("run 3: index out of range",),
    )  # fmt: skip
    return ComparisonReport.of(found, broken_bounds=tuple(BROKEN), file="models/m.onnx").document()


@pytest.fixture(scope="module")
def fixed() -> Document:
    """A model with findings that remain, and rewrites of several kinds."""
    model = onnx.load(str(ROOT / "examples" / "as_exported.onnx"))
    model.graph.node[0].name = HOSTILE
    return fix_report.document_of(fix(model.SerializeToString(), samples=0, name=HOSTILE))


@pytest.fixture(params=["theorems", "proof", "comparison", "fixed"])
def found(request: pytest.FixtureRequest) -> Document:
    return request.getfixturevalue(request.param)


def standings(found: Document) -> list[str]:
    return [case.standing for case in found.cases]


def test_every_standing_is_among_them(theorems: Document, proof: Document, comparison: Document) -> None:
    said = [standing for each in (theorems, proof, comparison) for standing in standings(each)]
    assert set(said) == {"pass", "fail", "open", "note", "skipped"}
    verdicts = {case.name: (case.verdict, case.standing) for case in theorems.cases}
    assert verdicts == {
        "built-in.clamped": ("proved", "pass"),
        "broadcast.axis-rule": ("proved", "pass"),
        "broadcast.axis-rules-aligned-left": ("refuted", "pass"),
        "built-in.turned": ("proved", "fail"),
        "built-in.open": ("undecided", "open"),
    }
    said = [(case.criterion, case.verdict, case.standing) for case in comparison.cases]
    assert said == [
        ("outputs", "identical", "pass"),
        ("outputs", "differs", "note"),
        ("class-outputs", "identical", "pass"),
        ("equal-inputs", "broken", "fail"),
        ("equal-inputs", "not compared", "open"),
        ("class-inputs", "differs", "note"),
        ("class-inputs", "not compared", "open"),
        ("accumulated", "differs", "note"),
        ("exact-values", "not compared", "fail"),
        ("exact-values", "skipped", "skipped"),
    ]


def test_a_proof_has_a_case_for_each_rule_that_was_asked_or_waits(proof: Document) -> None:
    said = {(case.criterion, case.verdict, case.standing) for case in proof.cases}
    assert said == {
        ("Max.broadcastable", "refuted", "fail"),
        ("Max.Y-shape", "undecided", "open"),
        ("Max.X-type", "proved", "pass"),
        ("Max.input-count", "proved", "pass"),
        ("every-node-asked", "undecided", "open"),
    }


def test_what_is_open_because_of_others_is_folded_and_counted(proof: Document) -> None:
    assert [(case.criterion, case.standing) for case in proof.cases if case.folded] == [("Max.Y-shape", "open")]
    assert "1 result is open only because of others, for 1 rule" in proof.notes
    for name, said in ((each, render_document(each, proof)) for each in DOCUMENT_FORMATS):
        assert "Max.Y-shape" in said or name in ("text", "github")
        assert "1 result is open only because of others" in said


def test_no_name_of_its_own_is_a_rule_of_the_profile(proof: Document, comparison: Document) -> None:
    assert (proof.criteria.keys() | comparison.criteria.keys()) - rules_by_slug().keys() == {
        "every-node-asked", "outputs", "class-outputs", "equal-inputs", "class-inputs", "accumulated", "exact-values",
        "classes-of-nodes",
    }  # fmt: skip


def test_every_text_is_printable(found: Document) -> None:
    texts = [
        found.title,
        found.subject,
        found.headline,
        found.numbers,
        *found.notes,
        *(said for _, said in found.facts),
    ]
    texts += [text for case in found.cases for text in (case.name, case.sentence, case.verdict)]
    assert all(text.isprintable() for text in texts)


# ------------------------------------------------------------------ the formats


@pytest.mark.parametrize("name", DOCUMENT_FORMATS)
def test_no_character_of_a_model_acts(name: str, found: Document) -> None:
    said = render_document(name, found)
    assert said.endswith("\n")
    assert all(character.isprintable() or character == "\n" for character in said)


def test_sarif_follows_the_official_schema_and_has_each_answer_that_is_no_pass(found: Document) -> None:
    document = json.loads(render_document("sarif", found))
    jsonschema.Draft4Validator(official(), format_checker=jsonschema.FormatChecker()).validate(document)
    [run_] = document["runs"]
    names = [rule["id"] for rule in run_["tool"]["driver"]["rules"]]
    assert names == list(found.criteria)
    wanted = [case for case in found.cases if case.standing != "pass"]
    assert len(run_["results"]) == len(wanted)
    for case, result in zip(wanted, run_["results"], strict=True):
        assert names[result["ruleIndex"]] == result["ruleId"] == case.criterion
        assert result["properties"]["message"] == case.message
        kind = {"fail": "fail", "note": "fail", "open": "open", "skipped": "notApplicable"}[case.standing]
        assert (result["kind"], result["level"]) == (kind, "note" if case.standing == "note" else LEVELS[kind])
        [location] = result["locations"]
        assert location["physicalLocation"]["region"] == {"startLine": 1}
        assert location["logicalLocations"][0]["fullyQualifiedName"]
    assert sum(run_["properties"]["answers"].values()) == len(found.cases)
    prints = [each["partialFingerprints"]["primaryLocationLineHash"] for each in run_["results"]]
    assert len(set(prints)) == len(prints)
    assert run_["invocations"][0]["exitCode"] == found.code


def test_sarif_of_a_model_declares_every_rule_and_states_the_hash(tmp_path: Path, capsys: Any) -> None:
    run(["prove", SYMBOLIC, "--format", "sarif"])
    [run_] = json.loads(capsys.readouterr().out)["runs"]
    declared = {rule["id"] for rule in run_["tool"]["driver"]["rules"]}
    assert {rule.slug for rule in rules_of(catalogue.editions().editions[NEWEST])} < declared
    assert run_["artifacts"][0]["hashes"] == {"sha-256": hashlib.sha256(Path(SYMBOLIC).read_bytes()).hexdigest()}


def test_junit_has_a_case_for_each_name_and_its_worst_answer(found: Document) -> None:
    said = render_document("junit", found)
    assert said.isascii()
    root = ElementTree.fromstring(said)
    assert [suite.get("name") for suite in root] == [part.name for part in found.sections]
    for part, suite in zip(found.sections, root, strict=True):
        assert [case.get("name") for case in suite.iter("testcase")] == list(
            dict.fromkeys(case.name for case in part.cases)
        )
        for element, standing in (("failure", "fail"), ("error", "open"), ("skipped", "skipped")):
            names = {case.get("name") for case in suite.iter("testcase") if case.find(element) is not None}
            assert names == {case.name for case in part.cases if case.standing == standing}
        printed = {case.get("name") for case in suite.iter("testcase") if case.find("system-out") is not None}
        assert printed == {case.name for case in part.cases if case.standing == "note"}
    for key, element in (("tests", ""), ("failures", "/failure"), ("errors", "/error"), ("skipped", "/skipped")):
        assert int(root.get(key, "")) == len(root.findall(f".//testcase{element}"))


def test_every_line_for_github_is_one_workflow_command(found: Document) -> None:
    commands = [COMMAND.fullmatch(line) for line in render_document("github", found).splitlines()]
    assert all(commands)
    head, *rest = [tuple(map(unescaped, (text or "" for text in command.groups()))) for command in commands if command]
    assert found.headline in head[3]
    files = {part.file for part in found.sections for case in part.cases if case.standing != "pass"}
    assert {file for _, file, _, _ in rest} == {PurePath(escape(file)).as_posix() for file in files}
    wanted = {
        ("error" if case.standing == "fail" else "notice", f"{case.criterion}: {case.verdict}")
        for case in found.cases
        if case.standing != "pass" and not case.folded
    }
    assert {(level, title) for level, _, title, _ in rest} == wanted
    for case in found.cases:
        shown = any(case.sentence in text for _, _, _, text in rest)
        assert shown == (case.standing != "pass" and not case.folded)


def test_markdown_has_a_row_for_each_case_and_names_of_models_in_code_spans(found: Document) -> None:
    said = render_document("markdown", found)
    rows = [line for line in said.splitlines() if line.startswith("| ") and not line.startswith("| case |")]
    assert len(rows) == len(found.cases)
    assert {len(re.sub(r"\\.", "", re.sub(r"`[^`]*`", "", row)).split("|")) for row in rows} == {5}
    bare = re.sub(r"\\.", "", "\n".join(map(outside_code, said.splitlines())))
    assert not re.search(r"[<>`@]|\]\(", bare)
    for case in found.cases:
        assert case.standing == "pass" or f"{case.message}" in said


def test_html_shows_each_case_loads_nothing_and_has_no_script(theorems: Document, proof: Document) -> None:
    for found, colour in ((theorems, "fail"), (proof, "fail")):
        said = render_document("html", found)
        assert said.isascii()
        assert re.findall('<div class="banner (\\w+)">', said) == [colour]
        page = Page(said)
        assert not {tag for tag, _ in page.used} & {"script", "img", "link", "iframe"}
        assert not [each for _, each in page.used if each.keys() & {"src", "href", "onclick"}]
        text = " ".join(page.text.split())
        for case in found.cases:
            assert case.name in text
            assert " ".join(case.message.split()) in text
        assert f"{standings(found).count('pass')}of {len(found.cases)} cases pass" in text


def test_an_open_answer_does_not_look_green(theorems: Document) -> None:
    part = structs.replace(
        theorems.sections[-1], cases=tuple(c for c in theorems.cases if c.standing in ("pass", "open"))
    )
    said = render_document("html", structs.replace(theorems, sections=(part,)))
    assert re.findall('<div class="banner (\\w+)">', said) == ["open"]


# ------------------------------------------------------------------ the command line


@pytest.mark.parametrize("name", spread(RESULT_FORMATS, 4))
def test_the_format_of_a_proof_never_changes_the_exit_code_and_repeats(name: str, capsys: Any, tmp_path: Path) -> None:
    assert run(["prove", SYMBOLIC, "--assume", "N==M", "--format", name]) == 0
    capsys.readouterr()
    assert run(["prove", SYMBOLIC, "--format", name]) == 1
    said = capsys.readouterr().out
    assert run(["prove", SYMBOLIC, "--format", name, "--output", str(tmp_path / "report")]) == 1
    assert capsys.readouterr().out == ""
    assert (tmp_path / "report").read_text("utf-8") == said
    assert run(["theorems", "--select", "built-in.clamped", "--format", name]) == 0
    assert "built-in.clamped" in capsys.readouterr().out or name in ("text", "github")


@pytest.fixture
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    text = '<ir_version: 10, opset_import: ["" : 13]> g (float[2] a) => (float[2] y) { y = Max(a) }'
    Path("m.onnx").write_bytes(onnx.parser.parse_model(text).SerializeToString())
    value = helper.make_tensor("a", TensorProto.FLOAT, [2], [1.0, -0.0])
    Path("data").mkdir()
    Path("data/input_0.pb").write_bytes(value.SerializeToString())
    wrong = helper.make_tensor("y", TensorProto.FLOAT, [2], [1.0000001, 0.0])
    Path("data/output_0.pb").write_bytes(wrong.SerializeToString())
    return "m.onnx"


@pytest.mark.parametrize("name", RESULT_FORMATS)
def test_the_format_of_a_comparison_never_changes_the_exit_code(name: str, model: str, capsys: Any) -> None:
    arguments = ["compare", model, "--test-data", "data", "--outputs", "data", "--format", name]
    assert run(arguments) == 0
    capsys.readouterr()
    for bound in (["--max-ulp", "0"], ["--no-special-mismatch"]):
        assert run([*arguments, *bound]) == 1
        said = capsys.readouterr().out
        assert "more than 0" in said or "sign of zero" in said
        assert run([*arguments, *bound, "--output", "report"]) == 1
        assert Path("report").read_text("utf-8") == said


@pytest.mark.parametrize("command", ["check", "prove", "compare"])
def test_a_report_that_cannot_be_written_is_one_sentence_about_its_file(command: str, model: str, capsys: Any) -> None:
    Path("file").write_text("kept")
    before = sorted(map(str, Path().rglob("*")))
    more = ["--runtime", "reference"] if command == "compare" else []
    missing = "No such file or directory; try 'mkdir -p none'"
    for target, reason in (("file/report.html", "Not a directory"), ("none/report.html", missing)):
        assert run([command, model, *more, "--format", "html", "--output", target]) == 2
        said = capsys.readouterr()
        assert (said.out, said.err) == ("", f"sonnx: {target}: {reason}\n")
    assert sorted(map(str, Path().rglob("*"))) == before


@pytest.mark.parametrize("name", spread(RESULT_FORMATS, 4))
def test_a_model_that_does_not_conform_has_the_report_of_the_check(name: str, model: str, capsys: Any) -> None:
    wrong = onnx.load(model)
    wrong.graph.output[0].type.tensor_type.shape.dim[0].dim_value = 3
    onnx.save(wrong, "wrong.onnx")
    assert run(["compare", "wrong.onnx", "--runtime", "reference", "--format", name]) == 1
    said = capsys.readouterr()
    assert run(["check", "wrong.onnx", "--format", name]) == 1
    checked = re.sub(r"; sonnx fix leaves .*", "", capsys.readouterr().out)  # only a check makes a dry run
    assert "Max.Y-shape" in said.out
    assert said.out == checked or name == "html"  # the graph is not drawn
    assert said.err.count("\n") == 1
