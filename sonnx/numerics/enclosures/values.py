"""What the domain of ranges and errors knows of a tensor, and what the transfer function of an operator gives.

Let x be the ideal value of an element and x^ the value an implementation computes.  A `Value` states

    low <= x <= high   and   |x^ - x| <= error.

A `Transfer` states how a call makes the value: for its inputs x_k with errors d_k = x^_k - x_k, linear maps C_k (exact,
in float64 numbers) and a bound `noise`,

    |(y^ - y) - Σ C_k d_k| <= noise   and   |Σ C_k d_k| <= propagated.

The adjoint pass follows the C_k backwards.  Where the operator itself is linear, y = Σ C_k x_k + constant, or where two
lines enclose it, the relaxation follows the same maps.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from functools import cached_property, lru_cache
from itertools import count
from math import inf
from typing import Any, NamedTuple, Protocol, TypeAlias

import numpy as np

from sonnx.base.errors import NotExecutable, Stop
from sonnx.language.evaluator import RUN_TIME, TensorFacts
from sonnx.numerics.application import Application
from sonnx.numerics.array_facts import facts_of_array
from sonnx.numerics.enclosures.arithmetic import (
    FORMATS,
    UNIT,
    Factors,
    Single,
    above,
    accumulated,
    below,
    grown,
    magnitude,
    single,
)
from sonnx.numerics.enclosures.hypotheses import Hypotheses
from sonnx.numerics.formats import Array

Pull = Callable[[Array], Array]
"""Rows over the output, shape (m, *output), to rows over an input, (m, *input): the transposed linear map."""


class NotBounded(Stop):
    """The analysis has no transfer function for a part of the model; the message names the node."""

    exit_code = 3


@dataclass(frozen=True, eq=False, kw_only=True)
class SumRecord:
    """A value as the sum it was computed by: what a fusion with the next operator needs.

    `absolute` bounds the sum of the absolute values of its `terms` terms on computed operands, `scalings` the roundings
    of a term beside additions, `depth` the additions a term passes, `factors` what the terms are products of.
    `introduced` is the error of this sum; `propagated` the error of its operands in it.  `reach` bounds every partial
    sum, also before any of its scales; None where none was scaled.
    """

    absolute: Array
    terms: int
    scalings: float
    depth: float
    factors: Factors
    propagated: Array
    introduced: Array
    reach: Array | None = None
    operand: Callable[[], SumRecord] | None = None
    """Of a value times constants: the same with that value as one term, for a product that follows."""

    def moved(self, move: Callable[[Array], Array]) -> SumRecord:
        """The record where the elements are moved."""
        absolute, propagated, introduced = map(move, (self.absolute, self.propagated, self.introduced))
        reach, operand = None if self.reach is None else move(self.reach), self.operand
        return replace(
            self, absolute=absolute, propagated=propagated, introduced=introduced, reach=reach,
            operand=None if operand is None else lambda: operand().moved(move),
        )  # fmt: skip


@dataclass(frozen=True, eq=False)
class Lines:
    """An elementwise operator between two lines: lower_slope x + lower_offset <= f(x) <= upper_slope x + upper_offset
    for each x in its range; slopes are exact, offsets rounded outward.

    `left` is the slope left of 0 of a rectifier, which has slope 1 right of it: where 0 is inside the range, any slope
    from `left` to 1 will do below, with the offset 0.
    """

    lower_slope: Array
    lower_offset: Array
    upper_slope: Array
    upper_offset: Array
    left: float | None = None


class Chosen(NamedTuple):
    """For each row and some elements with 0 inside their range, given by flat places, of a rectifier: the slope of the
    line below, the side of the kink (1 for x >= 0, -1 for x <= 0, 0 for both), and the weight of x on that side.
    """

    places: Array
    slope: Array
    side: Array
    weight: Array

    def followed(self, lines: Lines, up: Array, down: Array) -> tuple[Array, Array, Array]:
        """The row over x, the part of `up` that counts with the offset of the line above, and the weights as rows."""
        assert lines.left is not None  # noqa: S101  kinks are those of rectifiers
        m, k = len(up), self.places
        h, weights, above = up * lines.upper_slope + down * lines.lower_slope, np.zeros(up.shape), np.array(up)
        flat_h, flat_up, flat_down = h.reshape(m, -1), up.reshape(m, -1)[:, k], down.reshape(m, -1)[:, k]
        line = np.where(self.side > 0, 1.0, lines.left)
        upper = np.where(self.side == 0, lines.upper_slope.reshape(-1)[k], line)
        lower = np.where(self.side == 0, np.clip(self.slope, lines.left, 1.0), line)
        weight = np.where(self.side == 0, 0.0, np.maximum(self.weight, 0.0))
        flat_h[:, k] = flat_up * upper + flat_down * lower + self.side * weight
        above.reshape(m, -1)[:, k] *= self.side == 0
        weights.reshape(m, -1)[:, k] = weight
        return h, above, weights


class Neighbourhood(NamedTuple):
    """Which places of an input (N, C, spatial axes) an element of (N, C', spatial axes) depends on.

    At the place p of an axis on those from stride p + first to stride p + last, of any channel and the same n.
    """

    strides: tuple[int, ...]
    first: tuple[int, ...]
    last: tuple[int, ...]

    @staticmethod
    def same(shape: Sequence[int]) -> Neighbourhood:
        """Of an operator that works element by element, or on the channels of a place."""
        axes = max(0, len(shape) - 2)
        return Neighbourhood((1,) * axes, (0,) * axes, (0,) * axes)

    def before(self, other: Neighbourhood) -> Neighbourhood:
        """What is reached through this one and then another, which is that of an operator before it."""
        parts = zip(*self, *other, strict=True)
        steps, first, last = zip(
            *((s * t, t * a + b, t * z + y) for s, a, z, t, b, y in parts), strict=True
        ) if self.strides else ((), (), ())  # fmt: skip
        return Neighbourhood(steps, first, last)


@dataclass(frozen=True, eq=False)
class Linear:
    """A linear operator: y = Σ C_k x_k + constant, with the maps of the transfer; constant is a range."""

    low: Array
    high: Array


@dataclass(frozen=True, eq=False)
class Condition:
    """What must hold for a node to have a finite value, and whether the ranges show it."""

    node: str
    name: str
    holds: bool
    detail: str


ARGUMENT, DIVISOR, EXPONENT, FINITE, NO_WRAP_AROUND = "argument", "divisor", "exponent", "finite", "no wrap-around"
"""Names of conditions."""

DECISION = "decision"
"""The name of a condition that is counted, not required: an implementation may decide otherwise."""

NARROW = 2.0**-20
"""Half the width of a range over its error, up to which the width is not followed by itself."""

CLOSE = 1 + 2.0**-50
"""More than two roundings of float64 take away."""

new_serial = count().__next__
"""A value has a larger number than what it is made of."""


@dataclass(frozen=True, eq=False)
class Value:
    """One tensor; see the module.  Values are different although their contents are equal.

    `exact` are the elements of a constant.  `transfer` made the value, None for inputs and constants.  `unbounded` says
    why nothing is known, "" where something is.
    """

    name: str
    facts: TensorFacts
    low: Array = field(repr=False)
    high: Array = field(repr=False)
    error: Array = field(repr=False)
    introduced: Array = field(repr=False)
    exact: Array | None = field(default=None, repr=False)
    transfer: Transfer | None = field(default=None, repr=False)
    unbounded: str = ""
    node: str = ""
    readers: int = 2
    """How many nodes and graph outputs read the value."""
    closer: Around | None = None
    """The same tensor in the analysis around a reference run, where there was one."""
    serial: int = field(default_factory=new_serial)

    def joined(self, around: Around) -> Value:
        """The value with the smaller one of its bounds and of those around a reference run."""
        computed = around.computed
        if computed.unbounded or around.ideal.unbounded or computed.transfer is None:
            return self
        if self.unbounded:
            return replace(computed, closer=around)
        low, high = np.maximum(self.low, computed.low), np.minimum(self.high, computed.high)
        return replace(self, low=low, high=high, error=np.minimum(self.error, computed.error), closer=around)

    @property
    def element(self) -> str:
        """The ONNX name of the element type."""
        return str(self.facts.type)

    @property
    def shape(self) -> tuple[int, ...]:
        """The extents."""
        shape: tuple[int, ...] = self.low.shape
        return shape

    @cached_property
    def magnitude(self) -> Array:
        """The largest absolute ideal value."""
        return np.abs(self.low) if self.low is self.high else magnitude(self.low, self.high)

    @cached_property
    def single(self) -> Single | None:
        """The absolute values of a constant in float32."""
        return single(self.low)

    @cached_property
    def computed(self) -> Array:
        """The largest absolute value an implementation can compute, rounded up."""
        array: Array = (self.magnitude + self.error) * (1 + 2.0**-50)
        return array

    @cached_property
    def largest(self) -> float:
        """The largest absolute value an implementation can compute in any element."""
        if self.is_point and not self.has_error:
            return float(max(self.high.max(initial=0.0), -self.low.min(initial=0.0))) * (1 + 2.0**-50)
        return float(self.computed.max(initial=0.0))

    @cached_property
    def computed_ends(self) -> tuple[Array, Array]:
        """The least and the largest value an implementation can compute, rounded outward."""
        least, largest = below(self.low - self.error), above(self.high + self.error)
        if self.transfer is not None and self.transfer.returned is not None:
            low, high = self.transfer.returned
            least = np.fmax(least, below(low - self.introduced))
            largest = np.fmin(largest, above(high + self.introduced))
        return least, largest

    @cached_property
    def has_error(self) -> bool:
        """Whether any element has an error."""
        return bool(self.error.any())

    @cached_property
    def is_narrow(self) -> bool:
        """Whether each range is narrow beside the error: half its width is at most NARROW of it."""
        return bool(((self.high - self.low) * (0.5 / NARROW) <= self.error).all())

    @property
    def is_point(self) -> bool:
        """Whether the value is known exactly and has no error."""
        return self.exact is not None


class Around(NamedTuple):
    """A tensor around a reference run.

    Attributes:
        ideal: its `low` and `high` are the values of the reference, its `error` bounds how far ideal values are away.
        computed: a value with those ideal values as its range; its `error` is that of implementations.
    """

    ideal: Value
    computed: Value


@dataclass(frozen=True, eq=False)
class Transfer:
    """What a call does; see the module.

    `inputs` and `pulls` are the values that vary and the transposed maps C_k.  `terms` bounds the float64 roundings in
    an entry of a pulled row.  `residual` is the part of the noise that is not `introduced` by roundings of the
    implementation.  `relaxed` says how the ideal value depends on the inputs: by the same maps, between lines (one
    input; made where they are asked for), or None where the relaxation stops.
    """

    low: Array
    high: Array
    introduced: Array
    _: KW_ONLY
    inputs: tuple[Value, ...] = ()
    pulls: tuple[Pull, ...] = ()
    terms: int = 0
    propagated: Array | float = 0.0
    residual: Array | float = 0.0
    relaxed: Linear | Callable[[], Linear | Lines] | None = None
    sum: SumRecord | None = None
    absolute: tuple[Array, ...] = ()
    """Of a linear operator arrays whose sum bounds Σ |C_k| |x_k| and its constants; () where elements only move."""
    element: str = ""
    """The element type of the value, "" where it is that of the call."""
    saturates: bool = False
    """Whether computed values are within the element type whatever the operands are."""
    local: tuple[Neighbourhood | None, ...] = ()
    """For each input which of its places an element depends on; None, or () for all inputs, where it may be any."""
    within: Array | None = None
    """A bound of |y^ - y| without the introduced error, where that can be less than the sum of the parts."""
    returned: tuple[Array, Array] | None = None
    """Ends of y^ without the introduced error, for any operands that an implementation may have; None where they are
    not known but by the error.
    """

    ideal: Transfer | None = None
    """How the ideal value depends on values that no implementation computes; None where that is `relaxed`."""

    @property
    def followed(self) -> Transfer:
        """The transfer that ranges follow; errors follow this one."""
        return self if self.ideal is None else self.ideal

    @property
    def error(self) -> Array:
        """A bound of |y^ - y|, rounded up: the sum of the parts, or what is left between the ends of both."""
        if self.within is None:
            error = np.asarray(self.propagated + self.residual + self.introduced)
        else:
            error = np.asarray(np.minimum(self.propagated + self.residual, self.within) + self.introduced)
        error = np.multiply(error, CLOSE, out=error)  # a sum is a new array
        if self.returned is None:
            return error
        return np.asarray(np.fmin(error, (farthest(self.returned, self.low, self.high) + self.introduced) * CLOSE))

    @cached_property
    def relaxation(self) -> Linear | Lines | None:
        """What `relaxed` says, with the lines."""
        return self.relaxed() if callable(self.relaxed) else self.relaxed

    @cached_property
    def noise(self) -> Array:
        """Introduced and residual errors with the slack for the roundings of the adjoint pass."""
        slack = accumulated(self.terms + 2)
        return grown(self.introduced + self.residual + slack * np.asarray(self.propagated), 4, over=True)

    @cached_property
    def slack(self) -> Array:
        """What the roundings of a pulled row cost in the relaxation, for an entry 1 of the row over the output."""
        if isinstance(lines := self.relaxation, Lines):
            slopes = np.maximum(np.abs(lines.upper_slope), np.abs(lines.lower_slope))
            return 4 * UNIT * grown(slopes * self.inputs[0].magnitude, 1)
        absolute = grown(sum(self.absolute), 1) if self.absolute else magnitude(self.low, self.high)
        array: Array = accumulated(self.terms + 2) * absolute
        return array


class Refine(Protocol):
    """Better bounds of a value where an operator depends on them."""

    def __call__(self, value: Value, wanted: Callable[[Value], Array]) -> Value:
        """The value with smaller ranges and errors of the elements that `wanted` marks, where these can be had."""


def _unchanged(value: Value) -> Value:
    return value


@dataclass(frozen=True, eq=False, kw_only=True)
class Context:
    """What a transfer function is given beside its inputs.

    `application` has the parameters of the call, `element` is the type it computes in, `refine` gives better bounds of
    an input, `require` records a condition and says whether it holds.  `settled` is what the analysis makes of a step,
    and `sharpen` gives better bounds of all elements of an input, where remainders of second order depend on them.
    `stated` are the hypotheses about floating-point arithmetic.
    """

    stated: Hypotheses
    application: Application
    element: str
    refine: Refine
    require: Callable[[str, bool, str], bool]
    settled: Callable[[Value], Value] = _unchanged
    sharpen: Callable[[Value], Value] = _unchanged
    outputs: int = 1
    cache: dict[Any, Any] = field(default_factory=dict)
    node: str = ""

    @cached_property
    def hypotheses(self) -> Hypotheses:
        """About the arithmetic of the call: integers are not rounded."""
        return self.stated if self.element in FORMATS else self.stated.unrounded()

    @property
    def is_integer(self) -> bool:
        """Whether the call computes with integers or truth values."""
        return self.element not in FORMATS

    def require_floats(self) -> None:
        """Raises:
        NotExecutable: the call computes with integers.
        """
        if self.is_integer:
            raise NotExecutable(f"{self.application.operator} of elements of type {self.element} has no bounds")

    def into(self, element: str) -> Context:
        """The same call, computing in another type."""
        return replace(self, element=element)

    def inner(self) -> Context:
        """For the steps of the call before its last one."""
        return replace(self, stated=self.stated.inner())

    def unrounded(self) -> Context:
        """For steps that are not rounded."""
        return replace(self, stated=self.stated.unrounded())

    def step(self, transfer: Transfer, readers: int = 2) -> Value:
        """What a step makes, as a value that the next steps read; `readers` as in `Value`."""
        shape = transfer.low.shape
        return self.settled(Value(
            "", TensorFacts(transfer.element or self.element, shape, RUN_TIME), transfer.low, transfer.high,
            spread(transfer.error, shape), spread(transfer.introduced, shape), transfer=transfer, node=self.node,
            readers=readers,
        ))  # fmt: skip

    @property
    def unit(self) -> float:
        """The relative error of a rounding in a sum, 0 of integers."""
        return 0.0 if self.is_integer else self.hypotheses.accumulator(self.element).unit

    @property
    def flushed(self) -> float:
        """What taking a subnormal number for zero changes at most; 0 where the hypotheses exclude that."""
        return FORMATS[self.element].normal if self.hypotheses.flush else 0.0

    def off(self, value: Value) -> Array:
        """How far an operand can be from the ideal one where an implementation reads it: 0 stays 0."""
        if not self.flushed:
            return value.error
        near = (value.low - value.error < self.flushed) & (value.high + value.error > -self.flushed)
        zero = (value.low == 0) & (value.high == 0) & (value.error == 0)
        return value.error + np.where(near & ~zero, self.flushed, 0.0)

    def moved(self, shape: Sequence[int]) -> Array:
        """The introduced error of an operator that chooses elements: a subnormal one may become zero."""
        return np.full(shape, self.flushed) if self.flushed else nothing(shape)

    def parameter(self, name: str) -> Any:
        """See `Application.parameter`."""
        return self.application.parameter(name)


TransferFunction: TypeAlias = Callable[[Context, Sequence["Value | None"]], list[Transfer]]
"""The field `bound` of an operator: one transfer for each output."""


def farthest(returned: tuple[Array, Array], low: Array, high: Array) -> Array:
    """How far a number between two ends is from one in a range at most, rounded up; infinite where that is unknown."""
    with np.errstate(all="ignore"):
        distance = above(np.maximum(returned[1] - low, high - returned[0]))
    return np.where(np.isnan(distance), inf, distance)


def nothing(shape: Sequence[int]) -> Array:
    """An error of 0 everywhere, without memory."""
    return _nothing(tuple(shape))


@lru_cache(maxsize=4096)
def _nothing(shape: tuple[int, ...]) -> Array:
    return np.broadcast_to(np.float64(0), shape)


def spread(array: Array | float, shape: Sequence[int]) -> Array:
    """An array broadcast to a shape."""
    part = np.asarray(array)
    return part if part.shape == tuple(shape) else np.broadcast_to(part, shape)


def constant(name: str, array: Array) -> Value:
    """The value of a constant: exact."""
    wide = array.astype(np.float64) if array.dtype != np.float64 else array
    if array.dtype.kind in "iu" and array.size and (abs(int(array.max())) > 2**53 or abs(int(array.min())) > 2**53):
        wide_low, wide_high = np.nextafter(wide, -inf), np.nextafter(wide, inf)
    else:
        wide_low = wide_high = wide
    zero = nothing(array.shape)
    return Value(name, facts_of_array(array), wide_low, wide_high, zero, zero, array)


def varying(inputs: Sequence[Value | None]) -> list[Value]:
    """The inputs that are not constants."""
    return [operand for operand in inputs if operand is not None and not operand.is_point]
