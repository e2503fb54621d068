"""A small counterexample: constants as near to 0 as the question allows, one after another by name."""

from __future__ import annotations

from typing import Any

import z3

BOUNDS = tuple(2**power for power in range(64))
"""What integers are bounded by together, one after another; one that must lie beyond the last is left as it is."""


def smallest(solver: z3.Solver) -> dict[str, int]:
    """Values of the constants of a satisfiable question, integers and bit patterns made as small as possible."""
    model = solver.model()
    constants = sorted((d() for d in model.decls() if d.arity() == 0), key=str)
    numbers = [c for c in constants if z3.is_int(c) or z3.is_bv(c)]
    model = _together([c for c in numbers if z3.is_int(c)], solver, model)
    for constant in numbers:
        model = _alone(constant, solver, model)
    return {str(c): number(model.eval(c, model_completion=True)) for c in constants}


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
