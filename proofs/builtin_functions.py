"""Each built-in function of numbers: its source as the rule language interprets it and its code define one function."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import z3

from sonnx.language.domain import BuiltIn
from sonnx.language.parser import built_ins
from sonnx.prover.builtin_terms import BuiltinTerms, as_partial
from sonnx.prover.symbolic_execution import execute
from sonnx.prover.terms import uninterpreted
from sonnx.prover.theorem import Mutant, Obligation, Theorem, by_form, mutated

CHANGES = (("==", "!="), ("<=", "<"), (" 1", " 2"), (" + ", " - "), (" - ", " + "))
"""Changes that make a mutant of a function: the first one whose text its code contains."""


def scalar_functions() -> list[BuiltIn]:
    """The built-in functions whose parameters are all numbers."""
    functions = built_ins().values()
    return [w for w in functions if all(type_ in ("int", int) for type_ in _annotations(w.function))]


def _annotations(function: Callable[..., Any]) -> list[object]:
    return [parameter.annotation for parameter in inspect.signature(function).parameters.values()]


def one_function(function: BuiltIn) -> Iterator[Obligation]:
    """The claim for all functions in place of products and quotients, and so for these."""
    for each in same_function(function, function.function):
        yield by_form(Obligation(each.name, tuple(map(uninterpreted, each.hypotheses)), uninterpreted(each.goal)))


def same_function(function: BuiltIn, code: Callable[..., Any]) -> Iterator[Obligation]:
    """Defined together, and equal where defined, for all integers."""
    arguments = [z3.Int(name) for name in function.parameters]
    ran, source = execute(code, *arguments), as_partial(BuiltinTerms().call(function.name, *arguments))
    yield from ran.obligations()
    yield Obligation("defined together", (), ran.defined == source.defined)
    yield Obligation("equal", (ran.defined,), ran.value == source.value)


def mutants(function: BuiltIn) -> Iterator[Mutant]:
    """The code of the function, changed."""
    body = inspect.getsource(function.function).rpartition('"""')[2]
    for old, new in CHANGES:
        if body.count(old):
            changed = body.replace(old, new, 1)
            code = mutated(function.function, body, changed)
            yield Mutant(f"{old.strip()} as {new.strip()}", partial(same_function, function, code))
            return


def theorems() -> Iterator[Theorem]:
    """One theorem for each built-in function of numbers."""
    for function in scalar_functions():
        yield Theorem(
            f"built-in.{function.name.replace('_', '-')}",
            f"The built-in function {function.name} read from its source is the function that runs.",
            f"source({function.name}) = code({function.name})",
            partial(one_function, function),
            sources=(function.function,),
            mutants=tuple(mutants(function)),
        )
