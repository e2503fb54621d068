"""Where two models stop to match: the pair of values to look at first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sonnx.equivalence.result import Unmatched
from sonnx.equivalence.terms.store import Term
from sonnx.equivalence.walk import Mismatch

MAX_MISMATCHES = 512
"""Mismatches that are looked at."""


def term_name(term: Term, names: Mapping[int, str]) -> str:
    """The name that a model gives a term, or the operator that computes it."""
    name = names.get(term.number)
    if name is not None:
        return name
    return f"a value of {term.origin or term.operator}" if term.operator != "moved" else "moved elements"


def first_unmatched(
    mismatches: Sequence[Mismatch], names: tuple[Mapping[int, str], Mapping[int, str]]
) -> Unmatched | None:
    """The pair that did not match by itself with the most equal ancestors, the first of several.

    Args:
        mismatches: in the order in which they were found.
        names: the names of terms in both models, by their numbers.
    """
    best = next(iter(ranked(mismatches)), None)
    if best is None:
        return None
    share, _ = _likeness(best, {})
    return Unmatched(term_name(best.first, names[0]), term_name(best.second, names[1]), best.reason, round(share, 4))


def ranked(mismatches: Sequence[Mismatch]) -> list[Mismatch]:
    """The pairs that did not match by themselves, those with the most equal ancestors first."""
    ancestors: dict[int, frozenset[int]] = {}
    looked_at = mismatches[:MAX_MISMATCHES]
    likeness = [_likeness(mismatch, ancestors) for mismatch in looked_at]
    order = sorted(range(len(likeness)), key=lambda index: likeness[index], reverse=True)
    return [looked_at[index] for index in order]


def _likeness(mismatch: Mismatch, known: dict[int, frozenset[int]]) -> tuple[float, int]:
    """The share of equal ancestors, and whether one operator computes both."""
    first, second = (_ancestors(term, known) for term in (mismatch.first, mismatch.second))
    every = first | second
    alike = mismatch.first.operator == mismatch.second.operator
    return (len(first & second) / len(every) if every else 0.0), int(alike)


def _ancestors(term: Term, known: dict[int, frozenset[int]]) -> frozenset[int]:
    if term.number not in known:
        seen, waiting = {term.number}, [term]
        while waiting:
            for operand in waiting.pop().inputs:
                if operand is not None and operand.number not in seen:
                    seen.add(operand.number)
                    waiting.append(operand)
        known[term.number] = frozenset(seen)
    return known[term.number]
