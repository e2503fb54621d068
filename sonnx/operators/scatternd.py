"""ScatterND: output = data, but at the places that indices name the elements of updates.

ONNX ScatterND-11 to ScatterND-18.  Each last row of indices is the beginning of an index into data; the rest of that
index runs over the row of updates.  reduction none replaces, and names no place twice; add and mul combine everything
at a place and round once; max and min are those of Max and Min.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from math import prod
from typing import Any

import numpy as np

from sonnx.base.errors import ErrorCondition, NotExecutable
from sonnx.numerics.application import Application
from sonnx.numerics.correctly_rounded import round_enclosed
from sonnx.numerics.elementwise import each
from sonnx.numerics.enclosures import layout
from sonnx.numerics.enclosures.values import Context, Transfer, Value
from sonnx.numerics.formats import Array, format_of
from sonnx.operators.max import maximum
from sonnx.operators.min import define as minimum
from sonnx.operators.operator import Operator
from sonnx.operators.sum import rounded_sum

PLACES_DISTINCT = "ScatterND.places-distinct"
REDUCTIONS = ("none", "add", "mul", "max", "min")


def define(application: Application, inputs: Sequence[Array]) -> tuple[Array]:
    """output, of the type and shape of data.

    Raises:
        NotExecutable: the reduction is not known, or an index names no place.
        ErrorCondition: two indices name one place and nothing combines the updates.
    """
    data, indices, updates = inputs
    reduction = application.parameter("reduction")
    if reduction not in REDUCTIONS:
        raise NotExecutable(f"reduction is {reduction!r}, none of {', '.join(REDUCTIONS)}")
    if updates.dtype == np.bool_ and reduction != "none":
        raise NotExecutable("truths are not combined")
    if indices.ndim == 0 or indices.dtype.kind != "i" or updates.dtype != data.dtype:
        raise NotExecutable("the indices are not a list of integers, or the updates are not of the type of data")
    depth = indices.shape[-1]
    if depth > data.ndim or updates.shape != (*indices.shape[:-1], *data.shape[depth:]):
        shapes = [list(array.shape) for array in (data, indices, updates)]
        raise NotExecutable(f"the shapes of data, indices and updates are {shapes}, which do not fit")
    count = prod(indices.shape[:-1])
    rows = updates.reshape(count, *data.shape[depth:])
    updates_by_place: dict[tuple[int, ...], list[Array]] = {}
    for place, row in zip(indices.reshape(count, depth).tolist(), rows, strict=True):
        updates_by_place.setdefault(_index(place, data.shape), []).append(row)
    output = data.copy()
    for index, every in updates_by_place.items():
        if reduction == "none" and len(every) > 1:
            raise ErrorCondition(PLACES_DISTINCT, f"the place {list(index)} is named {len(every)} times")
        output[index] = every[0] if reduction == "none" else _combined(reduction, [output[index], *every], application)
    return (output,)


def _index(place: Sequence[int], shape: Sequence[int]) -> tuple[int, ...]:
    if not all(-d <= i < d for i, d in zip(place, shape, strict=False)):
        raise NotExecutable(f"a tensor of shape {list(shape)} has no index {list(place)}")
    return tuple([i % d for i, d in zip(place, shape, strict=False)])


def _combined(reduction: str, every: Sequence[Any], application: Application) -> Array:
    arrays = [np.asarray(X) for X in every]
    if reduction == "max":
        return maximum(arrays)
    if reduction == "min":
        return minimum(application, arrays)[0]
    if format_of(arrays[0].dtype) is None:
        return each(lambda *row: sum(row) if reduction == "add" else prod(row), *arrays)
    return each(rounded_sum if reduction == "add" else _product, *arrays)


def _product(*row: Any) -> Any:
    *factors, once = row
    # of many digits and exact, so that both ends become the product: the order of the factors does not matter
    return round_enclosed(once, lambda down, up: (reduce(down.mul, factors), reduce(up.mul, factors)))


def bound(context: Context, inputs: Sequence[Value | None]) -> list[Transfer]:
    """The transfer function of ranges and errors, of updates that replace elements at constant places.

    Raises:
        NotExecutable: the updates are combined with the elements.
    """
    if context.parameter("reduction") != "none":
        raise NotExecutable("ScatterND has a bound without a reduction only")
    return layout.moving(define, (0, 2))(context, inputs)


OPERATOR = Operator(name="ScatterND", continuous=True, define=define, bound=bound, error_conditions=(PLACES_DISTINCT,))
