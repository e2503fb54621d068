"""Memory that kernels use again and again: touching fresh memory costs more than a whole pass over it."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np

from sonnx.semantics.formats import Array

_own = threading.local()


def scratch(number: int, count: int, kind: np.dtype[Any]) -> Array:
    """A flat array of `count` elements; the same `number` means the same memory in the same thread."""
    held: dict[int, Array] | None = getattr(_own, "held", None)
    if held is None:
        held = _own.held = {}
    size = count * kind.itemsize
    found = held.get(number)
    if found is None or len(found) < size:
        found = held[number] = np.empty(max(size, 1 << 16), np.uint8)
    return found[:size].view(kind)
