"""Sin: B[i] = sin A[i], rounded once; A in radians.

SONNX Sin of 2026-10; ONNX Sin-7 to Sin-22.  NaN and the infinities give NaN, a zero itself.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sonnx.numerics.certified_rounding import DOUBLE, Bound
from sonnx.numerics.elementwise import elementwise_definition
from sonnx.numerics.elementwise_kernels import real_function
from sonnx.numerics.enclosures import elementwise
from sonnx.numerics.formats import Array
from sonnx.numerics.scratch import Scratch
from sonnx.operators.operator import Operator


def sin(x: Any, once: Any) -> Any:
    """Sin x."""
    return once.sin(x)


PI_HIGH = float.fromhex("0x1.921fb544p+1")
PI_LOW = float.fromhex("0x1.0b4611a626331p-33")
"""Pieces of pi."""

POLYNOMIAL = [
    float.fromhex(literal)
    for literal in (
        "0x1.ffffffffffe3ap-1", "-0x1.5555555543bddp-3", "0x1.11111109eefb9p-7", "-0x1.a019fd48ebf70p-13",
        "0x1.71dcf81f05f03p-19", "-0x1.ae04488789176p-26", "0x1.52e572937b1f9p-33",
    )
]  # fmt: skip
"""Coefficients, that of 1 first."""

MAX_REDUCED = 2.0**10
"""Magnitudes up to which the reduction is exact enough."""

MIN_REST = 2.0**-30
"""Magnitudes of r from which its error is relative."""

TO_WHOLE = 1.5 * 2**52
"""A float64 of this size has no digits after the point: adding it rounds to a whole number."""

BOUND = Bound(2.0**-42)

_K, _PARITY, _R, _Z = (Scratch() for _ in range(4))


def approximate(x: Array, out: Array) -> None:
    """The sine of every element; `out` may be `x`.

    A reduction by multiples of pi and a polynomial in float64; numpy's own function is not vectorised.  With k the
    whole number nearest to x / pi and r = x - k pi, sin x = (-1)^k sin r and |r| <= (pi/2) (1 + 2^-20).

    k: x / pi + 1.5 * 2^52 is rounded to a whole number, whose last digit is the parity of k.

    r: pi is PI_HIGH + PI_LOW to 2^-86, PI_HIGH of 32 digits.  For |x| <= MAX_REDUCED k has at most 9 digits, so
    k PI_HIGH is exact, and so is x - k PI_HIGH, because both lie within a factor of 2 (Sterbenz).  k PI_LOW and what
    the pieces lack of pi are off by 2^-76 together, below 2^-46 of an |r| >= MIN_REST; the difference is rounded once.
    Where |r| < MIN_REST after a reduction, beyond MAX_REDUCED, and for long double numpy's function is taken.

    sin r: r times the polynomial of degree 6 in z = r^2 that meets sin(r) / r at the seven Chebyshev points of
    [0, (pi/2)^2 (1 + 2^-19)].  The error of interpolation is at most 2 (c/4)^7 times the largest seventh derivative,
    1/15!, over 7!, times 7!: 2^-44.1, that is 2^-43.5 of the least sin(r) / r; `tests/operators/test_sin.py` computes
    the polynomial again.  The rounding of z, coefficients and 14 operations is below 2^-47 of the result.  Altogether
    less than 2^-42.
    """
    if x.dtype != DOUBLE or not (np.maximum.reduce(x) <= MAX_REDUCED and np.minimum.reduce(x) >= -MAX_REDUCED):
        np.sin(x, out=out)
        return
    k, parity, r, z = (memory.array(x.size, DOUBLE) for memory in (_K, _PARITY, _R, _Z))
    np.multiply(x, 1 / np.pi, out=k)
    np.add(k, TO_WHOLE, out=k)
    np.left_shift(k.view(np.uint64), np.uint64(63), out=parity.view(np.uint64))
    np.subtract(k, TO_WHOLE, out=k)
    np.multiply(k, PI_HIGH, out=z)
    np.subtract(x, z, out=r)
    np.multiply(k, PI_LOW, out=z)
    np.subtract(r, z, out=r)
    np.abs(r, out=z)
    close = (z < MIN_REST) & (k != 0) if np.minimum.reduce(z) < MIN_REST else None
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


OPERATOR = Operator(
    name="Sin",
    elementwise=True,
    continuous=True,
    ends=(-1, 1),
    lipschitz=1,
    define=elementwise_definition(sin),
    kernel=real_function(sin, approximate, BOUND),
    bound=elementwise.transfer(elementwise.SIN),
)
