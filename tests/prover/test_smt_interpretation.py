"""The SMT interpretation of the rule language agrees with the evaluator wherever it is defined."""

from __future__ import annotations

import random
from collections.abc import Mapping
from contextlib import nullcontext
from typing import Any

import pytest
import z3
from hypothesis import given, settings
from hypothesis import strategies as st

from sonnx.graph.environment import evaluate
from sonnx.language.evaluator import Evaluator, TensorFacts, Unknown
from sonnx.language.parser import parse
from sonnx.prover import smt_interpretation, smt_lists
from sonnx.prover.signature_family import SignatureFamily, families
from sonnx.prover.smt_functions import ELEMENT_TYPES
from sonnx.prover.smt_interpretation import SmtInterpretation
from sonnx.prover.smt_lists import of_length
from sonnx.prover.smt_values import RecordValue, SymbolicList, SymbolicNumber, SymbolicString, bool_term, real, variable
from sonnx.prover.terms import variables_in
from sonnx.prover.witness import instance
from tests.support.proved import chosen_operators

FAMILIES = [family for each in chosen_operators() for family in families(each, SignatureFamily.conformance)]


def decided(part: Any, values: Mapping[str, int]) -> Any:
    """A value of the SMT interpretation with numbers for its variables, as the evaluator represents it."""
    if isinstance(part, SymbolicList):
        return tuple(decided(item, values) for present, item in part.items if decided(present, values))
    if isinstance(part, SymbolicNumber | SymbolicString):
        return decided(part.term, values)
    if not isinstance(part, z3.ExprRef):
        return part
    pairs = [
        (name, z3.BoolVal(bool(values.get(str(name), 0))) if z3.is_bool(name) else z3.IntVal(values.get(str(name), 0)))
        for name in variables_in(part)
    ]
    known = z3.simplify(z3.substitute(part, *pairs))
    assert z3.is_int_value(known) or z3.is_true(known) or z3.is_false(known), known
    return known.as_long() if z3.is_int_value(known) else z3.is_true(known)


@st.composite
def calls(draw: st.DrawFn) -> tuple[SignatureFamily, dict[str, int]]:
    """A signature with numbers for its variables."""
    family = draw(st.sampled_from(FAMILIES))
    values: dict[str, int] = {}
    for name in variable_names(family):
        last = name.rpartition(".")[2]
        if name.startswith(("given(", "written(")):
            values[name] = draw(st.integers(0, 1))
        elif last in ("rank", "count", "length"):
            values[name] = draw(st.integers(0, 3))
        elif last == "text":
            values[name] = draw(st.integers(len(ELEMENT_TYPES), len(family.variables.interpretation.codes)))
        elif last == "type":
            values[name] = draw(st.sampled_from([0, 0, 1, 2, 3]))
        else:
            axis = last.isdecimal() and name.rpartition(".")[0] not in names_of_lists(family)
            values[name] = draw(st.integers(0, 3) if axis else st.integers(-3, 3))
    for parameter in family.signature.values:
        shape = f"{parameter.name}_input"
        values |= {f"{shape}.rank": 1, f"{shape}.0": values[f"{parameter.name}.length"], f"{shape}.type": 1}
    return family, values


def variable_names(family: SignatureFamily) -> list[str]:
    found = {str(name) for each in family.variables.ranges for name in variables_in(each)}
    found |= {f"given({each.name})" for each in (*family.signature.inputs, *family.signature.outputs) if each.optional}
    return sorted(found | {f"written({each.name})" for each in family.signature.attributes})


def names_of_lists(family: SignatureFamily) -> set[str]:
    return {each.name for each in family.signature.parameters if each.kind.endswith("s")}


def disagreement(family: SignatureFamily, values: Mapping[str, int]) -> tuple[str, int]:
    """The first rule or shape on which the interpretations differ, and how many were defined."""
    variables, defined = family.variables, 0
    facts = instance(family.signature, variables.interpretation.codes, values).names()
    for rule in family.rules:
        demand, condition = family.demand(rule), family.condition(rule)
        if demand is None or not decided(bool_term(condition.defined), values):
            continue
        defined += 1
        applies = True if rule.when is None else evaluate(rule.when, Evaluator(), facts)
        expected = True if applies is False else evaluate(demand, Evaluator(), facts)
        if decided(bool_term(condition.value), values) is not expected:
            return rule.slug, defined
    for name, shape in family.signature.shapes.items():
        there, value = variables.interpretation.interpret(shape, variables.names)
        if decided(bool_term(there), values):
            defined += 1
            if decided(value, values) != evaluate(shape, Evaluator(), facts):
                return name, defined
    return "", defined


