"""BatchNormalization: Y[n, c, ..] = scale[c] * (X[n, c, ..] - input_mean[c]) / sqrt(input_var[c] + epsilon) + B[c].

SONNX BatchNormalization of 2026-08; ONNX BatchNormalization-1 to BatchNormalization-15, inference,
which is_test says before version 7.  The exact value of
the formula is rounded once (erratum batch-normalization-order); epsilon is the exact number of the attribute (erratum
batch-normalization-epsilon-rounds-to-zero).  Special values are those of IEEE 754 in the order of the formula: the
difference, the product with scale, the quotient, the sum (erratum batch-normalization-special-values).  With X of rank
1 there is one channel.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from sonnx.semantics.application import Application, NoValue
from sonnx.semantics.formats import Array, patterns
from sonnx.semantics.rounding import grid_of
from sonnx.semantics.sums import Number, over, real, rounded, times, total

OPERATOR = "BatchNormalization"

RAISES = ("BatchNormalization.variance-not-negative",)
"""Error conditions that are decided here, element by element."""


def evaluate(application: Application, inputs: Sequence[Array]) -> tuple[Array]:
    """Y, of the type of X.

    Raises:
        NoValue: training, or a variance that is negative or NaN.
    """
    epsilon = require_inference(application, inputs[4])
    Y = np.empty(inputs[0].shape, inputs[0].dtype)
    for index in np.ndindex(Y.shape):
        store_element(Y, index, inputs, epsilon)
    return (Y,)


def require_inference(application: Application, variance: Array) -> Fraction:
    """The epsilon of a node that infers.

    Raises:
        NoValue: training, or a variance that is negative or NaN.
    """
    if application.names.get("training_mode", 0) != 0 or application.names.get("is_test", 1) == 0:
        raise NoValue("BatchNormalization.inference-mode", "training replaces the statistics that are given")
    bad = np.flatnonzero(~(variance.astype(np.float64) >= 0))
    if len(bad):
        text = f"input_var[{bad[0]}] is {float(variance[bad[0]])}"
        raise NoValue("BatchNormalization.variance-not-negative", text)
    return Fraction(application.names["epsilon"])


def store_element(Y: Array, index: tuple[int, ...], inputs: Sequence[Array], epsilon: Fraction) -> None:
    """Put the element with this index into Y."""
    c = (index[1] if Y.ndim > 1 else 0,)
    X, scale, B, mean, variance = inputs
    digits = 1 - min(grid_of(each.dtype).least for each in inputs)
    deviation = total([real(X, index), times(-1, real(mean, c))])
    spread = total([real(variance, c), epsilon])
    quotient = over_root(times(real(scale, c), deviation), spread, digits)
    patterns(Y)[index] = rounded(total([quotient, real(B, c)]), 0, Y.dtype)


def over_root(x: Number, square: Number, digits: int) -> Number:
    """The quotient of x and the square root, which rounds as the exact one does, alone or with an element added.

    It is cut to `digits` binary digits after the point.  Where something was cut off, half a unit is put in its place:
    every element and every number halfway between two is a multiple of the unit, so none lies between the two.
    """
    if isinstance(x, float) or isinstance(square, float):
        return over(x, math.sqrt(square) if isinstance(square, float) else 1)
    if square < 0:
        return math.nan
    ratio = x * x / Fraction(square) * 4**digits
    root = math.isqrt(ratio.numerator // ratio.denominator)
    made = Fraction(2 * root + (root * root != ratio), 2 << digits)
    return made if x > 0 else -made
