"""Truth values of the Z3 reading: Python's where they are known, else Z3 terms; constants fold."""

from __future__ import annotations

from collections.abc import Sequence

import z3

Truth = bool | z3.BoolRef


def both(parts: Sequence[Truth]) -> Truth:
    """The conjunction; constants fold."""
    open_parts: list[z3.BoolRef] = []
    for part in parts:
        if isinstance(part, bool):
            if not part:
                return False
        elif not any(part.eq(known) for known in open_parts):
            open_parts.append(part)
    if not open_parts:
        return True
    return open_parts[0] if len(open_parts) == 1 else z3.And(*open_parts)


def either(parts: Sequence[Truth]) -> Truth:
    """The disjunction; constants fold."""
    open_parts: list[z3.BoolRef] = []
    for part in parts:
        if isinstance(part, bool):
            if part:
                return True
        elif not any(part.eq(known) for known in open_parts):
            open_parts.append(part)
    if not open_parts:
        return False
    return open_parts[0] if len(open_parts) == 1 else z3.Or(*open_parts)


def negate(part: Truth) -> Truth:
    """The negation; of a negation what it negates."""
    if isinstance(part, bool):
        return not part
    return part.arg(0) if z3.is_not(part) else z3.Not(part)


def implies(condition: Truth, conclusion: Truth) -> Truth:
    """Condition only if conclusion; constants fold."""
    if isinstance(condition, bool):
        return conclusion if condition else True
    if isinstance(conclusion, bool):
        return True if conclusion else negate(condition)
    return True if condition.eq(conclusion) else z3.Implies(condition, conclusion)


def formula(part: Truth) -> z3.BoolRef:
    """The truth as a Z3 term."""
    return z3.BoolVal(part) if isinstance(part, bool) else part
