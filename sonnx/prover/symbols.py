"""The symbols of a model as integer variables, the assumptions about them, and questions about them to the solver."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import z3

from sonnx.language.domain import Expression, RuleError
from sonnx.language.parser import parse
from sonnx.language.type_checker import type_of
from sonnx.model.ir import Graph, Model, subgraphs
from sonnx.prover.model_proof import Unprovable
from sonnx.prover.smt_interpretation import SmtInterpretation
from sonnx.prover.smt_values import SymbolicNumber, Truth, bool_term, negate, variable

EFFORT = 5_000_000
"""Steps of z3 (its rlimit) for one question."""
SIZES = (1, 2, 3, 4, 6, 8, 16, 64, 1024, None)
"""Bounds tried for all symbols of a counterexample, one after another; None stands for unbounded."""
INDIVIDUAL_CHOICES = 4
"""How many of its smallest values are tried for each symbol of a counterexample."""


def symbols_of(model: Model) -> tuple[str, ...]:
    """The symbols of a model, in the order of their first use."""
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

    Attributes:
        numbers: the symbols as variables.
        inner: the names of these variables; a file may give a symbol any name.
        hypotheses: the assumptions as terms.
        assumptions: the same as texts.
        queries: how many questions the solver was asked.
    """

    def __init__(self, names: Sequence[str], assume: Sequence[str]) -> None:
        self.names = tuple(names)
        self.interpretation = SmtInterpretation()
        self.queries = 0
        self.terms: dict[str, SymbolicNumber] = {}
        texts = [text for given in assume for text in _separated(given)]
        stated = [(text, _condition(text, self.names)) for text in texts]
        bounded = self._bounded([expression for _, expression in stated])
        self.inner = {name: f"d{index}" for index, name in enumerate(self.names)}
        self.numbers = {name: variable(self.inner[name], 0 if name in bounded else 1) for name in self.names}
        self.hypotheses: list[z3.BoolRef] = [number.term >= (number.low or 0) for number in self.numbers.values()]
        self.hypotheses += [bool_term(self._holds(expression, self.numbers)) for _, expression in stated]
        self.assumptions = (*texts, *(f"{name}>=1" for name in self.names if name not in bounded))
        if self.ask([]) != z3.sat:
            raise Unprovable(f"no values satisfy the assumptions {', '.join(self.assumptions)}")

    @property
    def known(self) -> Mapping[str, SymbolicNumber]:
        """The symbols, and the computed dimensions that were named."""
        return {**self.numbers, **self.terms}

    def number(self, name: str) -> SymbolicNumber:
        """A symbol, or a computed dimension."""
        return self.numbers[name] if name in self.numbers else self.terms[name]

    def name_dimension(self, term: SymbolicNumber) -> str:
        """Give a computed dimension a new name; a symbol of a file never has it."""
        name = f"\0{len(self.terms)}"
        while name in self.numbers:
            name += "\0"
        self.terms[name] = term
        return name

    def _bounded(self, stated: Sequence[Expression]) -> set[str]:
        """The symbols that an assumption about them alone makes non-negative; the others are at least 1."""
        found: set[str] = set()
        for name in self.names:
            unsigned = {name: SymbolicNumber(z3.Int("d"))}
            alone = [bool_term(self._holds(each, unsigned)) for each in stated if each.names == {name}]
            solver = z3.SolverFor("QF_NIA")
            solver.set("rlimit", EFFORT)
            solver.add(*alone, z3.Int("d") < 0)
            if alone and solver.check() == z3.unsat:
                found.add(name)
        return found

    def _holds(self, expression: Expression, names: Mapping[str, SymbolicNumber]) -> Truth:
        return self.interpretation.condition(expression, names).holds

    # Questions

    def solver(self) -> z3.Solver:
        """A new solver with the assumptions."""
        solver = z3.SolverFor("QF_NIA")
        solver.set("rlimit", EFFORT)
        solver.set("random_seed", 0)
        solver.add(*self.hypotheses)
        return solver

    def ask(self, conditions: Sequence[Truth]) -> z3.CheckSatResult:
        """Whether the conditions can hold together."""
        self.queries += 1
        solver = self.solver()
        solver.add(*[bool_term(each) for each in conditions])
        return solver.check()

    def always(self, condition: Truth) -> bool:
        """Whether the condition is proved to hold for all values."""
        if isinstance(condition, bool):
            return condition
        return bool(self.ask([negate(condition)]) == z3.unsat)

    def smallest_values(self, condition: Truth) -> dict[str, int] | None:
        """Small values for which the condition holds; None if none were found."""
        self.queries += 1
        solver = self.solver()
        solver.add(bool_term(condition))
        terms = [number.term for number in self.numbers.values()]
        for size in SIZES:
            solver.push()
            if size is not None:
                solver.add(*[term <= size for term in terms])
            if solver.check() == z3.sat:
                return self._lowered(solver)
            solver.pop()
        return None

    def _lowered(self, solver: z3.Solver) -> dict[str, int]:
        """Lower the symbols one after another."""
        model = solver.model()
        for number in self.numbers.values():
            best = model.eval(number.term, model_completion=True).as_long()
            for smaller in range(number.low or 0, min(best, (number.low or 0) + INDIVIDUAL_CHOICES)):
                if solver.check(number.term == smaller) == z3.sat:
                    model, best = solver.model(), smaller
                    break
            solver.add(number.term == best)
        return {name: model.eval(n.term, model_completion=True).as_long() for name, n in self.numbers.items()}


def _separated(text: str) -> list[str]:
    """The texts between the commas outside brackets."""
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
        Unprovable: it is not; the message says why.
    """
    try:
        expression = parse(text)
        unknown = sorted(expression.names - set(names))
        if unknown:
            has = f"it has {', '.join(names)}" if names else "it has none"
            raise Unprovable(f"the model has no symbol {', '.join(unknown)}; {has}")
        type_ = type_of(expression, dict.fromkeys(names, "int"))
    except RuleError:
        raise Unprovable(f"the assumption {text!r} is not a condition such as 'N>=1' or 'N % 4 == 0'") from None
    if type_ != "bool":
        raise Unprovable(f"the assumption {text!r} is not a condition such as 'N>=1' or 'N % 4 == 0'")
    return expression
