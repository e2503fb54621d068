"""The gate: no broken model is written; and graphs inside nodes, whatever their names, come out whole."""

from __future__ import annotations

import onnx
import onnx.parser
import pytest

from sonnx import fix
from sonnx.checker.verdicts import Where
from sonnx.cli.main import run
from sonnx.model.ir import Type, ValueInfo
from sonnx.model.reader import read
from sonnx.rewriter import passes
from sonnx.rewriter.gate import Broken
from sonnx.rewriter.rewrite import Edit, Trigger, changed_graph, rewrite
from tests.support.cases import each_case, examples
from tests.support.nested_models import faults

HEAD = '<ir_version: 8, opset_import: ["": 16]>'
PLAIN = f"{HEAD} g (float[2] x) => (float[2] y, float[2] z) {{ y = Relu(x) z = Neg(x) }}"


def rewriting(changes):
    """A rewrite, with the name of one that exists, that makes these changes of the main graph of PLAIN."""
    plain = read(onnx.parser.parse_model(PLAIN).SerializeToString()).graph

    @rewrite("dead-nodes", Trigger.ALWAYS)
    def broken(context):
        graph = context.model.graph
        if any(getattr(graph, name) != getattr(plain, name) for name in changes(plain)):
            return None
        edit = Edit(Where("graph", "graph"), "whole", "broken")
        return changed_graph(context, [edit], **changes(graph))

    return broken


BREAKING = {
    "outputs-produced fails": lambda graph: {"nodes": graph.nodes[1:]},
    "the output 'z' is gone": lambda graph: {"outputs": graph.outputs[:1]},
    "the outputs are 'z', 'y', not 'y', 'z'": lambda graph: {"outputs": graph.outputs[::-1]},
    "the input 'x' is gone": lambda graph: {"inputs": ()},
    "the input 'x' is float [3], not float [2]": lambda graph: {
        "inputs": (ValueInfo("x", Type("tensor", "float", (3,))),)
    },
    "the output 'y' is double [2], not float [2]": lambda graph: {
        "outputs": (ValueInfo("y", Type("tensor", "double", (2,))), graph.outputs[1])
    },
}


@each_case("sentence", BREAKING)
def test_a_broken_result_is_refused_with_the_rewrite_that_broke_it(sentence, monkeypatch):
    data = onnx.parser.parse_model(PLAIN).SerializeToString()
    with monkeypatch.context() as patch, pytest.raises(Broken) as refusal:
        patch.setattr(passes, "COMPLETIONS", (*passes.COMPLETIONS, rewriting(BREAKING[sentence])))
        fix(data, samples=0)
    assert "broken by the rewrite dead-nodes: " + sentence in str(refusal.value)
    assert str(refusal.value).endswith("nothing is written")


COMPARED = "g (uint16[2] x, float[2] w) => (bool[2] y) { y = Greater(x, w) }"


def test_an_original_that_onnx_refuses_is_named(tmp_path, capsys):
    """No rule here is about Greater; those about Less, which takes its place, show that the types differ."""
    path = tmp_path / "m.onnx"
    path.write_bytes(onnx.parser.parse_model(f"{HEAD} {COMPARED}").SerializeToString())
    assert run(["fix", str(path), "--output", str(tmp_path / "new.onnx")]) == 2
    said = capsys.readouterr().err
    assert "the model is not valid ONNX, says the checker of onnx: " in said
    assert len(said.splitlines()) == 1
    assert [*tmp_path.iterdir()] == [path]


def test_an_interface_that_onnx_refuses_too_is_a_defect_where_it_changes(monkeypatch):
    monkeypatch.setattr("sonnx.rewriter.fix.refusal", lambda file: "refused")
    with monkeypatch.context() as patch, pytest.raises(Broken):
        patch.setattr(passes, "COMPLETIONS", (*passes.COMPLETIONS, rewriting(BREAKING["the output 'z' is gone"])))
        fix(onnx.parser.parse_model(PLAIN).SerializeToString(), samples=0)


def test_an_invalid_model_may_stay_invalid():
    text = f"{HEAD} g (float[2] x) => (float[2] y) {{ y = Add(x, nobody) }}"
    assert fix(onnx.parser.parse_model(text).SerializeToString(), samples=0).after.exit_code() == 1


NESTED = {
    "an output that three levels give": """
      q = If (t) <
        then_branch = a () => (float[2] w) {
          w = If (t) <
            then_branch = b () => (float[2] i) { i = Identity(x) },
            else_branch = c () => (float[2] j) { j = Neg(x) }>
        },
        else_branch = d () => (float[2] k) { k = Neg(x) }>
      y = Relu(q)""",
    "a name that a later node takes": """
      y = If (flag) <
        then_branch = a () => (float[2] z) { z = Identity(x) },
        else_branch = b () => (float[2] k) { k = Neg(x) }>
      z = Neg(y)""",
    "a body whose names later nodes take": """
      s = Identity(x)
      p = Loop (n, , x) <
        body = b (int64 i, bool c, float[2] q) => (bool d, float[2] o) { d = Identity(c) m = Add(q, s) o = Neg(m) }>
      q = Neg(p)
      m = Identity(q)
      y = Add(m, q)""",
    "one value for two outputs": """
      u, y = If (t) <
        then_branch = a () => (float[2] w, float[2] w) { w = Relu(x) },
        else_branch = b () => (float[2] k, float[2] k) { k = Neg(x) }>
      z = Add(u, y)""",
}  # fmt: skip


@each_case("name", NESTED)
def test_nested_graphs_keep_their_values(name):
    text = (
        f"""{HEAD} g (float[2] x, bool flag) => (float[2] y) <bool t = {{1}}, int64 n = {{2}}> {{ {NESTED[name]} }}"""
    )
    found = fix(onnx.parser.parse_model(text).SerializeToString())
    assert found.validation.inputs == 3
    assert found.after.exit_code() in (0, 1)
    assert not [each for each in found.after.findings if each.breaks_onnx]


HIDING = f"""{HEAD} g (float[2] x) => (float[2] y) <int64 n = {{2}}> {{
  s = Identity(x)
  y = Loop (n, , x) <
    body = b (int64 i, bool c, float[2] x) => (bool d, float[2] o) {{ d = Identity(c) m = Add(x, s) o = Neg(m) }}>
}}"""


def test_a_value_does_not_take_a_name_that_a_body_hides() -> None:
    """The model has no defined meaning, so what it reads stays as it is."""
    written = onnx.load_model_from_string(fix(onnx.parser.parse_model(HIDING).SerializeToString()).model_bytes())
    assert [node.op_type for node in written.graph.node] == ["Identity", "Loop"]


@pytest.mark.parametrize("seed", [*range(examples(10, 400)), 453])
def test_random_nested_models_come_out_whole(seed):
    assert not [*faults(seed)]
