"""The steps of recurrent cells, fast: each is rounded once, as in `sonnx.semantics.cells`.

Of at most 32 bits, where products are exact in float64: a gate is a matrix product with its rows under ones, to which
the products of pairs are added; what the bound of `products.py` leaves open is added up exactly.  f c + i g is a sum of
two doubles and what their sum cuts off, rounded to odd, which decides every case.  (1 - z) h + z g is h - z h + z g,
added up exactly.  Of float64 sums of products are added up exactly throughout, and (1 - z) h + z g goes to the
definition.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from math import inf
from typing import Any

import numpy as np

from sonnx.semantics.application import Application
from sonnx.semantics.cells import PLAIN, Gate, Steps, function_of
from sonnx.semantics.formats import Array
from sonnx.semantics.kernels import doubles, mul, relu, sigmoid, tanh
from sonnx.semantics.kernels.certified import UNIT, decided, nearest
from sonnx.semantics.kernels.settled import GATHERED, bound_factor, exact_sums
from sonnx.semantics.kernels.totals import to_odd
from sonnx.semantics.kernels.two import two_sum

DOUBLE = np.dtype(np.float64)

KERNELS = {"Sigmoid": sigmoid.kernel, "Tanh": tanh.kernel, "Relu": relu.kernel}
"""The activation functions, by the names of their operators."""

Pairs = Sequence[tuple[Array, Array]]
Made = Callable[[Array, Pairs], Array]


def steps(application: Application, kind: np.dtype[Any]) -> Steps:
    """The steps for elements of a type; each element of a gate and of an activation is counted."""
    product = mul.kernel(application)

    def gate(W: Array, added: Sequence[Array], clip: float | None) -> Gate:
        if not W.size or (clip is not None and not 0 <= clip < inf):
            return PLAIN.gate(W, added, clip)
        weights = np.column_stack([W, *added]).astype(DOUBLE)
        of = _exact_gate if kind == DOUBLE else _gate
        made = of(application, weights, len(added), kind)
        return lambda x, pairs: _clipped(made(x, pairs), clip)

    def activate(name: str, z: Array) -> Array:
        made: Array = function_of(name, KERNELS)(application)([z], np.empty_like(z))
        return made

    def scale(x: Array, y: Array) -> Array:
        return product([x, y], np.empty_like(x))

    made = Steps(gate, mix, rest, scale, activate)
    return made if kind != DOUBLE else replace(made, mix=_exact_mix, rest=PLAIN.rest)


# ------------------------------------------------------------------ elements of at most 32 bits


def _gate(application: Application, W: Array, ones: int, kind: np.dtype[Any]) -> Made:
    norms, factor = np.sqrt(np.vecdot(W, W)), bound_factor(W.shape[1], W.shape[1])

    def of(x: Array, pairs: Pairs) -> Array:
        A = np.ones((len(x), W.shape[1]))
        A[:, : W.shape[1] - ones] = x
        made = np.matmul(A, W.T)
        bound = np.multiply.outer(np.sqrt(np.vecdot(A, A)) * factor, norms) + np.finfo(DOUBLE).smallest_subnormal
        added = [np.broadcast_to(left.astype(DOUBLE) * right, made.shape) for left, right in pairs]
        for each in added:
            made += each
            bound += np.abs(made) * (2 * UNIT)
        out, open_ = decided(made, bound, kind)
        application.count(out.size, _settle(A, W, added, out, *np.nonzero(open_)) if open_.any() else 0)
        return out

    return of


def _settle(A: Array, W: Array, added: Sequence[Array], out: Array, i: Array, j: Array) -> int:
    """Give these elements their values; how many are sums of finite numbers, which are added up exactly."""
    exact, step = 0, max(1, GATHERED // W.shape[1])
    for start in range(0, len(i), step):
        b, k = i[start : start + step], j[start : start + step]
        addends = np.column_stack([A[b] * W[k], *[each[b, k] for each in added]])
        finite = np.isfinite(addends).all(axis=1)
        values = nearest(np.add.reduce(addends, axis=1), out.dtype)  # an infinity or NaN comes out in any order
        if finite.any():
            values[finite] = exact_sums(addends[finite], out.dtype)
        out[b, k] = values
        exact += int(np.count_nonzero(finite))
    return exact


def mix(f: Array, c: Array, i: Array, g: Array) -> Array:
    """The next cell, f c + i g."""
    whole, cut = two_sum(f.astype(DOUBLE) * c, i.astype(DOUBLE) * g)
    return nearest(to_odd(whole, cut), f.dtype)


def rest(z: Array, h: Array, g: Array) -> Array:
    """The next state, (1 - z) h + z g.

    In float64 (1 - z) h is 0, infinite or NaN where it is exactly, with its sign.
    """
    kind, (z, h, g) = z.dtype, (each.astype(DOUBLE) for each in (z, h, g))
    left, right = (1 - z) * h, z * g
    made = nearest(left + right, kind)
    usual = np.isfinite(z) & np.isfinite(h) & np.isfinite(g) & ((left != 0) | (right != 0))
    if usual.any():
        made[usual] = exact_sums(np.column_stack([each[usual] for each in (h, -z * h, right)]), kind)
    return made


def _clipped(values: Array, clip: float | None) -> Array:
    """Rounded elements between the bounds, rounded: the same as rounding what is between them."""
    if clip is not None:
        bound = nearest(np.array([clip]), values.dtype)[0]
        np.copyto(values, bound, where=values > bound)
        np.copyto(values, -bound if clip else bound, where=values < -bound)
    return values


# ------------------------------------------------------------------ float64


def _exact_gate(application: Application, W: Array, ones: int, _: np.dtype[Any]) -> Made:
    def of(x: Array, pairs: Pairs) -> Array:
        out = np.empty((len(x), len(W)))
        for b, row in enumerate(x):
            left = [np.broadcast_to(np.append(row, np.ones(ones)), W.shape), *[_of_batch(each, b) for each, _ in pairs]]
            right = [W, *[_of_batch(each, b) for _, each in pairs]]
            out[b] = doubles.exact_sums(np.column_stack(left), np.column_stack(right))
        application.count(out.size, out.size)
        return out

    return of


def _of_batch(values: Array, b: int) -> Array:
    return values[b] if values.ndim > 1 else values


def _exact_mix(f: Array, c: Array, i: Array, g: Array) -> Array:
    left, right = (np.stack(each, axis=-1).reshape(-1, 2) for each in ((f, i), (c, g)))
    return doubles.exact_sums(left, right).reshape(f.shape)
