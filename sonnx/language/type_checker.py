"""The type checker of the rule language: the type of every part of a rule, found when the rule is loaded.

A type is "int", "bool", "string", "float", a `ListType`, or a `RecordType`.  An expression that adds a shape to a
number, compares a string with an axis, or requires something other than a condition is refused before a model is read.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import get_args, get_origin, get_type_hints

from msgspec import Struct

from sonnx.language.domain import BuiltIn, Expression, RuleError, Thunk


class ListType(Struct, frozen=True):
    """The type of a list; its items have the type `of`, which is "nothing" for the empty list."""

    of: RuleType


class RecordType(Struct, frozen=True):
    """The type of a record, with the type of each field."""

    name: str
    fields: tuple[tuple[str, RuleType], ...]


RuleType = str | ListType | RecordType

NUMBERS = frozenset({"int", "float"})
"""Types with an order and arithmetic; a float is the real number it stands for, so nothing is rounded."""
SHAPE = ListType("int")
TENSOR = RecordType("tensor", (("shape", SHAPE), ("rank", "int"), ("type", "string"), ("values", ListType("float"))))
VALUE = RecordType("value", (*TENSOR.fields, ("kind", "string"), ("holds_sparse", "bool")))
PARAMETER = RecordType("parameter", (("written", "bool"), ("value_when_absent", "bool")))
INPUT = RecordType("input", (("connected", "bool"),))
OPERAND = RecordType("operand", (("kind", "string"),))


def type_of(expression: Expression, names: Mapping[str, RuleType]) -> RuleType:
    """The type of an expression whose free names have the given types.

    Raises:
        RuleError: a name is unknown, or the types of two parts do not fit; the message quotes the expression.
    """
    missing = sorted(expression.names - names.keys())
    if missing:
        raise RuleError(f"unknown name {', '.join(missing)}: {expression.text!r}")
    hidden = sorted(expression.variables & names.keys())
    if hidden:
        raise RuleError(f"the loop variable {', '.join(hidden)} hides another name: {expression.text!r}")
    try:
        expression_type: RuleType = expression.evaluate(TypeChecker(), names)
    except RuleError as error:
        raise RuleError(f"{error}: {expression.text!r}") from None
    return expression_type


def show_type(rule_type: RuleType) -> str:
    """The name of a type in messages."""
    match rule_type:
        case ListType(of="nothing"):
            return "the empty list"
        case ListType(of=of):
            return f"list of {show_type(of)}"
        case RecordType(name=name):
            return name
        case text:
            return str(text)


def _same(left: RuleType, right: RuleType) -> RuleType:
    """The common type of two parts.

    Raises:
        RuleError: the types differ.
    """
    if left == right or right == ListType("nothing"):
        return left
    if left == ListType("nothing"):
        return right
    if isinstance(left, ListType) and isinstance(right, ListType):
        return ListType(_same(left.of, right.of))
    raise RuleError(f"{show_type(left)} and {show_type(right)} are different types")


def _expect(actual: RuleType, wanted: RuleType, what: str) -> None:
    if actual != wanted:
        raise RuleError(f"{what} has the type {show_type(actual)}, not {show_type(wanted)}")


def _element(listed: RuleType, what: str) -> RuleType:
    if not isinstance(listed, ListType):
        raise RuleError(f"{what} has the type {show_type(listed)}, not list")
    return listed.of


class TypeChecker:
    """The domain of types, see `domain.Domain`."""

    def constant(self, value: int | float | str) -> RuleType:
        return {str: "string", float: "float"}.get(type(value), "int")

    def listing(self, items: Sequence[RuleType]) -> RuleType:
        common: RuleType = "nothing"
        for item in items:
            common = item if common == "nothing" else _same(common, item)
        return ListType(common)

    def field(self, value: RuleType, name: str) -> RuleType:
        if not isinstance(value, RecordType) or name not in dict(value.fields):
            raise RuleError(f"{show_type(value)} has no field .{name}")
        return dict(value.fields)[name]

    def item(self, sequence: RuleType, index: RuleType) -> RuleType:
        _expect(index, "int", "an index")
        return _element(sequence, "what is indexed")

    def part(self, sequence: RuleType, start: RuleType | None, stop: RuleType | None) -> RuleType:
        for edge in (start, stop):
            if edge is not None:
                _expect(edge, "int", "the edge of a slice")
        return ListType(_element(sequence, "what is sliced"))

    def arithmetic(self, sign: str, left: RuleType, right: RuleType) -> RuleType:
        if sign == "+" and isinstance(left, ListType):
            return _same(left, right)
        if {left, right} == {"int", "float"}:
            left = right = "float"
        for side, name in (("left", left), ("right", right)):
            if name != "float":
                _expect(name, "int", f"the {side} side of {sign!r}")
        return "int" if sign == "//" else left

    def negative(self, value: RuleType) -> RuleType:
        if value != "float":
            _expect(value, "int", "the operand of '-'")
        return value

    def compare(self, sign: str, left: RuleType, right: RuleType) -> RuleType:
        if sign in ("in", "not in"):
            _same(left, _element(right, f"the right side of {sign!r}"))
        elif {left, right} <= NUMBERS:
            pass
        elif sign in ("==", "!="):
            if isinstance(_same(left, right), RecordType) or left == "bool":
                raise RuleError(f"{show_type(left)} cannot be compared by {sign!r}")
        else:
            _expect(left, "int", f"the left side of {sign!r}")
            _expect(right, "int", f"the right side of {sign!r}")
        return "bool"

    def conjunction(self, parts: Sequence[Thunk]) -> RuleType:
        for part in parts:
            _expect(part(), "bool", "a part of 'and' or 'or'")
        return "bool"

    disjunction = conjunction

    def negation(self, value: RuleType) -> RuleType:
        _expect(value, "bool", "the operand of 'not'")
        return "bool"

    def choice(self, condition: RuleType, then: Thunk, otherwise: Thunk) -> RuleType:
        _expect(condition, "bool", "the condition of 'if'")
        left: RuleType = then()
        right: RuleType = otherwise()
        if "undefined" in (left, right):
            return right if left == "undefined" else left
        return _same(left, right)

    def quantify(self, name: str, variable: str, sequence: RuleType, body: Callable[[RuleType], RuleType]) -> RuleType:
        _expect(body(_element(sequence, f"what {name!r} ranges over")), "bool", f"the condition of {name!r}")
        return "bool"

    def collect(
        self,
        variable: str,
        sequence: RuleType,
        body: Callable[[RuleType], RuleType],
        where: Callable[[RuleType], RuleType] | None,
    ) -> RuleType:
        element = _element(sequence, "what 'for' ranges over")
        if where is not None:
            _expect(where(element), "bool", "the condition of 'if'")
        return ListType(body(element))

    def flatten(self, lists: RuleType) -> RuleType:
        return _element(lists, "a nested loop")

    def function(self, name: str, arguments: Sequence[RuleType]) -> RuleType:
        first = arguments[0]
        if name == "stated":
            return "bool"
        if name == "range":
            for argument in arguments:
                _expect(argument, "int", "an argument of range")
            return ListType("int")
        element = _element(first, f"the argument of {name}")
        if name in ("all", "any"):
            _expect(element, "bool", f"an item of {name}")
            return "bool"
        if name in ("sum", "product", "max", "min") and element != "nothing":
            _expect(element, "int", f"an item of {name}")
        return "bool" if name == "distinct" else "int"

    def built_in(self, function: BuiltIn, arguments: Sequence[RuleType]) -> RuleType:
        wanted, result = built_in_types(function)
        for parameter, argument, want in zip(function.parameters, arguments, wanted, strict=True):
            if _same(argument, want) != want:
                _expect(argument, want, f"{parameter} of {function.name}")
        return result

    def reduce(self, function: BuiltIn, sequence: RuleType, start: RuleType) -> RuleType:
        result = self.built_in(function, [start, _element(sequence, "what reduce ranges over")])
        return _same(result, start)

    def undefined(self, reason: str) -> RuleType:
        return "undefined"


def built_in_types(function: BuiltIn) -> tuple[list[RuleType], RuleType]:
    """The types of the parameters of a built-in function and of its value, from its annotations."""
    hints = get_type_hints(inspect.unwrap(function.function))
    result = hints.pop("return")
    return [_from_annotation(hints[name]) for name in function.parameters], _from_annotation(result)


def _from_annotation(annotation: object) -> RuleType:
    if get_origin(annotation) is list:
        return ListType(_from_annotation(get_args(annotation)[0]))
    names: dict[object, RuleType] = {int: "int", bool: "bool", str: "string"}
    return names[annotation]
