"""The message of every failure of every case speaks of the model, not of the rule language or of this tool."""

from __future__ import annotations

import re
from functools import cache

import onnx.parser

import sonnx
from sonnx.checker.report import Finding
from sonnx.checker.verdicts import Verdict
from sonnx.evidence.verification import check_case
from sonnx.profile.cases import all_cases
from tests.support.cases import DEEP, first_of_each

INTERNAL = re.compile(
    r"\b(?:written|given|constant|stated)\(|\b(?:parameter|operand)\.|holds_sparse|value_when_absent|\w_input\b|\bnth\b"
    r"|not known|does not hold|\bTrue\b|\bFalse\b|\bNone\b|\bTensorFacts\b|\bUnknown\b|element_types"
)
"""Words of the rule language and of this program that mean nothing to the reader of a message."""
GENERAL = re.compile(r"\b(?:value|input|group)\.\w|\bgroup\[")
"""Names of the subjects of general.toml; an operator may have a parameter of such a name."""


@cache
def failures() -> tuple[Finding, ...]:
    """Every failure of a case, in the last edition for which a verdict is stated; texts that differ in numbers once.

    In a run that is not deep, of one case of each expectation.
    """
    found: dict[tuple[str, str], Finding] = {}
    for case in first_of_each(all_cases(), lambda case: (case.file, str(case.expected))):
        for finding in check_case(case, case.editions[-1]).findings if case.editions else ():
            if finding.verdict is Verdict.FAIL:
                found.setdefault((finding.rule, re.sub(r"\d+", "0", finding.actual)), finding)
    return tuple(found.values())


def test_no_message_has_internal_words() -> None:
    assert len(failures()) > (900 if DEEP else 600)
    assert {finding.rule: finding.actual for finding in failures() if INTERNAL.search(finding.actual)} == {}
    general = (finding for finding in failures() if "." not in finding.rule and finding.where.kind != "node")
    assert {finding.rule: finding.actual for finding in general if GENERAL.search(finding.actual)} == {}


def test_every_message_is_half_a_sentence() -> None:
    odd = re.compile(r"^\s|\s$|^(?:holds|needs)|needs$|  |^$")
    assert {finding.rule: finding.actual for finding in failures() if odd.search(finding.actual)} == {}


def test_a_wrong_rank_is_named_as_a_rank() -> None:
    shown = {finding.rule: finding.actual for finding in failures()}
    assert shown["Range.Y-shape"] == "Y.rank = 2, needs == 1"


def test_a_message_that_rests_on_a_constant_names_it() -> None:
    """`where` says which value of the model the constant input is."""
    [finding] = [each for each in failures() if each.rule == "ReduceSum.axes-range"][:1]
    assert "axes" in finding.values_by_name


def test_a_misspelt_attribute_is_one_failure() -> None:
    """The attribute that it stands for is neither missing nor left to its default: both wait for known-attribute."""
    text = """<ir_version: 10, opset_import: ["" : 13]> g (float[2, 3] a) => (int64[2, 1] y)
    { y = ArgMax <axis = 1, keepdim = 1, select_last_index = 0> (a) }"""
    report = sonnx.check(onnx.parser.parse_model(text).SerializeToString())
    assert [finding.rule for finding in report.roots] == ["known-attribute"]
    assert "did you mean 'keepdims'?" in report.roots[0].actual
    assert {(finding.rule, finding.cause) for finding in report.findings[1:]} == {
        ("no-default-values", "known-attribute")
    }
