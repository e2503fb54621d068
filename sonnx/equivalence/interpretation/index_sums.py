"""Einsum of two operands as one product of matrices: which axes go where.

An index is of both operands and of the output (a stack), of one operand and the output (a row or a column), or of both
operands only (it is summed).  Each element of the output is one sum of the same products.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from math import prod
from typing import NamedTuple

EQUATION = re.compile(r"([a-zA-Z]+),([a-zA-Z]+)->([a-zA-Z]*)")


class Arranged(NamedTuple):
    """The order of the axes of an operand, and its shape as a matrix or a stack of them."""

    order: tuple[int, ...]
    shape: tuple[int, ...]


class ProductForm(NamedTuple):
    """Both operands, the shape of the product with all its axes, and their order in the output."""

    operands: tuple[Arranged, Arranged]
    result: tuple[int, ...]
    order: tuple[int, ...]


def product_form(equation: str, shapes: Sequence[tuple[int, ...]]) -> ProductForm | None:
    """The form of an equation such as `bij,jk->bik`; None for another kind of sum, or shapes that do not fit."""
    found = EQUATION.fullmatch(equation.replace(" ", ""))
    if found is None or len(shapes) != 2:
        return None
    first, second, output = found.groups()
    labels = [first, second, output]
    if any(len(set(each)) != len(each) for each in labels) or [len(first), len(second)] != [*map(len, shapes)]:
        return None
    sizes: dict[str, int] = {}
    for operand, shape in zip((first, second), shapes, strict=True):
        for label, size in zip(operand, shape, strict=True):
            if sizes.setdefault(label, size) != size or not size:
                return None
    stack = [label for label in output if label in first and label in second]
    rows = [label for label in output if label in first and label not in second]
    columns = [label for label in output if label in second and label not in first]
    summed = [label for label in first if label in second and label not in output]
    used = {*stack, *rows, *columns, *summed}
    if {*first, *second, *output} != used or not summed:
        return None

    def arranged(operand: str, *groups: Sequence[str]) -> Arranged:
        order = [label for group in groups for label in group]
        shape = [prod(sizes[label] for label in group) for group in groups]
        return Arranged(tuple(map(operand.index, order)), tuple(shape if stack else shape[1:]))

    operands = arranged(first, stack, rows, summed), arranged(second, stack, summed, columns)
    product = [*stack, *rows, *columns]
    return ProductForm(operands, tuple(sizes[label] for label in product), tuple(map(product.index, output)))
