"""Dropout, in inference: output = data, and a mask of nothing dropped.

ONNX Dropout-1 to Dropout-22.  Training that drops elements at random is outside the executor.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sonnx.base.errors import NotExecutable
from sonnx.numerics.application import Application, optional, required
from sonnx.numerics.enclosures import layout
from sonnx.numerics.formats import Array
from sonnx.operators.operator import CONSUMED_INPUTS, Operator, copying_kernel
from sonnx.operators.stated_signature import StatedSignature

ATTRIBUTES = {"ratio": "float", "is_test": "int", "seed": "int", "consumed_inputs": "ints"}

IS_TEST_UNTIL = 6
"""The last version in which an attribute states inference; without it the node trains."""

BOOL_MASK_SINCE = 10
"""The version from which the mask is of type bool; before, it has the type of data."""


def output_specs(application: Application, inputs: Sequence[Any]) -> tuple[Any, ...]:
    """Both outputs have the shape of data."""
    return (inputs[0], (inputs[0][0], _mask_type(application, inputs[0][1])))[: application.outputs]


def define(application: Application, inputs: Sequence[Array | None]) -> tuple[Array, ...]:
    """Output and mask.

    Raises:
        NotExecutable: the node trains.
    """
    [data], (ratio, training) = required(inputs, 1), optional(inputs, 1, 2)
    trains = application.version <= IS_TEST_UNTIL and application.parameter("is_test") == 0
    drops = ratio is None or bool(ratio != 0)
    if trains or (training is not None and bool(training) and drops):
        raise NotExecutable("it drops elements at random, in training")
    return (data, np.ones(data.shape, _mask_type(application, data.dtype)))[: application.outputs]


def _mask_type(application: Application, kind: np.dtype[Any]) -> np.dtype[Any]:
    return np.dtype(np.bool_) if application.version >= BOOL_MASK_SINCE else kind


OPERATOR = Operator(
    name="Dropout",
    moved_inputs="first",
    keeps_shape=True,
    continuous=True,
    independent_outputs=True,
    valueless_attributes={
        **CONSUMED_INPUTS,
        "ratio": "nothing is dropped outside training, and a training node is not run",
        "seed": "it starts the draw of what training drops",
    },
    versions=(1, 6, 7, 10, 12, 13, 22),
    changes=(1, 7, 10, 12),
    absent={"is_test": 0, "ratio": 0.5},
    output_element="first",
    define=define,
    kernel=copying_kernel(define),
    signature=StatedSignature(inputs=(1, 3), outputs=(1, 2), attributes=ATTRIBUTES, output_specs=output_specs),
    bound=layout.moving(define, one_to_one=True),
)
