"""Divisions by a number that is not constant, as quotient and remainder.

A term a / d becomes a new number q and a % d a new number r, of which Euclid's facts are known where d is positive:

    a = q * d + r,    0 <= r < d.

They hold of what they stand for, so what follows from them holds; and no solver has to divide.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import z3
from sonnx.proofs.proxies import Term
from sonnx.proofs.theorem import Obligation

_KINDS = (z3.Z3_OP_IDIV, z3.Z3_OP_MOD)


def euclid(obligations: Iterable[Obligation]) -> Iterator[Obligation]:
    """The same questions without a division by what is not constant."""
    for each in obligations:
        yield _euclid(each)


def _euclid(asked: Obligation) -> Obligation:
    places = list(dict.fromkeys(_pairs([*asked.hypotheses, asked.goal])))
    if not places:
        return asked
    known, facts = [], []
    for number, (a, d) in enumerate(places):
        q, r = z3.Ints(f"quotient.{number} remainder.{number}")
        known += [(a / d, q), (a % d, r)]
        facts.append(z3.Implies(d > 0, z3.And(a == q * d + r, r >= 0, r < d)))
    made = [z3.substitute(each, *known) for each in (*asked.hypotheses, *facts, asked.goal)]
    return Obligation(asked.name, tuple(made[:-1]), made[-1])


def _pairs(terms: Iterable[Term]) -> Iterator[tuple[Term, Term]]:
    """Dividend and divisor of every division, each term looked at once."""
    pending, seen = list(terms), set()
    while pending:
        term = pending.pop()
        if term.get_id() in seen:
            continue
        seen.add(term.get_id())
        pending += term.children()
        if z3.is_app(term) and term.decl().kind() in _KINDS and not z3.is_int_value(term.arg(1)):
            yield term.arg(0), term.arg(1)
