"""Built-in functions interpreted as z3 terms for lists of any length: a list is a length and a function of the index.

No term has a quantifier.  `all(...)` becomes a `ForAll`, which is used at chosen indices and proved at arbitrary ones;
`max(...)` becomes a new number with two facts: it bounds every item at a given index, and it is one of the items; a
filter becomes a guard, and the first item it leaves becomes a new index.  Constructs without an exact interpretation
are refused.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from operator import add, ge, gt, le, lt, mod, mul, sub, truediv

import z3

from sonnx.language import builtins as module
from sonnx.language.domain import BuiltIn, Thunk
from sonnx.language.parser import built_ins, read_built_in
from sonnx.prover.symbolic_execution import Term, Unsupported
from sonnx.prover.terms import conjunction, disjunction

_ARITHMETIC = {"+": add, "-": sub, "*": mul, "//": truediv, "%": mod}
"""Operators on terms: / of integers is z3's division, which rounds down for a positive divisor, as % does.

`symbolic_execution.IntegerProxy.divisor` requires that it is positive; no function of lists divides."""
_ORDER = {"<": lt, "<=": le, ">": gt, ">=": ge}


@dataclass(frozen=True)
class Items:
    """A list: the items `at(i)` for 0 <= i < length that satisfy `where`."""

    length: Term
    at: Callable[[Term], Term]
    where: Callable[[Term], z3.BoolRef] | None = None

    def inside(self, i: Term) -> z3.BoolRef:
        """Whether i is the index of an item."""
        within = z3.And(i >= 0, i < self.length)
        return within if self.where is None else z3.And(within, self.where(self.at(i)))


@dataclass(frozen=True)
class ForAll:
    """A claim about all items."""

    items: Items
    body: Callable[[Term], Term]
    guards: tuple[z3.BoolRef, ...] = ()

    def instance(self, *indices: Term) -> Term:
        """The claim at these indices, one for each nested `all`."""
        index, *rest = indices
        guards, value = (*self.guards, self.items.inside(index)), self.body(self.items.at(index))
        if isinstance(value, ForAll):
            return ForAll(value.items, value.body, (*guards, *value.guards)).instance(*rest)
        return z3.Implies(conjunction(guards), value)


@dataclass(frozen=True)
class PartialTerm:
    """A value that a function returns under a condition."""

    defined: z3.BoolRef
    value: Term


@dataclass(frozen=True)
class Fold:
    """`reduce(function, items, start)`: a theorem about it consists of base, step and invariant."""

    function: BuiltIn
    items: Items
    start: Term


class BuiltinTerms:
    """The interpretation; one object for each claim, because it keeps the new numbers and their facts."""

    def __init__(self, known: Mapping[str, BuiltIn] | None = None) -> None:
        self.known = built_ins() if known is None else known
        self.maxima: dict[str, tuple[Term, Items, Term]] = {}
        self.first_items: dict[str, tuple[Items, Term]] = {}

    def call(self, name: str, *arguments: Term) -> Term:
        """A built-in function of terms and lists."""
        return self.known[name].interpret(self, arguments)

    def maximum_facts(self, term: Term, *indices: Term) -> list[z3.BoolRef]:
        """Facts about a `max`: it is one of the items, and bounds those at the indices."""
        _, items, place = next(maximum for maximum in self.maxima.values() if maximum[0].eq(term))
        attained = z3.Implies(items.length >= 1, z3.And(items.inside(place), items.at(place) == term))
        return [attained, *(z3.Implies(items.inside(i), items.at(i) <= term) for i in indices)]

    def first_item_facts(self, *indices: Term) -> list[z3.BoolRef]:
        """Facts about every first item used: if the filter holds at an index, there is a first one, not after it."""
        return [
            z3.Implies(items.inside(i), z3.And(items.inside(first), first <= i))
            for items, first in self.first_items.values()
            for i in indices
        ]

    def constant(self, value: int | float | str) -> Term:
        if not isinstance(value, int):
            raise Unsupported(f"{value!r} is not an integer")
        return z3.IntVal(value)

    def listing(self, items: Sequence[Term]) -> Items:
        def at(i: Term) -> Term:
            chosen = items[-1]
            for place in range(len(items) - 2, -1, -1):
                chosen = z3.If(i == place, items[place], chosen)
            return chosen

        return Items(z3.IntVal(len(items)), at)

    def item(self, sequence: Items, index: Term) -> Term:
        if sequence.where is None:
            return sequence.at(index)
        if not z3.simplify(index).eq(z3.IntVal(0)):
            raise Unsupported("only the first item of a filtered list has an interpretation")
        return sequence.at(self._first(sequence))

    def arithmetic(self, sign: str, left: Term, right: Term) -> Term:
        if sign not in _ARITHMETIC or isinstance(left, Items) or isinstance(right, Items):
            raise Unsupported(f"{sign} has no interpretation here")
        return _ARITHMETIC[sign](left, right)

    def negative(self, value: Term) -> Term:
        return -value

    def compare(self, sign: str, left: Term, right: Term) -> Term:
        if isinstance(left, Items) or isinstance(right, Items) or sign in ("in", "not in"):
            raise Unsupported(f"{sign} of lists has no interpretation here")
        if sign in _ORDER:
            return _ORDER[sign](left, right)
        return left == right if sign == "==" else left != right

    def conjunction(self, parts: Sequence[Thunk]) -> Term:
        return conjunction(self._truth(part()) for part in parts)

    def disjunction(self, parts: Sequence[Thunk]) -> Term:
        return disjunction(self._truth(part()) for part in parts)

    def negation(self, value: Term) -> Term:
        return z3.Not(self._truth(value))

    def choice(self, condition: Term, then: Thunk, otherwise: Thunk) -> Term:
        chosen, alternative = then(), otherwise()
        if not isinstance(chosen, PartialTerm) and not isinstance(alternative, PartialTerm):
            return z3.If(condition, chosen, alternative)
        chosen, alternative = as_partial(chosen), as_partial(alternative)
        defined = z3.If(condition, chosen.defined, alternative.defined)
        if chosen.value is None or alternative.value is None:
            return PartialTerm(defined, alternative.value if chosen.value is None else chosen.value)
        return PartialTerm(defined, z3.If(condition, chosen.value, alternative.value))

    def quantify(self, name: str, variable: str, sequence: Items, body: Callable[[Term], Term]) -> ForAll:
        if name != "all":
            raise Unsupported("any(...) has no interpretation here")
        return ForAll(sequence, body)

    def collect(
        self, variable: str, sequence: Items, body: Callable[[Term], Term], where: Callable[[Term], Term] | None
    ) -> Items:
        if where is None and sequence.where is None:
            return Items(sequence.length, lambda i: body(sequence.at(i)))
        if sequence.where is not None or not z3.eq(body(probe := z3.Int("probe")), probe):
            raise Unsupported("a filtered list has an interpretation only if its items are unchanged")
        return Items(sequence.length, sequence.at, where)

    def function(self, name: str, arguments: Sequence[Term]) -> Term:
        match name, arguments:
            case "len", [Items(where=None) as items]:
                return items.length
            case "range", [length]:
                return Items(length, lambda i: i)
            case "max", [Items(where=None) as items]:
                return self._largest(items)
        raise Unsupported(f"{name} has no interpretation here")

    def built_in(self, function: BuiltIn, arguments: Sequence[Term]) -> Term:
        return function.interpret(self, arguments)

    def reduce(self, function: BuiltIn, sequence: Items, start: Term) -> Fold:
        return Fold(function, sequence, start)

    def undefined(self, reason: str) -> PartialTerm:
        return PartialTerm(z3.BoolVal(False), None)

    def _refuse(self, *_: Term) -> Term:
        raise Unsupported("this construct has no interpretation here")

    field = part = flatten = _refuse

    def _truth(self, value: Term) -> z3.BoolRef:
        if not z3.is_bool(value):
            raise Unsupported("an all(...) inside a condition has no interpretation here")
        return value

    def _largest(self, items: Items) -> Term:
        key = _key(items)
        if key not in self.maxima:
            number = len(self.maxima)
            self.maxima[key] = (z3.Int(f"largest.{number}"), items, z3.Int(f"place.{number}"))
        return self.maxima[key][0]

    def _first(self, items: Items) -> Term:
        key = _key(items)
        self.first_items.setdefault(key, (items, z3.Int(f"first.{len(self.first_items)}")))
        return self.first_items[key][1]


def mutated_builtins(old: str, new: str) -> Mapping[str, BuiltIn]:
    """All built-in functions with one place of their source changed: mutants."""
    text = inspect.getsource(module)
    if text.count(old) != 1:
        raise ValueError(f"{old!r} occurs {text.count(old)} times in the built-in functions")
    functions: dict[str, BuiltIn] = {}
    for tree in ast.parse(text.replace(old, new)).body:
        if isinstance(tree, ast.FunctionDef):
            functions[tree.name] = read_built_in(tree, ast.unparse(tree), functions)
    return functions


def _key(items: Items) -> str:
    """A text that two lists share if their lengths, items and conditions are the same terms."""
    item = items.at(z3.Int("probe"))
    return " ".join(
        part.sexpr() for part in (items.length, item, *([] if items.where is None else [items.where(item)]))
    )


def as_partial(value: Term) -> PartialTerm:
    """The value, as one that is defined under a condition."""
    return value if isinstance(value, PartialTerm) else PartialTerm(z3.BoolVal(True), value)
