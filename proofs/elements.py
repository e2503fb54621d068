"""The values of constant tensors as variables: one element stands for all of them, because they are taken equal."""

from __future__ import annotations

from collections.abc import Iterator

import z3
from sonnx.proofs.obliged import ELEMENT_TYPES
from sonnx.proofs.truths import Truth, both, formula, implies
from sonnx.proofs.z3_values import Listing, Number, choose, less, variable

from sonnx.model import WIDTH

READABLE = ("float", "double", "float16", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
"""Element types of constants whose values a check reads; the element of any other is one of run time."""
WHOLE = 2048
"""The whole numbers up to this one are values of every floating-point type a check reads."""
INFINITY = 2**1024
"""What stands for an infinite element: a number above every finite one, of which no rule asks more than that."""
STATED = f"constants of one repeated value: an integer of its type, a whole number up to {WHOLE} or an infinity"


def element(name: str) -> Number:
    """The element of the tensor of that name."""
    return variable(f"{name}.value", -INFINITY, INFINITY)


def readable(kind: z3.ArithRef) -> z3.BoolRef:
    """Whether a check reads the values of constants of an element type, given by its code."""
    return z3.Or(*[kind == ELEMENT_TYPES.index(name) for name in READABLE])


def ranges(number: Number, kind: z3.ArithRef) -> Iterator[z3.BoolRef]:
    """What an element of each element type can be."""
    value = number.term
    yield from (value >= -INFINITY, value <= INFINITY)
    for name in READABLE:
        finite = [value >= _first(name), value <= _last(name)]
        infinite = [] if "int" in name else [value == INFINITY, value == -INFINITY]
        yield z3.Implies(kind == ELEMENT_TYPES.index(name), z3.Or(z3.And(*finite), *infinite))


def _first(name: str) -> int:
    if name.startswith("uint"):
        return 0
    return -(2 ** (8 * int(WIDTH[name]) - 1)) if "int" in name else -WHOLE


def _last(name: str) -> int:
    if "int" not in name:
        return WHOLE
    return int(2 ** (8 * int(WIDTH[name]) - (not name.startswith("uint"))) - 1)


def listed(number: Number, shape: Listing) -> Listing:
    """The values of a tensor of that shape: the element, unless an extent is 0."""
    filled: Truth = both([implies(present, less(0, extent)) for present, extent in shape.items])
    return Listing(((filled, number),), packed=True, length=1 if filled is True else choose(formula(filled), 1, 0))