COUNTED = {"defined": 0}


@settings(max_examples=100, deadline=None, derandomize=True)
@given(calls())
def test_rules_of_all_operators_agree(call: tuple[SignatureFamily, dict[str, int]]) -> None:
    family, values = call
    wrong, defined = disagreement(family, values)
    COUNTED["defined"] += defined
    assert not wrong, (family.title, values)


def test_many_of_them_were_defined() -> None:
    assert COUNTED["defined"] > 200


TEXTS = (
    "S[n]", "S[0]", "S[len(S) - 1]", "S[n:m]", "S[n:]", "S[:m]", "(S + T)[n]", "S + T", "[n, m] + S + [m]",
    "(S[n:] + T)[m]", "[s for s in S if s > n]", "[s for s in S if s > n] + T", "[s for s in S if s > n][m]",
    "[s + t for s in S for t in T]", "[s for s in S if s in T]", "len([s for s in S if s > n])", "sum(S)",
    "product(S)", "max(S)", "min(S + T)", "max([s for s in S if s > n])", "n // m", "n % m", "-n - m * 2",
    "n * m // (m * 1)", "all(s > n for s in S)", "any(s == n for s in S if s > m)", "distinct(S)",
    "distinct([s for s in S if s > n] + T)", "S == T", "[s for s in S if s > n] == T", "S == [n, m]", "S != T",
    "n in S", "n not in S", "S if n > m else T", "(S if n > m else T + S)[1]", "range(n)", "range(n, m)",
    "[S[i] for i in range(len(S)) if i < n]", "sum([1 for s in S if s == -1])", "n < m < 3", "n > 0 and S[n] > 0",
    "n < 0 or n >= len(S) or S[n] > 0", "reduce(join, S, 1)", "broadcast([S, T])", "broadcastable([S, T, [n]])",
    "onnx_broadcastable([S, T])", "normal(n, m)", "X.rank == len(S)", "X.shape[n]", "X.type == 'float'",
    "X.type in ['int64', 'bool']", "[X.shape[i] if i in S else n for i in range(X.rank)]", "aligned(S, n)",
    "'a' if n > m else 'b'", "('a' if n > m else 'b') == 'a'", "all([s > n for s in S])", "any([s > n for s in S])",
    "not (n > m) and all(x == n for x in S[n:m])", "product([d for d in S if d != -1]) == sum(T)",
)  # fmt: skip
MAX_UNROLLED_ITEMS = 4


def symbolic_environment() -> tuple[SmtInterpretation, dict[str, Any]]:
    numbers = {name: variable(name, -4, 4) for name in ("n", "m")}
    made = {
        name: of_length(
            variable(f"{name}.length", 0, MAX_UNROLLED_ITEMS),
            [variable(f"{name}.{i}") for i in range(MAX_UNROLLED_ITEMS)],
        )
        for name in ("S", "T", "X")
    }
    tensor = RecordValue({"shape": made.pop("X"), "type": SymbolicString(z3.Int("X.type"))})
    return SmtInterpretation(), {**numbers, **made, "X": tensor}


def drawn(chance: random.Random) -> dict[str, int]:
    values = {name: chance.randint(-4, 4) for name in ("n", "m")}
    for name in ("S", "T", "X"):
        values[f"{name}.length"] = chance.randint(0, MAX_UNROLLED_ITEMS)
        values |= {f"{name}.{i}": chance.randint(-2 * (name != "X"), 3) for i in range(MAX_UNROLLED_ITEMS)}
    return values | {"X.type": chance.randint(0, 3)}


def stated(values: Mapping[str, int]) -> dict[str, Any]:
    listed = {name: tuple(values[f"{name}.{i}"] for i in range(values[f"{name}.length"])) for name in ("S", "T", "X")}
    tensor = TensorFacts(ELEMENT_TYPES[values["X.type"]], listed.pop("X"))
    return {"n": values["n"], "m": values["m"], **listed, "X": tensor}


