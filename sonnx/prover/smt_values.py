"""The values of the SMT interpretation: truth values, numbers, strings, lists and records whose parts may be variables.

A constant is the Python object itself, so that constant expressions are folded without a solver.  Any other number is a
z3 term with its interval, and with its factors if it is a product.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor
from typing import Any, TypeAlias

import z3

Truth: TypeAlias = bool | z3.BoolRef
"""A truth value: a bool if it is known, else a z3 term."""
Value = Any
"""A value of the rule language: an int, a str, a truth value, or one of the classes below."""
Factors = tuple[int, tuple[str, ...]]

DIVISIONS = ("//", "%")
INFINITY = 2**1024
"""Stands for an infinite element of a tensor: a number above every finite one, which may only be compared."""


@dataclass(frozen=True, slots=True, eq=False)
class SymbolicNumber:
    """An integer that is not constant, within [low, high] (None: no bound).

    `factors` is (coefficient, names) if the number is that coefficient times those variables, names sorted.
    """

    term: z3.ArithRef
    low: int | None = None
    high: int | None = None
    factors: Factors | None = None


@dataclass(frozen=True, slots=True, eq=False)
class SymbolicString:
    """A string that is not constant, by the code that the interpretation gives each string."""

    term: z3.ArithRef


@dataclass(frozen=True, slots=True, eq=False)
class SymbolicList:
    """A list: items up to a static bound, in order, each with the condition under which it is present.

    A `packed` list has no gap: if an item is present, so are those before it.
    """

    items: tuple[tuple[Truth, Value], ...]
    packed: bool
    length: int | SymbolicNumber | None = None


@dataclass(frozen=True, slots=True, eq=False)
class RecordValue:
    """A tensor, a value, a parameter or an input, by its fields."""

    fields: Mapping[str, Value]


@dataclass(frozen=True, slots=True, eq=False)
class PartialValue:
    """A value that is defined under a condition; reading it is an obligation to prove the condition."""

    value: Value
    defined: Truth
    reason: str


@dataclass(frozen=True, slots=True)
class UndefinedValue:
    """The value of an undefined expression; an obligation states that it is never read."""


UNDEFINED = UndefinedValue()

_FOLDS: ContextVar[bool] = ContextVar("folds", default=False)


@contextmanager
def folding() -> Iterator[None]:
    """Inside, comparisons that intervals or equal terms decide are decided without a solver.

    An optimisation for models; the questions of theorems are made without it.
    """
    token = _FOLDS.set(True)
    try:
        yield
    finally:
        _FOLDS.reset(token)


def folds() -> bool:
    """Whether conclusions are drawn from intervals, factors and equal terms; constants are computed in any case."""
    return _FOLDS.get()


# Conditions


def all_of(parts: Sequence[Truth]) -> Truth:
    """The conjunction of the parts; constant parts are evaluated."""
    return _joined(parts, False, z3.Z3_mk_and)


def any_of(parts: Sequence[Truth]) -> Truth:
    """The disjunction of the parts; constant parts are evaluated."""
    return _joined(parts, True, z3.Z3_mk_or)


def _joined(parts: Sequence[Truth], decides: bool, make: Callable[..., Any]) -> Truth:
    """The different parts joined; one that is the constant `decides` decides alone.

    Most terms are made here, so this calls the library of z3 below its checks of types.
    """
    different: dict[int, z3.BoolRef] = {}
    for part in parts:
        if isinstance(part, bool):
            if part is decides:
                return decides
        else:
            different.setdefault(part.get_id(), part)
    if not different:
        return not decides
    distinct = list(different.values())
    if len(distinct) == 1:
        return distinct[0]
    context, terms = distinct[0].ctx, (z3.Ast * len(distinct))(*(each.as_ast() for each in distinct))
    return z3.BoolRef(make(context.ref(), len(distinct), terms), context)


def negate(part: Truth) -> Truth:
    """The negation; two negations cancel."""
    if isinstance(part, bool):
        return not part
    return part.arg(0) if z3.is_not(part) else z3.Not(part)


def implies(condition: Truth, conclusion: Truth) -> Truth:
    """The condition implies the conclusion; constants fold."""
    if isinstance(condition, bool):
        return conclusion if condition else True
    if isinstance(conclusion, bool):
        return True if conclusion else negate(condition)
    return True if folds() and condition.eq(conclusion) else z3.Implies(condition, conclusion)


def bool_term(part: Truth) -> z3.BoolRef:
    """The truth value as a z3 term."""
    return z3.BoolVal(part) if isinstance(part, bool) else part


# Numbers


def term(number: int | SymbolicNumber) -> z3.ArithRef:
    """The number as a z3 term."""
    return z3.IntVal(number) if isinstance(number, int) else number.term


def bounds(number: int | SymbolicNumber) -> tuple[int | None, int | None]:
    """The interval of a number."""
    return (number, number) if isinstance(number, int) else (number.low, number.high)


def variable(name: str, low: int | None = None, high: int | None = None) -> SymbolicNumber:
    """A fresh number; its bounds are hypotheses whoever makes it must state (`within`)."""
    return SymbolicNumber(z3.Int(name), low, high, (1, (name,)))


def real_constant(value: float) -> SymbolicNumber:
    """A floating-point constant as an exact rational term."""
    return SymbolicNumber(z3.RealVal(str(Fraction(value))), floor(value), ceil(value))


def interval_constraints(number: SymbolicNumber) -> list[z3.BoolRef]:
    """The hypotheses that a number lies in its interval."""
    constraints = [] if number.low is None else [number.term >= number.low]
    return constraints if number.high is None else [*constraints, number.term <= number.high]


def _factors(number: int | SymbolicNumber) -> Factors | None:
    return (number, ()) if isinstance(number, int) else number.factors


def _number(
    value: z3.ArithRef, low: int | None, high: int | None, factors: Factors | None = None
) -> int | SymbolicNumber:
    if folds() and low is not None and low == high:
        return low
    return SymbolicNumber(value, low, high, factors)


def _plus(left: int | None, right: int | None) -> int | None:
    return None if left is None or right is None else left + right


def finite(number: int | SymbolicNumber) -> Truth:
    """Whether a number is finite; only the elements of tensors have the interval in which some are not."""
    if bounds(number) != (-INFINITY, INFINITY):
        return True
    return all_of([term(number) < INFINITY, term(number) > -INFINITY])


def add(left: int | SymbolicNumber, right: int | SymbolicNumber) -> int | SymbolicNumber:
    """Left + right."""
    if isinstance(left, int) and isinstance(right, int):
        return left + right
    if folds() and (left == 0 or right == 0):
        return right if left == 0 else left
    (a, b), (c, d) = bounds(left), bounds(right)
    return _number(term(left) + term(right), _plus(a, c), _plus(b, d))


def minus(number: int | SymbolicNumber) -> int | SymbolicNumber:
    """-number."""
    if isinstance(number, int):
        return -number
    low, high, factors = number.low, number.high, number.factors
    turned = None if factors is None else (-factors[0], factors[1])
    return SymbolicNumber(-number.term, None if high is None else -high, None if low is None else -low, turned)


def subtract(left: int | SymbolicNumber, right: int | SymbolicNumber) -> int | SymbolicNumber:
    """Left - right."""
    if isinstance(left, int) and isinstance(right, int):
        return left - right
    if folds() and right == 0:
        return left
    if folds() and same(left, right):
        return 0
    (a, b), (c, d) = bounds(left), bounds(right)
    low, high = _plus(a, None if d is None else -d), _plus(b, None if c is None else -c)
    return _number(term(left) - term(right), low, high)


def multiply(left: int | SymbolicNumber, right: int | SymbolicNumber) -> int | SymbolicNumber:
    """Left * right."""
    if isinstance(left, int) and isinstance(right, int):
        return left * right
    if folds() and 0 in (left, right):
        return 0
    if folds() and (left == 1 or right == 1):
        return right if left == 1 else left
    edges = [None if a is None or b is None else a * b for a in bounds(left) for b in bounds(right)]
    products = [edge for edge in edges if edge is not None]
    low, high = (min(products), max(products)) if len(products) == 4 else (None, None)
    if low is None and all((bounds(side)[0] or 0) >= 0 and bounds(side)[0] is not None for side in (left, right)):
        low = (bounds(left)[0] or 0) * (bounds(right)[0] or 0)
    left_factors, right_factors = _factors(left), _factors(right)
    factors = (
        None
        if left_factors is None or right_factors is None
        else (left_factors[0] * right_factors[0], tuple(sorted(left_factors[1] + right_factors[1])))
    )
    return _number(term(left) * term(right), low, high, factors)


def _quotient(left: int | SymbolicNumber, right: int | SymbolicNumber) -> int | SymbolicNumber | None:
    """The quotient where every factor of the divisor cancels, None elsewhere."""
    dividend, divisor = _factors(left), _factors(right)
    if dividend is None or divisor is None or divisor[0] == 0 or dividend[0] % divisor[0]:
        return None
    rest = list(dividend[1])
    for name in divisor[1]:
        if name not in rest:
            return None
        rest.remove(name)
    if not rest:
        return dividend[0] // divisor[0]
    coefficient = dividend[0] // divisor[0]
    product = z3.IntVal(coefficient) if coefficient != 1 else None
    for name in rest:
        product = z3.Int(name) if product is None else product * z3.Int(name)
    positive = coefficient > 0 and bounds(left)[0] is not None and (bounds(left)[0] or 0) >= 0
    return SymbolicNumber(product, 0 if positive else None, None, (coefficient, tuple(rest)))


def divide(left: int | SymbolicNumber, right: int | SymbolicNumber) -> int | SymbolicNumber:
    """Left // right for a positive divisor: rounded down, as SMT-LIB divides integers by positive ones."""
    if isinstance(left, int) and isinstance(right, int):
        return left // right if right > 0 else 0
    cancelled = _quotient(left, right) if folds() else None
    if cancelled is not None:
        return cancelled
    if _is_real(left) or _is_real(right):
        return _real_quotient(left, right)
    (low, high), least = bounds(left), max(1, bounds(right)[0] or 1)
    not_negative_dividend = low is not None and low >= 0
    most = high // least if not_negative_dividend and high is not None else None
    return _number(term(left) / term(right), 0 if not_negative_dividend else None, most)


