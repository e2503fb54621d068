"""Graph inputs that `--input NAME=NUMBER` fixes: one number everywhere, in the type and the shape of the input."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from math import prod

import numpy as np

from sonnx.base.errors import UsageError
from sonnx.base.escaping import quote
from sonnx.model.ir import ValueInfo
from sonnx.numerics.formats import ELEMENTS, TEXT, Array

TRUTH_VALUES = {"true": True, "false": False}

MOST_ELEMENTS = 1 << 20
"""Elements of the largest input that becomes a constant."""


def named_numbers(given: Collection[str]) -> Iterator[tuple[str, str]]:
    """The names and the numbers of arguments NAME=NUMBER.

    Raises:
        UsageError: an argument has another form.
    """
    for text in given:
        name, is_pair, number = text.rpartition("=")
        if not is_pair or not name or not number:
            raise UsageError(f"--input takes NAME=NUMBER, not {quote(text)}")
        yield name, number


def fixed_array(value: ValueInfo, text: str) -> Array:
    """The number everywhere, in the type and the shape of an input.

    Raises:
        UsageError: the type or shape is not known, or the type does not have the number.
    """
    kind, shape = ELEMENTS.get(value.type.element or ""), value.type.shape
    extents = [extent for extent in shape or () if isinstance(extent, int) and extent >= 0]
    if kind is None or kind == TEXT or shape is None or len(extents) < len(shape) or prod(extents) > MOST_ELEMENTS:
        raise UsageError(
            f"--input cannot fix {quote(value.name)}, which is {value.type}: its shape must be known, and small"
        )
    try:
        number = TRUTH_VALUES[text.lower()] if kind == np.bool_ else int(text) if kind.kind in "iu" else float(text)
        array: Array = np.full(tuple(extents), number, kind)
    except (KeyError, ValueError, OverflowError, TypeError):
        raise UsageError(
            f"{quote(text)} is not a number of the type {value.type.element} of {quote(value.name)}"
        ) from None
    return array
