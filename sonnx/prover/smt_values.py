"""The values of the Z3 reading: what a name of the rule language stands for when facts are variables.

A constant is the Python object itself, so that whatever is known folds without a solver.  What is not known is a Z3
term with what can be said of it cheaply: the interval of a number, and its factors where it is a product.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor
from typing import Any

import z3

from sonnx.prover.smt_truth import Truth, negate

Value = Any
Factors = tuple[int, tuple[str, ...]]

FRACTION = ("//", "%")


@dataclass(frozen=True, slots=True, eq=False)
class Number:
    """An integer that is not constant, within [low, high] (None: no bound).

    `factors` is (coefficient, names) where the number is that coefficient times those variables, names sorted.
    """

    term: z3.ArithRef
    low: int | None = None
    high: int | None = None
    factors: Factors | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Text:
    """A string that is not constant, by the code the reading gives each string."""

    term: z3.ArithRef


@dataclass(frozen=True, slots=True, eq=False)
class Listing:
    """A list: items up to a static bound, each with the condition under which it is there, in order.

    `packed` lists have no gap: where an item is there, those before it are.
    """

    items: tuple[tuple[Truth, Value], ...]
    packed: bool
    length: int | Number | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Record:
    """A tensor, a value, a parameter or an input, by its fields."""

    fields: Mapping[str, Value]


@dataclass(frozen=True, slots=True, eq=False)
class Partial:
    """A value that is there under a condition only; whoever reads it must show the condition."""

    value: Value
    defined: Truth
    reason: str


@dataclass(frozen=True, slots=True)
class Nothing:
    """What an undefined expression gives; an obligation says that it is never asked for."""


NOTHING = Nothing()


# Numbers


def term(number: int | Number) -> z3.ArithRef:
    """The number as a Z3 term."""
    return z3.IntVal(number) if isinstance(number, int) else number.term


def bounds(number: int | Number) -> tuple[int | None, int | None]:
    """The interval of a number."""
    return (number, number) if isinstance(number, int) else (number.low, number.high)


def variable(name: str, low: int | None = None, high: int | None = None) -> Number:
    """A fresh number; its bounds are hypotheses whoever makes it must state (`within`)."""
    return Number(z3.Int(name), low, high, (1, (name,)))


def real(value: float) -> Number:
    """A constant that is no whole number, exactly."""
    return Number(z3.RealVal(str(Fraction(value))), floor(value), ceil(value))


def within(number: Number) -> list[z3.BoolRef]:
    """The interval of a number as hypotheses."""
    found = [] if number.low is None else [number.term >= number.low]
    return found if number.high is None else [*found, number.term <= number.high]


def _factors(number: int | Number) -> Factors | None:
    return (number, ()) if isinstance(number, int) else number.factors


def _made(made: z3.ArithRef, low: int | None, high: int | None, factors: Factors | None = None) -> int | Number:
    if low is not None and low == high:
        return low
    return Number(made, low, high, factors)


def _plus(left: int | None, right: int | None) -> int | None:
    return None if left is None or right is None else left + right


def add(left: int | Number, right: int | Number) -> int | Number:
    """Left + right."""
    if isinstance(left, int) and isinstance(right, int):
        return left + right
    if left == 0 or right == 0:
        return right if left == 0 else left
    (a, b), (c, d) = bounds(left), bounds(right)
    return _made(term(left) + term(right), _plus(a, c), _plus(b, d))


def minus(number: int | Number) -> int | Number:
    """-number."""
    if isinstance(number, int):
        return -number
    low, high, known = number.low, number.high, number.factors
    turned = None if known is None else (-known[0], known[1])
    return Number(-number.term, None if high is None else -high, None if low is None else -low, turned)


def subtract(left: int | Number, right: int | Number) -> int | Number:
    """Left - right."""
    if isinstance(left, int) and isinstance(right, int):
        return left - right
    if right == 0:
        return left
    if same(left, right):
        return 0
    (a, b), (c, d) = bounds(left), bounds(right)
    low, high = _plus(a, None if d is None else -d), _plus(b, None if c is None else -c)
    return _made(term(left) - term(right), low, high)


def multiply(left: int | Number, right: int | Number) -> int | Number:
    """Left * right."""
    if isinstance(left, int) and isinstance(right, int):
        return left * right
    if 0 in (left, right):
        return 0
    if left == 1 or right == 1:
        return right if left == 1 else left
    edges = [None if a is None or b is None else a * b for a in bounds(left) for b in bounds(right)]
    known = [edge for edge in edges if edge is not None]
    low, high = (min(known), max(known)) if len(known) == 4 else (None, None)
    if low is None and all((bounds(each)[0] or 0) >= 0 and bounds(each)[0] is not None for each in (left, right)):
        low = (bounds(left)[0] or 0) * (bounds(right)[0] or 0)
    one, other = _factors(left), _factors(right)
    factors = None if one is None or other is None else (one[0] * other[0], tuple(sorted(one[1] + other[1])))
    return _made(term(left) * term(right), low, high, factors)


def _quotient(left: int | Number, right: int | Number) -> int | Number | None:
    """Left / right where the factors cancel."""
    one, other = _factors(left), _factors(right)
    if one is None or other is None or other[0] == 0 or one[0] % other[0]:
        return None
    rest = list(one[1])
    for name in other[1]:
        if name not in rest:
            return None
        rest.remove(name)
    if not rest:
        return one[0] // other[0]
    coefficient = one[0] // other[0]
    made = z3.IntVal(coefficient) if coefficient != 1 else None
    for name in rest:
        made = z3.Int(name) if made is None else made * z3.Int(name)
    positive = coefficient > 0 and bounds(left)[0] is not None and (bounds(left)[0] or 0) >= 0
    return Number(made, 0 if positive else None, None, (coefficient, tuple(rest)))


def divide(left: int | Number, right: int | Number) -> int | Number:
    """Left // right for a positive divisor: rounded down, which is Z3's division there."""
    if isinstance(left, int) and isinstance(right, int):
        return left // right if right > 0 else 0
    cancelled = _quotient(left, right)
    if cancelled is not None:
        return cancelled
    (low, high), least = bounds(left), max(1, bounds(right)[0] or 1)
    known = low is not None and low >= 0
    return _made(term(left) / term(right), 0 if known else None, high // least if known and high is not None else None)


def remainder(left: int | Number, right: int | Number) -> int | Number:
    """Left % right for a positive divisor."""
    if isinstance(left, int) and isinstance(right, int):
        return left % right if right > 0 else 0
    if _quotient(left, right) is not None:
        return 0
    high = bounds(right)[1]
    return _made(term(left) % term(right), 0, None if high is None else high - 1)


def same(left: int | Number, right: int | Number) -> bool:
    """Whether both are one number however the variables are chosen, as far as can be seen."""
    if isinstance(left, int) or isinstance(right, int):
        return isinstance(left, int) and left == right
    return bool(left.term.eq(right.term)) or (left.factors is not None and left.factors == right.factors)


def equal(left: int | Number, right: int | Number) -> Truth:
    """Left == right."""
    if same(left, right):
        return True
    (a, b), (c, d) = bounds(left), bounds(right)
    if (b is not None and c is not None and b < c) or (d is not None and a is not None and d < a):
        return False
    return term(left) == term(right)  # type: ignore[no-any-return]


def less(left: int | Number, right: int | Number) -> Truth:
    """Left < right."""
    (a, b), (c, d) = bounds(left), bounds(right)
    if b is not None and c is not None and b < c:
        return True
    if same(left, right) or (a is not None and d is not None and a >= d):
        return False
    return term(left) < term(right)  # type: ignore[no-any-return]


def at_most(left: int | Number, right: int | Number) -> Truth:
    """Left <= right."""
    return negate(less(right, left)) if isinstance(less(right, left), bool) else term(left) <= term(right)


def choose(condition: z3.BoolRef, left: int | Number, right: int | Number) -> int | Number:
    """Left if condition else right."""
    if same(left, right):
        return left
    (a, b), (c, d) = bounds(left), bounds(right)
    low = None if a is None or c is None else min(a, c)
    high = None if b is None or d is None else max(b, d)
    return Number(z3.If(condition, term(left), term(right)), low, high)
