"""The parser of the rule language: a small subset of Python expressions, parsed once and interpreted in several ways.

A text such as ``all(s > 0 for s in strides)`` becomes closures over a *domain*.  The domain decides what a value is:
facts of a model, types, SMT terms, printed formulas.  The syntax tree is walked only here; an interpretation is a class
with the methods of `domain.Domain`.  docs/rule-language.md describes the language for people who write rules.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Mapping
from functools import cache, partial
from pathlib import Path
from types import FunctionType, MappingProxyType, ModuleType
from typing import Any

from sonnx.language import builtins
from sonnx.language.domain import (
    Body,
    BuiltIn,
    Definition,
    Domain,
    Environment,
    Expression,
    Parsed,
    RuleError,
    Run,
    Thunk,
    Value,
)

FUNCTIONS = {"len": 1, "range": 2, "sum": 1, "product": 1, "max": 1, "min": 1, "all": 1, "any": 1, "distinct": 1,
             "stated": 1}  # fmt: skip
"""The functions of every domain, with their largest number of arguments."""
QUESTIONS = frozenset({"written", "given", "constant"})
"""Questions about a name, not about its value: the environment has the answer under the source text of the call."""
FIELDS = frozenset(
    {"shape", "rank", "type", "values", "kind", "holds_sparse", "written", "value_when_absent", "connected"}
)

_SIGNS = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.FloorDiv: "//", ast.Mod: "%"}
_COMPARISONS = {ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=",
                ast.In: "in", ast.NotIn: "not in"}  # fmt: skip


def parse(text: str) -> Expression:
    """The expression in a source text.

    Raises:
        RuleError: the text is not of the language; the message names the construct.
    """
    return parsed_later(text).parsed_now()


@cache
def parsed_later(text: str) -> Expression:
    """The expression in a source text, which is parsed when it is first read: `RuleError` is raised there."""
    return Expression(text, partial(_parsed, text))


def _parsed(text: str) -> Parsed:
    try:
        tree = ast.parse(text.strip(), mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise RuleError(f"{text!r} is not an expression: {getattr(error, 'msg', None) or error}") from error
    parser = _Parser(text, built_ins())
    try:
        run = parser.expression(tree.body, frozenset())
        over = _ranged_over(parser, tree.body)
    except RecursionError:
        raise RuleError(f"{text[:40]!r}… is nested too deeply") from None
    return Parsed(frozenset(parser.free), run, tree.body, tuple(parser.used), frozenset(parser.variables), over)


@cache
def operand(text: str) -> str:
    """A source text as one side of a comparison: in parentheses where it binds less tightly."""
    if not _BINDS_LESS.search(text):
        return text
    loose = isinstance(ast.parse(text, mode="eval").body, ast.IfExp | ast.BoolOp | ast.Compare)
    return f"({text})" if loose else text


_BINDS_LESS = re.compile(r"\b(if|or|and|in|is)\b|[<>=]")
"""A text without these is parsed in vain: it has no choice, connective or comparison."""


def _ranged_over(parser: _Parser, tree: ast.expr) -> tuple[str, Run] | None:
    match tree:
        case ast.Call(func=ast.Name(id="all"), args=[ast.GeneratorExp(generators=[clause, *_])]):
            return ast.unparse(clause.iter), parser.expression(clause.iter, frozenset())
        case ast.UnaryOp(op=ast.Not(), operand=ast.Call(func=ast.Name(id="any"), args=[ast.GeneratorExp() as loop])):
            clause = loop.generators[0]
            return ast.unparse(clause.iter), parser.expression(clause.iter, frozenset())
        case ast.BoolOp(op=ast.Or(), values=[first, *_]):
            return _ranged_over(parser, first)
    return None


class _Parser:
    """Turns the syntax tree of one text into closures; collects its free names, built-in functions and variables."""

    def __init__(self, text: str, known: Mapping[str, BuiltIn]) -> None:
        self.text = text
        self.known = known
        self.free: set[str] = set()
        self.used: dict[str, None] = {}
        self.variables: set[str] = set()

    def refuse(self, construct: str) -> RuleError:
        return RuleError(f"the rule language has no {construct}: {self.text!r}")

    def expression(self, tree: ast.expr, bound: frozenset[str]) -> Run:
        method = _CONSTRUCTS.get(type(tree))
        if method is None:
            raise self.refuse(f"{type(tree).__name__} ({ast.unparse(tree)})")
        return method(self, tree, bound)

    def _constant(self, tree: ast.Constant, bound: frozenset[str]) -> Run:
        value = tree.value
        if isinstance(value, bool) or not isinstance(value, int | float | str):
            raise self.refuse(f"constant {value!r}; it has numbers and strings")
        return lambda domain, environment: domain.constant(value)

    def _name(self, tree: ast.Name, bound: frozenset[str]) -> Run:
        name = tree.id
        if name in FUNCTIONS or name in QUESTIONS or name in self.known:
            raise self.refuse(f"function as a value ({name})")
        if name not in bound:
            self.free.add(name)
        return lambda domain, environment: environment[name]

    def _listing(self, tree: ast.List | ast.Set, bound: frozenset[str]) -> Run:
        items = [self.expression(item, bound) for item in tree.elts]
        return lambda domain, environment: domain.listing([item(domain, environment) for item in items])

    def _field(self, tree: ast.Attribute, bound: frozenset[str]) -> Run:
        name, value = tree.attr, self.expression(tree.value, bound)
        if name not in FIELDS:
            raise self.refuse(f"field .{name}; it has {', '.join(sorted(FIELDS))}")
        return lambda domain, environment: domain.field(value(domain, environment), name)

    def _subscript(self, tree: ast.Subscript, bound: frozenset[str]) -> Run:
        sequence = self.expression(tree.value, bound)
        if not isinstance(tree.slice, ast.Slice):
            index = self.expression(tree.slice, bound)
            return lambda domain, environment: domain.item(sequence(domain, environment), index(domain, environment))
        if tree.slice.step is not None:
            raise self.refuse("slice with a step")
        start, stop = (edge and self.expression(edge, bound) for edge in (tree.slice.lower, tree.slice.upper))
        return lambda domain, environment: domain.part(
            sequence(domain, environment),
            start and start(domain, environment),
            stop and stop(domain, environment),
        )

    def _arithmetic(self, tree: ast.BinOp, bound: frozenset[str]) -> Run:
        sign = _SIGNS.get(type(tree.op))
        if sign is None:
            raise self.refuse(f"operator {type(tree.op).__name__} ({ast.unparse(tree)}); it has + - * // %")
        left, right = self.expression(tree.left, bound), self.expression(tree.right, bound)
        return lambda domain, environment: domain.arithmetic(
            sign, left(domain, environment), right(domain, environment)
        )

    def _unary(self, tree: ast.UnaryOp, bound: frozenset[str]) -> Run:
        operand = self.expression(tree.operand, bound)
        if isinstance(tree.op, ast.Not):
            return lambda domain, environment: domain.negation(operand(domain, environment))
        if isinstance(tree.op, ast.USub):
            if isinstance(tree.operand, ast.Constant) and isinstance(tree.operand.value, int | float):
                number = -tree.operand.value
                return lambda domain, environment: domain.constant(number)
            return lambda domain, environment: domain.negative(operand(domain, environment))
        raise self.refuse(f"operator {type(tree.op).__name__} ({ast.unparse(tree)})")

    def _comparison(self, tree: ast.Compare, bound: frozenset[str]) -> Run:
        operands = [self.expression(operand, bound) for operand in (tree.left, *tree.comparators)]
        signs = [_COMPARISONS.get(type(operator), "") for operator in tree.ops]
        if "" in signs:
            raise self.refuse(f"comparison {ast.unparse(tree)}")
        if len(signs) == 1:
            (sign,), (left, right) = signs, operands
            return lambda domain, environment: domain.compare(
                sign, left(domain, environment), right(domain, environment)
            )

        def chain(domain: Domain, environment: Environment) -> Value:
            values = [operand(domain, environment) for operand in operands]
            pairs = zip(signs, values, values[1:], strict=False)
            return domain.conjunction([_later(domain.compare, *pair) for pair in pairs])

        return chain

    def _connective(self, tree: ast.BoolOp, bound: frozenset[str]) -> Run:
        parts = [self.expression(part, bound) for part in tree.values]
        if isinstance(tree.op, ast.And):
            return lambda domain, environment: domain.conjunction([_later(p, domain, environment) for p in parts])
        return lambda domain, environment: domain.disjunction([_later(p, domain, environment) for p in parts])

    def _choice(self, tree: ast.IfExp, bound: frozenset[str]) -> Run:
        return choose(
            self.expression(tree.test, bound), self.expression(tree.body, bound), self.expression(tree.orelse, bound)
        )

    def _comprehension(self, tree: ast.ListComp | ast.GeneratorExp, bound: frozenset[str]) -> Run:
        return self._loop(tree.generators, tree.elt, bound)

    def _loop(self, clauses: list[ast.comprehension], element: ast.expr, bound: frozenset[str]) -> Run:
        variable, sequence, inner_names = self._clause(clauses[0], bound)
        where = self._where(clauses[0], inner_names)
        deeper = len(clauses) > 1
        body = self._loop(clauses[1:], element, inner_names) if deeper else self.expression(element, inner_names)

        def loop(domain: Domain, environment: Environment) -> Value:
            condition = where and Body(where, domain, environment, variable)
            result = domain.collect(
                variable, sequence(domain, environment), Body(body, domain, environment, variable), condition
            )
            return domain.flatten(result) if deeper else result

        return loop

    def _quantified(self, name: str, clauses: list[ast.comprehension], element: ast.expr, bound: frozenset[str]) -> Run:
        """`all` and `any` stop early; a filter is part of the body, so that an unknown one leaves the rest decided."""
        variable, sequence, inner_names = self._clause(clauses[0], bound)
        where = self._where(clauses[0], inner_names)
        deeper = len(clauses) > 1
        body = (
            self._quantified(name, clauses[1:], element, inner_names)
            if deeper
            else self.expression(element, inner_names)
        )
        if where is not None:
            body = _guarded(name, where, body)
        edges = None if deeper or where is not None else _compared(element, variable)
        compared = None if edges is None else [self.expression(edge, bound) for edge in edges]
        return lambda domain, environment: domain.quantify(
            name, variable, sequence(domain, environment), Body(body, domain, environment, variable, compared)
        )

    def _clause(self, clause: ast.comprehension, bound: frozenset[str]) -> tuple[str, Run, frozenset[str]]:
        if not isinstance(clause.target, ast.Name) or clause.is_async:
            raise self.refuse(f"loop over several variables (for {ast.unparse(clause.target)})")
        variable = clause.target.id
        if variable in bound or variable in FUNCTIONS or variable in self.known:
            raise RuleError(f"the loop variable {variable} hides another name: {self.text!r}")
        self.variables.add(variable)
        return variable, self.expression(clause.iter, bound), bound | {variable}

    def _where(self, clause: ast.comprehension, bound: frozenset[str]) -> Run | None:
        if not clause.ifs:
            return None
        parts = [self.expression(condition, bound) for condition in clause.ifs]
        if len(parts) == 1:
            return parts[0]
        return lambda domain, environment: domain.conjunction([_later(p, domain, environment) for p in parts])

    def _call(self, tree: ast.Call, bound: frozenset[str]) -> Run:
        if not isinstance(tree.func, ast.Name):
            raise self.refuse(f"call of {ast.unparse(tree.func)}")
        name = tree.func.id
        if tree.keywords or any(isinstance(argument, ast.Starred) for argument in tree.args):
            raise self.refuse(f"keyword or starred argument ({ast.unparse(tree)})")
        if name in QUESTIONS:
            return self._question(tree)
        if name == "reduce":
            return self._reduce(tree, bound)
        if name in ("all", "any") and len(tree.args) == 1 and isinstance(tree.args[0], ast.GeneratorExp):
            return self._quantified(name, tree.args[0].generators, tree.args[0].elt, bound)
        arguments = [self.expression(argument, bound) for argument in tree.args]
        if name in FUNCTIONS:
            if not 1 <= len(arguments) <= FUNCTIONS[name]:
                raise RuleError(f"{name} takes {FUNCTIONS[name]} argument(s), not {len(arguments)}: {self.text!r}")
            return lambda domain, environment: domain.function(name, [a(domain, environment) for a in arguments])
        built_in = self._built_in(name, tree)
        if len(arguments) != len(built_in.parameters):
            raise RuleError(f"{name} takes {len(built_in.parameters)} argument(s), not {len(arguments)}: {self.text!r}")
        return lambda domain, environment: domain.built_in(built_in, [a(domain, environment) for a in arguments])

    def _question(self, tree: ast.Call) -> Run:
        if len(tree.args) != 1 or not isinstance(tree.args[0], ast.Name):
            raise self.refuse(f"{ast.unparse(tree)}; its argument is one name")
        question = ast.unparse(tree)
        self.free.add(question)
        return lambda domain, environment: environment[question]

    def _reduce(self, tree: ast.Call, bound: frozenset[str]) -> Run:
        if len(tree.args) != 3 or not isinstance(tree.args[0], ast.Name):
            raise self.refuse(f"{ast.unparse(tree)}; write reduce(function, list, start)")
        built_in = self._built_in(tree.args[0].id, tree)
        sequence, start = self.expression(tree.args[1], bound), self.expression(tree.args[2], bound)
        return lambda domain, environment: domain.reduce(
            built_in, sequence(domain, environment), start(domain, environment)
        )

    def _built_in(self, name: str, tree: ast.expr) -> BuiltIn:
        if name not in self.known:
            raise self.refuse(f"built-in function {name} ({ast.unparse(tree)}); it has {', '.join(sorted(self.known))}")
        self.used.setdefault(name)
        return self.known[name]


_CONSTRUCTS: Mapping[type[ast.expr], Callable[[_Parser, Any, frozenset[str]], Run]] = {
    ast.Constant: _Parser._constant,
    ast.Name: _Parser._name,
    ast.List: _Parser._listing,
    ast.Set: _Parser._listing,
    ast.Attribute: _Parser._field,
    ast.Subscript: _Parser._subscript,
    ast.BinOp: _Parser._arithmetic,
    ast.UnaryOp: _Parser._unary,
    ast.Compare: _Parser._comparison,
    ast.BoolOp: _Parser._connective,
    ast.IfExp: _Parser._choice,
    ast.ListComp: _Parser._comprehension,
    ast.GeneratorExp: _Parser._comprehension,
    ast.Call: _Parser._call,
}
"""The constructs of the language."""


def _later(function: Callable[..., Value], *arguments: Any) -> Thunk:
    return lambda: function(*arguments)


def _compared(tree: ast.expr, variable: str) -> list[ast.expr] | None:
    """What a condition compares a variable with by order or equality; None where it does anything else with it."""
    match tree:
        case ast.UnaryOp(op=ast.Not()):
            return _compared(tree.operand, variable)
        case ast.BoolOp():
            listed = [_compared(part, variable) for part in tree.values]
            return None if None in listed else [part for some in listed if some is not None for part in some]
        case ast.Compare(ops=signs) if not any(isinstance(sign, ast.In | ast.NotIn) for sign in signs):
            sides = (tree.left, *tree.comparators)
            others = [side for side in sides if not (isinstance(side, ast.Name) and side.id == variable)]
            return others if not any(_mentions(side, variable) for side in others) else None
    return None


def _mentions(tree: ast.expr, variable: str) -> bool:
    return any(isinstance(part, ast.Name) and part.id == variable for part in ast.walk(tree))


def _guarded(name: str, where: Run, body: Run) -> Run:
    def every(domain: Domain, environment: Environment) -> Value:
        return domain.disjunction(
            [lambda: domain.negation(where(domain, environment)), lambda: body(domain, environment)]
        )

    def some(domain: Domain, environment: Environment) -> Value:
        return domain.conjunction([lambda: where(domain, environment), lambda: body(domain, environment)])

    return every if name == "all" else some


def choose(condition: Run, then: Run, otherwise: Run) -> Run:
    """The closure of `then if condition else otherwise`."""
    return lambda domain, environment: domain.choice(
        condition(domain, environment),
        lambda: then(domain, environment),
        lambda: otherwise(domain, environment),
    )


@cache
def built_ins() -> Mapping[str, BuiltIn]:
    """The built-in functions of `builtins.py`, in the order of the file; each may call those above it."""
    known: dict[str, BuiltIn] = {}
    for name, function in vars(builtins).items():
        if isinstance(function, FunctionType) and function.__module__ == builtins.__name__:
            code = function.__code__
            definition = partial(_definition_of, name, dict(known))
            known[name] = BuiltIn(name, function, code.co_varnames[: code.co_argcount], definition)
    return MappingProxyType(known)


def _definition_of(name: str, known: Mapping[str, BuiltIn]) -> Definition:
    tree, source = _trees()[name]
    return _definition(tree, source, known)


@cache
def _trees() -> Mapping[str, tuple[ast.FunctionDef, str]]:
    """The definitions of `builtins.py`, each with its source text."""
    text = Path(builtins.__file__).read_text(encoding="utf-8")
    lines = text.splitlines()
    function_defs = [tree for tree in ast.parse(text).body if isinstance(tree, ast.FunctionDef)]
    return {tree.name: (tree, "\n".join(lines[tree.lineno - 1 : tree.end_lineno])) for tree in function_defs}


def read_built_in(
    tree: ast.FunctionDef, source: str, known: Mapping[str, BuiltIn], module: ModuleType = builtins
) -> BuiltIn:
    """The function of a module by its definition, which may call the `known` ones.

    Raises:
        RuleError: a statement or an expression is not of the rule language.
    """
    definition = _definition(tree, source, known)
    return BuiltIn(tree.name, getattr(module, tree.name), _parameters(tree), lambda: definition)


def _definition(tree: ast.FunctionDef, source: str, known: Mapping[str, BuiltIn]) -> Definition:
    parser = _Parser(source, known)
    statements = tree.body[1:] if ast.get_docstring(tree, clean=False) else tree.body
    return Definition(source, _read_body(parser, statements, frozenset(_parameters(tree))), tuple(parser.used))


def _parameters(tree: ast.FunctionDef) -> tuple[str, ...]:
    return tuple(argument.arg for argument in tree.args.args)


def with_called(used: Iterable[str]) -> set[str]:
    """The built-in functions with those they call, at any depth."""
    waiting, called = list(used), set[str]()
    while waiting:
        name = waiting.pop()
        if name not in called:
            called.add(name)
            waiting += built_ins()[name].built_ins
    return called


def _read_body(parser: _Parser, statements: list[ast.stmt], bound: frozenset[str]) -> Run:
    """The closure of a body: `if condition: …` and the rest, `return expression`, or `raise Undefined("reason")`."""
    match statements:
        case [ast.Return(value=ast.expr() as value)]:
            return parser.expression(value, bound)
        case [ast.Raise(exc=ast.Call(func=ast.Name(id="Undefined"), args=[ast.Constant(value=str() as reason)]))]:
            return lambda domain, environment: domain.undefined(reason)
        case [ast.If(test=test, body=body, orelse=[]), *rest] if rest:
            return choose(
                parser.expression(test, bound), _read_body(parser, body, bound), _read_body(parser, rest, bound)
            )
    raise parser.refuse(f"such statement: {ast.unparse(statements[0]) if statements else 'nothing'}")
