"""The Coq interpretation of the rule language: an expression as a term of `proofs/coq/syntax.v`.

A call of a built-in function is a `Let` for each parameter around its body.  Inside a body every name has the name of
the function before it, so that no argument is captured: a function calls only those above it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction

from sonnx.language.domain import BuiltIn, Expression, Thunk

ALWAYS = "Always"
_ARITHMETIC = {"+": "Plus", "-": "Minus", "*": "Times", "//": "Quotient", "%": "Remainder"}
_FUNCTIONS = {"len": "Len", "sum": "Sum", "product": "Product", "max": "Largest", "min": "Smallest", "all": "All",
              "any": "Any", "distinct": "Distinct"}  # fmt: skip


def text(value: str) -> str:
    """A string of Coq."""
    return '"' + value.replace('"', '""') + '"'


def number(value: int) -> str:
    """An integer of Coq."""
    return f"({value})" if value < 0 else str(value)


def term(expression: Expression, definitions: Mapping[str, Expression]) -> str:
    """An expression as a term, below the definitions that it reads, directly or through others."""
    names = {
        name: f"(Name {text(name)})" for definition in (expression, *definitions.values()) for name in definition.names
    }
    printed: str = expression.evaluate(CoqPrinter(), names)
    for name in reversed(read_by(expression, definitions)):
        printed = f"(Let {text(name)} {definitions[name].evaluate(CoqPrinter(), names)} {printed})"
    return printed


def read_by(expression: Expression, definitions: Mapping[str, Expression]) -> list[str]:
    """The definitions that an expression reads, directly or through others, in their order."""
    waiting, used = list(expression.names), set[str]()
    while waiting:
        name = waiting.pop()
        if name in definitions and name not in used:
            used.add(name)
            waiting += definitions[name].names
    return [name for name in definitions if name in used]


class CoqPrinter:
    """The domain of Coq terms, see `domain.Domain`; `scope` stands before the names of loops."""

    def __init__(self, scope: str = "") -> None:
        self.scope = scope

    def constant(self, value: int | float | str) -> str:
        if isinstance(value, str):
            return f"(Text {text(value)})"
        if isinstance(value, float):
            exact = Fraction(value)
            return f"(Float (Qmake {number(exact.numerator)} {exact.denominator}))"
        return f"(Int {number(value)})"

    def listing(self, items: Sequence[str]) -> str:
        name = "Nil"
        for text in reversed(items):
            name = f"(Cons {text} {name})"
        return name

    def field(self, value: str, name: str) -> str:
        return f"(Field {value} {text(name)})"

    def item(self, sequence: str, index: str) -> str:
        return f"(Item {sequence} {index})"

    def part(self, sequence: str, start: str | None, stop: str | None) -> str:
        return f"(Part {sequence} {start or '(Int 0)'} {stop or f'(Apply Len {sequence})'})"

    def arithmetic(self, sign: str, left: str, right: str) -> str:
        return f"(Arithmetic {_ARITHMETIC[sign]} {left} {right})"

    def negative(self, value: str) -> str:
        return f"(Negative {value})"

    def compare(self, sign: str, left: str, right: str) -> str:
        match sign:
            case "==" | "!=":
                name = f"(Compare Equal {left} {right})"
            case "in" | "not in":
                name = f"(Compare Member {left} {right})"
            case "<" | "<=":
                name = f"(Compare {'Less' if sign == '<' else 'AtMost'} {left} {right})"
            case _:
                name = f"(Compare {'Less' if sign == '>' else 'AtMost'} {right} {left})"
        return f"(Not {name})" if sign in ("!=", "not in") else name

    def conjunction(self, parts: Sequence[Thunk]) -> str:
        return _joined("And", parts)

    def disjunction(self, parts: Sequence[Thunk]) -> str:
        return _joined("Or", parts)

    def negation(self, value: str) -> str:
        return f"(Not {value})"

    def choice(self, condition: str, then: Thunk, otherwise: Thunk) -> str:
        return f"(If {condition} {then()} {otherwise()})"

    def quantify(self, name: str, variable: str, sequence: str, body: Callable[[str], str]) -> str:
        kind, local = "ForAll" if name == "all" else "Exists", text(self.scope + variable)
        return f"({kind} {local} {sequence} {body(f'(Name {local})')})"

    def collect(
        self, variable: str, sequence: str, body: Callable[[str], str], where: Callable[[str], str] | None
    ) -> str:
        local = text(self.scope + variable)
        kept = ALWAYS if where is None else where(f"(Name {local})")
        return f"(Collect {local} {sequence} {kept} {body(f'(Name {local})')})"

    def flatten(self, lists: str) -> str:
        return f"(Flatten {lists})"

    def function(self, name: str, arguments: Sequence[str]) -> str:
        if name == "stated":
            return f"(Stated {arguments[0]})"
        if name == "range":
            first, last = arguments if len(arguments) > 1 else ("(Int 0)", *arguments)
            return f"(Range {first} {last})"
        return f"(Apply {_FUNCTIONS[name]} {arguments[0]})"

    def built_in(self, function: BuiltIn, arguments: Sequence[str]) -> str:
        text = _body(function)
        for name, argument in reversed(list(zip(_locals(function), arguments, strict=True))):
            text = f"(Let {name} {argument} {text})"
        return text

    def reduce(self, function: BuiltIn, sequence: str, start: str) -> str:
        total, item = _locals(function)
        return f"(Reduce {total} {item} {_body(function)} {sequence} {start})"

    def undefined(self, reason: str) -> str:
        return "Undefined"


def _locals(function: BuiltIn) -> list[str]:
    return [text(f"{function.name}.{name}") for name in function.parameters]


def _body(function: BuiltIn) -> str:
    text: str = function.interpret(CoqPrinter(f"{function.name}."), [f"(Name {name})" for name in _locals(function)])
    return text


def _joined(kind: str, parts: Sequence[Thunk]) -> str:
    texts: list[str] = [part() for part in parts]
    *earlier, joined = texts
    for text in reversed(earlier):
        joined = f"({kind} {text} {joined})"
    return joined
