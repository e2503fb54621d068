"""Proofs about whole models: for all values of the symbols, or a counterexample the checker confirms."""

from __future__ import annotations

import itertools
import json
import subprocess
import sys
import time
from collections.abc import Mapping
from typing import Any

import onnx
import pytest
import z3
from onnx import TensorProto, helper

from sonnx import check
from sonnx.base.errors import Unfinished
from sonnx.model.ir import Model
from sonnx.model.symbols import bind_symbols
from sonnx.prover import model_walk, solvers
from sonnx.prover.model_proof import ModelProof, Unprovable
from sonnx.prover.model_walk import prove_model
from sonnx.prover.options import ProofOptions
from sonnx.prover.results import SolverAnswer
from sonnx.prover.symbols import Symbols
from sonnx.prover.weakest_condition import weakest_condition
from sonnx.report.model_proof import ProofReport
from tests.support.cases import each_case, spread


def model(inputs: str, outputs: str, body: str, operator_set: int = 13) -> bytes:
    text = f'<ir_version: 10, opset_import: ["": {operator_set}]> g ({inputs}) => ({outputs}) {{ {body} }}'
    return onnx.parser.parse_model(text).SerializeToString()


def proved(*arguments: str, assume: tuple[str, ...] = (), **options: object) -> ModelProof:
    return prove_model(model(*arguments), ProofOptions(assume=assume, name="m.onnx", **options))  # type: ignore[arg-type]


TWO = ("float[N, 4] a, float[M, 4] b", "float[N, 4] c", "c = Max(a, b)")


def test_a_conflict_has_a_small_counterexample_and_its_weakest_condition() -> None:
    proof = proved(*TWO)
    (refuted,) = proof.refuted
    assert (proof.verdict, proof.exit_code) == ("refuted", 1)
    assert (refuted.rule, dict(refuted.counterexample)) == ("Max.broadcastable", {"N": 2, "M": 3})
    assert refuted.constraint == "N == M or N == 1 or M == 1"
    assert (proof.constraint, proof.sufficient) == ("N == M or M == 1", True)  # N = 1 gives another shape than [N, 4]
    assert refuted.actual == "X.shape = [[2, 4], [3, 4]]"
    assert not refuted.always


def test_the_counterexample_fails_in_the_check() -> None:
    (refuted,) = proved(*TWO).refuted
    report = check(model(*TWO), bind=dict(refuted.counterexample))
    assert refuted.rule in {finding.rule for finding in report.findings}


@each_case("assume", [("N == M",), ("M == 1, N <= 64",), ("M<=1",), ("N % 2 == 0", "M == N")])
def test_assumptions_can_make_it_hold(assume: tuple[str, ...]) -> None:
    proof = proved(*TWO, assume=assume)
    assert (proof.verdict, proof.exit_code, proof.constraint) == ("proved", 0, "")


@each_case(
    ("assume", "sentence"),
    [
        ("K > 1", "the model has no symbol K; it has N, M"),
        ("N =", "the assumption 'N =' is not a condition such as"),
        ("N + 1", "is not a condition such as"),
        ("N", "is not a condition such as"),
        ("import os", "is not a condition such as"),
        ("N < 1", "no values satisfy the assumptions N < 1, N>=1, M>=1"),
        ("N > 3, N < 3", "no values satisfy the assumptions"),
    ],
)
def test_bad_assumptions_are_one_sentence(assume: str, sentence: str) -> None:
    with pytest.raises(Unprovable) as refused:
        proved(*TWO, assume=(assume,))
    assert sentence in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_symbol_may_be_zero_where_an_assumption_says_so() -> None:
    body = ("float[N] a", "int64[1] c", "c = ArgMax<axis = 0, keepdims = 1, select_last_index = 0>(a)")
    assert proved(*body).verdict == "proved"
    proof = proved(*body, assume=("N >= 0",))
    assert [(each.rule, each.counterexample, each.constraint) for each in proof.refuted] == [
        ("ArgMax.axis-not-empty", {"N": 0}, "N >= 1")
    ]


