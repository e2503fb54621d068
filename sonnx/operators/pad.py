"""Pad: output[i] = data[i - begin] where data has that element, else what the mode says.

ONNX Pad-2 to Pad-25; the SONNX page of 2026-08 is a title (erratum pad-without-text).  constant: constant_value;
edge: the nearest element; reflect: the element as far behind the edge, which is not repeated; wrap: the element on the
other side.  A negative amount removes elements.  The data file's `named` are the axes, `amounts` the numbers of
elements: all beginnings, then all ends.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sonnx.numerics.application import Application, NoValue, optional, required
from sonnx.numerics.enclosures import layout
from sonnx.numerics.formats import TEXT, Array, patterns
from sonnx.operators.operator import Operator

VALUE_INPUT_SINCE = 11
"""The version from which the constant is an input."""


def define(application: Application, inputs: Sequence[Array | None]) -> tuple[Array]:
    """output, of the type of data."""
    [data], names = required(inputs, 1), application.names
    named, amounts = names["named"], names["amounts"]
    value = constant(application, inputs, data.dtype)
    for axis, begin, end in zip(named, amounts[: len(named)], amounts[len(named) :], strict=True):
        data = along(data, axis, (begin, end), names["mode"], value)
    return (data,)


def constant(application: Application, inputs: Sequence[Array | None], kind: np.dtype[np.generic]) -> Array:
    """constant_value, of rank 0; where it is absent 0, False or the empty string."""
    if application.version < VALUE_INPUT_SINCE:
        return np.array(application.names["value"]).astype(kind)
    [constant_input] = optional(inputs, 2)
    if constant_input is not None:
        return constant_input
    return np.array("", TEXT) if kind == TEXT else np.zeros((), kind)


def along(data: Array, axis: int, amounts: tuple[int, int], mode: str, value: Array) -> Array:
    """data, padded along one axis.

    Raises:
        NoValue: the mode takes more elements than there are (Pad.padding-has-source).
    """
    extent = data.shape[axis]
    places = np.arange(-amounts[0], extent + amounts[1])
    outside = (places < 0) | (places >= extent)
    if mode == "constant":
        if not outside.any():
            return np.take(data, places, axis)
        shape = [*data.shape]
        shape[axis] = len(places)
        output = np.empty(shape, data.dtype)
        moved, source = np.moveaxis(output, axis, 0), np.moveaxis(data, axis, 0)
        patterns(moved)[outside] = patterns(value)
        moved[~outside] = source[places[~outside]]
        return output
    source = extent > 0 if mode != "reflect" else max(amounts) < extent
    if max(amounts) > 0 and not source:
        text = f"{max(amounts)} elements are added by mode {mode} to an axis of {extent}"
        raise NoValue("Pad.padding-has-source", text)
    if mode == "reflect":
        places = extent - 1 - np.abs(extent - 1 - np.abs(places))
    elif mode == "edge":
        places = np.clip(places, 0, extent - 1)
    else:
        places = places % max(extent, 1)
    return np.take(data, places, axis)


OPERATOR = Operator(name="Pad", moved_inputs="first", continuous=True, define=define, bound=layout.padding(define))
