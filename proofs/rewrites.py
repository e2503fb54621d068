"""The arithmetic of rewrites, for all sizes: rewritten models have the same values."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import z3

from sonnx.language import builtins, shape_arithmetic
from sonnx.proofs.broadcast_index import f, mapped, stretches
from sonnx.prover.symbolic_execution import Term, execute
from sonnx.prover.terms import without_divisions
from sonnx.prover.theorem import Mutant, Obligation, Theorem, mutated

Function = Callable[..., Any]


def called(function: Function, *arguments: Term) -> Term:
    """The result of a function of terms for arguments for which it returns."""
    return execute(function, *arguments).value


def padding_gives_places(padding: Function = shape_arithmetic.padding) -> Iterator[Obligation]:
    """With p = ceil(extent / stride), the number with stride (p - 1) < extent ≤ stride p."""
    extent, width, stride, p = z3.Ints("extent width stride p")
    ceiling = (extent >= 1, width >= 1, stride >= 1, stride * p - stride < extent, extent <= stride * p, p >= 1)
    total = execute(padding, extent, width, stride)
    yield from total.obligations(*ceiling)
    added = z3.Int("added")
    known = (*ceiling, added == total.value)
    yield Obligation("not negative", known, added >= 0)
    yield from ceiling_is_quotient(ceiling, extent, stride, p)
    needed = stride * p - stride + width - extent
    exact = (*known, added == z3.If(needed > 0, needed, 0))
    needs_division = Obligation("what is needed", (*known, p == QUOTIENT), added == z3.If(needed > 0, needed, 0))
    yield from without_divisions([needs_division])
    places = execute(builtins.positions, extent + added, width, stride)
    yield Obligation("defined", exact, places.defined)
    yield Obligation("the places", exact, places.value == p)


QUOTIENT = z3.Int("quotient.0")
"""The variable of `without_divisions` for the quotient of the only division of a question."""


def ceiling_is_quotient(ceiling: tuple[Term, ...], extent: Term, stride: Term, p: Term) -> Iterator[Obligation]:
    """(extent + stride - 1) // stride is p; that products keep the order is proved first and then used twice."""
    a, b, c = z3.Ints("a b c")
    yield Obligation("products keep the order", (a >= 0, c >= 1), a * c >= 0)
    yield Obligation("of neighbours", ((a - 1 - b) * c >= 0,), b * c <= a * c - c)
    below = z3.Implies(p - 1 >= QUOTIENT, QUOTIENT * stride <= p * stride - stride)
    above = z3.Implies(p <= QUOTIENT - 1, p * stride <= QUOTIENT * stride - stride)
    quotient = Obligation("the quotient", (*ceiling, below, above), (extent + stride - 1) / stride == p)
    yield from without_divisions([quotient])


def halves(first: Function = shape_arithmetic.odd_at_end, more: int = 1) -> Iterator[Obligation]:
    """The odd element stands at the end: as many as at the beginning, or one more."""
    total = z3.Int("total")
    begin = called(first, total)
    end = total - begin
    yield Obligation("share", (total >= 0,), z3.And(begin >= 0, end >= 0, z3.Or(end == begin, end == begin + more)))


def axis_stays(normal: Function = builtins.normal) -> Iterator[Obligation]:
    """The axis counted from the first is the same axis, and is counted from the first."""
    axis, rank = z3.Ints("axis rank")
    inside = (rank >= 1, -rank <= axis, axis < rank)
    once = called(normal, axis, rank)
    yield Obligation("from the first", inside, z3.And(once >= 0, once < rank))
    yield Obligation(
        "the same axis", inside, called(builtins.normal, once, rank) == called(builtins.normal, axis, rank)
    )


def bounds_stay(
    start_in_axis: Function = shape_arithmetic.start_in_axis, end_in_axis: Function = shape_arithmetic.end_in_axis
) -> Iterator[Obligation]:
    """Both bounds give the same place of the axis, for steps of either sign."""
    start, end, extent, step = z3.Ints("start end extent step")
    for sign, known in (("forwards", step > 0), ("backwards", step < 0)):
        here = (extent >= 0, known)
        first, last = called(start_in_axis, start, extent, step), called(end_in_axis, end, extent, step)
        lows = (0, extent) if sign == "forwards" else (0, extent - 1)
        ends = (0, extent) if sign == "forwards" else (-1, extent - 1)
        yield Obligation(f"start, {sign}", here, brought(first, extent, *lows) == brought(start, extent, *lows))
        yield Obligation(f"end, {sign}", here, brought(last, extent, *ends) == brought(end, extent, *ends))


