"""The steps of recurrent cells, each rounded once: LSTM and GRU share them.

No text says where a cell rounds (erratum lstm-over-reals-only); it names the results between its equations.  Here each
of these is an element of the type: what goes into an activation function, what comes out of it, the cell and the state.
`EXACT_STEPS` are the definitions, `fast_steps` gives the same values.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import inf
from typing import Any, Protocol, TypeVar

import numpy as np

from sonnx.base.errors import NotExecutable
from sonnx.numerics import double_products
from sonnx.numerics.application import Application, NoValue
from sonnx.numerics.certified_rounding import DOUBLE, UNIT, certify
from sonnx.numerics.elementwise_kernels import arithmetic
from sonnx.numerics.enclosures.cells import RecurrentCell
from sonnx.numerics.enclosures.values import Value
from sonnx.numerics.exact_sums import Number, in_units_of_products, numbers, products, store, times, total
from sonnx.numerics.formats import Array
from sonnx.numerics.rounding import grid_of, to_nearest
from sonnx.numerics.single_products import GATHERED_PRODUCTS, bound_factor, exact_row_sums
from sonnx.numerics.summation import to_odd, two_sum
from sonnx.operators.arithmetic import mul
from sonnx.operators.operator import Operator
from sonnx.operators.registry import operator_of

ACTIVATIONS: dict[str, Operator] = {name: operator_of(name, "") for name in ("Sigmoid", "Tanh", "Relu")}
"""The activation functions that have a meaning here, by the names of their operators.

None of them has a factor, so that the lists activation_alpha and activation_beta mean nothing.
"""

BOUNDS = {name: operator.bound for name, operator in ACTIVATIONS.items() if operator.bound is not None}
"""Their transfer functions."""

Pairs = Sequence[tuple[Array, Array]]

Gate = Callable[[Array, Pairs], Array]
"""A function of x, of shape (batch, inputs), and of pairs of factors, each of shape (batch, hidden) or (hidden)."""

V = TypeVar("V")
"""Values of shape (batch, hidden): arrays, or ranges with errors (`numerics/enclosures/cells.py`)."""

J = TypeVar("J")
"""Values side by side, as they go into a gate."""

StepOf = Callable[[V, tuple[V, ...]], tuple[V, ...]]
"""The states after a step, from the input of the step and the states before; the first state is the output."""

Step = StepOf[Array]


class RecurrentSteps(Protocol[V, J]):
    """How the equations of a cell are computed; every result is rounded once."""

    def join(self, *parts: V) -> J:
        """Values of shape (batch, any) side by side."""

    def row(self, values: Array, /) -> V:
        """Weights of shape (hidden) as a value that can be a factor."""

    def gate(self, W: Array, added: Sequence[Array], clip: float | None, /) -> Callable[[J, Sequence[tuple[V, V]]], V]:
        """A function of x and pairs: x W' + the rows of `added` + the products of the pairs, within -clip and clip."""

    def mix(self, f: V, c: V, i: V, g: V, /) -> V:
        """F c + i g."""

    def rest(self, z: V, h: V, g: V, /) -> V:
        """(1 - z) h + z g."""

    def scale(self, x: V, y: V, /) -> V:
        """The product."""

    def activate(self, name: str, z: V, /) -> V:
        """An activation function."""

    def within(self, x: V, clip: float, /) -> V:
        """X between -clip and clip."""


@dataclass(frozen=True, slots=True)
class ArraySteps:
    """The steps on arrays; `intervals` says that whole sequences may be computed by `recurrent_sequences.py`."""

    gate: Callable[[Array, Sequence[Array], float | None], Gate]
    mix: Callable[[Array, Array, Array, Array], Array]
    rest: Callable[[Array, Array, Array], Array]
    scale: Callable[[Array, Array], Array]
    activate: Callable[[str, Array], Array]
    within: Callable[[Array, float], Array]
    intervals: bool = False

    def join(self, *parts: Array) -> Array:
        """The parts side by side."""
        return np.hstack(parts)

    def row(self, values: Array) -> Array:
        """The weights."""
        return values