def test_a_declared_output_must_be_the_computed_one() -> None:
    proof = proved("float[N, M] a, float[M] b", "float[N, K] c", "c = Max(a, b)")
    (refuted,) = proof.refuted
    assert (refuted.rule, refuted.constraint) == ("Max.Y-shape", "M == K")
    assert dict(refuted.counterexample) in ({"N": 1, "M": 1, "K": 2}, {"N": 1, "M": 2, "K": 1})


def test_two_axes_give_two_conditions() -> None:
    proof = proved("float[N, M] a, float[K, L] b", "float[N, M] c", "c = Max(a, b)")
    assert [each.constraint for each in proof.refuted] == [
        "(M == L or M == 1 or L == 1) and (N == K or N == 1 or K == 1)"
    ]
    assert proof.constraint == "(M == L or L == 1) and (N == K or K == 1)"  # the declared output has the shape [N, M]


def test_shapes_that_are_not_declared_are_computed() -> None:
    body = """
        t = Max(a, b)
        u = Max(t, s)
        c = Max(u, a)
        i = ArgMax<axis = 1, keepdims = 0, select_last_index = 0>(c)
        r = ReduceMax<axes = [0, 3], keepdims = 1>(u)
    """
    proof = proved(
        "float[N, C, H, W] a, float[N, C, H, W] b, float[C, 1, 1] s",
        "float[N, C, H, W] c, int64[N, H, W] i, float[1, C, H, 1] r",
        body,
    )
    assert (proof.verdict, proof.open, proof.refuted) == ("proved", (), ())


def test_a_shape_that_depends_on_an_assumption() -> None:
    body = ("float[N] a, float[M] b", "float[N] d", "c = Max(a, b) d = Max(c, a)")
    assert proved(*body, assume=("M == 1 or M == N",)).verdict == "proved"
    proof = proved(*body)
    assert [each.where.place for each in proof.refuted] == ["graph/node[0]"]
    assert any("wait" in note for note in proof.notes)


def test_what_is_not_stated_is_undecided() -> None:
    unknown = helper.make_tensor_value_info("a", TensorProto.FLOAT, [None])
    given = helper.make_tensor_value_info("b", TensorProto.FLOAT, ["N"])
    node = helper.make_node("Max", ["a", "b"], ["c"], name="join")
    graph = helper.make_graph([node], "g", [unknown, given], [helper.make_tensor_value_info("c", 1, ["N"])])
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=10)
    proof = prove_model(made.SerializeToString())
    assert (proof.verdict, proof.exit_code) == ("undecided", 3)
    assert proof.open[0].reason == "it depends on a dimension the model does not state"


def test_an_operator_without_rules_is_not_passed_over() -> None:
    proof = proved("float[N] a", "float[N] c", "b = Frobnicate(a) c = Max(b, a)")
    assert proof.verdict == "undecided"
    assert any("Frobnicate" in note for note in proof.notes)


def test_a_model_with_an_operator_without_rules_is_not_proved() -> None:
    """Where every rule that is asked holds, too."""
    proof = proved("float[N] a", "float[N] c, float[N] b", "b = Frobnicate(a) c = Max(a, a)")
    assert not proof.open and not proof.refuted and proof.nodes_judged < proof.nodes
    assert (proof.verdict, proof.exit_code) == ("undecided", 3)


def test_what_fails_for_all_values_says_so() -> None:
    proof = proved("float[N] a", "int64[1] c", "c = ArgMax<axis = 7, keepdims = 1, select_last_index = 0>(a)")
    assert [(each.rule, each.always) for each in proof.refuted] == [("ArgMax.axis-range", True)]
    assert "whatever the symbols are: axis = 7, needs < X.rank = 1" in ProofReport.of(proof).to_text()


