"""Changed definitions: every theorem that is about a definition must notice a change of it.

The definitions of a theorem are found by observing how its obligations are made: the functions of this project that
are called (`Function`), the built-in functions that are read from their source (`Reading`), and the expressions of the
data files (`Text`).  The generators that state the obligations are not definitions: they never change.  A change
replaces what runs, in place, so that every use of the definition sees it.
"""

from __future__ import annotations
import __future__

import ast
import inspect
import sys
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache
from importlib import import_module
from types import CodeType, FrameType, FunctionType
from typing import Any

import z3
from msgspec import Struct
from msgspec.structs import force_setattr

from sonnx.language import builtins
from sonnx.language.domain import BuiltIn, Expression, RuleError
from sonnx.language.parser import built_ins, parse, read_built_in
from sonnx.proofs import registry
from sonnx.prover import signature_family
from sonnx.prover.expression_claims import SymbolicCall
from sonnx.prover.symbolic_execution import BitsProxy, Execution
from sonnx.prover.theorem import Obligation, Theorem
from tools.rule_mutants import mutants
from tools.syntax_mutants import changes, of_definition

RUNNING = ("sonnx.language.builtins", "sonnx.language.shape_arithmetic", "sonnx.numerics.order")
"""The modules of functions that run and that theorems are about."""
LEMMAS = "sonnx.prover.terms"
"""The module of the lemmas that theorems about products use, and that other theorems are about."""
EXECUTION, READING, TEXT = "symbolic execution", "reading of ", "text"
"""How the places begin that are not the names of functions."""
STATING = ("Obligation", "Theorem", "Mutant", "Execution")
"""Functions that return these state something, and define nothing."""


@dataclass(frozen=True)
class Mutant:
    """One change of a definition: where, which text becomes which, and what takes the place of what runs."""

    place: str
    old: str
    new: str
    owner: Any
    attribute: str
    changed: Any

    @property
    def name(self) -> str:
        """The change for people, unique in its theorem."""
        return f"{self.place}: {self.old} → {self.new}"

    @contextmanager
    def applied(self) -> Iterator[None]:
        """Run the changed definition."""
        original = getattr(self.owner, self.attribute)
        forget()
        frozen = force_setattr if isinstance(self.owner, Struct) else object.__setattr__
        assign = setattr if isinstance(self.owner, type) else frozen
        assign(self.owner, self.attribute, self.changed)
        try:
            yield
        finally:
            assign(self.owner, self.attribute, original)
            forget()


def forget() -> None:
    """Forget what was computed from the definitions."""
    for name, module in list(sys.modules.items()):
        if name.startswith(("sonnx.proofs.", "sonnx.prover.")):
            for kept in vars(module).values():
                if hasattr(kept, "cache_clear") and kept.__module__ == name and kept is not registry.theorems:
                    kept.cache_clear()
    signature_family.forget()


# ------------------------------------------------------------------ the definitions of a theorem


@dataclass(frozen=True)
class Definitions:
    """What a theorem is about, each in the order of first use."""

    functions: tuple[str, ...]
    readings: tuple[str, ...]
    texts: tuple[str, ...]


def definitions(theorem: Theorem) -> Definitions:
    """The functions that a theorem names, and what is used while its obligations are made."""
    codes, readings = dict[CodeType, None](), dict[str, None]()
    texts, evaluated = dict[str, None](), dict[str, None]()  # of the data files; these, and claims in the rule language

    def observe(frame: FrameType, event: str, _: object) -> None:
        if event == "call":
            code = frame.f_code
            codes[code] = None
            if code is BuiltIn.interpret.__code__:
                readings[frame.f_locals["self"].name] = None
            elif code is SymbolicCall._changed.__code__:
                texts[frame.f_locals["text"]] = None
            elif code is Expression.evaluate.__code__:
                evaluated[frame.f_locals["self"].text] = None

    forget()
    sys.setprofile(observe)
    try:
        list(theorem.obligations())
    finally:
        sys.setprofile(None)
    known = functions()
    codes = {code: None for code in codes if not known.get(code, "").startswith(LEMMAS)}  # hypotheses, unless named
    named = {source.__code__: None for source in theorem.sources if isinstance(source, FunctionType)}
    found = [name for code in named | codes if (name := known.get(code))]
    found.sort(key=lambda name: not name.startswith(RUNNING))
    return Definitions(tuple(found), tuple(readings), tuple(texts or evaluated))


@cache
def functions() -> dict[CodeType, str]:
    """The code of the functions that define something, with their full names."""
    functions: dict[CodeType, str] = {}
    for module in (
        *RUNNING,
        *(registry_module.__module__ for registry_module in registry.MODULES),
        "sonnx.proofs.float_order",
        LEMMAS,
    ):
        for name, function in _members(module):
            text = str(function.__annotations__.get("return", ""))
            generated = bool(function.__code__.co_flags & inspect.CO_GENERATOR)
            if not generated and not function.__code__.co_freevars and not any(word in text for word in STATING):
                functions[function.__code__] = f"{module}.{name}"
    return functions


def _members(module: str) -> Iterator[tuple[str, FunctionType]]:
    """The functions of a module and the methods and properties of its classes."""
    for name, value in vars(import_module(module)).items():
        if isinstance(value, FunctionType) and value.__module__ == module and not name.startswith("show_"):
            yield name, value
        elif isinstance(value, type) and value.__module__ == module:
            for inner, member in vars(value).items():
                function = member.fget if isinstance(member, property) else member
                if not isinstance(function, FunctionType) or inner.startswith("__"):
                    continue
                if function.__qualname__ == f"{name}.{inner}":
                    yield f"{name}.{inner}", function


