"""The explanation of a failure: which part of a rule does not hold, with the values it was evaluated on.

`X[1].shape[0] = 3, needs == X[0].shape[0] = 2`.  The explainer runs only after a rule failed or could not be decided.
It interprets the same expression on the same facts and keeps with every value its source text.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

from sonnx.base.escaping import escape, number, quote
from sonnx.language.domain import BuiltIn, Expression, Thunk
from sonnx.language.evaluator import TOO_LONG, Cause, Evaluator, OutOfFuel, TensorFacts, Unknown

MAX_SHOWN_ITEMS = 8
"""Items of a list shown in a message."""


class Explained(NamedTuple):
    """A value, its source text, and of a condition the reason why it does not hold."""

    value: Any
    text: str
    why: str = ""
    weak: bool = False
    """Whether the reason is only that a filter holds; messages leave it out."""


def explain(expression: Expression, environment: Mapping[str, Any]) -> str:
    """Half a sentence: what the model states where the expression does not hold, "" where there is nothing to say."""
    explained = {name: Explained(value, name, f"{name} does not hold") for name, value in environment.items()}
    try:
        found: Explained = expression.evaluate(Explainer(), explained)
    except OutOfFuel:
        return TOO_LONG
    if isinstance(found.value, Unknown):
        return found.value.reason
    return found.why


def show(value: Any) -> str:
    """A fact as messages print it: lists in brackets, strings in double quotes, the name of a symbolic dimension."""
    if isinstance(value, Unknown):
        return quote(value.symbol) if value.symbol else "not known"
    if isinstance(value, tuple) and not isinstance(value, TensorFacts):
        items = [show(item) for item in value[:MAX_SHOWN_ITEMS]]
        more = f", … ({len(value)} in all)" if len(value) > MAX_SHOWN_ITEMS else ""
        return f"[{', '.join(items)}{more}]"
    if isinstance(value, str):
        return f'"{escape(value)}"'
    return number(value) if isinstance(value, int | Fraction) and type(value) is not bool else str(value)


def _with_value(part: Explained) -> str:
    shown, literal = show(part.value), part.text.startswith('["')
    return part.text if literal or part.text == shown else f"{part.text} = {shown}"


def _factor(text: str, sign: str) -> str:
    """The text, in parentheses where it is a sum or difference and the sign binds more tightly."""
    return f"({text})" if sign not in "+-" and (" + " in text or " - " in text) else text


class Explainer:
    """The domain of explained values, see `domain.Domain`; their facts come from the evaluator."""

    def __init__(self) -> None:
        self.evaluator = Evaluator()

    def constant(self, value: int | float | str) -> Explained:
        return Explained(value, show(value))

    def listing(self, items: Sequence[Explained]) -> Explained:
        return Explained(tuple(item.value for item in items), f"[{', '.join(item.text for item in items)}]")

    def field(self, value: Explained, name: str) -> Explained:
        return Explained(self.evaluator.field(value.value, name), f"{value.text}.{name}")

    def item(self, sequence: Explained, index: Explained) -> Explained:
        return Explained(self.evaluator.item(sequence.value, index.value), f"{sequence.text}[{show(index.value)}]")

    def part(self, sequence: Explained, start: Explained | None, stop: Explained | None) -> Explained:
        first, last = (start and start.value), (stop and stop.value)
        edges = f"{'' if first is None else show(first)}:{'' if last is None else show(last)}"
        return Explained(self.evaluator.part(sequence.value, first, last), f"{sequence.text}[{edges}]")

    def arithmetic(self, sign: str, left: Explained, right: Explained) -> Explained:
        text = f"{_factor(left.text, sign)} {sign} {_factor(right.text, sign)}"
        return Explained(self.evaluator.arithmetic(sign, left.value, right.value), text)

    def negative(self, value: Explained) -> Explained:
        return Explained(self.evaluator.negative(value.value), f"-{value.text}")

    def compare(self, sign: str, left: Explained, right: Explained) -> Explained:
        value = self.evaluator.compare(sign, left.value, right.value)
        return Explained(
            value, f"{left.text} {sign} {right.text}", f"{_with_value(left)}, needs {sign} {_with_value(right)}"
        )

    def conjunction(self, parts: Sequence[Thunk]) -> Explained:
        unknown: Explained | None = None
        for part in parts:
            explained: Explained = part()
            if explained.value is False:
                return explained
            if isinstance(explained.value, Unknown):
                unknown = unknown or explained
        return unknown or Explained(True, "")

    def disjunction(self, parts: Sequence[Thunk]) -> Explained:
        failed: list[Explained] = []
        for part in parts:
            explained: Explained = part()
            if explained.value is not False:
                return explained
            failed.append(explained)
        reported = [each for each in failed if not each.weak] or failed
        return Explained(False, "", " and ".join(dict.fromkeys(each.why for each in reported if each.why)))

    def negation(self, value: Explained) -> Explained:
        why = value.why.replace(", needs ", ", must not be ") if ", needs " in value.why else f"{value.text} holds"
        return Explained(self.evaluator.negation(value.value), f"not {value.text}", why, weak=True)

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
        parts: list[Thunk] = [_apply(body, item) for item in _items(sequence)]
        return self.conjunction(parts) if name == "all" else self.disjunction(parts)

    def collect(
        self,
        variable: str,
        sequence: Explained,
        body: Callable[[Explained], Explained],
        where: Callable[[Explained], Explained] | None,
    ) -> Explained:
        value = self.evaluator.collect(
            variable,
            sequence.value,
            lambda item: body(Explained(item, variable)).value,
            where and (lambda item: where(Explained(item, variable)).value),
        )
        shown, text = body(Explained(Unknown(Cause.NOT_STATED, ""), variable)).text, show(value)
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

    def word(self, word: BuiltIn, arguments: Sequence[Explained]) -> Explained:
        value = self.evaluator.word(word, [argument.value for argument in arguments])
        text = f"{word.name}({', '.join(argument.text for argument in arguments)})"
        if value is not False:
            return Explained(value, text)
        return Explained(value, text, "; ".join(_with_value(argument) for argument in arguments))

    def fold(self, word: BuiltIn, sequence: Explained, start: Explained) -> Explained:
        value = self.evaluator.fold(word, sequence.value, start.value)
        return Explained(value, f"reduce({word.name}, {sequence.text}, {start.text})")

    def undefined(self, reason: str) -> Explained:
        return Explained(self.evaluator.undefined(reason), "undefined")


def _apply(body: Callable[[Explained], Explained], item: Explained) -> Thunk:
    return lambda: body(item)


def _items(sequence: Explained) -> list[Explained]:
    """Each item with the text `sequence[i]`; an item of a range with its number."""
    if sequence.text.startswith("range("):
        return [Explained(item, show(item)) for item in sequence.value]
    return [Explained(item, f"{sequence.text}[{index}]") for index, item in enumerate(sequence.value)]
