"""Products and quotients as any functions: what holds for all functions of two numbers holds for these two.

A claim that two texts give one number often needs nothing of a product or quotient but that equal operands give equal
results; without its meaning every solver decides the claim at once.  Values found under it refute nothing.
"""

from __future__ import annotations

from functools import reduce

import z3

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


def _plain(part: z3.ExprRef, parts: list[z3.ExprRef]) -> z3.ExprRef:
    name = OPERATIONS.get(part.decl().kind())
    unknown = [each for each in parts if not z3.is_int_value(each)]
    linear = len(unknown) < 2 if name == "product" else bool(parts) and z3.is_int_value(parts[-1])
    if name is None or linear:
        return part.decl()(*parts) if parts else part
    function = z3.Function(name, z3.IntSort(), z3.IntSort(), z3.IntSort())
    return reduce(function, parts)
