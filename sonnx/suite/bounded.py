"""Conditions about bounded integers as conditions about bit-vectors.

A solver of integers does not find the extents, strides and pads of a window in an hour; a solver of bits needs
milliseconds.  Every integer has an interval, from the bounds that the conditions state; a term is as wide as its
interval needs, so that nothing overflows and both questions have the same answer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import reduce
from typing import NamedTuple, TypeAlias, TypeVar

import z3

WIDEST = 40
"""Bits; a wider question is left to the solver of integers."""
Interval: TypeAlias = tuple[int, int]
StatedEnds: TypeAlias = tuple[int | None, int | None]
TEXTS = (0, 127)
"""Codes of strings, which are only compared for equality: more than a call has strings."""
_ORDER: dict[int, Callable[[z3.BitVecRef, z3.BitVecRef], z3.BoolRef]] = {
    z3.Z3_OP_LE: lambda left, right: left <= right,
    z3.Z3_OP_LT: lambda left, right: left < right,
    z3.Z3_OP_GE: lambda left, right: left >= right,
    z3.Z3_OP_GT: lambda left, right: left > right,
    z3.Z3_OP_EQ: lambda left, right: left == right,
    z3.Z3_OP_DISTINCT: lambda left, right: left != right,
}
_FLIPPED = {z3.Z3_OP_LE: z3.Z3_OP_GE, z3.Z3_OP_GE: z3.Z3_OP_LE, z3.Z3_OP_LT: z3.Z3_OP_GT, z3.Z3_OP_GT: z3.Z3_OP_LT}


_SURE: dict[int, Callable[[Interval, Interval], bool | None]] = {
    z3.Z3_OP_LE: lambda left, right: True if left[1] <= right[0] else False if left[0] > right[1] else None,
    z3.Z3_OP_LT: lambda left, right: True if left[1] < right[0] else False if left[0] >= right[1] else None,
    z3.Z3_OP_GE: lambda left, right: True if left[0] >= right[1] else False if left[1] < right[0] else None,
    z3.Z3_OP_GT: lambda left, right: True if left[0] > right[1] else False if left[1] <= right[0] else None,
}
"""What the intervals of two sides say about their order; None if nothing."""


_Term = TypeVar("_Term", z3.BoolRef, z3.BitVecRef)


class Unbounded(Exception):
    """The conditions are not about bounded integers alone."""


class Bits(NamedTuple):
    """A question about bit-vectors: the conditions, and terms that may hold with them."""

    conditions: list[z3.BoolRef]
    terms: list[z3.BoolRef]


class BitQuestions:
    """Translates questions that share terms, such as those about the rules of one operator: each term once."""

    def __init__(self) -> None:
        self.translations: dict[frozenset[tuple[str, StatedEnds]], _Translation] = {}
        self.roots: list[z3.BoolRef] = []
        """All translated terms: the identifier of a term that is gone may become that of another one."""

    def as_bits(self, conditions: Sequence[z3.BoolRef], terms: Sequence[z3.BoolRef]) -> Bits:
        """The question about signed bit-vectors with the names of the integers.

        The quotient and the remainder of a division by zero, which no rule reads, are any numbers.

        Raises:
            Unbounded: a number is not an integer, has no bounds, or would be too wide.
        """
        stated = _stated(conditions)
        translation = self.translations.setdefault(frozenset(stated.items()), _Translation(_Intervals(stated)))
        self.roots += [*conditions, *terms]
        translation.require_narrow([*conditions, *terms])
        answers = [translation.truth(condition) for condition in conditions]
        translated = [translation.truth(term) for term in terms]
        return Bits([*translation.facts([*conditions, *terms]), *answers], translated)


def divides(conditions: Sequence[z3.BoolRef]) -> bool:
    """Whether a number is divided by another one that is not constant: there the solver of integers may not end."""
    waiting: list[z3.ExprRef] = [*conditions]
    known: set[int] = set()
    while waiting:
        term = waiting.pop()
        if term.get_id() not in known:
            known.add(term.get_id())
            if term.decl().kind() in (z3.Z3_OP_IDIV, z3.Z3_OP_MOD) and not z3.is_int_value(term.arg(1)):
                return True
            waiting += term.children()
    return False


def signed(value: z3.ExprRef) -> z3.ExprRef:
    """A value of the solver's model: a bit-vector as an integer, any other value unchanged."""
    return z3.IntVal(value.as_signed_long()) if z3.is_bv_value(value) else value