def gate(W: Array, added: Sequence[Array], clip: float | None) -> Gate:
    """The sum that goes into an activation function.

    Args:
        W: (hidden, inputs).
        added: rows of shape (hidden).
        clip: the bound, None for none.
    """
    columns = [numbers(column) for column in W]
    own = [[in_units_of_products(x, row.dtype) for x in numbers(row)] for row in added]
    unit = Fraction(2) ** (2 * grid_of(W.dtype).least)

    def of(x: Array, pairs: Pairs) -> Array:
        array = np.empty((len(x), len(W)), x.dtype)
        rows = [numbers(row) for row in x]
        for b, j in np.ndindex(array.shape):
            addends = [*products(rows[b], columns[j]), *[row[j] for row in own]]
            addends += [times(_element_of(left, b, j), _element_of(right, b, j)) for left, right in pairs]
            store(array, (b, j), clipped(total(addends), clip, unit), power=2)
        return array

    return of


def _element_of(values: Array, b: int, j: int) -> Number:
    """Element j of the row of batch b, or of the only row."""
    return numbers(values[b, j] if values.ndim > 1 else values[j])[0]


def clipped(x: Number, clip: float | None, unit: Fraction) -> Number:
    """The number, in this unit, within -clip and clip; NaN stays."""
    if clip is None or (isinstance(x, float) and not math.isinf(x)):
        return x
    bound = Fraction(clip) / unit
    return min(max(x, -bound), bound) or 0.0


def mix(f: Array, c: Array, i: Array, g: Array) -> Array:
    """The next cell, f c + i g."""
    array = np.empty(c.shape, c.dtype)
    for at in np.ndindex(array.shape):
        f_, c_, i_, g_ = (numbers(part[at])[0] for part in (f, c, i, g))
        store(array, at, total([times(f_, c_), times(i_, g_)]), power=2)
    return array


def rest(z: Array, h: Array, g: Array) -> Array:
    """The next state, (1 - z) h + z g."""
    array = np.empty(h.shape, h.dtype)
    one = 1 << -grid_of(h.dtype).least
    for at in np.ndindex(array.shape):
        z_, h_, g_ = (numbers(part[at])[0] for part in (z, h, g))
        store(array, at, total([times(total([one, times(-1, z_)]), h_), times(z_, g_)]), power=2)
    return array


def scale(x: Array, y: Array) -> Array:
    """The product, element by element."""
    array = np.empty(x.shape, x.dtype)
    for at in np.ndindex(array.shape):
        store(array, at, times(numbers(x[at])[0], numbers(y[at])[0]), power=2)
    return array


def within(x: Array, clip: float) -> Array:
    """Every element between -clip and clip; NaN stays."""
    array, unit = np.empty(x.shape, x.dtype), Fraction(2) ** grid_of(x.dtype).least
    for at in np.ndindex(array.shape):
        store(array, at, clipped(numbers(x[at])[0], clip, unit))
    return array


def activate(name: str, z: Array) -> Array:
    """An activation function of every element."""
    return activation(name).define(Application(name, 1, "onnx"), [z])[0]


def activation(name: str) -> Operator:
    """The operator with this name.

    Raises:
        NotExecutable: it is not an activation function here.
    """
    if name not in ACTIVATIONS:
        raise NotExecutable(f"the activation {name!r} is not one of {', '.join(ACTIVATIONS)}")
    return ACTIVATIONS[name]


EXACT_STEPS = ArraySteps(gate, mix, rest, scale, activate, within)
"""The definitions."""


def over_time(X: Array, states: tuple[Array, ...], step: Step, backwards: bool) -> tuple[Array, tuple[Array, ...]]:
    """The outputs of all steps of one direction, in the order of X, and the last states.

    Args:
        X: (steps, batch, inputs).
        states: of shape (batch, hidden).
        step: one step.
        backwards: from the last step of X to the first.
    """
    Y = np.empty((len(X), *states[0].shape), X.dtype)
    order = range(len(X))
    for t in reversed(order) if backwards else order:
        states = step(X[t], states)
        Y[t] = states[0]
    return Y, states


def directions_of(direction: str) -> list[bool]:
    """For each direction whether it goes backwards.

    Raises:
        NotExecutable: an unknown direction.
    """
    known = {"forward": [False], "reverse": [True], "bidirectional": [False, True]}
    if direction not in known:
        raise NotExecutable(f"the direction {direction!r} is not one of {', '.join(known)}")
    return known[direction]


