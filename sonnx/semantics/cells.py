"""The steps recurrent cells are made of, each rounded once: LSTM and GRU share them.

No text says where a cell rounds (erratum lstm-over-reals-only); it names the results between its equations.  Here each
of these is an element of the type: what goes into an activation function, what comes out of it, the cell and the state.
`kernels/cells.py` has the same steps, faster.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from sonnx.semantics import relu, sigmoid, tanh
from sonnx.semantics.application import Application, NoValue
from sonnx.semantics.formats import Array
from sonnx.semantics.rounding import grid_of
from sonnx.semantics.sums import Number, in_units_of_products, numbers, products, store, times, total
from sonnx.stops import NotExecutable

Function = Callable[[Application, Sequence[Array]], tuple[Array, ...]]

FUNCTIONS: dict[str, Function] = {"Sigmoid": sigmoid.evaluate, "Tanh": tanh.evaluate, "Relu": relu.evaluate}
"""The activation functions that have a meaning here, by the names of their operators."""


Gate = Callable[[Array, Sequence[tuple[Array, Array]]], Array]
"""Of x, of shape (batch, inputs), and of pairs of factors of shape (batch, hidden) or (hidden)."""


@dataclass(frozen=True, slots=True)
class Steps:
    """How the steps are computed; every array has the shape (batch, hidden), every result is rounded once.

    `gate(W, added, clip)` of weights, rows and a bound is a function of x and pairs that gives x W' + the rows + the
    products of the pairs, within -clip and clip; it is made once for all steps.  `mix(f, c, i, g)` is f c + i g,
    `rest(z, h, g)` is (1 - z) h + z g, `scale(x, y)` is x y, `activate` a function.
    """

    gate: Callable[[Array, Sequence[Array], float | None], Gate]
    mix: Callable[[Array, Array, Array, Array], Array]
    rest: Callable[[Array, Array, Array], Array]
    scale: Callable[[Array, Array], Array]
    activate: Callable[[str, Array], Array]


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

    def of(x: Array, pairs: Sequence[tuple[Array, Array]]) -> Array:
        made = np.empty((len(x), len(W)), x.dtype)
        rows = [numbers(row) for row in x]
        for b, j in np.ndindex(made.shape):
            addends = [*products(rows[b], columns[j]), *[row[j] for row in own]]
            addends += [times(_one(left, b, j), _one(right, b, j)) for left, right in pairs]
            store(made, (b, j), clipped(total(addends), clip, unit), power=2)
        return made

    return of


def _one(values: Array, b: int, j: int) -> Number:
    return numbers(values[b, j] if values.ndim > 1 else values[j])[0]


def clipped(x: Number, clip: float | None, unit: Fraction) -> Number:
    """The number, in this unit, within -clip and clip; NaN stays."""
    if clip is None or (isinstance(x, float) and not math.isinf(x)):
        return x
    bound = Fraction(clip) / unit
    return min(max(x, -bound), bound) or 0.0


def mix(f: Array, c: Array, i: Array, g: Array) -> Array:
    """The next cell, f c + i g."""
    made = np.empty(c.shape, c.dtype)
    for at in np.ndindex(made.shape):
        f_, c_, i_, g_ = (numbers(each[at])[0] for each in (f, c, i, g))
        store(made, at, total([times(f_, c_), times(i_, g_)]), power=2)
    return made


def rest(z: Array, h: Array, g: Array) -> Array:
    """The next state, (1 - z) h + z g."""
    made = np.empty(h.shape, h.dtype)
    one = 1 << -grid_of(h.dtype).least
    for at in np.ndindex(made.shape):
        z_, h_, g_ = (numbers(each[at])[0] for each in (z, h, g))
        store(made, at, total([times(total([one, times(-1, z_)]), h_), times(z_, g_)]), power=2)
    return made


def scale(x: Array, y: Array) -> Array:
    """The product, element by element."""
    made = np.empty(x.shape, x.dtype)
    for at in np.ndindex(made.shape):
        store(made, at, times(numbers(x[at])[0], numbers(y[at])[0]), power=2)
    return made


def activate(name: str, z: Array) -> Array:
    """An activation function of every element."""
    made: Array = function_of(name, FUNCTIONS)(Application(name, 1, "onnx"), [z])[0]
    return made


def function_of(name: str, known: dict[str, Any]) -> Any:
    """The function of a name.

    Raises:
        NotExecutable: the executor has none of this name.
    """
    if name not in known:
        raise NotExecutable(f"the activation {name!r} is none of {', '.join(known)}")
    return known[name]


PLAIN = Steps(gate, mix, rest, scale, activate)
"""The definitions."""


# ------------------------------------------------------------------ what the two cells share

Step = Callable[[Array, tuple[Array, ...]], tuple[Array, ...]]
"""The states after a step, from the input of the step and the states before; the first state is the output."""


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
        NotExecutable: there is no such direction.
    """
    known = {"forward": [False], "reverse": [True], "bidirectional": [False, True]}
    if direction not in known:
        raise NotExecutable(f"the direction {direction!r} is none of {', '.join(known)}")
    return known[direction]


def require_whole_sequences(operator: str, lengths: Array | None, steps: int) -> None:
    """Every sequence has as many steps as X.

    Raises:
        NoValue: one is shorter; no text has an equation for the steps after its end.
    """
    if lengths is not None and any(length != steps for length in lengths.tolist()):
        raise NoValue(f"{operator}.full-sequences", f"sequence_lens is {lengths.tolist()}, with {steps} steps")


def arranged(layout: int, Y: list[Array], last: list[tuple[Array, ...]]) -> tuple[Array, ...]:
    """Y and the last states of all directions with the axes where `layout` wants them."""
    whole = np.stack(Y, axis=1)
    states = [np.stack(each) for each in zip(*last, strict=True)]
    if layout == 0:
        return (whole, *states)
    return (whole.transpose(2, 0, 1, 3), *[state.transpose(1, 0, 2) for state in states])
