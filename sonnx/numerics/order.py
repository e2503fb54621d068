"""The order of floating-point values: NaN > +Inf > positive > +0 > -0 > negative > -Inf.

Source: SONNX Max, second edition, line 57.

A value is its bit pattern, an integer of [0, 2*sign - 1].  `sign` is the pattern of -0 (only the sign bit is set),
`infinity` the pattern of +Inf; the patterns above it are NaN.  So every IEEE 754 interchange format is meant at once.
`proofs/order.py` reads these functions and proves them; the kernels are equal to them.
"""

from __future__ import annotations


def key(pattern: int, sign: int, infinity: int) -> int:
    """The place of a pattern in the order, as an integer; all NaNs share the highest place."""
    magnitude = pattern - sign if pattern >= sign else pattern
    if magnitude > infinity:
        return infinity + 1
    if pattern >= sign:
        return -1 - magnitude
    return magnitude


def equal_zeros_key(pattern: int, sign: int, infinity: int) -> int:
    """The place in the usual order of IEEE 754, where both zeros are equal; NaN highest (SONNX ArgMax of 2026-08)."""
    place = key(pattern, sign, infinity)
    return 0 if place == -1 else place


def maximum(x: int, y: int, sign: int, infinity: int) -> int:
    """The pattern of the larger value; of two NaNs the first, bit for bit."""
    if key(y, sign, infinity) > key(x, sign, infinity):
        return y
    return x


def replaces(best: int, candidate: int, last: int) -> bool:
    """Whether a later element takes the place of the best one so far, by their places in the order (ArgMax step)."""
    return candidate > best or (last == 1 and candidate == best)
