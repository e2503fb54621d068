"""The symbols of a model as numbers, what is assumed of them, and questions about them to the solver."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations

import z3

from sonnx.language.domain import Expression, RuleError
from sonnx.language.parser import parse
from sonnx.language.type_checker import type_of
from sonnx.model.ir import Graph, Model, subgraphs
from sonnx.prover.encoding import Encoding
from sonnx.prover.model_proof import Unprovable
from sonnx.prover.smt_lists import constants_in, names_in
from sonnx.prover.smt_truth import Truth, both, either, formula, negate
from sonnx.prover.smt_values import Number, variable

EFFORT = 5_000_000
"""Steps of Z3 (its rlimit) for one question."""


def symbols_of(model: Model) -> tuple[str, ...]:
    """The symbols of a model, in the order they are met."""
    found: dict[str, None] = {}
    seen: set[int] = set()
    for graph in _graphs(model.graph):
        for values in (graph.inputs, graph.outputs, graph.value_info):
            for value in values:
                if id(value.type) not in seen:  # equal types are mostly one object
                    seen.add(id(value.type))
                    found.update({each: None for each in value.type.shape or () if isinstance(each, str)})
    return tuple(found)


def _graphs(graph: Graph) -> Iterator[Graph]:
    yield graph
    for node in graph.nodes:
        if node.attributes:
            for _, inner in subgraphs(node):
                yield from _graphs(inner)


class Symbols:
    """The symbols of one model under its assumptions.

    `numbers` are the symbols as variables, `inner` their names for the solver (a file may call a symbol anything),
    `hypotheses` what is assumed, `said` the same as texts.
    """

    def __init__(self, names: Sequence[str], assume: Sequence[str]) -> None:
        self.names = tuple(names)
        self.reading = Encoding()
        self.queries = 0
        self.terms: dict[str, Number] = {}
        texts = [text for given in assume for text in _separated(given)]
        stated = [(text, _condition(text, self.names)) for text in texts]
        bounded = self._bounded([expression for _, expression in stated])
        self.inner = {name: f"d{index}" for index, name in enumerate(self.names)}
        self.numbers = {name: variable(self.inner[name], 0 if name in bounded else 1) for name in self.names}
        self.hypotheses: list[z3.BoolRef] = [number.term >= (number.low or 0) for number in self.numbers.values()]
        self.hypotheses += [formula(self._holds(expression, self.numbers)) for _, expression in stated]
        self.said = (*texts, *(f"{name}>=1" for name in self.names if name not in bounded))
        if self.ask([]) != z3.sat:
            raise Unprovable(f"nothing fulfils the assumptions {', '.join(self.said)}")

    @property
    def known(self) -> Mapping[str, Number]:
        """The symbols, and the dimensions computed from them that have a name of their own."""
        return {**self.numbers, **self.terms}

    def number(self, name: str) -> Number:
        """A symbol, or a computed dimension."""
        return self.numbers[name] if name in self.numbers else self.terms[name]

    def call(self, term: Number) -> str:
        """Give a computed dimension a name no file can have."""
        name = f"\0{len(self.terms)}"
        while name in self.numbers:
            name += "\0"
        self.terms[name] = term
        return name

    def _bounded(self, stated: Sequence[Expression]) -> set[str]:
        """The symbols an assumption about them alone keeps from being negative; the others are at least 1."""
        found: set[str] = set()
        for name in self.names:
            unsigned = {name: Number(z3.Int("d"))}
            alone = [formula(self._holds(each, unsigned)) for each in stated if each.names == {name}]
            solver = z3.SolverFor("QF_NIA")
            solver.set("rlimit", EFFORT)
            solver.add(*alone, z3.Int("d") < 0)
            if alone and solver.check() == z3.unsat:
                found.add(name)
        return found

    def _holds(self, expression: Expression, names: Mapping[str, Number]) -> Truth:
        return self.reading.condition(expression, names).holds

    # Questions

    def solver(self) -> z3.Solver:
        """A fresh solver that knows the assumptions."""
        solver = z3.SolverFor("QF_NIA")
        solver.set("rlimit", EFFORT)
        solver.set("random_seed", 0)
        solver.add(*self.hypotheses)
        return solver

    def ask(self, conditions: Sequence[Truth]) -> z3.CheckSatResult:
        """Whether the conditions can hold together."""
        self.queries += 1
        solver = self.solver()
        solver.add(*[formula(each) for each in conditions])
        return solver.check()

    def always(self, condition: Truth) -> bool:
        """Whether the condition holds for all values; a solver that cannot say is no proof."""
        if isinstance(condition, bool):
            return condition
        return self.ask([negate(condition)]) == z3.unsat

    def smallest(self, condition: Truth) -> dict[str, int] | None:
        """The values, as small as can be, for which the condition holds; None where none were found."""
        self.queries += 1
        solver = self.solver()
        solver.add(formula(condition))
        terms = [number.term for number in self.numbers.values()]
        for size in (1, 2, 3, 4, 6, 8, 16, 64, 1024, None):
            solver.push()
            if size is not None:
                solver.add(*[term <= size for term in terms])
            if solver.check() == z3.sat:
                return self._lowered(solver)
            solver.pop()
        return None

    def _lowered(self, solver: z3.Solver) -> dict[str, int]:
        """Each symbol in turn as small as the others allow."""
        model = solver.model()
        for number in self.numbers.values():
            best = model.eval(number.term, model_completion=True).as_long()
            for smaller in range(number.low or 0, min(best, (number.low or 0) + 4)):
                if solver.check(number.term == smaller) == z3.sat:
                    model, best = solver.model(), smaller
                    break
            solver.add(number.term == best)
        return {name: model.eval(n.term, model_completion=True).as_long() for name, n in self.numbers.items()}


def _separated(text: str) -> list[str]:
    """The texts between the commas that stand in no brackets."""
    parts, depth = [""], 0
    for sign in text:
        depth += (sign in "([{") - (sign in ")]}")
        if sign == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += sign
    return [part.strip() for part in parts if part.strip()]


def _condition(text: str, names: Sequence[str]) -> Expression:
    """An assumption as a condition on the symbols.

    Raises:
        Unprovable: it is none; the message says why.
    """
    try:
        expression = parse(text)
        unknown = sorted(expression.names - set(names))
        if unknown:
            has = f"it has {', '.join(names)}" if names else "it has none"
            raise Unprovable(f"the model has no symbol {', '.join(unknown)}; {has}")
        kind = type_of(expression, dict.fromkeys(names, "int"))
    except RuleError:
        raise Unprovable(f"the assumption {text!r} is no condition such as 'N>=1' or 'N % 4 == 0'") from None
    if kind != "bool":
        raise Unprovable(f"the assumption {text!r} is no condition such as 'N>=1' or 'N % 4 == 0'")
    return expression


# ------------------------------------------------------------------
# The weakest condition on symbols under which a rule holds, in few words: `N == M or N == 1 or M == 1`.
#
# What is stated is proved: the words hold exactly where the rule does, for all values under the assumptions.


MOST = 5
"""Symbols of a condition for which words are sought."""
LARGEST = 1 << 20
"""Constants above it make no words."""

Words = tuple[str, z3.BoolRef]


def weakest(condition: Truth, symbols: Symbols) -> str:
    """The condition in words, "" where none were found."""
    if isinstance(condition, bool):
        return ""
    parts = [part for part in _conjuncts(condition) if not symbols.always(part)]
    whole = _stated(both(parts), symbols)
    if whole:
        return whole
    groups: dict[frozenset[str], list[Truth]] = {}
    for part in parts:
        groups.setdefault(frozenset(names_in(part)), []).append(part)
    found: list[str] = []
    for group in groups.values():
        said = _stated(both(group), symbols) or _each(group, symbols)
        if not said:
            return ""
        found += [said]
    return _joined(dict.fromkeys(found))


def _each(group: Sequence[Truth], symbols: Symbols) -> str:
    found = [_stated(part, symbols) for part in group]
    return _joined(dict.fromkeys(found)) if all(found) else ""


def _joined(parts: dict[str, None] | Sequence[str]) -> str:
    listed = list(parts)
    return listed[0] if len(listed) == 1 else " and ".join(f"({p})" if " or " in p else p for p in listed)


def _conjuncts(condition: z3.BoolRef) -> list[z3.BoolRef]:
    simple = z3.simplify(condition)
    return [part for child in simple.children() for part in _conjuncts(child)] if z3.is_and(simple) else [simple]


def _stated(condition: Truth, symbols: Symbols) -> str:
    """As a disjunction or a conjunction of small conditions."""
    if isinstance(condition, bool) or len(names_in(condition)) > MOST:
        return ""
    candidates = list(_candidates(condition, symbols))
    if symbols.ask([condition]) != z3.sat:
        return ""
    enough = [each for each in candidates if symbols.always(either([negate(each[1]), condition]))]
    if enough and symbols.always(either([negate(condition), *(each for _, each in enough)])):
        return " or ".join(text for text, _ in _fewest(enough, condition, symbols, either))
    needed = [each for each in candidates if symbols.always(either([negate(condition), each[1]]))]
    if needed and symbols.always(either([negate(both([each for _, each in needed])), condition])):
        return " and ".join(text for text, _ in _fewest(needed, condition, symbols, both))
    return ""


def _fewest(found: list[Words], condition: Truth, symbols: Symbols, join: object) -> list[Words]:
    """Without the words that add nothing, the last ones left out first."""
    kept = list(found)
    for each in reversed(found):
        fewer = [one for one in kept if one is not each]
        joined = join([truth for _, truth in fewer])  # type: ignore[operator]
        if fewer and symbols.always(formula(joined) == formula(condition)):
            kept = fewer
    return kept


def _candidates(condition: z3.BoolRef, symbols: Symbols) -> Iterator[Words]:
    """Small conditions on the symbols and constants of a condition, the plainest first."""
    involved, numbers = names_in(condition), sorted({1, *(n for n in constants_in(condition) if 0 <= n <= LARGEST)})
    names = [name for name in symbols.names if symbols.inner[name] in involved]
    terms = {name: symbols.numbers[name].term for name in names}
    for one, other in combinations(names, 2):
        yield f"{one} == {other}", terms[one] == terms[other]
    for name in names:
        for number in numbers:
            yield f"{name} == {number}", terms[name] == number
    for name in names:
        for number in numbers:
            if number > 1:
                yield f"{name} % {number} == 0", terms[name] % number == 0
    for name in names:
        for number in numbers:
            yield f"{name} >= {number}", terms[name] >= number
            yield f"{name} <= {number}", terms[name] <= number
    for one, other in combinations(names, 2):
        yield f"{one} >= {other}", terms[one] >= terms[other]
        yield f"{one} <= {other}", terms[one] <= terms[other]
    for name in names:
        for number in numbers:
            yield f"{name} != {number}", terms[name] != number
