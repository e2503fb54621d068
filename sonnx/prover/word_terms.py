"""The reading of words as terms of Z3, for lists of any length: a list is its length and a function of the index.

Nothing here needs a quantifier.  `all(...)` becomes an `Every`, which is used at chosen indices and proved at arbitrary
ones; `max(...)` becomes a new number with two facts, that it bounds any item asked about and is one of them; a filter
becomes a guard, and the first item it leaves a new index.  What is not read exactly is refused.
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
from sonnx.language.parser import _read_word, words
from sonnx.prover.symbolic_execution import Refused, Term
from sonnx.prover.theorem import every, some

_ARITHMETIC = {"+": add, "-": sub, "*": mul, "//": truediv, "%": mod}
"""Signs on terms: / of integers is z3's division, which rounds down where the divisor is positive, as % does.

That it is positive is proved where the code of the word is run (`proxies.Whole.divisor`); no word on lists divides."""
_ORDER = {"<": lt, "<=": le, ">": gt, ">=": ge}


@dataclass(frozen=True)
class Items:
    """A list: `at(i)` for 0 <= i < length, of which only those that meet `where` belong to it."""

    length: Term
    at: Callable[[Term], Term]
    where: Callable[[Term], z3.BoolRef] | None = None

    def inside(self, i: Term) -> z3.BoolRef:
        """I is the index of an item."""
        within = z3.And(i >= 0, i < self.length)
        return within if self.where is None else z3.And(within, self.where(self.at(i)))


@dataclass(frozen=True)
class Every:
    """A claim of all items."""

    items: Items
    body: Callable[[Term], Term]
    guards: tuple[z3.BoolRef, ...] = ()

    def instance(self, *indices: Term) -> Term:
        """The claim at these indices, one for each nested `all`."""
        index, *rest = indices
        guards, value = (*self.guards, self.items.inside(index)), self.body(self.items.at(index))
        if isinstance(value, Every):
            return Every(value.items, value.body, (*guards, *value.guards)).instance(*rest)
        return z3.Implies(every(guards), value)


@dataclass(frozen=True)
class Partial:
    """A value that a word gives under a condition only."""

    defined: z3.BoolRef
    value: Term


@dataclass(frozen=True)
class Fold:
    """`reduce(word, items, start)`: a theorem about it is base, step and invariant."""

    word: BuiltIn
    items: Items
    start: Term


class Terms:
    """The domain; one object for each claim, because the new numbers and their facts are kept in it."""

    def __init__(self, known: Mapping[str, BuiltIn] | None = None) -> None:
        self.known = words() if known is None else known
        self.largest: dict[str, tuple[Term, Items, Term]] = {}
        self.firsts: dict[str, tuple[Items, Term]] = {}

    def read(self, word: str, *arguments: Term) -> Term:
        """A word on terms and lists."""
        return self.known[word].interpret(self, arguments)

    def bounds(self, term: Term, *indices: Term) -> list[z3.BoolRef]:
        """Facts of a `max`: it is one of the items, and bounds those at the indices."""
        _, items, place = next(each for each in self.largest.values() if each[0].eq(term))
        attained = z3.Implies(items.length >= 1, z3.And(items.inside(place), items.at(place) == term))
        return [attained, *(z3.Implies(items.inside(i), items.at(i) <= term) for i in indices)]

    def earliest(self, *indices: Term) -> list[z3.BoolRef]:
        """Facts of every first item used: where an index meets the filter there is a first one, not behind it."""
        return [
            z3.Implies(items.inside(i), z3.And(items.inside(first), first <= i))
            for items, first in self.firsts.values()
            for i in indices
        ]

    def constant(self, value: int | str) -> Term:
        if isinstance(value, str):
            raise Refused(f"the string {value!r} is no number")
        return z3.IntVal(value)

    def listing(self, items: Sequence[Term]) -> Items:
        def at(i: Term) -> Term:
            found = items[-1]
            for place in range(len(items) - 2, -1, -1):
                found = z3.If(i == place, items[place], found)
            return found

        return Items(z3.IntVal(len(items)), at)

    def item(self, sequence: Items, index: Term) -> Term:
        if sequence.where is None:
            return sequence.at(index)
        if not z3.simplify(index).eq(z3.IntVal(0)):
            raise Refused("only the first item of a filtered list is read")
        return sequence.at(self._first(sequence))

    def arithmetic(self, sign: str, left: Term, right: Term) -> Term:
        if sign not in _ARITHMETIC or isinstance(left, Items) or isinstance(right, Items):
            raise Refused(f"{sign} is not read here")
        return _ARITHMETIC[sign](left, right)

    def negative(self, value: Term) -> Term:
        return -value

    def compare(self, sign: str, left: Term, right: Term) -> Term:
        if isinstance(left, Items) or isinstance(right, Items) or sign in ("in", "not in"):
            raise Refused(f"{sign} of lists is not read here")
        if sign in _ORDER:
            return _ORDER[sign](left, right)
        return left == right if sign == "==" else left != right

    def conjunction(self, parts: Sequence[Thunk]) -> Term:
        return every(self._truth(part()) for part in parts)

    def disjunction(self, parts: Sequence[Thunk]) -> Term:
        return some(self._truth(part()) for part in parts)

    def negation(self, value: Term) -> Term:
        return z3.Not(self._truth(value))

    def choice(self, condition: Term, then: Thunk, otherwise: Thunk) -> Term:
        one, other = then(), otherwise()
        if not isinstance(one, Partial) and not isinstance(other, Partial):
            return z3.If(condition, one, other)
        one, other = _partial(one), _partial(other)
        defined = z3.If(condition, one.defined, other.defined)
        if one.value is None or other.value is None:
            return Partial(defined, other.value if one.value is None else one.value)
        return Partial(defined, z3.If(condition, one.value, other.value))

    def quantify(self, name: str, variable: str, sequence: Items, body: Callable[[Term], Term]) -> Every:
        if name != "all":
            raise Refused("any(...) is not read here")
        return Every(sequence, body)

    def collect(
        self, variable: str, sequence: Items, body: Callable[[Term], Term], where: Callable[[Term], Term] | None
    ) -> Items:
        if where is None and sequence.where is None:
            return Items(sequence.length, lambda i: body(sequence.at(i)))
        if sequence.where is not None or not z3.eq(body(probe := z3.Int("probe")), probe):
            raise Refused("a filtered list is read where it keeps its items as they are")
        return Items(sequence.length, sequence.at, where)

    def function(self, name: str, arguments: Sequence[Term]) -> Term:
        match name, arguments:
            case "len", [Items(where=None) as items]:
                return items.length
            case "range", [length]:
                return Items(length, lambda i: i)
            case "max", [Items(where=None) as items]:
                return self._largest(items)
        raise Refused(f"{name} is not read here")

    def word(self, word: BuiltIn, arguments: Sequence[Term]) -> Term:
        return word.interpret(self, arguments)

    def fold(self, word: BuiltIn, sequence: Items, start: Term) -> Fold:
        return Fold(word, sequence, start)

    def undefined(self, reason: str) -> Partial:
        return Partial(z3.BoolVal(False), None)

    def _refuse(self, *_: Term) -> Term:
        raise Refused("this construct is not read here")

    field = part = flatten = _refuse

    def _truth(self, value: Term) -> z3.BoolRef:
        if not z3.is_bool(value):
            raise Refused("an all(...) inside a condition is not read here")
        return value

    def _largest(self, items: Items) -> Term:
        key = _key(items)
        if key not in self.largest:
            number = len(self.largest)
            self.largest[key] = (z3.Int(f"largest.{number}"), items, z3.Int(f"place.{number}"))
        return self.largest[key][0]

    def _first(self, items: Items) -> Term:
        key = _key(items)
        self.firsts.setdefault(key, (items, z3.Int(f"first.{len(self.firsts)}")))
        return self.firsts[key][1]


def reworded(old: str, new: str) -> Mapping[str, BuiltIn]:
    """All words with one place of their source changed: mutants."""
    text = inspect.getsource(module)
    if text.count(old) != 1:
        raise ValueError(f"{old!r} stands {text.count(old)} times in the words")
    known: dict[str, BuiltIn] = {}
    for tree in ast.parse(text.replace(old, new)).body:
        if isinstance(tree, ast.FunctionDef):
            known[tree.name] = _read_word(tree, ast.unparse(tree), known)
    return known


def _key(items: Items) -> str:
    """Equal for lists of equal length and equal items."""
    return f"{items.length.sexpr()} {items.at(z3.Int('probe')).sexpr()}"


def _partial(value: Term) -> Partial:
    return value if isinstance(value, Partial) else Partial(z3.BoolVal(True), value)