def _is_real(number: int | SymbolicNumber) -> bool:
    return not isinstance(number, int) and number.term.is_real()


def _real_quotient(left: int | SymbolicNumber, right: int | SymbolicNumber) -> int | SymbolicNumber:
    """Left // right where one may have a fraction: z3 divides reals exactly, so the quotient is rounded down."""
    rounded = z3.ToInt(term(left) / term(right))
    simplified, low = z3.simplify(rounded), bounds(left)[0]
    if z3.is_int_value(simplified):
        return int(simplified.as_long())
    return SymbolicNumber(rounded, 0 if low is not None and low >= 0 else None, None)


def remainder(left: int | SymbolicNumber, right: int | SymbolicNumber) -> int | SymbolicNumber:
    """Left % right for a positive divisor."""
    if isinstance(left, int) and isinstance(right, int):
        return left % right if right > 0 else 0
    if folds() and _quotient(left, right) is not None:
        return 0
    if _is_real(left) or _is_real(right):
        return subtract(left, multiply(right, _real_quotient(left, right)))
    high = bounds(right)[1]
    return _number(term(left) % term(right), 0, None if high is None else high - 1)


def same(left: int | SymbolicNumber, right: int | SymbolicNumber) -> bool:
    """Whether both are equal for all values of the variables, as far as the terms show it."""
    if isinstance(left, int) or isinstance(right, int):
        return isinstance(left, int) and left == right
    return bool(left.term.eq(right.term)) or (left.factors is not None and left.factors == right.factors)


