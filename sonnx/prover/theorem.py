"""What a theorem is: a statement for people, obligations for solvers, and mutants that the obligations must refute."""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from types import CodeType, FunctionType
from typing import Any, Literal, NamedTuple

import z3

Sort = Literal["int", "bits", "float"]
"""The theory of an obligation: integers (and reals), bit-vectors, or floating point."""
Status = Literal["proved", "refuted", "found"]
Domain = Literal["integers", "reals", "bits of named formats"]
"""What the variables of a theorem stand for."""
Scope = Literal["any size", "finite domain", "bounded"]
"""How far a theorem reaches: all of its domain, all of a domain that is finite and named, or a part of it."""
Counterexample = Mapping[str, int]
"""The values of the constants of a refuted obligation by name: integers, bit patterns as unsigned, bools as 0 and 1."""
Replay = Callable[[Counterexample], str]
"""Runs the real code on a counterexample and describes the result in one sentence, or raises `ReplayFailed`."""


class ReplayFailed(AssertionError):
    """The real code does not show what the solver found; the message states the difference."""


@dataclass(frozen=True)
class Obligation:
    """One question for a solver: do the hypotheses imply the goal?  Free of quantifiers wherever possible.

    No solver is asked if the obligation is `computed`: the reason why it holds by the form of the texts.
    """

    name: str
    hypotheses: tuple[z3.BoolRef, ...]
    goal: z3.BoolRef
    computed: str = ""

    @property
    def trivial(self) -> str:
        """Why a solver's answer would say nothing, "" if it says something."""
        if z3.is_true(self.goal):
            return "the goal is the constant true"
        if any(self.goal.eq(hypothesis) for hypothesis in self.hypotheses):
            return "the goal is one of the hypotheses"
        reflexive = z3.is_eq(self.goal) or z3.is_le(self.goal) or z3.is_ge(self.goal)
        return "both sides of the goal are the same" if reflexive and self.goal.arg(0).eq(self.goal.arg(1)) else ""


def by_form(obligation: Obligation) -> Obligation:
    """The obligation, computed if the form of the texts it is about decides it: a solver's answer would say nothing."""
    return replace(obligation, computed=obligation.trivial)


ObligationFactory = Callable[[], Iterable[Obligation]]
"""Makes the obligations of a theorem or mutant when they are needed."""
Claim = Callable[..., Iterable[Obligation]]
"""Makes obligations about a definition; mutants give another definition."""


class Mutant(NamedTuple):
    """The obligations of a theorem for a changed definition; at least one must be refuted."""

    name: str
    obligations: ObligationFactory


@dataclass(frozen=True)
class Theorem:
    """A claim with the obligations that decide it.

    It is proved if every obligation is proved, refuted if one is refuted, else undecided.  `expected` is "refuted" for
    a false statement of a text; `erratum` then names the entry of restrictions/errata.toml.  It is "found" for a
    witness: the values that refute an obligation are what the statement says there is.
    """

    id: str
    """A permanent slug that begins with its topic, such as `order.transitive`."""
    statement: str
    """One sentence for people."""
    formula: str
    """The same as a formula, in the notation of the standard."""
    obligations: ObligationFactory
    sources: tuple[Callable[..., Any] | str, ...] = ()
    """The functions or expressions the theorem is about; the certificate contains the hash of their source text."""
    expected: Status = "proved"
    bounds: str = ""
    """The bounds of the claim, such as "rank <= 4"; "" if it has none.  The statement says them too.

    Where the variables are patterns of named formats or types, these names: no pattern of theirs is left out.
    """
    bound_reason: str = ""
    """Why the claim is bounded: what it is about that needs the bound; "" if it is not."""
    any_size: str = ""
    """Why the claim has no bound although its obligations are about calls of bounded size; "" if they are not."""
    sort: Sort = "int"
    """The theory of the obligations: it decides which second solver can confirm them."""
    reals: bool = False
    """Its variables are real numbers, also where the sentence is about floating-point numbers."""
    induction: str = ""
    """The induction from the obligations to the sentence: a lemma of Why3 or Coq, or prose; "" if it needs none."""
    reason_single: str = ""
    """Why no second solver confirms the theorem; "" if one does."""
    replay: Replay | None = None
    """For a refuted theorem: confirms the counterexample on the code that runs."""
    mutants: tuple[Mutant, ...] = ()
    because: str = ""
    """Why the theorem matters, or why it is refuted."""
    erratum: str = ""
    concerns: tuple[str, ...] = ()
    """Operators or rules the theorem is about, besides those that use its functions or name its erratum."""

    @property
    def domain(self) -> Domain:
        """What its variables stand for."""
        return "bits of named formats" if self.sort != "int" else "reals" if self.reals else "integers"

    @property
    def scope(self) -> Scope:
        """Whether it covers its whole domain, a finite domain, or a part of its domain."""
        if not self.bounds:
            return "any size"
        return "finite domain" if self.sort != "int" and not self.bound_reason else "bounded"

    @property
    def size(self) -> str:
        """Its bounds, or "any" without one."""
        return self.bounds or "any"


def mutated(function: Callable[..., Any], old: str, new: str, **names: Any) -> Callable[..., Any]:
    """The function with one place of its source text changed, and names it uses replaced.

    Raises:
        ValueError: if the text does not contain `old` exactly once.
    """
    assert isinstance(function, FunctionType)  # noqa: S101  only functions have a source text and defaults
    source = textwrap.dedent(inspect.getsource(function))
    if source.count(old) != 1:
        raise ValueError(f"{function.__name__} contains {old!r} {source.count(old)} times")
    module = compile(source.replace(old, new), f"<mutant of {function.__name__}>", "exec")
    codes = {constant.co_name: constant for constant in module.co_consts if isinstance(constant, CodeType)}
    changed = FunctionType(codes[function.__name__], {**function.__globals__, **names}, argdefs=function.__defaults__)
    changed.__kwdefaults__ = function.__kwdefaults__
    return changed