def test_a_symbol_is_an_int64() -> None:
    parts = "int8[6000000000000000000] A, int8[6000000000000000000] B"
    [refuted] = proved(parts, "int8[M] Y", "Y = Concat <axis = 0> (A, B)").refuted
    assert refuted.always


def test_assumptions_that_the_solver_does_not_decide_are_not_called_impossible(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sonnx.prover.symbols.EFFORT", 1)
    with pytest.raises(Unfinished, match="does not decide whether any values satisfy the assumptions N \\* M == 21"):
        proved(*TWO, assume=("N * M == 21", "N > 1", "M > 1"))


def test_a_symbol_may_have_any_name() -> None:
    values = [helper.make_tensor_value_info(n, TensorProto.FLOAT, [s]) for n, s in (("a", "größe 1"), ("b", "d0"))]
    graph = helper.make_graph([helper.make_node("Max", ["a", "b"], ["c"])], "g", values, [
        helper.make_tensor_value_info("c", TensorProto.FLOAT, ["größe 1"])
    ])  # fmt: skip
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=10)
    proof = prove_model(made.SerializeToString())
    assert proof.constraint == "'größe 1' == d0 or 'größe 1' == 1 or d0 == 1"


def test_text_and_data() -> None:
    proof = proved(*TWO)
    text = ProofReport.of(proof).to_text()
    assert "refuted: for N=2, M=3: X.shape = [[2, 4], [3, 4]]\n  Max.broadcastable  node" in text
    assert "holds       where N == M or N == 1 or M == 1" in text
    assert "repeat      sonnx check --bind N=2,M=3" in text
    data = json.loads(ProofReport.of(proof).to_json())
    assert data["refuted"][0]["counterexample"] == {"N": 2, "M": 3}
    assert (data["verdict"], data["exit"], data["proved"]) == ("refuted", 1, 2)


def test_the_proof_agrees_with_the_check_for_small_numbers() -> None:
    """Every binding of the symbols up to 3: the rules fail in the check exactly where the condition says so."""
    data = model("float[N, M] a, float[K] b", "float[N, M] c", "c = Max(a, b)")
    broken = {"Max.broadcastable", "Max.Y-shape"}
    proof = prove_model(data)
    assert {each.rule for each in proof.refuted} == {"Max.broadcastable"}
    assert proof.refuted[0].constraint == "M == K or M == 1 or K == 1"
    for n, m, k in itertools.product((1, 2, 3), repeat=3):
        findings = {finding.rule for finding in check(data, bind={"N": n, "M": m, "K": k}).findings}
        assert ("Max.broadcastable" in findings) is not (m == k or m == 1 or k == 1)
        assert findings <= broken | {"no-unused-value"}


def test_weakest_words_are_equal_to_the_condition() -> None:
    symbols = Symbols(("N", "M"), ())
    n, m = (symbols.numbers[name].term for name in ("N", "M"))
    assert weakest_condition(z3.And(n % 4 == 0, n <= 64), symbols) == "N % 4 == 0 and N <= 64"
    assert weakest_condition(z3.Or(n == m, m == 1), symbols) == "N == M or M == 1"
    assert weakest_condition(n * m == 12, symbols) == "N * M == 12"
    assert weakest_condition(m == (3 * n + 1) / 2, symbols) == "M == (3 * N + 1) // 2"
    assert weakest_condition(3 * n + 2 * m - 7 == 4 * n - 4, symbols) == "2 * M == N + 3"
    assert weakest_condition(z3.If(n > m, n, m * m) == n * m, symbols) == "N == M or M == 1"
    assert weakest_condition(z3.Or(z3.And(n == 3, m >= 5), z3.And(n == 5, m >= 7)), symbols) == ""


