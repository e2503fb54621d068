"""Transfer functions of products: Conv, Gemm, MatMul, Mul, Div."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from math import prod
from typing import NamedTuple

import numpy as np

from sonnx.base.errors import NotExecutable
from sonnx.numerics.application import optional, required
from sonnx.numerics.enclosures.arithmetic import (
    FORMATS,
    MOST_SINGLE,
    TINY,
    Factors,
    above,
    accumulated,
    below,
    centre,
    grown,
    magnitude,
    product_above,
    representable,
    single,
)
from sonnx.numerics.enclosures.patches import Patches
from sonnx.numerics.enclosures.sums import (
    Sum,
    as_operand,
    as_sum,
    centred,
    depth_of,
    factors_of,
    finished,
    finite,
    not_known,
    repeats,
    scaled,
    unbroadcast,
    unscaled,
)
from sonnx.numerics.enclosures.values import (
    DIVISOR,
    NARROW,
    Context,
    Linear,
    Pull,
    SumRecord,
    Transfer,
    Value,
    nothing,
    spread,
)
from sonnx.numerics.formats import Array
from sonnx.numerics.windows import Windows, windows


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

LARGE = 2**20
"""Products of numbers in a product of tensors, from which sizes are multiplied in float32."""


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
    """Scale * product(A, B) + added_scale * added, for numbers `scale` that float64 has.

    `added` is broadcast from the shape `added_shape`.  With c, r the centres and radii of ranges and e errors:
    AB is within |rA| (|cB| + rB) + |cA| rB of cA cB, and the errors give eA (|B| + eB) + |A| eB.
    """
    n, multiply = how.terms, how.multiply
    wide_a, wide_b = A.low is not A.high or not A.is_point, B.low is not B.high or not B.is_point
    err_a, err_b = A.has_error, B.has_error
    narrow = err_a and not wide_b and A.is_narrow  # the radius is at most NARROW e + UNIT |c| + TINY
    (ca, ra), (cb, rb) = (0.5 * A.low + 0.5 * A.high, nothing(())) if narrow else centred(A), centred(B)
    middle = multiply(ca, cb)

    def sized(a: Array) -> Array:
        """At least the product of the absolute values of an array and of the centre of B."""
        large = not wide_b and n * middle.size >= LARGE and n <= MOST_SINGLE
        if large and (x := single(a)) and (b := B.single):
            return product_above(multiply, x, b, n)
        return grown(multiply(np.abs(a), B.magnitude if B.low is B.high else np.abs(cb)), n)

    exact = sized(ca)
    radius, linear, residual = nothing(()), nothing(middle.shape), nothing(())
    if wide_a:
        linear = sized(A.error) if err_a else linear
        residual = residual + multiply(A.error, rb + B.error) if err_a and wide_b else residual
        if narrow:
            radius = linear * NARROW
        elif wide_b:
            radius = multiply(ra, np.abs(cb) + rb)
        elif ra.any():
            radius = sized(ra)
    size_a = np.abs(ca) if wide_b else ca
    if wide_b:
        radius = radius + multiply(size_a, rb)
        if err_b and how.pull_b is not None:
            linear, residual = linear + multiply(size_a, B.error), residual + multiply(ra, B.error)
        elif err_b:
            residual = residual + multiply(size_a + ra, B.error)
    linear = error = grown(linear, n + 3) if wide_b else linear
    if residual.shape:
        residual = grown(residual, n + 3)
        error = grown(linear + residual, 1)
    operands = [as_operand(context, value) for value in (A, B)]
    factors, reach = operands[0].factors.times(operands[1].factors), None
    terms, fixed = n, (nothing(middle.shape), nothing(middle.shape))
    if added is not None and added.low is added.high and added.is_point and scale == added_scale == 1.0:
        factors = factors.or_(factors_of(added))
        C, added, terms = added.low.reshape(added_shape), None, n + 1
        middle, exact, fixed = middle + C, exact + np.abs(C), (spread(C, middle.shape), spread(C, middle.shape))
    # what the ends round is at most (|middle| + radius) UNIT, and |middle| at most about `exact`
    gamma = accumulated(terms + 8)
    radius = radius * (1 + gamma)
    radius = grown(exact * gamma + radius, terms + 8, over=True) + 2 * terms * TINY * (1 + B.largest)
    low, high = middle - radius, middle + radius
    absolute = grown(exact + radius + error, terms + 4, over=True)
    scalings = 1 + sum(operand.scalings for operand in operands)
    if any(operand.reach is not None for operand in operands):
        reach = grown(
            multiply(*[operand.absolute if operand.reach is None else operand.reach for operand in operands]), n
        )
    depth = context.hypotheses.order.depth(n) + terms - n
    part = SumRecord(absolute, terms, scalings, depth, factors, error, nothing(low.shape), reach)
    if scale != 1.0:
        reach = unscaled(context, part, grown(magnitude(low, high) + error, 1))
        low, high = below(np.minimum(low * scale, high * scale)), above(np.maximum(low * scale, high * scale))
        absolute, linear, residual, error = (
            grown(array * abs(scale), 1) for array in (absolute, linear, residual, error)
        )
        steps = 1 if representable(scale, context.element) else 2
        factors, scalings = factors.scaled(abs(scale), everywhere=True, steps=steps), scalings + steps
        reach = grown(reach * max(1.0, abs(scale)), 1)
        part = SumRecord(absolute, terms, scalings, depth, factors, error, nothing(low.shape), reach)
    if not wide_a and (not wide_b or how.pull_b is None):  # no followed input changes the product
        fixed = low, high
    parts, inputs, pulls = [part], list[Value](), list[Pull]()
    if wide_a:
        inputs.append(A)
        pulls.append(_scaled(how.pull_a(cb), scale))
    if wide_b and how.pull_b is not None:
        inputs.append(B)
        pulls.append(_scaled(how.pull_b(ca), scale))
    if added is not None:
        steps = 0 if added_scale == 1.0 else 1 if representable(added_scale, context.element) else 2
        low, high, part, own, linear = _with(added, added_shape, added_scale, steps, low, high, linear)
        fixed = below(fixed[0] + own[0]), above(fixed[1] + own[1])
        parts.append(part)
        if not added.is_point:
            inputs.append(added)
            reshaped = _reshaping(added_shape, added.shape)
            pulls.append(_then(unbroadcast(added_shape, None if added_scale == 1.0 else added_scale), reshaped))
    sum_ = Sum(
        low, high, parts, terms + (added is not None), max(record.scalings for record in parts), depth_of(parts),
        tuple(inputs), tuple(pulls), how.pull_terms + 1 + (prod(low.shape) if added is not None else 0),
        linear, residual, None if wide_a and wide_b else Linear(*fixed),
    )  # fmt: skip
    return finished(context, sum_)


def _with(
    added: Value, shape: Sequence[int], scale: float, steps: int, low: Array, high: Array, error: Array
) -> tuple[Array, Array, SumRecord, tuple[Array, Array], Array]:
    """The range of a product with one more term, and the term; `steps` are the roundings of its scale."""
    C_low, C_high, C_error = (array.reshape(shape) for array in (added.low, added.high, added.error))
    size, factors = added.computed.reshape(shape), factors_of(added)
    reach = None if scale == 1.0 else grown(size * max(1.0, abs(scale)), 1)
    if scale != 1.0:
        factors = factors.scaled(abs(scale), everywhere=True, steps=steps)
        C_low, C_high = (
            below(np.minimum(C_low * scale, C_high * scale)),
            above(np.maximum(C_low * scale, C_high * scale)),
        )
        C_error, size = grown(C_error * abs(scale), 1), grown(size * abs(scale), 1)
    part = SumRecord(size, 1, steps, 0, factors, C_error, nothing(size.shape), reach)
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
    A, B = required(inputs, 2)
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
        return np.asarray(np.matmul(a.reshape(a_shape), b.reshape(b_shape)).reshape(out))

    count = prod(batch) * max(a_shape[-2], b_shape[-1]) + 1
    return [multiplied(context, A, B, Product(multiply, max(1, a_shape[-1]), pull_a, pull_b, count))]


def _matmul_shape(a: Sequence[int], b: Sequence[int], batch: Sequence[int]) -> tuple[int, ...]:
    return (*batch, *(a[-2:-1] if len(a) > 1 else ()), *(b[-1:] if len(b) > 1 else ()))


def gemm(context: Context, inputs: Sequence[Value | None]) -> list[Transfer]:
    """Y = alpha A' B' + beta C, where A' is A or its transpose."""
    (A, B), [C] = required(inputs, 2), optional(inputs, 2)
    trans_a, trans_b = bool(context.parameter("transA", 0)), bool(context.parameter("transB", 0))
    alpha, beta = (float(np.float32(context.parameter(name, 1.0))) for name in ("alpha", "beta"))
    if (alpha, beta) != (1.0, 1.0):
        context.require_floats()

    def turned(array: Array, whether: bool) -> Array:
        return array.swapaxes(-1, -2) if whether else array

    def pull_a(b: Array) -> Pull:
        fixed = turned(b, trans_b).T
        return lambda rows: turned(np.matmul(rows, fixed), trans_a)

    def pull_b(a: Array) -> Pull:
        fixed = turned(a, trans_a).T
        return lambda rows: turned(np.matmul(fixed, rows), trans_b)

    def multiply(a: Array, b: Array) -> Array:
        return np.asarray(np.matmul(turned(a, trans_a), turned(b, trans_b)))

    n = A.shape[0 if trans_a else 1]
    how = Product(multiply, max(1, n), pull_a, pull_b, max(A.shape[1 if trans_a else 0], B.shape[0 if trans_b else 1]))
    added_shape = () if C is None else C.shape
    shape = (A.shape[1 if trans_a else 0], B.shape[0 if trans_b else 1])
    if len(added_shape) > 2 or any(c not in (1, y) for c, y in zip(added_shape[::-1], shape[::-1], strict=False)):
        raise NotExecutable(f"C of shape {list(added_shape)} does not broadcast to {list(shape)}")
    return [multiplied(context, A, B, how, scale=alpha, added=C, added_shape=added_shape, added_scale=beta)]


