"""Constant, ConstantOfShape and Shape: what is known without the elements of an input.

Constant          output = the value of the one attribute that is written.  `value` is a tensor of any type; from
                  version 12 on `value_int` and `value_float` are tensors of rank 0 (int64, float), `value_ints` and
                  `value_floats` of rank 1, `value_string` and `value_strings` are strings.  Sparse tensors are outside
                  the executor.  ONNX Constant-1 to Constant-25.
ConstantOfShape   every element of the output is `value`; the input holds the extents.  Without `value` it is 0, of type
                  float.  ONNX ConstantOfShape-9 to ConstantOfShape-25.
Shape             Y = the extents of X on the axes from start to end, counted from the first axis and brought into
                  [0, rX].  SONNX of 2026-08; ONNX Shape-1 to Shape-25.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sonnx.base.errors import NotExecutable
from sonnx.base.escaping import quote
from sonnx.model.ir import Attribute, Tensor
from sonnx.numerics.application import Application
from sonnx.numerics.constant_data import decode
from sonnx.numerics.elementwise import integer_list
from sonnx.numerics.formats import TEXT, Array
from sonnx.operators.operator import Operator

NUMBERS = {
    "value_int": ("int", np.int64),
    "value_ints": ("ints", np.int64),
    "value_float": ("float", np.float32),
    "value_floats": ("floats", np.float32),
    "value_string": ("string", np.object_),
    "value_strings": ("strings", np.object_),
}
"""Attributes that are numbers or strings, with their kind and the type of the tensor."""

NUMBERS_SINCE = 12
"""The version that has them."""


def constant(application: Application, inputs: Sequence[Array]) -> tuple[Array]:
    """The tensor that the node states.

    Raises:
        NotExecutable: not exactly one value is written, or it is of a kind the executor does not know.
    """
    if len(application.attributes) != 1:
        raise NotExecutable(f"a Constant has one attribute, its value, not {len(application.attributes)}")
    [written] = application.attributes.values()
    return (_value(written, application.version),)


def _value(attribute: Attribute, version: int) -> Array:
    value: Any = attribute.value
    if attribute.name == "value" and isinstance(value, Tensor):
        return decode(value, None)
    kind, element = NUMBERS.get(attribute.name, ("", np.int64))
    if attribute.kind != kind or version < NUMBERS_SINCE:
        raise NotExecutable(f"the attribute {quote(attribute.name)} of a Constant does not hold a tensor")
    array: Array = np.array(value, element)
    if any(not _is_text(item) for item in array.ravel() if array.dtype == TEXT):
        raise NotExecutable(f"the attribute {quote(attribute.name)} of a Constant has a string that is not UTF-8")
    return array


def _is_text(value: str) -> bool:
    return not any("\ud800" <= character <= "\udfff" for character in value)


def constant_of_shape(application: Application, inputs: Sequence[Array]) -> tuple[Array]:
    """output, of the type of `value`, as a view of one element.

    Raises:
        NotExecutable: an extent is negative, or `value` has not one element.
    """
    written = application.attributes.get("value")
    tensor = written.value if written is not None else None
    fill = decode(tensor, None) if isinstance(tensor, Tensor) else np.zeros(1, np.float32)
    extents = integer_list(inputs[0], "input")
    if fill.size != 1 or min(extents, default=0) < 0:
        raise NotExecutable(f"its extents are {extents} and its value has {fill.size} elements")
    return (np.broadcast_to(fill.reshape(()), extents),)


RANGE_SINCE = 15
"""The version from which start and end exist."""


def shape_of(application: Application, inputs: Sequence[Array]) -> tuple[Array]:
    """Y, int64, of rank 1."""
    shape, names = inputs[0].shape, application.names
    if application.version < RANGE_SINCE:
        return (np.array(shape, np.int64),)
    start, end = (_within(names[literal], len(shape)) for literal in ("start", "end"))
    return (np.array(shape[start:end], np.int64),)


def _within(axis: int, rank: int) -> int:
    """The axis counted from the first, brought into [0, rank]."""
    return min(max(axis + rank if axis < 0 else axis, 0), rank)


OPERATORS = (
    Operator(name="Constant", states_elements=True, define=constant),
    Operator(name="ConstantOfShape", states_elements=True, define=constant_of_shape, precomputed=True),
    Operator(name="Shape", reads_shapes_only=True, define=shape_of),
)
