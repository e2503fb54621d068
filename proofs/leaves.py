"""The variables and numbers a Z3 term is made of."""

from __future__ import annotations

import z3
from sonnx.proofs.truths import Truth, formula


def leaves(*terms: Truth | z3.ExprRef) -> list[z3.ExprRef]:
    """The constants of terms, which may share much of themselves."""
    seen: set[int] = set()
    found: list[z3.ExprRef] = []
    waiting: list[z3.ExprRef] = [formula(term) if isinstance(term, bool) else term for term in terms]
    while waiting:
        part = waiting.pop()
        if part.get_id() not in seen:
            seen.add(part.get_id())
            if z3.is_const(part):
                found.append(part)
            waiting += part.children()
    return found


def variables_in(*terms: Truth | z3.ExprRef) -> list[z3.ExprRef]:
    """The variables of terms."""
    return [part for part in leaves(*terms) if part.decl().kind() == z3.Z3_OP_UNINTERPRETED]


def names_in(term: Truth | z3.ExprRef) -> set[str]:
    """The names of the variables of a term."""
    return {str(part) for part in variables_in(term)}


def constants_in(term: Truth | z3.ExprRef) -> set[int]:
    """The numbers in a term."""
    return {part.as_long() for part in leaves(term) if z3.is_int_value(part)}
