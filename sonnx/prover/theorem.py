"""What a theorem is: a statement for people, obligations for a solver, and mutants that show it says something.

Each module of this folder that states theorems has a function `theorems() -> Iterator[Theorem]`; the driver finds it by
walking the folder.  A constant `CONCERNS` of a module names the operators all its theorems bear on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import z3

Counterexample = Mapping[str, int]
"""The values of the constants of a refuted obligation by name: integers, bit patterns as unsigned, bools as 0 and 1."""
Replay = Callable[[Counterexample], str]
"""Runs the real code on a counterexample: one sentence that says what came out, or raises `Unconfirmed`."""


class Unconfirmed(AssertionError):
    """The real code does not show what the solver found; the message says the difference."""


@dataclass(frozen=True)
class Obligation:
    """One question for a solver: do the hypotheses imply the goal?  Free of quantifiers wherever possible."""

    name: str
    hypotheses: tuple[z3.BoolRef, ...]
    goal: z3.BoolRef


Obligations = Callable[[], Iterable[Obligation]]


class Mutant(NamedTuple):
    """The obligations of a theorem about a changed definition; at least one must be refuted."""

    name: str
    obligations: Obligations


@dataclass(frozen=True)
class Theorem:
    """A claim and how it is asked.

    It is proved where every obligation is, refuted where one is, else undecided.  `expected` "refuted" is for what a
    text states and is false; `erratum` then names the entry of restrictions/errata.toml.
    """

    id: str
    """A slug with its topic first, such as `order.transitive`."""
    statement: str
    """One sentence for people."""
    formula: str
    """The same as a formula, in the signs of the standard."""
    obligations: Obligations
    sources: tuple[Callable[..., Any] | str, ...] = ()
    """The functions the theorem is about, or texts; the certificate names the hash of their source text."""
    expected: Literal["proved", "refuted"] = "proved"
    bounds: str = ""
    """What the claim is bounded to, such as "rank <= 4"; "" where it is for all."""
    sort: Literal["int", "bits", "float"] = "int"
    """The theory of the obligations: it decides which other solvers can confirm them."""
    reason_single: str = ""
    """Why no second solver confirms the theorem; "" where one does."""
    replay: Replay | None = None
    """For what is refuted: confirms the counterexample on the code that runs."""
    mutants: tuple[Mutant, ...] = ()
    because: str = ""
    """Why the theorem matters, or why it is refuted."""
    erratum: str = ""
    concerns: tuple[str, ...] = ()
    """Operators or rules the theorem bears on, beside those that use its words or name its erratum."""


def every(parts: Iterable[z3.BoolRef]) -> z3.BoolRef:
    """The conjunction; of one part the part itself and of none true, because SMT-LIB has no conjunction of these."""
    found = list(parts)
    return z3.BoolVal(True) if not found else found[0] if len(found) == 1 else z3.And(found)


def some(parts: Iterable[z3.BoolRef]) -> z3.BoolRef:
    """The disjunction; of one part the part itself, of none false."""
    found = list(parts)
    return z3.BoolVal(False) if not found else found[0] if len(found) == 1 else z3.Or(found)