@each_case(
    ("graph", "condition"),
    [
        (("float[N, 3] a, float[M, 3] b", "float[K, 3] c", "c = Concat<axis = 0>(a, b)"), "K == N + M"),
        (("float[N] a, float[M] b", "float[N] d", "c = Max(a, b) d = Max(c, a)"), "N == M or M == 1"),
        (("float[N, K] a, float[M, P] b, float[Q, P] d", "float[N, P] e", "c = MatMul(a, b) e = Add(c, d)"),
         "K == M and (N == Q or Q == 1)"),
        (("float[1, 1, H, 9] x, float[1, 1, 3, 3] w", "float[1, 1, P, 7] y",
          "y = Conv<dilations = [1, 1], kernel_shape = [3, 3], strides = [2, 1], pads = [0, 0, 0, 0], group = 1>"
          "(x, w)"), "P == (H - 3) // 2 + 1"),
    ],
)  # fmt: skip
def test_the_condition_is_sufficient_and_necessary(graph: tuple[str, str, str], condition: str) -> None:
    """Bindings up to 5 (deep: all): a rule of a node fails in the check exactly where the condition does not hold."""
    data = model(*graph)
    proof = prove_model(data)
    assert (proof.constraint, proof.sufficient) == (condition, True)
    if len(proof.symbols) > 3:
        return
    for values in spread(itertools.product(range(1, 6), repeat=len(proof.symbols)), 30):
        bound = dict(zip(proof.symbols, values, strict=True))
        fails = any(
            "." in finding.rule and finding.verdict.value == "fail" for finding in check(data, bind=bound).findings
        )
        assert fails is not bool(eval(condition, {}, bound)), bound


def test_a_condition_that_is_only_necessary_says_so() -> None:
    """The second node fails for some sizes, and no short text states for which."""
    graph = ("float[N, M] a, float[M, N] b", "float[N, M] y", "s = Add(a, b) y = Add(s, a)")
    names = [helper.make_tensor_value_info(n, TensorProto.FLOAT, [s]) for n, s in (("a", "größe 1"), ("b", "d0"))]
    made = helper.make_model(
        helper.make_graph([helper.make_node("Max", ["a", "b"], ["c"])], "g", names, [
            helper.make_tensor_value_info("c", TensorProto.FLOAT, ["größe 1"])
        ]), opset_imports=[helper.make_opsetid("", 13)], ir_version=10,
    )  # fmt: skip
    proof = prove_model(made.SerializeToString())
    assert proof.sufficient is False
    assert "sufficient  not shown: it is only necessary" in ProofReport.of(proof).to_text()
    assert proved(*graph).sufficient is True


def test_counterexamples_are_minimal_and_show_the_symbols_that_matter() -> None:
    (refuted,) = proved(
        "float[1, 1, H, W] x, float[1, 1, 3, 3] w", "float[1, 1, P, Q] y",
        "y = Conv<dilations = [2, 2], kernel_shape = [3, 3], strides = [1, 1], pads = [0, 0, 0, 0], group = 1>(x, w)",
        assume=("H >= 5", "P >= 3"),
    ).refuted  # fmt: skip
    assert (dict(refuted.counterexample), refuted.matters) == ({"H": 5, "W": 1, "P": 3, "Q": 1}, ("W",))
    symbols = Symbols(("N", "M", "K"), ())
    n, m, k = (symbols.numbers[name].term for name in ("N", "M", "K"))
    fails = z3.And(n * m >= 75, k >= 2)
    values = symbols.smallest_values(fails)
    assert values == {"N": 9, "M": 9, "K": 2} and symbols.that_matter(fails, values) == ("N", "M", "K")
    assert symbols.that_matter(n * m >= 75, values) == ("N", "M")


def test_a_second_solver_confirms_and_the_questions_stand_for_themselves() -> None:
    proof = proved("float[N, M] a, float[M] b, float[L] q", "float[N, K] c, float[L] r", "c = Max(a, b) r = Max(q, q)",
                   solver="all")  # fmt: skip
    assert proof.solvers == ("z3", "cvc5")
    assert {(each.rule, each.expected, each.confirmed) for each in proof.questions} >= {("Max.Y-shape", "sat", True)}
    for each in proof.questions:
        assert solvers.ask("z3", each.text).result == each.expected
    assert "confirms" in ProofReport.of(proof).to_text()
    assert [each["confirmed"] for each in json.loads(ProofReport.of(proof).to_json())["questions"]] == [True] * len(
        proof.questions
    )


