"""What a reading of the rule language must say, and the two things it reads: expressions and words."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

Value = Any
"""A value of whichever domain reads the expression."""
Environment = Mapping[str, Value]
Thunk = Callable[[], Value]
Run = Callable[["Domain", Environment], Value]


class RuleError(ValueError):
    """A text that is no rule; the message names the construct and quotes the text."""


class Domain(Protocol):
    """What a reading of the language must say.

    Parts whose evaluation depends on others (and, or, if, loops) arrive as thunks, so that a reading can stop early
    or note under which condition a part counts.
    """

    def constant(self, value: int | float | str) -> Value: ...
    def listing(self, items: Sequence[Value]) -> Value: ...
    def field(self, value: Value, name: str) -> Value: ...
    def item(self, sequence: Value, index: Value) -> Value: ...
    def part(self, sequence: Value, start: Value | None, stop: Value | None) -> Value: ...
    def arithmetic(self, sign: str, left: Value, right: Value) -> Value: ...
    def negative(self, value: Value) -> Value: ...
    def compare(self, sign: str, left: Value, right: Value) -> Value: ...
    def conjunction(self, parts: Sequence[Thunk]) -> Value: ...
    def disjunction(self, parts: Sequence[Thunk]) -> Value: ...
    def negation(self, value: Value) -> Value: ...
    def choice(self, condition: Value, then: Thunk, otherwise: Thunk) -> Value: ...
    def quantify(self, name: str, variable: str, sequence: Value, body: Callable[[Value], Value]) -> Value: ...
    def collect(
        self, variable: str, sequence: Value, body: Callable[[Value], Value], where: Callable[[Value], Value] | None
    ) -> Value: ...
    def flatten(self, lists: Value) -> Value: ...
    def function(self, name: str, arguments: Sequence[Value]) -> Value: ...
    def word(self, word: BuiltIn, arguments: Sequence[Value]) -> Value: ...
    def fold(self, word: BuiltIn, sequence: Value, start: Value) -> Value: ...
    def undefined(self, reason: str) -> Value: ...


@dataclass(frozen=True, slots=True)
class Expression:
    """One parsed text; `names` are those it leaves to the environment, questions such as written(axis) included."""

    text: str
    names: frozenset[str]
    run: Run = field(compare=False, repr=False)
    tree: ast.expr = field(compare=False, repr=False)
    """The syntax tree of the text, which `structure.py` answers questions from."""
    words: tuple[str, ...] = field(default=(), compare=False)
    """The words the text uses itself."""
    variables: frozenset[str] = field(default=frozenset(), compare=False)
    """The variables its loops bind."""
    over: tuple[str, Run] | None = field(default=None, compare=False, repr=False)
    """What an outermost all(...), or the first of several joined by or, ranges over: its text and its value."""

    def over_nothing(self, domain: Domain, environment: Environment) -> bool:
        """Whether that list is empty: the condition is then about nothing."""
        return self.over is not None and bool(self.over[1](domain, environment) == ())

    def evaluate(self, domain: Domain, environment: Environment) -> Value:
        """The value of the expression in this reading."""
        return self.run(domain, environment)


@dataclass(frozen=True, slots=True)
class BuiltIn:
    """A function of `words.py`: the code that runs, and the same source as closures for the other readings."""

    name: str
    function: Callable[..., Any] = field(compare=False)
    parameters: tuple[str, ...]
    source: str
    body: Run = field(compare=False, repr=False)
    words: tuple[str, ...] = field(default=(), compare=False)
    """The words its source uses itself."""

    def interpret(self, domain: Domain, arguments: Sequence[Value]) -> Value:
        """The word read through its source."""
        return self.body(domain, dict(zip(self.parameters, arguments, strict=True)))
