"""Versions of an operator that mean the same: one answer for all inputs, and the same bits by both definitions."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

import onnx.parser

import sonnx
from sonnx.equivalence.result import Answer
from sonnx.executor.distance import first_difference
from sonnx.executor.executor import ModelRunner
from sonnx.executor.model_inputs import required_inputs
from sonnx.executor.probes import probe
from sonnx.model.reader import read
from tests.support.cases import each_case

ALIKE = {
    "y = Equal(a, b)": ((7, 11, 13, 19), "int64", "bool"),
    "y = Min(a, b)": ((8, 12, 13), "float", "float"),
    "y = Mod(a, b)": ((10, 13), "int32", "int32"),
    "y = Mod <fmod = 1> (a, b)": ((10, 13), "float", "float"),
}
"""Calls, the operator sets in which they mean the same, and their types."""


def pairs() -> Iterator[tuple[str, int, int]]:
    for call, (versions, _, _) in ALIKE.items():
        for first, second in combinations(versions, 2):
            yield call, first, second


def model(call: str, operator_set: int) -> bytes:
    _, given, result = ALIKE[call]
    head = f'<ir_version: 8, opset_import: ["" : {operator_set}]> g ({given}[2, 3] a, {given}[3] b)'
    return onnx.parser.parse_model(f"{head} => ({result}[2, 3] y) {{ {call} }}").SerializeToString()


@each_case(("call", "first", "second"), pairs)
def test_versions_of_one_meaning(call: str, first: int, second: int) -> None:
    datas = [model(call, version) for version in (first, second)]
    assert sonnx.equivalent(*datas, runs=0).result.answer == Answer.IDENTICAL
    runners = [ModelRunner(read(data), unchecked=True) for data in datas]
    for index in range(8):
        inputs = probe(required_inputs(runners[0].model), 3, index)
        if "Mod" in call and (inputs["b"] == 0).any():
            continue
        one, other = (runner.run(inputs).values["y"] for runner in runners)
        assert first_difference(one, other) is None


def test_a_version_without_broadcasting_is_another_operator() -> None:
    older = model("y = Min(a, b)", 7)
    assert sonnx.equivalent(older, model("y = Min(a, b)", 8), runs=0).result.answer != Answer.IDENTICAL
    older = model("y = Equal(a, b)", 1)
    assert sonnx.equivalent(older, model("y = Equal(a, b)", 7), runs=0).result.answer != Answer.IDENTICAL
