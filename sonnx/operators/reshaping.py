"""Operators whose output has every element of the first input once: the same elements under another shape.

Identity    output = input; every bit pattern stays, signalling NaNs included.  ONNX Identity-1 to Identity-25, on
            tensors.
Flatten     Y[a, b] = X[i], a the row-major number of the indices before the axis, b that of the others.  SONNX of
            2026-08; ONNX Flatten-1 to Flatten-25.
Reshape     Y has the elements of X in their row-major order, in the shape that is asked for.  An extent of 0 is copied
            from X (unless allowzero = 1), one of -1 is what the number of elements leaves; the data file's `kept` and
            `rest` say so.  SONNX of 2026-08; ONNX Reshape-1 to Reshape-25.
Squeeze     the input without the named axes, each of extent 1.  The axes stand in the attribute (before version 13) or
            in the second input; without them every axis of extent 1 goes.  ONNX Squeeze-1 to Squeeze-25.
Unsqueeze   Y[j] = X[i], j = i with a 0 at each of the axes; the data file's `named` are the axes of Y from the first.
            SONNX of 2026-08; ONNX Unsqueeze-1 to Unsqueeze-25.
Transpose   output[j] = data[i], j = i in the order of perm; without perm the axes are reversed.  ONNX Transpose-1 to
            Transpose-25.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from sonnx.base.errors import NotExecutable
from sonnx.numerics.application import Application, Definition, optional, required
from sonnx.numerics.elementwise import integer_list
from sonnx.numerics.enclosures import layout
from sonnx.numerics.formats import Array
from sonnx.operators.operator import Operator, copying_kernel


def identity(application: Application, inputs: Sequence[Array]) -> tuple[Array]:
    """The input itself."""
    return (inputs[0],)


def flatten(application: Application, inputs: Sequence[Array]) -> tuple[Array]:
    """Y, of rank 2."""
    X, split = inputs[0], application.names["split"]
    return (X.reshape(prod(X.shape[:split]), prod(X.shape[split:])),)


def reshape(application: Application, inputs: Sequence[Array]) -> tuple[Array]:
    """Y, of the type of X."""
    X, kept, rest = inputs[0], application.names["kept"], application.names["rest"]
    return (X.reshape([prod(X.shape) // rest if extent == -1 else extent for extent in kept]),)


def squeeze(application: Application, inputs: Sequence[Array | None]) -> tuple[Array]:
    """squeezed, of the type of data.

    Raises:
        NotExecutable: data does not have a named axis, or it is named twice or has another extent than 1.
    """
    [data], [axes_input] = required(inputs, 1), optional(inputs, 1)
    stated = integer_list(axes_input, "axes") if axes_input is not None else application.parameter("axes")
    if stated is None:
        return (np.squeeze(data),)
    inside = [axis for axis in stated if -data.ndim <= axis < data.ndim]
    named = {axis % data.ndim for axis in inside}
    if len(named) != len(stated) or any(data.shape[axis] != 1 for axis in named):
        raise NotExecutable(
            f"the axes {list(stated)} are not different axes of extent 1 of the shape {list(data.shape)}"
        )
    return (np.squeeze(data, tuple(named)),)


def unsqueeze(application: Application, inputs: Sequence[Array]) -> tuple[Array]:
    """Y, of the type of X."""
    return (np.expand_dims(inputs[0], tuple(application.names["named"])),)


def transpose(application: Application, inputs: Sequence[Array]) -> tuple[Array]:
    """output, of the type of data.

    Raises:
        NotExecutable: perm does not name each axis once.
    """
    rank = inputs[0].ndim
    perm: Sequence[int] = application.parameter("perm")
    if sorted(perm) != list(range(rank)):
        raise NotExecutable(f"perm is {list(perm)}, which is not an order of {rank} axes")
    return (np.transpose(inputs[0], perm),)


def _moving(name: str, define: Definition, **stated: Any) -> Operator:
    bound = layout.moving(define, one_to_one=True)
    return Operator(
        name=name, moved_inputs="first", continuous=True, selects=True, define=define, bound=bound, **stated
    )


OPERATORS = (
    _moving(
        "Identity",
        identity,
        keeps_order=True,
        elementwise=True,
        monotone="increasing",
        lipschitz=1,
        passes_input_on=True,
    ),
    _moving("Squeeze", squeeze, keeps_order=True, axis_parameter="axes"),
    _moving("Flatten", flatten, keeps_order=True, axis_parameter="axis", kernel=copying_kernel(flatten)),
    _moving("Reshape", reshape, keeps_order=True, kernel=copying_kernel(reshape)),
    _moving("Unsqueeze", unsqueeze, keeps_order=True, kernel=copying_kernel(unsqueeze)),
    _moving("Transpose", transpose, kernel=copying_kernel(transpose)),
)
