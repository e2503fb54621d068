"""The typed objects of the operators: one for each file, complete, and as the data files describe them."""

import re
from importlib import import_module
from pathlib import Path

import pytest

from sonnx import operators
from sonnx.language.structure import reads
from sonnx.operators import Operator, all_operators, find_operator, registry
from sonnx.profile import catalogue
from tests.support.cases import each_case

FOLDER = Path(operators.__file__).parent
MODULES = {stem for path in FOLDER.glob("*.py") if (stem := path.stem) not in registry.OTHER_MODULES}
ALONE = sorted(MODULES - registry.FAMILIES.keys())
OPERATORS = all_operators()
DESCRIBED = {name: described for name in OPERATORS if (described := catalogue.operator(name)) is not None}
FIELDS = {"define", "kernel", "fast_path"}
"""The fields of an Operator for which modules have a function of the same name."""

each_operator = each_case("operator", OPERATORS.values(), ids=OPERATORS)
each_described = each_case("operator", [OPERATORS[name] for name in DESCRIBED], ids=DESCRIBED)


@each_case("stem", ALONE)
def test_every_file_is_named_like_its_operator(stem):
    operator = import_module(f"{operators.__name__}.{stem}").OPERATOR
    assert operator.name.lower() == stem
    assert find_operator(operator.name) is operator is OPERATORS[operator.name]


@each_case("stem", registry.FAMILIES)
def test_every_family_has_the_operators_it_is_said_to_have(stem):
    stated = import_module(f"{operators.__name__}.{stem}").OPERATORS
    assert {each.name for each in stated} == set(registry.FAMILIES[stem])
    assert all(find_operator(each.name) is each is OPERATORS[each.name] for each in stated)


def test_the_other_files_are_the_named_ones():
    """A file that neither states an operator nor is named here would be an operator without an object."""
    stems = {path.stem for path in FOLDER.glob("*.py")}
    sources = {stem: (FOLDER / f"{stem}.py").read_text("utf-8") for stem in stems}
    with_object = {stem for stem, source in sources.items() if re.search("^OPERATORS? = ", source, re.MULTILINE)}
    assert with_object == MODULES
    assert stems - with_object == registry.OTHER_MODULES


def test_a_misspelt_field_is_an_error():
    with pytest.raises(TypeError, match="kernell"):
        Operator(name="X", define=lambda application, inputs: (), kernell=None)
    with pytest.raises(TypeError, match="define"):
        Operator(name="X")


@each_case("stem", ALONE)
def test_every_kernel_has_its_definition(stem):
    """Each function named like a field is that field of the object, so that no kernel is left out."""
    module = import_module(f"{operators.__name__}.{stem}")
    stated = {name: getattr(module, name) for name in FIELDS if hasattr(module, name)}
    assert stated == {name: getattr(module.OPERATOR, name) for name in stated}
    assert callable(module.OPERATOR.define)


@each_operator
def test_a_signature_is_stated_exactly_where_there_is_no_data_file(operator):
    assert (operator.signature is None) == (operator.name in DESCRIBED)
    if operator.signature is not None:
        editions = catalogue.editions().editions.values()
        assert not any(operator.name in edition.operators for edition in editions)
        for least, greatest in (operator.signature.inputs, operator.signature.outputs):
            assert 0 <= least <= greatest


@each_operator
def test_flags_go_together(operator):
    """An output that is the input, or known before the run, takes no kernel; rules are those of the operator."""
    if operator.passes_input_on or operator.precomputed:
        assert operator.kernel is operator.fast_path is None
    assert all(slug.startswith(f"{operator.name}.") for slug in operator.error_conditions)


@each_described
def test_rounds_where_the_data_file_says(operator):
    """The inner rounding points; that a text leaves the output open does not concern the code."""
    stated = [point.name for point in DESCRIBED[operator.name].rounding if point.name != "output"]
    assert list(operator.rounding_points) == stated


@each_described
def test_decides_the_error_conditions_on_elements(operator):
    """Every error condition that reads elements is decided by the operator, unless a shape relies on it."""
    described = DESCRIBED[operator.name]
    relied = {name for output in described.outputs for name in output.relies}
    of_values = {
        rule.slug
        for rule in described.rules
        if rule.kind == "error-condition"
        and rule.withdrawn is None
        and rule.name not in relied
        and any(read.field == "values" for read in reads(rule.require))
    }
    assert set(operator.error_conditions) == of_values
