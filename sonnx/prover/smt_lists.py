"""Lists of the Z3 reading: joining, packing, indexing, folding under presence flags."""

from __future__ import annotations

from collections.abc import Sequence

import z3

from sonnx.prover.smt_truth import Truth, both, either, formula, implies, negate
from sonnx.prover.smt_values import (
    NOTHING,
    Listing,
    Nothing,
    Number,
    Partial,
    Record,
    Text,
    Value,
    add,
    choose,
    equal,
    less,
    variable,
    within,
)

EMPTY = Listing((), packed=True, length=0)


def listing(values: Sequence[Value]) -> Listing:
    """A list of known length."""
    return Listing(tuple((True, value) for value in values), packed=True, length=len(values))


def masked(items: Sequence[tuple[Truth, Value]]) -> Listing:
    """A list whose items are there under conditions; those never there are left out."""
    kept = tuple((present, value) for present, value in items if present is not False)
    if all(present is True for present, _ in kept):
        return Listing(kept, packed=True, length=len(kept))
    return Listing(kept, packed=False)


def of_length(length: int | Number, items: Sequence[Value]) -> Listing:
    """The first items, as many as the length says; there are enough of them."""
    flags = [(less(index, length), item) for index, item in enumerate(items)]
    return Listing(tuple((flag, item) for flag, item in flags if flag is not False), packed=True, length=length)


def length(known: Listing) -> int | Number:
    """How many items are there."""
    if known.length is not None:
        return known.length
    total: int | Number = 0
    for present, _ in known.items:
        total = add(total, 1 if present is True else choose(formula(present), 1, 0))
    return total


def merge(condition: Truth, left: Value, right: Value, same_text: object = None) -> Value:
    """Left if condition else right, for values of one kind; what is undefined gives way."""
    if isinstance(condition, bool):
        return left if condition else right
    match left, right:
        case (Nothing(), other) | (other, Nothing()):
            return other
        case (Partial(), _) | (_, Partial()):
            one, other = _partial(left), _partial(right)
            there = merge(condition, one.defined, other.defined)
            return Partial(merge(condition, one.value, other.value), there, one.reason or other.reason)
        case (bool() | z3.BoolRef(), _):
            return both([implies(condition, left), implies(negate(condition), right)])
        case (Listing(), Listing()):
            return _merge_lists(condition, left, right)
        case (Record(), Record()):
            return Record({name: merge(condition, left.fields[name], right.fields[name]) for name in left.fields})
        case (Text(), Text()):
            return Text(z3.If(condition, left.term, right.term))
    return choose(condition, left, right)


def _partial(value: Value) -> Partial:
    return value if isinstance(value, Partial) else Partial(value, True, "")


def _merge_lists(condition: z3.BoolRef, left: Listing, right: Listing) -> Listing:
    items: list[tuple[Truth, Value]] = []
    for index in range(max(len(left.items), len(right.items))):
        one = left.items[index] if index < len(left.items) else (False, NOTHING)
        other = right.items[index] if index < len(right.items) else (False, NOTHING)
        present = either([both([condition, one[0]]), both([negate(condition), other[0]])])
        items.append((present, merge(condition, one[1], other[1])))
    if left.packed and right.packed:
        return Listing(tuple(items), packed=True, length=choose(condition, length(left), length(right)))
    return masked(items)


def pack(known: Listing) -> Listing:
    """The same list without gaps: place j holds the item before which j are there."""
    if known.packed:
        return known
    before: list[int | Number] = [0]
    for present, _ in known.items:
        before.append(add(before[-1], 1 if present is True else choose(formula(present), 1, 0)))
    total = before[-1]
    values = [_at_place(known, before, place) for place in range(len(known.items))]
    return of_length(total, values)


def _at_place(known: Listing, before: Sequence[int | Number], place: int) -> Value:
    """The item at a place; whatever stands there where the list is shorter is never read."""
    result: Value = NOTHING
    for index in range(len(known.items) - 1, place - 1, -1):
        present, value = known.items[index]
        here = both([present, equal(before[index], place)])
        result = value if result is NOTHING else merge(here, value, result)
    return result


def pick(known: Listing, index: int | Number) -> Value:
    """The item at an index that lies in the list."""
    filled = pack(known)
    if isinstance(index, int):
        return filled.items[index][1] if 0 <= index < len(filled.items) else NOTHING
    result: Value = NOTHING
    for place in range(len(filled.items) - 1, -1, -1):
        value = filled.items[place][1]
        result = value if result is NOTHING else merge(equal(index, place), value, result)
    return result


def chain(left: Listing, right: Listing) -> Listing:
    """The items of one list, then those of the other."""
    items = (*left.items, *right.items)
    if right.packed and all(present is True for present, _ in left.items):
        return Listing(items, packed=True, length=add(len(left.items), length(right)))
    return masked(items)


def flags(prefix: str, most: int, low: int = 0) -> tuple[Number, list[z3.BoolRef]]:
    """A length that is a variable, with its bounds as hypotheses."""
    number = variable(prefix, low, most)
    return number, within(number)


# ------------------------------------------------------------------
# The variables and numbers a Z3 term is made of.


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
