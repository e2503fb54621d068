"""Resize of at most 32 bits, fast: for each combination of sampling locations one shifted X with its weights.

A weight of few binary digits is exact in float64, as those of most scales by powers of two are; then so
are the products, and `totals.py` decides their sum, halfway cases too.  Otherwise each addend is off by a factor of
(1 + 2^-53) for each axis and once for the product, each sum by one more, and the whole by the sum of absolute values
times the number of these steps.  A location that an element does not have enters as -0, which changes no sum.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from itertools import product
from math import prod

import numpy as np

from sonnx.semantics.application import Application
from sonnx.semantics.formats import Array, format_of
from sonnx.semantics.kernels.certified import UNIT, decided
from sonnx.semantics.kernels.totals import rounded, total_of
from sonnx.semantics.resize import Sampling, evaluate, fill, moves_only, samplings, store_sum
from sonnx.semantics.sums import numbers

BLOCK = 1 << 18
"""Elements of the output that are made at a time, or one plane."""

LEAST = Fraction(1, 2**700)
"""Products with no smaller weight, of elements of at most 32 bits, are normal numbers of float64 or 0."""

FEW = 53 - 24
"""Digits of a weight whose product with an element of at most 32 bits is exact in float64."""


def kernel(application: Application) -> Callable[[Sequence[Array], Array], Array]:
    """See `sonnx.semantics.kernels`."""

    def resize(inputs: Sequence[Array], out: Array) -> Array:
        X, sampled = inputs[0], samplings(application, inputs)
        narrow = format_of(X.dtype) is not None and X.dtype != np.float64
        if not narrow or not out.size or moves_only(sampled) or not _weighable(sampled):
            np.copyto(out, evaluate(application, inputs)[0])
            if out.size and not moves_only(sampled):
                application.count(out.size, out.size)
            return out
        application.count(out.size, _interpolate(X, sampled, out))
        fill(application, out, sampled)
        return out

    return resize


def _weighable(sampled: Sequence[Sampling]) -> bool:
    """Whether no product with a weight is subnormal and none overflows."""
    weights = [[abs(w) for each in sampling if each for _, w in each] for sampling in sampled]
    least = prod((min(each, default=Fraction(1)) for each in weights), start=Fraction(1))
    return least >= LEAST and prod((max(each, default=Fraction(1)) for each in weights), start=Fraction(1)) <= 1 / LEAST


class Located:
    """One axis as arrays: at location t its place x samples the element index[t, x] with weight[t, x]; 0 for none."""

    def __init__(self, sampling: Sampling) -> None:
        most = max(1, *(len(each or ()) for each in sampling))  # one where all of the axis is extrapolated
        self.index = np.zeros((most, len(sampling)), np.intp)
        self.weight = np.zeros((most, len(sampling)))
        for x, each in enumerate(sampling):
            for t, (i, w) in enumerate(each or ()):
                self.index[t, x], self.weight[t, x] = i, float(w)


def _interpolate(X: Array, sampled: Sequence[Sampling], out: Array) -> int:
    """Y in `out`; how many elements were added up exactly."""
    first = next(k for k, sampling in enumerate(sampled) if not _stays(sampling, X.shape[k]))
    planes, made = X.reshape(-1, *X.shape[first:]), out.reshape(-1, *out.shape[first:])
    located, exactly = [Located(sampling) for sampling in sampled[first:]], _products_are_exact(sampled)
    step, exact = max(1, BLOCK // made[0].size), 0
    for start in range(0, len(planes), step):
        part = slice(start, start + step)
        made[part], open_ = _sums(planes[part], located, exactly, out)
        for plane in np.flatnonzero(open_.reshape(len(open_), -1).any(axis=1)).tolist():
            elements = np.array(numbers(planes[start + plane]), object).reshape(planes.shape[1:])
            for index in np.argwhere(open_[plane]).tolist():
                store_sum(made[start + plane], index, elements, sampled[first:])
                exact += 1
    return exact


def _stays(sampling: Sampling, extent: int) -> bool:
    """Whether each place of an axis is the element with its number."""
    return len(sampling) == extent and all(
        each is not None and len(each) == 1 and each[0][0] == x for x, each in enumerate(sampling)
    )


def _products_are_exact(sampled: Sequence[Sampling]) -> bool:
    """Whether every weight is whole over a power of two, with few digits."""
    digits = 0
    for sampling in sampled:
        weights = {w for each in sampling if each for _, w in each}
        if any(w.denominator & w.denominator - 1 for w in weights):
            return False
        digits += max((w.numerator.bit_length() for w in weights), default=0)
    return digits <= FEW


def _sums(planes: Array, located: Sequence[Located], exactly: bool, out: Array) -> tuple[Array, Array]:
    """The weighted sums of each plane, rounded once, and where that is open."""
    count = prod(len(each.index) for each in located)
    if exactly:
        return rounded(total_of(_addends(planes, located)), count, 1.0, out.dtype)
    made, size = np.full((), -0.0), np.zeros(())
    for addend in _addends(planes, located):
        made, size = made + addend, size + np.abs(addend)
    return decided(made, size * ((count + 2 * len(located)) * UNIT * (1 + 2.0**-20)), out.dtype)


def _addends(planes: Array, located: Sequence[Located]) -> Iterator[Array]:
    """For each combination of locations the elements there times their weights, in float64."""
    for taps in product(*[range(len(each.index)) for each in located]):
        elements, weight = planes, np.ones(())
        for k, (t, each) in enumerate(zip(taps, located, strict=True)):
            elements = np.take(elements, each.index[t], k + 1)
            weight = np.multiply.outer(weight, each.weight[t])
        with np.errstate(all="ignore"):
            yield np.where(weight == 0, -0.0, elements.astype(np.float64) * weight)
