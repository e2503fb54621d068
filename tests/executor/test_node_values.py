"""Every generated node test of the onnx package for the operators of the executor: in its tolerance, and to the bit.

`node_values.toml` lists each case that differs in a bit from the package's expectation, each that is refused, and the
element types with which a case is not run, with the cause.  An entry that no longer differs fails.
"""

import tomllib
from pathlib import Path

import numpy
import onnx
import pytest
from onnx import numpy_helper

import sonnx
from sonnx.executor.distance import first_difference
from sonnx.numerics.formats import NAMES
from sonnx.operators import find_operator
from sonnx.profile import catalogue
from tests.support.cases import each_case, spread
from tests.support.definitions import run_by_definitions
from tests.support.node_tests import node_tests
from tests.support.oracle import same

LISTED = tomllib.loads((Path(__file__).parent.parent / "data" / "node_values.toml").read_text("utf-8"))
DIFFERS, REFUSED, TYPES = LISTED["differs"], LISTED["refused"], LISTED["types"]
DISAGREES = LISTED["disagrees"]
"""Where the text of the profile defines another value than the node test expects."""


def collected():
    """The cases of one node whose operator has a data file or a definition, with their arrays."""
    for case in node_tests():
        nodes = case.model.graph.node
        operator = nodes[0].op_type
        known = find_operator(operator) is not None or catalogue.operator(operator) is not None
        if len(nodes) != 1 or nodes[0].domain or not known:
            continue
        for inputs, outputs in case.data_sets:
            arrays = [list(map(held, each)) for each in (inputs, outputs)]
            yield case, *arrays


def held(value):
    """A tensor as an array; anything else as it is."""
    if isinstance(value, onnx.TensorProto):
        return numpy_helper.to_array(value)
    return numpy.asarray(value) if isinstance(value, numpy.ndarray | numpy.generic) else value


def unknown_types(arrays):
    """The types among them that the executor does not know."""
    kinds = [each.dtype if isinstance(each, numpy.ndarray) else type(each).__name__ for each in arrays]
    return {str(kind) for kind in kinds if kind not in NAMES}


CASES = list(collected())

SMALL = 20_000
"""Elements of inputs and outputs up to which the definitions, without kernels, must give the same bits."""


def test_every_case_is_run_or_has_a_type_that_is_listed():
    """Of each operator with a data file there is a case that is run, unless the package has none."""
    found = {str(kind) for _, inputs, outputs in CASES for kind in unknown_types(inputs + outputs)}
    assert found == TYPES.keys()
    assert all(TYPES.values())
    operators = {case.model.graph.node[0].op_type for case, *_ in CASES}
    run = {case.model.graph.node[0].op_type for case, inputs, _ in CASES if not unknown_types(inputs)}
    assert run == operators


def some_cases():
    """In a run that is not deep a few of each operator."""
    by_operator = {}
    for row in CASES:
        by_operator.setdefault(row[0].model.graph.node[0].op_type, []).append(row)
    return [row for rows in by_operator.values() for row in spread(rows, 6)]


@each_case(("case", "inputs", "outputs"), some_cases)
def test_node(case, inputs, outputs):
    names = [value.name for value in case.model.graph.input]
    if unknown_types(inputs + outputs):
        with pytest.raises(sonnx.Stop):
            sonnx.run(case.model.SerializeToString(), dict(zip(names, inputs, strict=True)), unchecked=True)
        return
    given = {name: numpy.asarray(value) for name, value in zip(names, inputs, strict=True)}
    try:
        found = list(sonnx.run(case.model.SerializeToString(), given, unchecked=True).values())
    except sonnx.Stop as stop:
        assert case.name in REFUSED, stop
        return
    assert case.name not in REFUSED, "it has a value now"
    if sum(each.size for each in [*inputs, *outputs]) <= SMALL:
        plain = run_by_definitions(case.model.SerializeToString(), given)
        assert all(same(ours, plain[name]) for name, ours in zip(plain, found, strict=True))
    if case.name in DISAGREES:
        assert not all(
            numpy.array_equal(ours, numpy.asarray(theirs)) for ours, theirs in zip(found, outputs, strict=True)
        )
        return
    differences = []
    for ours, theirs in zip(found, map(numpy.asarray, outputs), strict=True):
        assert (ours.dtype, ours.shape) == (theirs.dtype, theirs.shape)
        wide = "f8" if ours.dtype.kind in "fV" or ours.dtype.name == "bfloat16" else ours.dtype
        numpy.testing.assert_allclose(ours.astype(wide), theirs.astype(wide), rtol=case.rtol, atol=case.atol)
        differences.append(first_difference(ours, theirs))
    different = [each for each in differences if each is not None]
    if case.name in DIFFERS:
        assert different, "the entry in node_values.toml is stale: the expectation has the exact bits"
    else:
        assert not different, different[0]


def test_every_listed_case_exists():
    names = {case.name for case, *_ in CASES}
    assert not (DIFFERS.keys() | REFUSED.keys()) - names
    assert all(cause for cause in [*DIFFERS.values(), *REFUSED.values()])
