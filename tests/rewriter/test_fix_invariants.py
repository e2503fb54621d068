"""What holds of every model that is rewritten: no crash, no new failure, no unrecorded change."""

from __future__ import annotations

import hashlib
from collections import Counter

import onnx.parser
import pytest
from msgspec import structs

import sonnx
from sonnx import fix
from sonnx.base.errors import Unreadable, UsageError
from sonnx.checker.conditions import MODEL
from sonnx.checker.verdicts import Verdict
from sonnx.evidence.verification import model_bytes
from sonnx.model.ir import Model
from sonnx.model.reader import read
from sonnx.model.scopes import is_same
from sonnx.profile.cases import all_cases
from tests.support import families
from tests.support.cases import each_case, spread
from tests.support.invariants import BAD, harmless

ALWAYS = ("split.md: an empty part", "values.md: a sparse constant in a function", "equal.md: broadcast")
SOME = spread((case for case in all_cases() if not case.id.startswith("range")), 100)
SOME += [case for case in all_cases() if case.id in ALWAYS and case not in SOME]
"""A part of the cases, from every file except that of Range, whose long lists take the executor a minute."""


@each_case("case", SOME, ids=lambda case: case.id)
def test_no_model_of_a_case_gets_worse(case):
    data = model_bytes(case)
    try:
        found = fix(data, samples=1)
    except UsageError as refusal:
        assert harmless(str(refusal))
        return
    before, after = (failures(report) for report in (found.before, found.after))
    assert after.keys() <= before.keys() | waiting(found.before)
    alone = sonnx.check(found.model_bytes(), name="model")
    digests = alone.conditions.digests
    assert digests == {MODEL: hashlib.sha256(found.model_bytes()).hexdigest()}
    assert structs.replace(alone, conditions=structs.replace(alone.conditions, digests={})) == found.after
    if not found.rewrites:
        assert after == before
    again = fix(found.model_bytes(), samples=0)
    assert again.model_bytes() == found.model_bytes()
    assert all(map(harmless, found.to_text().splitlines()))


def failures(report: sonnx.Report) -> Counter:
    return Counter(each.rule for each in report.findings if each.verdict is Verdict.FAIL)


def waiting(report: sonnx.Report) -> set[str]:
    """The rules that were undecided because another one failed: once that is fixed they may fail themselves."""
    return {each.rule for each in report.findings if each.verdict is Verdict.UNDECIDED and each.cause}


@each_case("data", BAD.values(), ids=BAD)
def test_what_is_no_model_is_unreadable(data):
    with pytest.raises(Unreadable):
        fix(data)


def test_models_with_other_bytes_are_not_the_same() -> None:
    """The bytes of tensors are not compared where models are; a model that is written back must have them."""

    def model(number: int) -> Model:
        text = f"""<ir_version: 10, opset_import: ["" : 13]>
            g () => (float[1] y) <float[1] c = {{{number}}}> {{ y = Neg(c) }}"""
        return read(onnx.parser.parse_model(text).SerializeToString())

    assert model(1) == model(2)
    assert is_same(model(1), model(1))
    assert not is_same(model(1), model(2))


@pytest.mark.parametrize("name", ["scatters_of_one_constant", "reshapes_to_one_constant", "growing_sums"])
@pytest.mark.parametrize("steps", [10, 200, 500, 100_000])
def test_the_check_after_is_that_of_the_file(name: str, steps: int) -> None:
    """Also where all checks of the command together take more steps than one may."""
    made = fix(families.MAKERS[name](12), limits={"steps": steps}, samples=1)
    alone = sonnx.check(made.model_bytes(), name="model.onnx", limits={"steps": steps, "findings": 100_000})
    assert [finding.verdict for finding in made.after.findings] == [finding.verdict for finding in alone.findings]
    assert made.after.verdict == alone.verdict


@pytest.mark.parametrize(
    ("nodes", "answer"),
    [
        ("y = Relu(x)", "identical"),
        ("y = RandomNormalLike(x)", "not decided"),
        ("z = Relu(y) y = Relu(z)", "not decided"),
        ("z = Relu(x)", "not decided"),
        ("z = RandomNormalLike(x) y = Add(x, z)", "not decided"),
        ("y = Dropout(x)", "identical"),
        ("y = If(c) <then_branch = a () => (float[2] p) { p = RandomNormalLike(x) },"
         " else_branch = b () => (float[2] q) { q = Relu(x) }>", "not decided"),
    ],
)  # fmt: skip
def test_a_model_that_stays_is_the_same_function_if_it_is_one(nodes: str, answer: str) -> None:
    text = f'<ir_version: 8, opset_import: ["": 13]> g (float[2] x, bool c) => (float[2] y) {{ {nodes} }}'
    data = onnx.parser.parse_model(text).SerializeToString()
    kept = ["Dropout"] if "Dropout" in nodes else []
    found = fix(data, samples=1, select=["names-defined-once"], keep=kept)
    assert is_same(read(found.model_bytes()), read(data))
    assert found.validation.for_all_inputs is not None
    assert found.validation.for_all_inputs.value == answer
