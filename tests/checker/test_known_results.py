"""What a check remembers is what an evaluation of the same facts gives."""

from __future__ import annotations

import onnx.parser
import pytest
from msgspec.structs import astuple

import sonnx
from sonnx.checker import rules
from sonnx.checker.rules import ActiveRules, Listing, RuleCondition, RuleResult, evaluate_rule
from sonnx.evidence.verification import wrong
from sonnx.graph.views import Views
from sonnx.profile import catalogue
from sonnx.profile.cases import cases
from sonnx.profile.definitions import Rule
from tests.support.cases import examples, spread
from tests.support.families import FAMILIES

CASES = spread(cases(), examples(120, 3000))


def check_all() -> None:
    """Check the cases and a small file of each family."""
    default = catalogue.editions().default
    for case in CASES:
        if default in case.editions:
            assert not wrong(case, default)
    for family in FAMILIES:
        sonnx.check(family.of_size(1000))


def test_results_that_are_remembered_are_those_of_an_evaluation(monkeypatch: pytest.MonkeyPatch) -> None:
    """One memory for all these models, so that many more facts meet in it than in one model."""
    shared, original, compared = dict[tuple[Rule, str], RuleCondition](), RuleCondition.result, list[bool]()

    def result(self: RuleCondition, views: Views, listing: Listing = rules.ALL) -> RuleResult:
        found = original(self, views, rules.ALL)
        assert astuple(found) == astuple(evaluate_rule(self.rule, self.demand, views.names)), views.names
        compared.append(found.actual != "")
        return found

    monkeypatch.setattr(ActiveRules, "_conditions", shared)
    monkeypatch.setattr(rules, "MOST_REMEMBERED", 1 << 20)
    monkeypatch.setattr(RuleCondition, "result", result)
    check_all()
    assert sum(compared) > 500
    assert len(compared) > 2 * sum(len(each._results) for each in shared.values())


def test_a_function_of_another_version_has_rules_of_its_own() -> None:
    """The profile demands the same types of Acos in both versions, ONNX has bfloat16 in the newer one only."""
    model = onnx.parser.parse_model("""<ir_version: 10, opset_import: ["" : 22, "own" : 1]>
g (bfloat16[2] x) => (bfloat16[2] y, bfloat16[2] z) { y = own.f(x) z = Acos(x) }
<domain: "own", opset_import: ["" : 7]> f (a) => (b) { b = Acos(a) }""")
    declared = [onnx.helper.make_tensor_value_info(name, onnx.TensorProto.BFLOAT16, [2]) for name in "ab"]
    model.functions[0].value_info.extend(declared)
    found = [each for each in sonnx.check(model.SerializeToString()).findings if each.rule == "Acos.T-allowed"]
    assert {each.where.place: each.breaks_onnx for each in found} == {
        "graph/node[1]": False, "function[0]/node[0]": True,
    }  # fmt: skip


@pytest.mark.parametrize(("data", "failures"), [(b"\0" * 8, 0), (b"\0" * 7, 3)])
def test_a_tensor_that_nodes_share_is_counted_for_each(data: bytes, failures: int) -> None:
    tensor = onnx.TensorProto(name="t", data_type=onnx.TensorProto.FLOAT, dims=[2], raw_data=data)
    nodes = [onnx.helper.make_node("Constant", [], [f"c{index}"], value=tensor) for index in range(3)]
    nodes.append(onnx.helper.make_node("Sum", ["c0", "c1", "c2"], ["y"]))
    output = onnx.helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, [2])
    graph = onnx.helper.make_graph(nodes, "g", [], [output])
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 13)], ir_version=8)
    report = sonnx.check(model)
    places = [each.where.place for each in report.findings if each.rule == "tensor-data"]
    assert places == [f"graph/node[{index}]/value" for index in range(3)][:failures]
    counted = {each.verdict.value: each.number for each in report.counts if each.rule == "tensor-data"}
    assert counted == ({"fail": failures} if failures else {"pass": 3})
