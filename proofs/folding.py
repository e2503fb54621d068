"""Broadcasting as it runs: a fold of the join over the extents of an axis, for any number of inputs.

Induction is explicit: base, step along every path of the code of `join`, and what the invariant says at the end.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import z3

from sonnx.language import builtins
from sonnx.proofs.axis import FIRST, NO_ONE, Join
from sonnx.proofs.broadcast import COUNT, RANK, SHAPES, Setting
from sonnx.prover.symbolic_execution import Refused, Term, read
from sonnx.prover.theorem import Mutant, Obligation, Theorem
from sonnx.prover.word_terms import Fold, Items


def folded(s: Setting, result: Term, n: Term, e: Term, place: Term) -> z3.BoolRef:
    """After n inputs: input e has the result or 1, and the result is 1 or the extent of the input at `place`."""
    holds = z3.Implies(z3.And(e >= 0, e < n), z3.Or(s.aligned(e) == result, s.aligned(e) == 1))
    attained = z3.Or(result == 1, z3.And(place >= 0, place < n, s.aligned(place) == result))
    return z3.And(holds, attained)


def reads_as_fold(s: Setting) -> Fold:
    """The word `broadcast`: its rank is the widest, its extent on each axis a fold of join from 1."""
    result = s.terms.read("broadcast", SHAPES)
    fold = result.at(s.widest - 1 - s.k)
    if not (isinstance(fold, Fold) and fold.word.name == "join" and z3.eq(z3.simplify(fold.start), z3.IntVal(1))):
        raise Refused("broadcast is no fold of join from 1")
    return fold


def folds(join: Join = builtins.join) -> Iterator[Obligation]:
    """The fold that runs: it raises where two inputs do not join, else gives what all inputs have or stretch to."""
    s = Setting()
    fold, (n, result, place) = reads_as_fold(s), z3.Ints("n result place")
    axis = (s.k >= 0, s.k < s.widest, s.aligned(s.p) >= 0, s.aligned(n) >= 0, n >= 0)
    yield Obligation("over the extents of the axis", axis, fold.items.at(s.p) == s.aligned(s.p))
    yield Obligation("over all inputs", axis, fold.items.length == COUNT)
    yield Obligation("base", axis, folded(s, z3.IntVal(1), z3.IntVal(0), s.p, place))
    step = read(join, result, fold.items.at(n))
    before = (*axis, folded(s, result, n, s.p, place))
    after = z3.Or(*(folded(s, step.value, n + 1, s.p, w) for w in (place, n)))
    yield from step.obligations()
    yield Obligation("step", (*before, step.defined), after)
    clash = z3.And(place >= 0, place < n, z3.Not(s.pair(place, n)))
    yield Obligation("step that raises: two inputs do not join", (*before, z3.Not(step.defined)), clash)


def fold_equals_joint(least: int = 1) -> Iterator[Obligation]:
    """One after another is all together: what the fold gives at its end is the largest extent, and decides E1."""
    s, (result, place) = Setting(), z3.Ints("result place")
    together = s.terms.read("broadcastable", SHAPES).instance(s.k, s.p)
    (most, _, at), *_ = [each for each in s.terms.largest.values() if not each[0].eq(s.widest)]
    end = [folded(s, result, COUNT, each, place) for each in (s.p, at)]
    hypotheses = (*s.known(least, s.p, at), *end, *s.terms.bounds(most, s.p, place), s.aligned(place) >= least)
    yield Obligation("the largest extent", hypotheses, result == most)
    yield Obligation("no E1", hypotheses, together)
    yield Obligation("onto the result", hypotheses, read(builtins.join, s.aligned(s.p), result).value == result)


def ignores_order(agreeing: bool = True) -> Iterator[Obligation]:
    """Two results of folds over the same inputs, in any order, are one; so all Z have one shape."""
    s, (one, other, at, place) = Setting(), z3.Ints("one other at place")
    claims = [folded(s, one, COUNT, place, at), folded(s, other, COUNT, at if agreeing else s.p, place)]
    yield Obligation("unique", tuple(claims), one == other)


def shapes_combine(join: Join = builtins.join) -> Iterator[Obligation]:
    """Whole shapes: the rank is the larger, an axis past a rank is 1, and the axes join one by one."""
    s = Setting()
    rank = z3.If(RANK(s.p) > RANK(s.q), RANK(s.p), RANK(s.q))
    ranks = (RANK(s.p) >= 0, RANK(s.q) >= 0, s.k >= 0)
    place = z3.Int("i")
    here = z3.substitute(read(join, s.aligned(s.p), s.aligned(s.q)).value, (s.k, rank - 1 - place))
    pairwise = Items(rank, lambda i: z3.substitute(here, (place, i)))
    of_result = s.terms.read("aligned", pairwise, s.k)
    there = read(join, s.aligned(s.p), s.aligned(s.q))
    yield Obligation("an axis past the rank is 1", (*ranks, s.k >= RANK(s.p)), s.aligned(s.p) == 1)
    yield Obligation("axes join one by one", (*ranks, there.defined), of_result == there.value)
    empty = Items(z3.IntVal(0), lambda i: i)
    scalar = read(join, s.aligned(s.p), s.terms.read("aligned", empty, s.k))
    yield Obligation("() is the identity", ranks, z3.And(scalar.defined, scalar.value == s.aligned(s.p)))


STATED = [
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
    """The fold over any number of inputs."""
    about = (builtins.join, builtins.aligned, builtins.along, builtins.widest, builtins.broadcast)
    for name, statement, formula, claim, changes in STATED:
        changed = tuple(Mutant(title, partial(claim, change)) for title, change in changes.items())
        yield Theorem(f"broadcast.{name}", statement, formula, claim, about, mutants=changed)
