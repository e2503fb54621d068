"""Traceability leads from labels to rules, cases and theorems, and back."""

from __future__ import annotations

from sonnx.evidence.traceability import concerned, of_operator, traces
from sonnx.language.parser import built_ins
from sonnx.profile import catalogue
from sonnx.profile.index import all_labels, rules_by_slug, slugs_named
from sonnx.proofs.registry import theorems
from tests.support.cases import each_case
from tools.pages.traceability import errata_named, words_used


def test_every_theorem_about_one_rule_finds_it() -> None:
    rules = rules_by_slug()
    for theorem in theorems():
        if of_operator(theorem) and theorem.id.count(".") == 3:
            (slug,) = concerned(theorem, rules)
            assert f"{slug} " in theorem.statement, theorem.id


@each_case(
    ("slug", "code", "theorem"),
    [
        ("Max.broadcastable", "language.builtins.broadcastable", "derived.Max-13.independent.broadcastable"),
        ("Max.broadcastable", "language.builtins.onnx_broadcastable", "broadcast.profile-restricts"),
        ("ReduceMax.axes-distinct", "language.builtins.normal", "derived.ReduceMax-13.independent.axes-distinct"),
        ("acyclic", "checker.graph_rules.graphs.acyclic", ""),
    ],
)
def test_a_trace_by_hand(slug: str, code: str, theorem: str) -> None:
    trace = traces(theorems())[slug]
    assert code in trace.code
    assert theorem in trace.theorems if theorem else not trace.theorems
    assert trace.conforming and trace.violating


def test_labels_of_every_kind() -> None:
    """Those of rules, of parameters, of inputs, and of types."""
    found = {(each.tag.text, each.tag.label, each.rule, each.subject) for each in all_labels()}
    assert ("2025-11", "E1", "Max.broadcastable", "") in found
    assert ("2026-08", "R1", "no-default-values", "ArgMax.axis") in found
    assert ("2026-08", "R4", "inputs-connected", "Gemm.C") in found
    assert ("2026-08", "Z.C2", "no-implicit-conversion", "Where.Z") in found


def test_a_label_of_a_part_selects_the_rule_that_decides_it() -> None:
    """R3 of 2026-08 stands on a parameter of ArgMax and on rules; Z.C2 on types only."""
    assert {"no-default-values", "operator-in-profile"} <= slugs_named(["R3@2026-08"])
    assert slugs_named(["Z.C2"]) == {"no-implicit-conversion"}


def test_what_has_no_counterpart() -> None:
    assert words_used() == set(built_ins())
    assert catalogue.errata().keys() - errata_named() == {
        "convinteger-padding-value", "dequantize-zero-point-of-int32", "editorial-slips", "examples-not-reproducible",
    }  # fmt: skip
