"""A tailoring adds failures and takes none away."""

from __future__ import annotations

import hashlib
import json
import tomllib
from pathlib import Path
from typing import Any

import jsonschema
import onnx
import onnx.parser
import pytest

import sonnx
from sonnx import Verdict
from sonnx.checker.tailoring import read
from sonnx.cli.main import run
from sonnx.evidence.verification import model_bytes
from sonnx.profile.cases import all_cases
from tests.support.cases import spread
from tests.support.editions import NEWEST

ROOT = Path(__file__).parent.parent.parent
SCHEMA = json.loads((ROOT / "sonnx" / "schema" / "tailoring.json").read_text("utf-8"))
PAGE = (ROOT / "docs" / "tailoring.md").read_text("utf-8")
EXAMPLE = PAGE.partition("```toml\n")[2].partition("```")[0]
HEAD = f'name = "P"\nedition = "{NEWEST}"\n'
MODEL = """<ir_version: 10, opset_import: ["" : 18]>
g (float[2, 3] a, float[2, 3] b) => (float[2, 3] y, int64[2] i)
<float[1] w = {1.0}, float[2, 2] v = {1.0, 2.0, 3.0, 4.0}>
{ [n] y = Max(a, b, w)
  i = ArgMax <axis = 1, keepdims = 0, select_last_index = 0> (y)
  [dead] z = Max(v) }"""


def judged(tmp_path: Path, text: str, source: bytes | str = MODEL, **options: Any) -> sonnx.Report:
    path = tmp_path / "t.toml"
    path.write_text(HEAD + text, "utf-8")
    data = onnx.parser.parse_model(source).SerializeToString() if isinstance(source, str) else source
    return sonnx.check(data, tailoring=path, **options)


def said(report: sonnx.Report) -> list[tuple[str, str, str]]:
    return [
        (each.rule.removeprefix("tailoring."), each.verdict, each.where.place)
        for each in report.findings
        if each.rule.startswith("tailoring.")
    ]


JUST = {
    'operators = ["Max", "ArgMax"]': [],
    'operators = ["Max"]': [("operators", "fail", "graph/node[1]")],
    'element_types = ["float", "int64"]': [],
    'element_types = ["float"]': [("element-types", "fail", "graph/output[1]")],
    "operator_sets = [13, 18]": [],
    "operator_sets = [13]": [("operator-sets", "fail", "model")],
    "[largest]\nnodes = 3": [],
    "[largest]\nnodes = 2": [("nodes", "fail", "model")],
    "[largest]\ninputs = 2\noutputs = 2": [],
    "[largest]\ninputs = 1": [("inputs", "fail", "model")],
    "[largest]\noutputs = 1": [("outputs", "fail", "model")],
    "[largest]\nweights = 5": [],
    "[largest]\nweights = 4": [("weights", "fail", "model")],
}
"""Limits the model just keeps and just breaks; the value z has no declaration."""


@pytest.mark.parametrize("text", JUST)
def test_limits_on_nodes_and_the_model(tmp_path: Path, text: str) -> None:
    assert [each for each in said(judged(tmp_path, text)) if each[1] == "fail"] == JUST[text]


@pytest.mark.parametrize(
    ("text", "failing"),
    [
        ("[largest]\nrank = 2", []),
        ("[largest]\nrank = 1", ["graph/input[0]", "graph/input[1]", "graph/output[0]", "graph/initializer[1]"]),
        ("[largest]\nextent = 3", []),
        ("[largest]\nextent = 2", ["graph/input[0]", "graph/input[1]", "graph/output[0]"]),
        ("[largest]\nelements = 6", []),
        ("[largest]\nelements = 5", ["graph/input[0]", "graph/input[1]", "graph/output[0]"]),
    ],
)
def test_limits_on_values(tmp_path: Path, text: str, failing: list[str]) -> None:
    found = said(judged(tmp_path, text))
    assert [place for _, verdict, place in found if verdict == "fail"] == failing
    assert [place for _, verdict, place in found if verdict == "undecided"] == ["graph/node[2]"], "z is not declared"


