"""The weakest condition on symbols under which a rule holds, in few words: `N == M or N == 1 or M == 1`.

What is stated is proved: the words hold exactly where the rule does, for all values under the assumptions.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations

import z3
from sonnx.proofs.leaves import constants_in, names_in
from sonnx.proofs.symbols import Symbols
from sonnx.proofs.truths import Truth, both, either, formula, negate

MOST = 5
"""Symbols of a condition for which words are sought."""
LARGEST = 1 << 20
"""Constants above it make no words."""

Words = tuple[str, z3.BoolRef]


def weakest(condition: Truth, symbols: Symbols) -> str:
    """The condition in words, "" where none were found."""
    if isinstance(condition, bool):
        return ""
    parts = [part for part in _conjuncts(condition) if not symbols.always(part)]
    whole = _stated(both(parts), symbols)
    if whole:
        return whole
    groups: dict[frozenset[str], list[Truth]] = {}
    for part in parts:
        groups.setdefault(frozenset(names_in(part)), []).append(part)
    found: list[str] = []
    for group in groups.values():
        said = _stated(both(group), symbols) or _each(group, symbols)
        if not said:
            return ""
        found += [said]
    return _joined(dict.fromkeys(found))


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
    """As a disjunction or a conjunction of small conditions."""
    if isinstance(condition, bool) or len(names_in(condition)) > MOST:
        return ""
    candidates = list(_candidates(condition, symbols))
    if symbols.ask([condition]) != z3.sat:
        return ""
    enough = [each for each in candidates if symbols.always(either([negate(each[1]), condition]))]
    if enough and symbols.always(either([negate(condition), *(each for _, each in enough)])):
        return " or ".join(text for text, _ in _fewest(enough, condition, symbols, either))
    needed = [each for each in candidates if symbols.always(either([negate(condition), each[1]]))]
    if needed and symbols.always(either([negate(both([each for _, each in needed])), condition])):
        return " and ".join(text for text, _ in _fewest(needed, condition, symbols, both))
    return ""


def _fewest(found: list[Words], condition: Truth, symbols: Symbols, join: object) -> list[Words]:
    """Without the words that add nothing, the last ones left out first."""
    kept = list(found)
    for each in reversed(found):
        fewer = [one for one in kept if one is not each]
        joined = join([truth for _, truth in fewer])  # type: ignore[operator]
        if fewer and symbols.always(formula(joined) == formula(condition)):
            kept = fewer
    return kept


def _candidates(condition: z3.BoolRef, symbols: Symbols) -> Iterator[Words]:
    """Small conditions on the symbols and constants of a condition, the plainest first."""
    involved, numbers = names_in(condition), sorted({1, *(n for n in constants_in(condition) if 0 <= n <= LARGEST)})
    names = [name for name in symbols.names if symbols.inner[name] in involved]
    terms = {name: symbols.numbers[name].term for name in names}
    for one, other in combinations(names, 2):
        yield f"{one} == {other}", terms[one] == terms[other]
    for name in names:
        for number in numbers:
            yield f"{name} == {number}", terms[name] == number
    for name in names:
        for number in numbers:
            if number > 1:
                yield f"{name} % {number} == 0", terms[name] % number == 0
    for name in names:
        for number in numbers:
            yield f"{name} >= {number}", terms[name] >= number
            yield f"{name} <= {number}", terms[name] <= number
    for one, other in combinations(names, 2):
        yield f"{one} >= {other}", terms[one] >= terms[other]
        yield f"{one} <= {other}", terms[one] <= terms[other]
    for name in names:
        for number in numbers:
            yield f"{name} != {number}", terms[name] != number
