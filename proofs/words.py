"""Each word on numbers alone: its source, as the rule language reads it, and its code, as it runs, are one function."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import z3

from sonnx.language.domain import BuiltIn
from sonnx.language.parser import words
from sonnx.proofs.forms import altered
from sonnx.prover.abstraction import abstracted
from sonnx.prover.symbolic_execution import read
from sonnx.prover.theorem import Mutant, Obligation, Theorem
from sonnx.prover.word_terms import Terms, _partial

CHANGES = (("==", "!="), ("<=", "<"), (" 1", " 2"), (" + ", " - "), (" - ", " + "))
"""What is tried to make a mutant of a word: the first of them that its code has once."""


def scalar_words() -> list[BuiltIn]:
    """The words whose parameters are all numbers."""
    found = words().values()
    return [w for w in found if all(kind in ("int", int) for kind in _annotations(w.function))]


def _annotations(function: Callable[..., Any]) -> list[object]:
    return [parameter.annotation for parameter in inspect.signature(function).parameters.values()]


def one_function(word: BuiltIn) -> Iterator[Obligation]:
    """The same for all functions in the place of products and quotients, so for those."""
    for each in same_function(word, word.function):
        yield Obligation(each.name, tuple(map(abstracted, each.hypotheses)), abstracted(each.goal))


def same_function(word: BuiltIn, code: Callable[..., Any]) -> Iterator[Obligation]:
    """Defined together, and equal where defined, for all integers."""
    arguments = [z3.Int(name) for name in word.parameters]
    ran, source = read(code, *arguments), _partial(Terms().read(word.name, *arguments))
    yield from ran.obligations()
    yield Obligation("defined together", (), ran.defined == source.defined)
    yield Obligation("equal", (ran.defined,), ran.value == source.value)


def mutants(word: BuiltIn) -> Iterator[Mutant]:
    """The code of the word, changed."""
    body = inspect.getsource(word.function).rpartition('"""')[2]
    for old, new in CHANGES:
        if body.count(old):
            changed = body.replace(old, new, 1)
            code = altered(word.function, body, changed)
            yield Mutant(f"{old.strip()} as {new.strip()}", partial(same_function, word, code))
            return


def theorems() -> Iterator[Theorem]:
    """One for each scalar word."""
    for word in scalar_words():
        yield Theorem(
            f"word.{word.name.replace('_', '-')}",
            f"The word {word.name} read from its source is the function that runs.",
            f"source({word.name}) = code({word.name})",
            partial(one_function, word),
            sources=(word.function,),
            mutants=tuple(mutants(word)),
        )
