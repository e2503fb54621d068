"""Expressions prepared for facts that are all known: closures without a third truth value.

The facts of most calls are known.  A prepared expression evaluates them with the operations of Python; where a fact is
not known, is no whole number, or a value is not defined, it raises `NotKnown`, and the evaluator decides.  Both visit
the same elements and count them alike, but of a chain of comparisons the values in the middle are evaluated twice.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from operator import add, floordiv, ge, gt, le, lt, mod, mul, ne, sub
from operator import eq as equal
from typing import Any

from sonnx.language.domain import Body, BuiltIn, Expression, Thunk
from sonnx.language.evaluator import FUEL, Evaluator, TensorFacts, Unknown, different, evaluate
from sonnx.language.known_numbers import KnownNumbers
from sonnx.language.steps import OutOfFuel

Known = Callable[[Mapping[str, Any], Evaluator], Any]
"""What a prepared part computes from the facts; the evaluator counts the elements visited."""


class NotKnown(Exception):
    """The facts are not of the plain sort; nothing is decided."""


ATTEMPTS = 4
"""Evaluations after which an expression is prepared, and failed attempts after which it is left to the evaluator."""


class Repeated:
    """An expression that is evaluated for many calls: after the first few it is prepared."""

    __slots__ = ("_known", "_left", "expression")

    def __init__(self, expression: Expression) -> None:
        self.expression, self._left = expression, ATTEMPTS
        self._known: Known | None = None

    def value(self, names: Mapping[str, Any]) -> Any:
        """As `evaluate`."""
        evaluator = Evaluator()
        if self._known is not None:
            steps = evaluator.of_model
            before = 0 if steps is None else steps.left
            try:
                found = self._known(names, evaluator)
            except (NotKnown, OutOfFuel):
                self._left -= 1
                if self._left < 0:
                    self._known = None
                evaluator.fuel = FUEL
                if steps is not None:
                    steps.left = before
            else:
                self._left = min(self._left + 1, 4 * ATTEMPTS)
                return found
        elif self._left > 0:
            self._left -= 1
            if self._left == 0:
                self._known, self._left = prepared(self.expression), ATTEMPTS
        return evaluate(self.expression, names, evaluator)


def prepared(expression: Expression) -> Known:
    """The expression as a closure."""
    found: Known = expression.evaluate(Preparation(), {name: _name(name) for name in expression.names})
    return found


def _name(name: str) -> Known:
    def named(names: Mapping[str, Any], evaluator: Evaluator) -> Any:
        value = names[name]
        return value if type(value) in _PLAIN else _checked(value)

    return named


def _item(variable: str) -> Known:
    """The variable of a loop: the lists of known facts hold known facts."""
    return lambda names, evaluator: names[variable]


_PLAIN = frozenset({int, str, bool, TensorFacts})


def _checked(value: Any) -> Any:
    """A value in which everything is known and no number has a fraction.

    Raises:
        NotKnown: it is another one.
    """
    kind = type(value)
    if kind is KnownNumbers and value.whole:
        return value
    if kind is not tuple:
        raise NotKnown
    for item in value:
        if type(item) not in _PLAIN:
            _checked(item)
    return value


class Preparation:
    """The domain of closures, see `domain.Domain`."""

    def constant(self, value: int | float | str) -> Known:
        return lambda names, evaluator: value

    def listing(self, items: Sequence[Known]) -> Known:
        return lambda names, evaluator: tuple([item(names, evaluator) for item in items])

    def field(self, value: Known, name: str) -> Known:
        def shape(names: Mapping[str, Any], evaluator: Evaluator) -> Any:
            found = _tensor(value(names, evaluator)).shape
            return found if type(found) is KnownNumbers else _checked(found)

        def other(names: Mapping[str, Any], evaluator: Evaluator) -> Any:
            found = evaluator.field(_tensor(value(names, evaluator)), name)
            return found if type(found) in _PLAIN else _checked(found)

        return shape if name == "shape" else other

    def item(self, sequence: Known, index: Known) -> Known:
        def found(names: Mapping[str, Any], evaluator: Evaluator) -> Any:
            items, at = sequence(names, evaluator), index(names, evaluator)
            if type(at) is int and 0 <= at < len(items):
                return items[at]
            raise NotKnown

        return found

    def part(self, sequence: Known, start: Known | None, stop: Known | None) -> Known:
        def found(names: Mapping[str, Any], evaluator: Evaluator) -> Any:
            items = sequence(names, evaluator)
            first = 0 if start is None else start(names, evaluator)
            last = len(items) if stop is None else stop(names, evaluator)
            if type(first) is type(last) is int and 0 <= first <= last <= len(items):
                return items[first:last]
            raise NotKnown

        return found

    def arithmetic(self, sign: str, left: Known, right: Known) -> Known:
        function, divides = _ARITHMETIC[sign], sign in ("//", "%")

        def found(names: Mapping[str, Any], evaluator: Evaluator) -> Any:
            first, second = left(names, evaluator), right(names, evaluator)
            if type(first) is type(second) is int and not (divides and second <= 0):
                return function(first, second)
            raise NotKnown

        return found

    def negative(self, value: Known) -> Known:
        return lambda names, evaluator: -value(names, evaluator)

    def compare(self, sign: str, left: Known, right: Known) -> Known:
        if sign in ("in", "not in"):
            return self._contains(left, right, sign == "in")
        function, equality = _COMPARISONS[sign], sign in ("==", "!=")

        def found(names: Mapping[str, Any], evaluator: Evaluator) -> Any:
            first, second = left(names, evaluator), right(names, evaluator)
            if equality and isinstance(first, tuple):
                return evaluator.equal(first, second) is (sign == "==")
            return function(first, second)

        return found

    def _contains(self, value: Known, sequence: Known, wanted: bool) -> Known:
        def found(names: Mapping[str, Any], evaluator: Evaluator) -> Any:
            each = value(names, evaluator)
            return evaluator.contains(sequence(names, evaluator), each) is wanted

        return found

    def conjunction(self, parts: Sequence[Thunk]) -> Known:
        return self._until(False, [part() for part in parts])

    def disjunction(self, parts: Sequence[Thunk]) -> Known:
        return self._until(True, [part() for part in parts])

    def _until(self, end: bool, parts: Sequence[Known]) -> Known:
        def found(names: Mapping[str, Any], evaluator: Evaluator) -> Any:
            for part in parts:
                if part(names, evaluator) is end:
                    return end
            return not end

        return found

    def negation(self, value: Known) -> Known:
        return lambda names, evaluator: not value(names, evaluator)

    def choice(self, condition: Known, then: Thunk, otherwise: Thunk) -> Known:
        chosen, other = then(), otherwise()
        return lambda names, evaluator: (chosen if condition(names, evaluator) else other)(names, evaluator)

    def quantify(self, name: str, variable: str, sequence: Known, body: Callable[[Known], Known]) -> Known:
        each, end = body(_item(variable)), name == "any"
        edges = body.edges() if isinstance(body, Body) else None

        def found(names: Mapping[str, Any], evaluator: Evaluator) -> Any:
            items = sequence(names, evaluator)
            if edges is not None and evaluator.has_classes(items):
                chosen = evaluator.representatives(items, [edge(names, evaluator) for edge in edges])
                items = [items[index] for index in chosen]
            elif len(items) > len(chosen := different(items)):
                items = [items[index] for index in chosen]
            evaluator.spend(len(items))
            inner = {**names}
            for item in items:
                inner[variable] = item
                if each(inner, evaluator) is end:
                    return end
            return not end

        return found

    def collect(
        self, variable: str, sequence: Known, body: Callable[[Known], Known], where: Callable[[Known], Known] | None
    ) -> Known:
        each, wanted = body(_item(variable)), where and where(_item(variable))

        def found(names: Mapping[str, Any], evaluator: Evaluator) -> tuple[Any, ...]:
            items, inner, collected = sequence(names, evaluator), {**names}, []
            evaluator.spend(len(items))
            for item in items:
                inner[variable] = item
                if wanted is None or wanted(inner, evaluator):
                    collected.append(each(inner, evaluator))
            return tuple(collected)

        return found

    def flatten(self, lists: Known) -> Known:
        def found(names: Mapping[str, Any], evaluator: Evaluator) -> Any:
            return evaluator.flatten(lists(names, evaluator))

        return found

    def function(self, name: str, arguments: Sequence[Known]) -> Known:
        def found(names: Mapping[str, Any], evaluator: Evaluator) -> Any:
            return _defined(evaluator.function(name, [argument(names, evaluator) for argument in arguments]))

        return found

    def built_in(self, function: BuiltIn, arguments: Sequence[Known]) -> Known:
        def found(names: Mapping[str, Any], evaluator: Evaluator) -> Any:
            return _defined(evaluator.apply(function, [argument(names, evaluator) for argument in arguments]))

        return found

    def reduce(self, function: BuiltIn, sequence: Known, start: Known) -> Known:
        def found(names: Mapping[str, Any], evaluator: Evaluator) -> Any:
            items, total = sequence(names, evaluator), start(names, evaluator)
            for item in items:
                total = _defined(evaluator.apply(function, (total, item)))
            return total

        return found

    def undefined(self, reason: str) -> Known:
        def found(names: Mapping[str, Any], evaluator: Evaluator) -> Any:
            raise NotKnown

        return found


def _tensor(value: Any) -> TensorFacts:
    if type(value) is TensorFacts:
        return value
    raise NotKnown


def _defined(value: Any) -> Any:
    if type(value) is Unknown:
        raise NotKnown
    return value


_ARITHMETIC: Mapping[str, Callable[[int, int], int]] = {"+": add, "-": sub, "*": mul, "//": floordiv, "%": mod}
_COMPARISONS: Mapping[str, Callable[[Any, Any], bool]] = {
    "==": equal, "!=": ne, "<": lt, "<=": le, ">": gt, ">=": ge,
}  # fmt: skip
