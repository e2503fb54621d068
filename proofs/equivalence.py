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


def pointwise(index: int = 0) -> Obligations:
    """What is computed of a moved element is the moved result."""
    integers, reals = z3.IntSort(), z3.RealSort()
    x, y, place = (
        z3.Function("x", integers, reals),
        z3.Function("y", integers, reals),
        z3.Function("place", integers, integers),
    )
    computed = z3.Function("computed", reals, reals)
    i, j = z3.Ints("i j")
    known = (y(place(i)) == computed(x(place(i))), j == place(i) + index)
    yield Obligation("an element", known, y(place(i)) == computed(x(j)))


def commutative(sign: int = 1) -> Obligations:
    """Sums and products of real numbers; what is rounded is the same number."""
    x, y, p, q = z3.Reals("x y p q")
    yield Obligation("sums", (p == x + y, q == y + sign * x), p == q)
    yield Obligation("products", (p == x * y, q == sign * y * x), p == q)


def padding(times: int = 1) -> Obligations:
    """The element at o s + k d - p of what is padded by q is that of the source, q further, or 0 in both."""
    o, s, k, d, p, q, extent, after = z3.Ints("o s k d p q extent after")
    source = z3.Function("source", z3.IntSort(), z3.RealSort())
    place = z3.Int("place")
    zero = z3.RealVal(0)
    inner, outer = place - p, place - (p + times * q)

    def read(at: Any) -> Any:
        return z3.If(z3.And(at >= 0, at < extent), source(at), zero)

    padded = z3.If(z3.And(inner >= 0, inner < q + extent + after), read(inner - q), zero)
    known = (place == o * s + k * d, extent >= 1, p >= 0, q >= 0, after >= 0)
    yield Obligation("an element", known, padded == read(outer))


def square(last: int = 2) -> Obligations:
    """By the definition of powers; both forms are rounded once."""
    power = z3.Function("power", z3.RealSort(), z3.IntSort(), z3.RealSort())
    x = z3.Real("x")
    steps = (power(x, z3.IntVal(0)) == 1, *(power(x, z3.IntVal(k + 1)) == power(x, z3.IntVal(k)) * x for k in (0, 1)))
    yield Obligation("the power 2", steps, power(x, z3.IntVal(last)) == x * x)


def cube(last: int = 3) -> Obligations:
    """By the definition of powers."""
    power = z3.Function("power", z3.RealSort(), z3.IntSort(), z3.RealSort())
    x = z3.Real("x")
    given = (power(x, z3.IntVal(2)) == x * x, power(x, z3.IntVal(3)) == power(x, z3.IntVal(2)) * x)
    yield Obligation("the power 3", given, power(x, z3.IntVal(last)) == (x * x) * x)


def factors(power: int = 1) -> Obligations:
    """(s a) (t b) = (s t) (a b)."""
    s, t, a, b, p, q = z3.Reals("s t a b p q")
    known = (p == a * b, q == s * t)
    yield Obligation("the product", known, (s * a) * (t * b) == (q if power == 1 else s) * p)


def division(power: int = 1) -> Obligations:
    """With r d = 1, the quotient x / d is r x."""
    x, d, r, q = z3.Reals("x d r q")
    known = (d != 0, r * d == 1, q * d == x)
    yield Obligation("the quotient", known, (q if power == 1 else q * d) == r * x)


def reordered_sum(times: int = 1) -> Obligations:
    """Neighbours change places, and brackets move; every order and bracketing follows."""
    x, y, z, p, q = z3.Reals("x y z p q")
    yield Obligation("neighbours", (p == (x + y) + z, q == (x + z) + times * y), p == q)
    yield Obligation("brackets", (p == (x + y) + z, q == x + (y + times * z)), p == q)


def sixth(times: int = 1) -> Obligations:
    """HardSigmoid with the offset 1/2 and a slope a near 1/6, whose product with x is p: both limits move by what p is
    away from x / 6.
    """
    x, a, p, most = z3.Reals("x a p most")

    def limited(value: Any, end: int) -> Any:
        return z3.If(value < 0, z3.RealVal(0), z3.If(value > end, z3.RealVal(end), value))

    known = (within(p - x / 6, most),)
    yield Obligation("the value", known,
                     within(limited(p + z3.Q(1, 2), 1) - limited(x + 3, 6) / 6, times * most))  # fmt: skip
    yield Obligation("the distance", (p == a * x,), p - x / 6 == (a - z3.Q(1, 6)) * x)


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
    ("pointwise", "What an operator on elements makes of moved elements is the moved result.",
     "f(x[π(i)]) = f(x)[π(i)]", pointwise, {"another element": 1}),
    ("commutative", "The operands of a sum and of a product may change places.", "x + y = y + x,  x y = y x",
     commutative, {"another sign": -1}),
    ("padding", "Padding by 0 of what is padded by 0 is padding by the sum of both widths.",
     "pad(pad(x, q), p)[i] = pad(x, p + q)[i]", padding, {"less padding": 0}),
    ("square", "The power 2 is the product of a number with itself.", "x² = x x", square, {"the first power": 1}),
    ("cube", "The power 3 is the product of three equal numbers.", "x³ = x x x", cube, {"the power 2": 2}),
    ("factors", "Factors of the operands of a product are factors of the product.", "(s a) (t b) = (s t) (a b)",
     factors, {"left out": 0}),
    ("division", "A quotient by a number other than 0 is a product with its inverse.", "x / d = (1 / d) x",
     division, {"not divided": 0}),
    ("reordered-sum", "Sums may be reordered and bracketed in another way.", "(x + y) + z = (x + z) + y = x + (y + z)",
     reordered_sum, {"left out": 0}),
    ("sixth", "HardSigmoid with the offset 1/2 and a slope near a sixth is a clipped sum over 6, but for the distance "
     "of the slope from a sixth.", "|min(max(a x + 1/2, 0), 1) - min(max(x + 3, 0), 6) / 6| ≤ |a - 1/6| |x|", sixth,
     {"no distance": 0}),
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
            reals=name not in ("movement", "pointwise", "padding"),
        )
