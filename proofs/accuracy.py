"""The formulas of the texts' pages on accuracy that hold; `accuracy_refuted` has the others.

restrictions/accuracy.toml has the texts; here is the claim of each, by its id.  Quotients are multiplied out.  Of the
exponential and its relatives a claim knows the mean value theorem: f(x + e) - f(x) = s e for a slope s of f between x
and x + e.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import z3

from sonnx.profile.accuracy import accuracy_formulas
from sonnx.proofs.bounds import rectifier, size, within
from sonnx.proofs.slopes import products_within
from sonnx.prover.symbolic_execution import Term
from sonnx.prover.terms import keeps_order
from sonnx.prover.theorem import Mutant, Obligation, Theorem

Obligations = Iterator[Obligation]


def larger(x: Term, y: Term) -> Term:
    """The larger one."""
    return z3.If(x >= y, x, y)


def smaller(x: Term, y: Term) -> Term:
    """The smaller one."""
    return z3.If(x <= y, x, y)


def absolute(halves: int = 2) -> Obligations:
    x, e = z3.Reals("x e")
    yield Obligation("any signs", (), within(2 * (size(x + e) - size(x)), halves * size(e)))


def quotient(sign: int = 1) -> Obligations:
    """Multiplied by B² (B + F), where E and F are the errors of A and B."""
    a, b, e, f = z3.Reals("A B E F")
    whole = b * b * (a + e) - a * b * (b + f)
    yield Obligation("identity", (), whole == (e * b - a * f) * (b + f) - sign * (e * f * b - f * f * a))


def leaky(least: int = 1) -> Obligations:
    x, e, a = z3.Reals("x e a")
    moved, m = rectifier(x + e, a) - rectifier(x, a), larger(z3.RealVal(least), size(a))
    yield Obligation("above 0", (x > 0, x + e > 0), within(moved, size(e)))
    yield Obligation("below 0", (x < 0, x + e < 0), within(moved, size(a) * size(e)))
    crossings = ("falls", (x > 0, x + e < 0), x, x + e), ("rises", (x < 0, x + e > 0), x + e, x)
    for name, crossing, over, under in crossings:
        facts = (keeps_order(m, size(a), -under), keeps_order(m, z3.RealVal(1), over))
        yield Obligation(f"{name} through 0", (*crossing, *facts), within(moved, m * size(e)))


def propagated_sum(errors: int = 1) -> Obligations:
    """By induction over k: P is the error of the first k products, N the bound of one."""
    x, y, e, f, a, b, p, q = z3.Reals("x y e f a b p q")
    for name, (s, most), (t, largest) in (("e B", (e, p), (y, b)), ("A f", (x, a), (f, q)), ("e f", (e, p), (f, q))):
        known = (within(s, most), within(t, largest), *products_within(s, most, t, largest))
        yield Obligation(name, known, within(s * t, most * largest))
    yield Obligation("a product", (), (x + e) * (y + f) - x * y == e * y + x * f + errors * e * f)
    k, total, term, n = z3.Reals("k P t N")
    yield Obligation("one more", (within(total, k * n), within(term, n)), within(total + term, (k + 1) * n))


def derived_sum(power: int = 2) -> Obligations:
    """By induction over k, with w = (1 + u)^k: E bounds the error after k products, which M bounds each."""
    k, u, w, m, e, d, r, limit = z3.Reals("k u w M e d r E")
    grown = limit + u * m + u * ((k + 1) * m + limit + u * m)
    known = (within(e, limit), within(d, u * m), within(r, u * ((k + 1) * m + limit + u * m)))
    yield Obligation("roundings", known, within(e + d + r, grown))
    scaled = ((1 + u) ** power * (w - 1) - k * u) * m
    after = ((1 + u) ** power * (w * (1 + u) - 1) - (k + 1) * u) * m
    yield Obligation("step", (), scaled + u * u * m + u * (u * (k + 1) * m + scaled + u * u * m) == after)


def loop_of_roundings(growth: int = 1) -> Obligations:
    """One pass: s is the exact sum c + m, e the error before, d that of the product, D at least |d|, n the least."""
    u, s, e, d, r, limit, most, least = z3.Reals("u s e d r E D n")
    rounded, exact = larger(size(s + e + d), least), larger(size(s), least)
    known = (u >= 0, within(e, limit), within(d, most), within(r, u * rounded), least >= 0)
    facts = keeps_order(exact + limit + most, rounded, u)
    yield Obligation("pass", (*known, facts), within(e + d + r, (1 + growth * u) * (limit + most) + u * exact))


def quarter(most: int = 1) -> Obligations:
    """A slope s (1 - s) with s = (1 - t) / 2, and the mean value theorem."""
    t, slope, e = z3.Reals("t s e")
    yield Obligation("slope", (t >= -1, t <= most), z3.And((1 - t) * (1 + t) <= 1, (1 - t) * (1 + t) >= 0))
    facts = keeps_order(z3.Q(1, 4), slope, size(e))
    yield Obligation("error", (slope >= 0, 4 * slope <= 1, facts), within(slope * e, size(e) / 4))


def hyperbolic_addition(sign: int = 1) -> Obligations:
    """The sinh and cosh of X are S, C, of the error s, c; tanh of X is t, of the error v."""
    big, high, small, low = z3.Reals("S C s c")
    plus, above = big * low + high * small, high * low + big * small
    yield Obligation("hyperbolic sine", (), plus * high - above * big == small * (high * high - sign * big * big))
    t, v = z3.Reals("t v")
    yield Obligation("tangents", (), (t + v) - t * (1 + sign * t * v) == v * (1 - t) * (1 + t))
    d, w, n, a, b = z3.Reals("d w n a b")
    one = z3.RealVal(1)
    yield Obligation("divisor", (within(t, n), within(v, one), *products_within(t, n, v, one)), 1 + t * v >= 1 - n)
    known = (w >= 1 - n, n < 1, d >= 0, d * w == a * (1 - n), keeps_order(w, 1 - n, d))
    yield Obligation("bound", (*known, z3.Implies(d > a, (d - a) * (1 - n) > 0)), d <= a)
    yield Obligation("a positive product", (d > a, b > 0), (d - a) * b > 0)


def hyperbolic_slope(nearest: int = 1) -> Obligations:
    """The tangents of the sizes of X, X + e and a place between are t, v and z; the slope there is 1 - z²."""
    t, v, z, s, m, e = z3.Reals("t v z s m e")
    least = smaller(t, v) if nearest else larger(t, v)
    known = (t >= 0, v >= 0, z < 1, z3.Or(z3.And(t <= z, z <= v), z3.And(v <= z, z <= t)))
    orders = (keeps_order(z, least, z), keeps_order(z, least, least))
    yield Obligation("slope", (*known, *orders), z3.And(1 - z * z <= 1 - least * least, z * z >= 0))
    yield Obligation("error", (s >= 0, s <= m, keeps_order(m, s, size(e))), within(s * e, m * size(e)))


def rounding(spacings: int = 2) -> Obligations:
    """A number y is rounded to r; p is the largest power of 2 up to |y| or m, 2 u p the spacing there."""
    y, r, p, u, m = z3.Reals("y r p u m")
    top = larger(size(y), m)
    known = (u >= 0, p <= top, within(2 * (r - y), spacings * (u * p)), keeps_order(top, p, u))
    yield Obligation("half a spacing", known, within(r - y, u * top))


def quotient_of_exponentials(factor: int = 2) -> Obligations:
    """With t exact and t + h computed, |h| <= k = r t, roundings a and b of the sums, c of the quotient."""
    t, h, k, a, b, c, u = z3.Reals("t h k a b c u")
    small = (t >= 0, t <= 1, within(h, k), within(a, u), within(b, u), u >= 0, u < 1)
    top = (1 - t - h) * (1 + a) * (1 + t) - (1 - t) * (1 + t + h) * (1 + b)
    parts = (1 - t) * (1 + t) * (a - b) - h * ((1 + t) * (1 + a) + (1 - t) * (1 + b))
    yield Obligation("numerator", (), 2 * top == factor * parts)
    m, n = (1 - t) * (1 + t), (1 + t) * (1 + a) + (1 - t) * (1 + b)
    facts = (keeps_order(1 + u, 1 + a, 1 + t), keeps_order(1 + u, 1 + b, 1 - t),
             keeps_order(1 + a, z3.RealVal(0), 1 + t), keeps_order(1 + b, z3.RealVal(0), 1 - t))  # fmt: skip
    yield Obligation("second factor", (*small, *facts), z3.And(n >= 0, n <= factor * (1 + u)))
    v, w = z3.Reals("v w")
    sizes = (v >= 0, w >= 0, w <= 2 * (1 + u), within(a - b, 2 * u), within(h, k))
    products = (*products_within(a - b, 2 * u, v, v), keeps_order(k, h, w), keeps_order(k, -h, w),
                keeps_order(2 * (1 + u), w, k))  # fmt: skip
    yield Obligation("parts", (*sizes, *products), within(v * (a - b) - h * w, 2 * u * v + k * (2 * (1 + u))))
    yield Obligation("first factor", (t >= 0, t <= 1, keeps_order(1 - t, z3.RealVal(0), 1 + t)), m >= 0)
    bottom = (1 + t + h) * (1 + b)
    below = (keeps_order(1 + b, 1 - u, 1 + t + h), keeps_order(u, z3.RealVal(0), k), 1 + t - k > 0,
             keeps_order(h, -k, 1 - u))  # fmt: skip
    yield Obligation("divisor", (*small, *below), bottom >= (1 + t) * (1 - u) - k * (1 + u))
    q, e, limit = z3.Reals("q e E")
    last = (within(e, limit), within(c, u), q >= 0, *products_within(e, limit, c, u), *products_within(q, q, c, u))
    yield Obligation("rounded quotient", last, within((q + e) * (1 + c) - q, limit * (1 + u) + u * q))


def product_bound(errors: int = 1) -> Obligations:
    a, b, e, f = z3.Reals("A B E F")
    facts = (*products_within(e, size(e), b, size(b)), *products_within(a, size(a), f, size(f)),
             *products_within(e, size(e), f, size(f)), keeps_order(size(e), z3.RealVal(0), size(f)))  # fmt: skip
    bound = (size(b) + errors * size(f)) * size(e) + (size(a) + errors * size(e)) * size(f)
    yield Obligation("bound", facts, within((a + e) * (b + f) - a * b, bound))


def quotient_bound(square: int = 1) -> Obligations:
    """With bounds e, f of the errors E, F, n = |B| - f and B' = B + F: c = E / B', d = (A / B) F / B'."""
    e, n, c, d, w, x, f, g = z3.Reals("e n c d w x f g")
    yield Obligation("divisor", (within(x, f), within(w, g), size(w) - f == n), size(w + x) >= n)
    known = (n > 0, w >= n, c >= 0, c * w <= e, keeps_order(w, n, c))
    yield Obligation("first part", known, c * n <= e)
    sizes = (n > 0, w >= n, g >= n, d >= 0, f >= 0, d * w * g <= x * f, x >= 0)
    orders = [keeps_order(*part) for part in ((w, n, d), (g, n, d * n), (d * w, d * n, g), (d * g, d * n, n))]
    yield Obligation("second part", (*sizes, *orders), d * n * n <= square * (x * f))


