"""LSTM and GRU over whole sequences of float32, with the functions Sigmoid and Tanh, without clip and peepholes.

What goes into the functions is added up for all gates at once, the part of X for all steps at once, in float64 with a
bound for every order of summation; elements that it leaves open are added up exactly (`recurrent_cells.py`).  What is
computed of these rounded sums lies in an interval of float64: its two ends are rounded, and where they differ anywhere
the whole step is made again by the steps of `recurrent_cells.py`.  Everything is finite: a state is at most 1 or the
largest of the first states, a cell grows by at most 1 in a step.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TypeVar

import numpy as np

from sonnx.numerics.application import Application
from sonnx.numerics.certified_rounding import (
    BOUND_FACTOR,
    DOUBLE,
    MAGNITUDE_FACTOR,
    SINGLE,
    UNIT,
    half_width,
)
from sonnx.numerics.formats import Array
from sonnx.numerics.numpy_trials import arithmetic_is_ieee
from sonnx.numerics.single_products import SLACK, bound_factor
from sonnx.operators.activations import approximate_sigmoid as sigmoid
from sonnx.operators.recurrent_cells import Step, settle

DOWN, UP = 1 - 2.0**-44, 1 + 2.0**-44
"""Factors for the ends of an interval: numpy's functions and Sigmoid are off by at most 2^-45 of themselves."""

SequenceResult = tuple[Array, tuple[Array, ...]]
"""The outputs of all steps in the order of X, and the last states."""

BITS = np.dtype(np.uint32)


class Weights:
    """The weights of some gates in float64, for X, for the state, and the rows that are added, with their norms.

    Args:
        W: (gates, inputs), None where X has no part in the sums.
        R: (gates, hidden), None where the state has none.
        rows: of shape (gates).
    """

    def __init__(self, W: Array | None, R: Array | None, rows: Sequence[Array]) -> None:
        arrays = [array.astype(DOUBLE) for array in (W, R) if array is not None]
        self.all = np.hstack([*arrays, *[row[:, None] for row in rows]])
        self.W = None if W is None else np.ascontiguousarray(arrays[0].T)
        self.R = None if R is None else np.ascontiguousarray(arrays[-1].T)
        self.norms = [
            np.zeros(len(self.all)) if array is None else np.sqrt(np.vecdot(array.T, array.T)) for array in self.both
        ]
        own = self.all[:, self.all.shape[1] - len(rows) :]
        self.added, self.rows, self.size = np.add.reduce(own, axis=1), len(rows), np.add.reduce(np.abs(own), axis=1)

    @property
    def both(self) -> tuple[Array | None, Array | None]:
        """The weights of X, of shape (inputs, gates), and of the state, of shape (hidden, gates)."""
        return self.W, self.R


class Sums:
    """W x + R h + the rows + a product of two elements that `at` is given, rounded once: (batch, gates).

    The sum of the products with x is off by at most `bound_factor` of the product of norms, so is that with h; they,
    the rows and the given product are added to each other.

    Args:
        weights: those of the gates.
        X: (steps, batch, inputs), float64.
        pair: an upper bound of the products.
    """

    def __init__(self, weights: Weights, X: Array, pair: Array | float = 0.0) -> None:
        self.weights, self.X = weights, X
        size, count = weights.size + pair, weights.rows + 4
        error = size * bound_factor(count)
        self.of_x: Array | None = None
        if weights.W is not None:
            self.of_x = np.matmul(X.reshape(-1, X.shape[2]), weights.W).reshape(*X.shape[:2], -1)
            self.of_x += weights.added
            own = np.sqrt(np.vecdot(X, X).max()) * weights.norms[0] * SLACK
            size, error = size + own, error + own * bound_factor(len(weights.W) + count)
        self.width = half_width(error, size)
        count += 0 if weights.R is None else len(weights.R)
        self.slope = (bound_factor(count) * BOUND_FACTOR + MAGNITUDE_FACTOR) * SLACK * weights.norms[1]
        self.low, self.high = (np.empty((X.shape[1], len(weights.all)), SINGLE) for _ in range(2))
        self.ends = self.low.view(BITS), self.high.view(BITS)

    def at(self, t: int, h: Array | None, product: Array | None = None) -> tuple[Array, int]:
        """The sums of step t, float32, valid to the next call, and how many of them were added up exactly."""
        width = self.width
        if h is not None and self.weights.R is not None:
            h = h.astype(DOUBLE)
            sums = np.matmul(h, self.weights.R)
            sums += self.weights.added if self.of_x is None else self.of_x[t]
            width = self.slope * math.sqrt(np.maximum.reduce(np.vecdot(h, h))) + width
        else:
            assert self.of_x is not None  # noqa: S101  a sum has an input or a state
            sums = self.of_x[t].copy()
        if product is not None:
            sums += product
        np.subtract(sums, width, out=self.low, casting="same_kind")
        np.add(sums, width, out=self.high, casting="same_kind")
        open_ = np.not_equal(*self.ends)
        if not np.count_nonzero(open_):
            return self.low, 0
        left = [
            side
            for side, of in ((self.X[t], self.weights.W), (h, self.weights.R))
            if of is not None and side is not None
        ]
        A, added = np.hstack([*left, np.ones((len(sums), self.weights.rows))]), [] if product is None else [product]
        return self.low, settle(A, self.weights.all, added, self.low, *np.nonzero(open_))


