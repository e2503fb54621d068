"""The evaluator without Kleene's short cuts: an expression has a value only if every part that is reached has one.

`and`, `or` and `if` reach their parts from left to right; loops reach every item.  The SMT interpretation is defined
exactly there, and where it is, the evaluator gives the same value.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from sonnx.language.domain import BuiltIn, Thunk
from sonnx.language.evaluator import Evaluator, Unknown, strongest


class StrictEvaluator(Evaluator):
    """A domain, see `sonnx.language.domain.Domain`."""

    def listing(self, items: Sequence[Any]) -> Any:
        unknown = strongest(items)
        return tuple(items) if unknown is None else unknown

    def _until(self, end: bool, parts: Iterable[Thunk]) -> Any:
        for part in parts:
            value = part()
            if isinstance(value, Unknown) or value is end:
                return value
        return not end

    def every(self, truths: Sequence[bool | Unknown]) -> bool | Unknown:
        unknown = strongest(truths)
        return False not in truths if unknown is None else unknown

    def contains(self, sequence: Any, value: Any) -> bool | Unknown:
        unknown = strongest((sequence, value))
        if unknown is not None:
            return unknown
        found = self.every([self.negation(self.equal(value, item)) for item in sequence])
        return found if isinstance(found, Unknown) else not found

    def equal(self, left: Any, right: Any) -> bool | Unknown:
        unknown = strongest((left, right))
        return super().equal(left, right) if unknown is None else unknown

    def choice(self, condition: Any, then: Thunk, otherwise: Thunk) -> Any:
        return condition if isinstance(condition, Unknown) else (then if condition else otherwise)()

    def quantify(self, name: str, variable: str, sequence: Any, body: Callable[[Any], Any]) -> Any:
        if isinstance(sequence, Unknown):
            return sequence
        found = [body(item) for item in sequence]
        unknown = strongest(found)
        return unknown if unknown is not None else all(found) if name == "all" else any(found)

    def collect(
        self, variable: str, sequence: Any, body: Callable[[Any], Any], where: Callable[[Any], Any] | None
    ) -> Any:
        found = super().collect(variable, sequence, body, where)
        unknown = None if isinstance(found, Unknown) else strongest(found)
        return found if unknown is None else unknown

    def function(self, name: str, arguments: Sequence[Any]) -> Any:
        inner = arguments[0] if name not in ("len", "stated") and isinstance(arguments[0], tuple) else ()
        unknown = strongest(inner)
        return super().function(name, arguments) if unknown is None else unknown

    def built_in(self, function: BuiltIn, arguments: Sequence[Any]) -> Any:
        unknown = strongest(arguments)
        return function.interpret(self, arguments) if unknown is None else unknown

    def reduce(self, function: BuiltIn, sequence: Any, start: Any) -> Any:
        total = start
        for item in () if isinstance(sequence, Unknown) else sequence:
            total = self.built_in(function, (total, item))
        return sequence if isinstance(sequence, Unknown) else total
