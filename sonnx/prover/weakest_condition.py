"""The weakest condition on symbols under which a rule holds, as a short text: `N == M or N == 1 or M == 1`.

The text is proved equivalent: it holds exactly where the rule does, for all values under the assumptions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import combinations
from typing import NamedTuple

import z3

from sonnx.prover.smt_values import Truth, all_of, any_of, bool_term, negate
from sonnx.prover.symbols import Symbols, value_at
from sonnx.prover.terms import constants_in, names_in
from sonnx.prover.written_conditions import MAX_CONSTANT, written_comparisons

MAX_SYMBOLS = 5
"""A condition on more symbols is not stated as a text."""


class Candidate(NamedTuple):
    """A small condition on symbols as text and as a term."""

    text: str
    term: z3.BoolRef


def weakest_condition(condition: Truth, symbols: Symbols) -> str:
    """The condition as text, "" if no short one was found."""
    if isinstance(condition, bool):
        return ""
    parts = [part for part in _conjuncts(condition) if not symbols.always_and_at_points(part)]
    whole = _stated(all_of(parts), symbols)
    if whole:
        return whole
    groups: dict[frozenset[str], list[Truth]] = {}
    for part in parts:
        groups.setdefault(frozenset(names_in(part)), []).append(part)
    found: list[str] = []
    for group in groups.values():
        text = _stated(all_of(group), symbols) or _each(group, symbols)
        if not text:
            return ""
        found.append(text)
    return _joined(dict.fromkeys(found))


def conjunction_as_text(conditions: Sequence[str], symbols: Symbols) -> str:
    """The conjunction of conditions, in one short text if there is one, else without those that the others imply."""
    terms = {each: symbols.condition(each) for each in conditions}
    short = weakest_condition(bool_term(all_of(list(terms.values()))), symbols)
    if short:
        return short
    kept = list(conditions)
    for each in conditions:
        others = [one for one in kept if one != each]
        if others and symbols.always_and_at_points(
            any_of([negate(all_of([terms[one] for one in others])), terms[each]])
        ):
            kept = others
    return _joined(kept)


def _each(group: Sequence[Truth], symbols: Symbols) -> str:
    found = [_stated(part, symbols) for part in group]
    return _joined(dict.fromkeys(found)) if all(found) else ""


def _joined(parts: dict[str, None] | Sequence[str]) -> str:
    listed = list(parts)
    return listed[0] if len(listed) == 1 else " and ".join(f"({p})" if " or " in p else p for p in listed)


def _conjuncts(condition: z3.BoolRef) -> list[z3.BoolRef]:
    simple = z3.simplify(condition)
    return [part for child in simple.children() for part in _conjuncts(child)] if z3.is_and(simple) else [simple]


def _stated(condition: Truth, symbols: Symbols) -> str:
    """As a disjunction or a conjunction of small conditions.

    Values of the symbols show without the solver which conditions cannot be parts of it, and that too few are left.
    """
    if isinstance(condition, bool) or len(names_in(condition)) > MAX_SYMBOLS:
        return ""
    holds, fails = symbols.points_where(condition)
    if not holds and symbols.ask([condition]) != z3.sat:
        return ""
    candidates = list(_candidates(condition, symbols))
    sufficient = [each for each in candidates if not any(value_at(each.term, point) for point in fails)]
    if all(any(value_at(each.term, point) is not False for each in sufficient) for point in holds):
        sufficient = [each for each in sufficient if symbols.always(any_of([negate(each.term), condition]))]
        if sufficient and symbols.always(any_of([negate(condition), *(each.term for each in sufficient)])):
            return " or ".join(each.text for each in _irredundant(sufficient, condition, symbols, any_of))
    necessary = [each for each in candidates if all(value_at(each.term, point) is not False for point in holds)]
    if all(any(not value_at(each.term, point) for each in necessary) for point in fails):
        necessary = [each for each in necessary if symbols.always(any_of([negate(condition), each.term]))]
        if necessary and symbols.always(any_of([negate(all_of([each.term for each in necessary])), condition])):
            return " and ".join(each.text for each in _irredundant(necessary, condition, symbols, all_of))
    return ""


def _irredundant(
    found: list[Candidate], condition: z3.BoolRef, symbols: Symbols, join: Callable[[Sequence[Truth]], Truth]
) -> list[Candidate]:
    """Without the candidates that add nothing; the last ones are left out first."""
    kept = list(found)
    for each in reversed(found):
        fewer = [one for one in kept if one is not each]
        joined = join([one.term for one in fewer])
        if fewer and symbols.always_and_at_points(bool_term(joined) == bool_term(condition)):
            kept = fewer
    return kept


def _candidates(condition: z3.BoolRef, symbols: Symbols) -> Iterator[Candidate]:
    """Small conditions on the symbols and constants of a condition, and its own comparisons, the simplest first."""
    involved, numbers = (
        names_in(condition),
        sorted({1, *(n for n in constants_in(condition) if 0 <= n <= MAX_CONSTANT)}),
    )
    names = [name for name in symbols.names if symbols.inner[name] in involved]
    terms = {name: symbols.numbers[name].term for name in names}
    for one, other in combinations(names, 2):
        yield Candidate(f"{one} == {other}", terms[one] == terms[other])
    for name in names:
        for number in numbers:
            yield Candidate(f"{name} == {number}", terms[name] == number)
    for name in names:
        for number in numbers:
            if number > 1:
                yield Candidate(f"{name} % {number} == 0", terms[name] % number == 0)
    for name in names:
        for number in numbers:
            yield Candidate(f"{name} >= {number}", terms[name] >= number)
            yield Candidate(f"{name} <= {number}", terms[name] <= number)
    for text, term in written_comparisons(z3.simplify(condition), {symbols.inner[name]: name for name in names}):
        yield Candidate(text, term)
    for one, other in combinations(names, 2):
        yield Candidate(f"{one} >= {other}", terms[one] >= terms[other])
        yield Candidate(f"{one} <= {other}", terms[one] <= terms[other])
    for name in names:
        for number in numbers:
            yield Candidate(f"{name} != {number}", terms[name] != number)
