"""A small counterexample: constants as near to 0 as the question allows, one after another by name."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import z3

from sonnx.prover.smt_lists import variables_in
from sonnx.prover.symbolic_execution import Term
from sonnx.prover.theorem import Obligation

BOUNDS = tuple(2**power for power in range(64))
"""What integers are bounded by together, one after another; one that must lie beyond the last is left as it is."""
WISH = 400_000
"""Steps of z3 spent on one wish for something smaller; a wish not granted within them is given up."""
FEW = 6
"""Up to so many integers in products are made small one by one; more of them only together."""
ROUGHLY = (1, 2, 4, 16, 64)
"""What many integers in products are bounded by, one after another, and then fixed."""
_DIVISIONS = (z3.Z3_OP_IDIV, z3.Z3_OP_MOD)


def smallest(solver: z3.Solver) -> dict[str, int]:
    """Values of the constants of a satisfiable question, integers and bit patterns made small."""
    model = solver.model()
    solver.set("rlimit", WISH)
    constants = sorted((d() for d in model.decls() if d.arity() == 0), key=str)
    numbers = [c for c in constants if z3.is_int(c) or z3.is_bv(c)]
    model = _together([c for c in numbers if z3.is_int(c)], solver, model)
    for constant in numbers:
        model = _alone(constant, solver, model)
    return {str(c): number(model.eval(c, model_completion=True)) for c in constants}


def fixed(solver: z3.Solver, again: Callable[[], z3.Solver]) -> z3.Solver:
    """Where many integers are multiplied, a solver of the same question, satisfied, in which they are small numbers.

    `again` makes a solver that has only read the question: bounds met after a first answer cost much more.
    """
    names = [str(each) for each in multiplied(solver)]
    for bound in ROUGHLY if len(names) > FEW else ():
        other = again()
        other.set("rlimit", WISH)
        factors = [z3.Int(name, other.ctx) for name in names]
        other.add(*[_within(each, bound) for each in factors])
        if other.check() == z3.sat:
            model = other.model()
            other.add(*[each == model.eval(each, model_completion=True) for each in factors])
            return other if other.check() == z3.sat else solver
    return solver


def multiplied(solver: z3.Solver) -> list[z3.ExprRef]:
    """The integers in products and quotients of what is not constant: while they are large, all else is slow."""
    seen: set[int] = set()
    nonlinear: list[z3.ExprRef] = []
    waiting: list[z3.ExprRef] = list(solver.assertions())
    while waiting:
        part = waiting.pop()
        if part.get_id() in seen:
            continue
        seen.add(part.get_id())
        if _nonlinear(part):
            nonlinear.append(part)
        else:
            waiting += part.children()
    found = {str(each): each for each in variables_in(*nonlinear) if z3.is_int(each)}
    return [found[name] for name in sorted(found)]


def _nonlinear(part: z3.ExprRef) -> bool:
    kind = part.decl().kind() if z3.is_app(part) else None
    if kind == z3.Z3_OP_MUL:
        return sum(not z3.is_int_value(each) for each in part.children()) > 1
    return kind in _DIVISIONS and not z3.is_int_value(part.arg(1))


def _together(integers: list[Any], solver: z3.Solver, model: z3.ModelRef) -> z3.ModelRef:
    """Bound all integers by one small number first, so that none is small at the expense of another."""
    largest = max([abs(number(model.eval(c, model_completion=True))) for c in integers], default=0)
    for bound in BOUNDS:
        if bound >= largest:
            break
        solver.push()
        solver.add(*[_within(c, bound) for c in integers])
        if solver.check() == z3.sat:
            return solver.model()
        solver.pop()
    return model


def _alone(constant: Any, solver: z3.Solver, model: z3.ModelRef) -> z3.ModelRef:
    least, most = 0, abs(number(model.eval(constant, model_completion=True)))
    if most > BOUNDS[-1] and solver.check(_within(constant, BOUNDS[-1])) != z3.sat:
        least = most
    while least < most:
        middle = (least + most) // 2
        if solver.check(_within(constant, middle)) == z3.sat:
            model = solver.model()
            most = abs(number(model.eval(constant, model_completion=True)))
        else:
            least = middle + 1
    solver.add(_within(constant, most))
    return model


def _within(constant: Any, bound: int) -> z3.BoolRef:
    if z3.is_bv(constant):
        return z3.ULE(constant, bound)
    return z3.And(constant <= bound, -constant <= bound)


def number(value: Any) -> int:
    """A value of a model: an integer, a bit pattern as unsigned, a truth as 0 or 1."""
    if z3.is_int_value(value) or z3.is_bv_value(value):
        return int(value.as_long())
    return int(z3.is_true(value))


# ------------------------------------------------------------------
# Divisions by a number that is not constant, as quotient and remainder.
#
# A term a / d becomes a new number q and a % d a new number r, of which Euclid's facts are known where d is positive:
#
#     a = q * d + r,    0 <= r < d.
#
# They hold of what they stand for, so what follows from them holds; and no solver has to divide.


_KINDS = (z3.Z3_OP_IDIV, z3.Z3_OP_MOD)


def euclid(obligations: Iterable[Obligation]) -> Iterator[Obligation]:
    """The same questions without a division by what is not constant."""
    for each in obligations:
        yield _euclid(each)


def _euclid(asked: Obligation) -> Obligation:
    places = list(dict.fromkeys(_pairs([*asked.hypotheses, asked.goal])))
    if not places:
        return asked
    known, facts = [], []
    for number, (a, d) in enumerate(places):
        q, r = z3.Ints(f"quotient.{number} remainder.{number}")
        known += [(a / d, q), (a % d, r)]
        facts.append(z3.Implies(d > 0, z3.And(a == q * d + r, r >= 0, r < d)))
    made = [z3.substitute(each, *known) for each in (*asked.hypotheses, *facts, asked.goal)]
    return Obligation(asked.name, tuple(made[:-1]), made[-1])


def _pairs(terms: Iterable[Term]) -> Iterator[tuple[Term, Term]]:
    """Dividend and divisor of every division, each term looked at once."""
    pending, seen = list(terms), set()
    while pending:
        term = pending.pop()
        if term.get_id() in seen:
            continue
        seen.add(term.get_id())
        pending += term.children()
        if z3.is_app(term) and term.decl().kind() in _KINDS and not z3.is_int_value(term.arg(1)):
            yield term.arg(0), term.arg(1)