class _Intervals:
    """The interval of every integer term, and the largest magnitude of them."""

    def __init__(self, stated: Mapping[str, StatedEnds]) -> None:
        self.stated = stated
        self.variables: dict[str, Interval] = {}
        self.known: dict[int, Interval] = {}
        self.visited: set[int] = set()
        self.largest = 1

    def visit(self, term: z3.ExprRef) -> None:
        """Count a condition or number that will be translated, with all terms in it, for `largest`."""
        if term.get_id() in self.visited or self.decided(term) is not None:
            return
        self.visited.add(term.get_id())
        if z3.is_arith(term):
            self.largest = max(self.largest, *map(abs, self.of(term)))
            if term.decl().kind() in (z3.Z3_OP_IDIV, z3.Z3_OP_MOD):
                quotient, remainder = _division(*map(self.of, term.children()))
                product = _product(quotient, self.of(term.arg(1)))
                self.largest = max(self.largest, *map(abs, product), *map(abs, quotient), 2 * remainder[1] + 2)
        for child in term.children():
            self.visit(child)

    def decided(self, term: z3.ExprRef) -> bool | None:
        """The truth of a comparison that the intervals of its sides decide, such as one with the largest integer."""
        kind, parts = term.decl().kind(), term.children()
        if kind not in _SURE or len(parts) != 2 or not all(map(z3.is_arith, parts)):
            return None
        left, right = map(self.of, parts)
        # The bounds of a variable are decided too: `_Translation.facts` states its interval.
        return _SURE[kind](left, right)

    def of(self, term: z3.ExprRef) -> Interval:
        """The interval of a term."""
        interval = self.known.get(term.get_id())
        if interval is None:
            interval = self.known[term.get_id()] = self._computed(term)
        return interval

    def _computed(self, term: z3.ExprRef) -> Interval:
        if z3.is_int_value(term):
            return term.as_long(), term.as_long()
        if not z3.is_int(term):
            raise Unbounded(str(term.sort()))
        kind, parts = term.decl().kind(), term.children()
        if kind == z3.Z3_OP_UNINTERPRETED and not parts:
            name = term.decl().name()
            least, most = TEXTS if name.endswith(".text") else self.stated.get(name, (None, None))
            if least is None or most is None or least > most:
                raise Unbounded(name)
            self.variables[name] = least, most
            return least, most
        inner = [self.of(part) for part in parts if z3.is_arith(part)]
        match kind:
            case z3.Z3_OP_ITE:
                return min(row[0] for row in inner), max(row[1] for row in inner)
            case z3.Z3_OP_ADD:
                return sum(row[0] for row in inner), sum(row[1] for row in inner)
            case z3.Z3_OP_SUB:
                return reduce(
                    lambda minuend, subtrahend: (minuend[0] - subtrahend[1], minuend[1] - subtrahend[0]), inner
                )
            case z3.Z3_OP_UMINUS:
                return -inner[0][1], -inner[0][0]
            case z3.Z3_OP_MUL:
                return reduce(_product, inner)
            case z3.Z3_OP_IDIV | z3.Z3_OP_MOD:
                quotient, remainder = _division(*inner)
                return quotient if kind == z3.Z3_OP_IDIV else remainder
            case _:
                raise Unbounded(term.decl().name())


def _product(left: Interval, right: Interval) -> Interval:
    ends = [left_end * right_end for left_end in left for right_end in right]
    return min(ends), max(ends)