def conv(context: Context, inputs: Sequence[Value | None]) -> list[Transfer]:
    """Y[b, c, place] = sum of X under the kernel times W[c] + B[c]."""
    (X, W), [B] = required(inputs, 2), optional(inputs, 2)
    axes = len(X.shape) - 2
    slid = windows(
        X.shape[2:],
        W.shape[2:],
        context.parameter("strides", [1] * axes),
        context.parameter("dilations", [1] * axes),
        context.parameter("pads", [0] * 2 * axes),
    )
    return [convolved(context, X, W, B, slid, context.parameter("group", 1))]


def convolved(context: Context, X: Value, W: Value, B: Value | None, slid: Windows, group: int) -> Transfer:
    """See `conv`, for windows over the spatial axes of X."""
    patches = Patches(slid)
    N, M, number = X.shape[0], W.shape[0], W.shape[1]
    rows_of, places, height = M // group, prod(patches.places), number * patches.size
    out = (N, M, *patches.places)

    def multiply(x: Array, w: Array) -> Array:
        columns = patches.columns(x).reshape(N, group, height, places)
        return np.asarray(np.matmul(w.reshape(group, rows_of, height), columns).reshape(out))

    def pull_x(w: Array) -> Pull:
        fixed = w.reshape(group, rows_of, height).swapaxes(-1, -2)

        def pull(rows: Array) -> Array:
            made = np.matmul(fixed, rows.reshape(len(rows), N, group, rows_of, places))
            return patches.scattered(made.reshape(len(rows), N, group * number, patches.size, places))

        return pull

    how = Product(multiply, max(1, height), pull_x, None, rows_of * patches.size)
    bias_shape = () if B is None else (M, *[1] * len(patches.places))
    return multiplied(context, X, W, how, added=B, added_shape=bias_shape)


