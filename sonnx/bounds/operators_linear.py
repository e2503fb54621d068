"""Transfer functions of linear operators and products: Conv, Gemm, MatMul, Add, Sub, Mul, Div, averages, normalization.

An implementation computes each of them as a sum of terms (`sonnx.bounds.enclosure.sum_error`).  Under hypotheses with
fusion, an operator whose input was itself a sum may be computed with it as one larger sum; its introduced error is then
what the larger sum has more than the smaller ones, so that the errors along the nodes add up to that of the fused one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import inf, prod
from typing import Any, NamedTuple

import numpy as np

from sonnx.base.errors import NotExecutable
from sonnx.bounds.enclosure import FORMATS, TINY, UNIT, above, accumulated, below, centre, grown, magnitude
from sonnx.bounds.patches import Patches
from sonnx.bounds.values import Context, Linear, Pull, SumRecord, Transfer, Value, nothing, spread
from sonnx.language.builtins import window
from sonnx.numerics.formats import Array
from sonnx.numerics.windows import windows


class Sum(NamedTuple):
    """A sum in the making: the range of the ideal value, the parts it is added from, and how errors come through."""

    low: Array
    high: Array
    parts: Sequence[SumRecord]
    terms: int
    scalings: int
    depth: float
    inputs: tuple[Value, ...]
    pulls: tuple[Pull, ...]
    pull_terms: int
    propagated: Array
    residual: Array | float
    relaxed: Linear | None


def as_sum(context: Context, value: Value) -> SumRecord:
    """The value as the sum it was computed by, where the hypotheses admit fusion; else one term."""
    made = value.transfer
    if context.hypotheses.fused and value.readers == 1 and made is not None and made.sum is not None:
        return made.sum
    return term(value)


def term(value: Value) -> SumRecord:
    """A value as one term of a sum."""
    return SumRecord(value.computed, 1, 0, 0, 1.0, 0.0, value.error, nothing(value.shape))


def finished(context: Context, made: Sum) -> Transfer:
    """The transfer of a sum: its introduced error, and the condition that no partial sum overflows."""
    hypotheses, shape, parts = context.hypotheses, made.low.shape, made.parts
    absolute = grown(total([part.absolute for part in parts], shape), len(parts))
    propagated = grown(total([part.propagated for part in parts], shape), len(parts))
    result = grown(magnitude(made.low, made.high) + propagated, 1)
    factor, widest = max(part.factor for part in parts), max(part.operands for part in parts)
    whole = hypotheses.sum(
        context.element, made.terms, made.scalings, absolute, result, factor=factor, operands=widest, depth=made.depth
    )
    introduced = whole
    if any(part.introduced.strides != (0,) * part.introduced.ndim for part in parts):  # a part that was a sum before
        before = total([part.introduced for part in parts], shape)
        own = hypotheses.rounding(context.element, grown(result + before + whole, 2))
        introduced = np.maximum(grown(whole - before * (1 - 2.0**-50), 2), own)
    finite(context, absolute, result, whole, made.terms + made.scalings)
    record = SumRecord(absolute, made.terms, made.scalings, made.depth, factor, widest, propagated, whole)
    return Transfer(
        made.low, made.high, introduced, made.inputs, made.pulls, made.pull_terms, made.propagated, made.residual,
        made.relaxed, record if hypotheses.fused else None, grown(absolute + propagated, 1),
    )  # fmt: skip


def finite(context: Context, absolute: Array, result: Array, error: Array, roundings: int) -> bool:
    """Whether every partial sum is below the largest number of the format, in any order."""
    made = context.hypotheses.accumulator(context.element)
    largest = min(made.largest, FORMATS[context.element].largest)
    g = 2 * roundings * made.unit
    partial = np.minimum(absolute, 0.5 * absolute + 0.5 * result) + g * absolute + error
    top = float(partial.max(initial=0.0))
    holds = bool(top * (1 + 2.0**-40) < largest * (1 - made.unit))
    return context.require("finite", holds, f"partial sums up to {top:.3g}, the format ends at {largest:.3g}")


def centred(value: Value) -> tuple[Array, Array]:
    """The centre and radius of the range."""
    return (value.low, nothing(value.shape)) if value.is_point else centre(value.low, value.high)


def total(arrays: Sequence[Array], shape: Sequence[int]) -> Array:
    """The sum of arrays, broadcast to a shape."""
    made = arrays[0]
    for each in arrays[1:]:
        made = made + each
    return spread(made, shape)


def _depth(records: Sequence[SumRecord]) -> float:
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
        made = rows.sum(axis=axes) if axes else rows
        return made.reshape(rows.shape[0], *shape)

    return pull


def repeats(shape: Sequence[int], whole: Sequence[int]) -> int:
    """How many elements of the broadcast shape an element stands for."""
    return prod(whole) // max(1, prod(shape))


# ------------------------------------------------------------------ sums


def add(context: Context, inputs: Sequence[Value | None]) -> list[Transfer]:
    """Y = A + B; of Sum, of all inputs."""
    return [_signed(context, [(each, 1.0) for each in inputs if each is not None])]


def subtract(context: Context, inputs: Sequence[Value | None]) -> list[Transfer]:
    """Y = A - B."""
    return [_signed(context, [(each, sign) for each, sign in zip(inputs, (1.0, -1.0), strict=True) if each])]


def _signed(context: Context, parts: Sequence[tuple[Value, float]]) -> Transfer:
    shape = np.broadcast_shapes(*[value.shape for value, _ in parts])
    fixed = _ends([(value, sign) for value, sign in parts if value.is_point], shape)
    used = [(value, sign) for value, sign in parts if not value.is_point]
    low, high = _ends(parts, shape)
    records = [as_sum(context, value) for value, _ in parts]
    made = Sum(
        low, high, records,
        terms=sum(record.terms for record in records),
        scalings=max(record.scalings for record in records),
        depth=_depth(records),
        inputs=tuple(value for value, _ in used),
        pulls=tuple(unbroadcast(value.shape, None if sign > 0 else sign) for value, sign in used),
        pull_terms=max([repeats(value.shape, shape) for value, _ in used], default=1),
        propagated=grown(total([value.error for value, _ in parts], shape), len(parts)),
        residual=0.0,
        relaxed=Linear(*fixed),
    )  # fmt: skip
    return finished(context, made)


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


# ------------------------------------------------------------------ products


class Product(NamedTuple):
    """A product of tensors, linear in each: the product of arrays, and the transposed maps for a fixed other one.

    `terms` is how many products an element adds, `pull_a` and `pull_b` give rows over A for a fixed B and the other way
    round (None where the adjoint pass stops), `pull_terms` how many products an element of a row adds.
    """

    multiply: Multiply
    terms: int
    pull_a: Callable[[Array], Pull]
    pull_b: Callable[[Array], Pull] | None
    pull_terms: int


Multiply = Callable[[Array, Array], Array]


def multiplied(
    context: Context,
    A: Value,
    B: Value,
    how: Product,
    *,
    scale: float = 1.0,
    added: Value | None = None,
    added_shape: Sequence[int] = (),
    added_scale: float = 1.0,
) -> Transfer:
    """scale * product(A, B) + added_scale * added, for numbers `scale` that float64 has.

    `added` is broadcast from the shape `added_shape`.  With c, r the centres and radii of ranges and e errors:
    AB is within |rA| (|cB| + rB) + |cA| rB of cA cB, and the errors give eA (|B| + eB) + |A| eB.
    """
    n, multiply = how.terms, how.multiply
    (ca, ra), (cb, rb) = centred(A), centred(B)
    size_a, size_b = np.abs(ca), B.magnitude if B.is_point else np.abs(cb)
    middle = multiply(ca, cb)
    exact = multiply(size_a, size_b)
    radius, linear, residual = nothing(middle.shape), nothing(middle.shape), nothing(middle.shape)
    wide_a, wide_b = not A.is_point, not B.is_point
    err_a, err_b = A.has_error, B.has_error
    if wide_a:
        radius = radius + multiply(ra, size_b + rb) if wide_b or ra.any() else radius
        linear = linear + multiply(A.error, size_b) if err_a else linear
        residual = residual + multiply(A.error, rb + B.error) if err_a and wide_b else residual
    if wide_b:
        radius = radius + multiply(size_a, rb)
        if err_b and how.pull_b is not None:
            linear, residual = linear + multiply(size_a, B.error), residual + multiply(ra, B.error)
        elif err_b:
            residual = residual + multiply(size_a + ra, B.error)
    linear, residual = grown(linear, n + 3), grown(residual, n + 3)
    error = linear + residual
    radius = grown(radius, n + 3)
    largest = grown(exact, n) + radius
    radius = grown(radius + accumulated(n + 2) * largest + n * TINY, 2)
    low, high = below(middle - radius), above(middle + radius)
    absolute = grown(exact + radius + error, n + 3)
    scalings = 1
    if scale != 1.0:
        ends = below(np.minimum(low * scale, high * scale)), above(np.maximum(low * scale, high * scale))
        (low, high), scalings = ends, 2
        absolute, linear, residual, error = (
            grown(each * abs(scale), 1) for each in (absolute, linear, residual, error)
        )
    part = SumRecord(
        absolute, n, scalings, context.hypotheses.order.depth(n), max(1.0, abs(scale)),
        A.largest + B.largest, grown(error, 1), nothing(low.shape),
    )  # fmt: skip
    parts, inputs, pulls = [part], list[Value](), list[Pull]()
    if wide_a:
        inputs.append(A)
        pulls.append(_scaled(how.pull_a(cb), scale))
    if wide_b and how.pull_b is not None:
        inputs.append(B)
        pulls.append(_scaled(how.pull_b(ca), scale))
    fixed = nothing(low.shape), nothing(low.shape)
    if added is not None:
        low, high, part, fixed, linear = _with(added, added_shape, added_scale, low, high, linear)
        parts.append(part)
        if not added.is_point:
            inputs.append(added)
            reshaped = _reshaping(added_shape, added.shape)
            pulls.append(_then(unbroadcast(added_shape, None if added_scale == 1.0 else added_scale), reshaped))
    made = Sum(
        low, high, parts, n + (added is not None), max(scalings, 1 + (added_scale != 1.0)), _depth(parts),
        tuple(inputs), tuple(pulls), how.pull_terms + 1 + (prod(low.shape) if added is not None else 0),
        linear, residual, None if wide_a and wide_b else Linear(*fixed),
    )  # fmt: skip
    return finished(context, made)


def _with(
    added: Value, shape: Sequence[int], scale: float, low: Array, high: Array, error: Array
) -> tuple[Array, Array, SumRecord, tuple[Array, Array], Array]:
    """The range of a product with one more term, and the term."""
    C_low, C_high, C_error = (each.reshape(shape) for each in (added.low, added.high, added.error))
    size = added.computed.reshape(shape)
    if scale != 1.0:
        C_low, C_high = (
            below(np.minimum(C_low * scale, C_high * scale)),
            above(np.maximum(C_low * scale, C_high * scale)),
        )
        C_error, size = grown(C_error * abs(scale), 1), grown(size * abs(scale), 1)
    part = SumRecord(size, 1, 0, 0, 1.0, 0.0, C_error, nothing(size.shape))
    fixed = (C_low, C_high) if added.is_point else (nothing(low.shape), nothing(low.shape))
    fixed = spread(fixed[0], low.shape), spread(fixed[1], low.shape)
    return below(low + C_low), above(high + C_high), part, fixed, grown(error + C_error, 1)


def _scaled(pull: Pull, scale: float) -> Pull:
    return pull if scale == 1.0 else lambda rows: pull(rows) * scale


def _then(first: Pull, second: Pull) -> Pull:
    return lambda rows: second(first(rows))


def _reshaping(shape: Sequence[int], to: Sequence[int]) -> Pull:
    return lambda rows: rows.reshape(len(rows), *to)


def matmul(context: Context, inputs: Sequence[Value | None]) -> list[Transfer]:
    """Y = A B, of matrices, vectors and stacks of matrices."""
    A, B = inputs
    assert A is not None and B is not None  # noqa: S101  the count of inputs is checked before
    a_shape = (1, *A.shape) if len(A.shape) == 1 else A.shape
    b_shape = (*B.shape, 1) if len(B.shape) == 1 else B.shape
    batch = np.broadcast_shapes(a_shape[:-2], b_shape[:-2])
    whole, out = (*batch, a_shape[-2], b_shape[-1]), _matmul_shape(A.shape, B.shape, batch)

    def pull_a(b: Array) -> Pull:
        turned = b.reshape(b_shape).swapaxes(-1, -2)
        back = unbroadcast(a_shape)
        return lambda rows: back(np.matmul(rows.reshape(len(rows), *whole), turned)).reshape(len(rows), *A.shape)

    def pull_b(a: Array) -> Pull:
        turned = a.reshape(a_shape).swapaxes(-1, -2)
        back = unbroadcast(b_shape)
        return lambda rows: back(np.matmul(turned, rows.reshape(len(rows), *whole))).reshape(len(rows), *B.shape)

    def multiply(a: Array, b: Array) -> Array:
        return np.matmul(a.reshape(a_shape), b.reshape(b_shape)).reshape(out)

    count = prod(batch) * max(a_shape[-2], b_shape[-1]) + 1
    return [multiplied(context, A, B, Product(multiply, max(1, a_shape[-1]), pull_a, pull_b, count))]


def _matmul_shape(a: Sequence[int], b: Sequence[int], batch: Sequence[int]) -> tuple[int, ...]:
    return (*batch, *(a[-2:-1] if len(a) > 1 else ()), *(b[-1:] if len(b) > 1 else ()))


def gemm(context: Context, inputs: Sequence[Value | None]) -> list[Transfer]:
    """Y = alpha A' B' + beta C, where A' is A or its transpose."""
    A, B = inputs[:2]
    C = inputs[2] if len(inputs) > 2 else None
    assert A is not None and B is not None  # noqa: S101  the count of inputs is checked before
    trans_a, trans_b = bool(context.parameter("transA", 0)), bool(context.parameter("transB", 0))
    alpha, beta = (float(np.float32(context.parameter(name, 1.0))) for name in ("alpha", "beta"))

    def turned(array: Array, whether: bool) -> Array:
        return array.swapaxes(-1, -2) if whether else array

    def pull_a(b: Array) -> Pull:
        fixed = turned(b, trans_b).T
        return lambda rows: turned(np.matmul(rows, fixed), trans_a)

    def pull_b(a: Array) -> Pull:
        fixed = turned(a, trans_a).T
        return lambda rows: turned(np.matmul(fixed, rows), trans_b)

    def multiply(a: Array, b: Array) -> Array:
        return np.matmul(turned(a, trans_a), turned(b, trans_b))

    n = A.shape[0 if trans_a else 1]
    how = Product(multiply, max(1, n), pull_a, pull_b, max(A.shape[1 if trans_a else 0], B.shape[0 if trans_b else 1]))
    added_shape = () if C is None else C.shape
    return [
        multiplied(context, A, B, how, scale=alpha, added=C, added_shape=added_shape, added_scale=beta)
    ]


