"""The recipes of CONTRIBUTING for an edition, an analysis, a command and a format, each tried with a small example."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from types import ModuleType

import pytest

import sonnx
from sonnx.checker.profile_validation import problems
from sonnx.cli import commands
from sonnx.cli.main import run
from sonnx.report import formats, rendered
from tests.support.paths import ROOT

MODEL = ROOT / "examples" / "as_exported.onnx"
EDITION = """
[[edition]]
name          = "2027-01"
title         = "An example"
parent        = "{parent}"
general       = "{parent}"
consolidated  = true
element_types = ["floats", "bfloat16", "ints", "uints", "bool", "string"]

[edition.specified]
onnx = ["Floor"]
"""
ANALYSIS = '''
from typing import Annotated

from msgspec import Struct

from sonnx.base.options import Argument, keyword_arguments
from sonnx.base.reported import Result
from sonnx.checker.options import ModelOptions
from sonnx.cli.options import add_options, keywords_of
from sonnx.cli.reports import add_report_arguments, deliver_report, outputs_of
from sonnx.model.reader import read
from sonnx.report.document import CaseResult, Criterion, Document, Section, Standing
from sonnx.report.rendered import Rendered


class CountOptions(ModelOptions, frozen=True, kw_only=True):
    """What is counted."""

    most: Annotated[int, Argument("exit 1 if there are more", metavar="N", read=int)] = 100


class NodeCount(Result, Rendered, frozen=True, kw_only=True):
    """The number of nodes."""

    nodes: int
    """The nodes of the graph."""
    most: int
    """How many there may be."""

    @property
    def exit_code(self) -> int:
        return int(self.nodes > self.most)

    def document(self) -> Document:
        case = CaseResult("few", "graph", "counted", Standing.GOOD, f"{self.nodes} nodes", shown=True)
        return Document(command="count", title="nodes", subject="model", headline=f"{self.nodes} nodes",
            code=self.exit_code, criteria={"few": Criterion("There are few nodes.", "count")},
            sections=(Section("model", "", (case,)),))


@keyword_arguments(CountOptions)
def count(source, options):
    """Count nodes."""
    return NodeCount(nodes=len(read(source, limits=options.limits).graph.nodes), most=options.most)


def add_arguments(parser):
    parser.add_argument("model")
    add_options(parser, CountOptions)
    add_report_arguments(parser)
    parser.set_defaults(command=count_command)


def count_command(parsed):
    report = count(parsed.model, **keywords_of(CountOptions, parsed))
    deliver_report(report, outputs_of(parsed, parsed.model))
    return report.exit_code
'''


def test_an_edition_is_checked_and_compared(copy: Path) -> None:
    path = copy / "editions.toml"
    text = path.read_text("utf-8")
    newest = text.rpartition('\nname          = "')[2].partition('"')[0]
    path.write_text(text + EDITION.format(parent=newest), "utf-8")
    (copy / "operators" / "floor.toml").write_text(_block("floor"), "utf-8")
    assert list(problems()) == []
    difference = sonnx.diff_edition(newest, "2027-01", [str(MODEL)])
    assert (difference.operators_new, difference.exit_code) == (("Floor",), 0)
    assert "operators new" in difference.to_format("html")
    assert sonnx.check(MODEL, edition="2027-01").edition == "2027-01"


def _block(name: str) -> str:
    """The file of the operator that CONTRIBUTING adds."""
    text = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    return text[text.index("#:schema ../schema/operator.json") :].partition("```")[0].replace("name.toml", name)


def test_an_analysis_with_its_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "count.py").write_text(ANALYSIS, "utf-8")
    monkeypatch.setattr(commands, "__path__", [str(tmp_path), *commands.__path__])
    monkeypatch.delitem(sys.modules, f"{commands.__name__}.count", raising=False)
    assert run(["count", str(MODEL), "--format", "json", "--most", "1"]) == 1
    document = json.loads(capsys.readouterr().out)
    assert (document["most"], document["tool"]["name"], document["nodes"] > 1) == (1, "sonnx", True)
    assert run(["count", str(MODEL)]) == 0
    assert "nodes" in capsys.readouterr().out
    assert run(["count", str(MODEL), "--format", "junit", "--output", str(tmp_path / "report.xml")]) == 0
    assert "testcase" in (tmp_path / "report.xml").read_text("utf-8")
    monkeypatch.delitem(sys.modules, f"{commands.__name__}.count")


def test_a_format(monkeypatch: pytest.MonkeyPatch) -> None:
    module = ModuleType("sonnx.report.headlines")
    module.render_document = lambda document: f"{document.headline}\n"  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.setattr(rendered, "DOCUMENT_FORMATS", (*formats.DOCUMENT_FORMATS, "headlines"))
    assert sonnx.prove(ROOT / "examples" / "symbolic.onnx").to_format("headlines").count("\n") == 1
