"""Comparisons of integer terms as texts of the rule language: `K == N + M`, `2 * K <= N * M + 4`, `N // 2 % 3 == 1`.

A term is a sum of products with constant coefficients; its parts are symbols, products of parts, and quotients and
remainders by a positive constant.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import gcd

import z3

from sonnx.prover.terms import subterms

Sum = dict[str, int]
"""The coefficient of each part of a sum by its text; that of the constant by ""."""
MAX_CONSTANT = 1 << 20
"""Constants above it do not appear in texts."""

_COMPARISONS = {
    z3.Z3_OP_EQ: "==", z3.Z3_OP_LE: "<=", z3.Z3_OP_GE: ">=", z3.Z3_OP_LT: "<", z3.Z3_OP_GT: ">",
}  # fmt: skip
_MIRRORED = {"==": "==", "<=": ">=", ">=": "<=", "<": ">", ">": "<"}


def written_comparisons(condition: z3.BoolRef, names: Mapping[str, str]) -> Iterator[tuple[str, z3.BoolRef]]:
    """The comparisons of integers in a condition, as texts and terms; those that cannot be written are left out.

    Args:
        condition: the condition.
        names: the symbol for the name of each variable.
    """
    for part in subterms(condition):
        operator = _COMPARISONS.get(part.decl().kind()) if z3.is_app(part) and part.num_args() == 2 else None
        if operator is not None and z3.is_int(part.arg(0)):
            left, right = (_sum(each, names) for each in part.children())
            if left is not None and right is not None:
                text = _comparison(_plus(left, right, -1), operator)
                if text:
                    yield text, part


def _sum(term: z3.ArithRef, names: Mapping[str, str]) -> Sum | None:
    if z3.is_int_value(term):
        return {"": term.as_long()}
    kind = term.decl().kind()
    if kind == z3.Z3_OP_UNINTERPRETED and term.num_args() == 0 and str(term) in names:
        return {names[str(term)]: 1}
    parts = [_sum(each, names) for each in term.children()]
    known = [each for each in parts if each is not None]
    if not parts or len(known) < len(parts):
        return None
    match kind:
        case z3.Z3_OP_ADD:
            return _added(known)
        case z3.Z3_OP_SUB:
            return _plus(known[0], _added(known[1:]), -1)
        case z3.Z3_OP_UMINUS:
            return _plus({}, known[0], -1)
        case z3.Z3_OP_MUL:
            return _product(known)
        case z3.Z3_OP_IDIV | z3.Z3_OP_MOD if set(known[1]) == {""} and known[1][""] > 0:
            sign = "//" if kind == z3.Z3_OP_IDIV else "%"
            return {f"{_operand(known[0])} {sign} {known[1]['']}": 1}
    return None


def _added(parts: list[Sum]) -> Sum:
    made: Sum = {}
    for each in parts:
        made = _plus(made, each, 1)
    return made


def _plus(left: Sum, right: Sum, factor: int) -> Sum:
    made = dict(left)
    for part, number in right.items():
        made[part] = made.get(part, 0) + factor * number
    return {part: number for part, number in made.items() if number}


def _product(factors: list[Sum]) -> Sum | None:
    """The product of sums of which all but constants have one part."""
    number, parts = 1, list[str]()
    for each in factors:
        if len(each) != 1:
            if sum(set(one) != {""} for one in factors) > 1:
                return None
            return {
                part: one * _constant([other for other in factors if other is not each]) for part, one in each.items()
            }
        ((part, one),) = each.items()
        number *= one
        parts += [part] if part else []
    return {" * ".join(f"({each})" if " " in each and "*" not in each else each for each in parts): number}


def _constant(factors: list[Sum]) -> int:
    made = 1
    for each in factors:
        made *= each.get("", 0)
    return made


def _operand(found: Sum) -> str:
    text = _written(found)
    return f"({text})" if " + " in text or " - " in text or "//" in text or "%" in text else text


def _written(found: Sum) -> str:
    """A sum as text, the positive parts first."""
    ordered = sorted(found.items(), key=lambda each: (each[0] == "", each[1] < 0))
    text = ""
    for part, number in ordered:
        size = str(abs(number)) if not part else part if abs(number) == 1 else f"{abs(number)} * {_factor(part)}"
        text += f" - {size}" if number < 0 and text else f"-{size}" if number < 0 else f" + {size}" if text else size
    return text or "0"


def _factor(part: str) -> str:
    return f"({part})" if "//" in part or "%" in part else part


def _comparison(difference: Sum, operator: str) -> str:
    """`difference OPERATOR 0` with no negative number; "" if it has no symbol or a large constant."""
    symbols = {part: number for part, number in difference.items() if part}
    if not symbols or max(map(abs, difference.values())) > MAX_CONSTANT:
        return ""
    common = gcd(*difference.values())
    divided = {part: number // common for part, number in difference.items()}
    left = {part: number for part, number in divided.items() if number > 0}
    right = {part: -number for part, number in divided.items() if number < 0}
    if set(left) <= {""} or (len(right) == 1 and len(left) > 1 and "" not in right):
        left, right, operator = right, left, _MIRRORED[operator]
    return f"{_written(left)} {operator} {_written(right)}"