def transposed_convolution(
    context: Context, X: Value, W: Value, B: Value | None, slid: Windows, group: int
) -> Transfer:
    """The transposed map of a convolution: Y[b, c, o] = B[c] + Σ X[b, i, m] W[i, c, k], o the element of the window of
    place m under the element k of the kernel.

    `slid` are the windows over the spatial axes of Y, of which the first ones are the places of X.
    """
    patches = Patches(slid, X.shape[2:])
    N, C, M = X.shape[0], X.shape[1], W.shape[1]
    inputs, places, height = C // group, prod(X.shape[2:]), M * patches.size

    def scatter(x: Array, w: Array) -> Array:
        columns = np.matmul(w.reshape(group, inputs, height).swapaxes(-1, -2), x.reshape(N, group, inputs, places))
        return np.asarray(patches.scattered(columns.reshape(N, group * M, patches.size, places)))

    def pull_x(w: Array) -> Pull:
        kernels = w.reshape(group, inputs, height)

        def pull(rows: Array) -> Array:
            columns = patches.columns(rows.reshape(len(rows) * N, group * M, *slid.extents))
            made = np.matmul(kernels, columns.reshape(len(rows) * N, group, height, places))
            return np.asarray(made.reshape(len(rows), *X.shape))

        return pull

    how = Product(scatter, max(1, inputs * patches.size), pull_x, None, height)
    bias_shape = () if B is None else (M * group, *[1] * len(slid.extents))
    return multiplied(context, X, W, how, added=B, added_shape=bias_shape)


