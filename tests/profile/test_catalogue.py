"""The catalogue fits together, and says of ONNX what the installed onnx package says."""

from __future__ import annotations

import re
from itertools import product

import onnx
import onnx.defs
import pytest
from msgspec.structs import replace

from sonnx.checker.profile_validation import problems
from sonnx.language.parser import parse as parse_rule
from sonnx.model import reader
from sonnx.model.ir import WIDTH
from sonnx.profile import catalogue
from sonnx.profile.definitions import Tag, at, expand
from sonnx.profile.index import rules_by_slug
from sonnx.profile.signature import signature
from tests.support.cases import each_case

OPERATORS = catalogue.operators()
SCHEMAS = {
    (schema.name, schema.since_version): schema
    for schema in onnx.defs.get_all_schemas_with_history()
    if schema.domain == ""
}
DESCRIBED = [(each, version) for each in OPERATORS for version in each.versions]
IDS = [f"{each.name}-{version}" for each, version in DESCRIBED]
ANY_EDITION = {
    each.name: next(e.name for e in catalogue.editions().editions.values() if e.status(each.name)) for each in OPERATORS
}
KIND = onnx.defs.OpSchema.FormalParameterOption


def test_no_problems():
    assert list(problems()) == []


GOOD = catalogue.general_rules()[0]


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"slug": "No Sparse"}, "form of a slug"),
        ({"slug": "Max.broadcastable"}, "2 rules are called Max.broadcastable"),
        ({"statement": ""}, "has no statement"),
        ({"because": " "}, "has no because"),
        ({"remedy": ""}, "has no remedy"),
        ({"source": ""}, "has no source"),
        ({"kind": "law"}, "class"),
        ({"subject": "planet"}, "not a subject"),
        ({"introduced": "1999-01"}, "text '1999-01'"),
        ({"withdrawn": "1999-01"}, "text '1999-01'"),
        ({"tags": (Tag("1999-01", "R1", "x"),)}, "text '1999-01'"),
        ({"require": None}, "no condition"),
        ({"require": parse_rule("value.rank")}, "has the type int, not bool"),
        ({"require": parse_rule("value.rank == value.type")}, "are different types"),
        ({"require": parse_rule("nobody > 0")}, "unknown name nobody"),
        ({"when": parse_rule("value.shape[0]")}, "has the type int, not bool"),
    ],
)
def test_problems_are_reported(monkeypatch, changed, said):
    monkeypatch.setattr(catalogue, "general_rules", lambda: (replace(GOOD, **changed),))
    found = next(each for each in problems() if said in each)
    assert found.endswith(".")


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"relies": ("nothing-of-it",)}, "relies on nothing-of-it"),
        ({"require": parse_rule("len(Z) > 0")}, "unknown name Z"),
        ({"since": 14}, "not active in any version"),
    ],
)
def test_problems_of_operators_are_reported(monkeypatch, changed, said):
    max_ = catalogue.operator("Max")
    rules = (replace(max_.rules[0], **changed), *max_.rules[1:])
    monkeypatch.setattr(catalogue, "operators", lambda: (replace(max_, rules=rules),))
    assert [each for each in problems() if said in each]


def test_every_rule_of_every_edition_is_reached():
    """What an edition names and a file describes resolves, under its text, in every version."""
    for edition in catalogue.editions().editions.values():
        for name in {*edition.operators, *edition.planned}:
            described = catalogue.operator(name)
            for version in described.versions if described else ():
                made = signature(name, version, edition.name)
                assert made is not None
                assert made.rules


def test_every_planned_operator_is_described():
    planned = {name for edition in catalogue.editions().editions.values() for name in edition.planned}
    assert {each.name for each in OPERATORS if each.specified is None} == planned


