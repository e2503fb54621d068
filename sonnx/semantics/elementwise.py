"""What elementwise operators share: one function for every element, after broadcasting.

A function of floating-point elements takes numbers of `reals.py` and then the context that rounds once into the type
of the result.  A function of whole numbers takes Python integers and gives one; the result is taken modulo 2^n.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from sonnx.semantics.application import NoValue
from sonnx.semantics.formats import Array, format_of
from sonnx.semantics.reals import array, nearest, numbers

Element = Callable[..., Any]


def each(function: Element, *tensors: Array, kind: np.dtype[Any] | None = None) -> Array:
    """function(x, …, once) of every element of tensors of one shape; whole numbers without `once`.

    Args:
        function: of as many elements as there are tensors.
        tensors: of one shape.
        kind: the type of the result, that of the first tensor if none is named.
    """
    made = kind or tensors[0].dtype
    shape = tensors[0].shape
    if format_of(made) is None:
        found = [function(*row) for row in zip(*map(elements, tensors), strict=True)]
        return whole(found, made, shape)
    once = nearest(made)
    return array((function(*row, once) for row in zip(*map(elements, tensors), strict=True)), made, shape)


def elements(values: Array) -> list[Any]:
    """The elements in row-major order: numbers of `reals`, or Python's integers and truths."""
    return values.ravel().tolist() if format_of(values.dtype) is None else numbers(values)


def whole(values: Sequence[int], kind: np.dtype[Any], shape: Sequence[int]) -> Array:
    """Integers modulo 2^n in a type of n bits; truths as they are."""
    if kind == np.bool_:
        return np.array(values, np.bool_).reshape(shape)
    bits = 8 * kind.itemsize
    return np.array([value % (1 << bits) for value in values], f"u{kind.itemsize}").view(kind).reshape(shape)


def broadcast(operator: str, *tensors: Array) -> list[Array]:
    """The tensors in their common shape, by the rules of NumPy.

    Raises:
        NoValue: there is none.
    """
    shape = common_shape(operator, [each.shape for each in tensors])
    return [np.broadcast_to(each, shape) for each in tensors]


def common_shape(operator: str, shapes: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    """The shape tensors of these shapes broadcast to.

    Raises:
        NoValue: there is none.
    """
    try:
        return np.broadcast_shapes(*shapes)
    except ValueError:
        listed = ", ".join(map(str, dict.fromkeys(shapes)))
        raise NoValue(f"{operator}.broadcastable", f"the shapes {listed} are not broadcastable") from None


def refuse(rule: str, bad: Array, values: Array, letter: str, why: str) -> None:
    """Raise for the first element that has no value.

    Args:
        rule: the identifier of the error condition.
        bad: where it is broken, broadcastable to the shape of `values`.
        values: the tensor whose element the sentence names.
        letter: the name of the tensor.
        why: what is wrong with the element.

    Raises:
        NoValue: an element is bad.
    """
    where = np.broadcast_to(bad, values.shape)
    if where.any():
        index = tuple(int(place[0]) for place in np.nonzero(np.atleast_1d(where)))[: values.ndim]
        element = values[index].item() if format_of(values.dtype) is None else float(values[index])
        raise NoValue(rule, f"{letter}{list(index) if index else ''} is {element}, {why}")


def same_type(_: Any, inputs: Sequence[Any]) -> tuple[tuple[tuple[int, ...], np.dtype[Any]]]:
    """The one output of an operator without a data file: the common shape, the type of the first input."""
    return ((np.broadcast_shapes(*[shape for shape, _ in inputs]), inputs[0][1]),)


def truths(_: Any, inputs: Sequence[Any]) -> tuple[tuple[tuple[int, ...], np.dtype[Any]]]:
    """The one output of a comparison without a data file."""
    return ((np.broadcast_shapes(*[shape for shape, _ in inputs]), np.dtype(np.bool_)),)
