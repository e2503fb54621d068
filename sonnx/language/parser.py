"""The rule language: a small subset of Python expressions, parsed once and read in several ways.

A text such as ``all(s > 0 for s in strides)`` becomes closures over a *domain*.  The domain decides what a value is:
facts of a model, kinds, Z3 terms, formulas for print.  There is one walker, here; a reading is a class with the methods
of `domain.Domain`.  docs/rule-language.md describes the language for people who write rules.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

from sonnx.language import builtins as _words
from sonnx.language.domain import BuiltIn, Domain, Environment, Expression, RuleError, Run, Thunk, Value

FUNCTIONS = {"len": 1, "range": 2, "sum": 1, "product": 1, "max": 1, "min": 1, "all": 1, "any": 1, "distinct": 1,
             "stated": 1}  # fmt: skip
"""Functions every reading knows, with their number of arguments at most."""
ASKED = frozenset({"written", "given", "constant"})
"""Facts about a name rather than about its value: the environment answers them under the text of the call."""
FIELDS = frozenset(
    {"shape", "rank", "type", "values", "kind", "holds_sparse", "written", "value_when_absent", "connected"}
)

_SIGNS = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.FloorDiv: "//", ast.Mod: "%"}
_COMPARISONS = {ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=",
                ast.In: "in", ast.NotIn: "not in"}  # fmt: skip


@cache
def parse(text: str) -> Expression:
    """The expression a text states.

    Raises:
        RuleError: where the text is not of the language; the message names the construct.
    """
    try:
        tree = ast.parse(text.strip(), mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise RuleError(f"{text!r} is no expression: {getattr(error, 'msg', None) or error}") from error
    walker = _Walker(text, words())
    try:
        run = walker.walk(tree.body, frozenset())
        over = _ranged_over(walker, tree.body)
    except RecursionError:
        raise RuleError(f"{text[:40]!r}… is nested too deeply") from None
    return Expression(
        text, frozenset(walker.free), run, tree.body, tuple(walker.used), frozenset(walker.variables), over
    )


def operand(text: str) -> str:
    """A text as one side of a comparison: in brackets where it would bind less than that."""
    loose = isinstance(ast.parse(text, mode="eval").body, ast.IfExp | ast.BoolOp | ast.Compare)
    return f"({text})" if loose else text


def _ranged_over(walker: _Walker, tree: ast.expr) -> tuple[str, Run] | None:
    match tree:
        case ast.Call(func=ast.Name(id="all"), args=[ast.GeneratorExp(generators=[clause, *_])]):
            return ast.unparse(clause.iter), walker.walk(clause.iter, frozenset())
        case ast.UnaryOp(op=ast.Not(), operand=ast.Call(func=ast.Name(id="any"), args=[ast.GeneratorExp() as loop])):
            return ast.unparse(loop.generators[0].iter), walker.walk(loop.generators[0].iter, frozenset())
        case ast.BoolOp(op=ast.Or(), values=[first, *_]):
            return _ranged_over(walker, first)
    return None


class _Walker:
    """Turns the syntax tree of one text into closures and notes the free names."""

    def __init__(self, text: str, known: Mapping[str, BuiltIn]) -> None:
        self.text = text
        self.known = known
        self.free: set[str] = set()
        self.used: dict[str, None] = {}
        self.variables: set[str] = set()

    def refuse(self, construct: str) -> RuleError:
        return RuleError(f"the rule language has no {construct}: {self.text!r}")

    def walk(self, tree: ast.expr, bound: frozenset[str]) -> Run:
        method = getattr(self, f"walk_{type(tree).__name__}", None)
        if method is None:
            raise self.refuse(f"{type(tree).__name__} ({ast.unparse(tree)})")
        run: Run = method(tree, bound)
        return run

    def walk_Constant(self, tree: ast.Constant, bound: frozenset[str]) -> Run:  # noqa: N802
        value = tree.value
        if isinstance(value, bool) or not isinstance(value, int | float | str):
            raise self.refuse(f"constant {value!r}; it has numbers and strings")
        return lambda domain, environment: domain.constant(value)

    def walk_Name(self, tree: ast.Name, bound: frozenset[str]) -> Run:  # noqa: N802
        name = tree.id
        if name in FUNCTIONS or name in ASKED or name in self.known:
            raise self.refuse(f"function as a value ({name})")
        if name not in bound:
            self.free.add(name)
        return lambda domain, environment: environment[name]

    def walk_List(self, tree: ast.List | ast.Set, bound: frozenset[str]) -> Run:  # noqa: N802
        items = [self.walk(item, bound) for item in tree.elts]
        return lambda domain, environment: domain.listing([item(domain, environment) for item in items])

    walk_Set = walk_List  # noqa: N815

    def walk_Attribute(self, tree: ast.Attribute, bound: frozenset[str]) -> Run:  # noqa: N802
        name, value = tree.attr, self.walk(tree.value, bound)
        if name not in FIELDS:
            raise self.refuse(f"field .{name}; it has {', '.join(sorted(FIELDS))}")
        return lambda domain, environment: domain.field(value(domain, environment), name)

    def walk_Subscript(self, tree: ast.Subscript, bound: frozenset[str]) -> Run:  # noqa: N802
        sequence = self.walk(tree.value, bound)
        if not isinstance(tree.slice, ast.Slice):
            index = self.walk(tree.slice, bound)
            return lambda domain, environment: domain.item(sequence(domain, environment), index(domain, environment))
        if tree.slice.step is not None:
            raise self.refuse("slice with a step")
        start, stop = (edge and self.walk(edge, bound) for edge in (tree.slice.lower, tree.slice.upper))
        return lambda domain, environment: domain.part(
            sequence(domain, environment),
            start and start(domain, environment),
            stop and stop(domain, environment),
        )

    def walk_BinOp(self, tree: ast.BinOp, bound: frozenset[str]) -> Run:  # noqa: N802
        sign = _SIGNS.get(type(tree.op))
        if sign is None:
            raise self.refuse(f"operator {type(tree.op).__name__} ({ast.unparse(tree)}); it has + - * // %")
        left, right = self.walk(tree.left, bound), self.walk(tree.right, bound)
        return lambda domain, environment: domain.arithmetic(
            sign, left(domain, environment), right(domain, environment)
        )

    def walk_UnaryOp(self, tree: ast.UnaryOp, bound: frozenset[str]) -> Run:  # noqa: N802
        operand = self.walk(tree.operand, bound)
        if isinstance(tree.op, ast.Not):
            return lambda domain, environment: domain.negation(operand(domain, environment))
        if isinstance(tree.op, ast.USub):
            if isinstance(tree.operand, ast.Constant) and isinstance(tree.operand.value, int | float):
                number = -tree.operand.value
                return lambda domain, environment: domain.constant(number)
            return lambda domain, environment: domain.negative(operand(domain, environment))
        raise self.refuse(f"operator {type(tree.op).__name__} ({ast.unparse(tree)})")

    def walk_Compare(self, tree: ast.Compare, bound: frozenset[str]) -> Run:  # noqa: N802
        operands = [self.walk(operand, bound) for operand in (tree.left, *tree.comparators)]
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

    def walk_BoolOp(self, tree: ast.BoolOp, bound: frozenset[str]) -> Run:  # noqa: N802
        parts = [self.walk(part, bound) for part in tree.values]
        if isinstance(tree.op, ast.And):
            return lambda domain, environment: domain.conjunction([_later(p, domain, environment) for p in parts])
        return lambda domain, environment: domain.disjunction([_later(p, domain, environment) for p in parts])

    def walk_IfExp(self, tree: ast.IfExp, bound: frozenset[str]) -> Run:  # noqa: N802
        return choose(self.walk(tree.test, bound), self.walk(tree.body, bound), self.walk(tree.orelse, bound))

    def walk_ListComp(self, tree: ast.ListComp | ast.GeneratorExp, bound: frozenset[str]) -> Run:  # noqa: N802
        return self._loop(tree.generators, tree.elt, bound)

    walk_GeneratorExp = walk_ListComp  # noqa: N815

    def _loop(self, clauses: list[ast.comprehension], element: ast.expr, bound: frozenset[str]) -> Run:
        variable, sequence, inner_names = self._clause(clauses[0], bound)
        where = self._where(clauses[0], inner_names)
        deeper = len(clauses) > 1
        body = self._loop(clauses[1:], element, inner_names) if deeper else self.walk(element, inner_names)

        def loop(domain: Domain, environment: Environment) -> Value:
            condition = where and _bind(where, domain, environment, variable)
            result = domain.collect(
                variable, sequence(domain, environment), _bind(body, domain, environment, variable), condition
            )
            return domain.flatten(result) if deeper else result

        return loop

    def _quantified(self, name: str, clauses: list[ast.comprehension], element: ast.expr, bound: frozenset[str]) -> Run:
        """All and any stop early, and a filter becomes part of the body: an unknown filter leaves the rest decided."""
        variable, sequence, inner_names = self._clause(clauses[0], bound)
        where = self._where(clauses[0], inner_names)
        deeper = len(clauses) > 1
        body = self._quantified(name, clauses[1:], element, inner_names) if deeper else self.walk(element, inner_names)
        if where is not None:
            body = _guarded(name, where, body)
        return lambda domain, environment: domain.quantify(
            name, variable, sequence(domain, environment), _bind(body, domain, environment, variable)
        )

    def _clause(self, clause: ast.comprehension, bound: frozenset[str]) -> tuple[str, Run, frozenset[str]]:
        if not isinstance(clause.target, ast.Name) or clause.is_async:
            raise self.refuse(f"loop over several variables (for {ast.unparse(clause.target)})")
        variable = clause.target.id
        if variable in bound or variable in FUNCTIONS or variable in self.known:
            raise RuleError(f"the loop variable {variable} hides another name: {self.text!r}")
        self.variables.add(variable)
        return variable, self.walk(clause.iter, bound), bound | {variable}

    def _where(self, clause: ast.comprehension, bound: frozenset[str]) -> Run | None:
        if not clause.ifs:
            return None
        parts = [self.walk(condition, bound) for condition in clause.ifs]
        if len(parts) == 1:
            return parts[0]
        return lambda domain, environment: domain.conjunction([_later(p, domain, environment) for p in parts])

    def walk_Call(self, tree: ast.Call, bound: frozenset[str]) -> Run:  # noqa: N802
        if not isinstance(tree.func, ast.Name):
            raise self.refuse(f"call of {ast.unparse(tree.func)}")
        name = tree.func.id
        if tree.keywords or any(isinstance(argument, ast.Starred) for argument in tree.args):
            raise self.refuse(f"keyword or starred argument ({ast.unparse(tree)})")
        if name in ASKED:
            return self._asked(tree)
        if name == "reduce":
            return self._reduce(tree, bound)
        if name in ("all", "any") and len(tree.args) == 1 and isinstance(tree.args[0], ast.GeneratorExp):
            return self._quantified(name, tree.args[0].generators, tree.args[0].elt, bound)
        arguments = [self.walk(argument, bound) for argument in tree.args]
        if name in FUNCTIONS:
            if not 1 <= len(arguments) <= FUNCTIONS[name]:
                raise RuleError(f"{name} takes {FUNCTIONS[name]} argument(s), not {len(arguments)}: {self.text!r}")
            return lambda domain, environment: domain.function(name, [a(domain, environment) for a in arguments])
        word = self._word(name, tree)
        if len(arguments) != len(word.parameters):
            raise RuleError(f"{name} takes {len(word.parameters)} argument(s), not {len(arguments)}: {self.text!r}")
        return lambda domain, environment: domain.word(word, [a(domain, environment) for a in arguments])

    def _asked(self, tree: ast.Call) -> Run:
        if len(tree.args) != 1 or not isinstance(tree.args[0], ast.Name):
            raise self.refuse(f"{ast.unparse(tree)}; it asks this of one name")
        question = ast.unparse(tree)
        self.free.add(question)
        return lambda domain, environment: environment[question]

    def _reduce(self, tree: ast.Call, bound: frozenset[str]) -> Run:
        if len(tree.args) != 3 or not isinstance(tree.args[0], ast.Name):
            raise self.refuse(f"{ast.unparse(tree)}; write reduce(word, list, start)")
        word = self._word(tree.args[0].id, tree)
        sequence, start = self.walk(tree.args[1], bound), self.walk(tree.args[2], bound)
        return lambda domain, environment: domain.fold(word, sequence(domain, environment), start(domain, environment))

    def _word(self, name: str, tree: ast.expr) -> BuiltIn:
        if name not in self.known:
            raise self.refuse(f"word {name} ({ast.unparse(tree)}); it has {', '.join(sorted(self.known))}")
        self.used.setdefault(name)
        return self.known[name]


def _later(function: Callable[..., Value], *arguments: Any) -> Thunk:
    return lambda: function(*arguments)


def _bind(body: Run, domain: Domain, environment: Environment, variable: str) -> Callable[[Value], Value]:
    return lambda item: body(domain, {**environment, variable: item})


def _guarded(name: str, where: Run, body: Run) -> Run:
    def every(domain: Domain, environment: Environment) -> Value:
        return domain.disjunction(
            [lambda: domain.negation(where(domain, environment)), lambda: body(domain, environment)]
        )

    def some(domain: Domain, environment: Environment) -> Value:
        return domain.conjunction([lambda: where(domain, environment), lambda: body(domain, environment)])

    return every if name == "all" else some


def choose(condition: Run, then: Run, otherwise: Run) -> Run:
    """The run of `then if condition else otherwise`."""
    return lambda domain, environment: domain.choice(
        condition(domain, environment),
        lambda: then(domain, environment),
        lambda: otherwise(domain, environment),
    )


@cache
def words() -> Mapping[str, BuiltIn]:
    """The words of `words.py`, in the order of the file: a word may use those above it."""
    text = Path(_words.__file__).read_text(encoding="utf-8")
    lines = text.splitlines()
    known: dict[str, BuiltIn] = {}
    for tree in ast.parse(text).body:
        if isinstance(tree, ast.FunctionDef):  # its lines: ast.get_source_segment splits the whole file each time
            source = "\n".join(lines[tree.lineno - 1 : tree.end_lineno])
            known[tree.name] = _read_word(tree, source, known)
    return MappingProxyType(known)


def _read_word(tree: ast.FunctionDef, source: str, known: Mapping[str, BuiltIn]) -> BuiltIn:
    function = getattr(_words, tree.name)
    walker = _Walker(source, known)
    parameters = tuple(argument.arg for argument in tree.args.args)
    statements = tree.body[1:] if ast.get_docstring(tree) else tree.body
    body = _read_body(walker, statements, frozenset(parameters))
    return BuiltIn(tree.name, function, parameters, source, body, tuple(walker.used))


def with_inner(used: Iterable[str]) -> set[str]:
    """The words, and those their sources use, at any depth."""
    waiting, found = list(used), set[str]()
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting += words()[name].words
    return found


def _read_body(walker: _Walker, statements: list[ast.stmt], bound: frozenset[str]) -> Run:
    """`if condition: …` then the rest, `return expression`, `raise Undefined("reason")`: nothing else is a word."""
    match statements:
        case [ast.Return(value=ast.expr() as value)]:
            return walker.walk(value, bound)
        case [ast.Raise(exc=ast.Call(func=ast.Name(id="Undefined"), args=[ast.Constant(value=str() as reason)]))]:
            return lambda domain, environment: domain.undefined(reason)
        case [ast.If(test=test, body=body, orelse=[]), *rest] if rest:
            return choose(walker.walk(test, bound), _read_body(walker, body, bound), _read_body(walker, rest, bound))
    raise walker.refuse(f"such statement: {ast.unparse(statements[0]) if statements else 'nothing'}")
