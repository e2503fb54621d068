"""The list of narrowings of a pair of models: which values have fewer digits in one of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Literal

from msgspec.structs import replace

from sonnx.equivalence.result import Narrowing
from sonnx.equivalence.terms.narrowed_numbers import DIGITS
from sonnx.equivalence.terms.narrowings import below_narrowed
from sonnx.equivalence.terms.store import Store, Term
from sonnx.equivalence.unmatched import term_name
from sonnx.equivalence.walk import Walk

Values = tuple[Mapping[str, Term], Mapping[str, Term]]
"""The terms of the values of both models, by name."""


def narrowings_of(
    walk: Walk, values: Values, names: tuple[Mapping[int, str], Mapping[int, str]], as_typed: Values
) -> Iterator[Narrowing]:
    """Each value that one model has in a narrower type, or passes through integers, with its partner.

    Args:
        walk: the comparison in which narrower types are taken as wide ones.
        values: the terms of that comparison.
        names: the first name of each term in both models.
        as_typed: the terms in their own types.
    """
    partners: tuple[dict[int, int], dict[int, int]] = ({}, {})
    for pair in walk.matched_pairs():
        partners[0].setdefault(*pair)
        partners[1].setdefault(*reversed(pair))
    for own in (0, 1):
        for name, term in values[own].items():
            typed = as_typed[own].get(name)
            narrowing = _of(walk.store, term, typed)
            if narrowing is None:
                continue
            number = partners[own].get(term.number, term.number)
            partner = names[1 - own].get(number) or (name if name in values[1 - own] else "")
            theirs = as_typed[1 - own].get(partner)
            if theirs is not None and narrowing.quantum is None and theirs.facts.type == narrowing.format:
                continue
            other = partner or term_name(term, {})
            first, second = (name, other) if own == 0 else (other, name)
            yield replace(narrowing, first=first, second=second, narrower="second" if own else "first")


def _of(store: Store, term: Term, typed: Term | None) -> Narrowing | None:
    """How a value is narrowed, without its names; None where it is not.  `typed` is the value in its own type, None
    where only the comparison without narrowings has it.
    """
    narrowed, below = store.narrowing_of(term), below_narrowed(term)
    if narrowed is not None:
        return Narrowing("", "", "first", "constant", narrowed.element, narrowed.quantum)
    if below is not None:
        key = below[1]
        if key.quantum is None:
            return Narrowing("", "", "first", "value", key.element)
        return Narrowing("", "", "first", "value", key.element, key.quantum, key.low, key.high)
    if typed is None or typed.facts.type not in DIGITS:
        return None
    kind: Literal["constant", "input", "value"]
    kind = "constant" if typed.is_constant else "input" if typed.operator == "input" else "value"
    return Narrowing("", "", "first", kind, str(typed.facts.type))
