"""Clip for every element and every pair of bounds, crossed bounds and NaN included.

`clipped` transcribes the text of 2026-08.  It compares as numbers do, so its arguments include the places of element
and bounds in the usual order (theorem order.usual), which `order.equal_zeros_key` computes: both zeros have the same
place, NaN has the highest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache, partial
from typing import Any

import z3

from sonnx.numerics import order
from sonnx.proofs.float_order import Definitions, nan, on_bits
from sonnx.prover.float_patterns import SymbolicFormat, all_formats
from sonnx.prover.symbolic_execution import Execution, Term, execute
from sonnx.prover.theorem import Counterexample, Mutant, Obligation, ReplayFailed, Theorem, mutated

CONCERNS = ("Clip",)

Obligations = Iterator[Obligation]
Function = Callable[..., Any]


def clipped(x: int, low: int, high: int, at: int, lowest: int, highest: int, infinity: int) -> int:
    """M' where L' > M'; else L' for X < L', M' for X > M', else X (Clip of 2026-08, floating-point section).

    `at`, `lowest` and `highest` are the places of X, L and M; a bound behind the place of +Inf is NaN and so none.
    """
    if highest < lowest <= infinity:
        return high
    if at < lowest <= infinity:
        return low
    if highest < at <= infinity:
        return high
    return x


def clipped_integer(x: int, low: int, high: int) -> int:
    """The same for integers."""
    if low > high:
        return high
    if x < low:
        return low
    if x > high:
        return high
    return x


def least(x: int, y: int, sign: int, infinity: int) -> int:
    """The lower of two values in the order of Max; of equal ones the first."""
    return y if order.key(y, sign, infinity) < order.key(x, sign, infinity) else x


@cache
def _template(name: str, function: Function, width: int) -> tuple[list[Term], Execution]:
    """The function executed once, for arbitrary patterns and places."""
    names = [f"clip{i}" for i in range(7)]
    formals = [z3.BitVec(formal, width + 2) if width else z3.Int(formal) for formal in names]
    return formals, execute(function, *formals)


class Clip:
    """Element and bounds as terms, with their places."""

    def __init__(self, f: SymbolicFormat, function: Function = clipped) -> None:
        self.f, self.patterns = f, f.patterns("x low high")
        self.x, self.low, self.high = self.patterns
        self.at, self.lowest, self.highest = (f.value(order.equal_zeros_key, pattern) for pattern in self.patterns)
        formals, self.execution = _template(f.name, function, f.width)
        infinity = f.infinity if not f.width else z3.BitVecVal(f.infinity, f.width + 2)
        actuals = [*self.patterns, self.at, self.lowest, self.highest, infinity]
        self.result = z3.substitute(self.execution.value, *zip(formals, actuals, strict=True))

    @property
    def numbers(self) -> list[z3.BoolRef]:
        """No NaN among them."""
        return [z3.Not(nan(pattern, self.f)) for pattern in self.patterns]

    @property
    def crossed(self) -> z3.BoolRef:
        """L' > M'."""
        return z3.And(self.highest < self.lowest, self.lowest <= self.f.infinity)


def is_between(f: SymbolicFormat, d: Definitions, function: Function = clipped) -> Obligations:
    c = Clip(f, function)
    yield from c.execution.obligations()
    straight, at = (*f.hypotheses, z3.Not(c.crossed)), f.value(order.equal_zeros_key, c.result)
    above = z3.Implies(c.lowest <= f.infinity, at >= c.lowest)
    under = z3.Implies(at <= f.infinity, at <= c.highest)
    yield Obligation("between the bounds", straight, z3.And(above, under))
    yield Obligation("one of the three", f.hypotheses, z3.Or(*[c.result == pattern for pattern in c.patterns]))
    inside = z3.And(z3.Implies(c.lowest <= f.infinity, c.at >= c.lowest), c.at <= c.highest)
    yield Obligation("inside it stays", (*straight, inside), c.result == c.x)
    yield Obligation("NaN stays", (*straight, nan(c.x, f)), c.result == c.x)
    yield Obligation("NaN only of NaN", f.hypotheses, z3.Implies(nan(c.result, f), nan(c.x, f)))


def crossed_gives_upper(f: SymbolicFormat, d: Definitions, function: Function = clipped) -> Obligations:
    c = Clip(f, function)
    yield Obligation("M", (*f.hypotheses, c.crossed), c.result == c.high)


def nested(f: SymbolicFormat, d: Definitions, c: Clip) -> Term:
    """Min(M, Max(X, L)) of the order."""
    return f.value(least, f.value(d.maximum, c.x, c.low), c.high)


def is_minimum_of_maximum(f: SymbolicFormat, d: Definitions, function: Function = clipped) -> Obligations:
    c = Clip(f, function)
    same = f.value(d.equal_zeros_key, c.result) == f.value(d.equal_zeros_key, nested(f, d, c))
    yield Obligation("equal", (*f.hypotheses, *c.numbers), same)


def is_ieee(f: SymbolicFormat, d: Definitions, function: Function = clipped) -> Obligations:
    """The text with the comparisons of the theory of floating point; an infinity replaces a bound that is NaN."""
    c = Clip(f, function)
    x, low, high = (f.number(pattern) for pattern in c.patterns)
    lowest, highest = (f.number(z3.BitVecVal(side, f.width + 2)) for side in (f.sign + f.infinity, f.infinity))
    bottom, top = z3.If(z3.fpIsNaN(low), lowest, low), z3.If(z3.fpIsNaN(high), highest, high)
    text = z3.If(bottom > top, c.high, z3.If(x < bottom, c.low, z3.If(x > top, c.high, c.x)))
    yield Obligation("equal", (), c.result == text)


def is_it_bit_for_bit(f: SymbolicFormat, d: Definitions) -> Obligations:
    c = Clip(f)
    yield Obligation("equal, of -0", (*f.hypotheses, *c.numbers, c.x == f.sign), c.result == nested(f, d, c))


def keeps_not_a_number(f: SymbolicFormat, d: Definitions) -> Obligations:
    c = Clip(f)
    yield Obligation("NaN", (*f.hypotheses, nan(c.x, f)), nan(c.result, f))


def _show(found: Counterexample) -> tuple[int, int, tuple[int, int, int], int]:
    sign, infinity = found["sign"], found["infinity"]
    x, low, high = found["x"], found["low"], found["high"]
    at, lowest, highest = (order.equal_zeros_key(part, sign, infinity) for part in (x, low, high))
    return sign, infinity, (x, low, high), clipped(x, low, high, at, lowest, highest, infinity)


def show_bits(found: Counterexample) -> str:
    """Clip and the two functions one after another."""
    sign, infinity, (x, low, high), result = _show(found)
    folded = least(order.maximum(x, low, sign, infinity), high, sign, infinity)
    if result == folded:
        raise ReplayFailed(f"both give {result}")
    return f"X = {x}, L = {low}, M = {high}, where -0 is {sign}: Clip gives {result}, Min(M, Max(X, L)) gives {folded}"


def show_not_a_number(found: Counterexample) -> str:
    """NaN between crossed bounds."""
    sign, infinity, (x, low, high), result = _show(found)
    if order.key(result, sign, infinity) > infinity:
        raise ReplayFailed("the result is NaN")
    return f"X = {x} is NaN, L = {low} > M = {high}, where -0 is {sign}: the result is {result}"


def of_integers(function: Function = clipped_integer) -> Obligations:
    x, low, high = z3.Ints("x low high")
    execution = execute(function, x, low, high)
    yield from execution.obligations()
    most = z3.If(x > low, x, low)
    yield Obligation("min(M, max(X, L))", (), execution.value == z3.If(high < most, high, most))
    yield Obligation("crossed gives M", (low > high,), execution.value == high)


UPPER_FIRST = mutated(clipped, "        return high\n    if at < lowest", "        return low\n    if at < lowest")
NO_LOWER = mutated(clipped, "if at < lowest <= infinity", "if at < lowest - 1 <= infinity")
ABOUT = (clipped, order.equal_zeros_key)
STATED: list[tuple[str, str, str, Any, dict[str, Any], str]] = [
    ("Clip", "Clip gives the element or a bound, between the bounds; NaN stays, and a bound that is NaN is none.",
     "L' ≤ M' ⇒ L' ≤ Y ≤ M',  Y ∈ {X, L, M}", is_between, {"off by one": NO_LOWER}, "clip-bound-not-a-number"),
    ("Clip-crossed", "Where the lower bound is greater than the upper one, Clip gives the upper one.",
     "L' > M' ⇒ Y = M", crossed_gives_upper, {"the lower one": UPPER_FIRST}, ""),
    ("Clip-is-minimum-of-maximum", "Of numbers, Clip is Min(M, Max(X, L)) up to the sign of a zero.",
     "Y = min(M, max(X, L)), +0 = -0", is_minimum_of_maximum, {"off by one": NO_LOWER}, ""),
]  # fmt: skip
REFUTED: list[tuple[str, str, str, Any, Any, str, str]] = [
    ("Clip-zeros", "Of numbers, Clip is Min(M, Max(X, L)) bit for bit.", "Y = min(M, max(X, L))", is_it_bit_for_bit,
     show_bits, "clip-bound-not-a-number", "Clip compares numbers, for which the zeros are equal."),
    ("Clip-nan", "Clip gives NaN for NaN, as runtimes do.", "NaN(X) ⇒ NaN(Y)", keeps_not_a_number, show_not_a_number,
     "clip-not-a-number-and-crossed-bounds", "Where the bounds are crossed every element becomes the upper one."),
]  # fmt: skip


def theorems() -> Iterator[Theorem]:
    """Clip in every format at once; its comparisons against IEEE 754 on bits."""
    for name, statement, formula, claim, changes, erratum in STATED:
        changed = tuple(Mutant(title, _applied(claim, change)) for title, change in changes.items())
        yield Theorem(f"value.{name}", f"{statement} In every format at once.", formula, _applied(claim, clipped),
                      ABOUT, mutants=changed, erratum=erratum, concerns=CONCERNS)  # fmt: skip
    for name, statement, formula, refuted, replay, erratum, because in REFUTED:
        yield Theorem(f"value.{name}", statement, formula, _applied(refuted), (*ABOUT, order.maximum, least), "refuted",
                      replay=replay, erratum=erratum, because=because, concerns=CONCERNS)  # fmt: skip
    yield on_bits(
        "value.Clip-ieee",
        "Clip compares as IEEE 754 does.",
        "Y = M' if L' > M', L' if fp.lt(X, L'), …",
        is_ieee,
        {"off by one": partial(is_ieee, function=NO_LOWER)},
        "float",
        sources=ABOUT,
        concerns=CONCERNS,
    )
    integers = Mutant("no lower bound", partial(of_integers, mutated(clipped_integer, "if x < low", "if x < low - 1")))
    yield Theorem(
        "value.Clip-integers", "Of integers, Clip is min(M, max(X, L)), also where the bounds are crossed.",
        "Y = min(M, max(X, L))", of_integers, (clipped_integer,), mutants=(integers,), concerns=CONCERNS,
    )  # fmt: skip


def _applied(claim: Callable[..., Obligations], *functions: Function) -> Callable[[], Obligations]:
    return lambda: claim(all_formats(), Definitions(), *functions)
