"""Error-free transformations: sums and products of float64 with exactly what their rounding cuts off."""

from __future__ import annotations

from sonnx.numerics.formats import Array

SPLITTER = 2.0**27 + 1


def two_sum(x: Array, y: Array) -> tuple[Array, Array]:
    """The sum rounded, and exactly what that cuts off (Knuth)."""
    made = x + y
    part = made - x
    return made, (x - (made - part)) + (y - part)


def two_product(x: Array, y: Array) -> tuple[Array, Array]:
    """The product rounded, and exactly what that cuts off (Dekker), where nothing overflows or underflows."""
    made = x * y
    x_high, x_low = _halves(x)
    y_high, y_low = _halves(y)
    return made, x_low * y_low - (((made - x_high * y_high) - x_low * y_high) - x_high * y_low)


def _halves(x: Array) -> tuple[Array, Array]:
    spread = x * SPLITTER
    high = spread - (spread - x)
    return high, x - high