def test_a_symbol_is_undecided_and_bound_is_decided(tmp_path: Path) -> None:
    text = '<ir_version: 10, opset_import: ["" : 13]> g (float[N] a) => (float[N] y) { y = Max(a) }'
    limit = "[largest]\nextent = 4"
    assert {verdict for _, verdict, _ in said(judged(tmp_path, limit, text))} == {"undecided"}
    assert not said(judged(tmp_path, limit, text, bind={"N": 4}))
    assert {verdict for _, verdict, _ in said(judged(tmp_path, limit, text, bind={"N": 5}))} == {"fail"}


def test_nested_graphs_and_functions_are_judged(tmp_path: Path) -> None:
    text = """<ir_version: 10, opset_import: ["" : 18, "own" : 1]>
g (float[2] a) => (float[2] y) { y = own.f(a) }
<domain: "own", opset_import: ["" : 18]> f (x) => (z) { z = Max(x) }"""
    found = said(judged(tmp_path, 'operators = ["ArgMax"]\n[largest]\nnodes = 1\nrank = 1', text))
    assert ("operators", "fail", "graph/node[0]") in found
    assert ("operators", "fail", "function[0]/node[0]") in found
    assert ("nodes", "fail", "model") in found
    assert ("rank", "undecided", "function[0]") in found, "what a function holds is not passed over"


def test_a_rule_of_the_project_in_the_rule_language(tmp_path: Path) -> None:
    rule = '[[rule]]\nname = "even"\nrequire = "product(value.shape) % 2 == 0"\n'
    rule += 'statement = "Even."\nremedy = "Pad."\nbecause = "Pairs."'
    found = said(judged(tmp_path, rule))
    assert [each for each in found if each[1] == "fail"] == [("even", "fail", "graph/initializer[0]")]
    report = judged(tmp_path, rule)
    assert (report.rules["tailoring.even"].statement, report.rules["tailoring.even"].kind) == ("Even.", "project")


EVERYTHING = """operators = ["Relu"]
element_types = ["double"]
operator_sets = [1]
strict_versions = true
[largest]
rank = 0
extent = 0
elements = 0
nodes = 0
inputs = 0
outputs = 0
weights = 0
"""


def test_a_node_that_only_the_project_refuses_leaves_its_values(tmp_path: Path) -> None:
    text = """<ir_version: 10, opset_import: ["" : 25]> g (float[4, 6] x) => (float[4, 6] y)
<int64[1] zero = {0}, int64[2] d, int64[2] s> {
  d = Shape <start = 0, end = 2> (x)
  s = Add (d, zero)
  y = Reshape <allowzero = 0> (x, s) }"""
    source = onnx.parser.parse_model(text).SerializeToString()
    assert sonnx.check(source, NEWEST).verdict is Verdict.PASS
    rules = {each.rule for each in judged(tmp_path, 'operators = ["Relu"]', source).findings}
    assert rules == {"tailoring.operators"}


def test_nothing_the_edition_refuses_is_accepted(tmp_path: Path) -> None:
    """Over all cases: without the tailoring's own findings the report is the one of the edition."""
    number = 0
    for case in spread(all_cases(), 120):
        source = model_bytes(case)
        whole = sonnx.check(source, NEWEST, strict_versions=True)
        report = judged(tmp_path, EVERYTHING, source)
        own = [each for each in report.findings if each.rule.startswith("tailoring.")]
        assert [each for each in report.findings if each not in own] == list(whole.findings), case.id
        assert report.verdict is Verdict.FAIL
        counts = [count for count in report.counts if not count.rule.startswith("tailoring.")]
        assert counts == list(whole.counts)
        assert report.coverage.known == whole.coverage.known + 10
        number += len(own)
    assert number > 150


def test_the_example_of_the_page(tmp_path: Path) -> None:
    jsonschema.Draft202012Validator(SCHEMA).validate(tomllib.loads(EXAMPLE))
    (tmp_path / "t.toml").write_text(EXAMPLE, "utf-8")
    own = read(tmp_path / "t.toml")
    assert {rule.slug for rule in own.rules} == {
        f"tailoring.{name}"
        for name in (
            "operators", "element-types", "operator-sets", "rank", "extent", "elements", "nodes", "inputs", "outputs",
            "weights", "batch-is-one",
        )
    }  # fmt: skip
    report = sonnx.check(ROOT / "examples" / "conforming.onnx", tailoring=tmp_path / "t.toml")
    assert not report.findings
    for rule in own.rules:
        assert rule.slug in PAGE or rule.slug == "tailoring.batch-is-one"


