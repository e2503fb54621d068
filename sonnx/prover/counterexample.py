"""A small counterexample: constants as close to 0 as the question allows, one after another in the order of names."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import reduce
from operator import or_

import z3

COMMON_BOUNDS = tuple(2**power for power in range(64))
"""Bounds tried for all integers together; an integer that must exceed the last one keeps its value."""
MINIMISATION_EFFORT = 400_000
"""Steps of z3 (its rlimit) for one attempt to make values smaller; an undecided attempt is given up."""
MAX_FACTORS_ONE_BY_ONE = 6
"""Up to so many integers in products are minimised one by one, more of them only together."""
DECLARED = re.compile(r"\(declare-fun (\|[^|]*\||\S+) \(\) Int\)")
TOKENS = re.compile(r"[()]|\|[^|]*\||[^\s()|]+")
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


def with_small_factors(text: str, read: Callable[[str], z3.Solver]) -> z3.Solver | None:
    """If a question multiplies many integers, a satisfied solver with small numbers for them; None if none is found.

    `read` makes a solver that has only read the question: bounds added after a first answer cost much more.
    """
    names = factors(text)
    for bound in FACTOR_BOUNDS if len(names) > MAX_FACTORS_ONE_BY_ONE else ():
        solver = read(text)
        solver.set("rlimit", MINIMISATION_EFFORT)
        small = [z3.Int(name, solver.ctx) for name in names]
        solver.add(*[_at_most(each, bound) for each in small])
        if solver.check() == z3.sat:
            model = solver.model()
            solver.add(*[each == model.eval(each, model_completion=True) for each in small])
            return solver if solver.check() == z3.sat else None
    return None


def factors(text: str) -> list[str]:
    """The integers in products and quotients of terms that are not constant: while they are large, all else is slow.

    They are read from the text, where a set of integers is a number with a bit for each.
    """
    declared = [name.strip("|") for name in DECLARED.findall(text)]
    bits = {name: 1 << place for place, name in enumerate(declared)}
    number, frames = 0, list[list[int | str]]([[]])
    for part in TOKENS.findall(text):
        if part == "(":
            frames.append([])
        elif part != ")":
            frames[-1].append(bits.get(part.strip("|"), 0) if frames[-1] else part)
        else:
            head, *terms = frames.pop() or [""]
            inside = [term for term in terms if isinstance(term, int)]
            together = reduce(or_, inside, 0)
            if (head == "*" and sum(map(bool, inside)) > 1) or (head in ("div", "mod") and inside[1]):
                number |= together
            if isinstance(head, str) and head.startswith("a!"):
                bits[head] = together
            frames[-1].append(together)
    return sorted(name for name in declared if number & bits[name])


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
    """A value of a model: an integer, a bit pattern as unsigned, a truth value as 0 or 1.

    Raises:
        ValueError: a number with a fraction.
    """
    if z3.is_rational_value(value) and not z3.is_int_value(value):
        if value.denominator_as_long() != 1:
            raise ValueError(f"{value} is not an integer")
        return int(value.numerator_as_long())
    if z3.is_int_value(value) or z3.is_bv_value(value):
        return int(value.as_long())
    return int(z3.is_true(value))
