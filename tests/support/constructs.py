"""Expressions with every construct of the rule language, compared in the SMT interpretation and in the evaluator.

The names are numbers (n, m; K and L positive; N without an upper bound; E may be infinite), a condition b, a string c,
lists (S and T; F of three items; G of condition values), a tensor X, and p and q, which are undefined for some numbers.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from functools import cache
from math import inf
from typing import Any

import z3

from sonnx.language.evaluator import Evaluator, TensorFacts, Unknown, UnknownCause, first_unknown
from sonnx.language.parser import parse
from sonnx.prover.smt_functions import ELEMENT_TYPES
from sonnx.prover.smt_interpretation import SmtInterpretation
from sonnx.prover.smt_lists import list_of, of_length
from sonnx.prover.smt_values import (
    INFINITY,
    PartialValue,
    RecordValue,
    SymbolicString,
    bool_term,
    folding,
    less,
    variable,
)
from tests.support.ground_terms import GroundTerms, agree
from tests.support.strict import StrictEvaluator

TEXTS = (
    "S[n]", "S[0]", "S[len(S) - 1]", "S[n:m]", "S[n:]", "S[:m]", "F[n:]", "F[m]", "(S + T)[n]", "S + T", "F + S + T",
    "[n, m] + S + [m]", "[n, m] == S", "(S[n:] + T)[m]", "[s for s in S if s > n]", "[s for s in S if s > n] + T",
    "[s for s in S if s > n][m]", "[s + t for s in S for t in T]", "[s for s in S if s in T]",
    "len([s for s in S if s > n])", "len(S)", "sum(S)", "product(S)", "max(S)", "min(S)", "min(S + T)", "max(F)",
    "max([s for s in S if s > n])", "max([s for s in S]) > n or len(S) == 0", "n + m", "n - m", "n * m", "n // m",
    "n % m", "-n - m * 2", "-(n // 2) * -m", "n * m // (m * 1)", "(n + 0.5) // 0.75", "(n + 0.5) % 0.75", "n < 0.5",
    "0.5 * n == m * 0.25", "n // 0.3", "E > 0", "E == E", "E + 1 > E", "E // 2 == 0", "K * L // K", "K * L % L",
    "K * L * 3 // (L * 3)", "(K - K) * n", "K * L == L * K", "K + n > 0", "K - 1 >= 0", "K * n < 30", "n * n >= 0",
    "K // L <= 6", "K % L < 6", "-K < 0", "n - 4 <= 0", "5 < n", "max([K, n]) >= 1", "min([n, m]) <= 4",
    "max([K, 9]) == 9", "K * n < 24", "K - L < -1", "K + n < 7", "3 < n", "[s for s in F if s > 0][1]",
     "min([K, 0]) == 0",
    "all(s > n for s in S)", "any(s == n for s in S if s > m)", "all(S[i] > n for i in range(len(S)))",
    "any(S[i] > n for i in range(len(S)))", "[S[i] for i in range(len(S))]", "[S[i] for i in range(3) if i < len(S)]",
    "distinct(S)", "distinct([s for s in S if s > n] + T)", "S == T", "S != T", "[s for s in S if s > n] == T",
    "S == [n, m]", "[p, n] == S", "n in S", "n not in S", "n in [1, 2]", "S if n > m else T",
    "(S if n > m else T + S)[1]", "n if n > m else m", "S[0] if len(S) > 0 else n", "n if len(S) == 0 else S[0]",
    "range(n)", "range(n, m)", "len(range(n - 2)) == n - 2", "len(range(n))", "sum(range(N))", "sum(range(K))",
    "[S[i] for i in range(len(S)) if i < n]", "sum([1 for s in S if s == -1])", "n < m < 3", "n <= m", "n >= m",
    "n > m", "n == m", "n != m", "n > 0 and S[n] > 0", "n > 0 and m > 0", "n > 0 or m > 0", "b and n > 0", "not b",
    "b or S[0] > 0", "b == (n > 0)", "n < 0 or n >= len(S) or S[n] > 0", "reduce(join, S, 1)", "reduce(join, T, n)",
    "broadcast([S, T])", "broadcastable([S, T, [n]])", "onnx_broadcastable([S, T])", "normal(n, m)", "join(n, m)",
    "X.rank == len(S)", "X.rank", "X.shape", "X.shape[n]", "X.type == 'float'", "X.type in ['int64', 'bool']",
    "[X.shape[i] if i in S else n for i in range(X.rank)]", "aligned(S, n)", "'a' if n > m else 'b'", "c == 'other'",
    "('a' if n > m else 'b') == 'a'", "c == X.type", "c != 'int64'", "all([s > n for s in S])", "all(G)", "any(G)",
    "any([s > n for s in S])", "not (n > m) and all(x == n for x in S[n:m])",
    "['a', 'b', 'float'][n] == X.type", "['a', 'b'][n] in [c, 'b']",
    "p", "p + 1", "p > 0 or n > 0",
    "n < 0 and p > 0", "len(q)", "q + [n]", "[t for t in q if t > m]", "product([d for d in S if d != -1]) == sum(T)",
    "(p if n > 0 else m) > 0", "stated(n)", "(S if b else [])", "(q if b else S) == T",
    "X.rank == len([n] + S)", "1 + E > E", "len(S if n > m else T)", "-(K * L) % K == 0 and -(K * L) // K == L",
    "K * L * 3 // (N * 3)", "K * L * 3 // (L * 2)", "K % L < 5", "K // L <= 5", "n < 4", "n == 4", "K * 2 == K * 3",
    "(K if n > m else n) > 0", "max([K, n]) > 1", "min([n, m]) < 4", "sum(range(n))",
)  # fmt: skip
CONDITIONAL = (("S[n] > 0", "0 <= n and n < len(S)"), ("n > 0", "p > 0"), ("m > 0", "b"), ("p > 0", "m > n"))
"""Conditions, each with the condition under which it applies."""
ITEMS = 3
Text = tuple[str, str]
Numbers = Mapping[str, int]
ALL: tuple[Text, ...] = (*((text, "") for text in TEXTS), *CONDITIONAL)
_STRINGS = ("float", "int64", "int32", "bool")


def symbolic_names() -> dict[str, Any]:
    """The names as values of the SMT interpretation."""
    names: dict[str, Any] = {name: variable(name, -4, 4) for name in ("n", "m")}
    names |= {"K": variable("K", 1, 6), "L": variable("L", 1, 6), "N": variable("N")}
    names |= {"E": variable("E.value", -INFINITY, INFINITY), "b": z3.Bool("b"), "c": SymbolicString(z3.Int("c"))}
    for name in ("S", "T", "X"):
        items = [variable(f"{name}.{i}") for i in range(ITEMS)]
        names[name] = of_length(variable(f"{name}.length", 0, ITEMS), items)
    names["F"] = list_of([variable(f"F.{i}", -2, 3) for i in range(ITEMS)])
    names["G"] = of_length(variable("S.length", 0, ITEMS), [less(variable("n"), variable(f"S.{i}")) for i in range(3)])
    names["X"] = RecordValue({"shape": names["X"], "type": SymbolicString(z3.Int("X.type"))})
    names["p"] = PartialValue(names["n"], bool_term(less(0, names["m"])), "m is not positive")
    names["q"] = PartialValue(names["T"], bool_term(less(0, names["n"])), "n is not positive")
    return names


def stated_names(numbers: Numbers) -> dict[str, Any]:
    """The same names as facts."""
    names: dict[str, Any] = {name: numbers.get(name, 0) for name in ("n", "m", "K", "L", "N")}
    element = numbers.get("E.value", 0)
    names["E"] = element if abs(element) < INFINITY else inf if element > 0 else -inf
    names |= {"b": bool(numbers.get("b", 0)), "c": _STRINGS[numbers.get("c", 0)]}
    for name in ("S", "T", "X", "F"):
        count = ITEMS if name == "F" else numbers.get(f"{name}.length", 0)
        names[name] = tuple(numbers.get(f"{name}.{i}", 0) for i in range(count))
    names["G"] = tuple(names["n"] < each for each in names["S"])
    names["X"] = TensorFacts(ELEMENT_TYPES[numbers.get("X.type", 0)], names["X"])
    nothing = Unknown(UnknownCause.UNDEFINED, "not positive")
    return names | {
        "p": names["n"] if names["m"] > 0 else nothing,
        "q": names["T"] if names["n"] > 0 else nothing,
    }


def _domain(name: str) -> Sequence[int]:
    """Small numbers of a variable, all of which are tried, and for `drawn` all there are."""
    if name in ("n", "m"):
        return range(-4, 5)
    if name in ("K", "L"):
        return range(1, 7)
    last = name.rpartition(".")[2]
    known = {"N": range(-2, 11), "value": (-INFINITY, -1, 0, 3, INFINITY), "b": (0, 1), "c": range(4),
             "type": range(4), "length": range(ITEMS + 1)}  # fmt: skip
    return known.get(last, (-1, 0, 2, 1, 3))


@cache
def calls(variables: frozenset[str], most: int) -> tuple[Numbers, ...]:
    """All small numbers of the variables if they are few, else so many random ones; every call once."""
    names = sorted(variables)
    domains = [_domain(name) for name in names]
    total = 1
    for each in domains:
        total *= len(each)
    if total <= most:
        return tuple(dict(zip(names, values, strict=True)) for values in itertools.product(*domains))
    chance = random.Random(",".join(names))
    return tuple({name: chance.choice(domain) for name, domain in zip(names, domains, strict=True)}
     for _ in range(most // 2))  # fmt: skip


MOST = 81


def first_difference(text: Text, folded: bool, most: int = MOST) -> str:
    """The first difference of the two interpretations of a text, "" if there is none."""
    with folding() if folded else nullcontext():
        domain, names = SmtInterpretation(), symbolic_names()
        made = domain.condition(parse(text[0]), names, parse(text[1])) if text[1] else None
        defined, value = (made.defined, made.value) if made else domain.interpret(parse(text[0]), names)
        terms = GroundTerms([bool_term(defined), value, *map(bool_term, domain.bounds)], domain.codes)
    for numbers in calls(_used(text, terms), most):
        there, found, *ended = terms.read(numbers)
        if all(ended):
            wrong = _difference(text, there, found, stated_names(numbers))
            if wrong:
                return f"{text[0]} is {wrong} for {dict(numbers)}"
    return ""


def _used(text: Text, terms: GroundTerms) -> frozenset[str]:
    """The variables of the terms, and those of the names in the text."""
    used = set(terms.variables)
    names, known = parse(text[0]).names | (parse(text[1]).names if text[1] else frozenset()), symbolic_names()
    used.update(GroundTerms([_plain(known[name]) for name in names if name in known], {}).variables)
    return frozenset(used | ({"X.type"} if "X" in names else set()))


def _plain(value: Any) -> Any:
    return value.fields["shape"] if isinstance(value, RecordValue) else value


def _difference(text: Text, defined: bool, value: Any, facts: Mapping[str, Any]) -> str:
    evaluated = _evaluated(text, Evaluator, facts)
    if not defined:
        strict = _evaluated(text, StrictEvaluator, facts)
        return "" if first_unknown(strict) else f"not defined, not {strict}"
    return "" if agree(value, evaluated) and not isinstance(value, Unknown) else f"{value}, not {evaluated}"


def _evaluated(text: Text, evaluator: type[Evaluator], facts: Mapping[str, Any]) -> Any:
    applies = parse(text[1]).evaluate(evaluator(), facts) if text[1] else True
    if isinstance(applies, Unknown):
        return applies
    return parse(text[0]).evaluate(evaluator(), facts) if applies else True


def differences(folded: bool) -> Iterator[str]:
    """The first difference of each text."""
    yield from filter(None, (first_difference(text, folded) for text in ALL))