def multiply(context: Context, inputs: Sequence[Value | None]) -> list[Transfer]:
    """Y = A B, element by element."""
    A, B = required(inputs, 2)
    if A.is_point != B.is_point:
        varying, factor = (B, A) if A.is_point else (A, B)
        return [scaled(context, varying, factor.low, factor.high, roundings=1)]
    shape = np.broadcast_shapes(A.shape, B.shape)
    count = max(repeats(A.shape, shape), repeats(B.shape, shape)) + 1
    how = Product(np.multiply, 1, lambda b: unbroadcast(A.shape, b), lambda a: unbroadcast(B.shape, a), count)
    return [multiplied(context, A, B, how)]


def _whole_quotient(context: Context, A: Value, B: Value) -> Transfer:
    """A / B without the fractional part; quotients of numbers that float64 has are taken in 64 bits.

    It is monotone in A, and in B where 0 is outside its range.  Computed operands give one within the range of the
    operands widened by their errors.
    """
    away = ((B.low - B.error > 0) | (B.high + B.error < 0)).all()
    exact = max(A.largest, B.largest) < 2.0**53
    if not context.require(DIVISOR, bool(away), "no divisor is 0") or not context.require(
        DIVISOR, exact, "dividend and divisor are below 2^53"
    ):
        return not_known(np.broadcast_shapes(A.shape, B.shape))

    def ends(more_a: Array | float, more_b: Array | float) -> tuple[Array, Array]:
        a = [(array).astype(np.int64) for array in (A.low - more_a, A.high + more_a)]
        b = [(array).astype(np.int64) for array in (B.low - more_b, B.high + more_b)]
        corners = [(np.sign(x) * np.sign(y) * (np.abs(x) // np.abs(y))).astype(np.float64) for x in a for y in b]
        return np.minimum.reduce(corners), np.maximum.reduce(corners)

    low, high = ends(0.0, 0.0)
    wide_low, wide_high = ends(A.error, B.error)
    inexact = (A.error > 0) | (B.error > 0)
    return Transfer(low, high, np.where(inexact, wide_high - wide_low, 0.0))


def _divided(context: Context, A: Value, inverse_low: Array, inverse_high: Array) -> Transfer:
    """A over a constant: one rounding by itself; in a larger sum a product with the inverse, rounded before."""
    folded = len(as_sum(context, A).factors.sizes) > 1
    transfer = scaled(context, A, inverse_low, inverse_high, roundings=2 if folded else 1, rounded=folded)
    if folded or transfer.sum is None:
        return transfer
    record = replace(transfer.sum, factors=transfer.sum.factors.scaled(1.0, everywhere=False), scalings=2)
    return replace(transfer, sum=replace(record, operand=lambda: record))


def divide(context: Context, inputs: Sequence[Value | None]) -> list[Transfer]:
    """Y = A / B, where 0 is outside the range of B and of its computed values."""
    A, B = required(inputs, 2)
    B = context.refine(B, lambda value: (value.low <= value.error) & (value.high >= -value.error))
    if context.is_integer:
        return [_whole_quotient(context, A, B)]
    away = np.where((B.low > 0) | (B.high < 0), np.minimum(np.abs(B.low), np.abs(B.high)), 0.0)
    error_b = B.error + context.flushed
    least = below(away - error_b)
    if not context.require(
        DIVISOR, bool((least > 0).all()), f"the divisor is at least {away.min(initial=np.inf):.3g} from 0"
    ):
        return [not_known(np.broadcast_shapes(A.shape, B.shape))]
    if B.is_point:
        return [_divided(context, A, below(1 / B.low), above(1 / B.low))]
    shape = np.broadcast_shapes(A.shape, B.shape)
    corners = [a / b for a in (A.low, A.high) for b in (B.low, B.high)]
    low, high = below(np.minimum.reduce(corners)), above(np.maximum.reduce(corners))
    # a^/b^ - a/b = da / b - (a / b) db / b + second-order terms: with |b^| >= least,
    # |a^/b^ - a/b| <= (|da| + |a/b| |db|) / least.
    quotient = magnitude(low, high)
    error = grown((A.error + quotient * error_b) / least, 4)
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
        residual = grown((error_b / away / least + reach) * A.error + quotient * error_b / least, 6)
    computed = grown(quotient + error, 1)
    factors = Factors.of(A.largest, 1.0)
    introduced = context.hypotheses.sum(context.element, 1, 1, computed, computed, factors)
    if context.hypotheses.flush:
        introduced = introduced + grown(2 * FORMATS[context.element].normal * (1 + quotient) / least, 3)
    finite(context, computed, computed, introduced, 1)
    return [
        Transfer(low, high, spread(introduced, shape), tuple(values), tuple(pulls),
                 repeats(A.shape, shape) + 1, spread(propagated, shape), spread(residual, shape))
    ]  # fmt: skip
