"""Calls of stated ranks: their hypotheses admit every call of these ranks, and claims demand that they are defined."""

from __future__ import annotations

import itertools

import z3

from sonnx.prover import solvers
from sonnx.prover.expression_claims import SymbolicCall, claims
from sonnx.prover.smt_lists import list_of
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
    rules = z3.And(call.rules())
    assert true(rules, A_0=2, A_1=3, B_0=3, B_1=4)
    assert not true(rules, A_0=2, A_1=3, B_0=4, B_1=4)


def test_a_rule_brings_those_it_relies_on() -> None:
    """Also those on which these rely; the general rules among them are no conditions on this call."""
    one, several = arg_max(), SymbolicCall("Concat", 13)
    several.with_facts(X=list_of([several.tensor(f"X.{m}", 2) for m in range(2)]), axis=several.number("axis"))
    for call, rule, others in (
        (one, "axis-range", set()),
        (one, "axis-not-empty", {"axis-range"}),
        (several, "same-rank", {"input-count"}),
        (several, "other-axes-equal", {"input-count", "same-rank", "axis-range"}),
    ):
        alone = {name: call.rules(name)[0].sexpr() for name in (rule, *others)}
        assert sorted(each.sexpr() for each in call.rules(rule)) == sorted(alone.values()), rule


def arg_max() -> SymbolicCall:
    call = SymbolicCall("ArgMax", 13)
    return call.with_facts(X=call.tensor("X", 2), axis=call.number("axis"), keepdims=call.number("keepdims"))


def test_a_claim_that_is_not_defined_is_not_proved() -> None:
    call = SymbolicCall("MatMul", 13)
    call.with_facts(A=call.tensor("A", 2), B=call.tensor("B", 2))
    for text in ("A.shape[2] == A.shape[2]", "not (A.shape[2] == 5)", "A.shape[0] // B.shape[0] >= 0"):
        obligation = Obligation("claim", tuple(call.known), call.claim(text))
        assert solvers.ask("z3", solvers.question_text(obligation)).result == "sat", text


def test_that_a_shape_exists_is_asked() -> None:
    """Of ArgMax without kept axes, only if the axis is one of the input's."""
    for rules, wanted in ((("keepdims-flag",), "sat"), (("keepdims-flag", "axis-range"), "unsat")):
        first = next(iter(claims(arg_max(), rules, [])))
        assert first.name == "Y has a shape"
        assert solvers.ask("z3", solvers.question_text(first)).result == wanted, rules
