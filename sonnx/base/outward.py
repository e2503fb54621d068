"""Bounds as decimal text, rounded outward, so that the printed number is a bound too."""

from __future__ import annotations

import sys
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal


def rounded_up(number: float, digits: int) -> float:
    """The least number with this many decimal digits that is not below `number`."""
    return float(_decimal(number, digits, ROUND_CEILING))


def rounded_down(number: float, digits: int) -> float:
    """The largest number with this many decimal digits that is not above `number`."""
    return float(_decimal(number, digits, ROUND_FLOOR))


def upper_bound_text(number: float, digits: int = 3) -> str:
    """An upper bound as text, rounded up to this many decimal digits."""
    return _text(_decimal(number, digits, ROUND_CEILING), digits)


def lower_bound_text(number: float, digits: int = 3) -> str:
    """A lower bound as text, rounded down to this many decimal digits."""
    return _text(_decimal(number, digits, ROUND_FLOOR), digits)


def _decimal(number: float, digits: int, rounding: str) -> Decimal:
    return Context(prec=digits, rounding=rounding).create_decimal_from_float(number)


def _text(number: Decimal, digits: int) -> str:
    """The number as text; one below the normal floats is not made a float, which has fewer digits there."""
    if 0 < abs(number) < sys.float_info.min:
        return f"{number:.{digits - 1}e}"
    return f"{float(number):.{digits}g}"
