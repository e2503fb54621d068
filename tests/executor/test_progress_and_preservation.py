"""The hypotheses of the soundness theorem about the operators that run: docs/operator-hypotheses.md.

Progress: a call that meets its rules gives an output.  Preservation: it has the type and shape that the walk computes,
here of a model that declares neither.  The calls are those of the conforming cases.
"""

from __future__ import annotations

import random
import zlib
from collections.abc import Sequence

import onnx
import pytest

import sonnx
from sonnx.base.errors import ErrorCondition
from sonnx.checker.checker import stated_facts
from sonnx.checker.rules import ActiveRules
from sonnx.language.evaluator import Unknown
from sonnx.model.reader import element_names, read
from sonnx.profile import catalogue
from tests.support.cases import spread
from tests.support.random_models import RandomModel, SampleCall, add, sample_calls

EDITION = catalogue.edition_named()
OPERATORS = sorted(operator for operator in sample_calls() if EDITION.status(operator) in ("specified", "draft"))
MOST = 8
"""Calls of one operator in `make test`."""


@pytest.mark.parametrize("operator", OPERATORS)
def test_a_call_gives_what_the_walk_computes(operator: str) -> None:
    assert _shapes(operator, spread(list(sample_calls()[operator]), MOST)), "no call has a computed shape"


@pytest.mark.campaign
@pytest.mark.parametrize("operator", OPERATORS)
def test_all_calls_give_what_the_walk_computes(operator: str) -> None:
    assert _shapes(operator, sample_calls()[operator])


def test_every_specified_operator_has_a_call() -> None:
    specified = {name for name in EDITION.operators if catalogue.operator(name)}
    assert specified <= set(OPERATORS)


def _shapes(operator: str, calls: Sequence[SampleCall]) -> int:
    """The number of outputs of calls whose type and shape are those that the walk computes."""
    compared = 0
    for number, call in enumerate(calls):
        chance, model = random.Random(zlib.crc32(f"{operator} {number}".encode())), RandomModel(call.operator_set)
        add(chance, model, call)
        declared = model.proto()
        report = sonnx.check(declared)
        if report.exit_code() == 1:  # an operator that is planned, or a rule that restricts another version
            continue
        try:
            values = sonnx.run(declared, inputs=model.arrays(chance))
        except ErrorCondition:
            assert report.exit_code() == 3, "no condition on the values was assumed"
            continue
        facts = stated_facts(read(_undeclared(declared)), ActiveRules(EDITION))
        for name, value in values.items():
            known = facts.value(name)
            assert known is not None
            if not isinstance(known.type, Unknown):
                assert element_names()[onnx.helper.np_dtype_to_tensor_dtype(value.dtype)] == known.type, (number, name)
            if isinstance(known.shape, Unknown) or any(isinstance(extent, Unknown) for extent in known.shape):
                continue
            assert value.shape == tuple(known.shape), (number, name)
            compared += 1
    return compared


def _undeclared(model: onnx.ModelProto) -> bytes:
    """The model without the types and shapes of its outputs."""
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    for output in copy.graph.output:
        output.ClearField("type")
    return copy.SerializeToString()
