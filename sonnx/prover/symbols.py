"""The symbols of a model as integer variables, the assumptions about them, and questions about them to the solver."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from itertools import count
from typing import Any, NamedTuple

import z3

from sonnx.base.budget import is_over, milliseconds_left, require_time
from sonnx.base.errors import Unfinished
from sonnx.language.domain import Expression, RuleError
from sonnx.language.parser import parse
from sonnx.language.type_checker import type_of
from sonnx.model.ir import Graph, Model, subgraphs
from sonnx.model.symbols import MAX_DIMENSION
from sonnx.prover.model_proof import Unprovable
from sonnx.prover.smt_interpretation import SmtInterpretation
from sonnx.prover.smt_values import SymbolicNumber, Truth, all_of, bool_term, negate, variable
from sonnx.prover.solvers import script
from sonnx.prover.terms import names_in

EFFORT = 5_000_000
"""Steps of z3 (its rlimit) for one question."""
SIZES = (1, 2, 3, 4, 6, 8, 16, 64, 1024, None)
"""Bounds tried for all symbols of a counterexample until there is one; None stands for unbounded."""

SMALL = (1, 2, 3, 4, 6, 9, 12)
"""Values of symbols at which a condition is tried before the solver is asked; some divide others."""


class Point(NamedTuple):
    """A value for each symbol, in the form in which z3 substitutes."""

    number: int
    terms: Any
    values: Any


def ordered_symbols(model: Model) -> tuple[str, ...]:
    """The symbols of a model, in the order of their first use."""
    symbols: dict[str, None] = {}
    seen: set[int] = set()
    for graph in _graphs(model.graph):
        for values in (graph.inputs, graph.outputs, graph.value_info):
            for value in values:
                if id(value.type) not in seen:  # equal types are mostly one object
                    seen.add(id(value.type))
                    symbols.update({name: None for name in value.type.shape or () if isinstance(name, str)})
    return tuple(symbols)


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
        written: the name of each symbol in texts that are parsed: its own, or another one if that is not a name of the
            rule language.
        hypotheses: the assumptions as terms.
        assumptions: the same as texts.
        queries: how many questions the solver was asked.
    """

    def __init__(self, names: Sequence[str], assume: Sequence[str]) -> None:
        self.names = tuple(names)
        self.interpretation = SmtInterpretation()
        self.queries = 0
        self.terms: dict[str, SymbolicNumber] = {}
        texts = [text for listed in assume for text in _separated(listed)]
        stated = [(text, _condition(text, self.names)) for text in texts]
        bounded = self._bounded([expression for _, expression in stated])
        self.written = _written(self.names)
        self.inner = {name: f"d{index}" for index, name in enumerate(self.names)}
        self.numbers = {name: variable(self.inner[name], 0 if name in bounded else 1) for name in self.names}
        self.hypotheses: list[z3.BoolRef] = [
            limit
            for number in self.numbers.values()
            for limit in (number.term >= (number.low or 0), number.term <= MAX_DIMENSION)
        ]
        self.hypotheses += [bool_term(self.holds(expression, self.numbers)) for _, expression in stated]
        self.assumptions = (
            *texts,
            *(self.printed(f"{self.written[name]}>=1") for name in self.names if name not in bounded),
        )
        possible = self.ask([])
        if possible != z3.sat:
            require_time()
            stated_all = ", ".join(self.assumptions)
            if possible == z3.unsat:
                raise Unprovable(f"no values satisfy the assumptions {stated_all}")
            raise Unfinished(f"the solver does not decide whether any values satisfy the assumptions {stated_all}")

    @property
    def known(self) -> Mapping[str, SymbolicNumber]:
        """The symbols, and the computed dimensions that were named."""
        return {**self.numbers, **self.terms}

    def number(self, name: str) -> SymbolicNumber:
        """The variable of a symbol, or of a computed dimension that was named."""
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
        bounded: set[str] = set()
        for name in self.names:
            unsigned = {name: SymbolicNumber(z3.Int("d"))}
            alone = [bool_term(self.holds(expression, unsigned)) for expression in stated if expression.names == {name}]
            solver = z3.SimpleSolver()
            solver.set("rlimit", EFFORT)
            solver.add(*alone, z3.Int("d") < 0)
            if alone and solver.check() == z3.unsat:
                bounded.add(name)
        return bounded

    def holds(self, expression: Expression, names: Mapping[str, SymbolicNumber]) -> Truth:
        """The condition as a term over these variables."""
        return self.interpretation.condition(expression, names).holds

    # Questions

    def condition(self, text: str) -> Truth:
        """A condition on the `written` names of the symbols in the rule language as a term.

        Raises:
            Unprovable: the text is not a condition.
        """
        numbers = {self.written[name]: number for name, number in self.numbers.items()}
        return self.holds(_condition(text, tuple(numbers)), numbers)

    def printed(self, text: str) -> str:
        """A condition on the `written` names with those that the model gives, quoted if no text can contain them."""
        quoted = self._quoted
        return re.sub(r"\w+", lambda word: quoted.get(word[0], word[0]), text) if quoted else text

    @cached_property
    def _quoted(self) -> Mapping[str, str]:
        return {written: repr(name) for name, written in self.written.items() if written != name}

    def solver(self) -> z3.Solver:
        """A new solver with the assumptions."""
        solver = z3.SimpleSolver()
        solver.set("rlimit", EFFORT)
        solver.set("random_seed", 0)
        solver.add(*self.hypotheses)
        return solver

    def ask(self, conditions: Sequence[Truth]) -> z3.CheckSatResult:
        """What z3 answers to the question whether the conditions can hold together under the assumptions."""
        if is_over():
            return z3.unknown
        self.queries += 1
        solver = self.solver()
        solver.add(*[bool_term(clause) for clause in conditions])
        return _answer(solver)

    def always(self, condition: Truth) -> bool:
        """Whether the condition is proved to hold for all values."""
        if isinstance(condition, bool):
            return condition
        return bool(self.ask([negate(condition)]) == z3.unsat)

    def always_and_at_points(self, condition: Truth) -> bool:
        """As `always`; a condition that fails for small values is refuted by them, which takes less time than z3."""
        fails = isinstance(condition, z3.BoolRef) and any(value_at(condition, point) is False for point in self._points)
        return not fails and self.always(condition)

    def points_where(self, condition: z3.BoolRef) -> tuple[list[Point], list[Point]]:
        """Those of some small values for which the condition holds, and those for which it fails."""
        evaluated = [(value_at(condition, point), point) for point in self._points]
        return [p for value, p in evaluated if value is True], [p for value, p in evaluated if value is False]

    @cached_property
    def _written(self) -> list[z3.IntNumRef]:
        """The numbers of the points as terms; z3 forgets a term that no object refers to."""
        return [z3.IntVal(number) for number in SMALL]

    @cached_property
    def _points(self) -> Sequence[Point]:
        """Small values of the symbols for which the assumptions hold: all equal, then with growing distances."""
        terms, count = [number.term.as_ast() for number in self.numbers.values()], len(SMALL)
        values, row = [each.as_ast() for each in self._written], z3.Ast * len(terms)
        drawn = [
            Point(
                len(terms), row(*terms), row(*(values[(start + step * place) % count] for place in range(len(terms))))
            )
            for step in range(count if len(terms) > 1 else 1)
            for start in range(count)
        ]
        hypotheses = all_of(self.hypotheses)  # substituted at once: there is one for each symbol
        return [point for point in drawn if isinstance(hypotheses, bool) or value_at(hypotheses, point)]

    def smallest_values(self, condition: Truth) -> dict[str, int] | None:
        """Values for which the condition holds, None if none were found.

        Their largest is as small as the solver finds, and then each in turn, in the order of the symbols.
        """
        if is_over():
            return None
        self.queries += 1
        solver = self.solver()
        solver.add(bool_term(condition))
        terms = [number.term for number in self.numbers.values()]
        if not _has_model(solver, terms):
            return None
        model = solver.model()
        if terms:
            model, bound = _least(solver, model, terms)
            solver.add(*[term <= bound for term in terms])
        for term in terms:
            model, bound = _least(solver, model, [term])
            solver.add(term == bound)
        return {name: _value_in(model, number.term) for name, number in self.numbers.items()}

    def that_matter(self, condition: Truth, values: Mapping[str, int]) -> tuple[str, ...]:
        """The symbols of `values` that suffice: with these values the condition holds, whatever the others are."""
        kept = [name for name in self.names if isinstance(condition, bool) or self.inner[name] in names_in(condition)]
        for name in reversed(kept):
            fewer = [other for other in kept if other != name]
            fixed = [self.numbers[other].term == values[other] for other in fewer]
            if self.ask([*fixed, negate(condition)]) == z3.unsat:
                kept = fewer
        return tuple(kept)

    def script(self, condition: Truth) -> str:
        """The question in SMT-LIB whether the condition can hold under the assumptions."""
        return script([*self.hypotheses, bool_term(condition)])


