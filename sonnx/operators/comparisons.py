"""Equal, Less and Greater: C[i] = (A[i] = B[i]), A[i] < B[i], A[i] > B[i].

ONNX Equal-1 to Equal-19; SONNX Less of 2026-08, ONNX Less-1 to Less-13; ONNX Greater-1 to Greater-13.  NaN equals
nothing, not itself, is less and greater than nothing, and nothing is less or greater than NaN; both zeros are equal.
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from sonnx.numerics.broadcasting import AXIS_ATTRIBUTES
from sonnx.numerics.elementwise import TRUTH, elementwise_definition
from sonnx.numerics.elementwise_kernels import numpy_kernel
from sonnx.numerics.enclosures import selection
from sonnx.operators.operator import Operator
from sonnx.operators.stated_signature import StatedSignature, comparison


def _comparison(name: str, of_two: Any, ufunc: Any, bound: Any, **stated: Any) -> Operator:
    return Operator(
        name=name,
        elementwise=True,
        define=elementwise_definition(of_two, result=TRUTH),
        kernel=numpy_kernel(ufunc),
        axis_broadcasting=True,
        bound=selection.comparison(bound),
        **stated,
    )


OPERATORS = (
    _comparison("Equal", operator.eq, np.equal, selection.equal, commutative=True, changes=(1, 7)),
    _comparison("Less", operator.lt, np.less, selection.less),
    _comparison(
        "Greater",
        operator.gt,
        np.greater,
        selection.greater,
        signature=StatedSignature(inputs=(2, 2), attributes=AXIS_ATTRIBUTES, output_specs=comparison),
        versions=(1, 7, 9, 13),
        changes=(1, 7),
        absent={"broadcast": 0},
        output_element="bool",
    ),
)
