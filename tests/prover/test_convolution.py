"""The sum of products that `conv.*` are about is the one of the operator, in all small calls.

The theorems take the index of each element from `position`, 0 for padding, and add products one by one.
"""

from __future__ import annotations

from itertools import product

import numpy as np

from sonnx.numerics.application import Application
from sonnx.numerics.windows import Windows, windows
from sonnx.operators.conv import OPERATOR
from sonnx.proofs import convolution
from tests.support.applications import kernel_output
from tests.support.cases import examples

NUMBERS = examples((3, 2, 2, 2, 2, 1), (5, 4, 3, 3, 3, 3))
"""How many extents, kernels, strides, dilations and paddings of each side of an axis are tried."""


def axes() -> list[tuple[int, ...]]:
    """An extent, a kernel, a stride, a dilation and both paddings, where the kernel fits."""
    extents, kernels, strides, dilations, begins, ends = (range(number) for number in NUMBERS)
    found = product(extents, kernels, strides, dilations, begins, ends)
    every = [(e + 1, k + 1, s + 1, d + 1, b, a) for e, k, s, d, b, a in found]
    return [each for each in every if (each[1] - 1) * each[3] + 1 <= each[0] + each[4] + each[5]]


def slid(*found: tuple[int, ...]) -> Windows:
    """The windows of some axes."""
    extents, kernel, strides, dilations, begins, ends = zip(*found, strict=True)
    return windows(extents, kernel, strides, dilations, (*begins, *ends))


def patch(found: tuple[int, ...], place: int) -> list[int | None]:
    """The indices on one axis by the definition of the theorems; None for padding."""
    extent, kernel, stride, dilation, begin, _ = found
    indices = [convolution.position(place, element, stride, dilation, begin) for element in range(kernel)]
    return [index if 0 <= index < extent else None for index in indices]


def test_the_places_are_those_of_the_operator() -> None:
    """On one axis, and row by row on two."""
    for one in axes():
        made = slid(one)
        for place in range(made.places[0]):
            wanted = [None if index is None else (index,) for index in patch(one, place)]
            assert list(made.under((place,))) == wanted, (one, place)
    for one, other in product(axes()[::7], axes()[::5]):
        made = slid(one, other)
        for place in np.ndindex(made.places):
            rows, columns = patch(one, place[0]), patch(other, place[1])
            wanted = [None if None in pair else pair for pair in product(rows, columns)]
            assert list(made.under(place)) == wanted, (one, other, place)


def test_the_sum_is_that_of_the_operator() -> None:
    """Two samples, two groups of two channels and two kernels, with a bias: the definition and the kernel that runs."""
    chance = np.random.default_rng(5)
    for one in axes()[:: examples(3, 1)]:
        extent, size, stride, dilation, begin, end = one
        X, W, B = (chance.integers(-8, 9, shape).astype(np.float32) for shape in ((2, 4, extent), (4, 2, size), (4,)))
        names = {"strides": [stride], "dilations": [dilation], "pads": [begin, end], "group": 2, "spatial": 1}
        application = Application("Conv", 11, "onnx", names)
        [found] = OPERATOR.define(application, [X, W, B])
        for sample, kernel, place in np.ndindex(found.shape):
            total = float(B[kernel])
            for channel, (element, index) in product(range(2), enumerate(patch(one, place))):
                x = 0.0 if index is None else X[sample, 2 * (kernel // 2) + channel, index]
                total = convolution.added(total, float(x), float(W[kernel, channel, element]))
            assert found[sample, kernel, place] == total, (one, sample, kernel, place)
        assert np.array_equal(kernel_output(OPERATOR, application, [X, W, B], found), found), one
