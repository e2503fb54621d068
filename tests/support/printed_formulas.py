"""Reads a printed formula (sonnx/language/printer.py) back, and the tree of an expression to compare it with.

A tree is nested tuples: the construct, then its parts.  The reader knows the notation only, not the printer: what
binds how tightly is the usual order, quotients and products above sums, comparisons, not, and, or, and last a choice.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

Tree = Any

_TOKEN = re.compile(
    r'\s*("[^"]*"|fold \w+|is (?:written|connected|constant|stated)|, else|undefined \(.*\)|\.\.'
    r"|-?\d+(?:\.\d+)?(?:e[+-]?\d+)?|[A-Za-z_]\w*|\S)"
)
_COMPARED = {"=": "==", "≠": "!=", "≤": "<=", "≥": ">=", "<": "<", ">": ">", "∈": "in", "∉": "not in"}
_PRODUCTS = {"·": "*", "÷": "//", "mod": "%"}


def read_formula(text: str) -> Tree:
    """The tree of a printed formula."""
    reader = _Reader(_TOKEN.findall(text))
    tree = reader.expression()
    assert not reader.rest, f"{text!r}: not read: {reader.rest}"
    return tree


class _Reader:
    def __init__(self, tokens: list[str]) -> None:
        self.rest = tokens

    def next(self) -> str:
        return self.rest[0] if self.rest else ""

    def take(self, *wanted: str) -> str:
        """The next token if it is one of these, else ""."""
        return self.rest.pop(0) if self.next() in wanted else ""

    def expect(self, wanted: str) -> None:
        assert self.take(wanted), f"{wanted!r} expected before {self.rest[:8]}"

    def expression(self) -> Tree:
        then = self.connective("∨")
        if not self.take("if"):
            return then
        condition = self.connective("∨")
        self.expect(", else")
        return ("choice", condition, then, self.expression())

    def connective(self, sign: str) -> Tree:
        below: Callable[[], Tree] = (lambda: self.connective("∧")) if sign == "∨" else self.comparison
        parts = [below()]
        while self.take(sign):
            parts.append(below())
        return parts[0] if len(parts) == 1 else (sign, *parts)

    def comparison(self) -> Tree:
        if self.next() in ("∀", "∃"):
            return self.quantified(self.rest.pop(0))
        if self.take("¬"):
            return ("not", self.comparison())
        left = self.sum()
        if self.next().startswith("is "):
            return ("is", self.rest.pop(0).removeprefix("is "), left)
        sign = self.take(*_COMPARED)
        return (_COMPARED[sign], left, self.sum()) if sign else left

    def quantified(self, sign: str) -> Tree:
        variable = self.rest.pop(0)
        self.expect("∈")
        sequence = self.sum()
        self.expect(":")
        return (sign, variable, sequence, self.expression())

    def sum(self) -> Tree:
        left = self.product()
        while sign := self.take("+", "-"):
            left = (sign, left, self.product())
        return left

    def product(self) -> Tree:
        left = ("-", self.operand()) if self.take("−") else self.operand()
        while sign := self.take(*_PRODUCTS):
            left = (_PRODUCTS[sign], left, self.operand())
        return left

    def operand(self) -> Tree:
        tree = self.atom()
        while True:
            if self.take("."):
                tree = (".", tree, self.rest.pop(0))
            elif self.next() == "[" and re.match(r'(?!if$|mod$|is )[-\w"(−∀∃¬{]|\.\.', "".join(self.rest[1:2])):
                self.rest.pop(0)
                tree = self.index(tree)
            else:
                return tree

    def index(self, sequence: Tree) -> Tree:
        start = None if self.next() == ".." else self.expression()
        if self.take("]"):
            return ("item", sequence, start)
        self.expect("..")
        stop = None if self.next() == "[" else self.expression()
        self.expect("[")
        return ("part", sequence, start, stop)

    def atom(self) -> Tree:
        token = self.rest.pop(0)
        if token == "(":
            inner = self.expression()
            self.expect(")")
            return inner
        if token in "[{":
            return self.listing("]" if token == "[" else "}")
        if token.lstrip("-")[:1].isdigit() or token[0] == '"':
            return ("constant", token)
        if token.startswith("undefined"):
            return ("undefined",)
        assert re.fullmatch(r"(fold )?[A-Za-z_]\w*", token), f"{token!r} before {self.rest[:8]}"
        if token == "flat":
            return ("flat", self.operand())
        if self.take("("):
            return (token, *self.listing(")")[1:])
        return ("name", token)

    def listing(self, end: str) -> Tree:
        if self.take(end):
            return ("list",)
        items = [self.expression()]
        if self.take(".."):
            last = self.expression()
            self.expect("[")
            return ("range", items[0], last)
        if self.take("|"):
            variable = self.rest.pop(0)
            self.expect("∈")
            sequence = self.expression()
            where = self.expression() if self.take(",") else None
            self.expect("]")
            return ("collect", variable, sequence, items[0], where)
        while self.take(","):
            items.append(self.expression())
        self.expect(end)
        return ("list", *items)


class TreeDomain:
    """The domain of trees (sonnx/language/domain.py)."""

    def constant(self, value: Any) -> Any:
        return ("constant", f'"{value}"' if isinstance(value, str) else str(value))

    def listing(self, items: Any) -> Any:
        return ("list", *items)

    def field(self, value: Any, name: Any) -> Any:
        return (".", value, name)

    def item(self, sequence: Any, index: Any) -> Any:
        return ("item", sequence, index)

    def part(self, sequence: Any, start: Any, stop: Any) -> Any:
        return ("part", sequence, start, stop)

    def arithmetic(self, sign: Any, left: Any, right: Any) -> Any:
        return (sign, left, right)

    def negative(self, value: Any) -> Any:
        return ("-", value)

    def compare(self, sign: Any, left: Any, right: Any) -> Any:
        return (sign, left, right)

    def conjunction(self, parts: Any) -> Any:
        return ("∧", *(part() for part in parts))

    def disjunction(self, parts: Any) -> Any:
        return ("∨", *(part() for part in parts))

    def negation(self, value: Any) -> Any:
        return ("not", value)

    def choice(self, condition: Any, then: Any, otherwise: Any) -> Any:
        return ("choice", condition, then(), otherwise())

    def quantify(self, name: Any, variable: Any, sequence: Any, body: Any) -> Any:
        return ("∀" if name == "all" else "∃", variable, sequence, body(("name", variable)))

    def collect(self, variable: Any, sequence: Any, body: Any, where: Any) -> Any:
        bound = ("name", variable)
        return ("collect", variable, sequence, body(bound), where and where(bound))

    def flatten(self, lists: Any) -> Any:
        return ("flat", lists)

    def function(self, name: Any, arguments: Any) -> Any:
        if name == "range":
            return ("range", *((("constant", "0"), *arguments)[-2:]))
        return ("is", "stated", *arguments) if name == "stated" else (name, *arguments)

    def built_in(self, function: Any, arguments: Any) -> Any:
        return (function.name, *arguments)

    def reduce(self, function: Any, sequence: Any, start: Any) -> Any:
        return (f"fold {function.name}", sequence, start)

    def undefined(self, reason: Any) -> Any:
        return ("undefined",)


_QUESTIONS = {"written": "written", "given": "connected", "constant": "constant"}


def tree(expression: Any) -> Tree:
    """The tree of an expression as it is evaluated."""
    names: dict[str, Tree] = {}
    for name in expression.names:
        question, bracket, subject = name.partition("(")
        names[name] = ("is", _QUESTIONS[question], ("name", subject[:-1])) if bracket else ("name", name)
    return expression.evaluate(TreeDomain(), names)