def test_a_planned_operator_is_asked_what_onnx_demands():
    """Only where ONNX is silent about what shapes rest on, or calls a value undefined, does such a file refuse more."""
    beyond = {
        rule.slug for each in OPERATORS if each.specified is None for rule in each.rules if rule.kind != "validity"
    }
    silent = {
        *product(("ReduceMean", "ReduceSum"), ("keepdims-flag", "noop-flag", "axes-distinct", "axes-not-empty")),
        *product(("ReduceMean", "ReduceSum"), ("axes-from-first",)),
        *product(("ReduceMean", "GlobalAveragePool"), ("reduction-not-empty",)),
        ("ScatterND", "places-distinct"),
        ("Mod", "fmod-flag"),
        *product(("Split",), ("axis-written", "axis-from-first", "lengths-as-attribute")),
    }
    assert beyond == {".".join(pair) for pair in silent}
    assert all(rule.errata for each in OPERATORS for rule in each.rules if rule.slug in beyond)


def test_all_rules_have_a_rationale():
    for slug, rule in rules_by_slug().items():
        assert rule.statement.endswith("."), slug
        assert rule.because and rule.remedy and rule.source, slug


# ------------------------------------------------------------------ against the installed onnx package


def test_newest_versions():
    known = catalogue.editions()
    assert known.operator_set == onnx.defs.onnx_opset_version()
    assert known.ir_version == onnx.IR_VERSION


def test_numbers_of_element_types():
    """Cast names element types by their numbers in TensorProto.DataType."""
    made = signature("Cast", 28, ANY_EDITION["Cast"])
    listed = re.findall(r"'(\w+)'", made.define["elements"].text)
    assert listed == [name.lower() for _, name in sorted((n, name) for name, n in onnx.TensorProto.DataType.items())]
    first = signature("Cast", 1, ANY_EDITION["Cast"])
    assert [name.lower() for name in re.findall(r"'(\w+)'", first.define["names"].text)] == listed[:14]


def test_element_types():
    names = {name.lower() for name, _ in onnx.TensorProto.DataType.items()} - {"undefined"}
    assert names == WIDTH.keys() | {"string"}
    assert names == {name for name in reader.element_names().values() if name}


@each_case("name", sorted({name for e in catalogue.editions().editions.values() for name in e.operators}))
def test_operators_of_the_editions_exist(name):
    assert onnx.defs.has(name)


def test_the_operators_outside_are_all_others_of_onnx() -> None:
    every = {each.name for each in onnx.defs.get_all_schemas_with_history() if each.domain == ""}
    editions = catalogue.editions().editions.values()
    assert catalogue.operators_outside().keys() == {
        name for name in every if not any(edition.status(name) for edition in editions) and not catalogue.operator(name)
    }


def test_what_is_near_names_operators_of_the_profile() -> None:
    """Every word that is the name of an operator of ONNX is in the default edition, or said to be planned."""
    every = {each.name for each in onnx.defs.get_all_schemas_with_history() if each.domain == ""}
    known = catalogue.editions()
    for name, near in catalogue.operators_outside().items():
        assert not near.endswith("."), name
        for word in every & set(re.findall(r"\w+", near)):
            status = known.editions[known.default].status(word)
            assert (
                status in ("specified", "draft") or f"{word} is planned" in near or f"{word}, which is planned" in near
            ), name


@each_case("name", sorted({name for e in catalogue.editions().editions.values() for name in e.planned}))
def test_planned_operators_exist(name):
    assert onnx.defs.has(name)


@each_case("described", OPERATORS, ids=lambda each: each.name)
def test_versions(described):
    assert described.versions == tuple(sorted(version for name, version in SCHEMAS if name == described.name))


@each_case(("described", "version"), DESCRIBED, ids=IDS)
def test_types(described, version):
    schema = SCHEMAS[described.name, version]
    stated = {
        constraint.type_param_str: {name for name in constraint.allowed_type_strs if name.startswith("tensor(")}
        for constraint in schema.type_constraints
    }
    families = catalogue.editions().families
    listed = {
        variable: {f"tensor({name})" for name in expand(at(described.types[variable], version), families)}
        for variable in signature(described.name, version, ANY_EDITION[described.name]).groups
    }
    assert listed == stated


