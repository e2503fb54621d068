"""The norms of patches, which are summed under the kernel, against those of the columns themselves."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np
import pytest

from sonnx.numerics.patches import WindowPatches
from sonnx.numerics.windows import Windows

WINDOWS = {
    "padding, strides and dilations": (6, 3, Windows((9, 11), (3, 2), (2, 1), (1, 3), (1, 0), (2, 4))),
    "strides that leave out elements": (2, 1, Windows((10, 9), (2, 1), (3, 4), (1, 1), (0, 0), (0, 0))),
    "one element": (4, 4, Windows((5, 7), (1, 1), (1, 1), (1, 1), (0, 0), (0, 0))),
    "rows that are written once": (200, 1, Windows((7, 6), (3, 3), (2, 1), (2, 1), (2, 1), (1, 1))),
    "one axis": (3, 1, Windows((20,), (4,), (3,), (2,), (5,), (0,))),
    "three axes": (2, 2, Windows((5, 4, 3), (2, 3, 1), (1, 2, 1), (2, 1, 1), (1, 1, 0), (0, 1, 2))),
}


@pytest.mark.parametrize("name", WINDOWS)
@pytest.mark.parametrize("size", [1, 1 << 20])
@pytest.mark.parametrize("kind", [np.float16, np.float32, np.int32])
def test_norms_are_those_of_the_columns(name: str, size: int, kind: Any) -> None:
    channels, group, slid = WINDOWS[name]
    random = np.random.default_rng(len(name))
    sample = (random.standard_normal((channels, *slid.extents)) * 100).astype(kind)
    sample[random.random(sample.shape) < 0.6] = 0
    patches = WindowPatches(slid, channels, group, 4, lambda usual: min(usual, size))
    places = 0
    for part, right in patches.blocks(sample):
        columns = np.concatenate(right.pieces, axis=1)
        wanted = np.sqrt((columns * columns).sum(axis=1))
        np.testing.assert_allclose(right.norms.values, wanted, rtol=1e-13)
        assert ((right.norms.values == 0) == (columns == 0).all(axis=1)).all()
        places += part.stop - part.start
    assert places == prod(slid.places)


@pytest.mark.parametrize("value", [np.inf, -np.inf, np.nan])
def test_what_is_not_finite_is_seen_under_each_kernel_that_reads_it(value: float) -> None:
    slid = Windows((6, 6), (2, 2), (3, 3), (1, 1), (0, 0), (0, 0))
    for at, is_read in (((0, 0), True), ((2, 2), False), ((4, 3), True)):
        sample = np.ones((1, 6, 6), np.float32)
        sample[(0, *at)] = value
        [(_, right)] = WindowPatches(slid, 1, 1, 1).blocks(sample)
        assert right.norms.finite is not is_read
