"""Each built-in function of numbers: its source as the rule language interprets it and its code define one function."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import z3

from sonnx.language.domain import BuiltIn
from sonnx.language.parser import words
from sonnx.prover.builtin_terms import BuiltinTerms, as_partial
from sonnx.prover.symbolic_execution import execute
from sonnx.prover.terms import uninterpreted
from sonnx.prover.theorem import Mutant, Obligation, Theorem, mutated

CHANGES = (("==", "!="), ("<=", "<"), (" 1", " 2"), (" + ", " - "), (" - ", " + "))
"""Changes that make a mutant of a function: the first one whose text its code contains."""


def scalar_functions() -> list[BuiltIn]:
    """The built-in functions whose parameters are all numbers."""
    found = words().values()
    return [w for w in found if all(type_ in ("int", int) for type_ in _annotations(w.function))]


def _annotations(function: Callable[..., Any]) -> list[object]:
    return [parameter.annotation for parameter in inspect.signature(function).parameters.values()]


def one_function(word: BuiltIn) -> Iterator[Obligation]:
    """The claim for all functions in place of products and quotients, and so for these."""
    for each in same_function(word, word.function):
        yield Obligation(each.name, tuple(map(uninterpreted, each.hypotheses)), uninterpreted(each.goal))


def same_function(word: BuiltIn, code: Callable[..., Any]) -> Iterator[Obligation]:
    """Defined together, and equal where defined, for all integers."""
    arguments = [z3.Int(name) for name in word.parameters]
    ran, source = execute(code, *arguments), as_partial(BuiltinTerms().call(word.name, *arguments))
    yield from ran.obligations()
    yield Obligation("defined together", (), ran.defined == source.defined)
    yield Obligation("equal", (ran.defined,), ran.value == source.value)


def mutants(word: BuiltIn) -> Iterator[Mutant]:
    """The code of the function, changed."""
    body = inspect.getsource(word.function).rpartition('"""')[2]
    for old, new in CHANGES:
        if body.count(old):
            changed = body.replace(old, new, 1)
            code = mutated(word.function, body, changed)
            yield Mutant(f"{old.strip()} as {new.strip()}", partial(same_function, word, code))
            return


def theorems() -> Iterator[Theorem]:
    """One theorem for each built-in function of numbers."""
    for word in scalar_functions():
        yield Theorem(
            f"word.{word.name.replace('_', '-')}",
            f"The word {word.name} read from its source is the function that runs.",
            f"source({word.name}) = code({word.name})",
            partial(one_function, word),
            sources=(word.function,),
            mutants=tuple(mutants(word)),
        )
