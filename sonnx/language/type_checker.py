"""The reading that checks a rule when it is loaded: the kind of every part.

A kind is "int", "bool", "string", a `Many` of a kind, or a `Fields`.  A text that adds a shape to a number, compares a
string with an axis, or requires something that is no condition is refused with a sentence, before any model is read.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import get_args, get_origin, get_type_hints

from sonnx.language.domain import BuiltIn, Expression, RuleError, Thunk


@dataclass(frozen=True, slots=True)
class Many:
    """A list of one kind; of "nothing" where it is the empty list."""

    of: Kind


@dataclass(frozen=True, slots=True)
class Fields:
    """A record."""

    name: str
    fields: tuple[tuple[str, Kind], ...]


Kind = str | Many | Fields

NUMBERS = frozenset({"int", "float"})
"""Kinds that are compared and calculated with; a float is the real number it stands for, so nothing is rounded."""
SHAPE = Many("int")
TENSOR = Fields("tensor", (("shape", SHAPE), ("rank", "int"), ("type", "string"), ("values", Many("float"))))
VALUE = Fields("value", (*TENSOR.fields, ("kind", "string"), ("holds_sparse", "bool")))
PARAMETER = Fields("parameter", (("written", "bool"), ("value_when_absent", "bool")))
INPUT = Fields("input", (("connected", "bool"),))


def type_of(expression: Expression, names: Mapping[str, Kind]) -> Kind:
    """The kind of an expression whose free names have the given kinds.

    Raises:
        RuleError: where a name is not known or a part does not fit; the message quotes the text.
    """
    missing = sorted(expression.names - names.keys())
    if missing:
        raise RuleError(f"unknown name {', '.join(missing)}: {expression.text!r}")
    hidden = sorted(expression.variables & names.keys())
    if hidden:
        raise RuleError(f"the loop variable {', '.join(hidden)} hides another name: {expression.text!r}")
    try:
        found: Kind = expression.evaluate(TypeChecker(), names)
    except RuleError as error:
        raise RuleError(f"{error}: {expression.text!r}") from None
    return found


def show(kind: Kind) -> str:
    """A kind in words."""
    match kind:
        case Many(of="nothing"):
            return "the empty list"
        case Many(of=of):
            return f"list of {show(of)}"
        case Fields(name=name):
            return name
        case text:
            return str(text)


def _same(left: Kind, right: Kind) -> Kind:
    """The kind both are of.

    Raises:
        RuleError: where there is none.
    """
    if left == right or right == Many("nothing"):
        return left
    if left == Many("nothing"):
        return right
    if isinstance(left, Many) and isinstance(right, Many):
        return Many(_same(left.of, right.of))
    raise RuleError(f"{show(left)} and {show(right)} do not go together")


def _expect(kind: Kind, wanted: Kind, what: str) -> None:
    if kind != wanted:
        raise RuleError(f"{what} is of kind {show(kind)}, not {show(wanted)}")


def _element(kind: Kind, what: str) -> Kind:
    if not isinstance(kind, Many):
        raise RuleError(f"{what} is of kind {show(kind)}, not a list")
    return kind.of


class TypeChecker:
    """The domain of kinds, see `domain.Domain`."""

    def constant(self, value: int | float | str) -> Kind:
        return {str: "string", float: "float"}.get(type(value), "int")

    def listing(self, items: Sequence[Kind]) -> Kind:
        kind: Kind = "nothing"
        for item in items:
            kind = item if kind == "nothing" else _same(kind, item)
        return Many(kind)

    def field(self, value: Kind, name: str) -> Kind:
        if not isinstance(value, Fields) or name not in dict(value.fields):
            raise RuleError(f"{show(value)} has no field .{name}")
        return dict(value.fields)[name]

    def item(self, sequence: Kind, index: Kind) -> Kind:
        _expect(index, "int", "an index")
        return _element(sequence, "what is indexed")

    def part(self, sequence: Kind, start: Kind | None, stop: Kind | None) -> Kind:
        for edge in (start, stop):
            if edge is not None:
                _expect(edge, "int", "the edge of a slice")
        return Many(_element(sequence, "what is sliced"))

    def arithmetic(self, sign: str, left: Kind, right: Kind) -> Kind:
        if sign == "+" and isinstance(left, Many):
            return _same(left, right)
        if {left, right} == {"int", "float"}:
            left = right = "float"
        for side, kind in (("left", left), ("right", right)):
            if kind != "float":
                _expect(kind, "int", f"the {side} side of {sign!r}")
        return "int" if sign == "//" else left

    def negative(self, value: Kind) -> Kind:
        if value != "float":
            _expect(value, "int", "what '-' stands before")
        return value

    def compare(self, sign: str, left: Kind, right: Kind) -> Kind:
        if sign in ("in", "not in"):
            _same(left, _element(right, f"the right side of {sign!r}"))
        elif {left, right} <= NUMBERS:
            pass
        elif sign in ("==", "!="):
            if isinstance(_same(left, right), Fields) or left == "bool":
                raise RuleError(f"{show(left)} cannot be compared by {sign!r}")
        else:
            _expect(left, "int", f"the left side of {sign!r}")
            _expect(right, "int", f"the right side of {sign!r}")
        return "bool"

    def conjunction(self, parts: Sequence[Thunk]) -> Kind:
        for part in parts:
            _expect(part(), "bool", "a part of 'and' or 'or'")
        return "bool"

    disjunction = conjunction

    def negation(self, value: Kind) -> Kind:
        _expect(value, "bool", "what 'not' stands before")
        return "bool"

    def choice(self, condition: Kind, then: Thunk, otherwise: Thunk) -> Kind:
        _expect(condition, "bool", "the condition of 'if'")
        left: Kind = then()
        right: Kind = otherwise()
        if "undefined" in (left, right):
            return right if left == "undefined" else left
        return _same(left, right)

    def quantify(self, name: str, variable: str, sequence: Kind, body: Callable[[Kind], Kind]) -> Kind:
        _expect(body(_element(sequence, f"what {name!r} ranges over")), "bool", f"what {name!r} asks")
        return "bool"

    def collect(
        self, variable: str, sequence: Kind, body: Callable[[Kind], Kind], where: Callable[[Kind], Kind] | None
    ) -> Kind:
        element = _element(sequence, "what 'for' ranges over")
        if where is not None:
            _expect(where(element), "bool", "the condition of 'if'")
        return Many(body(element))

    def flatten(self, lists: Kind) -> Kind:
        return _element(lists, "a nested loop")

    def function(self, name: str, arguments: Sequence[Kind]) -> Kind:
        first = arguments[0]
        if name == "stated":
            return "bool"
        if name == "range":
            for argument in arguments:
                _expect(argument, "int", "an argument of range")
            return Many("int")
        element = _element(first, f"the argument of {name}")
        if name in ("all", "any"):
            _expect(element, "bool", f"an item of {name}")
            return "bool"
        if name in ("sum", "product", "max", "min") and element != "nothing":
            _expect(element, "int", f"an item of {name}")
        return "bool" if name == "distinct" else "int"

    def word(self, word: BuiltIn, arguments: Sequence[Kind]) -> Kind:
        wanted, result = signature(word)
        for parameter, kind, want in zip(word.parameters, arguments, wanted, strict=True):
            if _same(kind, want) != want:
                _expect(kind, want, f"{parameter} of {word.name}")
        return result

    def fold(self, word: BuiltIn, sequence: Kind, start: Kind) -> Kind:
        result = self.word(word, [start, _element(sequence, "what reduce ranges over")])
        return _same(result, start)

    def undefined(self, reason: str) -> Kind:
        return "undefined"


def signature(word: BuiltIn) -> tuple[list[Kind], Kind]:
    """The kinds of a word's parameters and of its value, from its annotations."""
    hints = get_type_hints(inspect.unwrap(word.function))
    result = hints.pop("return")
    return [_from_annotation(hints[name]) for name in word.parameters], _from_annotation(result)


def _from_annotation(annotation: object) -> Kind:
    if get_origin(annotation) is list:
        return Many(_from_annotation(get_args(annotation)[0]))
    names: dict[object, Kind] = {int: "int", bool: "bool", str: "string"}
    return names[annotation]
