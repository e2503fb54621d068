"""Transfer functions of sums: Add, Sub, Sum, and the parts that products and averages share.

An implementation computes each of them as a sum of terms (`arithmetic.sum_error`).  Under hypotheses
with fusion, an operator whose input was itself a sum may be computed with it as one larger sum; its introduced error is
then what the larger sum has more than the smaller ones, so that the errors along the nodes add up to that of the fused
one (theorem bounds.fused-sums).

Where a sum has scales, an implementation may multiply by them before or after it, and multiply constants in advance:
`SumRecord.reach` and `Factors` keep what that can make of partial sums and of constants (theorems
bounds.sum-before-scale, folded-constant and factors-left).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import reduce
from math import inf, prod
from typing import NamedTuple

import numpy as np

from sonnx.numerics.enclosures.arithmetic import (
    FORMATS,
    UNIT,
    Factors,
    above,
    accumulated,
    below,
    centre,
    grown,
    magnitude,
)
from sonnx.numerics.enclosures.values import (
    FINITE,
    Context,
    Linear,
    Neighbourhood,
    Pull,
    SumRecord,
    Transfer,
    Value,
    nothing,
    spread,
)
from sonnx.numerics.formats import Array


class Sum(NamedTuple):
    """A sum in the making: the range of the ideal value, the parts it is added from, and how errors come through."""

    low: Array
    high: Array
    parts: Sequence[SumRecord]
    terms: int
    scalings: float
    depth: float
    inputs: tuple[Value, ...]
    pulls: tuple[Pull, ...]
    pull_terms: int
    propagated: Array
    residual: Array | float
    relaxed: Linear | Callable[[], Linear] | None
    local: tuple[Neighbourhood | None, ...] = ()


def as_sum(context: Context, value: Value) -> SumRecord:
    """The value as the sum it was computed by, where the hypotheses admit fusion; else one term."""
    transfer = value.transfer
    if context.hypotheses.fused and value.readers == 1 and transfer is not None and transfer.sum is not None:
        return transfer.sum
    return term(value)


def as_operand(context: Context, value: Value) -> SumRecord:
    """A factor of a product: an operand times constants, where the hypotheses let the product multiply by these."""
    function = as_sum(context, value).operand
    return term(value) if function is None else function()


def term(value: Value) -> SumRecord:
    """A value as one term of a sum."""
    return SumRecord(
        absolute=value.computed,
        terms=1,
        scalings=0,
        depth=0,
        factors=factors_of(value),
        propagated=value.error,
        introduced=nothing(value.shape),
    )


def factors_of(value: Value) -> Factors:
    """A value as a factor."""
    return Factors.of_constant(value.largest) if value.is_point else Factors.of(value.largest)


def finished(context: Context, sum_: Sum) -> Transfer:
    """The transfer of a sum: its introduced error, and the condition that no partial sum overflows."""
    hypotheses, shape, parts = context.hypotheses, sum_.low.shape, sum_.parts
    absolute = total([part.absolute for part in parts], shape)
    propagated = total([part.propagated for part in parts], shape)
    if len(parts) > 1:
        absolute, propagated = grown(absolute, len(parts)), grown(propagated, len(parts))
    result = grown(magnitude(sum_.low, sum_.high) + propagated, 1, over=True)
    factors, reach = reduce(Factors.or_, [part.factors for part in parts]), _reach(parts, shape)
    whole = hypotheses.sum(context.element, sum_.terms, sum_.scalings, absolute, result, factors, depth=sum_.depth)
    introduced = whole
    if any(part.introduced.strides != (0,) * part.introduced.ndim for part in parts):  # a part that was a sum before
        before = total([part.introduced for part in parts], shape)
        own = hypotheses.rounding(context.element, grown(result + before + whole, 2))
        introduced = np.maximum(grown(whole - before * (1 - 2.0**-50), 2), own)
    finite(context, absolute, result, whole, sum_.terms + sum_.scalings, factors, reach)
    record = SumRecord(
        absolute=absolute,
        terms=sum_.terms,
        scalings=sum_.scalings,
        depth=sum_.depth,
        factors=factors,
        propagated=propagated,
        introduced=whole,
        reach=reach,
    )
    return Transfer(
        sum_.low,
        sum_.high,
        introduced,
        inputs=sum_.inputs,
        pulls=sum_.pulls,
        terms=sum_.pull_terms,
        propagated=sum_.propagated,
        residual=sum_.residual,
        relaxed=sum_.relaxed,
        sum=record if hypotheses.fused else None,
        absolute=(absolute, propagated),
        local=sum_.local,
    )


def _reach(parts: Sequence[SumRecord], shape: Sequence[int]) -> Array | None:
    """See `SumRecord.reach`."""
    if all(part.reach is None for part in parts):
        return None
    return grown(total([part.absolute if part.reach is None else part.reach for part in parts], shape), len(parts))


def finite(
    context: Context,
    absolute: Array,
    result: Array,
    error: Array,
    roundings: float,
    factors: Factors | None = None,
    reach: Array | None = None,
) -> bool:
    """Whether every partial sum is below the largest number of the format, in any order; of a sum with scales also
    before any of them, and so are the constants that an implementation may multiply in advance.
    """
    if context.is_integer:
        return True  # modulo 2^n partial sums do not matter
    unit = context.unit
    largest = min(context.hypotheses.accumulator(context.element).largest, FORMATS[context.element].largest)
    most, ends, off = (float(np.maximum.reduce(array, axis=None, initial=0.0)) for array in (absolute, result, error))
    tops = {"partial sums": min(most, 0.5 * most + 0.5 * ends) + 2 * roundings * unit * most + off}
    if factors is not None and reach is not None and not context.hypotheses.rounds_once:
        slack = 1 + 2 * roundings * unit
        tops["partial sums before a scale"] = float(np.max(reach, initial=0.0)) * slack + off
        tops["products of constants"] = factors.constants * slack
        tops["scaled operands"] = factors.operand * slack
    fits = {what: top * (1 + 2.0**-40) < largest * (1 - unit) for what, top in tops.items()}
    what = next((what for what, holds in fits.items() if not holds), "partial sums")
    text = f"{what} up to {tops[what]:.3g}, the format ends at {largest:.3g}"
    return context.require(FINITE, all(fits.values()), text)


def centred(value: Value) -> tuple[Array, Array]:
    """The centre and radius of the range."""
    return (value.low, nothing(value.shape)) if value.low is value.high else centre(value.low, value.high)


def total(arrays: Sequence[Array], shape: Sequence[int]) -> Array:
    """The sum of arrays, broadcast to a shape."""
    array = arrays[0]
    for part in arrays[1:]:
        array = array + part
    return spread(array, shape)


def depth_of(records: Sequence[SumRecord]) -> float:
    return max(record.depth for record in records) + len(records) - 1


# ------------------------------------------------------------------ broadcasting


def unbroadcast(shape: Sequence[int], factor: Array | float | None = None) -> Pull:
    """Rows over a broadcast shape to rows over the shape before: times a factor, summed along repeated axes."""
    shape = tuple(shape)

    def pull(rows: Array) -> Array:
        if factor is not None:
            rows = rows * factor
        extra = rows.ndim - 1 - len(shape)
        axes = tuple(range(1, 1 + extra)) + tuple(
            1 + extra + axis for axis, extent in enumerate(shape) if extent == 1 and rows.shape[1 + extra + axis] != 1
        )
        summed = rows.sum(axis=axes) if axes else rows
        return summed.reshape(rows.shape[0], *shape)

    return pull


def repeats(shape: Sequence[int], whole: Sequence[int]) -> int:
    """How many elements of the broadcast shape an element stands for."""
    return prod(whole) // max(1, prod(shape))


# ------------------------------------------------------------------ sums


def add(context: Context, inputs: Sequence[Value | None]) -> list[Transfer]:
    """Y = A + B; of Sum, of all inputs."""
    return [_signed(context, [(operand, 1.0) for operand in inputs if operand is not None])]


def subtract(context: Context, inputs: Sequence[Value | None]) -> list[Transfer]:
    """Y = A - B."""
    return [_signed(context, [(operand, sign) for operand, sign in zip(inputs, (1.0, -1.0), strict=True) if operand])]


def _signed(context: Context, parts: Sequence[tuple[Value, float]]) -> Transfer:
    shape = np.broadcast_shapes(*[value.shape for value, _ in parts])
    fixed = _ends([(value, sign) for value, sign in parts if value.is_point], shape)
    used = [(value, sign) for value, sign in parts if not value.is_point]
    low, high = _ends(parts, shape)
    records = [as_sum(context, value) for value, _ in parts]
    sum_ = Sum(
        low, high, parts=records,
        terms=sum(record.terms for record in records),
        scalings=max(record.scalings for record in records),
        depth=depth_of(records),
        inputs=tuple(value for value, _ in used),
        pulls=tuple(unbroadcast(value.shape, None if sign > 0 else sign) for value, sign in used),
        pull_terms=max([repeats(value.shape, shape) for value, _ in used], default=1),
        propagated=grown(total([value.error for value, _ in parts], shape), len(parts)),
        residual=0.0,
        relaxed=Linear(*fixed),
        local=tuple(neighbourhood_of(value, shape) for value, _ in used),
    )  # fmt: skip
    return finished(context, sum_)


def neighbourhood_of(value: Value, shape: Sequence[int]) -> Neighbourhood | None:
    """Of an operand of an operator that works element by element and broadcasts to a shape."""
    return Neighbourhood.same(shape) if value.shape == tuple(shape) else None


def _ends(parts: Sequence[tuple[Value, float]], shape: Sequence[int]) -> tuple[Array, Array]:
    """The range of a sum of values with signs."""
    low, high = nothing(shape), nothing(shape)
    for index, (value, sign) in enumerate(parts):
        least, most = (value.low, value.high) if sign > 0 else (-value.high, -value.low)
        if index:
            low, high = below(low + least), above(high + most)
        else:
            low, high = spread(least, shape), spread(most, shape)
    return low, high


def scaled(
    context: Context,
    X: Value,
    factor_low: Array,
    factor_high: Array,
    *,
    roundings: float,
    added: tuple[Array, Array] | None = None,
    added_terms: int = 0,
    added_size: Array | None = None,
    rounded: bool = False,
    steps: tuple[Array, Array] | None = None,
) -> Transfer:
    """Y = k X + c, for constants k and c in ranges; k is within a few roundings of what is multiplied.

    Args:
        context: of the call.
        X: what varies.
        factor_low: of k.
        factor_high: of k.
        roundings: of k and of the product, relative.
        added: the range of c.
        added_terms: the terms that make c.
        added_size: a bound of the sum of their absolute values.
        rounded: whether k is itself computed, and may underflow.
        steps: where X - a is multiplied by parts of k one after another, a bound of a, and of each product of parts.
    """
    record = as_sum(context, X)
    shape = np.broadcast_shapes(X.shape, factor_low.shape)
    ck, rk = centre(factor_low, factor_high)
    size = above(np.abs(ck) + rk)
    before, parts = (nothing(()), size) if steps is None else steps

    def times(record: SumRecord) -> SumRecord:
        factors = record.factors.scaled(
            float(parts.max(initial=0.0)), everywhere=size.size == 1, steps=2 if rounded else 1
        )
        reach = grown((unscaled(context, record, X.computed) + before) * np.maximum(parts, 1.0), 4)
        return SumRecord(
            absolute=grown(record.absolute * size, 1),
            terms=record.terms,
            scalings=record.scalings + roundings,
            depth=record.depth,
            factors=factors,
            propagated=grown(record.propagated * size, 1),
            introduced=record.introduced * size,
            reach=spread(reach, shape),
        )

    # k x is within rk |x| of ck x; the product, the sum with c and the end are rounded by at most 8 UNIT of their sizes
    off = grown(
        X.magnitude * (rk + 8 * UNIT * size) + 8 * UNIT * (0.0 if added_size is None else added_size), 8, over=True
    )
    ends = X.low * ck, X.high * ck
    low, high = np.minimum(*ends), np.maximum(*ends)
    if added is not None:
        low, high = low + added[0], high + added[1]
    low, high = low - off, high + off
    propagated = grown(spread(X.error * size, shape), 1)
    residual = grown(spread(X.error * rk, shape), 1) if rk.any() else 0.0
    summands, terms = [times(record)], record.terms
    if added is not None and added_size is not None:
        zero = nothing(added_size.shape)
        factors_of_added = Factors.of(float(added_size.max(initial=0.0))) if steps is None else factors_of_steps(*steps)
        summands.append(
            SumRecord(
                absolute=added_size,
                terms=1,
                scalings=0,
                depth=0,
                factors=factors_of_added,
                propagated=zero,
                introduced=zero,
            )
        )
        terms += added_terms

    def relaxed() -> Linear:
        fixed = [spread(array, shape) for array in added or (np.zeros(()), np.zeros(()))]
        if not rk.any():
            return Linear(*fixed)
        wide = grown(spread(X.magnitude * rk, shape), 1)
        return Linear(below(fixed[0] - wide), above(fixed[1] + wide))

    sum_ = Sum(
        low,
        high,
        parts=summands,
        terms=terms,
        scalings=record.scalings + roundings,
        depth=depth_of(summands) + added_terms,
        inputs=(X,),
        pulls=(unbroadcast(X.shape, ck),),
        pull_terms=repeats(X.shape, shape) + 1,
        propagated=propagated,
        residual=residual,
        relaxed=relaxed,
        local=(neighbourhood_of(X, shape),),
    )
    done = finished(context, sum_)
    if added is not None or done.sum is None:
        return done
    return replace(done, sum=replace(done.sum, operand=lambda: times(as_operand(context, X))))


def factors_of_steps(before: Array, parts: Array) -> Factors:
    """Of a constant that is multiplied by a computed factor."""
    factors = Factors.of(float(before.max(initial=0.0)))
    return factors.scaled(float(parts.max(initial=0.0)), everywhere=False, steps=2)


def unscaled(context: Context, record: SumRecord, result: Array) -> Array:
    """A bound of every partial sum of a record, with what its roundings add; `result` bounds the computed sum."""
    if record.reach is not None:
        return record.reach
    share = 0.5 + 2 * (record.terms + record.scalings) * context.unit
    return grown(record.absolute * share + 0.5 * result, 4)


def weighted(
    context: Context, X: Value, weigh: Callable[[Array], Array], pull: Pull, terms: int, scalings: int, changed: Array
) -> Transfer:
    """Sums of the elements of X with constant weights of at least 0, rounded to float64.

    Args:
        context: of the call.
        X: what is weighted.
        weigh: the sums for an array.
        pull: its transpose.
        terms: of a sum.
        scalings: roundings of a weight and of its product.
        changed: a bound of what other weights of an implementation change in an element.
    """
    middle, radius = centre(X.low, X.high)
    roundings = terms + scalings + 4
    wide = grown(weigh(radius), roundings)
    wide = grown(wide + accumulated(roundings) * (weigh(np.abs(middle)) + wide), 4)
    mean = weigh(middle)
    low, high = below(mean - wide), above(mean + wide)
    error = grown(weigh(X.error), roundings)
    absolute = grown(weigh(X.computed), roundings)
    zero = nothing(low.shape)
    factors = Factors.of(X.largest).scaled(1.0, everywhere=False, steps=2)
    part = SumRecord(
        absolute=absolute,
        terms=terms,
        scalings=scalings,
        depth=context.hypotheses.order.depth(terms),
        factors=factors,
        propagated=error,
        introduced=zero,
    )
    slack = grown(accumulated(roundings) * absolute, 4)
    fixed = Linear(-slack, slack)
    sum_ = Sum(
        low,
        high,
        parts=[part],
        terms=terms,
        scalings=scalings,
        depth=part.depth,
        inputs=(X,),
        pulls=(pull,),
        pull_terms=roundings,
        propagated=error,
        residual=0.0,
        relaxed=fixed,
    )
    done = finished(context, sum_)
    residual = grown(np.asarray(done.residual) + changed, 1)
    return done if not changed.any() else replace(done, residual=residual, sum=None)


def progression(context: Context, start: float, step: float, count: int) -> Transfer:
    """Elements start + i step of constants: a sum of i + 1 terms in any order, or of a product and a term."""
    i = np.arange(count)
    product = i * step
    low, high = below(below(product) + start), above(above(product) + start)
    size = grown(abs(start) + np.abs(product), 3)
    factors = Factors.of(count, abs(step))
    introduced = context.hypotheses.sum(context.element, count + 1, 1, size, size, factors)
    finite(context, size, size, introduced, count + 1)
    return Transfer(low, high, introduced)


def not_known(shape: Sequence[int]) -> Transfer:
    """The transfer of values of which nothing is known."""
    wide = np.full(shape, inf)
    return Transfer(-wide, wide, wide)