def intervals_decide(kind: np.dtype[np.generic], *arrays: Array | None) -> bool:
    """Whether sequences of a type with these inputs, weights and states can be computed here."""
    present = [array for array in arrays if array is not None]
    usual = kind == SINGLE and all(array.size and np.isfinite(array).all() for array in present)
    return usual and arithmetic_is_ieee(SINGLE)


Prepared = TypeVar("Prepared")
"""A form of weights that the steps compute with."""


def kept(application: Application, role: str, arrays: Sequence[Array | None], make: Callable[[], Prepared]) -> Prepared:
    """The form of weights that `make` computes, once for all runs where the weights are constants.

    Args:
        application: of the node.
        role: what the form is for.
        arrays: the weights, all on which the form depends; it takes twice their elements in float64.
        make: a function of the weights alone.
    """
    size = 16 * sum(array.size for array in arrays if array is not None)
    return application.constants.form(role, arrays, size, make) or make()


def lstm_weights(W: Array, R: Array, B: Array | None) -> Weights:
    """The weights of the gates i, o, f, g in the order i, f, o, g."""
    order = np.arange(len(W)).reshape(4, -1)[[0, 2, 1, 3]].reshape(-1)
    return Weights(W[order], R[order], [] if B is None else list(B.reshape(2, -1)[:, order]))


def lstm_sequence(
    application: Application, X: Array, states: tuple[Array, ...], weights: Weights, step: Step, backwards: bool
) -> SequenceResult:
    """All steps of a direction.

    Args:
        application: for the counts.
        X: (steps, batch, inputs).
        states: h and c, each of shape (batch, hidden).
        weights: those of `lstm_weights`.
        step: a step by `recurrent_cells.py`.
        backwards: from the last step of X to the first.
    """
    (h, c), size = states, states[0].shape[1]
    sums = Sums(weights, X.astype(DOUBLE))
    both = low, high = np.empty((2, len(h), 6 * size), SINGLE)  # i, f, o, g, c, tanh c
    (gates, gates_high), (cell, cell_high), (outer, outer_high) = (
        [each[:, a * size : b * size] for each in both] for a, b in ((0, 4), (4, 5), (5, 6))
    )
    i_f, o, g_c = low[:, : 2 * size], low[:, 2 * size : 3 * size], low[:, 3 * size : 5 * size]
    wide, products = np.empty((len(h), 4 * size)), np.empty((len(h), 2 * size))
    wide_sigmoid, wide_tanh = wide[:, : 3 * size], wide[:, 3 * size :]
    z_sigmoid, z_tanh = sums.low[:, : 3 * size], sums.low[:, 3 * size :]
    f_c, i_g, mixed, ends = products[:, size:], products[:, :size], np.empty(h.shape), (low.view(BITS), high.view(BITS))
    Y, exact, again = np.empty((len(X), *h.shape), SINGLE), 0, 0
    cell[...] = c
    for t in reversed(range(len(X))) if backwards else range(len(X)):
        c = cell.copy()
        _, settled = sums.at(t, h)
        sigmoid(z_sigmoid, wide_sigmoid)
        np.tanh(z_tanh, out=wide_tanh, dtype=DOUBLE)
        _rounded_ends(wide, gates, gates_high)
        np.multiply(i_f, g_c, out=products, dtype=DOUBLE)
        _rounded_ends(np.add(f_c, i_g, out=mixed), cell, cell_high)
        _rounded_ends(np.tanh(cell, out=mixed, dtype=DOUBLE), outer, outer_high)
        if np.count_nonzero(np.not_equal(*ends)):
            again += 1
            h, cell[...] = step(X[t], (h, c))
            Y[t] = h
        else:
            exact += settled
            h = np.multiply(o, outer, out=Y[t])
    application.count(9 * h.size * (len(X) - again), exact)
    return Y, (h, cell.copy())


