"""What an expression reads and demands, answered from its syntax tree.

Checker, prover and rewriter ask these questions instead of searching the text of a rule, so that a rule can be written
another way without switching anything off.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Any, NamedTuple

from sonnx.language.domain import Expression
from sonnx.language.parser import QUESTIONS, parse


class Read(NamedTuple):
    """A field of a name that an expression reads: `X.shape` is Read("X", "shape"), also inside a loop over X."""

    name: str
    field: str


class StructureQuestion(NamedTuple):
    """A fact about a name that an expression asks for: `constant(W)` is Question("constant", "W")."""

    question: str
    name: str


class Equality(NamedTuple):
    """One comparison by == that an expression demands: a conjunct of it, not a part below `or` or `not`."""

    left: Expression
    right: Expression


@cache
def reads(expression: Expression) -> frozenset[Read]:
    """The fields an expression reads, each with the name it is read of."""
    return frozenset(_reads(expression.tree, {}))


@cache
def fields(expression: Expression) -> frozenset[str]:
    """The names of the fields an expression reads, of any value."""
    return frozenset(tree.attr for tree in ast.walk(expression.tree) if isinstance(tree, ast.Attribute))


@cache
def view(expressions: tuple[Expression, ...]) -> Mapping[str, tuple[str, ...]]:
    """What expressions see of each of their names: its fields, "len" for the number of its items, or () for all."""
    seen = set[Read]()
    for expression in expressions:
        _seen(expression.tree, {}, seen)
    names = sorted(frozenset[str]().union(*(expression.names for expression in expressions)))
    fields = {name: {read.field for read in seen if read.name == name} for name in names}
    return {name: () if "" in field else tuple(sorted(field)) for name, field in fields.items()}


@cache
def functions(expression: Expression) -> frozenset[str]:
    """The names of the functions an expression calls: built-in functions, loops such as all(...), and questions."""
    return frozenset(name for name, _ in _calls(expression))


@cache
def computes(expression: Expression) -> bool:
    """Whether an expression computes numbers or compares their sizes: arithmetic, <, <=, > or >=."""
    return any(
        isinstance(tree, ast.BinOp)
        or (isinstance(tree, ast.Compare) and any(isinstance(sign, _ORDER) for sign in tree.ops))
        for tree in ast.walk(expression.tree)
    )


@cache
def demands_of_each(expression: Expression) -> bool:
    """Whether an expression says something of each item of at most one list: it then holds for a part of the list."""
    return _demands_of_each(expression.tree) and sum(isinstance(tree, _LOOPS) for tree in ast.walk(expression.tree)) < 2


def _demands_of_each(tree: ast.expr) -> bool:
    """Loops stand only in all(...), under `and` and `or`, and in the branches of `if`."""
    match tree:
        case ast.BoolOp(values=parts):
            return all(map(_demands_of_each, parts))
        case ast.IfExp(test=test, body=body, orelse=other):
            return not _has_loop(test) and _demands_of_each(body) and _demands_of_each(other)
        case ast.Call(func=ast.Name(id="all"), args=[ast.GeneratorExp(elt=body, generators=[clause])]):
            return not _has_loop(body) and not _has_loop(clause.iter)
    return not _has_loop(tree)


def _has_loop(tree: ast.expr) -> bool:
    return any(isinstance(part, _LOOPS) for part in ast.walk(tree))


@cache
def questions(expression: Expression) -> frozenset[StructureQuestion]:
    """The facts about names that an expression asks for."""
    return frozenset(
        StructureQuestion(name, arguments[0].id)
        for name, arguments in _calls(expression)
        if name in QUESTIONS and isinstance(arguments[0], ast.Name)
    )


@cache
def arguments_of(expression: Expression, name: str) -> tuple[tuple[Expression, ...], ...]:
    """The arguments of each call of a function or built-in, in the order of the text."""
    return tuple(
        tuple(parse(ast.unparse(argument)) for argument in arguments)
        for called, arguments in _calls(expression)
        if called == name
    )


@cache
def equalities(expression: Expression) -> tuple[Equality, ...]:
    """The equalities an expression demands: itself, or the parts of an outermost `and`."""
    return tuple(
        Equality(parse(ast.unparse(part.left)), parse(ast.unparse(part.comparators[0])))
        for part in _conjuncts(expression.tree)
        if isinstance(part, ast.Compare) and len(part.ops) == 1 and isinstance(part.ops[0], ast.Eq)
    )


@cache
def strings(expression: Expression) -> frozenset[str]:
    """The strings an expression names."""
    constants = (tree.value for tree in ast.walk(expression.tree) if isinstance(tree, ast.Constant))
    return frozenset(value for value in constants if isinstance(value, str))


@cache
def without_listed_strings(expression: Expression) -> Expression:
    """The expression with each list of strings emptied: equal for rules that differ only in, say, allowed types."""
    return parse(ast.unparse(_EmptyStringLists().visit(ast.parse(expression.text, mode="eval").body)))


_ORDER = (ast.Lt, ast.LtE, ast.Gt, ast.GtE)
_LOOPS = (ast.GeneratorExp, ast.ListComp, ast.SetComp)


class _EmptyStringLists(ast.NodeTransformer):
    def visit_List(self, tree: ast.List) -> ast.expr:
        if all(isinstance(item, ast.Constant) and isinstance(item.value, str) for item in tree.elts):
            return ast.List([], tree.ctx)
        return self.generic_visit(tree)  # type: ignore[return-value]  # a list stays a list


def _conjuncts(tree: ast.expr) -> list[ast.expr]:
    """The parts of an outermost `and`, else the expression itself."""
    return tree.values if isinstance(tree, ast.BoolOp) and isinstance(tree.op, ast.And) else [tree]


def _calls(expression: Expression) -> Iterator[tuple[str, list[ast.expr]]]:
    for tree in ast.walk(expression.tree):
        if isinstance(tree, ast.Call) and isinstance(tree.func, ast.Name):
            yield tree.func.id, tree.args


def _reads(tree: ast.AST, owners: Mapping[str, frozenset[str]]) -> Iterator[Read]:
    """The fields read in a tree; `owners` are the names whose items the variables of the loops around it are."""
    if isinstance(tree, ast.Attribute):
        yield from (Read(name, tree.attr) for name in _owners(tree.value, owners))
    if isinstance(tree, ast.ListComp | ast.GeneratorExp):
        for clause in tree.generators:
            yield from _reads(clause.iter, owners)
            if isinstance(clause.target, ast.Name):
                owners = {**owners, clause.target.id: _owners(clause.iter, owners)}
            for condition in clause.ifs:
                yield from _reads(condition, owners)
        yield from _reads(tree.elt, owners)
    else:
        for part in ast.iter_child_nodes(tree):
            yield from _reads(part, owners)


def _seen(tree: ast.AST, owners: Mapping[str, frozenset[str]], seen: set[Read]) -> None:
    """Add what a tree sees of names: a field, "len", or "" for the whole value; of a list what it sees of any item."""
    see = _SEEING.get(type(tree))
    if see is None or not see(tree, owners, seen):
        for part in _parts(tree):
            _seen(part, owners, seen)


def _parts(tree: ast.AST) -> Iterator[ast.AST]:
    """The parts of a tree, signs left out: these see nothing."""
    for field in tree._fields:
        part = getattr(tree, field, None)
        for inner in part if type(part) is list else (part,):
            if isinstance(inner, ast.AST) and inner._fields:
                yield inner


def _seen_by_name(tree: ast.Name, owners: Mapping[str, frozenset[str]], seen: set[Read]) -> bool:
    seen.update([Read(owner, "") for owner in owners.get(tree.id, (tree.id,))])
    return True


def _seen_by_call(tree: ast.Call, owners: Mapping[str, frozenset[str]], seen: set[Read]) -> bool:
    if not (isinstance(tree.func, ast.Name) and tree.func.id == "len" and len(tree.args) == 1):
        return False
    [argument] = tree.args
    if isinstance(argument, ast.Name) and argument.id not in owners:
        seen.add(Read(argument.id, "len"))
        return True
    if isinstance(argument, ast.Attribute) and argument.attr == "shape":
        _seen(ast.Attribute(argument.value, "rank", ast.Load()), owners, seen)
        return True
    return False


def _seen_by_attribute(tree: ast.Attribute, owners: Mapping[str, frozenset[str]], seen: set[Read]) -> bool:
    sources = _sources(tree.value, owners)
    if not sources:
        return False
    seen.update([Read(name, tree.attr) for name in sources])
    _seen_by_indices(tree.value, owners, seen)
    return True


def _seen_by_loop(tree: ast.ListComp | ast.GeneratorExp, owners: Mapping[str, frozenset[str]], seen: set[Read]) -> bool:
    for clause in tree.generators:
        sources = _sources(clause.iter, owners)
        (_seen_by_indices if sources else _seen)(clause.iter, owners, seen)
        owners = {**owners, **dict.fromkeys(_names(clause.target), sources)}
        for condition in clause.ifs:
            _seen(condition, owners, seen)
    _seen(tree.elt, owners, seen)
    return True


_SEEING: Mapping[type[ast.AST], Callable[[Any, Mapping[str, frozenset[str]], set[Read]], bool]] = {
    ast.Name: _seen_by_name,
    ast.Call: _seen_by_call,
    ast.Attribute: _seen_by_attribute,
    ast.ListComp: _seen_by_loop,
    ast.GeneratorExp: _seen_by_loop,
}
"""The constructs that see a name in a way of their own; false where they are as any other."""


def _seen_by_indices(tree: ast.expr, owners: Mapping[str, frozenset[str]], seen: set[Read]) -> None:
    for part in _inside(tree):
        if isinstance(part, ast.Subscript):
            _seen(part.slice, owners, seen)


def _inside(tree: ast.AST) -> list[ast.AST]:
    """The tree and all its parts."""
    trees = [tree]
    for part in trees:
        trees += _parts(part)
    return trees


def _names(tree: ast.expr) -> list[str]:
    return [part.id for part in _inside(tree) if isinstance(part, ast.Name)]


def _sources(tree: ast.expr, owners: Mapping[str, frozenset[str]]) -> frozenset[str]:
    """As `_owners`; none if an item of a list is computed."""
    items = [item for part in _inside(tree) if isinstance(part, ast.List) for item in part.elts]
    plain = all(isinstance(item, ast.Constant) or _owners(item, owners) for item in items)
    return _owners(tree, owners) if plain else frozenset()


def _owners(tree: ast.expr, owners: Mapping[str, frozenset[str]]) -> frozenset[str]:
    """The names of which a value is an item, or an item of a list of which; none if it is computed."""
    while isinstance(tree, ast.Subscript):
        tree = tree.value
    if isinstance(tree, ast.Name):
        return owners.get(tree.id, frozenset({tree.id}))
    if isinstance(tree, ast.List):
        return frozenset[str]().union(*(_owners(item, owners) for item in tree.elts))
    return frozenset()
