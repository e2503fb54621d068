"""Broadcasting any number of shapes of any rank: the conditions of the rules, and the fold that computes the shape.

`RANK(m)` and `DIM(m, j)` are arbitrary functions: the shapes X0, X1, …  The built-in functions are interpreted from
their source; a claim about all axes and inputs is used at the indices that matter and proved at arbitrary ones.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

import z3

from sonnx.language import builtins
from sonnx.language.domain import BuiltIn
from sonnx.proofs.broadcast_axis import FIRST, NO_ONE, Join, joined
from sonnx.prover.builtin_terms import BuiltinTerms, Fold, Items, mutated_builtins
from sonnx.prover.symbolic_execution import Term, Unsupported, execute
from sonnx.prover.theorem import Claim, Mutant, Obligation, Theorem, by_form

INTEGER = z3.IntSort()
RANK, DIM = z3.Function("rank", INTEGER, INTEGER), z3.Function("dim", INTEGER, INTEGER, INTEGER)
COUNT = z3.Int("N")
SHAPES = Items(COUNT, lambda m: Items(RANK(m), lambda j: DIM(m, j)))
Known = Mapping[str, BuiltIn] | None


def shape(m: Term) -> Items:
    """The shape of input m."""
    found: Items = SHAPES.at(m)
    return found


class BroadcastAxis:
    """An arbitrary axis `k` counted from the last, two arbitrary inputs `p` and `q`, and the functions on them."""

    def __init__(self, known: Known = None) -> None:
        self.terms = BuiltinTerms(known)
        self.k, self.p, self.q = z3.Ints("k p q")
        self.widest = self.terms.call("widest", SHAPES)

    def aligned(self, m: Term) -> Term:
        """The extent of input m on the axis."""
        return self.terms.call("aligned", shape(m), self.k)

    def known(self, least: int, *inputs: Term) -> list[z3.BoolRef]:
        """The axis and the inputs exist, and these extents are at least so large."""
        inside = [z3.And(self.k >= 0, self.k < self.widest), COUNT >= 1]
        for m in inputs:
            inside += [SHAPES.inside(m), RANK(m) >= 0, self.aligned(m) >= least]
        return inside

    def pair(self, m: Term, n: Term) -> z3.BoolRef:
        """Whether two inputs join on the axis, by the code that runs."""
        defined: z3.BoolRef = joined(builtins.join, self.aligned(m), self.aligned(n)).defined
        return defined


def by_pairs(known: Known = None, least: int = 1) -> Iterator[Obligation]:
    """Not E1, for all inputs together, is the join of every two; extents of at least 1."""
    s = BroadcastAxis(known)
    together = s.terms.call("broadcastable", SHAPES)
    hypotheses = s.known(least, s.p, s.q)
    both = [together.instance(s.k, side) for side in (s.p, s.q)]
    (most, _, place), *_ = [maximum for maximum in s.terms.maxima.values() if not maximum[0].eq(s.widest)]
    yield Obligation("together, so each two", (*hypotheses, *both), s.pair(s.p, s.q))
    facts = [*s.terms.maximum_facts(most, s.p), *s.known(least, place), s.pair(s.p, place)]
    yield Obligation("each two, so together", (*hypotheses, *facts), together.instance(s.k, s.p))


def onnx_by_pairs(known: Known = None) -> Iterator[Obligation]:
    """The rule of ONNX and NumPy is the join of every two, whatever the extents, 0 too."""
    s = BroadcastAxis(known)
    together = s.terms.call("onnx_broadcastable", SHAPES)
    both = [together.instance(s.k, side) for side in (s.p, s.q)]
    ((_, first),) = s.terms.first_items.values()
    facts = s.terms.first_item_facts(s.p, s.q)
    hypotheses = (*s.known(0, s.p, s.q), *facts)
    yield Obligation("together, so each two", (*hypotheses, *both), s.pair(s.p, s.q))
    yield Obligation("each two, so together", (*hypotheses, s.pair(s.p, first)), together.instance(s.k, s.p))


def profile_restricts(known: Known = None) -> Iterator[Obligation]:
    """What the profile accepts, ONNX accepts; for extents of at least 1 they are one rule."""
    s = BroadcastAxis(known)
    profile, onnx = (s.terms.call(word, SHAPES) for word in ("broadcastable", "onnx_broadcastable"))
    at_p, onnx_at_p = profile.instance(s.k, s.p), onnx.instance(s.k, s.p)
    ((_, first),) = s.terms.first_items.values()
    (most, _, place), *_ = [maximum for maximum in s.terms.maxima.values() if not maximum[0].eq(s.widest)]
    facts = (*s.known(0, s.p), *s.terms.first_item_facts(s.p))
    yield Obligation("restricts", (*facts, at_p, profile.instance(s.k, first)), onnx_at_p)
    facts = (*s.known(1, s.p, place), *s.terms.first_item_facts(s.p, place), *s.terms.maximum_facts(most, s.p))
    yield Obligation("one rule", (*facts, onnx_at_p, onnx.instance(s.k, place)), at_p)


def axis_rules(known: Known = None, shift: int = 0) -> Iterator[Obligation]:
    """RI, RJ, … and E1 of the text, with leading ones written out and indices from the first, are the word."""
    s = BroadcastAxis(known)
    together = s.terms.call("broadcastable", SHAPES)
    i = s.widest - 1 - s.k
    at_p = together.instance(s.k, s.p)
    (most, items, _), *_ = [maximum for maximum in s.terms.maxima.values() if not maximum[0].eq(s.widest)]

    def padded(m: Term) -> Term:
        leading = s.widest - RANK(m) + shift
        return z3.If(i < leading, 1, DIM(m, i - leading))

    hypotheses = (*s.known(0, s.p), *s.terms.maximum_facts(s.widest, s.p))
    yield Obligation("padding is alignment", hypotheses, padded(s.p) == s.aligned(s.p))
    printed = z3.Or(padded(s.p) == most, padded(s.p) == 1)
    yield Obligation("same condition", hypotheses, at_p == printed)
    yield Obligation("same extents", hypotheses, items.at(s.p) == padded(s.p))


# The fold that runs: base, a step along every path of `join`, and the claim that the invariant gives at the end


def folded(s: BroadcastAxis, result: Term, n: Term, e: Term, place: Term) -> z3.BoolRef:
    """After n inputs: input e has the result or 1, and the result is 1 or the extent of the input at `place`."""
    holds = z3.Implies(z3.And(e >= 0, e < n), z3.Or(s.aligned(e) == result, s.aligned(e) == 1))
    attained = z3.Or(result == 1, z3.And(place >= 0, place < n, s.aligned(place) == result))
    return z3.And(holds, attained)


def broadcast_fold(s: BroadcastAxis) -> Fold:
    """The function `broadcast`: its rank is the widest, its extent on each axis a fold of join from 1."""
    result = s.terms.call("broadcast", SHAPES)
    fold = result.at(s.widest - 1 - s.k)
    if not (isinstance(fold, Fold) and fold.function.name == "join" and z3.eq(z3.simplify(fold.start), z3.IntVal(1))):
        raise Unsupported("broadcast is not a fold of join from 1")
    return fold


def folds(join: Join = builtins.join) -> Iterator[Obligation]:
    """The fold that runs: it raises where two inputs do not join, else gives what all inputs have or stretch to."""
    s = BroadcastAxis()
    fold, (n, result, place) = broadcast_fold(s), z3.Ints("n result place")
    axis = (s.k >= 0, s.k < s.widest, s.aligned(s.p) >= 0, s.aligned(n) >= 0, n >= 0)
    yield Obligation("over the extents of the axis", axis, fold.items.at(s.p) == s.aligned(s.p))
    yield by_form(Obligation("over all inputs", axis, fold.items.length == COUNT))
    yield Obligation("base", axis, folded(s, z3.IntVal(1), z3.IntVal(0), s.p, place))
    step = execute(join, result, fold.items.at(n))
    before = (*axis, folded(s, result, n, s.p, place))
    after = z3.Or(*(folded(s, step.value, n + 1, s.p, w) for w in (place, n)))
    yield from step.obligations()
    yield Obligation("step", (*before, step.defined), after)
    clash = z3.And(place >= 0, place < n, z3.Not(s.pair(place, n)))
    yield Obligation("step that raises: two inputs do not join", (*before, z3.Not(step.defined)), clash)


def fold_equals_joint(least: int = 1) -> Iterator[Obligation]:
    """One after another is all together: what the fold gives at its end is the largest extent, and decides E1."""
    s, (result, place) = BroadcastAxis(), z3.Ints("result place")
    together = s.terms.call("broadcastable", SHAPES).instance(s.k, s.p)
    (most, _, at), *_ = [maximum for maximum in s.terms.maxima.values() if not maximum[0].eq(s.widest)]
    end = [folded(s, result, COUNT, side, place) for side in (s.p, at)]
    hypotheses = (*s.known(least, s.p, at), *end, *s.terms.maximum_facts(most, s.p, place), s.aligned(place) >= least)
    yield Obligation("the largest extent", hypotheses, result == most)
    yield Obligation("no E1", hypotheses, together)
    yield Obligation("onto the result", hypotheses, execute(builtins.join, s.aligned(s.p), result).value == result)


def ignores_order(agreeing: bool = True) -> Iterator[Obligation]:
    """Two results of folds over the same inputs, in any order, are one; so all Z have one shape."""
    s, (one, other, at, place) = BroadcastAxis(), z3.Ints("one other at place")
    claims = [folded(s, one, COUNT, place, at), folded(s, other, COUNT, at if agreeing else s.p, place)]
    yield Obligation("unique", tuple(claims), one == other)


def shapes_combine(join: Join = builtins.join) -> Iterator[Obligation]:
    """Whole shapes: the rank is the larger, an axis past a rank is 1, and the axes join one by one."""
    s = BroadcastAxis()
    rank = z3.If(RANK(s.p) > RANK(s.q), RANK(s.p), RANK(s.q))
    ranks = (RANK(s.p) >= 0, RANK(s.q) >= 0, s.k >= 0)
    place = z3.Int("i")
    here = z3.substitute(execute(join, s.aligned(s.p), s.aligned(s.q)).value, (s.k, rank - 1 - place))
    pairwise = Items(rank, lambda i: z3.substitute(here, (place, i)))
    of_result = s.terms.call("aligned", pairwise, s.k)
    there = execute(join, s.aligned(s.p), s.aligned(s.q))
    yield Obligation("an axis past the rank is 1", (*ranks, s.k >= RANK(s.p)), s.aligned(s.p) == 1)
    yield Obligation("axes join one by one", (*ranks, there.defined), of_result == there.value)
    empty = Items(z3.IntVal(0), lambda i: i)
    scalar = execute(join, s.aligned(s.p), s.terms.call("aligned", empty, s.k))
    yield Obligation("() is the identity", ranks, z3.And(scalar.defined, scalar.value == s.aligned(s.p)))


def builtin_mutants(claim: Claim, **changes: tuple[str, str]) -> tuple[Mutant, ...]:
    return tuple(
        Mutant(name.replace("_", " "), partial(claim, mutated_builtins(*change))) for name, change in changes.items()
    )


MISALIGNED = ("shape[len(shape) - 1 - k]", "shape[k]")
NO_STRETCH = ("extent == common or extent == 1", "extent == common")
ANY = ("extent == common or extent == 1", "extent == common or extent <= 2")
ONES_KEPT = ("if extent != 1]", "if extent != 2]")
SHORTER = ("if k < len(shape) else 1", "if k < len(shape) else 0")

STATED: list[tuple[str, str, str, Claim, dict[str, tuple[str, str]]]] = [
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
FOLDS: list[tuple[str, str, str, Claim, dict[str, Any]]] = [
    ("fold", "The fold raises just where two inputs do not join, and else gives what every input has or stretches to.",
     "reduce(join, [Xm_k], 1) = d ⇒ ∀m. Xm_k ∈ {d, 1}", folds,
     {"any extent gives way": FIRST, "1 on one side": NO_ONE}),
    ("fold-equals-joint", "Broadcasting one after another is broadcasting all together; extents of at least 1.",
     "reduce(join, [Xm_k], 1) = max over m of Xm_k", fold_equals_joint, {"with 0": 0}),
    ("shape-common", "All inputs are brought to one shape, whatever their order.", "∀m. shape(Zm) = dY", ignores_order,
     {"not of the same inputs": False}),
    ("shapes", "Whole shapes join axis by axis from the last, so associative and commutative; () is the identity.",
     "(A ⊔ B)_k = A_k ⊔ B_k,  A ⊔ () = A", shapes_combine, {"1 on one side": NO_ONE}),
]  # fmt: skip


def theorems() -> Iterator[Theorem]:
    """Any number of shapes of any rank."""
    conditions = (
        builtins.aligned,
        builtins.along,
        builtins.widest,
        builtins.agree,
        builtins.broadcastable,
        builtins.onnx_broadcastable,
    )
    for name, statement, formula, claim, changes in STATED:
        mutants = builtin_mutants(claim, **changes)
        yield Theorem(f"broadcast.{name}", statement, formula, claim, conditions, mutants=mutants)
    fold = (builtins.join, builtins.aligned, builtins.along, builtins.widest, builtins.broadcast)
    for name, statement, formula, claim, definitions in FOLDS:
        mutants = tuple(Mutant(title, partial(claim, change)) for title, change in definitions.items())
        yield Theorem(f"broadcast.{name}", statement, formula, claim, fold, mutants=mutants)