def require_whole_sequences(rule: str, lengths: Array | None, steps: int) -> None:
    """Every sequence has as many steps as X.

    Raises:
        NoValue: one is shorter, and a rule of the operator demands it; no text has an equation for the steps behind.
        NotExecutable: one is shorter, and no rule is about it.
    """
    if lengths is not None and any(length != steps for length in lengths.tolist()):
        sentence = f"sequence_lens is {lengths.tolist()}, with {steps} steps"
        if rule:
            raise NoValue(rule, sentence)
        raise NotExecutable(f"{sentence}; the executor runs whole sequences only")


def arranged(layout: int, Y: list[Array], last: list[tuple[Array, ...]]) -> tuple[Array, ...]:
    """Y and the last states of all directions with the axes where `layout` wants them."""
    whole = np.stack(Y, axis=1)
    states = [np.stack(row) for row in zip(*last, strict=True)]
    if layout == 0:
        return (whole, *states)
    return (whole.transpose(2, 0, 1, 3), *[state.transpose(1, 0, 2) for state in states])


def constants(operator: str, values: Sequence[Value | None]) -> list[Array | None]:
    """The elements of constant inputs.

    Raises:
        NotExecutable: one varies.
    """
    if any(value is not None and value.exact is None for value in values):
        raise NotExecutable(f"{operator} has a bound for constant weights and lengths only")
    return [None if value is None else value.exact for value in values]


def initial(cell: RecurrentCell, states: Sequence[Value | None], d: int, shape: tuple[int, int]) -> tuple[Value, ...]:
    """The initial states of direction `d` in bounds, each of shape (batch, hidden); a state that is left out is 0."""
    initial_states = []
    for value in states:
        if value is None:
            initial_states.append(cell.row(np.zeros(shape)))
        else:
            initial_states.append(cell.part(value, np.arange(value.low.size).reshape(value.shape)[d]))
    return tuple(initial_states)


def fast_steps(application: Application, kind: np.dtype[Any]) -> ArraySteps:
    """Faster steps with the values of `EXACT_STEPS`, for elements of a type; they count those of gates and activations.

    Of at most 32 bits, where products are exact in float64: a gate is a matrix product with its rows under ones, to
    which the products of pairs are added; what the bound of `single_products.py` leaves open is added up exactly.
    f c + i g is a sum of two doubles and what their sum cuts off, rounded to odd, which decides every case.
    (1 - z) h + z g is h - z h + z g, added up exactly.  Of float64 sums of products are added up exactly throughout,
    and (1 - z) h + z g goes to the definition.
    """
    product = arithmetic(mul, np.multiply)(application)

    def gate(W: Array, added: Sequence[Array], clip: float | None) -> Gate:
        if not W.size or (clip is not None and not 0 <= clip < inf):
            return EXACT_STEPS.gate(W, added, clip)
        weights = np.column_stack([W, *added]).astype(DOUBLE)
        of = _exact_gate if kind == DOUBLE else _certified_gate
        function = of(application, weights, len(added), kind)
        return lambda x, pairs: _clipped(function(x, pairs), clip)

    def activate(name: str, z: Array) -> Array:
        kernel = activation(name).kernel
        assert kernel is not None  # noqa: S101  all of ACTIVATIONS have one
        return kernel(application)([z], np.empty_like(z))

    def within(x: Array, clip: float) -> Array:
        return _clipped(x.copy(), clip) if 0 <= clip < inf else EXACT_STEPS.within(x, clip)

    def scale(x: Array, y: Array) -> Array:
        return product([x, y], np.empty_like(x))

    array_steps = ArraySteps(gate, fast_mix, fast_rest, scale, activate, within, intervals=True)
    return array_steps if kind != DOUBLE else replace(array_steps, mix=_exact_mix, rest=EXACT_STEPS.rest)


