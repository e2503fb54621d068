"""The matrix of labels by cases: every label of a version in an edition has a case, or every rule with it a reason."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from sonnx.profile.catalogue import editions, operators
from sonnx.prover.signature_family import SignatureFamily, signatures
from sonnx.suite.archive import Part
from sonnx.suite.report import SuiteReport, reason_without_case
from sonnx.suite.structures import structures
from tests.suite.test_structures import of
from tests.support.cases import DEEP

CHEAP = (("Relu", 14), ("Softmax", 13))


def families() -> list[SignatureFamily]:
    return [
        SignatureFamily(described, signature, edition, ((signature.version, edition),))
        for described in operators()
        for signature, edition in signatures(described)
        if DEEP or ((described.name, signature.version) in CHEAP and edition == editions().default)
    ]


@pytest.mark.parametrize("family", families(), ids=lambda each: f"{each.label} {each.edition}")
def test_every_label_has_a_call_or_a_reason(family: SignatureFamily) -> None:
    made = structures(family) if DEEP else of(family.signature.operator)
    assert made.family.label == family.label
    rules = {each.name: each.rule for each in made.classes}
    tested = {each.broken for each in made.negative}
    tested |= {rules[name] for each in made.positive for name in each.classes}
    reasons = dict(made.unbroken)
    for rule in family.rules:
        if rule.tags:
            assert rule.slug in tested or reasons[rule.slug]
    assert made.positive  # they test the labels of the operator, and of its value


def test_an_empty_cell_says_why() -> None:
    [described] = [each for each in operators() if each.name == "Max"]
    rule = next(each for each in described.rules if each.tags)
    label = f"{rule.tags[0].label}@{rule.tags[0].text}"
    part = Part("Max", 13, "2026-11", (), {}, {}, {label: ()}, (), 0, 0, 0, 0)
    assert rule.slug in reason_without_case(part, label)
    told = replace(part, unbroken={rule.slug: "follows from another rule"})
    assert f"{rule.slug}: follows from another rule" in reason_without_case(told, label)
    report = SuiteReport(hypotheses="", bounds="", parts=(told,), archives={})
    assert "follows from another rule" in report.to_format("html")
