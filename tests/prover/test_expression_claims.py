"""Calls of stated ranks: their hypotheses admit every call of these ranks, and claims demand that they are defined."""

from __future__ import annotations

import itertools

import z3

from sonnx.prover import solvers
from sonnx.prover.expression_claims import SymbolicCall, claims
from sonnx.prover.theorem import Obligation


def true(condition: z3.BoolRef, **numbers: int) -> bool:
    values = [(z3.Int(name.replace("_", ".")), z3.IntVal(number)) for name, number in numbers.items()]
    return z3.is_true(z3.simplify(z3.substitute(condition, *values)))


def test_a_tensor_has_any_extents() -> None:
    call = SymbolicCall("MatMul", 13)
    call.tensor("A", 2)
    for first, second in itertools.product((0, 1, 5), repeat=2):
        assert all(true(each, A_0=first, A_1=second) for each in call.known)
    assert not all(true(each, A_0=-1, A_1=2) for each in call.known)


def test_the_rules_of_a_call_hold_where_they_hold_in_a_check() -> None:
    call = SymbolicCall("MatMul", 13)
    call.with_facts(A=call.tensor("A", 2), B=call.tensor("B", 2))
    rules = z3.And(call.rules("inner-equal")) if "inner-equal" in rule_names(call) else z3.And(call.rules())
    assert true(rules, A_0=2, A_1=3, B_0=3, B_1=4)
    assert not true(rules, A_0=2, A_1=3, B_0=4, B_1=4)


def rule_names(call: SymbolicCall) -> set[str]:
    return {rule.name for rule in call.signature.rules}


def test_a_rule_brings_those_it_relies_on() -> None:
    call = SymbolicCall("Flatten", 13)
    call.with_facts(X=call.tensor("X", 2), axis=call.number("axis"))
    relying = [rule for rule in call.signature.rules if set(rule.relies) & rule_names(call)]
    for rule in relying:
        reachable, waiting = set[str](), [rule.name]
        while waiting:
            name = waiting.pop()
            known = {each.name: each for each in call.signature.rules}
            if name in known and name not in reachable:
                reachable.add(name)
                waiting += known[name].relies
        stated = {each.name for each in own_rules(call)}
        if rule.name in stated and reachable <= stated:
            assert len(call.rules(rule.name)) == len(reachable), rule.slug


def own_rules(call: SymbolicCall) -> list[object]:
    from sonnx.profile.catalogue import operator

    described = operator(call.operator)
    assert described is not None
    return list(described.rules)


def test_a_claim_that_is_not_defined_is_not_proved() -> None:
    call = SymbolicCall("MatMul", 13)
    call.with_facts(A=call.tensor("A", 2), B=call.tensor("B", 2))
    for text in ("A.shape[2] == A.shape[2]", "not (A.shape[2] == 5)", "A.shape[0] // B.shape[0] >= 0"):
        obligation = Obligation("claim", tuple(call.known), call.claim(text))
        assert solvers.ask("z3", solvers.export(obligation)).result == "sat", text


def test_that_a_shape_exists_is_asked() -> None:
    call = SymbolicCall("MatMul", 13, change=("X", "X"))
    call.with_facts(A=call.tensor("A", 1), B=call.tensor("B", 2))
    first = next(iter(claims(call, (), [])))
    defined, _ = call.shape("Y")
    assert first.goal.eq(defined)
