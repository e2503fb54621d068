"""Ranges and errors: the lemmas of `sonnx bound` over the reals.

A sum of n terms is a binary tree of additions.  What holds for every tree is proved by induction: for a single term,
and for a node if it holds for its two parts.  u is the relative error of a rounding, S a bound of the sum of the terms'
absolute values, P the exact sum of the terms of a part, c what is computed of it.  Names of products (w = u T) stand
for arbitrary reals, so that each step is decided as a polynomial.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import z3

from sonnx.prover.symbolic_execution import Term
from sonnx.prover.terms import keeps_order
from sonnx.prover.theorem import Mutant, Obligation, Theorem

Obligations = Iterator[Obligation]


def size(term: Term) -> Term:
    """The absolute value."""
    return z3.If(term >= 0, term, -term)


def within(term: Term, bound: Term) -> z3.BoolRef:
    """The absolute value is at most a bound."""
    return z3.And(term <= bound, -term <= bound)


def partial_sums(parts: int = 2) -> Obligations:
    """P and Q are the sums of the terms inside and outside a part, s and t bound the sums of their absolute values."""
    p, q, s, t = z3.Reals("p q s t")
    known = (within(p, s), within(q, t))
    yield Obligation("at most S", known, within(p, s + t))
    yield Obligation("at most (S + |y|) / 2", known, parts * size(p) <= s + t + size(p + q))


def growth_of_sums(factor: int = 1) -> Obligations:
    """With c within g S of P for both parts, the rounded sum of two parts is within ((1 + g)(1 + u) - 1) S."""
    p, q, s, t, c, d, e, g, u = z3.Reals("p q s t c d e g u")
    known = (s >= 0, t >= 0, g >= 0, u >= 0, within(p, s), within(q, t), within(c - p, g * s), within(d - q, g * t))
    unrounded = c + d - p - q
    yield Obligation("before rounding", known, within(unrounded, g * (s + t)))
    total = z3.Real("total")
    summed = (total == s + t, within(p + q, total), within(unrounded, g * total), total >= 0, g >= 0, u >= 0)
    top = total + g * total
    yield Obligation("what is rounded", summed, within(c + d, top))
    rounded = (within(unrounded, g * total), within(e, factor * u * top), total >= 0, g >= 0, u >= 0)
    yield Obligation("after rounding", rounded, within(unrounded + e, ((1 + g) * (1 + u) - 1) * total))


def gamma(least: int = 0) -> Obligations:
    """With p = k u: (1 + γ_k)(1 + u) <= 1 + γ_(k+1), where 1 + γ_k = 1 / (1 - k u), multiplied out."""
    p, u = z3.Reals("p u")
    yield Obligation("step", (p >= least, u >= 0), (1 + u) * (1 - p - u) <= 1 - p)


def errors_of_sums(additions: int = 1) -> Obligations:
    """The error of a part of n terms is at most l + (n - 1) w: l of its terms, w >= u |c + d| of each addition."""
    e1, e2, e, l1, l2, n1, n2, w = z3.Reals("e1 e2 e l1 l2 n1 n2 w")
    yield Obligation("a term", (within(e1, l1),), within(e1, l1 + (1 - 1) * w))
    known = (w >= 0, n1 >= 1, n2 >= 1, within(e1, l1 + (n1 - 1) * w), within(e2, l2 + (n2 - 1) * w), within(e, w))
    yield Obligation("an addition", known, within(e1 + e2 + e, l1 + l2 + (n1 + n2 - additions) * w))


def last_addition(left_out: int = 2) -> Obligations:
    """The last addition rounds the whole sum: of the n - 1 additions n - 2 are bounded by w and one by v."""
    e1, e2, e, l1, l2, n1, n2, w, v = z3.Reals("e1 e2 e l1 l2 n1 n2 w v")
    known = (w >= 0, within(e1, l1 + (n1 - 1) * w), within(e2, l2 + (n2 - 1) * w), within(e, v))
    yield Obligation("the root", known, within(e1 + e2 + e, l1 + l2 + (n1 + n2 - left_out) * w + v))


def errors_of_scales(levels: int = 1) -> Obligations:
    """The roundings of scales on one level of disjoint parts add up to at most u (1 + g) S."""
    v1, rest, s, t, h, u = z3.Reals("v1 rest s t h u")
    known = (h >= 0, within(v1, h * s), rest <= h * t, rest >= 0)
    yield Obligation("one more part", known, levels * size(v1) + rest <= h * (s + t))
    yield Obligation("times u", (u >= 0, rest >= 0, rest <= h, keeps_order(h, rest, u)), rest * u <= h * u)


def fused_sums(whole: int = 1) -> Obligations:
    """A sum of a and b: what bounds a partial sum of b alone bounds less than what does for the whole."""
    a, b, s, t = z3.Reals("a b s t")
    known = (within(a, s), within(b, t))
    yield Obligation("partial sums of a part", known, t + size(b) <= s + t + whole * size(a + b))
    yield Obligation("the sum itself", known, 2 * size(a + b) <= s + t + size(a + b))


def counted(terms: Any, scalings: Any) -> Any:
    """How many roundings the code counts for a sum of n terms with r roundings each; a test compares the two."""
    return terms * scalings + terms


def count_of_roundings(additions: int = 1) -> Obligations:
    """A term has r roundings, an addition one more: together at most what the code counts, less one."""
    n1, n2, r = z3.Reals("n1 n2 r")
    yield Obligation("a term", (r >= 0,), r <= counted(1, r) - 1)
    both = counted(n1, r) - 1 + counted(n2, r) - 1 + additions
    yield Obligation("an addition", (n1 >= 1, n2 >= 1, r >= 0), both <= counted(n1 + n2, r) - 1)


def underflow_in_sums(times: int = 1) -> Obligations:
    """With c within g S + a of P, a of the underflows so far, the rounded sum is within
    ((1 + g)(1 + u) - 1) S + (a + b)(1 + u) + w; k underflows then cost at most k w (1 + g).
    """
    p, q, s, t, c, d, e, g, u, a, b, w = z3.Reals("p q s t c d e g u a b w")
    known = (within(p, s), within(q, t), within(c - p, g * s + a), within(d - q, g * t + b))
    unrounded = c + d - p - q
    yield Obligation("before rounding", known, within(unrounded, g * (s + t) + a + b))
    total, under = z3.Reals("total under")
    summed = (within(p + q, total), within(unrounded, g * total + under))
    top = total + g * total + under
    yield Obligation("what is rounded", summed, within(c + d, top))
    rounded = (within(unrounded, g * total + under), within(e, u * top + times * w))
    grown = ((1 + g) * (1 + u) - 1) * total + under * (1 + u) + w
    yield Obligation("after rounding", rounded, within(unrounded + e, grown))
    k, growth = z3.Reals("k growth")
    one = (w >= 0, growth >= 1, u >= 0, growth * (1 + u) >= 1, keeps_order(growth * (1 + u), z3.RealVal(1), w))
    yield Obligation("one more", one, k * w * growth * (1 + u) + times * w <= (k + 1) * w * growth * (1 + u))


def folded_constants(share: int = 1) -> Obligations:
    """A product p of constants, computed as c, is multiplied by x: what underflowed counts |x| times, at most W."""
    p, c, x, u, e, w = z3.Reals("p c x u e w")
    h = z3.Real("h")
    off = (within(c - p, h + e), h >= 0, e >= 0, within(x, share * w), w >= 0)
    order = (keeps_order(h + e, size(c - p), size(x)), keeps_order(share * w, size(x), e))
    yield Obligation("times x", (*off, *order), within((c - p) * x, h * size(x) + e * w))
    yield Obligation("relative part", (h == u * size(p), u >= 0), h * size(x) == u * size(p) * size(x))


def factors_left(least: int = 1) -> Obligations:
    """The factors that follow a rounding: all but two at most, none counted below 1, and at most the largest ones."""
    s, t, x, y, r = z3.Reals("s t x y r")
    known = (x >= s, y >= t, s >= least, t >= least, r >= 1)
    order = (keeps_order(x, s, t), keeps_order(y, t, x), keeps_order(x * y, s * t, r))
    yield Obligation("the smallest are left out", (*known, *order), r * (s * t) <= r * (x * y))
    yield Obligation("one factor less", (r >= 1, x >= least, keeps_order(x, z3.RealVal(1), r)), r <= r * x)


def sums_before_scales(least: int = 1) -> Obligations:
    """A partial sum of at most h, before and after a scale k, is at most h max(1, |k|)."""
    p, h, k, m = z3.Reals("p h k m")
    known = (within(p, h), h >= 0, m >= least, within(k, m))
    yield Obligation("before", (*known, keeps_order(m, z3.RealVal(1), h)), within(p, h * m))
    order = (keeps_order(m, size(k), h), keeps_order(h, size(p), size(k)))
    yield Obligation("after", (*known, *order), within(k * p, h * m))


def running_sums(most: int = 1) -> Obligations:
    """The squares up to a channel add up to q, those that left to p, all of them to t: a window is q - p."""
    p, q, t, h, left = z3.Reals("p q t h left")
    yield Obligation("the next window", (), (q + h) - (p + left) == (q - p) + h - left)
    yield Obligation("absolute values", (p >= 0, p <= q, q <= most * t), q + p <= 2 * t)


def telescoping(sign: int = 1) -> Obligations:
    """For d = C x + r and any h: g d = h x + (C'g - h) x + g r; an error of h costs its size times |x|."""
    c = [[z3.Real(f"c{i}{j}") for j in (0, 1)] for i in (0, 1)]
    g, h, x, r, b = ([z3.Real(f"{name}{i}") for i in (0, 1)] for name in "ghxrb")
    d = [c[i][0] * x[0] + c[i][1] * x[1] + r[i] for i in (0, 1)]
    defect = [c[0][j] * g[0] + c[1][j] * g[1] - h[j] for j in (0, 1)]
    whole = sum(g[i] * d[i] for i in (0, 1))
    apart = sum(h[j] * x[j] + sign * defect[j] * x[j] + g[j] * r[j] for j in (0, 1))
    yield Obligation("identity", (), whole == apart)
    p, q, total = z3.Reals("p q total")
    yield Obligation("bound", (within(p, b[0]), within(q, b[1]), total == p + q), within(total, b[0] + b[1]))


def rectifier(x: Term, a: Term) -> Term:
    """LeakyRelu with slope a below 0."""
    return z3.If(x >= 0, x, a * x)


def kink(halves: int = 2) -> Obligations:
    """A rectifier moves by the middle slope times d, within half the difference of the slopes times |d|."""
    x, d, a = z3.Reals("x d a")
    moved = rectifier(x + d, a) - rectifier(x, a)
    known = (a >= -1, a <= 1, keeps_order(z3.RealVal(1), a, size(d)), keeps_order(z3.RealVal(1), a, size(x)))
    yield Obligation(
        "middle slope", (*known, keeps_order(z3.RealVal(1), a, size(x + d))),
        within(2 * moved - (1 + a) * d, (1 - a) * size(d) * halves / 2),
    )  # fmt: skip


def lines(least: int = 0) -> Obligations:
    """On [l, h] a convex rectifier lies over the lines a x and x, and below a line that is over it at both ends."""
    x, low, high, s, o, a = z3.Reals("x l h s o a")
    inside = (low <= x, x <= high, a <= 1)
    one = z3.RealVal(1)
    yield Obligation("below: slope a", (*inside, keeps_order(one, a, size(x))), rectifier(x, a) >= a * x)
    yield Obligation("below: slope 1", (*inside, keeps_order(one, a, size(x))), rectifier(x, a) >= x)
    ends = (s * low + o >= a * low + least, s * high + o >= high, low < 0, high > 0, s >= a, s <= 1)
    monotone = (keeps_order(s, a, x - low), keeps_order(one, s, high - x))
    yield Obligation("above", (*inside, *ends, *monotone), s * x + o >= rectifier(x, a))


def sides(sign: int = 1) -> Obligations:
    """Slopes between those of a convex rectifier do below; where x has one sign, w |x| makes no bound smaller."""
    x, a, t, b, w = z3.Reals("x a t b w")
    known = (a <= t, t <= 1, keeps_order(z3.RealVal(1), t, size(x)), keeps_order(t, a, size(x)))
    yield Obligation("below: slopes between", known, rectifier(x, a) >= t * x)
    weighed = (w >= 0, keeps_order(w, z3.RealVal(0), size(x)))
    yield Obligation("right of the kink", (x >= 0, *weighed), b <= b + sign * w * x)
    yield Obligation("left of the kink", (x <= 0, *weighed), b <= b - sign * w * x)


def maxima(times: int = 1) -> Obligations:
    """|max(a, b) - max(c, d)| is at most the larger of |a - c| and |b - d|."""
    a, b, c, d, e = z3.Reals("a b c d e")

    def larger(x: Term, y: Term) -> Term:
        return z3.If(x >= y, x, y)

    known = (within(a - c, e), within(times * (b - d), e))
    yield Obligation("two candidates", known, within(larger(a, b) - larger(c, d), e))


def quotients(sign: int = 1) -> Obligations:
    """For q b = a and r (b + f) = a + e: (r - q)(b + f) = e - q f."""
    a, b, e, f, q, r = z3.Reals("a b e f q r")
    yield Obligation("identity", (q * b == a, r * (b + f) == a + e), (r - q) * (b + f) == e - sign * q * f)


def steps(high: int = 1) -> Obligations:
    """Whole n and m are within half of x and of x + d, or just below them, and |d| < k + 1 for a whole number k."""
    x, d = z3.Reals("x d")
    n, m, k = z3.Ints("n m k")
    close = size(d) < k + 1, size(d) >= k
    nearest = (within(2 * (x - n), z3.RealVal(1)), within(2 * (x + d - m), z3.RealVal(1)))
    yield Obligation("to the nearest", (*close, *nearest), within(m - n, k + high))
    downwards = (n <= x, x < n + 1, m <= x + d, x + d < m + 1)
    yield Obligation("downwards", (*close, *downwards), within(m - n, k + high))


def branches(apart: int = 1) -> Obligations:
    """Branches are x and y, w the computed one of them, within e of it; the ideal value is x."""
    x, y, w, e, f = z3.Reals("x y w e f")
    known = (e >= 0, within(x - y, f), z3.Or(within(w - x, e), within(w - y, e)))
    yield Obligation("either branch", known, within(w - x, apart * f + e))


def mixtures(most: int = 1) -> Obligations:
    """(1 - z) h + z g for z between 0 and 1."""
    z, h, g, low = z3.Reals("z h g low")
    known = (z >= 0, z <= most, h >= low, g >= low)
    yield Obligation("above the smaller", known, (1 - z) * (h - low) + z * (g - low) >= 0)
    yield Obligation("the same number", known, (1 - z) * h + z * g - low == (1 - z) * (h - low) + z * (g - low))


def largest_elements(times: int = 1) -> Obligations:
    """The computed element k is at least the computed element j; l, h are their range ends, e and f their errors."""
    x, y, v, w, low, high, e, f = z3.Reals("x y v w l h e f")
    known = (x <= high, low <= y, within(v - x, e), within(w - y, times * f), v >= w)
    yield Obligation("a candidate", known, high + e >= low - f)


def float64_growth(half: int = 2) -> Obligations:
    """1 / (1 - u)^n <= 1 + 2 n u: the step from k to k + 1 roundings, with p = k u."""
    p, u = z3.Reals("p u")
    known = (u >= 0, p >= 0, half * (p + u) <= 1)
    yield Obligation("step", known, 1 + 2 * p <= (1 + 2 * p + 2 * u) * (1 - u))


STATED: list[tuple[str, str, str, Callable[..., Obligations], dict[str, Any]]] = [
    ("partial-sum", "No partial sum is larger than half of the sum of absolute values and the sum's own.",
     "|P| ≤ min(S, (S + |y|) / 2)", partial_sums, {"a third": 3}),
    ("sum-growth", "A rounded sum of two partial sums is 1 + u times as far from the exact value as these are.",
     "|c - P| ≤ ((1 + g)(1 + u) - 1) S", growth_of_sums, {"two roundings": 2}),
    ("sum-gamma", "One more rounding takes γ_k to at most γ_(k+1).", "(1 + γ_k)(1 + u) ≤ 1 + γ_{k+1}", gamma,
     {"for negative k": -2}),
    ("sum-errors", "One more addition keeps the bound of the errors of the terms and of n - 1 additions.",
     "|error| ≤ Σ terms + (n - 1) u T", errors_of_sums, {"one less": 2}),
    ("sum-last", "The last addition rounds the sum itself.", "|error| ≤ Σ terms + (n - 2) u T + u |y|", last_addition,
     {"one less": 3}),
    ("sum-scales", "Scales on one level of parts round at most the whole.", "Σ u |V| ≤ u (1 + g) S", errors_of_scales,
     {"twice": 2}),
    ("fused-sums", "The bound of a larger sum covers the bounds of the smaller sums it was fused from.",
     "S_b + |b| ≤ S_a + S_b + |a + b|", fused_sums, {"without the sum": 0}),
    ("sum-roundings", "The roundings of the terms and of the additions are at most as many as the code counts.",
     "n r + n - 1 < n r + n", count_of_roundings, {"two in an addition": 3}),
    ("sum-underflow", "Each rounding that underflows costs its absolute error once, grown by later roundings.",
     "|c - P| ≤ ((1 + g)(1 + u) - 1) S + k (1 + g) w", underflow_in_sums, {"twice": 2}),
    ("folded-constant", "What a product of constants loses by underflow is multiplied by the factors that follow.",
     "|(c - p) x| ≤ u |p| |x| + e W", folded_constants, {"a larger factor": 2}),
    ("factors-left", "The product of the factors that follow a rounding is at most that of all but the two smallest, "
     "each taken as at least 1.", "r s t ≤ r x y", factors_left, {"factors below 1": -1}),
    ("sum-before-scale", "A bound of partial sums times the larger of 1 and a scale holds before and after the scale.",
     "|P|, |k P| ≤ h max(1, |k|)", sums_before_scales, {"scales below 1": 0}),
    ("running-sum", "A sum that is carried from one window to the next has at most twice the sum of all its terms.",
     "Σ heads + Σ tails ≤ 2 T", running_sums, {"tails left out": 2}),
    ("telescoping", "For two rows any numbers may stand for an adjoint; what they miss costs its size times the error.",
     "g d = h x + (C'g - h) x + g r", telescoping, {"other sign": -1}),
    ("kink", "At a kink a rectifier has a slope between its two.",
     "|f(x + d) - f(x) - (1 + a)/2 d| ≤ (1 - a)/2 |d|", kink, {"half of it": 1}),
    ("lines", "A rectifier lies between its lines.", "x, a x ≤ f(x) ≤ s x + o on [l, h]", lines, {"lower": -1}),
    ("sides", "A rectifier lies over lines of slopes between its two; on one side a weight times |x| can be added.",
     "t x ≤ f(x); b ≤ b + w |x|", sides, {"other sign": -1}),
    ("maximum", "A maximum of two moves by at most the larger move of the two.",
     "|max(a, b) - max(c, d)| ≤ max(|a - c|, |b - d|)", maxima, {"one candidate moves more": 0}),
    ("quotient", "The error of a quotient from those of its operands.", "(r - q)(b + f) = e - q f", quotients,
     {"other sign": -1}),
    ("step", "Whole numbers nearest to, or just below, two numbers differ by at most one more than these do.",
     "|m - n| ≤ floor(|d|) + 1", steps, {"no more": 0}),
    ("branch", "A computed branch differs from the ideal one by at most the distance of the branches and its error.",
     "|w - x| ≤ |x - y| + e", branches, {"without the distance": 0}),
    ("mixture", "A mixture of two numbers lies between them.", "min(h, g) ≤ (1 - z) h + z g", mixtures,
     {"beyond 1": 2}),
    ("largest", "The index that is computed as that of the largest element is one of the candidates.",
     "h + e ≥ l - f", largest_elements, {"larger errors": 2}),
    ("growth", "1 + 2 n u outweighs n roundings: one more step.", "1 ≤ (1 + 2 n u)(1 - u)^n", float64_growth,
     {"without a limit of n": 0}),
]  # fmt: skip


def theorems() -> Iterator[Theorem]:
    """The lemmas of ranges and errors."""
    for name, statement, formula, claim, changes in STATED:
        changed = tuple(Mutant(title, partial(claim, change)) for title, change in changes.items())
        yield Theorem(f"bounds.{name}", statement, formula, claim, (claim, size, within), mutants=changed, reals=True)
