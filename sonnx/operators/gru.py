"""GRU: z_t = f(W_z x_t + R_z h + Wb_z + Rb_z), r_t = f(W_r x_t + R_r h + Wb_r + Rb_r), with h = h_(t-1) and

n_t = g(W_h x_t + R_h (r_t * h) + Rb_h + Wb_h), or with linear_before_reset g(W_h x_t + r_t * (R_h h + Rb_h) + Wb_h),
h_t = (1 - z_t) * n_t + z_t * h, Y[t-1] = h_t.  ONNX GRU-7 to GRU-22.  What goes into f and g, what comes out, the
product r_t * h, or R_h h + Rb_h, and the state are rounded once each.  What is left out is 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from sonnx.base.errors import NotExecutable
from sonnx.numerics.application import Application, optional, required
from sonnx.numerics.enclosures.cells import RecurrentCell, States
from sonnx.numerics.enclosures.values import Context, Transfer, Value
from sonnx.numerics.formats import Array
from sonnx.operators.operator import Operator
from sonnx.operators.recurrent_cells import (
    BOUNDS,
    EXACT_STEPS,
    ArraySteps,
    J,
    RecurrentSteps,
    StepOf,
    V,
    arranged,
    constants,
    directions_of,
    fast_steps,
    initial,
    over_time,
    require_whole_sequences,
)
from sonnx.operators.recurrent_sequences import gru_sequence, gru_weights, intervals_decide, kept

SPELT_SINCE = 3
"""The version from which the text spells the direction forward."""


def define(application: Application, inputs: Sequence[Array | None]) -> tuple[Array, ...]:
    """Y and Y_h, of the type of X, as many as the node has."""
    return gru(application, inputs, EXACT_STEPS)


def gru(application: Application, inputs: Sequence[Array | None], steps: ArraySteps) -> tuple[Array, ...]:
    """The outputs by these steps.

    Raises:
        NoValue: a sequence is shorter than X.
        NotExecutable: the shapes do not fit, or the executor does not know an activation or direction.
    """
    (X, W, R), (B, lengths, h) = required(inputs, 3), optional(inputs, 3, 3)
    layout = application.parameter("layout")
    backwards, activations = _directions(application), application.parameter("activations")
    if len(activations) != 2 * len(backwards):
        raise NotExecutable(f"{len(activations)} activations for {len(backwards)} directions, each of which has 2")
    X = X if layout == 0 else np.swapaxes(X, 0, 1)
    h = h if h is None or layout == 0 else np.swapaxes(h, 0, 1)
    _require_shapes(len(backwards), X, W, R, B, h)
    require_whole_sequences("", lengths, len(X))
    Y, last = [], []
    for d, back in enumerate(backwards):
        state = np.zeros((X.shape[1], R.shape[2]), X.dtype) if h is None else h[d]
        step = _step(application, W[d], R[d], None if B is None else B[d], activations[2 * d : 2 * d + 2], steps)
        usual = list(activations[2 * d : 2 * d + 2]) == ["Sigmoid", "Tanh"] and application.parameter("clip") is None
        own_B = None if B is None else B[d]
        if steps.intervals and usual and intervals_decide(X.dtype, X, state, W[d], R[d], own_B):
            before = application.parameter("linear_before_reset") != 0
            make = partial(gru_weights, W[d], R[d], own_B, before)
            weights = kept(application, f"GRU, direction {d}, {before}", (W, R, B), make)
            of_direction, last_states = gru_sequence(application, X, (state,), weights, step, back)
        else:
            of_direction, last_states = over_time(X, (state,), step, back)
        Y.append(of_direction)
        last.append(last_states)
    return arranged(layout, Y, last)[: application.outputs]


def _directions(application: Application) -> list[bool]:
    """For each direction whether it goes backwards; version 1 spells forward "foward" (erratum gru-direction-misspelt).

    Raises:
        NotExecutable: an unknown direction.
    """
    direction = application.parameter("direction")
    misspelt = application.version < SPELT_SINCE and direction == "foward"
    return directions_of("forward" if misspelt else direction)


def _require_shapes(directions: int, X: Array, W: Array, R: Array, B: Array | None, h: Array | None) -> None:
    hidden = R.shape[-1] if R.ndim == 3 else -1
    expected = [
        ("W", W, (directions, 3 * hidden, X.shape[-1])),
        ("R", R, (directions, 3 * hidden, hidden)),
        ("B", B, (directions, 6 * hidden)),
        ("initial_h", h, (directions, *X.shape[1:2], hidden)),
    ]
    for name, values, shape in expected:
        if X.ndim != 3 or (values is not None and values.shape != shape):
            actual = X.shape if values is None else values.shape
            raise NotExecutable(f"{name} has the shape {actual} where {shape} fits an X of shape {X.shape}")


def _step(
    application: Application,
    W: Array,
    R: Array,
    B: Array | None,
    activations: Sequence[str],
    steps: RecurrentSteps[V, J],
) -> StepOf[V]:
    """One step of a direction; the weights are those of the gates z, r and h."""
    weights, inputs = np.split(np.hstack([W, R]), 3), W.shape[1]
    wide, narrow = (None, None) if B is None else (np.split(part, 3) for part in np.split(B, 2))
    clip, first, second = application.parameter("clip"), *activations
    before = application.parameter("linear_before_reset") != 0

    def bias(number: int, *which: Sequence[Array] | None) -> list[Array]:
        return [arrays[number] for arrays in which if arrays is not None]

    update, reset = (steps.gate(weights[k], bias(k, wide, narrow), clip) for k in range(2))
    if before:
        linear = steps.gate(weights[2][:, inputs:], bias(2, narrow), None)
        hidden = steps.gate(weights[2][:, :inputs], bias(2, wide), clip)
    else:
        hidden = steps.gate(weights[2], bias(2, wide, narrow), clip)

    def step(x: V, states: tuple[V, ...]) -> tuple[V, ...]:
        (h,) = states
        both = steps.join(x, h)
        z, r = (steps.activate(first, function(both, [])) for function in (update, reset))
        if before:
            n = hidden(steps.join(x), [(r, linear(steps.join(h), []))])
        else:
            n = hidden(steps.join(x, steps.scale(r, h)), [])
        return (steps.rest(z, steps.activate(second, n), h),)

    return step


def fast_path(application: Application, inputs: Sequence[Array | None]) -> tuple[Array, ...]:
    """By the fast steps of `recurrent_cells.py`."""
    [X] = required(inputs, 1)
    return gru(application, inputs, fast_steps(application, X.dtype))


def bound(context: Context, inputs: Sequence[Value | None]) -> list[Transfer]:
    """The transfer function of ranges and errors, for constant weights: the steps of `gru` in bounds.

    Raises:
        NotExecutable: the weights vary, or the attributes are not those of the executor.
    """
    (X, W, R), (B, lengths, h) = required(inputs, 3), optional(inputs, 3, 3)
    application, cell = context.application, RecurrentCell(context, BOUNDS)
    *weights, constant_lengths = constants("GRU", (W, R, B, lengths))
    (own_W, own_R), own_B = required(weights, 2), weights[2]
    backwards, activations = _directions(application), application.parameter("activations")
    layout = application.parameter("layout")
    if len(activations) != 2 * len(backwards):
        raise NotExecutable("GRU has a bound for 2 activations for each direction only")
    X = X if layout == 0 else cell.swapped(X)
    h = h if h is None or layout == 0 else cell.swapped(h)
    require_whole_sequences("", constant_lengths, X.shape[0])
    outputs, last = list[list[Value]](), list[States]()
    for d, back in enumerate(backwards):
        bias = None if own_B is None else own_B[d]
        step = _step(application, own_W[d], own_R[d], bias, activations[2 * d : 2 * d + 2], cell)
        of_direction, last_states = cell.over_time(X, initial(cell, (h,), d, (X.shape[1], R.shape[2])), step, back)
        outputs.append(of_direction)
        last.append(last_states)
    return cell.arranged(outputs, last, lambda Y, states: arranged(layout, Y, states))[: application.outputs]


OPERATOR = Operator(
    name="GRU",
    continuous=True,
    may_overflow_inside=True,
    independent_outputs=True,
    define=define,
    fast_path=fast_path,
    bound=bound,
)
