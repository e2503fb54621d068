"""The interface of an interpretation of the rule language; expressions and built-in functions, which it interprets."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any, Protocol

from msgspec import Struct

from sonnx.base.frozen import ComparedInPart

Value = Any
"""A value of the domain: a fact, a type, an SMT term, a formula."""
Environment = Mapping[str, Value]
"""Values by name; the functions at the end of this module make the names of facts about an input or parameter."""
Thunk = Callable[[], Value]
Run = Callable[["Domain", Environment], Value]


class RuleError(ValueError):
    """A text is not an expression of the rule language; the message names the construct and quotes the text."""


class Body(Struct, frozen=True):
    """What a loop evaluates for each item of its list.

    `compared` gives the values that the item is compared with, and is there only where the body does nothing else with
    the item: items that compare alike with these have one result.
    """

    run: Run
    domain: Domain
    environment: Environment
    variable: str
    compared: Sequence[Run] | None = None

    def __call__(self, item: Value) -> Value:
        """The value of the body for an item."""
        return self.run(self.domain, {**self.environment, self.variable: item})

    def edges(self) -> list[Value] | None:
        """The values that the item is compared with, None where it is used otherwise."""
        return (
            None if self.compared is None else [function(self.domain, self.environment) for function in self.compared]
        )


class Domain(Protocol):
    """One interpretation of the language: what each construct means for the values of the domain.

    Parts whose evaluation depends on others (and, or, if, loops) arrive as thunks, so that an interpretation can stop
    early or note under which condition a part counts.
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
    def built_in(self, function: BuiltIn, arguments: Sequence[Value]) -> Value: ...
    def reduce(self, function: BuiltIn, sequence: Value, start: Value) -> Value: ...
    def undefined(self, reason: str) -> Value: ...


class Parsed(Struct, frozen=True, eq=False):
    """What the parser makes of a source text."""

    names: frozenset[str]
    """The free names, questions such as written(axis) included."""
    run: Run
    tree: ast.expr
    """The syntax tree, from which `structure.py` answers what the expression reads and demands."""
    built_ins: tuple[str, ...] = ()
    """The built-in functions the expression calls directly."""
    variables: frozenset[str] = frozenset()
    """The variables of its loops."""
    over: tuple[str, Run] | None = None
    """The list that an outermost all(...), or the first condition of an outermost or, ranges over: its source text,
    and how to evaluate it."""


class Expression(ComparedInPart, frozen=True, dict=True):
    """An expression of the rule language, parsed when more than its text is first needed.

    Where `read` raises an error, so does each property.
    """

    text: str
    read: Callable[[], Parsed]

    @cached_property
    def parsed(self) -> Parsed:
        """The parts of the text."""
        return self.read()

    def parsed_now(self) -> Expression:
        """This expression; a text that is not of the language is refused."""
        _ = self.parsed
        return self

    @property
    def names(self) -> frozenset[str]:
        """See `Parsed`."""
        return self.parsed.names

    @property
    def tree(self) -> ast.expr:
        """See `Parsed`."""
        return self.parsed.tree

    @property
    def built_ins(self) -> tuple[str, ...]:
        """See `Parsed`."""
        return self.parsed.built_ins

    @property
    def variables(self) -> frozenset[str]:
        """See `Parsed`."""
        return self.parsed.variables

    @property
    def over(self) -> tuple[str, Run] | None:
        """See `Parsed`."""
        return self.parsed.over

    def compared(self) -> tuple[object, ...]:
        """See `ComparedInPart`."""
        return (self.text,)

    def over_nothing(self, domain: Domain, environment: Environment) -> bool:
        """Whether that list is empty: the condition is then about nothing."""
        return self.over is not None and bool(self.over[1](domain, environment) == ())

    def evaluate(self, domain: Domain, environment: Environment) -> Value:
        """The value of the expression in a domain."""
        return self.parsed.run(domain, environment)


class Definition(Struct, frozen=True, eq=False):
    """The source text of a built-in function, its body as closures, and the built-in functions it calls directly."""

    source: str
    body: Run
    built_ins: tuple[str, ...] = ()


class BuiltIn(ComparedInPart, frozen=True, dict=True):
    """A function of `builtins.py`: the code that runs, and closures of the same source for the other domains.

    The source is read when a domain first needs it: a check calls the functions only.
    """

    name: str
    function: Callable[..., Any]
    parameters: tuple[str, ...]
    read: Callable[[], Definition]

    @cached_property
    def _definition(self) -> Definition:
        return self.read()

    @property
    def source(self) -> str:
        """The source text."""
        return self._definition.source

    @property
    def body(self) -> Run:
        """The closure of the body."""
        return self._definition.body

    @property
    def built_ins(self) -> tuple[str, ...]:
        """The built-in functions it calls directly."""
        return self._definition.built_ins

    def compared(self) -> tuple[object, ...]:
        """See `ComparedInPart`."""
        return self.name, self.parameters, self.source

    def interpret(self, domain: Domain, arguments: Sequence[Value]) -> Value:
        """The value of the function, interpreted through its source."""
        return self.body(domain, dict(zip(self.parameters, arguments, strict=True)))


def written_key(parameter: str) -> str:
    """The name of the fact whether a parameter is written."""
    return f"written({parameter})"


def given_key(tensor: str) -> str:
    """The name of the fact whether an input or output is connected."""
    return f"given({tensor})"


def constant_key(name: str) -> str:
    """The name of the fact whether a value is known before the model runs."""
    return f"constant({name})"


def input_key(parameter: str) -> str:
    """The name of the tensor of a parameter that is an input; the parameter's own name is the value in it."""
    return f"{parameter}_input"