def brought(index: Term, extent: Term, low: Term | int, high: Term) -> Term:
    """An index clamped to an axis, as in the function `sliced`."""
    lowest = z3.IntVal(low) if isinstance(low, int) else low
    return called(builtins.clamped, called(builtins.from_first, index, extent), lowest, high)


def step(extent: int) -> int:
    """The step of numpy along an axis that it repeats an extent along, in elements."""
    if extent == 1:
        return 0
    return 1


def stored_is_broadcast(reading: Function = f, writing: Function = step) -> Iterator[Obligation]:
    """What numpy writes for an index of the common extent C, and an operator reads without broadcasting."""
    i, b, c = z3.Ints("i B C")
    inside = (stretches(b, c), i >= 0, i < c)
    read = mapped(reading, i, c, c) * called(writing, b)
    yield Obligation("an element of the small constant", inside, z3.And(read >= 0, read < b))
    yield Obligation("the element that was meant", inside, read == mapped(f, i, b, c))


def clip_after_rounding(low: int = 0, high: int = 1, *, monotone: bool = True) -> Iterator[Obligation]:
    """max(0, min(1, t)) rounded once is the rounded t between 0 and 1, where rounding keeps the order, 0 and 1.

    So a sum that a Conv rounds, and Clip by two numbers of the type, give what HardSigmoid rounds once.
    """
    rounding = z3.Function("rounding", z3.RealSort(), z3.RealSort())
    t, zero, one, least, most = z3.Real("t"), *map(z3.RealVal, (0, 1, low, high))
    order = [
        z3.Implies(left <= right, rounding(left) <= rounding(right))
        for left, right in ((t, zero), (zero, t), (t, one), (one, t), (zero, one))
    ]
    known = (rounding(zero) == 0, rounding(one) == 1, *(order if monotone else ()))
    inside = z3.If(t <= least, least, z3.If(t >= most, most, t))
    clipped = z3.If(rounding(t) <= 0, zero, z3.If(rounding(t) >= 1, one, rounding(t)))
    yield Obligation("the same number", known, rounding(inside) == clipped)


def rounded_by_sums(large: int = 3 << 22, *, nearest: bool = True) -> Iterator[Obligation]:
    """T + C is rounded to a whole number, where the format has no others; the number minus C is exact, and is t rounded
    to nearest even, where t is small, and else beyond every limit.

    C is 1.5 2^23, and float has the whole numbers only from 2^23 to 2^24: there rounding is to the nearest one, and of
    two to the even one.  Outside it keeps the order.
    """
    t, limit = z3.Real("t"), z3.Int("limit")
    n, k = z3.Ints("raised whole")
    below, above, even = 1 << 23, 1 << 24, n % 2 == 0
    half = z3.RealVal(1) / 2
    near = z3.And(n - t - large <= half, t + large - n <= half)
    ties = z3.Implies(z3.Or(n - t - large == half, t + large - n == half), even)
    raised = (t + large >= below, t + large <= above, *((near, ties) if nearest else (near,)), k == n - large)
    small = (*raised, t <= 1 << 22, t >= -(1 << 22))
    yield Obligation("a whole number of the format", small, z3.And(n >= below, n <= above))
    yield Obligation("the nearest one", small, z3.And(k - t <= half, t - k <= half))
    yield Obligation("even between two", small, z3.Implies(z3.Or(k - t == half, t - k == half), k % 2 == 0))
    rounding = z3.Function("rounding", z3.RealSort(), z3.RealSort())
    ends = (rounding(1 << 24) == 1 << 24, rounding(1 << 23) == 1 << 23, limit >= 0, limit < 1 << 22)
    order = [
        z3.Implies(t + large >= 1 << 24, rounding(t + large) >= rounding(1 << 24)),
        z3.Implies(t + large <= 1 << 23, rounding(t + large) <= rounding(1 << 23)),
    ]
    yield Obligation("beyond the upper limit", (*ends, *order, t >= 1 << 22), rounding(t + large) - large >= limit)
    yield Obligation("beyond the lower limit", (*ends, *order, t <= -(1 << 22)), rounding(t + large) - large <= -limit)


SHORT = mutated(shape_arithmetic.padding, "width - extent", "width - extent - 1")
ALL_AT_END = mutated(shape_arithmetic.odd_at_end, "total // 2", "total // 3")
FROM_END = mutated(builtins.normal, "return axis + rank", "return axis + rank - 1")
UNCLAMPED = mutated(shape_arithmetic.end_in_axis, "return -extent - 1", "return -1")
ZERO = mutated(f, "return i", "return 0")
ALWAYS_STEPS = mutated(step, "return 0", "return 1")
DIVIDES = "cvc5 does not decide divisions by a variable within its limits."