def test_solvers_that_disagree_leave_the_rule_open(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = ("float[N] a, float[M] b", "float[M] c", "c = Max(a, b)")
    wrong = SolverAnswer("cvc5", "0", "sat")
    monkeypatch.setattr(model_walk.solvers, "ask", lambda *_: wrong)
    proof = proved(*graph, assume=("N == M or N == 1",), solver="all")
    assert [each.reason for each in proof.open] == ["z3 answers unsat and cvc5 answers sat"] * len(proof.questions)
    assert proof.verdict == "undecided" and proof.questions


def test_a_counterexample_the_check_does_not_confirm_is_not_a_refutation(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model_walk, "bind_symbols", models_bound_to_ones)
    proof = proved(*TWO)
    assert proof.verdict == "undecided"
    assert "does not confirm" in proof.open[0].reason


def models_bound_to_ones(model: Model, numbers: Mapping[str, int], *shapes: Any) -> Model:
    return bind_symbols(model, dict.fromkeys(numbers, 1), *shapes)


SHAPES = (
    ["N", "C", "H", "W"], ["N", "C", 1, "W"], [1, "C", "H", "W"], ["N", 1, 1, 1], ["C", 1, 1], ["H", "W"], ["W"], [1],
)  # fmt: skip


def chain(length: int) -> bytes:
    inputs = [helper.make_tensor_value_info(f"s{i}", TensorProto.FLOAT, shape) for i, shape in enumerate(SHAPES)]
    nodes = [
        helper.make_node("Max", [f"v{i - 1}" if i else "s0", f"s{i % 8}"], [f"v{i}"], name=f"m{i}")
        for i in range(length)
    ]
    named = [helper.make_tensor_value_info(f"v{i}", TensorProto.FLOAT, SHAPES[0]) for i in range(length)]
    graph = helper.make_graph(nodes, "chain", inputs, named[-1:], value_info=named[:-1])
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=10)
    return bytes(made.SerializeToString())


def test_a_long_chain_takes_little_longer_than_the_check() -> None:
    data = chain(10_000)
    start = time.process_time()
    check(data)
    checked = time.process_time() - start
    start = time.process_time()
    proof = prove_model(data)
    spent = time.process_time() - start
    assert (proof.verdict, proof.nodes_judged, proof.distinct) == ("proved", 10_000, 8)
    assert spent <= 1.5 * checked + 0.5, (spent, checked)


def test_a_check_loads_no_solver() -> None:
    code = "import sys, sonnx, sonnx.prover.model_proof, sonnx.report.model_proof; assert 'z3' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


def test_the_text_begins_with_the_verdict_and_tells_what_is_open_by_reason() -> None:
    """Two nodes without declared types: one reason, one line for the rule, fix first."""
    found = onnx.load_from_string(model("float[N] a, float[M] b", "float[N] c", "t = Max(a, b) u = Max(t) c = Max(u)"))
    for index, node in enumerate(found.graph.node):
        node.name = f"encoder/layers/max_{index}"
    report = ProofReport.of(prove_model(found.SerializeToString(), ProofOptions(name="m.onnx")))
    first, *lines = report.to_text().splitlines()
    assert first.startswith("m.onnx: refuted: ")
    assert any(line.startswith("  mend first  sonnx fix m.onnx") for line in lines)
    [number] = [number for number, line in enumerate(lines) if line.startswith("refuted: for N=")]
    assert lines[number + 1] == "  Max.broadcastable  node 'encoder/layers/max_0' (Max, opset 13), graph/node[0]"
    reasons = [line for line in lines if line.startswith("undecided: ")]
    assert len(set(reasons)) == len(reasons) > 0
