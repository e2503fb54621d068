"""Numbers and the strings that stand for them, as Cast converts them.

ONNX Cast-9 to Cast-28: a string is read in plain or scientific notation ("3.14", "1e-5"); INF, +INF, -INF and NaN in
any case are the special numbers.  What else is undefined there has no value here: other strings, a string with a point
or an exponent as an integer, and an integer that its type does not have.  A number is written in plain notation.  The
text does not say with how many digits: here with the fewest that are read back as the same number.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from fractions import Fraction
from math import copysign, inf, isnan, nan
from typing import Any

import numpy as np

from sonnx.base.errors import NotExecutable
from sonnx.base.escaping import quote
from sonnx.numerics.formats import ELEMENTS, format_of
from sonnx.numerics.rounding import nearest

NUMERAL = re.compile(r"([+-]?)(?:([0-9]+)(?:\.([0-9]*))?|\.([0-9]+))(?:[eE]([+-]?[0-9]+))?", re.ASCII)
INTEGER = re.compile(r"[+-]?[0-9]+", re.ASCII)
SPECIAL = {"inf": inf, "+inf": inf, "-inf": -inf, "nan": nan}

MAX_NUMERAL = 4096
"""Characters of the longest string that is read as a number."""

BEYOND_EVERY_TYPE = 400
"""A power of ten that no type has; its inverse is below half of every least number."""


def read(text: str) -> Fraction | float:
    """The number that a string stands for; -0, the infinities and NaN as floats.

    Raises:
        NotExecutable: the text gives the string no number.
    """
    special, match_ = SPECIAL.get(text.lower()), NUMERAL.fullmatch(text) if len(text) <= MAX_NUMERAL else None
    if special is not None:
        return special
    if match_ is None:
        raise NotExecutable(f"the string {quote(text)} does not stand for a number")
    sign, whole, after, alone, exponent = match_.groups()
    fraction = after or alone or ""
    digits = int((whole or "") + fraction or "0")
    if not digits:
        return -0.0 if sign == "-" else Fraction(0)
    power = int(exponent or "0") - len(fraction)
    reach = BEYOND_EVERY_TYPE + MAX_NUMERAL
    return Fraction(-digits if sign == "-" else digits) * Fraction(10) ** min(max(power, -reach), reach)


def read_integer(text: str, limits: tuple[int, int]) -> int:
    """The integer that a string stands for.

    Raises:
        NotExecutable: the text gives the string no integer of the type.
    """
    number = int(text) if len(text) <= MAX_NUMERAL and INTEGER.fullmatch(text) else None
    if number is None or not limits[0] <= number <= limits[1]:
        raise NotExecutable(f"the string {quote(text)} does not stand for an integer of the type")
    return number


def written(values: Iterable[int | float], kind: np.dtype[Any]) -> list[str]:
    """The strings of numbers, the digits as many as a type needs; a truth is 1 or 0.

    Args:
        values: the numbers, exactly.
        kind: their type; of a floating-point type of at most eight bits the digits are those of float.
    """
    read_as = kind if format_of(kind) is not None else ELEMENTS["float"]
    return [_fewest_digits(value, read_as) if isinstance(value, float) else str(int(value)) for value in values]


def _fewest_digits(value: float, kind: np.dtype[Any]) -> str:
    if isnan(value):
        return "NaN"
    sign = "-" if copysign(1.0, value) < 0 else ""
    if value in (inf, -inf):
        return f"{sign}INF"
    if value == 0:
        return f"{sign}0"
    size = abs(Fraction(value))
    wanted = nearest(size, kind)
    lead = len(str(size.numerator)) - len(str(size.denominator))  # 10^(lead-1) < size < 10^(lead+1)
    power = lead + 1
    while True:
        unit = Fraction(10) ** power
        below = size // unit
        for digits in sorted({below, below + 1}, key=lambda number: abs(number * unit - size)):
            if digits and nearest(digits * unit, kind) == wanted:
                return sign + _plain(digits, power)
        power -= 1


def _plain(digits: int, power: int) -> str:
    """The product of digits and 10^power, without an exponent."""
    if power >= 0:
        return str(digits * 10**power)
    padded = str(digits).rjust(1 - power, "0")
    text = f"{padded[:power]}.{padded[power:]}"
    return text.rstrip("0").rstrip(".")