def resolved(name: str) -> FunctionType:
    """The function of a full name."""
    module = next(
        sys_module for sys_module in sorted(sys.modules, key=len, reverse=True) if name.startswith(f"{sys_module}.")
    )
    return next(function for inner, function in _members(module) if f"{module}.{inner}" == name)


# ------------------------------------------------------------------ changes


def named(name: str) -> Mutant | None:
    """The mutant of this name, None if the definition does not have it."""
    place, change = name.split(": ", 1)
    if place.startswith(READING):
        found = of_reading(place.removeprefix(READING))
    elif place == TEXT:
        found = of_text(change.split(" → ")[0])
    else:
        found = of_execution() if place.startswith(EXECUTION) else of_function(f"sonnx.{place}")
    return next((mutant for mutant in found if mutant.name == name), None)


def of_function(name: str) -> Iterator[Mutant]:
    """The changes of a function that runs."""
    yield from _of(resolved(name), name.removeprefix("sonnx."))


def _of(function: FunctionType, name: str) -> Iterator[Mutant]:
    tree = ast.parse(textwrap.dedent(inspect.getsource(function))).body[0]
    assert isinstance(tree, ast.FunctionDef)  # noqa: S101
    for body, old, new in _changed_bodies(tree, "Undefined" in function.__globals__):
        code = _compiled(tree, body)
        if code is not None and code.co_freevars == function.__code__.co_freevars:
            yield Mutant(name, old, new, function, "__code__", code)


def of_reading(name: str) -> Iterator[Mutant]:
    """The changes of a built-in function as the rule language reads it."""
    built_in = built_ins()[name]
    tree = ast.parse(built_in.source).body[0]
    assert isinstance(tree, ast.FunctionDef)  # noqa: S101
    for body, old, new in _changed_bodies(tree):
        changed = ast.FunctionDef(tree.name, tree.args, body, [], tree.returns)
        try:
            read = read_built_in(changed, ast.unparse(ast.fix_missing_locations(changed)), built_ins(), builtins)
        except RuleError:
            continue
        yield Mutant(f"{READING}{name}", old, new, built_in._definition, "body", read.body)


def of_text(text: str) -> Iterator[Mutant]:
    """The changes of an expression of the rule language, in calls of fixed ranks and in derived theorems."""
    expression = parse(text)
    for new in mutants(text, of_definition):
        yield Mutant(TEXT, text, new, expression.parsed, "run", parse(new).parsed.run)


def of_execution() -> Iterator[Mutant]:
    """The symbolic execution of functions leaves out a path: what it states of its own completeness must notice."""
    complete = Execution.obligations
    for place, rest in (("first", slice(1, None)), ("last", slice(-1))):

        def incomplete(self: Execution, *hypotheses: z3.BoolRef, rest: slice = rest) -> Iterator[Obligation]:
            return complete(replace(self, paths=self.paths[rest]), *hypotheses)

        yield Mutant(EXECUTION, "all paths", f"all paths but the {place}", Execution, "obligations", incomplete)
    for function in (BitsProxy.__add__, BitsProxy.__sub__):
        assert isinstance(function, FunctionType)  # noqa: S101
        yield from _of(function, f"{EXECUTION} of {function.__name__}")


def _changed_bodies(tree: ast.FunctionDef, partial: bool = True) -> Iterator[tuple[list[ast.stmt], str, str]]:
    """The bodies that differ in one place, each with the texts before and after; a text has a number if it recurs.

    First operations and constants change, then parameters, then what is returned; a `partial` function may return
    nothing.
    """
    body = tree.body[1:] if ast.get_docstring(tree) else tree.body
    parameters = [argument.arg for argument in tree.args.args if argument.arg != "self"]

    def other_parameters(node: ast.AST) -> Iterator[ast.AST]:
        if isinstance(node, ast.Name) and node.id in parameters:
            yield from (ast.Name(parameter, ast.Load()) for parameter in parameters if parameter != node.id)

    def other_results(node: ast.AST) -> Iterator[ast.AST]:
        if isinstance(node, ast.Return) and node.value is not None:
            yield ast.Return(ast.BinOp(node.value, ast.Add(), ast.Constant(1)))
            if partial:
                yield ast.Raise(ast.Call(ast.Name("Undefined", ast.Load()), [ast.Constant("changed")], []))

    seen: dict[tuple[str, str], int] = {}
    for replacements in (of_definition, other_parameters, other_results):
        for change in changes(ast.Module(body, []), replacements):
            assert isinstance(change.tree, ast.Module)  # noqa: S101
            place = seen[change.old, change.new] = seen.get((change.old, change.new), 0) + 1
            yield change.tree.body, change.old + (f" ({place})" if place > 1 else ""), change.new


def _compiled(tree: ast.FunctionDef, body: list[ast.stmt]) -> CodeType | None:
    """The code of the function with another body; None if it cannot be compiled."""
    plain = ast.FunctionDef(tree.name, tree.args, body, [], None)
    module = ast.fix_missing_locations(ast.Module([plain], []))
    try:
        made = compile(module, f"<mutant of {tree.name}>", "exec", __future__.annotations.compiler_flag)
    except (SyntaxError, ValueError, TypeError):
        return None
    return next(
        (co_const for co_const in made.co_consts if isinstance(co_const, CodeType) and co_const.co_name == tree.name),
        None,
    )
