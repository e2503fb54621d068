"""Comparisons of integer terms as texts of the rule language: `K == N + M`, `2 * K <= N * M + 4`, `N // 2 % 3 == 1`.

A term is a sum of products with constant coefficients; its parts are symbols, products of parts, and quotients and
remainders by a positive constant.  Whoever states a text parses it first: nothing rests on a text that is written here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import gcd, prod

import z3

from sonnx.prover.terms import subterms

Product = tuple[str, ...]
"""Symbols and quotients that are multiplied, as texts; () of none, which is 1."""
Sum = dict[Product, int]
"""The coefficient of each product of a sum."""
MAX_CONSTANT = 1 << 20
"""Constants above it do not appear in texts."""

_COMPARISONS = {
    z3.Z3_OP_EQ: "==", z3.Z3_OP_LE: "<=", z3.Z3_OP_GE: ">=", z3.Z3_OP_LT: "<", z3.Z3_OP_GT: ">",
}  # fmt: skip
_MIRRORED = {"==": "==", "<=": ">=", ">=": "<=", "<": ">", ">": "<"}


def written_comparisons(condition: z3.BoolRef, names: Mapping[str, str]) -> Iterator[str]:
    """The comparisons of integers in a condition as texts; those that cannot be written are left out.

    Args:
        condition: the condition.
        names: the symbol for the name of each variable.
    """
    for part in subterms(condition):
        text = written_comparison(part, names)
        if text:
            yield text


def written_comparison(part: z3.ExprRef, names: Mapping[str, str]) -> str:
    """A comparison of integers as text, "" if it is none or cannot be written."""
    operator = _COMPARISONS.get(part.decl().kind()) if z3.is_app(part) and part.num_args() == 2 else None
    if operator is None or not z3.is_int(part.arg(0)):
        return ""
    left, right = (_sum(side, names) for side in part.children())
    return "" if left is None or right is None else _comparison(_plus(left, right, -1), operator)


def _sum(term: z3.ArithRef, names: Mapping[str, str]) -> Sum | None:
    if z3.is_int_value(term):
        return {(): term.as_long()}
    kind = term.decl().kind()
    if kind == z3.Z3_OP_UNINTERPRETED and term.num_args() == 0 and str(term) in names:
        return {(names[str(term)],): 1}
    parts = [_sum(part, names) for part in term.children()]
    sums = [part for part in parts if part is not None]
    if not parts or len(sums) < len(parts):
        return None
    match kind:
        case z3.Z3_OP_ADD:
            return _added(sums)
        case z3.Z3_OP_SUB:
            return _plus(sums[0], _added(sums[1:]), -1)
        case z3.Z3_OP_UMINUS:
            return _plus({}, sums[0], -1)
        case z3.Z3_OP_MUL:
            return _product(sums, {name: place for place, name in enumerate(names.values())})
        case z3.Z3_OP_IDIV | z3.Z3_OP_MOD if set(sums[1]) == {()} and sums[1][()] > 0:
            sign = "//" if kind == z3.Z3_OP_IDIV else "%"
            return {(f"{_operand(sums[0])} {sign} {sums[1][()]}",): 1}
    return None


def _added(parts: list[Sum]) -> Sum:
    total: Sum = {}
    for part in parts:
        total = _plus(total, part, 1)
    return total


def _plus(left: Sum, right: Sum, factor: int) -> Sum:
    total = dict(left)
    for part, number in right.items():
        total[part] = total.get(part, 0) + factor * number
    return {part: number for part, number in total.items() if number}


def _product(sums: list[Sum], order: Mapping[str, int]) -> Sum | None:
    """The product of sums of which at most one has several parts, and then all others are constants.

    Its factors are in the order of the symbols, quotients last, so that equal products are one part of a sum.
    """
    several = [each for each in sums if len(each) != 1]
    single = [next(iter(each.items())) for each in sums if len(each) == 1]
    factors = [factor for factors, _ in single for factor in factors]
    parts = tuple(sorted(factors, key=lambda factor: (order.get(factor, len(order)), factor)))
    number = prod(number for _, number in single)
    if not several:
        return {parts: number}
    if parts or len(several) > 1:
        return None
    return {part: number * coefficient for part, coefficient in several[0].items()}


def _operand(dividend: Sum) -> str:
    text = _written(dividend)
    return f"({text})" if len(dividend) > 1 or _is_rounded(text) else text


def _is_rounded(text: str) -> bool:
    """Whether a text has a quotient or a remainder: as an operand it needs brackets."""
    return "//" in text or "%" in text


def _written(total: Sum) -> str:
    """A sum as text, the positive parts first."""
    ordered = sorted(total.items(), key=lambda item: (item[0] == (), item[1] < 0))
    text = ""
    for factors, number in ordered:
        sign = (" - " if number < 0 else " + ") if text else ("-" if number < 0 else "")
        text += sign + _term(factors, abs(number), alone=sign != "-")
    return text or "0"


def _term(factors: Product, number: int, *, alone: bool) -> str:
    """A number times factors as text; a quotient needs no brackets only if it stands alone, without a sign."""
    parts = [*([str(number)] if number != 1 or not factors else []), *factors]
    if len(parts) == 1 and alone:
        return parts[0]
    return " * ".join(f"({part})" if _is_rounded(part) else part for part in parts)


def _comparison(difference: Sum, operator: str) -> str:
    """`difference OPERATOR 0` with no negative number; "" if it has no symbol or a large constant."""
    symbols = {part: number for part, number in difference.items() if part}
    if not symbols or max(map(abs, difference.values())) > MAX_CONSTANT:
        return ""
    common = gcd(*difference.values())
    divided = {part: number // common for part, number in difference.items()}
    left = {part: number for part, number in divided.items() if number > 0}
    right = {part: -number for part, number in divided.items() if number < 0}
    if set(left) <= {()} or (len(right) == 1 and len(left) > 1 and () not in right):
        left, right, operator = right, left, _MIRRORED[operator]
    return f"{_written(left)} {operator} {_written(right)}"