def _certified_gate(application: Application, W: Array, rows_added: int, kind: np.dtype[Any]) -> Gate:
    """A gate of a type of at most 32 bits; the last `rows_added` columns of W are factors of ones."""
    norms, factor = np.sqrt(np.vecdot(W, W)), bound_factor(W.shape[1])

    def of(x: Array, pairs: Pairs) -> Array:
        A = np.ones((len(x), W.shape[1]))
        A[:, : W.shape[1] - rows_added] = x
        sums = np.matmul(A, W.T)
        bound = np.multiply.outer(np.sqrt(np.vecdot(A, A)) * factor, norms) + np.finfo(DOUBLE).smallest_subnormal
        added = [np.broadcast_to(left.astype(DOUBLE) * right, sums.shape) for left, right in pairs]
        for array in added:
            sums += array
            bound += np.abs(sums) * (2 * UNIT)
        out, open_ = certify(sums, bound, kind)
        block = application.block(GATHERED_PRODUCTS)
        application.count(out.size, settle(A, W, added, out, *np.nonzero(open_), block=block) if open_.any() else 0)
        return out

    return of


def settle(
    A: Array, W: Array, added: Sequence[Array], out: Array, i: Array, j: Array, *, block: int = GATHERED_PRODUCTS
) -> int:
    """Compute elements (i, j) of A W' + the sums of `added` exactly, in `out`; returns how many have finite addends."""
    exact, step = 0, max(1, block // W.shape[1])
    for start in range(0, len(i), step):
        b, k = i[start : start + step], j[start : start + step]
        addends = np.column_stack([A[b] * W[k], *[array[b, k] for array in added]])
        finite = np.isfinite(addends).all(axis=1)
        values = to_nearest(np.add.reduce(addends, axis=1), out.dtype)  # an infinity or NaN results in any order
        if finite.any():
            values[finite] = exact_row_sums(addends[finite], out.dtype)
        out[b, k] = values
        exact += int(np.count_nonzero(finite))
    return exact


def fast_mix(f: Array, c: Array, i: Array, g: Array) -> Array:
    """The next cell, f c + i g."""
    whole, cut = two_sum(f.astype(DOUBLE) * c, i.astype(DOUBLE) * g)
    return to_nearest(to_odd(whole, cut), f.dtype)


def fast_rest(z: Array, h: Array, g: Array) -> Array:
    """The next state, (1 - z) h + z g.

    In float64 (1 - z) h is 0, infinite or NaN where it is exactly, with its sign.
    """
    kind, (z, h, g) = z.dtype, (array.astype(DOUBLE) for array in (z, h, g))
    left, right = (1 - z) * h, z * g
    nearest = to_nearest(left + right, kind)
    usual = np.isfinite(z) & np.isfinite(h) & np.isfinite(g) & ((left != 0) | (right != 0))
    if usual.any():
        nearest[usual] = exact_row_sums(np.column_stack([array[usual] for array in (h, -z * h, right)]), kind)
    return nearest


def _clipped(values: Array, clip: float | None) -> Array:
    """Rounded elements, limited to the rounded bounds; the same as rounding what is limited to the bounds."""
    if clip is not None:
        bound = to_nearest(np.array([clip]), values.dtype)[0]
        np.copyto(values, bound, where=values > bound)
        np.copyto(values, -bound if clip else bound, where=values < -bound)
    return values


def _exact_gate(application: Application, W: Array, rows_added: int, _: np.dtype[Any]) -> Gate:
    """A gate of float64; the last `rows_added` columns of W are factors of ones."""

    def of(x: Array, pairs: Pairs) -> Array:
        out = np.empty((len(x), len(W)))
        for b, row in enumerate(x):
            left = [
                np.broadcast_to(np.append(row, np.ones(rows_added)), W.shape),
                *[_of_batch(array, b) for array, _ in pairs],
            ]
            right = [W, *[_of_batch(array, b) for _, array in pairs]]
            out[b] = double_products.exact_dot_products(np.column_stack(left), np.column_stack(right))
        application.count(out.size, out.size)
        return out

    return of


def _of_batch(values: Array, b: int) -> Array:
    return values[b] if values.ndim > 1 else values


def _exact_mix(f: Array, c: Array, i: Array, g: Array) -> Array:
    left, right = (np.stack(side, axis=-1).reshape(-1, 2) for side in ((f, i), (c, g)))
    return double_products.exact_dot_products(left, right).reshape(f.shape)
