"""Add, Sub and Mul: C[i] = A[i] + B[i], A[i] - B[i], A[i] * B[i]; integers modulo 2^n, floats rounded once.

SONNX of 2026-08 and 2026-10; ONNX versions 1 to 14; IEEE 754-2019, 5.4.1 and 6.3.  An exact zero of a sum or difference
is +0, but -0 + -0 and -0 - +0 are -0.  The signs of both factors decide that of a zero or an infinity; zero times
infinity is NaN.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sonnx.numerics.elementwise import elementwise_definition
from sonnx.numerics.elementwise_kernels import arithmetic
from sonnx.numerics.enclosures import products, sums
from sonnx.operators.operator import Operator


def add(a: Any, b: Any, once: Any = None) -> Any:
    """A + b."""
    return a + b if once is None else once.add(a, b)


def sub(a: Any, b: Any, once: Any = None) -> Any:
    """A - b."""
    return a - b if once is None else once.sub(a, b)


def mul(a: Any, b: Any, once: Any = None) -> Any:
    """A * b."""
    return a * b if once is None else once.mul(a, b)


OPERATORS = tuple(
    Operator(
        name=name,
        elementwise=True,
        continuous=True,
        commutative=commutes,
        associative=commutes,
        define=elementwise_definition(function),
        kernel=arithmetic(function, ufunc),
        axis_broadcasting=True,
        bound=bound,
    )
    for name, function, ufunc, commutes, bound in (
        ("Add", add, np.add, True, sums.add),
        ("Sub", sub, np.subtract, False, sums.subtract),
        ("Mul", mul, np.multiply, True, products.multiply),
    )
)