def conv(context: Context, inputs: Sequence[Value | None]) -> list[Transfer]:
    """Y[b, c, place] = sum of X under the kernel times W[c] + B[c]."""
    X, W = inputs[:2]
    B = inputs[2] if len(inputs) > 2 else None
    assert X is not None and W is not None  # noqa: S101  the count of inputs is checked before
    patches = Patches(
        windows(
            X.shape[2:],
            W.shape[2:],
            context.parameter("strides", [1] * (len(X.shape) - 2)),
            context.parameter("dilations", [1] * (len(X.shape) - 2)),
            context.parameter("pads", [0] * 2 * (len(X.shape) - 2)),
        )
    )
    group = context.parameter("group", 1)
    N, M, each = X.shape[0], W.shape[0], W.shape[1]
    rows_of, places, height = M // group, prod(patches.places), each * patches.size
    out = (N, M, *patches.places)

    def multiply(x: Array, w: Array) -> Array:
        columns = patches.columns(x).reshape(N, group, height, places)
        return np.matmul(w.reshape(group, rows_of, height), columns).reshape(out)

    def pull_x(w: Array) -> Pull:
        fixed = w.reshape(group, rows_of, height).swapaxes(-1, -2)

        def pull(rows: Array) -> Array:
            made = np.matmul(fixed, rows.reshape(len(rows), N, group, rows_of, places))
            return patches.scattered(made.reshape(len(rows), N, group * each, patches.size, places))

        return pull

    how = Product(multiply, max(1, height), pull_x, None, rows_of * patches.size)
    bias_shape = () if B is None else (M, *[1] * len(patches.places))
    return [multiplied(context, X, W, how, added=B, added_shape=bias_shape)]


