"""The semantics modules and the data files say the same: roundings, error conditions, names."""

import importlib
from pathlib import Path

import pytest

from sonnx import semantics
from sonnx.operators.registry import kernels, modules
from sonnx.profile import catalogue

MODULES = {
    module.OPERATOR: module
    for module in map(importlib.import_module, modules(semantics.__name__).values())
    if hasattr(module, "OPERATOR")
}
DESCRIBED = {name: catalogue.operator(name) for name in MODULES}


@pytest.mark.parametrize("operator", MODULES)
def test_named_like_its_operator(operator):
    assert Path(MODULES[operator].__file__).stem == operator.lower()


@pytest.mark.parametrize("operator", [name for name in MODULES if DESCRIBED[name] is None])
def test_without_a_data_file_it_says_how_many_inputs_it_takes(operator):
    assert hasattr(MODULES[operator], "INPUTS")
    editions = catalogue.editions().editions.values()
    assert not any(operator in edition.operators for edition in editions), "a specified operator has a data file"


@pytest.mark.parametrize("operator", [name for name in MODULES if DESCRIBED[name] is not None])
def test_rounds_where_the_data_file_says(operator):
    """ROUNDS are the inner points; that a text leaves the output open is no matter of the code."""
    stated = [point.name for point in DESCRIBED[operator].rounding if point.name != "output"]
    assert list(getattr(MODULES[operator], "ROUNDS", ())) == stated


@pytest.mark.parametrize("operator", [name for name in MODULES if DESCRIBED[name] is not None])
def test_raises_what_only_values_decide(operator):
    """Every error condition on elements is decided by the module, unless the shape of an output rests on it."""
    described = DESCRIBED[operator]
    relied = {name for output in described.outputs for name in output.relies}
    of_values = {
        rule.slug
        for rule in described.rules
        if rule.kind == "error-condition" and rule.name not in relied and ".values" in rule.require.text
    }
    assert set(getattr(MODULES[operator], "RAISES", ())) == of_values


def test_every_kernel_has_its_definition():
    helpers = {"blocks", "bounding", "certified", "elementwise", "scratch", "settling", "trust"}
    assert set(kernels()) - {name.lower() for name in MODULES} >= helpers
    unknown = set(kernels()) - {name.lower() for name in MODULES}
    assert not [each for each in unknown if hasattr(importlib.import_module(kernels()[each]), "kernel")]
