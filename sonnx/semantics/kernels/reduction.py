"""Sums and means along axes, fast: by `totals.py`; what that leaves open, integers and float64 by the definition.

Sums of integers are numpy's, which wrap around in the type.
"""

from __future__ import annotations

from math import prod

import numpy as np

from sonnx.semantics import reduction
from sonnx.semantics.application import Application
from sonnx.semantics.formats import Array, format_of
from sonnx.semantics.kernels.totals import rounded, total_along_first

BLOCK = 1 << 18
"""Elements that are added up at a time, or one slice."""


def reduce_sum(application: Application, data: Array, gone: tuple[int, ...], mean: bool) -> Array:
    """As `reduction.reduce_sum`."""
    count = prod(data.shape[axis] for axis in gone)
    narrow = format_of(data.dtype) is not None and data.dtype != np.float64
    if format_of(data.dtype) is None and not mean:
        return np.add.reduce(data, axis=gone, dtype=data.dtype, keepdims=True)
    if not narrow or not count or not gone or not data.size:
        return reduction.reduce_sum(data, gone, mean)
    kept = [axis for axis in range(data.ndim) if axis not in gone]
    slices = np.transpose(data, (*kept, *gone)).reshape(-1, count)
    reduced = np.empty(len(slices), data.dtype)
    step, exact = max(1, BLOCK // count), 0
    for start in range(0, len(slices), step):
        part = slice(start, start + step)
        total = total_along_first(slices[part].T)
        reduced[part], open_ = rounded(total, count, float(count if mean else 1), data.dtype)
        for k in (np.flatnonzero(open_) + start).tolist():
            reduction.store_reduced(reduced, (k,), slices[k], count if mean else 1)
            exact += 1
    application.count(reduced.size, exact)
    return np.expand_dims(reduced.reshape([data.shape[axis] for axis in kept]), gone)
