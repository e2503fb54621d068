"""Scratch memory that a kernel uses again and again: touching fresh memory costs more than a whole pass over it.

The owner of a piece makes one `Scratch` object, as a constant of its module; no other code gets the same memory.
"""

from __future__ import annotations

import threading
from typing import Any

import numpy as np

from sonnx.numerics.formats import Array

MIN_BYTES = 1 << 16


class Scratch(threading.local):
    """One piece of memory for each thread; it grows to the largest array that was asked for."""

    def __init__(self) -> None:
        self._bytes: Array = np.empty(0, np.uint8)

    def array(self, count: int, kind: np.dtype[Any]) -> Array:
        """A flat array of `count` elements, with any contents; the next call gives the same memory again."""
        size = count * kind.itemsize
        if len(self._bytes) < size:
            self._bytes = np.empty(max(size, MIN_BYTES), np.uint8)
        return self._bytes[:size].view(kind)
