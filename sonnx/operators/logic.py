"""And, Or and Not: C[i] = A[i] and B[i], A[i] or B[i]; Y[i] = not X[i].

ONNX And-1, Or-1 and Not-1.
"""

from __future__ import annotations

import operator

import numpy as np

from sonnx.numerics.broadcasting import AXIS_ATTRIBUTES
from sonnx.numerics.elementwise import elementwise_definition
from sonnx.numerics.elementwise_kernels import numpy_kernel
from sonnx.numerics.enclosures import selection
from sonnx.operators.operator import Operator
from sonnx.operators.stated_signature import StatedSignature, of_truths

OF_TWO = StatedSignature(inputs=(2, 2), attributes=AXIS_ATTRIBUTES, output_specs=of_truths)

OPERATORS = (
    Operator(
        name="And",
        define=elementwise_definition(operator.and_),
        kernel=numpy_kernel(np.logical_and),
        signature=OF_TWO,
        axis_broadcasting=True,
        bound=selection.extremum(-1.0),
    ),
    Operator(
        name="Or",
        define=elementwise_definition(operator.or_),
        kernel=numpy_kernel(np.logical_or),
        signature=OF_TWO,
        axis_broadcasting=True,
        bound=selection.extremum(1.0),
    ),
    Operator(
        name="Not",
        define=lambda application, inputs: (np.logical_not(inputs[0]),),
        kernel=numpy_kernel(np.logical_not),
        bound=selection.negation,
    ),
)