def value_at(condition: z3.BoolRef, point: Point) -> bool | None:
    """Whether a condition holds for values of the symbols; None if SMT-LIB does not say, as for a division by 0.

    None too where the time of the command is over.  By the interface of C: that of Python checks each argument each
    time, which takes most of the time.
    """
    if is_over():
        return None
    context = condition.ctx_ref()
    substituted = z3.Z3_substitute(context, condition.as_ast(), *point)
    return {z3.Z3_L_TRUE: True, z3.Z3_L_FALSE: False}.get(
        z3.Z3_get_bool_value(context, z3.Z3_simplify(context, substituted))
    )


def _answer(solver: z3.Solver, assumptions: Sequence[z3.BoolRef] = ()) -> z3.CheckSatResult:
    """Whether the assertions can hold, under assumptions; unknown when the time of the command is over."""
    left = milliseconds_left()
    if left is not None:
        solver.set("timeout", left)
    return solver.check(*assumptions)


def _has_model(solver: z3.Solver, terms: Sequence[z3.ArithRef]) -> bool:
    """Whether the assertions have a model; small ones are tried first, because the solver finds them sooner."""
    return any(_answer(solver, [] if size is None else [term <= size for term in terms]) == z3.sat for size in SIZES)


def _least(solver: z3.Solver, model: z3.ModelRef, terms: Sequence[z3.ArithRef]) -> tuple[z3.ModelRef, int]:
    """A model of the assertions in which the largest of some terms is as small as possible, and that number."""
    least, most = 0, max(_value_in(model, term) for term in terms)
    while least < most:
        middle = (least + most) // 2
        if _answer(solver, [term <= middle for term in terms]) == z3.sat:
            model = solver.model()
            most = max(_value_in(model, term) for term in terms)
        else:
            least = middle + 1
    return model, most


def _value_in(model: z3.ModelRef, term: z3.ArithRef) -> int:
    return int(model.eval(term, model_completion=True).as_long())


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


def _written(names: Sequence[str]) -> dict[str, str]:
    """A name of the rule language for each symbol: its own if it is one."""
    written = {name: name for name in names if _is_name(name)}
    free = (f"s{index}" for index in count() if f"s{index}" not in written)
    return {name: written[name] if name in written else next(free) for name in names}


def _is_name(name: str) -> bool:
    """Whether a text is one name of the rule language, which a comparison with a number shows."""
    try:
        expression = parse(f"{name} == 1")
        return expression.names == {name} and type_of(expression, {name: "int"}) == "bool" and name.isidentifier()
    except RuleError:
        return False


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
