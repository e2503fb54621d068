"""Broadcasting any number of shapes of any rank, as the words of the rules say it.

`RANK(m)` and `DIM(m, j)` are arbitrary functions: the shapes X0, X1, …  The words are read from their source; a claim
of all axes and inputs is used at the indices that matter and proved at arbitrary ones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial

import z3

from sonnx.language import builtins
from sonnx.language.domain import BuiltIn
from sonnx.proofs.axis import joined
from sonnx.prover.symbolic_execution import Term
from sonnx.prover.theorem import Mutant, Obligation, Theorem
from sonnx.prover.word_terms import Items, Terms, reworded

INTEGER = z3.IntSort()
RANK, DIM = z3.Function("rank", INTEGER, INTEGER), z3.Function("dim", INTEGER, INTEGER, INTEGER)
COUNT = z3.Int("N")
SHAPES = Items(COUNT, lambda m: Items(RANK(m), lambda j: DIM(m, j)))
Known = Mapping[str, BuiltIn] | None


def shape(m: Term) -> Items:
    """The shape of input m."""
    found: Items = SHAPES.at(m)
    return found


class Setting:
    """One arbitrary axis `k` counted from the last, two arbitrary inputs `p` and `q`, and the words read for them."""

    def __init__(self, known: Known = None) -> None:
        self.terms = Terms(known)
        self.k, self.p, self.q = z3.Ints("k p q")
        self.widest = self.terms.read("widest", SHAPES)

    def aligned(self, m: Term) -> Term:
        """The extent of input m on the axis."""
        return self.terms.read("aligned", shape(m), self.k)

    def known(self, least: int, *inputs: Term) -> list[z3.BoolRef]:
        """The axis and the inputs exist, and these extents are at least so large."""
        inside = [z3.And(self.k >= 0, self.k < self.widest), COUNT >= 1]
        for m in inputs:
            inside += [SHAPES.inside(m), RANK(m) >= 0, self.aligned(m) >= least]
        return inside

    def pair(self, m: Term, n: Term) -> z3.BoolRef:
        """Two inputs join on the axis, as the code that runs says."""
        defined: z3.BoolRef = joined(builtins.join, self.aligned(m), self.aligned(n)).defined
        return defined


def by_pairs(known: Known = None, least: int = 1) -> Iterator[Obligation]:
    """Not E1, for all inputs together, is the join of every two; extents of at least 1."""
    s = Setting(known)
    together = s.terms.read("broadcastable", SHAPES)
    hypotheses = s.known(least, s.p, s.q)
    both = [together.instance(s.k, each) for each in (s.p, s.q)]
    (most, _, place), *_ = [each for each in s.terms.largest.values() if not each[0].eq(s.widest)]
    yield Obligation("together, so each two", (*hypotheses, *both), s.pair(s.p, s.q))
    facts = [*s.terms.bounds(most, s.p), *s.known(least, place), s.pair(s.p, place)]
    yield Obligation("each two, so together", (*hypotheses, *facts), together.instance(s.k, s.p))


def onnx_by_pairs(known: Known = None) -> Iterator[Obligation]:
    """The rule of ONNX and NumPy is the join of every two, whatever the extents, 0 too."""
    s = Setting(known)
    together = s.terms.read("onnx_broadcastable", SHAPES)
    both = [together.instance(s.k, each) for each in (s.p, s.q)]
    ((_, first),) = s.terms.firsts.values()
    facts = s.terms.earliest(s.p, s.q)
    hypotheses = (*s.known(0, s.p, s.q), *facts)
    yield Obligation("together, so each two", (*hypotheses, *both), s.pair(s.p, s.q))
    yield Obligation("each two, so together", (*hypotheses, s.pair(s.p, first)), together.instance(s.k, s.p))


def profile_restricts(known: Known = None) -> Iterator[Obligation]:
    """What the profile accepts, ONNX accepts; for extents of at least 1 they are one rule."""
    s = Setting(known)
    profile, onnx = (s.terms.read(word, SHAPES) for word in ("broadcastable", "onnx_broadcastable"))
    at_p, onnx_at_p = profile.instance(s.k, s.p), onnx.instance(s.k, s.p)
    ((_, first),) = s.terms.firsts.values()
    (most, _, place), *_ = [each for each in s.terms.largest.values() if not each[0].eq(s.widest)]
    facts = (*s.known(0, s.p), *s.terms.earliest(s.p))
    yield Obligation("restricts", (*facts, at_p, profile.instance(s.k, first)), onnx_at_p)
    facts = (*s.known(1, s.p, place), *s.terms.earliest(s.p, place), *s.terms.bounds(most, s.p))
    yield Obligation("one rule", (*facts, onnx_at_p, onnx.instance(s.k, place)), at_p)


def axis_rules(known: Known = None, shift: int = 0) -> Iterator[Obligation]:
    """RI, RJ, … and E1 of the text, with leading ones written out and indices from the first, are the word."""
    s = Setting(known)
    together = s.terms.read("broadcastable", SHAPES)
    i = s.widest - 1 - s.k
    at_p = together.instance(s.k, s.p)
    (most, items, _), *_ = [each for each in s.terms.largest.values() if not each[0].eq(s.widest)]

    def padded(m: Term) -> Term:
        leading = s.widest - RANK(m) + shift
        return z3.If(i < leading, 1, DIM(m, i - leading))

    hypotheses = (*s.known(0, s.p), *s.terms.bounds(s.widest, s.p))
    yield Obligation("padding is alignment", hypotheses, padded(s.p) == s.aligned(s.p))
    printed = z3.Or(padded(s.p) == most, padded(s.p) == 1)
    yield Obligation("same condition", hypotheses, at_p == printed)
    yield Obligation("same extents", hypotheses, items.at(s.p) == padded(s.p))


Claim = Callable[..., Iterable[Obligation]]


def reworded_mutants(claim: Claim, **changes: tuple[str, str]) -> tuple[Mutant, ...]:
    return tuple(Mutant(name.replace("_", " "), partial(claim, reworded(*change))) for name, change in changes.items())


MISALIGNED = ("shape[len(shape) - 1 - k]", "shape[k]")
NO_STRETCH = ("extent == common or extent == 1", "extent == common")
ANY = ("extent == common or extent == 1", "extent == common or extent <= 2")
ONES_KEPT = ("if extent != 1]", "if extent != 2]")
SHORTER = ("if k < len(shape) else 1", "if k < len(shape) else 0")

STATED = [
    ("by-pairs", "Shapes are broadcastable together just where each two are; extents of at least 1.",
     "¬E1(X0, …, XL) ⇔ ∀m, n. Xm and Xn join on every axis", by_pairs,
     {"two_also_stretches": ANY, "nothing_stretches": NO_STRETCH}),
    ("onnx-by-pairs", "The rule of ONNX and NumPy for all shapes together is that of each two, with extents of 0 too.",
     "∀k. the extents that are not 1 are equal ⇔ ∀m, n. Xm and Xn join", onnx_by_pairs, {"ones_count": ONES_KEPT}),
    ("profile-restricts", "What the profile accepts ONNX accepts; for extents of at least 1 the two rules are one.",
     "broadcastable ⇒ onnx_broadcastable", profile_restricts,
     {"two_also_stretches": ANY, "nothing_stretches": NO_STRETCH}),
    ("axis-rules-are-broadcastable", "E1 and RI, RJ, … with leading ones written out are the word that runs.",
     "¬∃m, i. dYm_i ≠ dY_i ∧ dYm_i ≠ 1 ⇔ broadcastable", axis_rules,
     {"from_the_first": MISALIGNED, "missing_axes_are_0": SHORTER, "nothing_stretches": NO_STRETCH}),
]  # fmt: skip


def theorems() -> Iterator[Theorem]:
    """Any number of shapes of any rank."""
    about = (
        builtins.aligned,
        builtins.along,
        builtins.widest,
        builtins.agree,
        builtins.broadcastable,
        builtins.onnx_broadcastable,
    )
    for name, statement, formula, claim, changes in STATED:
        yield Theorem(f"broadcast.{name}", statement, formula, claim, about, mutants=reworded_mutants(claim, **changes))