def first_difference(rounds: int) -> str:
    chance = random.Random(7)
    for text in TEXTS:
        domain, names = symbolic_environment()
        domain.bounds.clear()
        defined, value = domain.interpret(parse(text), names)
        codes = {code: word for word, code in domain.codes.items()}
        for _ in range(rounds):
            values = drawn(chance)
            if not decided(bool_term(defined), values):
                continue
            expected = evaluate(parse(text), Evaluator(), stated(values))
            found = decided(value, values)
            found = codes[found] if isinstance(value, SymbolicString) else found
            if isinstance(expected, Unknown) or found != expected:
                return f"{text} is {found}, not {expected}, for {values}"
    return ""


def test_every_construct_agrees() -> None:
    assert first_difference(15) == ""


def test_undefined_is_undefined_in_both() -> None:
    """If the evaluator finds no value, an obligation of the SMT interpretation fails."""
    chance = random.Random(8)
    for text in TEXTS:
        domain, names = symbolic_environment()
        defined, _ = domain.interpret(parse(text), names)
        for _ in range(10):
            values = drawn(chance)
            if isinstance(evaluate(parse(text), Evaluator(), stated(values)), Unknown):
                assert not decided(bool_term(defined), values), (text, values)


def _gaps_forgotten(left: SymbolicList, right: SymbolicList) -> SymbolicList:
    return SymbolicList((*left.items, *right.items), packed=True)


def _off_by_one(known: SymbolicList, index: Any) -> Any:
    return smt_lists.item_at(known, index + 1 if isinstance(index, int) else index)


@pytest.mark.parametrize(
    ("module", "name", "mutant"),
    [
        (smt_interpretation, "concatenate", _gaps_forgotten),
        (smt_interpretation, "item_at", _off_by_one),
        (smt_interpretation, "less", lambda left, right: smt_interpretation.values.at_most(left, right)),
    ],
)
def test_a_wrong_interpretation_is_detected(
    monkeypatch: pytest.MonkeyPatch, module: Any, name: str, mutant: Any
) -> None:
    monkeypatch.setattr(module, name, mutant)
    assert first_difference(15) != ""


def test_a_forgotten_guard_is_detected(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the guard of the loop item the index would have to be in range also where no item exists."""
    monkeypatch.setattr(SmtInterpretation, "under", lambda self, guard: nullcontext())
    domain, names = symbolic_environment()
    defined, _ = domain.interpret(parse("[S[i] for i in range(len(S))]"), names)
    assert not decided(bool_term(defined), {"S.length": 1})


def test_factors_cancel_without_a_solver() -> None:
    domain = SmtInterpretation()
    names = {name: variable(name, 1) for name in ("N", "C", "H")}
    assert domain.interpret(parse("N * C * H // (N * C)"), names)[1].factors == (1, ("H",))
    assert domain.interpret(parse("N * C % C"), names) == (True, 0)
    assert domain.interpret(parse("N == -1"), names) == (True, False)
    assert domain.interpret(parse("N * C == C * N"), names) == (True, True)


@pytest.mark.parametrize(("left", "right"), [(-8.5, 1.0), (8.5, 1.0), (7.25, 0.5), (-0.75, 0.5), (6.0, 4.0)])
def test_quotients_of_fractions_are_rounded_down(left: float, right: float) -> None:
    names = {"n": left, "m": right}
    symbolic = {name: real(value) for name, value in names.items()}
    for text in ("n // m", "n % m == n - n // m * m", "n % m < m", "n % m >= 0", "-(n // m) <= 9"):
        defined, value = SmtInterpretation().interpret(parse(text), symbolic)
        folded = value if isinstance(value, int) else z3.is_true(z3.simplify(value))
        assert z3.is_true(z3.simplify(bool_term(defined)))
        assert folded == evaluate(parse(text), Evaluator(), names), text


def test_a_loop_without_a_bound_leaves_a_condition() -> None:
    domain = SmtInterpretation()
    domain.interpret(parse("sum(range(n))"), {"n": variable("n", 0)})
    assert len(domain.bounds) == 1
