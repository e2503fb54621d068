"""Obligations of the SMT interpretation, and its functions: equality, `len`, `range`, `sum`, … on symbolic lists."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import z3

from sonnx.language.evaluator import Unknown
from sonnx.model.ir import WIDTH
from sonnx.prover import smt_values as values
from sonnx.prover.smt_lists import EMPTY, length, merge, of_length, without_gaps
from sonnx.prover.smt_values import (
    UNDEFINED,
    PartialValue,
    SymbolicList,
    SymbolicNumber,
    SymbolicString,
    Truth,
    UndefinedValue,
    Value,
    all_of,
    any_of,
    bounds,
    implies,
    less,
    negate,
)

MAX_UNROLLED_ITEMS = 64
"""A list with a larger static bound is not unrolled; its length is bounded by an obligation."""


def _undefined(items: SymbolicList) -> bool:
    """Whether an item has no value; an obligation states already that it is never read."""
    return any(item is UNDEFINED for _, item in items.items)


def _surely(items: SymbolicList) -> list[int | SymbolicNumber]:
    """The items that are always present."""
    return [item for present, item in items.items if present is True]


ELEMENT_TYPES = tuple(dict.fromkeys(("float", "int64", "int32", "bool", "double", *WIDTH, "string")))
"""Element types in the order of their codes; the first is what a witness prefers."""


UNROLLED_TURNS = 8
"""Iterations of a loop over a number without a static bound."""


class FactNotStated(Exception):
    """The expression reads a fact that the model does not state; the message is the reason."""


class DefinednessObligations:
    """The codes of strings, and the obligations and guards of the expression that is being interpreted."""

    def __init__(self, turns: int = UNROLLED_TURNS) -> None:
        self.turns = turns
        self.codes = {name: code for code, name in enumerate(ELEMENT_TYPES)}
        self.guards: list[Truth] = []
        self.obligations: list[Truth] = []
        self.bounds: list[Truth] = []
        """Conditions for loops over numbers to end within their unrolled iterations; callers assume or prove them."""

    def require(self, condition: Truth) -> None:
        """Add what the expression needs at this place to its obligations."""
        needed = implies(all_of(self.guards), condition)
        if needed is not True:
            self.obligations.append(needed)

    @contextmanager
    def under(self, guard: Truth) -> Iterator[None]:
        """Obligations added inside hold under the guard."""
        self.guards.append(guard)
        try:
            yield
        finally:
            self.guards.pop()

    def use(self, value: Value) -> Value:
        """The value itself; that it is defined becomes an obligation."""
        while isinstance(value, PartialValue):
            self.require(value.defined)
            value = value.value
        if isinstance(value, Unknown):
            raise FactNotStated(value.reason)
        return value

    def truth_of(self, value: Value) -> Truth:
        """The value of a condition; an undefined one counts as false, and is excluded by an obligation."""
        used = self.use(value)
        return False if isinstance(used, UndefinedValue) else used


class Functions(DefinednessObligations):
    """Equality, and the functions."""

    def equal(self, left: Value, right: Value) -> Truth:
        """The condition under which two numbers, strings, truth values or lists are equal."""
        left, right = self.use(left), self.use(right)
        if isinstance(left, UndefinedValue) or isinstance(right, UndefinedValue):
            return False
        if isinstance(left, SymbolicList):
            return self._equal_lists(left, right)
        if isinstance(left, str | SymbolicString):
            return self._equal_texts(left, right)
        if isinstance(left, bool | z3.BoolRef):
            return any_of([all_of([left, right]), all_of([negate(left), negate(right)])])
        return values.equal(left, right)

    def _equal_lists(self, left: SymbolicList, right: SymbolicList) -> Truth:
        left_items, right_items = without_gaps(left), without_gaps(right)
        parts = [values.equal(length(left_items), length(right_items))]
        for (present, item), (_, twin) in zip(left_items.items, right_items.items, strict=False):
            if parts[0] is False:
                break
            with self.under(all_of([parts[0], present])):
                parts.append(implies(present, self.equal(item, twin)))
        return all_of(parts)

    def _equal_texts(self, left: str | SymbolicString, right: str | SymbolicString) -> Truth:
        if isinstance(left, str) and isinstance(right, str):
            return left == right
        left_code, right_code = self.text(left), self.text(right)
        return True if values.folds() and left_code.eq(right_code) else left_code == right_code

    def text(self, value: str | SymbolicString) -> z3.ArithRef:
        """The integer term that stands for a string."""
        if isinstance(value, SymbolicString):
            return value.term
        return z3.IntVal(self.codes.setdefault(value, len(self.codes)))

    def function(self, name: str, arguments: Sequence[Value]) -> Value:
        if name == "stated":
            return not isinstance(arguments[0], Unknown)
        used = [self.use(argument) for argument in arguments]
        if any(isinstance(argument, UndefinedValue) for argument in used):
            return False if name in ("all", "any", "distinct") else UNDEFINED
        return _FUNCTIONS[name](self, *(used if name == "len" else map(self._with_items, used)))

    def _with_items(self, listed: Value) -> Value:
        """The list with each item read: that an item is defined becomes an obligation where the item is present."""
        if not isinstance(listed, SymbolicList):
            return listed
        items: list[tuple[Truth, Value]] = []
        for present, item in listed.items:
            with self.under(present):
                items.append((present, self.use(item)))
        return replace(listed, items=tuple(items))

    def _range(self, first: int | SymbolicNumber, last: int | SymbolicNumber | None = None) -> Value:
        low, high = (0, first) if last is None else (first, last)
        span = values.not_negative(values.subtract(high, low))
        most = bounds(span)[1]
        if most is None or most > MAX_UNROLLED_ITEMS:
            needed = implies(all_of(self.guards), values.at_most(span, self.turns))
            if needed is not True:
                self.bounds.append(needed)
            most = self.turns
        return of_length(span, [values.add(low, turn) for turn in range(max(0, most))]) if most > 0 else EMPTY

    def _len(self, listed: SymbolicList) -> int | SymbolicNumber:
        return length(listed)

    def _all(self, listed: SymbolicList) -> Truth:
        return all_of([implies(present, self.truth_of(item)) for present, item in listed.items])

    def _any(self, listed: SymbolicList) -> Truth:
        return any_of([all_of([present, self.truth_of(item)]) for present, item in listed.items])

    def _distinct(self, listed: SymbolicList) -> Truth:
        items = listed.items
        pairs = [(items[i], items[j]) for i in range(len(items)) for j in range(i)]
        return all_of([negate(all_of([p, q, self.equal(a, b)])) for (p, a), (q, b) in pairs])

    def _sum(self, listed: SymbolicList) -> int | SymbolicNumber | UndefinedValue:
        return self._total(listed, values.add, 0)

    def _product(self, listed: SymbolicList) -> int | SymbolicNumber | UndefinedValue:
        return self._total(listed, values.multiply, 1)

    def _total(
        self, listed: SymbolicList, join: Callable[[Any, Any], Any], start: int
    ) -> int | SymbolicNumber | UndefinedValue:
        if _undefined(listed):
            return UNDEFINED
        total: int | SymbolicNumber = start
        for present, item in listed.items:
            total = merge(present, join(total, item), total)
        return total

    def _max(self, listed: SymbolicList) -> Value:
        if _undefined(listed):
            return UNDEFINED
        largest = self._extreme(listed, lambda item, best: less(best, item))
        lows = [low for low in (bounds(item)[0] for item in _surely(listed)) if low is not None]
        return replace(largest, low=max(lows)) if isinstance(largest, SymbolicNumber) and lows else largest

    def _min(self, listed: SymbolicList) -> Value:
        if _undefined(listed):
            return UNDEFINED
        least = self._extreme(listed, less)
        highs = [high for high in (bounds(item)[1] for item in _surely(listed)) if high is not None]
        return replace(least, high=min(highs)) if isinstance(least, SymbolicNumber) and highs else least

    def _extreme(self, listed: SymbolicList, better: Callable[[Any, Any], Truth]) -> Value:
        self.require(any_of([present for present, _ in listed.items]))
        best: Value = UNDEFINED
        any_before: Truth = False
        for present, item in listed.items:
            takes = all_of([present, True if best is UNDEFINED else any_of([negate(any_before), better(item, best)])])
            best = item if best is UNDEFINED else merge(takes, item, best)
            any_before = any_of([any_before, present])
        return best


_FUNCTIONS: Mapping[str, Callable[..., Value]] = {
    "range": Functions._range,
    "len": Functions._len,
    "all": Functions._all,
    "any": Functions._any,
    "distinct": Functions._distinct,
    "sum": Functions._sum,
    "product": Functions._product,
    "max": Functions._max,
    "min": Functions._min,
}
"""The functions of the rule language, beside `stated`; see `sonnx.language.parser.FUNCTIONS`."""
