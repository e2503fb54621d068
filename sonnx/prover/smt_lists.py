"""Symbolic lists: constructing, merging, packing, indexing, under the presence conditions of their items."""

from __future__ import annotations

from collections.abc import Sequence

import z3

from sonnx.prover import smt_values
from sonnx.prover.smt_values import (
    UNDEFINED,
    PartialValue,
    RecordValue,
    SymbolicList,
    SymbolicNumber,
    SymbolicString,
    Truth,
    UndefinedValue,
    Value,
    all_of,
    any_of,
    bool_term,
    choose,
    equal,
    implies,
    less,
    negate,
)

EMPTY = SymbolicList((), packed=True, length=0)


def list_of(values: Sequence[Value]) -> SymbolicList:
    """The list of these values; all of them are present."""
    return SymbolicList(tuple((True, value) for value in values), packed=True, length=len(values))


def filtered(items: Sequence[tuple[Truth, Value]]) -> SymbolicList:
    """A list whose items are present under conditions; those never present are left out."""
    kept = tuple((present, value) for present, value in items if present is not False)
    if all(present is True for present, _ in kept):
        return SymbolicList(kept, packed=True, length=len(kept))
    return SymbolicList(kept, packed=False)


def of_length(length: int | SymbolicNumber, items: Sequence[Value]) -> SymbolicList:
    """The first `length` of the items; there are enough of them."""
    flags = [(less(index, length), item) for index, item in enumerate(items)]
    return SymbolicList(tuple((flag, item) for flag, item in flags if flag is not False), packed=True, length=length)


def length(listed: SymbolicList) -> int | SymbolicNumber:
    """How many items of a list are present."""
    if listed.length is not None:
        return listed.length
    total: int | SymbolicNumber = 0
    for present, _ in listed.items:
        total = smt_values.add(total, 1 if present is True else choose(bool_term(present), 1, 0))
    return total


def merge(condition: Truth, left: Value, right: Value) -> Value:
    """Left if condition else right, for values of one type; an undefined value gives way."""
    if isinstance(condition, bool):
        return left if condition else right
    match left, right:
        case (UndefinedValue(), right_part) | (right_part, UndefinedValue()):
            return right_part
        case (PartialValue(), _) | (_, PartialValue()):
            left_part, right_part = _partial(left), _partial(right)
            there = merge(condition, left_part.defined, right_part.defined)
            return PartialValue(
                merge(condition, left_part.value, right_part.value), there, left_part.reason or right_part.reason
            )
        case (bool() | z3.BoolRef(), _):
            return all_of([implies(condition, left), implies(negate(condition), right)])
        case (SymbolicList(), SymbolicList()):
            return _merge_lists(condition, left, right)
        case (RecordValue(), RecordValue()):
            return RecordValue({name: merge(condition, left.fields[name], right.fields[name]) for name in left.fields})
        case (SymbolicString(), SymbolicString()):
            return SymbolicString(z3.If(condition, left.term, right.term))
    return choose(condition, left, right)


def _partial(value: Value) -> PartialValue:
    return value if isinstance(value, PartialValue) else PartialValue(value, True, "")


def _merge_lists(condition: z3.BoolRef, left: SymbolicList, right: SymbolicList) -> SymbolicList:
    items: list[tuple[Truth, Value]] = []
    for index in range(max(len(left.items), len(right.items))):
        on_left = left.items[index] if index < len(left.items) else (False, UNDEFINED)
        on_right = right.items[index] if index < len(right.items) else (False, UNDEFINED)
        present = any_of([all_of([condition, on_left[0]]), all_of([negate(condition), on_right[0]])])
        items.append((present, merge(condition, on_left[1], on_right[1])))
    if left.packed and right.packed:
        return SymbolicList(tuple(items), packed=True, length=choose(condition, length(left), length(right)))
    return filtered(items)


def without_gaps(listed: SymbolicList) -> SymbolicList:
    """The same list without gaps: place j has the item before which j items are present."""
    if listed.packed:
        return listed
    before: list[int | SymbolicNumber] = [0]
    for present, _ in listed.items:
        before.append(smt_values.add(before[-1], 1 if present is True else choose(bool_term(present), 1, 0)))
    total = before[-1]
    values = [_at_place(listed, before, place) for place in range(len(listed.items))]
    return of_length(total, values)


def _at_place(listed: SymbolicList, before: Sequence[int | SymbolicNumber], place: int) -> Value:
    """The item at a place; if the list is shorter, the item is never read."""
    result: Value = UNDEFINED
    for index in range(len(listed.items) - 1, place - 1, -1):
        present, value = listed.items[index]
        here = all_of([present, equal(before[index], place)])
        result = value if result is UNDEFINED else merge(here, value, result)
    return result


def item_at(listed: SymbolicList, index: int | SymbolicNumber) -> Value:
    """The item at an index inside the list."""
    filled = without_gaps(listed)
    if isinstance(index, int):
        return filled.items[index][1] if 0 <= index < len(filled.items) else UNDEFINED
    result: Value = UNDEFINED
    for place in range(len(filled.items) - 1, -1, -1):
        value = filled.items[place][1]
        result = value if result is UNDEFINED else merge(equal(index, place), value, result)
    return result


def concatenate(left: SymbolicList, right: SymbolicList) -> SymbolicList:
    """The items of one list, then those of the other."""
    items = (*left.items, *right.items)
    if right.packed and all(present is True for present, _ in left.items):
        return SymbolicList(items, packed=True, length=smt_values.add(len(left.items), length(right)))
    return filtered(items)
