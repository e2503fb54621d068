"""Every generated node test of the onnx package for operators with semantics: in its tolerance, and to the bit.

`node_values.toml` lists each case that differs in a bit from the package's expectation, and each that is refused, with
the cause.  numpy chooses its functions by the processor, so a listed case may have the expected bits on another one.
"""

import tomllib
import warnings
from pathlib import Path

import numpy
import pytest

import sonnx
from sonnx import semantics
from sonnx.agreement import first_difference
from sonnx.applying import _modules
from sonnx.semantics.formats import NAMES

LISTED = tomllib.loads((Path(__file__).parent / "node_values.toml").read_text("utf-8"))
DIFFERS, REFUSED = LISTED["differs"], LISTED["refused"]


def collected():
    """The cases of one node whose operator has a module and whose tensors are of types the executor knows."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from onnx.backend.test.case.node import collect_testcases

        cases = collect_testcases(None)
    for case in cases:
        nodes = case.model.graph.node
        if len(nodes) != 1 or nodes[0].domain or nodes[0].op_type.lower() not in _modules(semantics.__name__):
            continue
        for number, (inputs, outputs) in enumerate(case.data_sets):
            arrays = [*inputs, *outputs]
            if all(isinstance(each, numpy.ndarray | numpy.generic) and each.dtype in NAMES for each in arrays):
                yield pytest.param(case, inputs, outputs, id=f"{case.name}-{number}" if number else case.name)


CASES = list(collected())


@pytest.mark.parametrize(("case", "inputs", "outputs"), CASES)
def test_node(case, inputs, outputs):
    names = [value.name for value in case.model.graph.input]
    given = {name: numpy.asarray(value) for name, value in zip(names, inputs, strict=True)}
    try:
        found = list(sonnx.run(case.model.SerializeToString(), given, unchecked=True).values())
    except sonnx.Stop as stop:
        assert case.name in REFUSED, stop
        return
    assert case.name not in REFUSED, "it has a value now"
    differences = []
    for ours, theirs in zip(found, map(numpy.asarray, outputs), strict=True):
        assert (ours.dtype, ours.shape) == (theirs.dtype, theirs.shape)
        wide = "f8" if ours.dtype.kind in "fV" or ours.dtype.name == "bfloat16" else ours.dtype
        numpy.testing.assert_allclose(ours.astype(wide), theirs.astype(wide), rtol=case.rtol, atol=case.atol)
        differences.append(first_difference(ours, theirs))
    different = [each for each in differences if each is not None]
    if case.name in DIFFERS:
        if not different:
            pytest.skip("the package's expectation has the exact bits on this machine")
    else:
        assert not different, different[0]


def test_every_listed_case_exists():
    names = {each.values[0].name for each in CASES}
    assert not (DIFFERS.keys() | REFUSED.keys()) - names
    assert all(cause for cause in [*DIFFERS.values(), *REFUSED.values()])
