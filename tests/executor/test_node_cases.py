"""The node tests that the onnx package generates for these operators, run as whole models."""

from functools import cache

import numpy
import pytest

import sonnx
from sonnx.executor.distance import first_difference
from tests.support.cases import each_case
from tests.support.node_tests import node_tests

OPERATORS = {"Max", "ArgMax", "ReduceMax", "Constant", "Identity"}
NO_TENSORS = {
    "test_identity_opt": "a sequence or an optional is not a tensor",
    "test_identity_sequence": "a sequence is not a tensor",
}
"""Cases that must be refused: the profile has tensors only."""


@cache
def cases():
    return {
        case.name: case
        for case in node_tests()
        if {node.op_type for node in case.model.graph.node} <= OPERATORS and not case.model.functions
    }


def test_there_are_as_many_as_measured():
    assert len(cases()) >= 14 + 16 + 11 + 1 + 5


@each_case("name", lambda: sorted(cases()))
def test_node_case(name):
    case = cases()[name]
    for inputs, outputs in case.data_sets:
        names = [value.name for value in case.model.graph.input]
        given = dict(zip(names, inputs, strict=True))
        source = case.model.SerializeToString()
        if name in NO_TENSORS:
            with pytest.raises(sonnx.NotExecutable, match="which the executor does not know"):
                sonnx.run(source, given, unchecked=True)
            continue
        found = sonnx.run(source, given, unchecked=True)
        for value, wanted in zip(case.model.graph.output, outputs, strict=True):
            assert first_difference(found[value.name], numpy.asarray(wanted), bits=True) is None
