"""Gemm: Y = alpha * A' * B' + beta * C, A' and B' being A and B, transposed where transA and transB say so.

SONNX Gemm of 2026-08 (a draft over the reals, with alpha = beta = 1 and nothing transposed); ONNX Gemm-1 to Gemm-13.
C is broadcast to the shape of Y; left out it adds nothing.  The exact value is rounded once (erratum
rounding-not-named).  Integers wrap around, and are scaled by whole numbers only.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from sonnx.semantics.application import Application
from sonnx.semantics.formats import Array, format_of
from sonnx.semantics.sums import Number, in_units_of_products, numbers, products, store, times, total
from sonnx.stops import NotExecutable

OPERATOR = "Gemm"


def evaluate(application: Application, inputs: Sequence[Array]) -> tuple[Array]:
    """Y, of the type of the operands."""
    A, B, C = operands(application, inputs)
    factors = factors_of(application, A)
    rows, columns = [numbers(row) for row in A], [numbers(column) for column in B.T]
    addends = None if C is None else numbers(C)
    Y = np.empty((len(rows), len(columns)), A.dtype)
    for number, (i, j) in enumerate(np.ndindex(Y.shape)):
        added = None if addends is None else addends[number]
        store_element(Y, (i, j), rows[i], columns[j], added, factors)
    return (Y,)


def operands(application: Application, inputs: Sequence[Array | None]) -> tuple[Array, Array, Array | None]:
    """A' and B' as views, and C broadcast to the shape of Y, None where it is left out.

    Raises:
        NotExecutable: C has another shape and the version broadcasts only where an attribute says so.
    """
    names = application.names
    A, B = inputs[:2]
    assert A is not None and B is not None  # noqa: S101  the count of inputs is checked before
    A, B = A.T if names["transA"] else A, B.T if names["transB"] else B
    C, shape = inputs[2] if len(inputs) > 2 else None, (A.shape[0], B.shape[1])
    if C is not None and C.shape != shape and names.get("broadcast", 1) == 0:
        raise NotExecutable(f"C has the shape {list(C.shape)}, not {list(shape)}, and the attribute broadcast is 0")
    return A, B, None if C is None else np.broadcast_to(C, shape)


def factors_of(application: Application, A: Array) -> tuple[Fraction | float, Fraction | float]:
    """The factors alpha and beta, exactly; those that are no finite number as they are.

    Raises:
        NotExecutable: integers are to be scaled by what is no whole number; no text says what that gives.
    """
    made = tuple(float(application.names[name]) for name in ("alpha", "beta"))
    exact = tuple(Fraction(each) if np.isfinite(each) and each else each for each in made)
    if format_of(A.dtype) is None and any(each != int(each) if np.isfinite(each) else True for each in made):
        raise NotExecutable(f"integers cannot be scaled by alpha = {made[0]} and beta = {made[1]}")
    return exact[0], exact[1]


def store_element(
    Y: Array,
    index: tuple[int, int],
    row: Sequence[Number],
    column: Sequence[Number],
    added: Number | None,
    factors: tuple[Fraction | float, Fraction | float],
) -> None:
    """Y[i, j] = alpha * sum + beta * C[i, j], with the factors brought to one denominator."""
    denominator = math.lcm(*[each.denominator for each in factors if isinstance(each, Fraction)])
    scale_sum, scale_added = (int(each * denominator) if isinstance(each, Fraction) else each for each in factors)
    value = times(scale_sum, total(products(row, column)))
    if added is not None:
        value = total([value, times(scale_added, in_units_of_products(added, Y.dtype))])
    store(Y, index, value, power=2, divisor=denominator)
