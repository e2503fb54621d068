"""Structure classes: which ones conform, and what the calls that cover them are."""

from __future__ import annotations

from functools import cache

import pytest

from sonnx.profile.catalogue import operators
from sonnx.prover.signature_family import SignatureFamily, signatures
from sonnx.prover.witness import CallInstance, call_text
from sonnx.suite.call_search import SATISFIABLE, UNKNOWN, UNSATISFIABLE
from sonnx.suite.structures import Structures, structures

OPERATORS = ("Relu", "Softmax", "ArgMax")


def family_of(operator: str) -> SignatureFamily:
    described = next(each for each in operators() if each.name == operator)
    found, edition = next(iter(signatures(described)))
    return SignatureFamily(described, found, edition, ((found.version, edition),))


@cache
def of(operator: str) -> Structures:
    return structures(family_of(operator))


@pytest.mark.parametrize("operator", OPERATORS)
def test_every_satisfiable_class_occurs_in_a_conforming_call(operator: str) -> None:
    made = of(operator)
    answers = {each.name: each.answer for each in made.classes}
    covered = {name for each in made.positive for name in each.classes}
    assert covered == {name for name, answer in answers.items() if answer == SATISFIABLE}
    assert UNKNOWN not in answers.values()


@pytest.mark.parametrize("operator", OPERATORS)
def test_each_rule_is_broken_or_says_why_not(operator: str) -> None:
    made = of(operator)
    broken = {each.broken for each in made.negative}
    assert broken | {slug for slug, _ in made.unbroken} == {rule.slug for rule in made.family.rules}
    assert not broken & {slug for slug, _ in made.unbroken}


ANSWERS = {
    ("Relu", "X has rank 0"): SATISFIABLE,
    ("Relu", "X is uint8"): UNSATISFIABLE,  # Relu of ONNX has signed types only
    ("ArgMax", "X is uint8"): SATISFIABLE,
    ("ArgMax", "X has rank 0"): UNSATISFIABLE,  # it has no axis
    ("Softmax", "X has extent 0 on axis 0"): SATISFIABLE,
}


@pytest.mark.parametrize(("operator", "name"), ANSWERS)
def test_answer(operator: str, name: str) -> None:
    found = {each.name: each.answer for each in of(operator).classes}
    assert found.get(name, found) == ANSWERS[operator, name]


def test_most_calls_have_a_list_that_is_not_empty() -> None:
    """Also where each number of the list makes an axis of one element, and outputs with more elements are preferred."""
    axes = [read_axes(each.call) for each in of("Unsqueeze").positive]
    assert sum(map(bool, axes)) > 3 * len(axes) // 4
    assert {len(each) for each in axes} == {0, 1, 2, 3, 4}
    assert any(number < 0 for each in axes for number in each)


def read_axes(call: CallInstance) -> tuple[int, ...]:
    """The elements of the second input."""
    facts = call.inputs[1]
    assert facts is not None
    assert isinstance(facts.values, tuple)
    return tuple(int(str(number)) for number in facts.values)


def test_equal_signatures_have_equal_calls() -> None:
    first, again = of("Relu"), of.__wrapped__("Relu")
    for one, other in ((first.positive, again.positive), (first.negative, again.negative)):
        assert [call_text(each.call) for each in one] == [call_text(each.call) for each in other]


@pytest.mark.parametrize(
    ("operator", "types", "numbers"),
    [
        ("LeakyRelu", ("float16", "float", "double"), ("alpha is 0", "alpha is negative", "alpha is above 1")),
        (
            "ArgMax",
            ("int8", "uint64", "double"),
            ("select_last_index is 0", "select_last_index is 1", "axis is above 1"),
        ),
    ],
)
def test_numbers_of_attributes_occur_with_every_element_type(
    operator: str, types: tuple[str, ...], numbers: tuple[str, ...]
) -> None:
    """A kernel of one type may treat a number of an attribute wrongly where that of another type does not."""
    occurring = [structure.classes for structure in of(operator).positive]
    [name] = {known.name.split()[0] for known in of(operator).classes if known.name.endswith(" is double")}
    wanted = [(f"{name} is {element}", number) for element in types for number in numbers]
    assert [pair for pair in wanted if not any(set(pair) <= set(classes) for classes in occurring)] == []
