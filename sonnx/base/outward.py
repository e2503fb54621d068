"""Numbers of bounds as text: rounded away from what they bound, so that what is printed is a bound too."""

from __future__ import annotations

from decimal import ROUND_CEILING, ROUND_FLOOR, Context


def rounded_up(number: float, digits: int) -> float:
    """The least number of so many decimal digits that is not below the number."""
    return float(Context(prec=digits, rounding=ROUND_CEILING).create_decimal_from_float(number))


def rounded_down(number: float, digits: int) -> float:
    """The largest number of so many decimal digits that is not above the number."""
    return float(Context(prec=digits, rounding=ROUND_FLOOR).create_decimal_from_float(number))


def at_most(number: float, digits: int = 3) -> str:
    """An upper bound with so many decimal digits."""
    return f"{rounded_up(number, digits):.{digits}g}"


def at_least(number: float, digits: int = 3) -> str:
    """A lower bound with so many decimal digits."""
    return f"{rounded_down(number, digits):.{digits}g}"