def equal(left: int | SymbolicNumber, right: int | SymbolicNumber) -> Truth:
    """Left == right."""
    if isinstance(left, int) and isinstance(right, int):
        return left == right
    if not folds():
        return term(left) == term(right)
    if same(left, right):
        return True
    (a, b), (c, d) = bounds(left), bounds(right)
    if (b is not None and c is not None and b < c) or (d is not None and a is not None and d < a):
        return False
    return term(left) == term(right)


def less(left: int | SymbolicNumber, right: int | SymbolicNumber) -> Truth:
    """Left < right."""
    if isinstance(left, int) and isinstance(right, int):
        return left < right
    if not folds():
        return term(left) < term(right)
    (a, b), (c, d) = bounds(left), bounds(right)
    if b is not None and c is not None and b < c:
        return True
    if same(left, right) or (a is not None and d is not None and a >= d):
        return False
    return term(left) < term(right)


def at_most(left: int | SymbolicNumber, right: int | SymbolicNumber) -> Truth:
    """Left <= right."""
    decided = less(right, left)
    return not decided if isinstance(decided, bool) else term(left) <= term(right)


def choose(condition: z3.BoolRef, left: int | SymbolicNumber, right: int | SymbolicNumber) -> int | SymbolicNumber:
    """Left if condition else right."""
    if left == right if isinstance(left, int) else folds() and same(left, right):
        return left
    (a, b), (c, d) = bounds(left), bounds(right)
    low = None if a is None or c is None else min(a, c)
    high = None if b is None or d is None else max(b, d)
    return SymbolicNumber(z3.If(condition, term(left), term(right)), low, high)


def not_negative(number: int | SymbolicNumber) -> int | SymbolicNumber:
    """max(0, number)."""
    negative = less(number, 0)
    if isinstance(negative, bool):
        return 0 if negative else number
    low, high = bounds(number)
    return SymbolicNumber(
        z3.If(negative, term(0), term(number)), max(0, low or 0), None if high is None else max(0, high)
    )
