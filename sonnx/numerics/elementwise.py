"""Definitions of elementwise operators: one function for every element, after broadcasting.

A function of floating-point elements takes MPFR numbers (`correctly_rounded.py`) and then the context that rounds once
into the type of the result.  A function of integers or truths takes Python's and gives one; an integer is taken modulo
2^n.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np

from sonnx.base.errors import NotExecutable
from sonnx.numerics.application import Application, Definition, NoValue
from sonnx.numerics.broadcasting import broadcast
from sonnx.numerics.correctly_rounded import from_mpfr, rounding_context, to_mpfr_list
from sonnx.numerics.formats import NAMES, Array, bits_of, format_of

ElementFunction: TypeAlias = Callable[..., Any]

TRUTH = np.dtype(np.bool_)


def elementwise_definition(
    function: ElementFunction, result: np.dtype[Any] | None = None, require: Callable[..., None] | None = None
) -> Definition:
    """The definition of an operator that applies one function to the elements at each index of its broadcast inputs.

    Args:
        function: of as many elements as there are inputs, see `each`.
        result: the type of the output, that of the first input if none is named.
        require: raises NoValue for broadcast inputs on which an element has no value.
    """

    def define(application: Application, inputs: Sequence[Array]) -> tuple[Array]:
        tensors = broadcast(application.operator, *inputs)
        if require is not None:
            require(*tensors)
        return (each(function, *tensors, kind=result),)

    return define


def each(function: ElementFunction, *tensors: Array, kind: np.dtype[Any] | None = None) -> Array:
    """function(x, …, once) of every element of tensors of one shape; of integers and truths without `once`.

    Args:
        function: of as many elements as there are tensors.
        tensors: of one shape.
        kind: the type of the result, that of the first tensor if none is named.
    """
    result_type = kind or tensors[0].dtype
    shape = tensors[0].shape
    if format_of(result_type) is None:
        results = [function(*row) for row in zip(*map(elements, tensors), strict=True)]
        return integer_array(results, result_type, shape)
    once = rounding_context(result_type)
    return from_mpfr((function(*row, once) for row in zip(*map(elements, tensors), strict=True)), result_type, shape)


def elements(values: Array) -> list[Any]:
    """The elements in row-major order: MPFR numbers, or Python's integers and truths."""
    return values.ravel().tolist() if format_of(values.dtype) is None else to_mpfr_list(values)


def integer_array(values: Sequence[int], kind: np.dtype[Any], shape: Sequence[int]) -> Array:
    """Integers modulo 2^n in a type of n bits; truths as they are."""
    if kind == np.bool_:
        return np.array(values, np.bool_).reshape(shape)
    bits = bits_of(kind)
    return np.array([value % (1 << bits) for value in values], f"u{kind.itemsize}").view(kind).reshape(shape)


def refuse(rule: str, bad: Array, values: Array, name: str, why: str) -> None:
    """Raise for the first element that has no value.

    Args:
        rule: the identifier of the error condition.
        bad: where it is broken, broadcastable to the shape of `values`.
        values: the tensor whose element the sentence names.
        name: the name of the tensor.
        why: what is wrong with the element.

    Raises:
        NoValue: an element is bad.
    """
    where = np.broadcast_to(bad, values.shape)
    if where.any():
        index = tuple(int(along[0]) for along in np.nonzero(np.atleast_1d(where)))[: values.ndim]
        element = values[index].item() if format_of(values.dtype) is None else float(values[index])
        raise NoValue(rule, f"{name}{list(index) if index else ''} is {element}, {why}")


def integer_list(values: Array, name: str) -> list[int]:
    """The elements of an input that is a list of integers; where the rules admit a scalar, its element.

    Raises:
        NotExecutable: it is not.
    """
    if values.ndim > 1 or values.dtype.kind not in "iu":
        what = f"of type {NAMES[values.dtype]} and rank {values.ndim}"
        raise NotExecutable(f"{name} is {what}, not a list of integers")
    numbers: list[int] = values.reshape(-1).tolist()
    return numbers
