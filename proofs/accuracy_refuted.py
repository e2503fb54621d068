"""The formulas of the texts' pages on accuracy that do not hold: each is refuted, and is an erratum.

restrictions/accuracy.toml has the texts; here is the claim of each, by its id.  Claims are about integers, in units
that they state, and quotients are multiplied out; of the exponential and its relatives a claim knows a table.
Counterexamples are replayed in exact fractions, with numpy's rounding where a rounding matters.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from fractions import Fraction
from math import exp, floor, log, sqrt
from typing import Any

import numpy as np
import z3

from sonnx.profile.accuracy import accuracy_formulas
from sonnx.proofs.bounds import size, within
from sonnx.prover.symbolic_execution import Term
from sonnx.prover.theorem import Counterexample, Obligation, ReplayFailed, Theorem

Obligations = Iterator[Obligation]
U, DIGITS = 2**11, 10**9
"""1 / u of float16, and the unit of the tables of functions."""
Fails = Callable[..., tuple[bool, str]]
"""Whether the formula fails for the values of a counterexample, and a sentence that shows it."""


def _ints(names: str) -> list[Term]:
    return list(z3.Ints(names))


def _beyond(error: Any, bound: Any, about: str) -> tuple[bool, str]:
    """Whether an error exceeds a bound."""
    return abs(error) > bound, f"{about}: the error is {float(abs(error)):.3g}, the bound {float(bound):.3g}"


def first_order(
    function: Callable[[float], float], slope: Callable[[float], float], places: Iterable[int], unit: int = 1
) -> tuple[Callable[[], Obligations], Fails]:
    """|f(X + E) - f(X)| ≤ f'(X) |E| at places 1 / unit apart, with tables of DIGITS, whose roundings are allowed."""
    listed = list(places)

    def table(values: Callable[[float], float], at: Term) -> Term:
        looked_up: Term = z3.IntVal(0)
        for place in listed:
            looked_up = z3.If(at == place, floor(values(place / unit) * DIGITS), looked_up)
        return looked_up

    def claim() -> Obligations:
        x, e = _ints("x e")
        inside = [z3.Or([side == place for place in listed]) for side in (x, x + e)]
        moved = table(function, x + e) - table(function, x)
        yield Obligation("as printed", tuple(inside), within(unit * moved, (table(slope, x) + 1) * size(e) + 2 * unit))

    def fails(x: int, e: int) -> tuple[bool, str]:
        at, error = x / unit, e / unit
        moved = function(at + error) - function(at)
        return _beyond(moved, slope(at) * abs(error) * (1 + 1e-9), f"X = {at:g}, error {error:g}")

    return claim, fails


def sigmoid(x: float) -> float:
    """1 / (1 + e^-x)."""
    return 1 / (1 + exp(-x))


def first_quotient() -> Obligations:
    a, b, e, f = _ints("a b e f")
    yield Obligation("as printed", (a == 1, b != 0, b + f != 0), b * ((a + e) * b - a * (b + f)) == e * b - f * a)


def fails_first_quotient(a: int, b: int, e: int, f: int) -> tuple[bool, str]:
    true, printed = Fraction(a + e, b + f) - Fraction(a, b), Fraction(e * b - f * a, b * b * (b + f))
    return (
        true != printed,
        f"A = {a}, B = {b}, errors {e}, {f}: the quotient errs by {true}, the formula says {printed}",
    )


def third_quotient() -> Obligations:
    a, b, e, f = _ints("a b e f")
    goal = size((a + e) * b - a * (b + f)) * size(b) <= size(e) * size(b) + size(a * f)
    yield Obligation("as printed", (a == 1, b != 0, b + f != 0), goal)


def fails_third_quotient(a: int, b: int, e: int, f: int) -> tuple[bool, str]:
    bound = (abs(e) + abs(Fraction(a * f, b))) / (abs(b) * abs(b + f))
    return _beyond(Fraction(a + e, b + f) - Fraction(a, b), bound, f"A = {a}, B = {b}, errors {e} and {f}")


def rounded_quotient() -> Obligations:
    """float16: C / B is rounded to n / 2^12, between 1/4 and 1/2; exact would be A / B."""
    a, c, b, n = _ints("a c b n")
    nearest = (b == 3, b <= 4 * c, 2 * c < b, within(2 * (n * b - 2 * U * c), b))
    yield Obligation(
        "as printed", nearest, size(n * b - 2 * U * c) * 4 * U <= z3.If(8 * U * size(a) >= b, 8 * U * size(a), b)
    )


