"""A small counterexample: constants as close to 0 as the question allows, one after another in the order of names."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import z3

from sonnx.prover.terms import DIVISIONS, variables_in

COMMON_BOUNDS = tuple(2**power for power in range(64))
"""Bounds tried for all integers together; an integer that must exceed the last one keeps its value."""
MINIMISATION_EFFORT = 400_000
"""Steps of z3 (its rlimit) for one attempt to make values smaller; an undecided attempt is given up."""
MAX_FACTORS_ONE_BY_ONE = 6
"""Up to so many integers in products are minimised one by one, more of them only together."""
FACTOR_BOUNDS = (1, 2, 4, 16, 64)
"""Bounds tried for many integers in products together, which then keep their values."""


def minimised(solver: z3.Solver) -> dict[str, int]:
    """Values of the constants of a satisfiable question, integers and bit patterns made small."""
    model = solver.model()
    solver.set("rlimit", MINIMISATION_EFFORT)
    constants = [d() for d in sorted(model.decls(), key=z3.FuncDeclRef.name) if d.arity() == 0]
    numbers = [c for c in constants if z3.is_int(c) or z3.is_bv(c)]
    model = _bounded_together([c for c in numbers if z3.is_int(c)], solver, model)
    for constant in numbers:
        model = _minimised_alone(constant, solver, model)
    return {c.decl().name(): value_of(model.eval(c, model_completion=True)) for c in constants}


def with_small_factors(read: Callable[[], z3.Solver]) -> z3.Solver | None:
    """If a question multiplies many integers, a satisfied solver with small numbers for them; None if none is found.

    `read` makes a solver that has only read the question: bounds added after a first answer cost much more.
    """
    names = [each.decl().name() for each in _factors(read())]
    for bound in FACTOR_BOUNDS if len(names) > MAX_FACTORS_ONE_BY_ONE else ():
        solver = read()
        solver.set("rlimit", MINIMISATION_EFFORT)
        factors = [z3.Int(name, solver.ctx) for name in names]
        solver.add(*[_at_most(each, bound) for each in factors])
        if solver.check() == z3.sat:
            model = solver.model()
            solver.add(*[each == model.eval(each, model_completion=True) for each in factors])
            return solver if solver.check() == z3.sat else None
    return None


def _factors(solver: z3.Solver) -> list[z3.ExprRef]:
    """The integers in products and quotients of terms that are not constant: while they are large, all else is slow."""
    found = {each.decl().name(): each for each in variables_in(*_nonlinear(solver.assertions())) if z3.is_int(each)}
    return [found[name] for name in sorted(found)]


def _nonlinear(assertions: Sequence[z3.ExprRef]) -> Iterator[z3.ExprRef]:
    """The outermost products and quotients of terms that are not constant."""
    seen: set[int] = set()
    waiting = list(assertions)
    while waiting:
        part = waiting.pop()
        if part.get_id() in seen:
            continue
        seen.add(part.get_id())
        if _is_nonlinear(part):
            yield part
        else:
            waiting += part.children()


def _is_nonlinear(part: z3.ExprRef) -> bool:
    operation = part.decl().kind() if z3.is_app(part) else None
    if operation == z3.Z3_OP_MUL:
        return sum(not z3.is_int_value(each) for each in part.children()) > 1
    return operation in DIVISIONS and not z3.is_int_value(part.arg(1))


def _bounded_together(integers: list[z3.ArithRef], solver: z3.Solver, model: z3.ModelRef) -> z3.ModelRef:
    """Bound all integers by one small number first, so that none is small at the expense of another."""
    largest = max([abs(value_of(model.eval(c, model_completion=True))) for c in integers], default=0)
    limit = z3.FreshInt("limit", solver.ctx)
    solver.add(*[_at_most(c, limit) for c in integers])
    for bound in COMMON_BOUNDS:
        if bound >= largest:
            break
        solver.push()
        solver.add(limit == bound)
        if solver.check() == z3.sat:
            return solver.model()
        solver.pop()
    return model


def _minimised_alone(constant: z3.ExprRef, solver: z3.Solver, model: z3.ModelRef) -> z3.ModelRef:
    """Bisection for the least absolute value of one constant."""
    least, most = 0, abs(value_of(model.eval(constant, model_completion=True)))
    if most > COMMON_BOUNDS[-1] and solver.check(_at_most(constant, COMMON_BOUNDS[-1])) != z3.sat:
        least = most
    while least < most:
        middle = (least + most) // 2
        if solver.check(_at_most(constant, middle)) == z3.sat:
            model = solver.model()
            most = abs(value_of(model.eval(constant, model_completion=True)))
        else:
            least = middle + 1
    solver.add(_at_most(constant, most))
    return model


def _at_most(constant: z3.ExprRef, bound: int | z3.ArithRef) -> z3.BoolRef:
    if isinstance(bound, int) and bound == 0:
        return constant == 0
    if z3.is_bv(constant):
        return z3.ULE(constant, bound)
    return z3.And(constant <= bound, -constant <= bound)


def value_of(value: z3.ExprRef) -> int:
    """A value of a model: an integer, a bit pattern as unsigned, a truth value as 0 or 1."""
    if z3.is_int_value(value) or z3.is_bv_value(value):
        return int(value.as_long())
    return int(z3.is_true(value))
