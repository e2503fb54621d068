"""Constant: output = the value of the one attribute that is written.

ONNX Constant-1 to Constant-25.  `value` is a tensor of any type; from version 12 on `value_int` and `value_float` are
tensors of rank 0 (int64, float), `value_ints` and `value_floats` of rank 1, `value_string` and `value_strings` are
strings.  Sparse tensors are outside the executor.
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


def define(application: Application, inputs: Sequence[Array]) -> tuple[Array]:
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
    made: Array = np.array(value, element)
    if any(not _is_text(each) for each in made.ravel() if made.dtype == TEXT):
        raise NotExecutable(f"the attribute {quote(attribute.name)} of a Constant has a string that is not UTF-8")
    return made


def _is_text(value: str) -> bool:
    return not any("\ud800" <= character <= "\udfff" for character in value)


OPERATOR = Operator(name="Constant", exact=True, define=define)