def multiply(context: Context, inputs: Sequence[Value | None]) -> list[Transfer]:
    """Y = A B, element by element."""
    A, B = inputs
    assert A is not None and B is not None  # noqa: S101  the count of inputs is checked before
    if A.is_point != B.is_point:
        varying, factor = (B, A) if A.is_point else (A, B)
        return [scaled(context, varying, factor.low, factor.low, roundings=1)]
    shape = np.broadcast_shapes(A.shape, B.shape)
    count = max(repeats(A.shape, shape), repeats(B.shape, shape)) + 1
    how = Product(
        np.multiply, 1, lambda b: unbroadcast(A.shape, b), lambda a: unbroadcast(B.shape, a), count
    )
    return [multiplied(context, A, B, how)]


def scaled(
    context: Context,
    X: Value,
    factor_low: Array,
    factor_high: Array,
    *,
    roundings: int,
    added: tuple[Array, Array] | None = None,
    added_terms: int = 0,
    added_size: Array | None = None,
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
    """
    record = as_sum(context, X)
    shape = np.broadcast_shapes(X.shape, factor_low.shape)
    ck, rk = centre(factor_low, factor_high)
    size = above(np.abs(ck) + rk)
    corners = [each * k for each in (X.low, X.high) for k in (factor_low, factor_high)]
    low, high = below(np.minimum.reduce(corners)), above(np.maximum.reduce(corners))
    propagated = grown(spread(X.error * size, shape), 1)
    residual = grown(spread(X.error * rk, shape), 1) if rk.any() else 0.0
    widest = max(1.0, float(size.max(initial=0.0)))
    part = SumRecord(
        grown(record.absolute * size, 1), record.terms, record.scalings, record.depth,
        record.factor * widest, max(record.operands, X.largest + widest),
        grown(record.propagated * size, 1), record.introduced * size,
    )  # fmt: skip
    parts, terms = [part], record.terms
    fixed_low, fixed_high = nothing(shape), nothing(shape)
    if added is not None and added_size is not None:
        low, high = below(low + added[0]), above(high + added[1])
        fixed_low, fixed_high = spread(added[0], shape), spread(added[1], shape)
        parts.append(SumRecord(added_size, 1, 0, 0, 1.0, 0.0, nothing(added_size.shape), nothing(added_size.shape)))
        terms += added_terms
    relaxed = None
    if X.magnitude.size:
        wide = grown(spread(X.magnitude * rk, shape), 1)
        relaxed = Linear(below(fixed_low - wide), above(fixed_high + wide)) if rk.any() else Linear(fixed_low, fixed_high)
    made = Sum(
        low, high, parts, terms, record.scalings + roundings, _depth(parts) + added_terms, (X,),
        (unbroadcast(X.shape, ck),), repeats(X.shape, shape) + 1, propagated, residual, relaxed,
    )  # fmt: skip
    return finished(context, made)


def divide(context: Context, inputs: Sequence[Value | None]) -> list[Transfer]:
    """Y = A / B, where 0 is outside the range of B and of its computed values."""
    A, B = inputs
    assert A is not None and B is not None  # noqa: S101  the count of inputs is checked before
    B = context.refine(B, lambda value: (value.low <= value.error) & (value.high >= -value.error))
    away = np.where((B.low > 0) | (B.high < 0), np.minimum(np.abs(B.low), np.abs(B.high)), 0.0)
    least = below(away - B.error)
    if not context.require("divisor", bool((least > 0).all()), f"the divisor is at least {away.min(initial=np.inf):.3g} from 0"):
        return [_nothing_known(np.broadcast_shapes(A.shape, B.shape))]
    if B.is_point:
        folded = as_sum(context, A).terms > 1
        return [scaled(context, A, below(1 / B.low), above(1 / B.low), roundings=2 if folded else 1)]
    shape = np.broadcast_shapes(A.shape, B.shape)
    corners = [a / b for a in (A.low, A.high) for b in (B.low, B.high)]
    low, high = below(np.minimum.reduce(corners)), above(np.maximum.reduce(corners))
    # a^/b^ - a/b = da / b - (a / b) db / b + second-order terms: with |b^| >= least,
    # |a^/b^ - a/b| <= (|da| + |a/b| |db|) / least.
    quotient = magnitude(low, high)
    error = grown((A.error + quotient * B.error) / least, 4)
    inverse_low, inverse_high = below(np.minimum(1 / B.low, 1 / B.high)), above(np.maximum(1 / B.low, 1 / B.high))
    inverse, reach = centre(inverse_low, inverse_high)
    values: list[Value] = []
    pulls: list[Pull] = []
    propagated: Array | float = 0.0
    residual: Array | float = error
    if not A.is_point:
        values, pulls = [A], [unbroadcast(A.shape, spread(inverse, shape))]
        propagated = grown(np.abs(inverse) * A.error, 1)
        # da / b^ - inverse da: |1/b^ - inverse| <= |1/b^ - 1/b| + reach
        residual = grown((B.error / away / least + reach) * A.error + quotient * B.error / least, 6)
    computed = grown(quotient + error, 1)
    introduced = context.hypotheses.sum(context.element, 1, 1, computed, computed, operands=A.largest)
    if context.hypotheses.flush:
        introduced = introduced + grown(2 * FORMATS[context.element].normal * (1 + quotient) / least, 3)
    finite(context, computed, computed, introduced, 1)
    return [
        Transfer(low, high, spread(introduced, shape), tuple(values), tuple(pulls),
                 repeats(A.shape, shape) + 1, spread(propagated, shape), spread(residual, shape))
    ]  # fmt: skip


def _nothing_known(shape: Sequence[int]) -> Transfer:
    wide = np.full(shape, inf)
    return Transfer(-wide, wide, wide)


# ------------------------------------------------------------------ averages and normalization


def batch_normalization(context: Context, inputs: Sequence[Value | None]) -> list[Transfer]:
    """Y = (X - mean) / sqrt(var + epsilon) scale + B, of constant scale, B, mean and var."""
    X, *rest = inputs[:5]
    if X is None or any(each is None or not each.is_point for each in rest):
        raise NotExecutable("BatchNormalization has a bound for constant scale, B, mean and var only")
    if context.parameter("training_mode", 0):
        raise NotExecutable("BatchNormalization has no bound in training mode")
    spatial = [1] * (len(X.shape) - 2)
    scale, B, mean, var = (each.low.reshape(-1, *spatial) for each in rest if each is not None)
    epsilon = float(np.float32(context.parameter("epsilon", 1e-5)))
    sum_low, sum_high = below(var + epsilon), above(var + epsilon)
    unit = FORMATS[context.element].unit
    if not context.require("argument", bool((sum_low > 0).all() and (var >= 0).all()), "var + epsilon is positive"):
        return [_nothing_known(X.shape)]
    root_low, root_high = below(np.sqrt(sum_low)), above(np.sqrt(sum_high))
    corners = below(scale / root_low), below(scale / root_high), above(scale / root_low), above(scale / root_high)
    k_low, k_high = np.minimum(corners[0], corners[1]), np.maximum(corners[2], corners[3])
    size = np.maximum(np.abs(k_low), np.abs(k_high))
    shift = [mean * k for k in (k_low, k_high)]
    shift_low, shift_high = below(np.minimum(*shift)), above(np.maximum(*shift))
    added = below(B - shift_high), above(B - shift_low)
    added_size = grown(np.abs(B) + np.abs(mean) * size, 3)
    assert unit < 1  # noqa: S101  a floating-point type
    return [scaled(context, X, k_low, k_high, roundings=7, added=added, added_terms=2, added_size=added_size)]


def average_pool(context: Context, inputs: Sequence[Value | None]) -> list[Transfer]:
    """The mean of the elements under the kernel, padding counted or not."""
    X = inputs[0]
    assert X is not None  # noqa: S101  the count of inputs is checked before
    axes = len(X.shape) - 2
    kernel = context.parameter("kernel_shape")
    pads = list(context.parameter("pads", [0] * 2 * axes))
    dilations = context.parameter("dilations", [1] * axes)
    strides = context.parameter("strides", [1] * axes)
    if context.parameter("auto_pad", "NOTSET") != "NOTSET" or context.parameter("ceil_mode", 0):
        raise NotExecutable("AveragePool has a bound for explicit pads and ceil_mode 0 only")
    assert all(window(k, d) >= 1 for k, d in zip(kernel, dilations, strict=True))  # noqa: S101
    patches = Patches(windows(X.shape[2:], kernel, strides, dilations, pads))
    ones = np.ones((1, 1, *X.shape[2:]))
    counted = context.parameter("count_include_pad", 0)
    number = patches.columns(ones, 1.0 if counted else 0.0).sum(axis=2).reshape(1, 1, *patches.places)
    return [_mean(context, X, patches, number)]


def global_average_pool(context: Context, inputs: Sequence[Value | None]) -> list[Transfer]:
    """The mean over the spatial axes."""
    X = inputs[0]
    assert X is not None  # noqa: S101  the count of inputs is checked before
    axes = len(X.shape) - 2
    patches = Patches(windows(X.shape[2:], X.shape[2:], [1] * axes, [1] * axes, [0] * 2 * axes))
    return [_mean(context, X, patches, np.full((1, 1, *[1] * axes), float(patches.size)))]


def _mean(context: Context, X: Value, patches: Patches, number: Array) -> Transfer:
    """The sums under the kernel over the numbers of their terms."""
    lead, n = X.shape[:2], patches.size
    out = (*lead, *patches.places)

    def sums(x: Array) -> Array:
        return patches.columns(x).sum(axis=2).reshape(out)

    def pull(rows: Array) -> Array:
        shares = (rows / number).reshape(len(rows), *lead, 1, prod(patches.places))
        return patches.scattered(spread(shares, (len(rows), *lead, n, prod(patches.places))))

    middle, radius = centre(X.low, X.high)
    size = np.abs(middle)
    wide = grown(sums(radius) / number, n + 2)
    wide = grown(wide + accumulated(n + 3) * (sums(size) / number + wide), 4)
    mean = sums(middle) / number
    low, high = below(mean - wide), above(mean + wide)
    error = grown(sums(X.error) / number, n + 2)
    absolute = grown(sums(X.computed) / number, n + 2)
    operands = X.largest + 1.0
    part = SumRecord(absolute, n, 2, context.hypotheses.order.depth(n), 1.0, operands, error, nothing(out))
    # overflow: a partial sum is up to n times the mean, before the division
    finite(context, absolute * number, absolute * number, absolute * number * (n * 2 * FORMATS[context.element].unit), n)
    made = Sum(
        low, high, [part], n, 2, part.depth, (X,), (pull,), n + 2, error, 0.0, Linear(nothing(out), nothing(out))
    )
    return finished(context, made)


def reduce_mean_or_sum(mean: bool) -> Callable[[Context, Sequence[Value | None]], list[Transfer]]:
    """ReduceMean and ReduceSum: sums along axes."""

    def reduce(context: Context, inputs: Sequence[Value | None]) -> list[Transfer]:
        X = inputs[0]
        assert X is not None  # noqa: S101  the count of inputs is checked before
        named = context.parameter("axes")
        axes = tuple(range(len(X.shape))) if not isinstance(named, list | tuple) or not named else tuple(named)
        if not named and context.parameter("noop_with_empty_axes", 0):
            axes = ()
        axes = tuple(axis % len(X.shape) for axis in axes)
        keep = bool(context.parameter("keepdims", 1))
        n = max(1, prod(X.shape[axis] for axis in axes))
        share = float(n) if mean else 1.0
        kept = tuple(1 if axis in axes else extent for axis, extent in enumerate(X.shape))

        def sums(x: Array) -> Array:
            made: Array = np.asarray(x.sum(axis=axes, keepdims=keep)) / share
            return made

        def pull(rows: Array) -> Array:
            whole = (rows / share).reshape(len(rows), *kept)
            return spread(whole, (len(rows), *X.shape))

        middle, radius = centre(X.low, X.high)
        wide = grown(sums(radius), n + 2)
        wide = grown(wide + accumulated(n + 3) * (sums(np.abs(middle)) + wide), 4)
        low, high = below(sums(middle) - wide), above(sums(middle) + wide)
        error, absolute = grown(sums(X.error), n + 2), grown(sums(X.computed), n + 2)
        operands = X.largest + 1.0
        scalings = 2 if mean else 0
        part = SumRecord(absolute, n, scalings, context.hypotheses.order.depth(n), 1.0, operands, error, nothing(low.shape))
        finite(context, absolute * share, absolute * share, absolute * share * (n * 2 * UNIT), n)
        fixed = Linear(nothing(low.shape), nothing(low.shape))
        made = Sum(low, high, [part], n, scalings, part.depth, (X,), (pull,), 2, error, 0.0, fixed)
        return [finished(context, made)]

    return reduce