REFUSED = {
    "an operator of another edition": (HEAD + 'operators = ["Identity"]', "would widen"),
    "an operator of nobody": (HEAD + 'operators = ["Foo"]', "would widen"),
    "an element type of nobody": (HEAD + 'element_types = ["float8e5m2"]', "would widen"),
    "weaker versions": (HEAD + "strict_versions = false", "would allow"),
    "no operator": (HEAD + "operators = []", "empty"),
    "nothing": (HEAD, "demands nothing"),
    "unknown edition": ('name = "P"\noperators = ["Max"]', "lacks edition"),
    "an unknown edition": ('name = "P"\nedition = "1999-01"\noperators = ["Max"]', "unknown edition"),
    "an unknown key": (HEAD + "smallest = 3\nstrict_versions = true", "unknown smallest"),
    "an unknown limit": (HEAD + "[largest]\nwidth = 3", "unknown width"),
    "a negative limit": (HEAD + "[largest]\nrank = -1", "negative"),
    "a limit in quotes": (HEAD + '[largest]\nrank = "4"', "not of type int"),
    "a limit that is true": (HEAD + "[largest]\nrank = true", "not of type int"),
    "a version that is not a number": (HEAD + 'operator_sets = ["13"]', "operator_sets[0] is '13', not of type int"),
    "a rule that is not a rule": (
        HEAD + '[[rule]]\nname = "x"\nrequire = "value.rank >"\nstatement = "s"\nremedy = "r"\nbecause = "b"',
        "rule[0].require",
    ),
    "a rule about nothing": (
        HEAD + '[[rule]]\nname = "x"\nrequire = "X.rank > 1"\nstatement = "s"\nremedy = "r"\nbecause = "b"',
        "unknown name X",
    ),
    "a rule that is a number": (
        HEAD + '[[rule]]\nname = "x"\nrequire = "value.rank"\nstatement = "s"\nremedy = "r"\nbecause = "b"',
        "not a condition",
    ),
    "a number of thousands of digits": (HEAD + f"[largest]\nrank = 1{'0' * 9000}", "too long"),
    "tables nested too deep": (HEAD + "operators = " + "[" * 5000, "t.toml"),
    "the name of a limit": (
        HEAD + '[[rule]]\nname = "rank"\nrequire = "true"\nstatement = "s"\nremedy = "r"\nbecause = "b"',
        "not an unused name",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_would_widen_or_is_malformed_is_a_usage_error(
    tmp_path: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    text, reason = REFUSED[name]
    (tmp_path / "t.toml").write_text(text, "utf-8")
    assert run(["check", str(ROOT / "examples" / "conforming.onnx"), "--tailoring", str(tmp_path / "t.toml")]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert reason in error


def test_the_edition_is_that_of_the_file(tmp_path: Path) -> None:
    text = 'name = "P"\nedition = "2025-10"\n[largest]\nnodes = 9'
    (tmp_path / "t.toml").write_text(text, "utf-8")
    model = str(ROOT / "examples" / "conforming.onnx")
    assert sonnx.check(model, tailoring=tmp_path / "t.toml").edition == "2025-10"
    assert run(["check", model, "--tailoring", str(tmp_path / "t.toml"), "--edition", NEWEST]) == 2
    assert run(["check", model, "--tailoring", str(tmp_path / "t.toml"), "--select", "Max"]) == 2


def test_every_format_names_the_file_by_its_hash(tmp_path: Path, printed: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("t.toml").write_text(HEAD + 'operators = ["ArgMax"]', "utf-8")
    Path("m.onnx").write_bytes((ROOT / "examples" / "conforming.onnx").read_bytes())
    digest = hashlib.sha256(Path("t.toml").read_bytes()).hexdigest()
    for name in ("text", "html", "markdown", "json", "sarif", "github", "junit"):
        shown = printed(name, "m.onnx", "--tailoring", "t.toml")
        assert digest in shown, name
        assert "tailoring.operators" in shown, name
    document = json.loads(printed("json", "m.onnx", "--tailoring", "t.toml"))
    schema = json.loads((ROOT / "sonnx" / "report" / "report.schema.json").read_text("utf-8"))
    jsonschema.Draft202012Validator(schema).validate(document)
