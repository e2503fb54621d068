"""The Z3 reading of the rule language says what the reading of facts says, wherever it is defined."""

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
from sonnx.prover import encoding, smt_lists
from sonnx.prover.encoding import Encoding
from sonnx.prover.encoding_functions import ELEMENT_TYPES
from sonnx.prover.family import Family, families
from sonnx.prover.smt_lists import of_length, variables_in
from sonnx.prover.smt_truth import formula
from sonnx.prover.smt_values import Listing, Number, Record, Text, variable
from sonnx.prover.witness import instance
from tests.support.proved import chosen

FAMILIES = [family for each in chosen() for family in families(each, Family.everything)]


def decided(part: Any, values: Mapping[str, int]) -> Any:
    """A part of the Z3 reading with numbers for its variables, as the reading of facts has it."""
    if isinstance(part, Listing):
        return tuple(decided(item, values) for present, item in part.items if decided(present, values))
    if isinstance(part, Number | Text):
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
def calls(draw: st.DrawFn) -> tuple[Family, dict[str, int]]:
    """A signature with numbers for the variables of its setting."""
    family = draw(st.sampled_from(FAMILIES))
    values: dict[str, int] = {}
    for name in variables(family):
        last = name.rpartition(".")[2]
        if name.startswith(("given(", "written(")):
            values[name] = draw(st.integers(0, 1))
        elif last in ("rank", "count", "length"):
            values[name] = draw(st.integers(0, 3))
        elif last == "text":
            values[name] = draw(st.integers(len(ELEMENT_TYPES), len(family.setting.reading.codes)))
        elif last == "type":
            values[name] = draw(st.sampled_from([0, 0, 1, 2, 3]))
        else:
            axis = last.isdecimal() and name.rpartition(".")[0] not in names_of_lists(family)
            values[name] = draw(st.integers(0, 3) if axis else st.integers(-3, 3))
    for parameter in family.made.values:
        shape = f"{parameter.name}_input"
        values |= {f"{shape}.rank": 1, f"{shape}.0": values[f"{parameter.name}.length"], f"{shape}.type": 1}
    return family, values


def variables(family: Family) -> list[str]:
    found = {str(name) for each in family.setting.ranges for name in variables_in(each)}
    found |= {f"given({each.name})" for each in (*family.made.inputs, *family.made.outputs) if each.optional}
    return sorted(found | {f"written({each.name})" for each in family.made.attributes})


def names_of_lists(family: Family) -> set[str]:
    return {each.name for each in family.made.parameters if each.kind.endswith("s")}


def disagreement(family: Family, values: Mapping[str, int]) -> tuple[str, int]:
    """The first rule or shape on which the two readings differ, and how many were defined."""
    setting, defined = family.setting, 0
    facts = instance(family.made, setting.reading.codes, values).names()
    for rule in family.rules:
        demand, condition = family.demand(rule), family.condition(rule)
        if demand is None or not decided(formula(condition.defined), values):
            continue
        defined += 1
        applies = True if rule.when is None else evaluate(rule.when, Evaluator(), facts)
        expected = True if applies is False else evaluate(demand, Evaluator(), facts)
        if decided(formula(condition.value), values) is not expected:
            return rule.slug, defined
    for name, shape in family.made.shapes.items():
        there, value = setting.reading.read(shape, setting.names)
        if decided(formula(there), values):
            defined += 1
            if decided(value, values) != evaluate(shape, Evaluator(), facts):
                return name, defined
    return "", defined


COUNTED = {"defined": 0}


@settings(max_examples=100, deadline=None, derandomize=True)
@given(calls())
def test_rules_of_all_operators_agree(call: tuple[Family, dict[str, int]]) -> None:
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
LONGEST = 4


def reading() -> tuple[Encoding, dict[str, Any]]:
    numbers = {name: variable(name, -4, 4) for name in ("n", "m")}
    made = {
        name: of_length(variable(f"{name}.length", 0, LONGEST), [variable(f"{name}.{i}") for i in range(LONGEST)])
        for name in ("S", "T", "X")
    }
    tensor = Record({"shape": made.pop("X"), "type": Text(z3.Int("X.type"))})
    return Encoding(), {**numbers, **made, "X": tensor}


