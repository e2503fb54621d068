"""What a check remembers is what an evaluation of the same facts gives."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import onnx.parser
import pytest
from msgspec.structs import astuple, replace
from onnx import TensorProto, helper

import sonnx
from sonnx.checker import rules
from sonnx.checker.facts_domain import KnownCalls
from sonnx.checker.rules import ActiveRules, Listing, RuleCondition, RuleResult, evaluate_rule
from sonnx.checker.tailoring import read as read_tailoring
from sonnx.evidence.verification import wrong
from sonnx.graph.call import Call, Calls
from sonnx.graph.environment import constant_facts
from sonnx.graph.views import Views
from sonnx.language.evaluator import RUN_TIME, TensorFacts
from sonnx.model.ir import Function
from sonnx.model.reader import read
from sonnx.model.scopes import scopes
from sonnx.profile import catalogue
from sonnx.profile.cases import all_cases
from sonnx.profile.definitions import Edition, Rule
from tests.support.cases import examples, spread
from tests.support.editions import NEWEST
from tests.support.families import FAMILIES

CASES = spread(all_cases(), examples(120, 3000))


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
    found = [each for each in sonnx.check(model.SerializeToString()).findings if each.rule == "Acos.X-type"]
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


CALL = """<ir_version: 10, opset_import: ["" : 14]> g (float[2] x, float[2] z) => (float[2] y)
{ y = Clip <note = "a"> (x, , z) }"""


def call_of(text: str, edition: Edition, **options: bool) -> Call:
    model = read(onnx.parser.parse_model(text).SerializeToString())
    return Calls(model, edition, **options).of(next(scopes(model)), model.graph.nodes[0])


def test_the_key_of_a_known_call_has_all_that_a_rule_reads() -> None:
    """Each field of a call, of a fact and of the rules in force: whoever adds one decides whether it counts."""
    newest, oldest = (ActiveRules(catalogue.edition_named(name)) for name in (NEWEST, "2025-11"))
    call, other = (
        call_of(CALL, newest.edition),
        call_of(CALL.replace(": 14", ": 12").replace('"a"', '"b"'), newest.edition),
    )
    changes: dict[str, Any] = {
        "operator": "Relu", "domain": "own", "overload": "o", "operator_set": 13, "version": 12, "imported": False,
        "attributes": other.attributes, "inputs": (True, True, True), "outputs": (False,), "definition": None,
        "signature": other.signature, "status": "draft", "in_function": True, "strict": True, "ir_version": 9,
    }  # fmt: skip
    assert changes.keys() | {"function"} == set(Call.__struct_fields__)
    assert not [name for name, value in changes.items() if getattr(call, name) == value]
    facts = TensorFacts("float", (2,), RUN_TIME)
    other_facts = TensorFacts("double", (3,), (1, 2), "sequence", True, True)
    inputs, outputs = (facts, None, facts), (facts,)
    known = KnownCalls()
    keys = [known.key(newest, call, inputs, outputs), known.key(oldest, call, inputs, outputs)]
    keys += [known.key(ActiveRules(newest.edition, strict=True), call, inputs, outputs)]
    keys += [known.key(newest, replace(call, **{name: value}), inputs, outputs) for name, value in changes.items()]
    for name in TensorFacts._fields:
        changed = facts._replace(**{name: getattr(other_facts, name)})
        assert changed != facts
        keys += [known.key(newest, call, (changed, None, facts), outputs), known.key(newest, call, inputs, (changed,))]
    keys += [known.key(newest, call, (facts, facts, None), outputs), known.key(newest, call, inputs, (None,))]
    assert None not in keys
    assert len(set(keys)) == len(keys)
    assert known.key(newest, replace(call), tuple(inputs), tuple(outputs)) == keys[0]


def test_a_call_that_a_key_cannot_tell_is_not_kept(tmp_path: Path) -> None:
    """A function has a body, and a tailoring rules of its own."""
    rules = ActiveRules(catalogue.edition_named(NEWEST))
    call = call_of(CALL, rules.edition)
    function = Function("f", "own", "", (), (), (), (), (), (), ())
    (tmp_path / "t.toml").write_text(f'name = "t"\nedition = "{NEWEST}"\n[largest]\nnodes = 9\n', "utf-8")
    tailored = ActiveRules(rules.edition, tailoring=read_tailoring(tmp_path / "t.toml"))
    assert KnownCalls().key(rules, replace(call, function=function), (), ()) is None
    assert KnownCalls().key(tailored, call, (), ()) is None


def test_constants_of_equal_numbers_of_another_type_or_sign_are_told_apart() -> None:
    """Python takes 0, 0.0, -0.0 and False for equal."""
    tensors = [helper.make_tensor("c", kind, [1], [value]) for kind, value in (
        (TensorProto.INT64, 0), (TensorProto.FLOAT, 0.0), (TensorProto.FLOAT, -0.0), (TensorProto.BOOL, False),
        (TensorProto.DOUBLE, 0.0),
    )]  # fmt: skip
    graph = helper.make_graph(
        [], "g", [], [], [replaced(tensor, f"c{number}") for number, tensor in enumerate(tensors)]
    )
    model = read(helper.make_model(graph).SerializeToString())
    assert len({constant_facts(tensor) for tensor in model.graph.initializers}) == len(tensors)


def replaced(tensor: TensorProto, name: str) -> TensorProto:
    tensor.name = name
    return tensor


CONVOLUTION = """<ir_version: 8, opset_import: ["" : 17]> g (float[1,2,4,4] x) => (float[1,2,4,4] y)
<float[2,2,1,1] w = {1,2,3,4}> { y = Conv <strides = [1,1], pads = [0,0,0,0]> (x, w) }"""


@pytest.mark.parametrize(
    ("other", "is_same"), [(" ", True), ("3,5", False), ("2,2,1", False), ("strides = [1,2]", False)]
)
def test_the_key_of_a_known_call_has_contents_of_constants_and_attributes(other: str, is_same: bool) -> None:
    """Another model has other objects; what they say decides."""
    replaced = {"3,5": "3,4", "2,2,1": "1,2,3", "strides = [1,2]": "strides = [1,1]"}
    rules, known, keys = ActiveRules(catalogue.edition_named(NEWEST)), KnownCalls(), list[object]()
    for text in (CONVOLUTION, CONVOLUTION.replace(replaced.get(other, other), other)):
        weights = read(onnx.parser.parse_model(text).SerializeToString()).graph.initializers[0]
        keys.append(known.key(rules, call_of(text, rules.edition), (None, constant_facts(weights)), (None,)))
    assert None not in keys
    assert (keys[0] == keys[1]) is is_same