def both_ends() -> Iterator[Obligation]:
    """Both halves of both modes."""
    yield from (Obligation(f"upper, {half.name}", half.hypotheses, half.goal) for half in halves())
    yield from (
        Obligation(f"lower, {half.name}", half.hypotheses, half.goal)
        for half in halves(shape_arithmetic.odd_at_beginning, -1)
    )


STATED: list[tuple[str, str, str, Any, tuple[Function, ...], str, dict[str, Any], str]] = [
    ("same-padding", "With the padding SAME_UPPER and SAME_LOWER derive, windows take ⌈extent / stride⌉ places.",
     "positions(e + padding(e, w, s), w, s) = ⌈e / s⌉", padding_gives_places,
     (shape_arithmetic.padding, builtins.positions),
     "auto_pad is rewritten to pads.", {"one element less": partial(padding_gives_places, SHORT)}, DIVIDES),
    ("padding-at-both-ends", "SAME_UPPER puts an odd element of padding at the end, SAME_LOWER at the beginning.",
     "upper: end - begin ∈ {0, 1}, lower: begin - end ∈ {0, 1}", both_ends,
     (shape_arithmetic.odd_at_end, shape_arithmetic.odd_at_beginning), "auto_pad is rewritten to pads.",
     {"a third": partial(halves, ALL_AT_END)}, ""),
    ("negative-axis", "An axis counted from the first one is the same axis as before.",
     "normal(normal(a, r), r) = normal(a, r) ∈ [0, r - 1]", axis_stays, (builtins.normal,),
     "Negative axes are rewritten.", {"the axis before": partial(axis_stays, FROM_END)}, ""),
    ("slice-bounds", "Starts and ends brought into their axes come to the places they came to before.",
     "brought(start', e) = brought(start, e), brought(end', e) = brought(end, e)", bounds_stay,
     (shape_arithmetic.start_in_axis, shape_arithmetic.end_in_axis, builtins.clamped, builtins.from_first),
     "Starts and ends of Slice are rewritten.",
     {"the last element for the one before the first":
      partial(bounds_stay, shape_arithmetic.start_in_axis, UNCLAMPED)}, ""),
    ("broadcast-constant",
     "A constant that numpy repeats to the common shape, read without broadcasting, has the elements that were meant.",
     "f(i, C, C) s = f(i, B, C) ∈ [0, B - 1],  s = 0 if B = 1 else 1", stored_is_broadcast, (f, step),
     "Constants are stored broadcast.",
     {"always the first element": partial(stored_is_broadcast, ZERO),
      "not repeated": partial(stored_is_broadcast, f, ALWAYS_STEPS)}, ""),
    ("clip-after-rounding",
     "A number brought between 0 and 1 and rounded is the rounded number brought between 0 and 1.",
     "round(max(0, min(1, t))) = max(0, min(1, round(t))), where rounding keeps the order, 0 and 1",
     clip_after_rounding, (), "HardSigmoid is rewritten to Conv and Clip.",
     {"rounding that does not keep the order": partial(clip_after_rounding, monotone=False),
      "another upper bound": partial(clip_after_rounding, high=2)}, ""),
    ("rounded-by-sums",
     "In float, adding and then subtracting 1.5 2^23 rounds a number to a whole one, to nearest even, where it is at "
     "most 2^22 in magnitude; another one stays beyond every limit below 2^22.",
     "round(round(t + C) - C) = nearest-even(t) for |t| ≤ 2^22", rounded_by_sums, (),
     "DequantizeLinear of QuantizeLinear is rewritten to operators on floating-point numbers.",
     {"an odd constant": partial(rounded_by_sums, (3 << 22) + 1),
      "either of two neighbours": partial(rounded_by_sums, nearest=False)}, ""),
]  # fmt: skip

OVER_REALS = {"clip-after-rounding", "rounded-by-sums"}
"""Theorems with variables that are real numbers."""


def theorems() -> Iterator[Theorem]:
    """One theorem for each piece of arithmetic."""
    for name, statement, formula, claim, sources, because, mutants, single in STATED:
        changed = tuple(Mutant(title, obligations) for title, obligations in mutants.items())
        yield Theorem(f"rewrite.{name}", statement, formula, claim, sources, reason_single=single, mutants=changed,
                      because=because, reals=name in OVER_REALS)  # fmt: skip
