"""The printer of the rule language: a rule as a formula, in plain text or MathML.

Both are made from one tree of marks, so that a page and a terminal show the same formula.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from html import escape
from typing import NamedTuple

from sonnx.language.domain import BuiltIn, Expression, Thunk


class Mark(NamedTuple):
    """A piece of a formula; `kind` is a MathML element (mi, mn, mo, mtext) or row; `strength` how tightly it binds."""

    kind: str
    text: str = ""
    parts: tuple[Mark, ...] = ()
    strength: int = 9


_SIGNS = {"==": "=", "!=": "≠", "<=": "≤", ">=": "≥", "in": "∈", "not in": "∉", "*": "·", "//": "÷", "%": "mod"}
_SPACED = frozenset(["+", "-", "·", "÷", "mod", "=", "≠", "<", "≤", ">", "≥", "∈", "∉", "∧", "∨"])
OR, AND, NOT, COMPARE, ADD, MULTIPLY, ATOM = 1, 2, 3, 4, 5, 6, 9


def formula(expression: Expression) -> str:
    """The expression as one line of text: `∀ s ∈ strides: s > 0`."""
    return _text(_tree(expression))


def mathml(expression: Expression) -> str:
    """The expression as a MathML element."""
    return f'<math xmlns="http://www.w3.org/1998/Math/MathML">{_mathml(_tree(expression))}</math>'


def _tree(expression: Expression) -> Mark:
    names = {name: _name(name) for name in expression.names}
    mark: Mark = expression.evaluate(Printer(), names)
    return mark


def _name(name: str) -> Mark:
    question, bracket, subject = name.partition("(")
    if not bracket:
        return Mark("mi", name)
    predicate = {"written": " is written", "given": " is connected", "constant": " is constant"}[question]
    return _row(Mark("mi", subject.rstrip(")")), Mark("mtext", predicate), strength=COMPARE)


def _row(*parts: Mark, strength: int = ATOM) -> Mark:
    return Mark("row", "", parts, strength)


def _sign(text: str) -> Mark:
    return Mark("mo", text)


def _within(mark: Mark, strength: int) -> Mark:
    """The mark, in parentheses where it binds less tightly than its place requires."""
    return mark if mark.strength >= strength else _row(_sign("("), mark, _sign(")"))


def _bracketed(marks: Sequence[Mark], left: str, right: str) -> Mark:
    parts: list[Mark] = [_sign(left)]
    for index, mark in enumerate(marks):
        parts += [_sign(","), mark] if index else [mark]
    return _row(*parts, _sign(right))


def _joined(sign: str, parts: Sequence[Mark], strength: int) -> Mark:
    row: list[Mark] = []
    for part in parts:
        row += ([_sign(sign)] if row else []) + [_within(part, strength + 1)]
    return _row(*row, strength=strength)


def _text(mark: Mark) -> str:
    if mark.kind == "row":
        return "".join(_text(part) for part in mark.parts)
    if mark.kind == "mo" and mark.text in _SPACED:
        return f" {mark.text} "
    return {",": ", ", ":": ": ", "|": " | "}.get(mark.text, mark.text)


def _mathml(mark: Mark) -> str:
    if mark.kind == "row":
        return f"<mrow>{''.join(_mathml(part) for part in mark.parts)}</mrow>"
    kept = mark.text.replace(" ", "\u00a0") if mark.kind == "mtext" else mark.text  # its ends would be trimmed
    return f"<{mark.kind}>{escape(kept)}</{mark.kind}>"


class Printer:
    """The domain of printed formulas, see `domain.Domain`."""

    def constant(self, value: int | float | str) -> Mark:
        return Mark("mtext", f'"{value}"') if isinstance(value, str) else Mark("mn", str(value))

    def listing(self, items: Sequence[Mark]) -> Mark:
        return _bracketed(items, "[", "]")

    def field(self, value: Mark, name: str) -> Mark:
        return _row(_within(value, ATOM), _sign("."), Mark("mi", name))

    def item(self, sequence: Mark, index: Mark) -> Mark:
        return _row(_within(sequence, ATOM), _sign("["), index, _sign("]"))

    def part(self, sequence: Mark, start: Mark | None, stop: Mark | None) -> Mark:
        none = Mark("mi", "")
        bounds = (start or none, _sign(".."), stop or none)
        return _row(_within(sequence, ATOM), _sign("["), *bounds, _sign("["))

    def arithmetic(self, sign: str, left: Mark, right: Mark) -> Mark:
        strength = ADD if sign in "+-" else MULTIPLY
        return _row(
            _within(left, strength), _sign(_SIGNS.get(sign, sign)), _within(right, strength + 1), strength=strength
        )

    def negative(self, value: Mark) -> Mark:
        return _row(Mark("mo", "−"), _within(value, ATOM), strength=MULTIPLY)

    def compare(self, sign: str, left: Mark, right: Mark) -> Mark:
        if sign in ("in", "not in") and right.parts and right.parts[0] == _sign("[") and right.parts[-1] == _sign("]"):
            right = _row(_sign("{"), *right.parts[1:-1], _sign("}"))  # a list whose members only are tested is a set
        return _row(_within(left, ADD), _sign(_SIGNS.get(sign, sign)), _within(right, ADD), strength=COMPARE)

    def conjunction(self, parts: Sequence[Thunk]) -> Mark:
        return _joined("∧", [part() for part in parts], AND)

    def disjunction(self, parts: Sequence[Thunk]) -> Mark:
        return _joined("∨", [part() for part in parts], OR)

    def negation(self, value: Mark) -> Mark:
        return _row(Mark("mo", "¬"), _within(value, ATOM), strength=NOT)

    def choice(self, condition: Mark, then: Thunk, otherwise: Thunk) -> Mark:
        first, asked = _within(then(), OR), _within(condition, OR)
        parts = (first, Mark("mtext", " if "), asked, Mark("mtext", ", else "), otherwise())
        return _row(*parts, strength=0)

    def quantify(self, name: str, variable: str, sequence: Mark, body: Callable[[Mark], Mark]) -> Mark:
        bound = Mark("mi", variable)
        sign = Mark("mo", "∀ " if name == "all" else "∃ ")
        return _row(sign, bound, _sign("∈"), _within(sequence, ADD), _sign(":"), body(bound), strength=0)

    def collect(
        self, variable: str, sequence: Mark, body: Callable[[Mark], Mark], where: Callable[[Mark], Mark] | None
    ) -> Mark:
        bound = Mark("mi", variable)
        row = [_sign("["), body(bound), _sign("|"), bound, _sign("∈"), sequence]
        row += [_sign(","), where(bound)] if where is not None else []
        return _row(*row, _sign("]"))

    def flatten(self, lists: Mark) -> Mark:
        return _row(Mark("mi", "flat"), _within(lists, ATOM))

    def function(self, name: str, arguments: Sequence[Mark]) -> Mark:
        if name == "range":
            first, last = ((Mark("mn", "0"), arguments[0]), tuple(arguments))[len(arguments) - 1]
            return _row(_sign("["), first, _sign(".."), last, _sign("["))
        if name == "stated":
            return _row(arguments[0], Mark("mtext", " is stated"), strength=COMPARE)
        return self._call(name, arguments)

    def built_in(self, function: BuiltIn, arguments: Sequence[Mark]) -> Mark:
        return self._call(function.name, arguments)

    def _call(self, name: str, arguments: Sequence[Mark]) -> Mark:
        return _row(Mark("mi", name), _bracketed(arguments, "(", ")"))

    def reduce(self, function: BuiltIn, sequence: Mark, start: Mark) -> Mark:
        return self._call(f"fold {function.name}", [sequence, start])

    def undefined(self, reason: str) -> Mark:
        return Mark("mtext", f"undefined ({reason})")
