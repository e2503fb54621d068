"""The enclosure of a map that is linear in each of two factors: matrix products, convolutions, products of elements.

With c, r the centres and radii of the ranges of A and B, and e their errors, the product AB is within
|rA| (|cB| + rB) + |cA| rB of cA cB, and the errors of the factors change it by at most eA (|B| + eB) + |A| eB.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import NamedTuple

import numpy as np

from sonnx.numerics.enclosures.arithmetic import (
    MOST_SINGLE,
    TINY,
    above,
    accumulated,
    below,
    grown,
    magnitude,
    product_above,
    representable,
    single,
)
from sonnx.numerics.enclosures.sums import (
    Sum,
    as_operand,
    centred,
    depth_of,
    factors_of,
    finished,
    unbroadcast,
    unscaled,
)
from sonnx.numerics.enclosures.values import (
    NARROW,
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

Multiply = Callable[[Array, Array], Array]


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
    local: tuple[Neighbourhood | None, Neighbourhood | None] = (None, None)
    """Which places of A and of B an element depends on; see `Transfer.local`."""


class Addend(NamedTuple):
    """What is added to a product: `scale` times a value, reshaped to `shape` and then broadcast."""

    value: Value
    shape: Sequence[int]
    scale: float = 1.0


LARGE = 2**20
"""Products of numbers in a product of tensors, from which sizes are multiplied in float32."""


class Errors(NamedTuple):
    """What the errors of the factors change in a product: to first order, beyond that, and in all."""

    linear: Array
    residual: Array
    whole: Array


class ProductBounds(NamedTuple):
    """A product that is not yet scaled, or to which nothing is added yet.

    `low` and `high` are the range of the ideal value, `fixed` that of the part which no followed input changes.
    """

    low: Array
    high: Array
    errors: Errors
    record: SumRecord
    fixed: tuple[Array, Array]


@dataclass(frozen=True, eq=False)
class Operands:
    """The two factors of a product, by the centre and the radius of their ranges."""

    A: Value
    B: Value
    product: Product

    @cached_property
    def a_varies(self) -> bool:
        """Whether A is more than one known array."""
        return not _is_known(self.A)

    @cached_property
    def b_varies(self) -> bool:
        """Whether B is more than one known array."""
        return not _is_known(self.B)

    @property
    def follows_b(self) -> bool:
        """Whether the adjoint pass follows rows to B."""
        return self.b_varies and self.product.pull_b is not None

    @cached_property
    def is_narrow(self) -> bool:
        """Whether the radius of A need not be multiplied: it is at most NARROW eA + UNIT |cA| + TINY."""
        return self.A.has_error and not self.b_varies and self.A.is_narrow

    @cached_property
    def range_a(self) -> tuple[Array, Array]:
        """The centre and the radius of A; of a narrow range the radius is left out."""
        return (0.5 * self.A.low + 0.5 * self.A.high, nothing(())) if self.is_narrow else centred(self.A)

    @cached_property
    def range_b(self) -> tuple[Array, Array]:
        """The centre and the radius of B."""
        return centred(self.B)

    @cached_property
    def middle(self) -> Array:
        """The product of the centres."""
        return self.product.multiply(self.range_a[0], self.range_b[0])

    def sized(self, a: Array) -> Array:
        """At least the product of the absolute values of an array and of the centre of B."""
        B, (multiply, n, *_) = self.B, self.product
        if not self.b_varies and n * self.middle.size >= LARGE and n <= MOST_SINGLE and (x := single(a)) and B.single:
            return product_above(multiply, x, B.single, n)
        return grown(multiply(np.abs(a), B.magnitude if B.low is B.high else np.abs(self.range_b[0])), n)

    @cached_property
    def exact(self) -> Array:
        """At least the sum of the absolute values of the products of the centres."""
        return self.sized(self.range_a[0])

    @cached_property
    def from_a(self) -> Array:
        """At least what the error of A changes for B at its centre."""
        return self.sized(self.A.error)

    @cached_property
    def radius(self) -> Array:
        """How far products of elements of the ranges are from the product of the centres, but for roundings."""
        multiply, (ca, ra), (cb, rb) = self.product.multiply, self.range_a, self.range_b
        radius = nothing(())
        if self.a_varies:
            if self.is_narrow:
                radius = self.from_a * NARROW
            elif self.b_varies:
                radius = multiply(ra, np.abs(cb) + rb)
            elif ra.any():
                radius = self.sized(ra)
        return radius + multiply(np.abs(ca), rb) if self.b_varies else radius

    def errors(self) -> Errors:
        """What the errors of A and B change; to first order only what the adjoint pass follows."""
        A, B, multiply, roundings = self.A, self.B, self.product.multiply, self.product.terms + 3
        (ca, ra), rb = self.range_a, self.range_b[1]
        linear, residual = nothing(self.middle.shape), nothing(())
        if self.a_varies and A.has_error:
            linear = self.from_a
            residual = residual + multiply(A.error, rb + B.error) if self.b_varies else residual
        if self.b_varies and B.has_error:
            if self.follows_b:
                linear, residual = linear + multiply(np.abs(ca), B.error), residual + multiply(ra, B.error)
            else:
                residual = residual + multiply(np.abs(ca) + ra, B.error)
        linear = grown(linear, roundings) if self.b_varies else linear
        if not residual.shape:
            return Errors(linear, residual, linear)
        residual = grown(residual, roundings)
        return Errors(linear, residual, grown(linear + residual, 1))

    def pulls(self, scale: float) -> tuple[list[Value], list[Pull], list[Neighbourhood | None]]:
        """The factors that vary and are followed, the transposed maps to them, and which places of them count."""
        inputs, pulls, local = list[Value](), list[Pull](), list[Neighbourhood | None]()
        if self.a_varies:
            inputs.append(self.A)
            local.append(self.product.local[0])
            pulls.append(_scaled(self.product.pull_a(self.range_b[0]), scale))
        if self.b_varies and self.product.pull_b is not None:
            inputs.append(self.B)
            local.append(self.product.local[1])
            pulls.append(_scaled(self.product.pull_b(self.range_a[0]), scale))
        return inputs, pulls, local


def multiplied(
    context: Context, A: Value, B: Value, product: Product, *, scale: float = 1.0, added: Addend | None = None
) -> Transfer:
    """Scale * product(A, B) + added, for numbers `scale` that float64 has."""
    if not A.is_point and not B.is_point:
        A, B = context.sharpen(A), context.sharpen(B)
    pair = Operands(A, B, product)
    constant = added if added is not None and scale == added.scale == 1.0 and _is_known(added.value) else None
    added = added if constant is None else None
    bounds = _enclosed(context, pair, constant)
    if scale != 1.0:
        bounds = _times(context, bounds, scale)
    if not pair.a_varies and not pair.follows_b:
        bounds = bounds._replace(fixed=(bounds.low, bounds.high))
    terms, parts, (inputs, pulls, local) = bounds.record.terms, [bounds.record], pair.pulls(scale)
    if added is not None:
        bounds, part = _plus(context, bounds, added)
        parts, terms = [*parts, part], terms + 1
        if not added.value.is_point:
            inputs.append(added.value)
            local.append(None)
            reshaped = _reshaping(added.shape, added.value.shape)
            pulls.append(_then(unbroadcast(added.shape, None if added.scale == 1.0 else added.scale), reshaped))
    return finished(
        context,
        Sum(
            low=bounds.low,
            high=bounds.high,
            parts=parts,
            terms=terms,
            scalings=max(record.scalings for record in parts),
            depth=depth_of(parts),
            inputs=tuple(inputs),
            pulls=tuple(pulls),
            pull_terms=product.pull_terms + 1 + (prod(bounds.low.shape) if added is not None else 0),
            propagated=bounds.errors.linear,
            residual=bounds.errors.residual,
            relaxed=None if pair.a_varies and pair.b_varies else Linear(*bounds.fixed),
            local=tuple(local),
        ),
    )


def _enclosed(context: Context, pair: Operands, constant: Addend | None) -> ProductBounds:
    """The product, with a constant that is added to it as one more exact term."""
    n, multiply = pair.product.terms, pair.product.multiply
    errors, middle, exact, terms = pair.errors(), pair.middle, pair.exact, n
    operands = [as_operand(context, value) for value in (pair.A, pair.B)]
    factors, fixed = operands[0].factors.times(operands[1].factors), nothing(middle.shape)
    if constant is not None:
        factors = factors.or_(factors_of(constant.value))
        C = constant.value.low.reshape(constant.shape)
        middle, exact, terms = middle + C, exact + np.abs(C), n + 1
        fixed = spread(C, middle.shape)
    # what the ends round is at most (|middle| + radius) UNIT, and |middle| at most about `exact`
    gamma = accumulated(terms + 8)
    radius = pair.radius * (1 + gamma)
    radius = grown(exact * gamma + radius, terms + 8, over=True) + 2 * terms * TINY * (1 + pair.B.largest)
    reach = None
    if any(operand.reach is not None for operand in operands):
        sizes = [operand.absolute if operand.reach is None else operand.reach for operand in operands]
        reach = grown(multiply(*sizes), n)
    low, high = middle - radius, middle + radius
    record = SumRecord(
        absolute=grown(exact + radius + errors.whole, terms + 4, over=True),
        terms=terms,
        scalings=1 + sum(operand.scalings for operand in operands),
        depth=context.hypotheses.order.depth(n) + terms - n,
        factors=factors,
        propagated=errors.whole,
        introduced=nothing(low.shape),
        reach=reach,
    )
    return ProductBounds(low, high, errors, record, (fixed, fixed))


def _times(context: Context, bounds: ProductBounds, scale: float) -> ProductBounds:
    """The product times a number."""
    record, steps = bounds.record, _steps(context, scale)
    reach = unscaled(context, record, grown(magnitude(bounds.low, bounds.high) + record.propagated, 1))
    absolute, linear, residual, whole = (
        grown(array * abs(scale), 1) for array in (record.absolute, *bounds.errors)
    )  # fmt: skip
    low, high = _scaled_range(bounds.low, bounds.high, scale)
    scaled = SumRecord(
        absolute=absolute,
        terms=record.terms,
        scalings=record.scalings + steps,
        depth=record.depth,
        factors=record.factors.scaled(abs(scale), everywhere=True, steps=steps),
        propagated=whole,
        introduced=nothing(low.shape),
        reach=grown(reach * max(1.0, abs(scale)), 1),
    )
    return ProductBounds(low, high, Errors(linear, residual, whole), scaled, bounds.fixed)


def _plus(context: Context, bounds: ProductBounds, added: Addend) -> tuple[ProductBounds, SumRecord]:
    """The product plus a scaled value, and that value as a part of the sum."""
    value, scale, whole_shape = added.value, added.scale, bounds.low.shape
    low, high, error = (array.reshape(added.shape) for array in (value.low, value.high, value.error))
    size, factors, steps, reach = value.computed.reshape(added.shape), factors_of(value), 0, None
    if scale != 1.0:
        steps = _steps(context, scale)
        factors = factors.scaled(abs(scale), everywhere=True, steps=steps)
        reach = grown(size * max(1.0, abs(scale)), 1)
        low, high = _scaled_range(low, high, scale)
        error, size = grown(error * abs(scale), 1), grown(size * abs(scale), 1)
    part = SumRecord(
        absolute=size, terms=1, scalings=steps, depth=0, factors=factors, propagated=error,
        introduced=nothing(size.shape), reach=reach,
    )  # fmt: skip
    known = (low, high) if value.is_point else (nothing(whole_shape), nothing(whole_shape))
    fixed = (
        below(bounds.fixed[0] + spread(known[0], whole_shape)),
        above(bounds.fixed[1] + spread(known[1], whole_shape)),
    )
    errors = bounds.errors._replace(linear=grown(bounds.errors.linear + error, 1))
    return bounds._replace(
        low=below(bounds.low + low), high=above(bounds.high + high), errors=errors, fixed=fixed
    ), part


def _is_known(value: Value) -> bool:
    """Whether a value is one array that float64 has."""
    return value.low is value.high and value.is_point


def _steps(context: Context, scale: float) -> int:
    """The roundings of a product with a number: one more where the number itself is rounded to the element type."""
    return 1 if representable(scale, context.element) else 2


def _scaled_range(low: Array, high: Array, scale: float) -> tuple[Array, Array]:
    return below(np.minimum(low * scale, high * scale)), above(np.maximum(low * scale, high * scale))


def _scaled(pull: Pull, scale: float) -> Pull:
    return pull if scale == 1.0 else lambda rows: pull(rows) * scale


def _then(first: Pull, second: Pull) -> Pull:
    return lambda rows: second(first(rows))


def _reshaping(shape: Sequence[int], to: Sequence[int]) -> Pull:
    return lambda rows: rows.reshape(len(rows), *to)
