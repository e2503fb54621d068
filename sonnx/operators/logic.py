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

OPERATORS = (
    *(
        Operator(
            name=name,
            elementwise=True,
            commutative=True,
            associative=True,
            selects=True,
            versions=(1, 7),
            changes=(1, 7),
            absent={"broadcast": 0},
            output_element="bool",
            define=elementwise_definition(function),
            kernel=numpy_kernel(ufunc),
            signature=StatedSignature(inputs=(2, 2), attributes=AXIS_ATTRIBUTES, output_specs=of_truths),
            axis_broadcasting=True,
            bound=bound,
        )
        for name, function, ufunc, bound in (
            ("And", operator.and_, np.logical_and, selection.extremum(-1.0)),
            ("Or", operator.or_, np.logical_or, selection.extremum(1.0)),
        )
    ),
    Operator(
        name="Not",
        elementwise=True,
        twice="undone",
        monotone="decreasing",
        define=lambda application, inputs: (np.logical_not(inputs[0]),),
        kernel=numpy_kernel(np.logical_not),
        bound=selection.negation,
    ),
)
