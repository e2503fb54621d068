"""Where, fast: Y xor ((X xor Y) and M) on the patterns, with every bit of M the condition; no branch to foretell."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sonnx.semantics.application import Application
from sonnx.semantics.formats import Array
from sonnx.semantics.kernels.blocks import merged, operands, walk
from sonnx.semantics.kernels.elementwise import Kernel
from sonnx.semantics.kernels.scratch import scratch
from sonnx.semantics.kernels.settling import BLOCK


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
