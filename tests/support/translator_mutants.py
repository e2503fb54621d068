"""Wrong versions of the translation of rules into terms, each of which the texts of `constructs.py` must show.

A version is wrong in one construct, whose result becomes another value of its kind, or in one place of one function.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from functools import cache, wraps
from types import CodeType, FrameType, FunctionType
from typing import Any

import z3

from sonnx.language import parser
from sonnx.language.domain import Domain
from sonnx.language.parser import parse
from sonnx.prover import smt_functions, smt_interpretation, smt_lists, smt_values
from sonnx.prover.smt_interpretation import SmtInterpretation
from sonnx.prover.smt_lists import list_of
from sonnx.prover.smt_values import PartialValue, SymbolicList, SymbolicString, UndefinedValue, add, folding, negate
from tests.support.constructs import ALL, Text, first_difference, symbolic_names
from tools.definition_mutants import Mutant, of_function

MODULES = (smt_interpretation, smt_functions, smt_values, smt_lists)
METHODS = tuple(name for name in vars(Domain) if not name.startswith("_"))
Case = tuple[Text, bool]
"""A text, and whether its terms are folded."""
CASES: tuple[Case, ...] = tuple((text, folded) for folded in (False, True) for text in ALL)


# ------------------------------------------------------------------ constructs


def constructs() -> frozenset[str]:
    """The constructs of the rule language: the methods of a domain, of some methods each sign, function or form."""
    signs = {*parser._SIGNS.values(), *parser._COMPARISONS.values(), *parser.FUNCTIONS}
    several = {"arithmetic", "compare", "function", "quantify", "collect"}
    return frozenset({*METHODS} - several | signs | {"all(...)", "any(...)", "collect", "collect where"})


def construct_of(method: str, arguments: Sequence[Any]) -> str:
    """The construct that a call of a method interprets."""
    if method in ("arithmetic", "compare", "function"):
        return str(arguments[0])
    if method == "quantify":
        return f"{arguments[0]}(...)"
    if method == "collect":
        return "collect where" if arguments[3] is not None else "collect"
    return method


def other(value: Any) -> Any:
    """Another value of the same kind."""
    match value:
        case PartialValue():
            return replace(value, value=other(value.value))
        case bool() | z3.BoolRef():
            return negate(value)
        case str():
            return f"other {value}"
        case SymbolicString():
            return SymbolicString(value.term + 1)
        case SymbolicList():
            return SymbolicList(value.items[1:], value.packed) if value.items else list_of([0])
        case UndefinedValue():
            return value
        case _:
            return add(value, 1)


@contextmanager
def wrong(construct: str) -> Iterator[None]:
    """The interpretation with another result of one construct."""

    def changed(method: str, original: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(original)
        def result(domain: SmtInterpretation, *arguments: Any) -> Any:
            if construct_of(method, arguments) != construct:
                return original(domain, *arguments)
            if construct == "undefined":
                return 0  # without the obligation that it is never read
            return other(original(domain, *arguments))

        return result

    originals = {method: getattr(SmtInterpretation, method) for method in METHODS}
    own = {method for method in METHODS if method in vars(SmtInterpretation)}
    try:
        for method, original in originals.items():
            setattr(SmtInterpretation, method, changed(method, original))
        yield
    finally:
        for method, original in originals.items():
            if method in own:
                setattr(SmtInterpretation, method, original)
            else:
                delattr(SmtInterpretation, method)


# ------------------------------------------------------------------ functions


@cache
def functions() -> Mapping[CodeType, str]:
    """The functions and methods of the translator, by their code, with their full names."""
    named = {}
    for module in MODULES:
        kinds = [
            each for each in vars(module).values() if isinstance(each, type) and each.__module__ == module.__name__
        ]
        owners = {module.__name__: vars(module)} | {f"{module.__name__}.{kind.__name__}": vars(kind) for kind in kinds}
        for prefix, members in owners.items():
            for name, value in members.items():
                function = value.fget if isinstance(value, property) else value
                if isinstance(function, FunctionType) and function.__code__.co_filename == module.__file__:
                    named[function.__code__] = f"{prefix}.{name}"
    return named


@cache
def reaching() -> Mapping[str, tuple[Case, ...]]:
    """The cases that run each function, and those that have each construct, while their terms are made."""
    cases: dict[str, list[Case]] = defaultdict(list)
    methods = {getattr(SmtInterpretation, name).__code__: name for name in METHODS}
    for case in CASES:
        called = set[str]()

        def observe(frame: FrameType, event: str, _: object, called: set[str] = called) -> None:
            code = frame.f_code
            if event == "call" and (name := functions().get(code)):
                called.add(name)
            if event == "call" and (method := methods.get(code)):
                arguments = [frame.f_locals[each] for each in code.co_varnames[1 : code.co_argcount]]
                called.add(construct_of(method, arguments))

        (text, condition), folded = case
        with folding() if folded else nullcontext():
            domain, names = SmtInterpretation(), symbolic_names()
            expression, when = parse(text), parse(condition) if condition else None
            sys.setprofile(observe)
            try:
                _ = domain.condition(expression, names, when) if when else domain.interpret(expression, names)
            finally:
                sys.setprofile(None)
        for name in called:
            cases[name].append(case)
    return {name: tuple(found) for name, found in cases.items()}


@cache
def changes(name: str) -> tuple[Mutant, ...]:
    """The small changes of a function."""
    return tuple(of_function(name))


def shown(cases: Iterable[Case]) -> bool:
    """Whether the two interpretations differ in a case, or one raises."""
    for text, folded in cases:
        try:
            if first_difference(text, folded):
                return True
        except Exception:  # noqa: BLE001  # a wrong version may raise anything
            return True
    return False