def drawn(chance: random.Random) -> dict[str, int]:
    values = {name: chance.randint(-4, 4) for name in ("n", "m")}
    for name in ("S", "T", "X"):
        values[f"{name}.length"] = chance.randint(0, LONGEST)
        values |= {f"{name}.{i}": chance.randint(-2 * (name != "X"), 3) for i in range(LONGEST)}
    return values | {"X.type": chance.randint(0, 3)}


def stated(values: Mapping[str, int]) -> dict[str, Any]:
    listed = {name: tuple(values[f"{name}.{i}"] for i in range(values[f"{name}.length"])) for name in ("S", "T", "X")}
    tensor = TensorFacts(ELEMENT_TYPES[values["X.type"]], listed.pop("X"))
    return {"n": values["n"], "m": values["m"], **listed, "X": tensor}


def first_difference(rounds: int) -> str:
    chance = random.Random(7)
    for text in TEXTS:
        domain, names = reading()
        domain.bounds.clear()
        defined, value = domain.read(parse(text), names)
        codes = {code: word for word, code in domain.codes.items()}
        for _ in range(rounds):
            values = drawn(chance)
            if not decided(formula(defined), values):
                continue
            expected = evaluate(parse(text), Evaluator(), stated(values))
            found = decided(value, values)
            found = codes[found] if isinstance(value, Text) else found
            if isinstance(expected, Unknown) or found != expected:
                return f"{text} is {found}, not {expected}, for {values}"
    return ""


def test_every_construct_agrees() -> None:
    assert first_difference(15) == ""


def test_undefined_is_undefined_in_both() -> None:
    """Where the reading of facts finds no value, an obligation of the Z3 reading fails."""
    chance = random.Random(8)
    for text in TEXTS:
        domain, names = reading()
        defined, _ = domain.read(parse(text), names)
        for _ in range(10):
            values = drawn(chance)
            if isinstance(evaluate(parse(text), Evaluator(), stated(values)), Unknown):
                assert not decided(formula(defined), values), (text, values)


def _gaps_forgotten(left: Listing, right: Listing) -> Listing:
    return Listing((*left.items, *right.items), packed=True)


def _off_by_one(known: Listing, index: Any) -> Any:
    return smt_lists.pick(known, index + 1 if isinstance(index, int) else index)


@pytest.mark.parametrize(
    ("module", "name", "mutant"),
    [
        (encoding, "chain", _gaps_forgotten),
        (encoding, "pick", _off_by_one),
        (encoding, "less", lambda left, right: encoding.values.at_most(left, right)),
    ],
)
def test_a_wrong_reading_is_caught(monkeypatch: pytest.MonkeyPatch, module: Any, name: str, mutant: Any) -> None:
    monkeypatch.setattr(module, name, mutant)
    assert first_difference(15) != ""


def test_a_forgotten_guard_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the guard of the loop item the index would have to be in range also where there is no item."""
    monkeypatch.setattr(Encoding, "under", lambda self, guard: nullcontext())
    domain, names = reading()
    defined, _ = domain.read(parse("[S[i] for i in range(len(S))]"), names)
    assert not decided(formula(defined), {"S.length": 1})


def test_factors_cancel_without_a_solver() -> None:
    domain = Encoding()
    names = {name: variable(name, 1) for name in ("N", "C", "H")}
    assert domain.read(parse("N * C * H // (N * C)"), names)[1].factors == (1, ("H",))
    assert domain.read(parse("N * C % C"), names) == (True, 0)
    assert domain.read(parse("N == -1"), names) == (True, False)
    assert domain.read(parse("N * C == C * N"), names) == (True, True)


def test_a_loop_without_a_bound_leaves_a_condition() -> None:
    domain = Encoding()
    domain.read(parse("sum(range(n))"), {"n": variable("n", 0)})
    assert len(domain.bounds) == 1
