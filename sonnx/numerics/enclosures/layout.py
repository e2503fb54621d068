"""Transfer functions of operators that move elements: the operator's own definition says where each one goes.

The definition is applied to the numbers of the elements instead of their values; what comes out says for each element
of the output which element of which input it is.  No rounding is introduced.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from math import prod
from typing import Any

import numpy as np

from sonnx.base.errors import NotExecutable
from sonnx.numerics.application import Definition, optional, required
from sonnx.numerics.enclosures.values import (
    Context,
    Linear,
    Pull,
    SumRecord,
    Transfer,
    TransferFunction,
    Value,
    nothing,
)
from sonnx.numerics.formats import Array


def moving(define: Definition, moved: Sequence[int] | None = (0,), *, one_to_one: bool = False) -> TransferFunction:
    """The transfer function of an operator that moves elements.

    Args:
        define: the definition of the operator.
        moved: the indices of the inputs that hold elements, None for all; the others are constants.
        one_to_one: whether every element of the input occurs once in the output.
    """

    def apply(context: Context, inputs: Sequence[Value | None]) -> list[Transfer]:
        places = range(len(inputs)) if moved is None else moved
        moved_values = [
            (index, value) for index in places if index < len(inputs) and (value := inputs[index]) is not None
        ]
        arguments: list[Any] = []
        for index, value in enumerate(inputs):
            if index not in places and value is not None and value.exact is None:
                raise NotExecutable(f"{context.application.operator} has a bound for constant parameters only")
            arguments.append(None if value is None else value.exact)
        parameters = tuple(
            None
            if operand is None or index in places or operand.exact is None
            else (operand.exact.tobytes(), operand.shape)
            for index, operand in enumerate(inputs)
        )
        shapes = tuple(operand.shape for _, operand in moved_values)
        attributes = tuple(context.application.attributes.items())
        key = context.application.operator, attributes, parameters, shapes, context.outputs
        sources = context.cache.get(key)
        if sources is None:
            start = 0
            for index, value in moved_values:
                arguments[index] = np.arange(start, start + prod(value.shape), dtype=np.int64).reshape(value.shape)
                start += prod(value.shape)
            sources = context.cache[key] = [
                np.asarray(array, order="C") for array in define(context.application, arguments)
            ]
        return [
            replace(
                taken(source, [operand for _, operand in moved_values], one_to_one), element=moved_values[0][1].element
            )
            for source in sources
        ]

    return apply


def taken(source: Array, values: Sequence[Value], one_to_one: bool = False) -> Transfer:
    """The elements of values by their numbers."""
    if len(values) == 1 and one_to_one and source.size and _in_order(source):
        return _reshaped(values[0], source.shape)

    def take(part: Callable[[Value], Array]) -> Array:
        flat = (
            part(values[0]).reshape(-1)
            if len(values) == 1
            else np.concatenate([part(value).reshape(-1) for value in values])
        )
        array: Array = flat[source]
        return array

    pulls: list[Pull] = []
    used: list[Value] = []
    start = 0
    for operand in values:
        size = prod(operand.shape)
        if not operand.is_point:
            used.append(operand)
            pulls.append(_spread(source, start, operand.shape))
        start += size
    low, high = take(lambda value: value.low), take(lambda value: value.high)
    error = take(lambda value: value.error)
    fixed_low, fixed_high = (
        take(lambda value: value.low if value.is_point else nothing(value.shape)),
        take(lambda value: value.high if value.is_point else nothing(value.shape)),
    )
    most = 1 if one_to_one or not source.size else int(np.bincount(source.reshape(-1)).max())
    record = None
    if len(values) == 1 and most == 1 and source.size == values[0].low.size:
        record = _moved_record(values[0], lambda array: array.reshape(-1)[source])
    return Transfer(
        low,
        high,
        nothing(low.shape),
        inputs=tuple(used),
        pulls=tuple(pulls),
        terms=most,
        propagated=error,
        residual=0.0,
        relaxed=Linear(fixed_low, fixed_high),
        sum=record,
    )


def _in_order(source: Array) -> bool:
    flat = source.reshape(-1)
    return bool(flat[0] == 0 and flat[-1] == flat.size - 1 and (np.diff(flat) == 1).all())


def _reshaped(X: Value, shape: Sequence[int]) -> Transfer:
    """The same elements in another shape; a sum stays one."""

    def pull(rows: Array) -> Array:
        return rows.reshape(len(rows), *X.shape)

    def turned(array: Array) -> Array:
        return array.reshape(shape)

    return Transfer(
        turned(X.low),
        turned(X.high),
        nothing(shape),
        inputs=(X,),
        pulls=(pull,),
        terms=0,
        propagated=turned(X.error),
        residual=0.0,
        relaxed=Linear(nothing(shape), nothing(shape)),
        sum=_moved_record(X, turned),
    )


def _moved_record(X: Value, move: Callable[[Array], Array]) -> SumRecord | None:
    """A sum whose elements only move stays one."""
    transfer = X.transfer
    return transfer.sum.moved(move) if transfer is not None and transfer.sum is not None and X.readers == 1 else None


def _spread(source: Array, start: int, shape: Sequence[int]) -> Pull:
    """Rows over the output to rows over a value whose elements have the numbers from `start` on."""
    size = prod(shape)
    known: list[tuple[Array, Array, bool]] = []
    """Once asked: which elements of the output are of the value, their places in it, and whether these differ."""

    def pull(rows: Array) -> Array:
        if not known:
            flat = source.reshape(-1)
            inside = np.flatnonzero((flat >= start) & (flat < start + size))
            to = flat[inside] - start
            known.append((inside, to, bool(np.bincount(to, minlength=1).max() <= 1)))
        [(inside, to, once)] = known
        array = np.zeros((len(rows), size))
        part = rows.reshape(len(rows), -1)[:, inside]
        if once:
            array[:, to] = part
        else:
            for row in range(len(rows)):
                array[row] = np.bincount(to, weights=part[row], minlength=size)
        return array.reshape(len(rows), *shape)

    return pull


def padding(define: Definition) -> TransferFunction:
    """The transfer function of Pad: a constant stands beside the elements as one more."""

    def apply(context: Context, inputs: Sequence[Value | None]) -> list[Transfer]:
        if context.parameter("amounts") is None:
            raise NotExecutable("Pad has a bound for constant pads only")
        if str(context.parameter("mode")) != "constant":
            return moving(define)(context, inputs)
        [X], [filling] = required(inputs, 1), optional(inputs, 2)
        if filling is not None and (not filling.is_point or filling.low is not filling.high):
            raise NotExecutable("Pad has a bound for a constant below 2^53 only")
        value = 0.0 if filling is None else float(filling.low.reshape(-1)[0])
        if filling is None and "value" in context.application.attributes:
            value = float(context.application.attributes["value"].value)  # type: ignore[arg-type]
        arguments: list[Any] = [None if operand is None else operand.exact for operand in inputs]
        arguments[0] = np.arange(1, 1 + prod(X.shape), dtype=np.int64).reshape(X.shape)
        if len(arguments) > 2 and arguments[2] is not None:
            arguments[2] = np.zeros(arguments[2].shape, np.int64)
        source = np.asarray(define(context.application, arguments)[0], order="C")
        if filling is None and value:
            raise NotExecutable("Pad has a bound for a padding of 0 or an input only")

        def take(array: Array, beside: float) -> Array:
            part: Array = np.concatenate([[beside], array.reshape(-1)])[source]
            return part

        fixed = np.where(source == 0, value, 0.0)
        pull = _spread(source, 1, X.shape)
        low, high = take(X.low, value), take(X.high, value)
        return [
            Transfer(
                low,
                high,
                nothing(low.shape),
                inputs=(X,),
                pulls=(pull,),
                terms=1,
                propagated=take(X.error, 0.0),
                residual=0.0,
                relaxed=Linear(fixed, fixed),
            )
        ]

    return apply