def _division(divided: Interval, divisor: Interval) -> tuple[Interval, Interval]:
    """The intervals of the quotient and of the remainder, which is not negative."""
    most = max(map(abs, divided)) + 1
    least = 0 if divided[0] >= 0 and divisor[0] >= 0 else -most
    return (least, most), (0, max(map(abs, divisor)))


def _stated(conditions: Sequence[z3.BoolRef]) -> dict[str, StatedEnds]:
    """The ends of variables that conditions of the form `variable <= number` state."""
    ends: dict[str, StatedEnds] = {}
    for name, kind, number in _bounds(conditions):
        least, most = ends.get(name, (None, None))
        if kind in (z3.Z3_OP_GE, z3.Z3_OP_GT, z3.Z3_OP_EQ):
            at_least = number + (kind == z3.Z3_OP_GT)
            least = at_least if least is None else max(least, at_least)
        if kind in (z3.Z3_OP_LE, z3.Z3_OP_LT, z3.Z3_OP_EQ):
            at_most = number - (kind == z3.Z3_OP_LT)
            most = at_most if most is None else min(most, at_most)
        ends[name] = least, most
    return ends


def _bounds(conditions: Sequence[z3.BoolRef]) -> Iterator[tuple[str, int, int]]:
    """The comparisons of a variable with a number, as name, kind and number; the variable is on the left side."""
    for condition in conditions:
        if z3.is_and(condition):
            yield from _bounds(condition.children())
        elif z3.is_app(condition) and condition.num_args() == 2 and condition.decl().kind() in _ORDER:
            left, right = condition.children()
            kind = condition.decl().kind()
            if z3.is_int_value(left):
                left, right, kind = right, left, _FLIPPED.get(kind, kind)
            if z3.is_int_value(right) and z3.is_int(left) and z3.is_const(left) and not z3.is_int_value(left):
                yield left.decl().name(), kind, right.as_long()


