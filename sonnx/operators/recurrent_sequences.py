"""LSTM and GRU over whole sequences of float32, with the functions Sigmoid and Tanh, without clip and peepholes.

What goes into the functions is added up for all gates at once, the part of X for all steps at once, in float64 with a
bound for every order of summation; elements that it leaves open are added up exactly (`recurrent_cells.py`).  What is
computed of these rounded sums lies in an interval of float64: its two ends are rounded, and where they differ anywhere
the whole step is made again by the steps of `recurrent_cells.py`.  Everything is finite: a state is at most 1 or the
largest of the first states, a cell grows by at most 1 in a step.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sonnx.numerics.application import Application
from sonnx.numerics.certified_rounding import DOUBLE, SINGLE, UNIT, half_width
from sonnx.numerics.formats import Array
from sonnx.numerics.numpy_trials import arithmetic_is_ieee
from sonnx.numerics.single_products import bound_factor
from sonnx.operators.recurrent_cells import Step, settle
from sonnx.operators.sigmoid import approximate as sigmoid

DOWN, UP = 1 - 2.0**-44, 1 + 2.0**-44
"""Factors for the ends of an interval: numpy's functions and Sigmoid are off by at most 2^-45 of themselves."""

Sequence_ = tuple[Array, tuple[Array, ...]]
"""The outputs of all steps in the order of X, and the last states."""


class Sums:
    """W x + R h + the rows, and a product of two elements that is given, rounded once: (batch, gates).

    Args:
        X: (steps, batch, inputs), or None for none.
        R: (gates, hidden), or None for none.
        W: (gates, inputs), or None for none.
        rows: of shape (gates).
        reach: at least every element of a state.
        pair: at least every product that is given.
    """

    def __init__(
        self,
        X: Array | None,
        W: Array | None,
        R: Array | None,
        rows: Sequence[Array],
        reach: float,
        pair: Array | float,
    ) -> None:
        parts = [each.astype(DOUBLE) for each in (W, R) if each is not None]
        self.weights = np.hstack([*parts, *[row[:, None] for row in rows]])
        self.R = None if R is None else np.ascontiguousarray(parts[-1].T)
        self.x = None if X is None else X.astype(DOUBLE)
        added = sum((row.astype(DOUBLE) for row in rows), np.zeros(len(self.weights)))
        size = sum((np.abs(row.astype(DOUBLE)) for row in rows), np.zeros(len(self.weights))) + pair
        self.of_x: Array | None = None
        if self.x is not None:
            self.of_x = np.matmul(self.x, parts[0].T) + added
            size = size + np.sqrt(np.vecdot(self.x, self.x)).max() * np.sqrt(np.vecdot(parts[0], parts[0]))
        if R is not None:
            size = size + reach * np.sqrt(R.shape[1]) * np.sqrt(np.vecdot(parts[-1], parts[-1]))
        self.added, self.rows = added, len(rows)
        self.size = size * (1 + 2.0**-20)
        count = self.weights.shape[1] + 2
        self.width = half_width(self.size * bound_factor(count, count), self.size)

    def at(self, t: int, h: Array | None, product: Array | None = None) -> tuple[Array, int]:
        """The sums of step t, float32, and how many of them were added up exactly."""
        if h is not None and self.R is not None:
            state = h.astype(DOUBLE)
            made = np.matmul(state, self.R)
            made += self.added if self.of_x is None else self.of_x[t]
        else:
            assert self.of_x is not None  # noqa: S101  a sum has an input or a state
            made = self.of_x[t].copy()
        if product is not None:
            made += product
        out, high = np.empty(made.shape, SINGLE), np.empty(made.shape, SINGLE)
        np.subtract(made, self.width, out=out, casting="same_kind")
        np.add(made, self.width, out=high, casting="same_kind")
        open_ = out.view(np.uint32) != high.view(np.uint32)
        if not np.count_nonzero(open_):
            return out, 0
        left = [] if self.x is None else [self.x[t]]
        left += [] if h is None else [h.astype(DOUBLE)]
        A = np.hstack([*left, np.ones((len(made), self.rows))])
        return out, settle(A, self.weights, [] if product is None else [product], out, *np.nonzero(open_))


def intervals_decide(kind: np.dtype[np.generic], *arrays: Array | None) -> bool:
    """Whether sequences of a type with these inputs, weights and states can be computed here."""
    given = [each for each in arrays if each is not None]
    usual = kind == SINGLE and all(each.size and np.isfinite(each).all() for each in given)
    return usual and arithmetic_is_ieee(SINGLE)


def _reach(h: Array) -> float:
    return max(1.0, float(np.abs(h).max()))