def fails_rounded_quotient(a: int, c: int, b: int, n: int) -> tuple[bool, str]:
    computed = Fraction(float(np.float16(c) / np.float16(b)))
    bound = max(abs(Fraction(a, b)), Fraction(1, 2**14)) / U
    verdict = _beyond(
        computed - Fraction(c, b), bound, f"in float16 exact A = {a} is computed as {c} and divided by {b}"
    )
    return verdict[0] and computed == Fraction(n, 2 * U), verdict[1]


def subnormal_quotient() -> Obligations:
    """float16: k halves of the least subnormal number are rounded to r of these numbers."""
    k, r = _ints("k r")
    yield Obligation("as printed", (k > 0, k < U, within(2 * r - k, z3.IntVal(1))), size(2 * r - k) * U <= k)


def fails_subnormal_quotient(k: int, r: int) -> tuple[bool, str]:
    computed, exact = float(np.float16(k * 2.0**-24) / np.float16(2)), Fraction(k, 2**25)
    return _beyond(Fraction(computed) - exact, exact / U, f"in float16 {k} 2^-24 / 2 is {computed:.3g}")


def printed_sum() -> Obligations:
    """float16, n = 1: a / 2^10 squared, between 1 and 2, is rounded to r / 2^10."""
    a, r = _ints("a r")
    known = (a >= U // 2, a <= U // 2 + 8, within(2 * (r * (U // 2) - a * a), z3.IntVal(U // 2)))
    yield Obligation("as printed", known, size(r * (U // 2) - a * a) * U * U <= a * a)


def fails_printed_sum(a: int, r: int) -> tuple[bool, str]:
    x = np.float16(a / 1024)
    exact, made = Fraction(float(x)) ** 2, float(x * x)
    return _beyond(Fraction(made) - exact, exact / U**2, f"in float16 {float(x)} times itself is {made}")


def second_line() -> Obligations:
    """For n = 1, times V² with V = 1 / u: the powers cancel."""
    v = z3.Int("v")
    yield Obligation("as printed", (v >= 2,), -(2 * v + 1) >= 0)


def fails_second_line(v: int) -> tuple[bool, str]:
    u = Fraction(1, v)
    bound = (((1 + u) - 1 - u) / u**2 * (1 + u) ** 2 - (2 + u)) * u
    return bound < 0, f"u = {u}, n = 1: the bound is {bound}"


PRODUCTS = 8
"""Products of the sum that is normal while they are not."""
DERIVED = (1 + Fraction(1, U)) ** 2 * ((1 + Fraction(1, U)) ** PRODUCTS - 1) * U - PRODUCTS
"""The bound of so many products, over |A| |B|, in float16."""


def subnormal_sum() -> Obligations:
    """float16: products are k halves of the least subnormal number, rounded to r such numbers; sums are exact."""
    k, r = _ints("k r")
    normal = (PRODUCTS * k >= U, k <= U, within(2 * r - k, z3.IntVal(1)))
    yield Obligation("as printed", normal, PRODUCTS * size(2 * r - k) * DERIVED.denominator <= DERIVED.numerator * k)


def fails_subnormal_sum(k: int, r: int) -> tuple[bool, str]:
    product, exact = np.float16(k / 2) * np.float16(2.0**-24), Fraction(k, 2**25)
    total = np.float16(0)
    for _ in range(PRODUCTS):
        total = total + product
    about = f"in float16 the sum of {PRODUCTS} products of {k / 2} and 2^-24 is {float(total):.6g}"
    return _beyond(Fraction(float(total)) - PRODUCTS * exact, DERIVED * exact, about)


def squares() -> Obligations:
    a, e = _ints("a e")
    yield Obligation("as printed", (a > 0, a + e >= 0), within((a + e) * (a + e) - a * a, size(2 * a * e)))


def fails_squares(a: int, e: int) -> tuple[bool, str]:
    return _beyond((a + e) ** 2 - a**2, abs(2 * a * e), f"{a} to the power 2, with an error of {e}")


def admitted_base() -> Obligations:
    a, e = _ints("a e")
    yield Obligation("as printed", (a > 0, a + e >= 0), a + e != 0)


def fails_admitted_base(a: int, e: int) -> tuple[bool, str]:
    return a + e == 0, f"A = {a} with an error of {e} is computed as {a + e}, which has no power -1"


def roots() -> Obligations:
    """The numbers y and z are the roots of X and X + E."""
    x, e, y, z = _ints("x e y z")
    known = (x > 0, x <= 16, x + e >= 0, y >= 0, z >= 0, y * y == x, z * z == x + e)
    yield Obligation("as printed", known, 2 * y * size(z - y) <= size(e))


def fails_roots(x: int, e: int, y: int, z: int) -> tuple[bool, str]:
    return _beyond(sqrt(x + e) - sqrt(x), abs(e) / (2 * sqrt(x)), f"X = {x}, error {e}")


def _special(factor: Fraction, divided: int) -> Fraction:
    """The special formulas of Tanh at 0, where t = 1, with factor / 2 in the divisor and 1 + divided t before it."""
    u = Fraction(1, U)
    return u / (1 + divided) * factor * (1 + u) ** 2 / (2 * (1 - u) - factor / 2 * u * (1 + u))


def special_tangent(most: int, factor: int, divided: int) -> tuple[Callable[[], Obligations], Fails]:
    """float16, X = 0: the exponential is off by K u, |K| at most `most`, and nothing else is rounded."""
    bound = _special(Fraction(factor), divided)

    def claim() -> Obligations:
        k = z3.Int("k")
        yield Obligation("as printed", (within(k, z3.IntVal(most)),),
                         size(k) * bound.denominator <= bound.numerator * (2 * U + k))  # fmt: skip

    def fails(k: int) -> tuple[bool, str]:
        t = 1 + Fraction(k, U)
        return _beyond((1 - t) / (1 + t), bound, f"e^0 computed as {float(t):.6g} in float16")

    return claim, fails


def squared_exponential() -> Obligations:
    """Here ε = 1 / 1024, r = R ε / 2."""
    r = z3.Int("r")
    half = (2048 + r) * (2048 + r) - 2048 * 2048
    yield Obligation("as printed", (within(r, z3.IntVal(4)),), within(half, z3.IntVal(5 * 2048)))


def fails_squared_exponential(r: int) -> tuple[bool, str]:
    error = (1 + Fraction(r, 2048)) ** 2 - 1
    return _beyond(error * 1024, Fraction(5, 2), f"a relative error of {Fraction(r, 2)} epsilon, squared; in epsilon")


def domain() -> Obligations:
    """The number e^(2X) is more than 4^X, here for powers of 2."""
    x, p = _ints("x p")
    powers = z3.Or([z3.And(x == 2**k, p == 4 ** (2**k)) for k in range(8)])
    yield Obligation("as printed", (powers, x <= 10**7), p < 2**128)


def fails_domain(x: int, p: int) -> tuple[bool, str]:
    big = np.exp(np.float32(2 * x))
    quotient = (big - 1) / (big + 1)
    return bool(np.isnan(quotient)), f"X = {x} in float: e^(2X) is {big}, and the quotient {quotient}"


def branches() -> Obligations:
    """The condition is C, computed as D; X and Y have no errors."""
    x, y, c, d = _ints("x y c d")
    yield Obligation("as printed", (), z3.If(d > 0, x, y) == z3.If(c > 0, x, y))


def fails_branches(x: int, y: int, c: int, d: int) -> tuple[bool, str]:
    chosen, exact = (x if side > 0 else y for side in (d, c))
    return (
        chosen != exact,
        f"Where(t > 0, {x}, {y}) with t = {c}, computed as {d}: {chosen} for {exact}, the bound is 0",
    )


def wrapped_product() -> Obligations:
    a, b, w, k = _ints("a b w k")
    known = (b == 2, a >= -128, a < 128, w >= -128, w < 128, a * b - w == 256 * k)
    yield Obligation("as printed", known, within(2 * (w - a * b), z3.IntVal(1)))


def fails_wrapped_product(a: int, b: int, w: int, k: int) -> tuple[bool, str]:
    wrapped = int((np.array([a], np.int8) * np.array([b], np.int8))[0])
    return _beyond(wrapped - a * b, Fraction(1, 2), f"int8 {a} times {b} is {wrapped}")


def order_of_quotient() -> Obligations:
    a, b, e, f = _ints("a b e f")
    left = b * (b * e - a * f) - e * b * (b + f) - a * f * (b + f)
    yield Obligation("as printed", (b != 0, b + f != 0, f == 1), left == a * f * f - b * e * f)


def fails_order_of_quotient(a: int, b: int, e: int, f: int) -> tuple[bool, str]:
    whole = Fraction(a + e, b + f) - Fraction(a, b)
    middle, last = whole - Fraction(e, b) - Fraction(a * f, b * b), Fraction(a * f * f - b * e * f, b * b * (b + f))
    return middle != last, f"A = {a}, B = {b}, errors {e} and {f}: the middle line is {middle}, the last one {last}"


def signed_sum() -> Obligations:
    """In tenths: one product with errors e and f, of at most E and F."""
    a, b, e, f, most, largest = _ints("a b e f m n")
    known = (most == 1, largest == 1, within(e, most), within(f, largest))
    yield Obligation("as printed", known, within((a + e) * (b + f) - a * b, (a + most) * (b + largest) - a * b))


def fails_signed_sum(a: int, b: int, e: int, f: int, m: int, n: int) -> tuple[bool, str]:
    return _beyond((a + e) * (b + f) - a * b, (a + m) * (b + n) - a * b, f"{a} times {b} with errors {e} and {f}")


def counted_rows() -> Obligations:
    """For p = 1, times V² with V = 1 / u."""
    v, n = _ints("v n")
    yield Obligation("as printed", (v == U, n >= 1), (v + 1) * (v + 1) - n * v * v >= 0)


def fails_counted_rows(v: int, n: int) -> tuple[bool, str]:
    bound = (1 + Fraction(1, v)) ** 2 - n
    return bound < 0, f"p = 1, n = {n}: the bound is {float(bound):.6g} a b"


def counted_passes() -> Obligations:
    """Pass k adds the product k + 1, which errs by at most N."""
    k, n = _ints("k n")
    yield Obligation("as printed", (k >= 0, k <= 8, n >= 0), (k + 1) * n <= k * n)


def fails_counted_passes(k: int, n: int) -> tuple[bool, str]:
    return (k + 1) * n > k * n, f"{k + 1} products were added, each with an error of {n}, and the bound is {k * n}"


def tolerance() -> Obligations:
    """The float nearest to the root of X is r / 2^23: 2 r - 1 and 2 r + 1 are on both sides of the root, times 2^24."""
    x, r = _ints("x r")
    steps, part = 10**12, 2**23

    def around(number: Term, margin: int, square: Term) -> z3.BoolRef:
        least, most = number - margin, number + margin
        return z3.And(least * least <= square, square <= most * most)

    near = (x == 2, r > 11863280, r < 11863290, around(2 * r, 1, x * (2 * part) ** 2))
    yield Obligation("as printed", near, around(r * steps, part, x * (part * steps) ** 2))


def fails_tolerance(x: int, r: int) -> tuple[bool, str]:
    root = float(np.sqrt(np.float32(x)))
    return _beyond(root - sqrt(x), 1e-12, f"in float the root of {x} is {root:.9g}")


REFUTED: dict[str, tuple[Callable[[], Obligations], Fails]] = {
    "Div-first": (first_quotient, fails_first_quotient),
    "Div-third": (third_quotient, fails_third_quotient),
    "Div-rounding": (rounded_quotient, fails_rounded_quotient),
    "Div-code": (subnormal_quotient, fails_subnormal_quotient),
    "Exp": first_order(exp, exp, range(-2, 3)),
    "Log": first_order(log, lambda x: 1 / x, range(1, 5), 2),
    "MatMul-printed": (printed_sum, fails_printed_sum),
    "MatMul-second-line": (second_line, fails_second_line),
    "MatMul-subnormal": (subnormal_sum, fails_subnormal_sum),
    "Pow": (squares, fails_squares),
    "Pow-base": (admitted_base, fails_admitted_base),
    "Sigmoid-local": first_order(sigmoid, lambda x: sigmoid(x) * sigmoid(-x), range(-2, 3)),
    "Sqrt": (roots, fails_roots),
    "Tanh-special": special_tangent(4, 8, 2),
    "Tanh-variants": special_tangent(5, 9, 1),
    "Tanh-squares": (squared_exponential, fails_squared_exponential),
    "Tanh-domain": (domain, fails_domain),
    "Where": (branches, fails_branches),
    "Mul-integers": (wrapped_product, fails_wrapped_product),
    "Div-order": (order_of_quotient, fails_order_of_quotient),
    "MatMul-signed": (signed_sum, fails_signed_sum),
    "MatMul-count": (counted_rows, fails_counted_rows),
    "MatMul-loop": (counted_passes, fails_counted_passes),
    "Sqrt-tolerance": (tolerance, fails_tolerance),
}
"""The claims that do not hold, each with what shows it."""


def theorems() -> Iterator[Theorem]:
    """The formulas of the pages on accuracy that do not hold."""
    for formula in accuracy_formulas():
        if not formula.holds:
            claim, fails = REFUTED[formula.id]
            yield Theorem(
                formula.theorem, formula.statement, formula.formula, claim, (formula.place,), "refuted",
                because=formula.because, erratum=formula.erratum or "", replay=_shown(fails),
                concerns=(formula.operator,),
            )  # fmt: skip


def _shown(fails: Fails) -> Callable[[Counterexample], str]:
    def show(found: Counterexample) -> str:
        with np.errstate(all="ignore"):
            failed, sentence = fails(**found)
        if not failed:
            raise ReplayFailed(f"exact fractions show no failure: {sentence}")
        return sentence

    return show
