"""The SMT interpretation of every rule, definition and shape of every operator, version and edition is the evaluator's.

Both are compared on random calls: absent and present inputs and parameters, negative and extreme numbers, empty axes,
infinite elements, shapes that fit and shapes that do not.  Values of definitions are compared too, with the items that
have none.
"""

from __future__ import annotations

import random

import pytest
import z3

from sonnx.language.evaluator import Evaluator, TensorFacts
from sonnx.profile.catalogue import editions, operators
from sonnx.prover.signature_family import rules_of_edition
from sonnx.prover.smt_functions import ELEMENT_TYPES
from sonnx.prover.smt_interpretation import SmtInterpretation
from sonnx.prover.smt_lists import of_length
from sonnx.prover.smt_values import RecordValue, SymbolicList, SymbolicString, bool_term, variable
from tests.support.cases import DEEP, each_case, examples
from tests.support.ground_terms import GroundTerms
from tests.support.operator_calls import Compared, Comparison, Draw, Hypotheses, OperatorCalls, operator_calls, statable

ROUNDS = examples(5, 25)
CHECKED = examples(1, 2)
"""Calls for each signature whose model is checked."""
SEEN = Compared()


def _of(operator: str) -> list[OperatorCalls]:
    return [each for each in operator_calls() if each.family.signature.operator == operator]


@each_case("operator", [each.name for each in operators()])
def test_every_expression_agrees(operator: str) -> None:
    for calls in _of(operator):
        comparison = Comparison(calls)
        assert comparison.refused == []
        draw = Draw(comparison, random.Random(operator))
        for _ in range(ROUNDS):
            numbers = draw.numbers()
            assert comparison.difference(numbers, SEEN) == ""


@each_case("operator", [each.name for each in operators()])
def test_the_hypotheses_admit_every_call(operator: str) -> None:
    """Each call that a file can state meets the ranges, and a check of its model judges the general rules as stated."""
    for calls in _of(operator):
        hypotheses = Hypotheses(calls)
        bounded = calls.family.variables.interpretation.bounds
        assert set(bounded) <= {True} or "turns of a loop" in calls.family.stated_bounds
        draw = Draw(hypotheses, random.Random(operator))
        for number in range(ROUNDS):
            numbers = statable(calls.family.signature, draw.numbers())
            assert hypotheses.excluded(numbers) == ""
            if number < CHECKED:
                assert hypotheses.judged_otherwise(numbers) == ""


def test_every_expression_was_defined_and_nearly_all_conditions_held_and_failed() -> None:
    """Conditions that never held or never failed are few: each would need a call made for it."""
    stated = [f"{who} {pair[0].text}" for calls in operator_calls() for pair, who in calls.expressions.items()]
    if len(SEEN.values) < len(operator_calls()):
        pytest.skip("the comparisons ran in other processes")
    assert [each for each in stated if each not in SEEN.values] == []
    one_sided = [each for each, found in SEEN.values.items() if found in ({True}, {False})]
    assert len(one_sided) < (0.08 if DEEP else 0.14) * len(stated), one_sided


# The general rules, which are about one value, parameter, input, or group of tensors


@each_case("edition", editions().editions)
def test_the_general_rules_agree(edition: str) -> None:
    chance, found = random.Random(edition), rules_of_edition(edition)
    types = tuple(found.edition.element_types)
    for subject in ("value", "parameter", "input", "group"):
        for rule, demand in found.general_rules_about(subject):
            domain = SmtInterpretation()
            condition = domain.condition(demand, _symbolic(subject, types), rule.when)
            terms = GroundTerms([bool_term(condition.defined), condition.value], domain.codes)
            for _ in range(30):
                numbers = {name: _number(name, chance) for name in terms.variables}
                facts = _stated(subject, types, numbers)
                applies = rule.when is None or rule.when.evaluate(Evaluator(), facts)
                expected = not applies or demand.evaluate(Evaluator(), facts)
                assert terms.read(numbers) == [True, expected], (rule.slug, numbers)


def _number(name: str, chance: random.Random) -> int:
    return chance.randrange(len(ELEMENT_TYPES)) if name.endswith(".type") else chance.randint(0, 3)


def _symbolic(subject: str, types: tuple[str, ...]) -> dict[str, object]:
    flags = {name: z3.Bool(name) for name in ("written", "value_when_absent", "connected")}
    tensors = [_tensor(f"group.{i}") for i in range(3)]
    return {
        "value": {"value": _tensor("value"), "element_types": SymbolicList(tuple((True, t) for t in types), True)},
        "group": {"group": of_length(variable("count", 0, 3), tensors)},
    }.get(subject, {subject: RecordValue(flags)})


def _tensor(name: str) -> RecordValue:
    shape = of_length(variable(f"{name}.rank", 0, 3), [variable(f"{name}.{i}", 0) for i in range(3)])
    kind = {"kind": "tensor", "holds_sparse": False}
    return RecordValue({"type": SymbolicString(z3.Int(f"{name}.type")), "shape": shape, **kind})


def _stated(subject: str, types: tuple[str, ...], numbers: dict[str, int]) -> dict[str, object]:
    def tensor(name: str) -> TensorFacts:
        shape = tuple(numbers.get(f"{name}.{i}", 0) for i in range(numbers.get(f"{name}.rank", 0)))
        return TensorFacts(ELEMENT_TYPES[numbers.get(f"{name}.type", 0)], shape)

    flags = {name: bool(numbers.get(name, 0)) for name in ("written", "value_when_absent", "connected")}
    return {
        "value": {"value": tensor("value"), "element_types": types},
        "group": {"group": tuple(tensor(f"group.{i}") for i in range(numbers.get("count", 0)))},
    }.get(subject, {subject: flags})