def _rounded_ends(wide: Array, low: Array, high: Array) -> None:
    np.multiply(wide, DOWN, out=low, casting="same_kind")
    np.multiply(wide, UP, out=high, casting="same_kind")


def gru_weights(W: Array, R: Array, B: Array | None, before: bool) -> tuple[Weights, Weights, Weights | None]:
    """The weights of the gates z and r, of what goes into the last function, and of R h where it is rounded before."""
    two, last = slice(0, 2 * R.shape[1]), slice(2 * R.shape[1], None)
    rows = [] if B is None else list(B.reshape(2, -1))
    both = Weights(W[two], R[two], [row[two] for row in rows])
    if not before:
        return both, Weights(W[last], R[last], [row[last] for row in rows]), None
    linear = Weights(None, R[last], [row[last] for row in rows[1:]])
    return both, Weights(W[last], None, [row[last] for row in rows[:1]]), linear


def gru_sequence(
    application: Application,
    X: Array,
    states: tuple[Array, ...],
    weights: tuple[Weights, Weights, Weights | None],
    step: Step,
    backwards: bool,
) -> SequenceResult:
    """All steps of a direction; see `lstm_sequence`; `states` is h, the weights are those of `gru_weights`."""
    (h,), size, x = states, states[0].shape[1], X.astype(DOUBLE)
    reach = max(1.0, float(np.abs(h).max()))
    both, linear = Sums(weights[0], x), None if weights[2] is None else Sums(weights[2], x)
    most = 0.0 if weights[2] is None else (weights[2].norms[1] * (reach * math.sqrt(size)) + weights[2].size) * SLACK
    inner = Sums(weights[1], x, most)
    low, high = np.empty((2, len(h), 4 * size), SINGLE)  # z, r, n, h
    z, r, n = low[:, :size], low[:, size : 2 * size], low[:, 2 * size : 3 * size]
    n_high, state, state_high = high[:, 2 * size : 3 * size], low[:, 3 * size :], high[:, 3 * size :]
    z_r, z_r_high, ends = low[:, : 2 * size], high[:, : 2 * size], (low.view(BITS), high.view(BITS))
    wide, room = np.empty((len(h), 2 * size)), 8 * UNIT * reach
    Y, exact, again = np.empty((len(X), *h.shape), SINGLE), 0, 0
    for t in reversed(range(len(X))) if backwards else range(len(X)):
        array, settled = both.at(t, h)
        sigmoid(array, wide)
        _rounded_ends(wide, z_r, z_r_high)
        if linear is None:
            array, more = inner.at(t, r * h)
        else:
            inside, of_linear = linear.at(t, h)
            array, more = inner.at(t, None, np.multiply(r, inside, dtype=DOUBLE))
            settled += of_linear
        _rounded_ends(np.tanh(array, dtype=DOUBLE), n, n_high)
        mixed = np.subtract(1, z, dtype=DOUBLE)
        mixed *= n
        mixed += np.multiply(z, h, dtype=DOUBLE)
        np.subtract(mixed, room, out=state, casting="same_kind")
        np.add(mixed, room, out=state_high, casting="same_kind")
        if np.count_nonzero(np.not_equal(*ends)):
            again += 1
            (Y[t],) = step(X[t], (h,))
        else:
            exact += settled + more
            Y[t] = state
        h = Y[t]
    application.count((6 + (linear is not None)) * h.size * (len(X) - again), exact)
    return Y, (h.copy(),)