def test_types_other_than_tensors():
    """The files list tensor types only; other values fail `tensor-values-only` wherever they stand."""
    others = {
        name
        for (name, _), schema in SCHEMAS.items()
        for constraint in schema.type_constraints
        if any(not each.startswith("tensor(") for each in constraint.allowed_type_strs)
    }
    assert others & {each.name for each in OPERATORS} == {"Identity"}


@each_case(("described", "version"), DESCRIBED, ids=IDS)
@each_case("side", ["inputs", "outputs"])
def test_inputs_and_outputs(described, version, side):
    schema = SCHEMAS[described.name, version]
    made = signature(described.name, version, ANY_EDITION[described.name])
    ours = [
        (each.onnx, each.type if each.type in described.types else f"tensor({each.type})",
         KIND.Optional if each.optional else KIND.Variadic if getattr(each, "variadic", False) else KIND.Single)
        for each in getattr(made, side)
    ]  # fmt: skip
    assert ours == [(each.name, each.type_str, each.option) for each in getattr(schema, side)]


@each_case(("described", "version"), DESCRIBED, ids=IDS)
def test_attributes(described, version):
    schema = SCHEMAS[described.name, version]
    made = signature(described.name, version, ANY_EDITION[described.name])
    ours = {each.name: (each.kind, each.required_at(version)) for each in made.attributes}
    assert ours == {
        name: (attribute.type.name.lower(), attribute.required) for name, attribute in schema.attributes.items()
    }


@each_case(("described", "version"), DESCRIBED, ids=IDS)
def test_defaults(described, version):
    """Where the schema has a default value the file states it; the file may know more than the schema."""
    schema = SCHEMAS[described.name, version]
    made = signature(described.name, version, ANY_EDITION[described.name])
    for name, attribute in schema.attributes.items():
        stated = made.absent[name]
        if attribute.default_value.name:
            default = onnx.helper.get_attribute_value(attribute.default_value)
            default = default.decode() if isinstance(default, bytes) else default
            assert stated is not None and stated.text == repr(default), name


def test_defaults_the_schemas_do_not_state():
    """What the texts say and no schema does: all axes, axis 1, no padding, steps of 1, the functions of a cell."""
    beyond = {
        (described.name, name)
        for described, version in DESCRIBED
        for name, text in signature(described.name, version, ANY_EDITION[described.name]).absent.items()
        if text is not None
        and name in SCHEMAS[described.name, version].attributes
        and not SCHEMAS[described.name, version].attributes[name].default_value.name
    }
    windows = set(product(("Conv", "ConvInteger"), ("dilations", "kernel_shape", "pads", "strides")))
    windows |= set(product(("MaxPool",), ("dilations", "pads", "strides")))
    windows |= set(product(("ConvTranspose",), ("dilations", "kernel_shape", "pads", "strides", "output_padding")))
    alone = {
        ("ReduceMax", "axes"),
        ("Concat", "axis"),
        ("GRU", "activations"),
        ("LSTM", "activations"),
        ("Shape", "end"),
        ("Slice", "axes"),
    }
    alone |= set(product(("ReduceMean", "ReduceSum", "Resize", "Squeeze"), ("axes",)))
    alone |= {("Split", "split"), ("Transpose", "perm")}
    assert beyond == alone | windows


@each_case("described", OPERATORS, ids=lambda each: each.name)
def test_version_in_force(described):
    """At each operator set the file takes the version the registry takes."""
    for operator_set in range(1, onnx.defs.onnx_opset_version() + 1):
        try:
            expected = onnx.defs.get_schema(described.name, operator_set).since_version
        except onnx.defs.SchemaError:
            expected = None
        assert described.version_at(operator_set) == expected
