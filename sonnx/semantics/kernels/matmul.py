"""MatMul, fast: floating-point types by `products.py` and `doubles.py`, integers by `integers.py`."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sonnx.semantics.application import Application
from sonnx.semantics.formats import Array
from sonnx.semantics.kernels.any_product import product_of_any_type
from sonnx.semantics.matmul import stacks


def kernel(application: Application) -> Callable[[Sequence[Array], Array], Array]:
    """See `sonnx.semantics.kernels`."""

    def matmul(inputs: Sequence[Array], out: Array) -> Array:
        A, B, _ = stacks(*inputs)
        if out.size == 0 or A.shape[-1] == 0:
            out[...] = 0
            return out
        if B.strides and all(stride == 0 for stride in B.strides[:-2]) and A.flags.c_contiguous:
            A, B = A.reshape(1, -1, A.shape[-1]), B[(0,) * (B.ndim - 2)][None]  # one matrix for all: a single product
        matrices = out.reshape(-1, *A.shape[-2:-1], B.shape[-1])
        left, right = (each.reshape(-1, *each.shape[-2:]) for each in (A, B))
        application.count(out.size, product_of_any_type(left, right, matrices))
        return out

    return matmul
