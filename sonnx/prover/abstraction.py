"""Products and quotients as any functions: what holds for all functions of two numbers holds for these two.

A claim that two expressions give one number often needs nothing of a product or quotient but that equal operands give
equal results; without its meaning every solver decides the claim at once.  Values found under it refute nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import reduce

import z3

from sonnx.prover.theorem import Obligation

OPERATIONS = {z3.Z3_OP_MUL: "product", z3.Z3_OP_IDIV: "quotient", z3.Z3_OP_MOD: "remainder"}


def abstracted(part: z3.ExprRef) -> z3.ExprRef:
    """The same term, with a function without meaning in place of *, // and % of two terms that are not constant."""
    made: dict[int, z3.ExprRef] = {}
    waiting = [part]
    while waiting:
        known = waiting[-1]
        missing = [each for each in known.children() if each.get_id() not in made]
        waiting += missing
        if not missing:
            made.setdefault(waiting.pop().get_id(), _plain(known, [made[each.get_id()] for each in known.children()]))
    return made[part.get_id()]


def without_division(obligation: Obligation) -> Obligation:
    """The same for every function in the place of products and quotients that shares with them what `sharing` says."""
    parts = [abstracted(each) for each in (*obligation.hypotheses, obligation.goal)]
    return Obligation(obligation.name, (*parts[:-1], *_instances(parts)), parts[-1])


def sharing(name: str, left: z3.ArithRef, right: z3.ArithRef, result: z3.ArithRef) -> z3.BoolRef:
    """Of numbers that are not negative, and a divisor above 0, a product or quotient is not negative."""
    return z3.Implies(z3.And(left >= 0, right > 0 if name == "quotient" else right >= 0), result >= 0)


def _instances(parts: Sequence[z3.ExprRef]) -> Iterator[z3.BoolRef]:
    seen: set[int] = set()
    waiting = list(parts)
    while waiting:
        part = waiting.pop()
        if part.get_id() not in seen:
            seen.add(part.get_id())
            waiting += part.children()
            if part.num_args() == 2 and part.decl().name() in ("product", "quotient"):
                yield sharing(part.decl().name(), part.arg(0), part.arg(1), part)


def _plain(part: z3.ExprRef, parts: list[z3.ExprRef]) -> z3.ExprRef:
    name = OPERATIONS.get(part.decl().kind())
    unknown = [each for each in parts if not z3.is_int_value(each)]
    linear = len(unknown) < 2 if name == "product" else bool(parts) and z3.is_int_value(parts[-1])
    if name is None or linear:
        return part.decl()(*parts) if parts else part
    function = z3.Function(name, z3.IntSort(), z3.IntSort(), z3.IntSort())
    return reduce(function, parts)
