"""Elementwise functions: the lemmas by which `sonnx bound` encloses values and errors of a function.

`sonnx/numerics/enclosures/elementwise.py` knows a function by its slopes.  Names of products and of values of functions
stand for arbitrary reals; what is assumed of them is stated in the claim, with the theorem of analysis it comes from.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import z3

from sonnx.proofs.bounds import size, within
from sonnx.prover.symbolic_execution import Term
from sonnx.prover.terms import keeps_order
from sonnx.prover.theorem import Mutant, Obligation, Theorem

Obligations = Iterator[Obligation]


def products_within(x: Term, p: Term, y: Term, q: Term) -> tuple[z3.BoolRef, ...]:
    """Facts of `keeps_order` by which |x| ≤ p and |y| ≤ q give |x y| ≤ p q."""
    return tuple(keeps_order(p, s * x, q + t * y) for s in (1, -1) for t in (1, -1))


def order_of_products(least: int = 0) -> Obligations:
    """`keeps_order` and `products_within` for reals."""
    a, b, c = z3.Reals("a b c")
    yield Obligation("a difference is not negative", (a >= b, c >= least), (a - b) * c >= 0)
    yield Obligation("so products keep the order", ((a - b) * c >= 0,), a * c >= b * c)
    x, p, y, q = z3.Reals("x p y q")
    known = (within(x, p), within(y, q), *products_within(x, p, y, q))
    yield Obligation("products of bounded numbers", known, within(x * y, p * q))


def slopes(halves: int = 1) -> Obligations:
    """f(x + d) - f(x) = s d by the mean value theorem, and s lies in [c - r, c + r]."""
    s, c, r, d = z3.Reals("s c r d")
    known = (within(s - c, r), *products_within(s - c, r, d, size(d)))
    yield Obligation("centre and radius", known, within(s * d - c * d, halves * r * size(d)))


def parallel_lines(sign: int = 1) -> Obligations:
    """f(x) - f(l) = s (x - l) and f(h) - f(x) = t (h - x) for slopes s, t of f, which are at least m."""
    x, low, high, s, t, m = z3.Reals("x l h s t m")
    f, f_low, f_high = z3.Reals("f f_l f_h")
    means = (f - f_low == s * (x - low), f_high - f == t * (high - x))
    known = (low <= x, x <= high, sign * s >= sign * m, t >= m, *means)
    yield Obligation("below", (*known, keeps_order(s, m, x - low)), f >= m * x + (f_low - m * low))
    yield Obligation("above", (*known, keeps_order(t, m, high - x)), f <= m * x + (f_high - m * high))


def square_roots(least: int = 0) -> Obligations:
    """The numbers y and z are the roots of a and b, r that of |a - b|."""
    y, z, r = z3.Reals("y z r")
    known = (y >= least, z >= least, r >= 0, r * r == size(y * y - z * z))
    facts = (keeps_order(y + z, size(y - z), size(y - z)), size(y - z) * size(y - z) == (y - z) * (y - z))
    yield Obligation("the square of the distance", (*known, *facts), (y - z) * (y - z) <= r * r)
    d = z3.Real("d")
    yield Obligation("so the distance", ((d - r) * (d + r) > 0,), d * d > r * r)
    yield Obligation("a product of positive numbers", (d > r, r >= 0), (d - r) * (d + r) > 0)


def arc_cosines(twice: int = 2) -> Obligations:
    """The angles a and b are in [0, pi], d = |a - b|, g = |cos a - cos b|.

    Of analysis: g = 2 sin((a + b) / 2) sin(d / 2); the sine is concave on [0, pi] and equal at x and pi - x, so it is
    at least s = sin(d / 2) on [d / 2, pi - d / 2]; and d / pi <= s (Jordan).  r is the root of g / 2, p is pi.
    """
    a, b, p = z3.Reals("a b p")
    angles = (a >= 0, b >= 0, a <= p, b <= p)
    yield Obligation("the middle", angles, z3.And(size(a - b) <= a + b, a + b <= twice * p - size(a - b)))
    d, s, t, r = z3.Reals("d s t r")
    yield Obligation("squares", (s >= 0, t >= s, r * r == s * t, keeps_order(t, s, s)), r * r >= s * s)
    factors = z3.Implies(s > r, (s - r) * (s + r) > 0)
    yield Obligation("the root is at least s", (r >= 0, s >= 0, r * r >= s * s, factors), r >= s)
    yield Obligation("the distance", (p > 0, r >= s, p * s >= d, keeps_order(r, s, p)), d <= p * r)


def inverse_powers(times: int = 1) -> Obligations:
    """The distance of 1 / p and 1 / q, multiplied by p q l (l - o): p is at least l, q within o of p."""
    p, q, least, o = z3.Reals("p q l o")
    known = (o >= 0, o < least, p >= least, within(p - q, o))
    n = least - o
    yield Obligation("the product", (*known, keeps_order(p, least, q), keeps_order(q, n, least)), p * q >= least * n)
    w, v = z3.Reals("w v")
    known = (w >= v, v > 0, o >= 0, within(p - q, o), keeps_order(w, v, o), *products_within(p - q, o, v, v))
    yield Obligation("the distance", known, times * size(p - q) * v <= o * w)


STATED: list[tuple[str, str, str, Callable[..., Obligations], dict[str, Any]]] = [
    ("products", "Products of reals by a number that is not negative keep the order.", "a ≥ b ∧ c ≥ 0 ⇒ ac ≥ bc",
     order_of_products, {"any number": -1}),
    ("slope", "With slopes in [c - r, c + r] the error of a function is c d, and a rest of at most r |d|.",
     "|f(x + d) - f(x) - c d| ≤ r |d|", slopes, {"no radius": 0}),
    ("parallel-lines", "A function lies between two lines whose slope is at most each of its slopes.",
     "m x + f(l) - m l ≤ f(x) ≤ m x + f(h) - m h", parallel_lines, {"a larger slope": -1}),
    ("root", "Square roots are as close as the root of the distance of their arguments.", "|√a - √b| ≤ √|a - b|",
     square_roots, {"of either sign": -1}),
    ("arc-cosine", "Arc cosines differ by at most pi times the root of half the distance of their arguments.",
     "|acos a - acos b| ≤ π √(|a - b| / 2)", arc_cosines, {"half the circle": 1}),
    ("inverse-power", "A quotient by a computed power, as the product with its inverse.",
     "|1/p - 1/q| ≤ o / (l (l - o)) for |p - q| ≤ o < l ≤ p", inverse_powers, {"twice": 2}),
]  # fmt: skip


def theorems() -> Iterator[Theorem]:
    """The lemmas of elementwise functions."""
    for name, statement, formula, claim, changes in STATED:
        changed = tuple(Mutant(title, partial(claim, change)) for title, change in changes.items())
        yield Theorem(f"bounds.{name}", statement, formula, claim, (claim, size, within), mutants=changed, reals=True)
