"""What elementwise operators share: one function for every element, after broadcasting.

A function of floating-point elements takes numbers of `reals.py` and then the context that rounds once into the type
of the result.  A function of whole numbers takes Python integers and gives one; the result is taken modulo 2^n.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from sonnx.base.errors import NotExecutable
from sonnx.numerics.application import Application, NoValue
from sonnx.numerics.broadcasting import along_axis
from sonnx.numerics.correctly_rounded import array, nearest, numbers
from sonnx.numerics.formats import NAMES, Array, format_of

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
        NotExecutable: there is none.
    """
    shape = common_shape(operator, [each.shape for each in tensors])
    return [np.broadcast_to(each, shape) for each in tensors]


def common_shape(operator: str, shapes: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    """The shape tensors of these shapes broadcast to.

    Raises:
        NotExecutable: there is none.
    """
    try:
        return np.broadcast_shapes(*shapes)
    except ValueError:
        listed = ", ".join(str(list(each)) for each in dict.fromkeys(shapes))
        raise NotExecutable(f"the shapes {listed} are not broadcastable, as {operator} needs") from None


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


# ------------------------------------------------------------------ operators without a data file

Expected = tuple[tuple[int, ...], np.dtype[Any]]


def numbers_alike(application: Application, inputs: Sequence[Expected]) -> tuple[Expected]:
    """The output of an operator on numbers of one type: the common shape, their type."""
    kind = one_type(application, inputs)
    if kind == np.bool_:
        raise NotExecutable(f"{application.operator} is not defined for bool")
    return ((common_shape(application.operator, [shape for shape, _ in inputs]), kind),)


def floats_alike(application: Application, inputs: Sequence[Expected]) -> tuple[Expected]:
    """The output of an operator on floating-point numbers of one type: the common shape, their type."""
    if format_of(one_type(application, inputs)) is None:
        raise NotExecutable(f"{application.operator} is not defined for {NAMES[inputs[0][1]]}")
    return numbers_alike(application, inputs)


def comparison(application: Application, inputs: Sequence[Expected]) -> tuple[Expected]:
    """The output of a comparison of elements of one type: the common shape, bool."""
    one_type(application, inputs)
    shapes = [shape for shape, _ in inputs]
    if len(shapes) > 1:
        shapes = [shapes[0], along_axis(application, *shapes)]
    return ((common_shape(application.operator, shapes), np.dtype(np.bool_)),)


def truths(application: Application, inputs: Sequence[Expected]) -> tuple[Expected]:
    """The output of an operator on truths."""
    if one_type(application, inputs) != np.bool_:
        raise NotExecutable(f"{application.operator} is defined for bool only")
    return comparison(application, inputs)


def one_type(application: Application, inputs: Sequence[Expected]) -> np.dtype[Any]:
    """The element type that all inputs have.

    Raises:
        NotExecutable: they have several.
    """
    kinds = list(dict.fromkeys(kind for _, kind in inputs))
    if len(kinds) > 1:
        listed = " and ".join(NAMES[kind] for kind in kinds)
        raise NotExecutable(f"the inputs of {application.operator} are of types {listed}; ONNX wants one")
    return kinds[0]


def whole_list(values: Array, letter: str) -> list[int]:
    """The elements of an input that is a list of whole numbers.

    Raises:
        NotExecutable: it is none.
    """
    if values.ndim != 1 or values.dtype.kind not in "iu":
        what = f"of type {NAMES[values.dtype]} and rank {values.ndim}"
        raise NotExecutable(f"{letter} is {what}, no list of whole numbers")
    made: list[int] = values.tolist()
    return made
