"""The explanation of a failure: which part of a rule does not hold, with the values it was evaluated on.

`X[1].shape[0] = 3, needs == X[0].shape[0] = 2`.  The explainer runs only after a rule failed or could not be decided.
It interprets the same expression on the same facts and keeps with every value its source text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from functools import cache
from typing import Any, NamedTuple

from sonnx.base.escaping import escape, listed, number_text, quote
from sonnx.language.domain import Body, BuiltIn, Expression, Thunk, input_key
from sonnx.language.evaluator import Evaluator, TensorFacts, Unknown, UnknownCause, different
from sonnx.language.steps import OutOfFuel

MAX_SHOWN_ITEMS = 8
"""Items of a list shown in a message."""


COMPARE, ADD, MULTIPLY, NEGATE, ATOM = 4, 5, 6, 7, 9
"""How tightly the parts of a source text bind, as in the rule language."""


class Explained(NamedTuple):
    """A value, its source text, and of a condition the reason why it does not hold."""

    value: Any
    text: str
    why: str = ""
    weak: bool = False
    """Whether the reason is only that a filter holds; messages leave it out."""
    strength: int = ATOM
    """How tightly the text binds; in parentheses where its place asks for more it evaluates to the value."""
    comparison: tuple[str, str] = ("", "")
    """Of a comparison the left side with its value, and what it needs."""
    items: tuple[Explained, ...] | None = None
    """The items of a list that is written out, each under its own name."""
    holds: str = ""
    """Of a condition that holds what it says, with the values; "" where the text says it."""


def explanation_of(expression: Expression, environment: Mapping[str, Any]) -> str:
    """Half a sentence: what the model states where the expression does not hold, "" where there is nothing to say."""
    explained = {name: _named(name, environment[name]) for name in expression.names if name in environment}
    try:
        reason: Explained = expression.evaluate(Explainer(), explained)
    except OutOfFuel:
        return ""
    if isinstance(reason.value, Unknown):
        return reason.value.reason
    return reason.why


_WORDS = {"written": "written", "given": "connected", "constant": "a constant of the model"}
"""What a fact about the presence of an input, output or parameter is in words."""


def _named(name: str, value: Any) -> Explained:
    """A name of the environment with its value; one of a fact about another name, such as written(axes), in words."""
    what, _, inner = name.partition("(")
    if what in _WORDS and inner.endswith(")"):
        words = f"{inner.removesuffix(')')} is", _WORDS[what]
        return Explained(value, name, f"{words[0]} not {words[1]}", holds=" ".join(words))
    return Explained(value, name.removesuffix(_OF_INPUT), f"{name} does not hold")


_OF_INPUT = input_key("")


def value_text(value: Any) -> str:
    """A fact as messages print it: lists in brackets, strings in double quotes, the name of a symbolic dimension."""
    if isinstance(value, Unknown):
        return quote(value.symbol) if value.symbol else "not known"
    if isinstance(value, tuple) and not isinstance(value, TensorFacts):
        items = [value_text(item) for item in value[:MAX_SHOWN_ITEMS]]
        more = f", … ({len(value)} in all)" if len(value) > MAX_SHOWN_ITEMS else ""
        return f"[{', '.join(items)}{more}]"
    if isinstance(value, str):
        return f'"{escape(value)}"'
    return number_text(value) if isinstance(value, int | Fraction) and type(value) is not bool else str(value)


def _with_value(part: Explained) -> str:
    shown, literal = value_text(part.value), part.text.startswith('["')
    return part.text if literal or part.text == shown else f"{part.text} = {shown}"


def _within(part: Explained, strength: int) -> str:
    """The text, in parentheses where it binds less tightly than its place asks for."""
    return part.text if part.strength >= strength else f"({part.text})"


def _alternatives(failed: Sequence[Explained]) -> str:
    """Why none of several conditions holds, one of which would suffice."""
    subjects = {explained.comparison[0] for explained in failed}
    if len(subjects) == 1 and "" not in subjects:
        return f"{subjects.pop()}, needs {_different(' or ', (explained.comparison[1] for explained in failed))}"
    return _different(", or else ", (explained.why for explained in failed if explained.why))


def _different(between: str, texts: Iterable[str]) -> str:
    return listed(list(dict.fromkeys(texts)), MAX_SHOWN_ITEMS, between)


class Explainer:
    """The domain of explained values, see `domain.Domain`; their facts come from the evaluator."""

    def __init__(self) -> None:
        self.evaluator = Evaluator()

    def constant(self, value: int | float | str) -> Explained:
        return _constant(type(value).__name__, value)

    def listing(self, items: Sequence[Explained]) -> Explained:
        text = f"[{', '.join(item.text for item in items)}]"
        return Explained(tuple(item.value for item in items), text, items=tuple(items))

    def field(self, value: Explained, name: str) -> Explained:
        return Explained(self.evaluator.field(value.value, name), f"{_within(value, ATOM)}.{name}")

    def item(self, sequence: Explained, index: Explained) -> Explained:
        text = f"{_within(sequence, ATOM)}[{value_text(index.value)}]"
        return Explained(self.evaluator.item(sequence.value, index.value), text)

    def part(self, sequence: Explained, start: Explained | None, stop: Explained | None) -> Explained:
        first, last = (start and start.value), (stop and stop.value)
        edges = f"{'' if first is None else value_text(first)}:{'' if last is None else value_text(last)}"
        return Explained(self.evaluator.part(sequence.value, first, last), f"{_within(sequence, ATOM)}[{edges}]")

    def arithmetic(self, sign: str, left: Explained, right: Explained) -> Explained:
        strength = ADD if sign in "+-" else MULTIPLY
        text = f"{_within(left, strength)} {sign} {_within(right, strength + (sign != '+'))}"
        return Explained(self.evaluator.arithmetic(sign, left.value, right.value), text, strength=strength)

    def negative(self, value: Explained) -> Explained:
        return Explained(self.evaluator.negative(value.value), f"-{_within(value, NEGATE)}", strength=NEGATE)

    def compare(self, sign: str, left: Explained, right: Explained) -> Explained:
        value = self.evaluator.compare(sign, left.value, right.value)
        text = f"{_within(left, ADD)} {sign} {_within(right, ADD)}"
        if sign == "==" and value is False:
            left, right = self._differing(left, right)
        subject, needs = _with_value(left), f"{sign} {_with_value(right)}"
        why, holds = f"{subject}, needs {needs}", f"{subject} {needs}"
        if sign == "in":
            holds = f"{_with_value(right)} has {_with_value(left)}"
        return Explained(value, text, why, strength=COMPARE, comparison=(subject, needs), holds=holds)

    def _differing(self, left: Explained, right: Explained) -> tuple[Explained, Explained]:
        """The parts in which two different lists differ, where not all is known: their lengths, else the first item."""
        lists = left.value, right.value
        if not all(isinstance(each, tuple) for each in lists) or not any(map(_has_unknown, lists)):
            return left, right
        if len(left.value) != len(right.value):
            return _length(left), Explained(len(right.value), str(len(right.value)))
        for index, pair in enumerate(zip(*lists, strict=True)):
            if self.evaluator.equal(*pair) is False:
                return Explained(pair[0], f"{_within(left, ATOM)}[{index}]"), Explained(pair[1], value_text(pair[1]))
        return left, right

    def conjunction(self, parts: Iterable[Thunk]) -> Explained:
        unknown, said = None, list[str]()
        for part in parts:
            explained: Explained = part()
            if explained.value is False:
                return explained
            if isinstance(explained.value, Unknown):
                unknown = unknown or explained
            said.append(explained.holds)
        return unknown or Explained(True, "", holds=_different(" and ", filter(None, said)))

    def disjunction(self, parts: Iterable[Thunk]) -> Explained:
        failed: list[Explained] = []
        for part in parts:
            explained: Explained = part()
            if explained.value is not False:
                return explained
            failed.append(explained)
        reported = [reason for reason in failed if not reason.weak] or failed
        comparison = reported[0].comparison if len(reported) == 1 else ("", "")
        return Explained(False, "", _alternatives(reported), comparison=comparison)

    def negation(self, value: Explained) -> Explained:
        why = value.holds or f"{value.text} holds"
        if value.comparison[1]:
            why = f"{value.comparison[0]}, must not be {value.comparison[1]}"
        return Explained(self.evaluator.negation(value.value), f"not {value.text}", why, weak=True, holds=value.why)

    def choice(self, condition: Explained, then: Thunk, otherwise: Thunk) -> Explained:
        if isinstance(condition.value, Unknown):
            return condition
        chosen: Explained = then() if condition.value else otherwise()
        return chosen

    def quantify(
        self, name: str, variable: str, sequence: Explained, body: Callable[[Explained], Explained]
    ) -> Explained:
        if isinstance(sequence.value, Unknown):
            return sequence
        assert isinstance(body, Body)  # noqa: S101  the parser makes no other
        edges = body.edges() if self.evaluator.has_classes(sequence.value) else None
        chosen: Sequence[int] = range(len(sequence.value))
        if name == "all":
            chosen = different(sequence.value)
            if edges is not None:
                chosen = self.evaluator.representatives(sequence.value, [edge.value for edge in edges])
            chosen = self._decisive(body, sequence.value, chosen)
        parts = (self._visit(body, sequence, index) for index in chosen)  # a list of them would take long
        return self.conjunction(parts) if name == "all" else self.disjunction(parts)

    def _decisive(self, body: Body, items: Sequence[Any], chosen: Sequence[int]) -> list[int]:
        """The first item for which a condition is false, else the first for which it is unknown, if there is one."""
        plain, unknown = self._without_texts(body), list[int]()
        for index in chosen:
            self.evaluator.spend(1)
            value = plain(items[index])
            if value is False:
                return [index]
            if isinstance(value, Unknown) and not unknown:
                unknown.append(index)
        return unknown

    def _without_texts(self, body: Body) -> Body:
        """The body of a loop for the evaluator, which needs no texts."""
        return Body(
            body.run, self.evaluator, {name: each.value for name, each in body.environment.items()}, body.variable
        )

    def _visit(self, body: Callable[[Explained], Explained], sequence: Explained, index: int) -> Thunk:
        def visit() -> Explained:
            self.evaluator.spend(1)
            return body(_item(sequence, index))

        return visit

    def collect(
        self,
        variable: str,
        sequence: Explained,
        body: Callable[[Explained], Explained],
        where: Callable[[Explained], Explained] | None,
    ) -> Explained:
        assert isinstance(body, Body) and (where is None or isinstance(where, Body))  # noqa: S101  the parser's
        chosen = where and self._without_texts(where)
        value = self.evaluator.collect(variable, sequence.value, self._without_texts(body), chosen)
        shown, text = body(Explained(Unknown(UnknownCause.NOT_STATED, ""), variable)).text, value_text(value)
        if where is None and shown.startswith(f"{variable}.") and shown[len(variable) + 1 :].isidentifier():
            text = f"{sequence.text}.{shown[len(variable) + 1 :]}"
        return Explained(value, text)

    def flatten(self, lists: Explained) -> Explained:
        return Explained(self.evaluator.flatten(lists.value), lists.text)

    def function(self, name: str, arguments: Sequence[Explained]) -> Explained:
        value = self.evaluator.function(name, [argument.value for argument in arguments])
        text = f"{name}({', '.join(argument.text for argument in arguments)})"
        if name == "stated" and value is False:
            return Explained(value, text, arguments[0].value.reason)
        return Explained(value, text, f"{_with_value(arguments[0])}" if name == "distinct" else f"{text} does not hold")

    def built_in(self, function: BuiltIn, arguments: Sequence[Explained]) -> Explained:
        value = self.evaluator.built_in(function, [argument.value for argument in arguments])
        text = f"{function.name}({', '.join(argument.text for argument in arguments)})"
        if value is not False:
            return Explained(value, text)
        return Explained(value, text, "; ".join(_with_value(argument) for argument in arguments))

    def reduce(self, function: BuiltIn, sequence: Explained, start: Explained) -> Explained:
        value = self.evaluator.reduce(function, sequence.value, start.value)
        return Explained(value, f"reduce({function.name}, {sequence.text}, {start.text})")

    def undefined(self, reason: str) -> Explained:
        return Explained(self.evaluator.undefined(reason), "undefined")


@cache
def _constant(kind: str, value: int | float | str) -> Explained:
    """A constant of a rule; numbers of different types may be equal."""
    return Explained(value, value_text(value))


def _has_unknown(value: Sequence[Any]) -> bool:
    return any(isinstance(item, Unknown) for item in value)


def _length(part: Explained) -> Explained:
    """The length of a list; that of a shape is a rank."""
    base, dot, _ = part.text.rpartition(".shape")
    return Explained(len(part.value), f"{base}.rank" if dot and part.text.endswith(".shape") else f"len({part.text})")


def _item(sequence: Explained, index: int) -> Explained:
    """An item with the text `sequence[i]`; an item of a range with its number."""
    if sequence.text.startswith("range("):
        return Explained(sequence.value[index], value_text(sequence.value[index]))
    if sequence.items is not None:
        return sequence.items[index]
    return Explained(sequence.value[index], f"{_within(sequence, ATOM)}[{index}]")
