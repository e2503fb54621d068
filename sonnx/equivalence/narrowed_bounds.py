"""The bounds of a narrowed model beside the wide one: how far its values are from the ideal values without narrowings.

A constant that was narrowed is within its radius of the wide one, which is the ideal one here.  A value that passes
through integers has the ideal value of before, and an error of half a quantum and of what lies beyond the ends.  So the
error of an output is the distance of any implementation of the narrowed model from the ideal values of the wide one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sonnx.base.escaping import quote
from sonnx.bounds.domain import BoundsDomain
from sonnx.equivalence.terms.narrowed_numbers import DIGITS, Narrowed, Narrowings, Passage, float_radii
from sonnx.equivalence.terms.narrowings import below_narrowed
from sonnx.equivalence.terms.store import Term
from sonnx.equivalence.walk import Walk
from sonnx.graph.call import Call
from sonnx.graph.interpreter import Transferred
from sonnx.language.evaluator import RUN_TIME, TensorFacts
from sonnx.model.ir import Tensor
from sonnx.model.scopes import canonical_domain
from sonnx.numerics.enclosures.arithmetic import FORMATS, above, below, ends_of_product, grown
from sonnx.numerics.enclosures.values import Condition, Linear, NotBounded, Transfer, Value, new_serial, nothing, spread
from sonnx.numerics.formats import Array
from sonnx.operators import operator_facts

SLACK = 8
"""Roundings of the quotient, the product and the limits of a passage through integers, generously counted."""


@dataclass(frozen=True, eq=False)
class NarrowedSide:
    """What a comparison knows of the narrowings of one model.

    Attributes:
        constants: the numbers of constants that were narrowed to integers, and how, by the names of their values.
        passages: the values that DequantizeLinear gives, by name: the ends of the integers, and the limits that the
            other model has in their place.
        inputs: the inputs of a narrower type than in the other model, with this type.
    """

    constants: Mapping[str, tuple[Array, Narrowed]]
    passages: Mapping[str, tuple[Passage, tuple[float, float]]]
    inputs: Mapping[str, str]


def side_of_walk(walk: Walk, values: Mapping[str, Term], index: int, inputs: Mapping[str, str]) -> NarrowedSide | None:
    """What a walk that leaves narrowings out knows of those of a model; None where one value has several meanings.

    Args:
        walk: the comparison.
        values: the terms of the model, by name.
        index: 0 for the first model, 1 for the second.
        inputs: its inputs of a narrower type than in the other model, with this type.
    """
    narrowings = walk.store.narrowings or Narrowings()
    limited: dict[int, tuple[float, float]] = {}
    for pair, limits in narrowings.limited.items():
        if limited.setdefault(pair[index], limits) != limits:
            return None
    plain = {pair[index] for pair in walk.matched_pairs() if pair not in narrowings.limited}
    constants: dict[str, tuple[Array, Narrowed]] = {}
    passages: dict[str, tuple[Passage, tuple[float, float]]] = {}
    for name, term in values.items():
        narrowed = walk.store.narrowing_of(term)
        if narrowed is not None and narrowed.own_radii is not None and term.array is not None:
            constants[name] = term.array, narrowed
        for part in (term, *term.inputs) if term.operator == "moved" else (term,):
            below = None if part is None else below_narrowed(part)
            if part is None or below is None:
                continue
            passage = below[1]
            if passage.quantum is None:
                return None
            limits = limited.get(part.number, (-np.inf, np.inf))
            if (part.number in limited and part.number in plain) or passages.get(name, (passage, limits)) != (
                passage, limits
            ):  # fmt: skip
                return None
            passages[name] = passage, limits
    return NarrowedSide(constants, passages, inputs)


def domain_of(side: NarrowedSide) -> type[BoundsDomain]:
    """The domain of ranges and errors for a model with these narrowings."""

    class NarrowedDomain(_NarrowedDomain):
        narrowings = side

    return NarrowedDomain


class _NarrowedDomain(BoundsDomain):
    """Ideal values are those without narrowings.

    By serial numbers, `quantized` has the values between QuantizeLinear and DequantizeLinear, which stand for the
    numbers that are quantized; `widened` the inputs with the error of their narrowing; `exact` what constants are in
    the model.
    """

    narrowings: NarrowedSide

    def __init__(self, *arguments: Any, **further: Any) -> None:
        super().__init__(*arguments, **further)
        self.quantized: set[int] = set()
        self.widened: dict[int, Value] = {}
        self.exact: dict[int, Value] = {}

    def constant(self, tensor: Tensor, replaceable: bool) -> Value:
        """The value of an initializer; of one of a narrower type the wide numbers that it may stand for."""
        if tensor.element not in DIGITS:
            return super().constant(tensor, replaceable)
        return self._constant(super().constant(tensor, replaceable), tensor.element)

    def latest(self, value: Value) -> Value:
        """The value with the best bounds known; an input of a narrower type is off the wide one by its radius."""
        element = self.narrowings.inputs.get(value.name) if value.transfer is None and value.exact is None else None
        if element is None:
            return super().latest(value)
        if value.serial not in self.widened:
            ends = np.maximum(np.abs(value.low), np.abs(value.high))
            radii = float_radii(ends, element)
            self.widened[value.serial] = replace(value, error=radii, introduced=radii, serial=new_serial())
        return self.widened[value.serial]

    def call(
        self, call: Call, inputs: Sequence[Value | None], outputs: Sequence[Value | None]
    ) -> Transferred[Value, tuple[Condition, ...]]:
        """The bounds of the outputs of a call."""
        first = next((output for output in outputs if output is not None), None)
        present = [operand for operand in inputs if operand is not None]
        if first is None or any(operand.unbounded for operand in present) or not present:
            return super().call(call, inputs, outputs)
        operator = "" if canonical_domain(call.domain) else call.operator
        if first.name in self.narrowings.constants:
            return Transferred([_of_constant(first, *self.narrowings.constants[first.name])], ())
        if operator == "QuantizeLinear" and not present[0].is_point:
            return Transferred([self._kept(first, self.latest(present[0]))], ())
        are_quantized = [self.latest(operand).serial in self.quantized for operand in present]
        if operator == "DequantizeLinear" and are_quantized[0]:
            return Transferred([self._passed(first, self.latest(present[0]))], ())
        if any(are_quantized) and not operator_facts(operator).moves and operator != "MaxPool":
            raise NotBounded(f"{first.node}: computes with integers that stand for numbers")
        if operator == "BatchNormalization" and any(operand.serial in self.exact for operand in present[1:]):
            return self._normalized(call, inputs, outputs)
        values, conditions = super().call(call, inputs, outputs)
        for value in values if any(are_quantized) else ():
            if value is not None:
                self.quantized.add(value.serial)
        if operator == "Constant" and values[0] is not None and values[0].element in DIGITS:
            values = [value and self._constant(value, value.element) for value in values]
        return Transferred(values, conditions)

    def _constant(self, value: Value, element: str) -> Value:
        """A constant of a narrower type, with the wide numbers that it may stand for."""
        if value.exact is None:
            return value
        widened = _around(value, float_radii(value.exact, element))
        self.exact[widened.serial] = value
        return widened

    def _normalized(
        self, call: Call, inputs: Sequence[Value | None], outputs: Sequence[Value | None]
    ) -> Transferred[Value, tuple[Condition, ...]]:
        """BatchNormalization whose parameters may stand for wide numbers: by those of the model, and how far the result
        is off for others.
        """
        exact = [operand and self.exact.get(operand.serial, operand) for operand in inputs]
        values, conditions = super().call(call, exact, outputs)
        first, parameters = inputs[0], inputs[1:5]
        epsilon = next((attribute.value for attribute in call.attributes if attribute.name == "epsilon"), 1e-5)
        if first is None or values[0] is None or values[0].unbounded or len(values) > 1 or None in parameters:
            return Transferred(values, conditions)
        factor, offset = _off(parameters, float(np.asarray(epsilon)), len(first.shape) - 2)
        operand = self.latest(first)
        off = grown(factor * operand.magnitude + offset, 4)
        return Transferred([_further_off(values[0], off)], conditions)

    def _kept(self, output: Value, operand: Value) -> Value:
        """What QuantizeLinear gives, in the numbers that are quantized."""
        value = _through(output, operand, operand.low, operand.high, 0.0, nothing(operand.shape))
        self.quantized.add(value.serial)
        return value

    def _passed(self, output: Value, operand: Value) -> Value:
        """What DequantizeLinear gives: the number that was quantized, half a quantum off, and within the ends."""
        known = self.narrowings.passages.get(output.name)
        if known is None:
            raise NotBounded(f"{output.node}: the value {quote(output.name)} is not what was quantized")
        passage, (least, most) = known
        assert passage.quantum is not None  # noqa: S101  `side_of_walk` refuses others
        low, high = np.clip(operand.low, least, most), np.clip(operand.high, least, most)
        beyond = np.maximum(high - passage.high, passage.low - low)  # limits put two numbers no further apart
        limits = max(abs(passage.low), abs(passage.high))
        unit = FORMATS[operand.element].unit if operand.element in FORMATS else 2.0**-24
        half = passage.quantum / 2 * (1 + 2.0**-20) + SLACK * unit * (passage.high - passage.low + limits)
        beyond = np.maximum(beyond, 0.0) * (1 + 2.0**-50)
        limited = least > -np.inf or most < np.inf
        ends = np.full(low.shape, passage.low), np.full(low.shape, passage.high)
        return _through(output, operand, low, high, half, beyond, limited=limited, ends=ends)


def _through(
    output: Value,
    operand: Value,
    low: Array,
    high: Array,
    half: float,
    beyond: Array,
    *,
    limited: bool = False,
    ends: tuple[Array, Array] | None = None,
) -> Value:
    """A value that is its operand but for these errors.

    Args:
        output: the value, of which nothing is known yet.
        operand: what it is made of.
        low: the least ideal value.
        high: the greatest one.
        half: the error of the rounding to a whole number.
        beyond: how far ideal values are beyond the ends of the integers.
        limited: the ideal value has limits that the operand lacks.
        ends: those of the integers, where the value is one that they stand for.
    """
    introduced = np.full(low.shape, half)
    followed: tuple[Value, ...] = () if limited else (operand,)
    transfer = Transfer(
        low, high, introduced, inputs=followed, pulls=tuple([_same for _ in followed]), terms=1,
        propagated=0.0 if limited else operand.error, residual=beyond + operand.error if limited else beyond,
        relaxed=None if limited else Linear(nothing(low.shape), nothing(low.shape)), returned=ends,
    )  # fmt: skip
    facts = TensorFacts(operand.element, low.shape, RUN_TIME)
    return replace(
        output, facts=facts, low=low, high=high, error=spread(transfer.error, low.shape), introduced=introduced,
        transfer=transfer, serial=new_serial(), exact=None, unbounded="",
    )  # fmt: skip


def _off(parameters: Sequence[Value | None], epsilon: float, spatial: int) -> tuple[Array, Array]:
    """How far factor and offset of BatchNormalization are from those of other parameters in their ranges."""
    scale, bias, mean, variance = (
        (each.low.reshape(-1, *[1] * spatial), each.high.reshape(-1, *[1] * spatial))
        for each in parameters
        if each is not None
    )
    roots = tuple([1 / np.sqrt(np.maximum(end + epsilon, 0.0)) for end in reversed(variance)])
    factors = ends_of_product(scale, roots)
    shifts = ends_of_product(mean, factors)
    width = (factors[1] - factors[0]) * (1 + 2.0**-40)
    sizes = np.abs(np.stack([*factors, *shifts, *bias])).max(axis=0)
    return width, (bias[1] - bias[0] + shifts[1] - shifts[0]) * (1 + 2.0**-40) + sizes * 2.0**-45


def _further_off(value: Value, off: Array) -> Value:
    """A value whose ideal value may be off by up to this distance."""
    transfer = value.transfer
    low, high = below(value.low - off), above(value.high + off)
    if transfer is not None:
        residual = transfer.residual + off
        transfer = replace(transfer, low=low, high=high, residual=residual, relaxed=None, sum=None, ideal=None)
    error = above(value.error + off)
    return replace(value, low=low, high=high, error=error, transfer=transfer, serial=new_serial())


def _same(rows: Array) -> Array:
    return rows


def _around(value: Value, radii: Array) -> Value:
    """A constant whose ideal numbers are within radii of what the model has."""
    if value.unbounded:
        return value
    low, high = below(value.low - radii), above(value.high + radii)
    return replace(value, low=low, high=high, error=radii, introduced=radii, exact=None, serial=new_serial())


def _of_constant(output: Value, array: Array, narrowed: Narrowed) -> Value:
    """The numbers that constant integers stand for, with the wide numbers that they may stand for."""
    numbers = array.astype(np.float64)
    radii = narrowed.radii(array) + np.abs(numbers) * 2.0**-22
    value = replace(
        output, facts=TensorFacts("float", array.shape, RUN_TIME), low=numbers, high=numbers, transfer=None,
        exact=None, unbounded="",
    )  # fmt: skip
    return _around(value, radii)