PROVED: dict[str, tuple[Callable[..., Obligations], str, int]] = {
    "Abs": (absolute, "half of it", 1),
    "Div-second": (quotient, "other sign", -1),
    "LeakyRelu": (leaky, "not at least 1", 0),
    "MatMul-propagated": (propagated_sum, "without the product of errors", 0),
    "MatMul-derived": (derived_sum, "1 + u once", 1),
    "MatMul-code": (loop_of_roundings, "without growth", 0),
    "Sigmoid-global": (quarter, "beyond 1", 2),
    "Tanh-addition": (hyperbolic_addition, "other sign", -1),
    "Tanh-slope": (hyperbolic_slope, "the place further away", 0),
    "Tanh-rounded": (rounding, "twice the spacing", 4),
    "Tanh-general": (quotient_of_exponentials, "half the factor", 1),
    "Mul": (product_bound, "without the product of errors", 0),
    "Div-bound": (quotient_bound, "without the second part", 0),
}
"""The claims that hold, each with the name of a mutant and what it changes."""


def theorems() -> Iterator[Theorem]:
    """The formulas of the pages on accuracy that hold."""
    for formula in accuracy_formulas():
        if formula.holds:
            claim, title, change = PROVED[formula.id]
            yield Theorem(
                formula.theorem, formula.statement, formula.formula, claim, (formula.place, claim),
                concerns=(formula.operator,), mutants=(Mutant(title, partial(claim, change)),), reals=True,
            )  # fmt: skip
