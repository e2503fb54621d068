"""The functions every reading knows (`len`, `range`, `sum`, …), on the lists of the Z3 reading."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import z3

from sonnx.language.evaluator import Unknown
from sonnx.model.ir import WIDTH
from sonnx.prover import smt_values as values
from sonnx.prover.smt_lists import EMPTY, length, merge, of_length, pack
from sonnx.prover.smt_truth import Truth, both, either, implies, negate
from sonnx.prover.smt_values import NOTHING, Listing, Nothing, Number, Partial, Text, Value, bounds, less

LONGEST = 64
"""The largest static bound a loop is unrolled to."""


def _undefined(known: Listing) -> bool:
    """Whether an item has no value; an obligation says already that it is never asked for."""
    return any(item is NOTHING for _, item in known.items)


def _surely(known: Listing) -> list[int | Number]:
    """The items that are there in any case."""
    return [item for present, item in known.items if present is True]


ELEMENT_TYPES = tuple(dict.fromkeys(("float", "int64", "int32", "bool", "double", *WIDTH, "string")))
"""Element types in the order of their codes; the first is what a witness prefers."""


UNROLLED = 8
"""Turns of a loop over a number without a static bound."""


class NotStated(Exception):
    """The expression reads a fact the model does not state; the message is the reason."""


class Obliged:
    """A reading with the codes of its strings and the obligations of what it reads at present."""

    def __init__(self, turns: int = UNROLLED) -> None:
        self.turns = turns
        self.codes = {name: code for code, name in enumerate(ELEMENT_TYPES)}
        self.guards: list[Truth] = []
        self.obligations: list[Truth] = []
        self.bounds: list[Truth] = []
        """What makes loops over numbers end within the turns they are unrolled to; who reads assumes or proves it."""

    def require(self, condition: Truth) -> None:
        """Note what the expression needs at this place."""
        needed = implies(both(self.guards), condition)
        if needed is not True:
            self.obligations.append(needed)

    @contextmanager
    def under(self, guard: Truth) -> Iterator[None]:
        """What is read inside is asked only where the guard holds."""
        self.guards.append(guard)
        try:
            yield
        finally:
            self.guards.pop()

    def use(self, value: Value) -> Value:
        """The value itself, with what makes it defined noted."""
        while isinstance(value, Partial):
            self.require(value.defined)
            value = value.value
        if isinstance(value, Unknown):
            raise NotStated(value.reason)
        return value

    def truth_of(self, value: Value) -> Truth:
        """The value of a condition; what is undefined counts as false, and an obligation says so."""
        known = self.use(value)
        return False if isinstance(known, Nothing) else known


class Functions(Obliged):
    """Equality, and the functions."""

    def equal(self, left: Value, right: Value) -> Truth:
        """Equality of numbers, strings or lists."""
        left, right = self.use(left), self.use(right)
        if isinstance(left, Nothing) or isinstance(right, Nothing):
            return False
        if isinstance(left, Listing):
            return self._equal_lists(left, right)
        if isinstance(left, str | Text):
            return self._equal_texts(left, right)
        return values.equal(left, right)

    def _equal_lists(self, left: Listing, right: Listing) -> Truth:
        one, other = pack(left), pack(right)
        parts = [values.equal(length(one), length(other))]
        for (present, item), (_, twin) in zip(one.items, other.items, strict=False):
            if parts[0] is False:
                break
            with self.under(both([parts[0], present])):
                parts.append(implies(present, self.equal(item, twin)))
        return both(parts)

    def _equal_texts(self, left: str | Text, right: str | Text) -> Truth:
        if isinstance(left, str) and isinstance(right, str):
            return left == right
        one, other = self.text(left), self.text(right)
        return True if one.eq(other) else one == other  # type: ignore[no-any-return]

    def text(self, value: str | Text) -> z3.ArithRef:
        """A string as the term of its code."""
        if isinstance(value, Text):
            return value.term
        return z3.IntVal(self.codes.setdefault(value, len(self.codes)))

    def function(self, name: str, arguments: Sequence[Value]) -> Value:
        if name == "stated":
            return not isinstance(arguments[0], Unknown)
        known = [self.use(argument) for argument in arguments]
        if any(isinstance(argument, Nothing) for argument in known):
            return False if name in ("all", "any", "distinct") else NOTHING
        return getattr(self, f"_{name}")(*known)

    def _range(self, first: int | Number, last: int | Number | None = None) -> Value:
        low, high = (0, first) if last is None else (first, last)
        span = values.subtract(high, low)
        most = bounds(span)[1]
        if most is None or most > LONGEST:
            needed = implies(both(self.guards), values.at_most(span, self.turns))
            if needed is not True:
                self.bounds.append(needed)
            most = self.turns
        return of_length(span, [values.add(low, turn) for turn in range(max(0, most))]) if most > 0 else EMPTY

    def _len(self, known: Listing) -> int | Number:
        return length(known)

    def _all(self, known: Listing) -> Truth:
        return both([implies(present, self.truth_of(item)) for present, item in known.items])

    def _any(self, known: Listing) -> Truth:
        return either([both([present, self.truth_of(item)]) for present, item in known.items])

    def _distinct(self, known: Listing) -> Truth:
        items = known.items
        pairs = [(items[i], items[j]) for i in range(len(items)) for j in range(i)]
        return both([negate(both([p, q, self.equal(a, b)])) for (p, a), (q, b) in pairs])

    def _sum(self, known: Listing) -> int | Number | Nothing:
        return self._total(known, values.add, 0)

    def _product(self, known: Listing) -> int | Number | Nothing:
        return self._total(known, values.multiply, 1)

    def _total(self, known: Listing, join: Callable[[Any, Any], Any], start: int) -> int | Number | Nothing:
        if _undefined(known):
            return NOTHING
        total: int | Number = start
        for present, item in known.items:
            total = merge(present, join(total, item), total)
        return total

    def _max(self, known: Listing) -> Value:
        if _undefined(known):
            return NOTHING
        found = self._extreme(known, lambda item, best: less(best, item))
        lows = [low for low in (bounds(item)[0] for item in _surely(known)) if low is not None]
        return replace(found, low=max(lows)) if isinstance(found, Number) and lows else found

    def _min(self, known: Listing) -> Value:
        if _undefined(known):
            return NOTHING
        found = self._extreme(known, less)
        highs = [high for high in (bounds(item)[1] for item in _surely(known)) if high is not None]
        return replace(found, high=min(highs)) if isinstance(found, Number) and highs else found

    def _extreme(self, known: Listing, better: Callable[[Any, Any], Truth]) -> Value:
        self.require(either([present for present, _ in known.items]))
        best: Value = NOTHING
        found: Truth = False
        for present, item in known.items:
            takes = both([present, True if best is NOTHING else either([negate(found), better(item, best)])])
            best = item if best is NOTHING else merge(takes, item, best)
            found = either([found, present])
        return best
