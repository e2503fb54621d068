"""Where: Z[i] = X[i] if condition[i], else Y[i].

SONNX Where of 2026-08; ONNX Where-9 to Where-16.  The chosen element is copied bit for bit (erratum where-copies-bits).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sonnx.numerics.application import Application, Kernel
from sonnx.numerics.blocks import BLOCK_ELEMENTS, block_pieces, merged
from sonnx.numerics.broadcasting import broadcast
from sonnx.numerics.enclosures import selection
from sonnx.numerics.formats import TEXT, Array
from sonnx.numerics.scratch import Scratch
from sonnx.operators.operator import Operator

_MASK = Scratch()

MAX_PATTERN_BYTES = 8
"""The widest integer of numpy."""


def define(application: Application, inputs: Sequence[Array]) -> tuple[Array]:
    """Z, of the broadcast shape and the type of X."""
    return (np.where(*broadcast(application.operator, *inputs)),)


def select_into(inputs: Sequence[Any], out: Array, block: int = BLOCK_ELEMENTS) -> Array:
    """Y xor ((X xor Y) and M) on the patterns, with every bit of M the condition; no branch to predict."""
    if out.dtype == TEXT or out.itemsize > MAX_PATTERN_BYTES:
        np.copyto(out, np.where(*inputs))
        return out
    if out.size == 0:
        return out
    shape, Z = merged(inputs, out.shape)
    signed = np.dtype(f"i{out.itemsize}")
    for (condition, x, y), piece in block_pieces(Z, out.reshape(shape), block):
        mask, bits, y_bits = _MASK.array(piece.size, signed), piece.view(signed), y.view(signed)
        np.negative(condition.view(np.int8), out=mask)
        np.bitwise_xor(x.view(signed), y_bits, out=bits)
        np.bitwise_and(bits, mask, out=bits)
        np.bitwise_xor(bits, y_bits, out=bits)
    return out


def kernel(application: Application) -> Kernel:
    """See `select_into`."""
    return lambda inputs, out: select_into(inputs, out, application.block(BLOCK_ELEMENTS))


OPERATOR = Operator(
    name="Where", elementwise=True, continuous=True, selects=True, define=define, kernel=kernel, bound=selection.where
)
