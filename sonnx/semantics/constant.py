"""Constant: output = the value of the one attribute that is written.

ONNX Constant-1 to Constant-25.  `value` is a tensor of any type; from version 12 on `value_int` and `value_float` are
tensors of rank 0 (int64, float), `value_ints` and `value_floats` of rank 1.  Sparse tensors and strings are outside
the executor.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sonnx.constants import decode
from sonnx.model import Attribute, Tensor
from sonnx.semantics.application import Application
from sonnx.semantics.formats import Array
from sonnx.stops import NotExecutable

OPERATOR = "Constant"

_TYPES = {"value_int": np.int64, "value_ints": np.int64, "value_float": np.float32, "value_floats": np.float32}


def evaluate(application: Application, inputs: Sequence[Array]) -> tuple[Array]:
    """The tensor the node states.

    Raises:
        NotExecutable: not exactly one value is written, or it is of a kind the executor does not know.
    """
    written = [each for each in application.attributes.values() if each.name.startswith(("value", "sparse_value"))]
    if len(written) != 1:
        raise NotExecutable(f"a Constant has one value attribute, not {len(written)}")
    return (_value(written[0]),)


def _value(attribute: Attribute) -> Array:
    if isinstance(attribute.value, Tensor):
        return decode(attribute.value, None)
    kind = _TYPES.get(attribute.name)
    if kind is None:
        raise NotExecutable(f"the attribute {attribute.name} of a Constant holds no tensor of numbers")
    value: Any = attribute.value
    return np.array(value, kind)
