"""One identifier, one requirement: a rule says the same in every version and edition that has it."""

from __future__ import annotations

from collections import defaultdict

import pytest

from sonnx.profile import catalogue
from sonnx.profile.definitions import OperatorDefinition
from sonnx.profile.signature import Signature, signature


def demands(operator: OperatorDefinition) -> dict[str, set[str]]:
    """What each rule of an operator states over all versions and editions, by its identifier.

    A rule about listed types states which tensors have them; which types these are is the version's and the edition's.
    """
    found = defaultdict[str, set[str]](set)
    for edition in catalogue.editions().editions:
        for version in operator.versions:
            resolved = signature(operator.name, version, edition)
            for rule in resolved.rules if resolved else ():
                found[rule.slug].add(_demand(resolved, rule.name, rule.statement) if resolved else "")
    return found


def _demand(resolved: Signature, name: str, statement: str) -> str:
    tensors = resolved.typed.get(name, ())
    fixed = statement.partition(" has the element type ")[0] if name.endswith("-type") else ""
    return (
        f"the type of {tensors[0]}" if tensors else f"the type of {fixed}" if fixed in _formals(resolved) else statement
    )


def _formals(resolved: Signature) -> set[str]:
    return {formal.name for formal in resolved.formals}


@pytest.mark.parametrize("operator", catalogue.operators(), ids=lambda each: each.name)
def test_an_identifier_has_one_text(operator: OperatorDefinition) -> None:
    assert {slug: texts for slug, texts in demands(operator).items() if len(texts) > 1} == {}


@pytest.mark.parametrize("operator", catalogue.operators(), ids=lambda each: each.name)
def test_a_rule_about_types_constrains_the_same_tensors_in_each_version_that_has_them(
    operator: OperatorDefinition,
) -> None:
    edition = catalogue.editions().default
    for version in operator.versions:
        resolved = signature(operator.name, version, edition)
        for rule, tensors in resolved.typed.items() if resolved else ():
            here = _formals(resolved) if resolved else set()
            assert set(tensors) == here & set(operator.type_rules[rule]), (version, rule)


def test_no_identifier_is_a_type_variable_of_onnx() -> None:
    variables = {
        f"{operator.name}.{variable}-allowed" for operator in catalogue.operators() for variable in operator.types
    }
    assert variables & {slug for operator in catalogue.operators() for slug in demands(operator)} == set()
