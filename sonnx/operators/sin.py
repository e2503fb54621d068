"""Sin: B[i] = sin A[i], rounded once; A in radians.

SONNX Sin of 2026-10; ONNX Sin-7 to Sin-22.  NaN and the infinities give NaN, a zero itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sonnx.numerics.application import Application
from sonnx.numerics.blocks import scratch
from sonnx.numerics.certified_rounding import WIDE, Bound
from sonnx.numerics.elementwise import each
from sonnx.numerics.elementwise_kernels import Kernel, function
from sonnx.numerics.formats import Array

OPERATOR = "Sin"


def evaluate(application: Application, inputs: Sequence[Array]) -> tuple[Array]:
    """Y, of the type and shape of X."""
    return (each(sin, inputs[0]),)


def sin(x: Any, once: Any) -> Any:
    """Sin x."""
    return once.sin(x)


# ------------------------------------------------------------------
# Sin, fast: a reduction by multiples of pi and a polynomial in float64; numpy's own is not vectorised.
#
# With k the whole number nearest to x / pi and r = x - k pi, sin x = (-1)^k sin r and |r| <= (pi/2) (1 + 2^-20).
#
# k: x / pi + 1.5 * 2^52 is rounded to a whole number, whose last digit is the parity of k.
#
# r: pi is HIGH + LOW to 2^-86, HIGH of 32 digits.  For |x| <= FAR k has at most 9 digits, so k HIGH is exact, and so is
# x - k HIGH, because both lie within a factor of 2 (Sterbenz).  k LOW and what pi lacks are off by 2^-76 together, below
# 2^-46 of an |r| >= NEAR; the difference is rounded once.  Where |r| < NEAR after a reduction, beyond FAR, and for long
# double numpy's function is taken.
#
# sin r: r times the polynomial of degree 6 in z = r^2 that meets sin(r) / r at the seven Chebyshev points of
# [0, (pi/2)^2 (1 + 2^-19)].  The error of interpolation is at most 2 (c/4)^7 times the largest seventh derivative, 1/15!,
# over 7!, times 7!: 2^-44.1, that is 2^-43.5 of the least sin(r) / r; `tests/test_sin.py` computes the polynomial again.
# The rounding of z, coefficients and 14 operations is below 2^-47 of the result.  Altogether less than 2^-42.


HIGH = float.fromhex("0x1.921fb544p+1")
LOW = float.fromhex("0x1.0b4611a626331p-33")
"""Pieces of pi."""

POLYNOMIAL = [
    float.fromhex(each)
    for each in (
        "0x1.ffffffffffe3ap-1", "-0x1.5555555543bddp-3", "0x1.11111109eefb9p-7", "-0x1.a019fd48ebf70p-13",
        "0x1.71dcf81f05f03p-19", "-0x1.ae04488789176p-26", "0x1.52e572937b1f9p-33",
    )
]  # fmt: skip
"""Coefficients, that of 1 first."""

FAR, NEAR = 2.0**10, 2.0**-30

WHOLE = 1.5 * 2**52

BOUND = Bound(2.0**-42)


def kernel(application: Application) -> Kernel:
    """See `sonnx.semantics.kernels`."""
    return function(application, sin, approximate, BOUND)


def approximate(x: Array, out: Array) -> None:
    """The sine of every element; `out` may be `x`."""
    if x.dtype != WIDE or not (np.maximum.reduce(x) <= FAR and np.minimum.reduce(x) >= -FAR):
        np.sin(x, out=out)
        return
    k, parity, r, z = (scratch(number, x.size, WIDE) for number in (3, 4, 5, 6))
    np.multiply(x, 1 / np.pi, out=k)
    np.add(k, WHOLE, out=k)
    np.left_shift(k.view(np.uint64), np.uint64(63), out=parity.view(np.uint64))
    np.subtract(k, WHOLE, out=k)
    np.multiply(k, HIGH, out=z)
    np.subtract(x, z, out=r)
    np.multiply(k, LOW, out=z)
    np.subtract(r, z, out=r)
    np.abs(r, out=z)
    close = (z < NEAR) & (k != 0) if np.minimum.reduce(z) < NEAR else None
    near = np.sin(x[close]) if close is not None else None  # before `out` replaces `x`
    np.multiply(r, r, out=z)
    _horner(z, out)
    np.multiply(out, r, out=out)
    np.bitwise_xor(out.view(np.uint64), parity.view(np.uint64), out=out.view(np.uint64))
    if close is not None:
        out[close] = near


def _horner(z: Array, out: Array) -> None:
    """The polynomial in z."""
    np.multiply(z, POLYNOMIAL[-1], out=out)
    for coefficient in POLYNOMIAL[-2:0:-1]:
        np.add(out, coefficient, out=out)
        np.multiply(out, z, out=out)
    np.add(out, POLYNOMIAL[0], out=out)
