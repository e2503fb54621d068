"""Where: Z[i] = X[i] if condition[i], else Y[i].

SONNX Where of 2026-08; ONNX Where-9 to Where-16.  The chosen element is copied bit for bit (erratum where-copies-bits).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sonnx.numerics.application import Application
from sonnx.numerics.blocks import merged, operands, scratch, walk
from sonnx.numerics.certified_rounding import BLOCK
from sonnx.numerics.elementwise import broadcast
from sonnx.numerics.elementwise_kernels import Kernel
from sonnx.numerics.formats import Array

OPERATOR = "Where"


def evaluate(application: Application, inputs: Sequence[Array]) -> tuple[Array]:
    """Z, of the broadcast shape and the type of X."""
    return (np.where(*broadcast(OPERATOR, *inputs)),)


# ------------------------------------------------------------------
# Where, fast: Y xor ((X xor Y) and M) on the patterns, with every bit of M the condition; no branch to foretell.


def kernel(application: Application) -> Kernel:
    """See `sonnx.semantics.kernels`."""

    def where(inputs: Sequence[Any], out: Array) -> Array:
        if out.size == 0:
            return out
        shape, Z = merged(inputs, out.shape)
        signed = np.dtype(f"i{out.itemsize}")
        for (condition, x, y), piece in walk(operands(Z, shape, BLOCK), out.reshape(shape), BLOCK):
            mask, bits, other = scratch(0, piece.size, signed), piece.view(signed), y.view(signed)
            np.negative(condition.view(np.int8), out=mask)
            np.bitwise_xor(x.view(signed), other, out=bits)
            np.bitwise_and(bits, mask, out=bits)
            np.bitwise_xor(bits, other, out=bits)
        return out

    return where
