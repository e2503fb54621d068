"""The weakest condition on symbols under which a rule holds, as a short text: `N == M or N == 1 or M == 1`.

A text is stated only if its own interpretation is proved equivalent: it is parsed, and the parsed condition holds
exactly where the rule does, for all values under the assumptions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import combinations
from typing import NamedTuple

import z3

from sonnx.prover.smt_values import Truth, all_of, any_of, bool_term, negate
from sonnx.prover.symbols import Symbols, value_at
from sonnx.prover.terms import constants_in, names_in
from sonnx.prover.written_conditions import MAX_CONSTANT, written_comparisons

MAX_SYMBOLS = 5
"""A condition on more symbols is not stated as a text."""
Join = Callable[[Sequence[Truth]], Truth]


class Candidate(NamedTuple):
    """A condition on symbols as text, and what the text says as a term."""

    text: str
    term: z3.BoolRef


def weakest_condition(condition: Truth, symbols: Symbols) -> str:
    """The condition as text, "" if no short one was found."""
    if isinstance(condition, bool):
        return ""
    parts = [part for part in _conjuncts(condition) if not symbols.always_and_at_points(part)]
    text = _stated(all_of(parts), symbols) or _by_symbols(parts, symbols)
    return text if text and is_equivalent(text, all_of(parts), symbols) else ""


def is_equivalent(text: str, condition: Truth, symbols: Symbols) -> bool:
    """Whether what a text says is proved to hold exactly where the condition does."""
    return symbols.always(bool_term(symbols.condition(text)) == bool_term(condition))


def conjunction_as_text(texts: Iterable[str], symbols: Symbols) -> str:
    """The conjunction of conditions, in one short text if there is one, else without those that the others imply."""
    terms = {text: symbols.condition(text) for text in texts}
    short = weakest_condition(all_of(list(terms.values())), symbols) if len(terms) > 1 else ""
    return short or _joined(without_implied(terms, symbols))


def without_implied(terms: dict[str, Truth], symbols: Symbols) -> list[str]:
    """The texts of the conditions that the others and the assumptions do not imply."""
    kept = list(terms)
    for text, term in terms.items():
        others = [another for another in kept if another != text]
        if others and symbols.always_and_at_points(
            any_of([negate(all_of([terms[another] for another in others])), term])
        ):
            kept = others
    return kept


def _by_symbols(parts: Sequence[z3.BoolRef], symbols: Symbols) -> str:
    """The conjunction of parts, those about the same symbols stated together; "" if one has no text."""
    groups: dict[frozenset[str], list[Truth]] = {}
    for part in parts:
        groups.setdefault(frozenset(names_in(part)), []).append(part)
    texts: list[str] = []
    for group in groups.values():
        together = _stated(all_of(group), symbols)
        texts += [together] if together else [_stated(part, symbols) for part in group]
    if "" in texts:
        return ""
    return _joined(without_implied({text: symbols.condition(text) for text in texts}, symbols))


def _joined(parts: Iterable[str]) -> str:
    listed = list(parts)
    return listed[0] if len(listed) == 1 else " and ".join(f"({part})" if " or " in part else part for part in listed)


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
    sufficient = [candidate for candidate in candidates if not any(value_at(candidate.term, point) for point in fails)]
    if all(any(value_at(candidate.term, point) is not False for candidate in sufficient) for point in holds):
        sufficient = [
            candidate for candidate in sufficient if symbols.always(any_of([negate(candidate.term), condition]))
        ]
        sufficient = [candidate for candidate in sufficient if not symbols.always_and_at_points(negate(candidate.term))]
        if sufficient and symbols.always(any_of([negate(condition), *(candidate.term for candidate in sufficient)])):
            return " or ".join(candidate.text for candidate in _irredundant(sufficient, condition, symbols, any_of))
    necessary = [
        candidate for candidate in candidates if all(value_at(candidate.term, point) is not False for point in holds)
    ]
    if all(any(not value_at(candidate.term, point) for candidate in necessary) for point in fails):
        necessary = [
            candidate for candidate in necessary if symbols.always(any_of([negate(condition), candidate.term]))
        ]
        necessary = [candidate for candidate in necessary if not symbols.always_and_at_points(candidate.term)]
        if necessary and symbols.always(
            any_of([negate(all_of([candidate.term for candidate in necessary])), condition])
        ):
            return " and ".join(candidate.text for candidate in _irredundant(necessary, condition, symbols, all_of))
    return ""


def _irredundant(candidates: list[Candidate], condition: z3.BoolRef, symbols: Symbols, join: Join) -> list[Candidate]:
    """Without the candidates that add nothing; the last ones are left out first."""
    kept = list(candidates)
    for candidate in reversed(candidates):
        fewer = [other for other in kept if other is not candidate]
        joined = join([other.term for other in fewer])
        if fewer and symbols.always_and_at_points(bool_term(joined) == bool_term(condition)):
            kept = fewer
    return kept


def _candidates(condition: z3.BoolRef, symbols: Symbols) -> Iterator[Candidate]:
    """What the texts say that the assumptions do not decide by themselves."""
    for text in dict.fromkeys(_texts(condition, symbols)):
        term = symbols.condition(text)
        if not isinstance(term, bool):
            yield Candidate(text, term)


def _texts(condition: z3.BoolRef, symbols: Symbols) -> Iterator[str]:
    """Small conditions on the symbols and constants of a condition, and its own comparisons, the simplest first."""
    involved = names_in(condition)
    numbers = sorted({1, *(number for number in constants_in(condition) if 0 <= number <= MAX_CONSTANT)})
    names = [symbols.written[name] for name in symbols.names if symbols.inner[name] in involved]
    pairs = list(combinations(names, 2))
    yield from (f"{left} == {right}" for left, right in pairs)
    yield from (f"{name} == {number}" for name in names for number in numbers)
    yield from (f"{name} % {number} == 0" for name in names for number in numbers if number > 1)
    for name in names:
        for number in numbers:
            yield f"{name} >= {number}"
            yield f"{name} <= {number}"
    yield from written_comparisons(
        z3.simplify(condition), {symbols.inner[name]: symbols.written[name] for name in symbols.names}
    )
    for left, right in pairs:
        yield f"{left} >= {right}"
        yield f"{left} <= {right}"
    for name in names:
        for number in numbers:
            yield f"{name} >= {number + 1}"
            yield f"{name} <= {number - 1}"
            yield f"{name} != {number}"
