"""How the largest of candidates depends on them, for the ranges: max(a, b) = b + relu(a - b), in pairs of pairs.

The identity holds for real numbers, so the lines of a rectifier enclose each pair, and nothing else is needed.  These
values are ideal: no implementation computes them, and they have no error.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from sonnx.language.evaluator import RUN_TIME, TensorFacts
from sonnx.numerics.enclosures.arithmetic import above, below
from sonnx.numerics.enclosures.elementwise import rectifier_lines
from sonnx.numerics.enclosures.layout import taken
from sonnx.numerics.enclosures.values import Context, Linear, Transfer, Value, nothing
from sonnx.numerics.formats import Array

MAX_CANDIDATES, MAX_NUMBERS = 64, 1 << 22
"""Candidates of one maximum, and of all maxima of a call, up to which the pairs are followed."""


def largest_of(
    context: Context, values: Sequence[Value], sources: Sequence[Array], sign: float = 1.0
) -> Transfer | None:
    """The largest of candidates by pairs, of the least ones for sign -1; None where nothing is gained.

    Args:
        context: of the call.
        values: where the candidates stand.
        sources: for each candidate the numbers of its elements, counted through all values, of the output's shape.
        sign: 1 or -1.
    """
    wide = any(bool((value.low < value.high).any()) and not value.is_narrow for value in values)
    if not wide or not 1 < len(sources) <= MAX_CANDIDATES or sum(source.size for source in sources) > MAX_NUMBERS:
        return None
    candidates = [_ideal(context, taken(source, values)) for source in sources]
    while len(candidates) > 1:
        pairs = zip(candidates[::2], candidates[1::2], strict=False)
        candidates = [_larger(context, a, b, sign) for a, b in pairs] + candidates[len(candidates) // 2 * 2 :]
    [last] = candidates
    return Transfer(last.low, last.high, nothing(last.shape), inputs=(last,), pulls=(_same,),
                    relaxed=Linear(nothing(last.shape), nothing(last.shape)))  # fmt: skip


def _larger(context: Context, a: Value, b: Value, sign: float) -> Value:
    """B + relu(a - b); for sign -1 the smaller, b - relu(b - a)."""
    first, second = (a, b) if sign > 0 else (b, a)
    zero = nothing(a.shape)
    fixed = Linear(zero, zero)
    difference = Transfer(
        below(first.low - second.high), above(first.high - second.low), zero, inputs=(first, second),
        pulls=(_same, _negative), terms=1, relaxed=fixed, absolute=(first.magnitude, second.magnitude),
    )  # fmt: skip
    d = context.refine(_ideal(context, difference), lambda value: (value.low < 0) & (value.high > 0))
    rectified = Transfer(np.maximum(d.low, 0.0), np.maximum(d.high, 0.0), zero, inputs=(d,), pulls=(_same,),
                         relaxed=partial(rectifier_lines, d, 0.0))  # fmt: skip
    r = _ideal(context, rectified)
    choose = np.maximum if sign > 0 else np.minimum
    return _ideal(context, Transfer(
        choose(a.low, b.low), choose(a.high, b.high), zero, inputs=(b, r),
        pulls=(_same, _same if sign > 0 else _negative), terms=1, relaxed=fixed, absolute=(b.magnitude, r.magnitude),
    ))  # fmt: skip


def _ideal(context: Context, transfer: Transfer) -> Value:
    shape = transfer.low.shape
    zero = nothing(shape)
    return Value("", TensorFacts(context.element, shape, RUN_TIME), transfer.low, transfer.high, zero, zero,
                 transfer=transfer, node=context.node)  # fmt: skip


def _same(rows: Array) -> Array:
    return rows


def _negative(rows: Array) -> Array:
    return np.negative(rows)
