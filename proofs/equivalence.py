"""Comparison of models: the lemmas of the affine normal form over the reals.

What holds for a sum of n products is proved by induction: for one more product, if it holds for the rest.  w is a
weight, x an element of an atom, p what the other products and the bias add up to.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import z3

from sonnx.proofs.bounds import size, within
from sonnx.prover.theorem import Mutant, Obligation, Theorem

Obligations = Iterator[Obligation]


def output_scale(power: int = 1) -> Obligations:
    """A factor of a sum goes into every weight and into the bias."""
    s, w, x, p, q = z3.Reals("s w x p q")
    yield Obligation("one more product", (q == s * p,), s * (w * x + p) == (s * w if power == 1 else w) * x + q)


def input_scale(power: int = 1) -> Obligations:
    """A factor of the elements goes into the weights; an element of padding stays 0."""
    s, w, x, p = z3.Reals("s w x p")
    yield Obligation("one more product", (), w * (s * x) + p == (w * s if power == 1 else w) * x + p)
    yield Obligation("padding", (x == 0,), s * x == 0)


def normalization(sign: int = -1) -> Obligations:
    """With k = s / r: s (x - m) / r + b = k x + (b - m k)."""
    s, x, m, r, b, k, q = z3.Reals("s x m r b k q")
    known = (r > 0, k * r == s, q * r == s * (x - m))
    yield Obligation("the quotient", known, q == k * x - k * m)
    yield Obligation("the sum", (q == k * x - k * m,), q + b == k * x + (b + sign * m * k))


def difference(times: int = 1) -> Obligations:
    """Sums of products with other weights differ by at most the sum of |w - v| |x|, and the distance of the biases."""
    w, v, x, p, q, rest, product = z3.Reals("w v x p q rest product")
    moved = product == (w - v) * x
    yield Obligation("one more product", (moved, within(p - q, rest)),
                     within(w * x + p - (v * x + q), times * size(product) + rest))  # fmt: skip
    d, a, most = z3.Reals("d a most")
    known = (d >= 0, a >= 0, a <= most, d * (most - a) >= 0)
    yield Obligation("the largest element", known, d * a <= d * most)


def moved_constants(index: int = 0) -> Obligations:
    """Elements of a sum are the sums of elements, so a movement of a sum is the sum of the moved operands."""
    f, g = (z3.Function(name, z3.IntSort(), z3.RealSort()) for name in "fg")
    place = z3.Function("place", z3.IntSort(), z3.IntSort())
    i, j = z3.Ints("i j")
    summed = z3.Function("summed", z3.IntSort(), z3.RealSort())
    known = (summed(place(i)) == f(place(i)) + g(place(i)), j == place(i) + index)
    yield Obligation("an element", known, summed(place(i)) == f(j) + g(j))


STATED: list[tuple[str, str, str, Callable[..., Obligations], dict[str, Any]]] = [
    ("output-scale", "A factor of a sum of products goes into every weight and into the bias.",
     "s (Σ w x + b) = Σ (s w) x + s b", output_scale, {"left out": 0}),
    ("input-scale", "A factor of the elements goes into the weights; padding by 0 stays 0.",
     "Σ w (s x) = Σ (w s) x", input_scale, {"left out": 0}),
    ("normalization", "BatchNormalization of inference is a factor and a bias.",
     "s (x - m) / r + b = k x + (b - m k),  k = s / r", normalization, {"other sign": 1}),
    ("difference", "Sums with other weights differ by at most the sum of their distances times the elements.",
     "|Σ w x + b - Σ v x - c| ≤ Σ |w - v| |x| + |b - c|", difference, {"without it": 0}),
    ("movement", "A movement of a sum of elements is the sum of the moved operands.",
     "(f + g)[π(i)] = f[π(i)] + g[π(i)]", moved_constants, {"another element": 1}),
]  # fmt: skip


def theorems() -> Iterator[Theorem]:
    """The lemmas of the comparison of models."""
    for name, statement, formula, claim, changes in STATED:
        changed = tuple(Mutant(title, partial(claim, change)) for title, change in changes.items())
        yield Theorem(
            f"equivalence.{name}",
            statement,
            formula,
            claim,
            (claim, size, within),
            mutants=changed,
            reals=name != "movement",
        )