def lstm_sequence(
    application: Application,
    X: Array,
    states: tuple[Array, ...],
    weights: tuple[Array, Array, Sequence[Array]],
    step: Step,
    backwards: bool,
) -> Sequence_:
    """All steps of a direction.

    Args:
        application: for the counts.
        X: (steps, batch, inputs).
        states: h and c, each of shape (batch, hidden).
        weights: W, R and the rows, the gates being i, o, f, g.
        step: a step by `recurrent_cells.py`.
        backwards: from the last step of X to the first.
    """
    (h, c), hidden = states, states[0].shape[1]
    order = np.arange(4 * hidden).reshape(4, hidden)[[0, 2, 1, 3]].reshape(-1)  # i, f, o, g
    W, R, rows = weights
    sums = Sums(X, W[order], R[order], [row[order] for row in rows], _reach(h), 0.0)
    shape = (len(h), 6 * hidden)
    low, high = np.empty(shape, SINGLE), np.empty(shape, SINGLE)  # i, f, o, g, c, tanh c
    wide, products = np.empty((len(h), 4 * hidden)), np.empty((len(h), 2 * hidden))
    i_f, o, g_c, c_low = (
        low[:, : 2 * hidden],
        low[:, 2 * hidden : 3 * hidden],
        low[:, 3 * hidden : 5 * hidden],
        4 * hidden,
    )
    ends = [(each, scale) for each, scale in ((low, DOWN), (high, UP))]
    cell, gates = slice(c_low, 5 * hidden), slice(0, c_low)
    low[:, cell] = high[:, cell] = c
    Y, exact, again = np.empty((len(X), *h.shape), SINGLE), 0, 0
    narrow = slice(3 * hidden, None)
    for t in reversed(range(len(X))) if backwards else range(len(X)):
        c = low[:, cell].copy()
        z, settled = sums.at(t, h)
        sigmoid(z[:, : 3 * hidden].astype(DOUBLE), wide[:, : 3 * hidden])
        np.tanh(z[:, narrow], out=wide[:, narrow], dtype=DOUBLE)
        for each, scale in ends:
            np.multiply(wide, scale, out=each[:, gates], casting="same_kind")
        np.multiply(i_f, g_c, out=products, dtype=DOUBLE)
        mixed = np.add(products[:, :hidden], products[:, hidden:])
        for each, scale in ends:
            np.multiply(mixed, scale, out=each[:, cell], casting="same_kind")
        np.tanh(low[:, cell], out=mixed, dtype=DOUBLE)
        for each, scale in ends:
            np.multiply(mixed, scale, out=each[:, 5 * hidden :], casting="same_kind")
        if np.count_nonzero(low.view(np.uint32) != high.view(np.uint32)):
            again += 1
            h, low[:, cell] = step(X[t], (h, c))
            Y[t] = h
        else:
            exact += settled
            h = np.multiply(o, low[:, 5 * hidden :], out=Y[t])
    application.count(9 * h.size * (len(X) - again), exact)
    return Y, (h, low[:, cell].copy())


def gru_sequence(
    application: Application,
    X: Array,
    states: tuple[Array, ...],
    weights: tuple[Array, Array, Sequence[Array]],
    step: Step,
    backwards: bool,
    before: bool,
) -> Sequence_:
    """All steps of a direction; see `lstm_sequence`.

    Args:
        application: for the counts.
        X: (steps, batch, inputs).
        states: h, of shape (batch, hidden).
        weights: W, R and the rows of W, then those of R, the gates being z, r, h.
        step: a step by `recurrent_cells.py`.
        backwards: from the last step of X to the first.
        before: linear_before_reset: R h is rounded before it is multiplied by r.
    """
    (h,), hidden = states, states[0].shape[1]
    (W, R, rows), reach = weights, _reach(h)
    two, last = slice(0, 2 * hidden), slice(2 * hidden, None)
    both = Sums(X, W[two], R[two], [row[two] for row in rows], reach, 0.0)
    if before:
        linear = Sums(None, None, R[last], [row[last] for row in rows[1:]], reach, 0.0)
        inner = Sums(X, W[last], None, [row[last] for row in rows[:1]], reach, linear.size * (1 + 2.0**-20))
    else:
        inner = Sums(X, W[last], R[last], [row[last] for row in rows], reach, 0.0)
    shape = (len(h), 4 * hidden)
    low, high = np.empty(shape, SINGLE), np.empty(shape, SINGLE)  # z, r, n, h
    z, r, n = low[:, :hidden], low[:, hidden : 2 * hidden], low[:, 2 * hidden : 3 * hidden]
    room, state = 8 * UNIT * reach, slice(3 * hidden, None)
    Y, exact, again = np.empty((len(X), *h.shape), SINGLE), 0, 0
    for t in reversed(range(len(X))) if backwards else range(len(X)):
        made, settled = both.at(t, h)
        wide = made.astype(DOUBLE)
        sigmoid(wide, wide)
        np.multiply(wide, DOWN, out=low[:, two], casting="same_kind")
        np.multiply(wide, UP, out=high[:, two], casting="same_kind")
        if before:
            inside, more = linear.at(t, h)
            settled += more
            made, more = inner.at(t, None, np.multiply(r, inside, dtype=DOUBLE))
        else:
            made, more = inner.at(t, r * h)
        wide = np.tanh(made, dtype=DOUBLE)
        np.multiply(wide, DOWN, out=n, casting="same_kind")
        np.multiply(wide, UP, out=high[:, 2 * hidden : 3 * hidden], casting="same_kind")
        mixed = np.subtract(1, z, dtype=DOUBLE)
        mixed *= n
        mixed += np.multiply(z, h, dtype=DOUBLE)
        np.subtract(mixed, room, out=low[:, state], casting="same_kind")
        np.add(mixed, room, out=high[:, state], casting="same_kind")
        if np.count_nonzero(low.view(np.uint32) != high.view(np.uint32)):
            again += 1
            (h,) = step(X[t], (h,))
            Y[t] = h
        else:
            exact += settled + more
            Y[t] = low[:, state]
            h = Y[t]
    application.count((6 + before) * h.size * (len(X) - again), exact)
    return Y, (h.copy(),)
