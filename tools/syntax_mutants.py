"""Small changes of syntax trees, one at a time: what mutation tests of rules and of theorems share."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping
from copy import copy
from typing import NamedTuple

OPPOSITE = {ast.Eq: ast.NotEq, ast.Lt: ast.GtE, ast.LtE: ast.Gt, ast.In: ast.NotIn}
OPPOSITE |= {after: before for before, after in OPPOSITE.items()}
STRICTER = {ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt}
"""An order with its bound moved by one."""
OTHER_OPERATION: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Add, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult,
    ast.Mod: ast.FloorDiv, ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd, ast.BitXor: ast.BitOr,
}  # fmt: skip
OTHER_CALL = {"And": "Or", "Or": "And", "UGT": "ULT", "ULT": "UGT", "SignExt": "ZeroExt", "ZeroExt": "SignExt"}
"""Functions of z3 and their replacements."""
Replacements = Callable[[ast.AST], Iterator[ast.AST]]


class Change(NamedTuple):
    """A copy of a tree with one part replaced, and the source texts of the part and of what replaces it."""

    tree: ast.AST
    old: str
    new: str


def changes(tree: ast.AST, replacements: Replacements) -> Iterator[Change]:
    """Copies of the tree, each with one node replaced; they share the parts that are as before."""
    above: dict[ast.AST, tuple[ast.AST, str, int | None]] = {}
    for node in ast.walk(tree):
        for name, value in ast.iter_fields(node):
            for place, child in enumerate(value) if isinstance(value, list) else [(None, value)]:
                if isinstance(child, ast.AST):
                    above[child] = node, name, place
        for new in replacements(node):
            yield Change(_replaced(node, new, above), ast.unparse(node), ast.unparse(new))


def _replaced(old: ast.AST, new: ast.AST, above: Mapping[ast.AST, tuple[ast.AST, str, int | None]]) -> ast.AST:
    """The root of the tree with another node; `above` has the parent of a node, and its place there."""
    while old in above:
        parent, name, place = above[old]
        copied, value = copy(parent), getattr(parent, name)
        setattr(copied, name, new if place is None else [*value[:place], new, *value[place + 1 :]])
        old, new = parent, copied
    return new


def of_condition(node: ast.AST) -> Iterator[ast.expr]:
    """What replaces a part of a rule's condition: comparisons, connectives, numbers and quantifiers change."""
    match node:
        case ast.Compare(left=left, ops=signs, comparators=others):
            for place, sign in enumerate(signs):
                for table in (OPPOSITE, STRICTER):
                    if type(sign) in table:
                        yield ast.Compare(left, [*signs[:place], table[type(sign)](), *signs[place + 1 :]], others)
            if len(signs) > 1:  # a chain is a conjunction of its comparisons
                yield ast.Compare(left, signs[:-1], others[:-1])
                yield ast.Compare(others[0], signs[1:], others[1:])
        case ast.BoolOp(op=sign, values=parts):
            for place in range(len(parts)):
                rest = [*parts[:place], *parts[place + 1 :]]
                yield rest[0] if len(rest) == 1 else ast.BoolOp(sign, rest)
        case ast.Constant(value=int() as number):
            yield ast.Constant(number + 1)
            yield ast.Constant(number - 1) if number else ast.UnaryOp(ast.USub(), ast.Constant(1))
        case ast.Call(func=ast.Name(id="all" | "any" as name), args=arguments):
            yield ast.Call(ast.Name("any" if name == "all" else "all", ast.Load()), arguments, [])


def of_definition(node: ast.AST) -> Iterator[ast.expr]:
    """What replaces a part of a definition: the same, arithmetic, branches, and the functions of z3."""
    yield from of_condition(node)
    match node:
        case ast.BinOp(left=left, op=sign, right=right):
            if type(sign) in OTHER_OPERATION:
                yield ast.BinOp(left, OTHER_OPERATION[type(sign)](), right)
            yield left
            yield right
        case ast.UnaryOp(op=ast.USub() | ast.Not(), operand=operand):
            yield operand
        case ast.IfExp(test=test, body=then, orelse=otherwise):
            yield ast.IfExp(test, otherwise, then)
        case ast.Call(func=ast.Attribute(value=owner, attr=name), args=arguments):
            yield from _of_call(owner, name, arguments)


def _of_call(owner: ast.expr, name: str, arguments: list[ast.expr]) -> Iterator[ast.expr]:
    same = ast.Attribute(owner, name, ast.Load())
    if name in OTHER_CALL:
        yield ast.Call(ast.Attribute(owner, OTHER_CALL[name], ast.Load()), arguments, [])
    if name in ("And", "Or") and len(arguments) > 1:
        for place in range(len(arguments)):
            yield ast.Call(same, [*arguments[:place], *arguments[place + 1 :]], [])
    if name == "Not":
        yield arguments[0]
    if name == "If":
        yield ast.Call(same, [arguments[0], arguments[2], arguments[1]], [])