class _Translation:
    """Translates terms of integers into terms of bit-vectors, each as wide as its interval needs."""

    def __init__(self, intervals: _Intervals) -> None:
        self.intervals = intervals
        self.truths: dict[int, z3.BoolRef] = {}
        self.numbers: dict[int, z3.BitVecRef] = {}
        self.divisions: dict[tuple[int, int], tuple[z3.BitVecRef, z3.BitVecRef]] = {}
        self.defined: dict[str, list[z3.BoolRef]] = {}
        """What is known of variables, by name, and of quotients and remainders, by the names of the quotients."""
        self.names: dict[int, frozenset[str]] = {}
        """The names of `defined` that a translated term has."""
        self.reading: list[set[str]] = []
        """These names of the terms that are being translated, the innermost last."""

    def require_narrow(self, questions: Sequence[z3.BoolRef]) -> None:
        """See to it that every number has an interval.

        Raises:
            Unbounded: a number has none, or would be too wide.
        """
        for question in questions:
            self.intervals.visit(question)
        if self.intervals.largest.bit_length() + 1 > WIDEST:
            raise Unbounded(f"{self.intervals.largest.bit_length() + 1} bits")

    def facts(self, questions: Sequence[z3.BoolRef]) -> list[z3.BoolRef]:
        """The intervals of the variables of translated questions, and what their quotients and remainders are."""
        names = set[str]().union(*(self.names[question.get_id()] for question in questions))
        return [fact for name, facts in self.defined.items() if name in names for fact in facts]

    def truth(self, term: z3.ExprRef) -> z3.BoolRef:
        """The condition about bit-vectors that a condition about integers becomes."""
        return self._translated(term, self.truths, self._condition)

    def number(self, term: z3.ExprRef) -> z3.BitVecRef:
        """The bit-vector that an integer becomes."""
        return self._translated(term, self.numbers, self._integer)

    def _translated(self, term: z3.ExprRef, known: dict[int, _Term], translate: Callable[[z3.ExprRef], _Term]) -> _Term:
        key = term.get_id()
        translated = known.get(key)
        if translated is None:
            self.reading.append(set())
            translated = known[key] = translate(term)
            self.names[key] = frozenset(self.reading.pop())
        if self.reading:
            self.reading[-1] |= self.names[key]
        return translated

    def _condition(self, term: z3.ExprRef) -> z3.BoolRef:
        parts, decided = term.children(), self.intervals.decided(term)
        if decided is not None:
            return z3.BoolVal(decided)
        if parts and all(map(z3.is_arith, parts)):
            if term.decl().kind() not in _ORDER or len(parts) != 2:
                raise Unbounded(term.decl().name())
            width = max(_width(self.intervals.of(part)) for part in parts)
            return _ORDER[term.decl().kind()](*(_resized(self.number(part), width) for part in parts))
        if not all(map(z3.is_bool, parts)):
            raise Unbounded(term.decl().name())
        return term.decl()(*map(self.truth, parts)) if parts else term

    def _integer(self, term: z3.ExprRef) -> z3.BitVecRef:
        width = _width(self.intervals.of(term))
        if z3.is_int_value(term):
            return z3.BitVecVal(term.as_long(), width)
        kind, parts = term.decl().kind(), term.children()
        if not parts:
            return self._variable(term.decl().name())
        if kind == z3.Z3_OP_ITE:
            chosen = (_resized(self.number(part), width) for part in parts[1:])
            return z3.If(self.truth(parts[0]), *chosen)
        if kind in (z3.Z3_OP_IDIV, z3.Z3_OP_MOD):
            return self._divided(*parts)[kind == z3.Z3_OP_MOD]
        # Sums and products are right in the bits of the result, whatever is in those above.
        inner = [_resized(self.number(part), width) for part in parts]
        match kind:
            case z3.Z3_OP_ADD:
                return reduce(lambda total, summand: total + summand, inner)
            case z3.Z3_OP_SUB:
                return reduce(lambda minuend, subtrahend: minuend - subtrahend, inner)
            case z3.Z3_OP_UMINUS:
                return -inner[0]
            case _:
                return reduce(lambda product, factor: product * factor, inner)

    def _divided(self, dividend: z3.ExprRef, divisor: z3.ExprRef) -> tuple[z3.BitVecRef, z3.BitVecRef]:
        """The quotient and the remainder of a division."""
        key = dividend.get_id(), divisor.get_id()
        operands = self.number(dividend), self.number(divisor)
        if key not in self.divisions:
            number = len(self.divisions)
            dividends, divisors = self.intervals.of(dividend), self.intervals.of(divisor)
            quotients, remainders = _division(dividends, divisors)
            quotient = z3.BitVec(f"bits.quotient.{number}", _width(quotients))
            remainder = z3.BitVec(f"bits.remainder.{number}", _width(remainders))
            self.divisions[key] = quotient, remainder
            known = [
                z3.And(variable >= least, variable <= most)
                for variable, (least, most) in ((quotient, quotients), (remainder, remainders))
            ]
            products = _product(quotients, divisors)
            width = max(map(_width, (dividends, divisors, (products[0], products[1] + remainders[1])))) + 1
            total, by, part, rest = (_resized(each, width) for each in (*operands, quotient, remainder))
            equal = z3.And(total == part * by + rest, rest < z3.If(by < 0, -by, by))
            self.defined[str(quotient)] = [*known, z3.Or(by == 0, equal)]
        self.reading[-1].add(str(self.divisions[key][0]))
        return self.divisions[key]

    def _variable(self, name: str) -> z3.BitVecRef:
        least, most = self.intervals.variables[name]
        variable = z3.BitVec(name, _width((least, most)))
        self.defined.setdefault(name, [variable >= least, variable <= most])
        self.reading[-1].add(name)
        return variable


def _width(interval: Interval) -> int:
    """The bits of signed numbers that have an interval."""
    return max((end if end >= 0 else ~end).bit_length() for end in interval) + 1


def _resized(number: z3.BitVecRef, width: int) -> z3.BitVecRef:
    """The low bits of a signed number, or the number with more of them."""
    extra = width - number.size()
    if extra > 0:
        return z3.SignExt(extra, number)
    return z3.Extract(width - 1, 0, number) if extra else number
