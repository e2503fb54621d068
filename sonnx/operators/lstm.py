"""LSTM: c_t = act1(f_t) * c_(t-1) + act1(i_t) * act2(g_t), h_t = act1(o_t) * act3(c_t), Y[t-1] = h_t.

z_t = W_z x_t + R_z h_(t-1) + Wb_z + Rb_z for each gate z of i, o, f, g, with P_i c_(t-1), P_f c_(t-1), P_o c_t added.
SONNX LSTM of 2026-08 (a draft over the reals); ONNX LSTM-7 to LSTM-22.  With input_forget = 1 act1(f_t) is
1 - act1(i_t).  The gates, the functions of them, the cell and the state are rounded once each
(`recurrent_cells.py`, and the rounding points of the data file).  What is left out is 0.
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
from sonnx.operators.recurrent_sequences import intervals_decide, kept, lstm_sequence, lstm_weights

INPUT, OUTPUT, FORGET, CELL = range(4)
"""The gates in the order of the weights."""


def define(application: Application, inputs: Sequence[Array | None]) -> tuple[Array, ...]:
    """Y, Y_h and Y_c, of the type of X, as many as the node has."""
    return lstm(application, inputs, EXACT_STEPS)


def lstm(application: Application, inputs: Sequence[Array | None], steps: ArraySteps) -> tuple[Array, ...]:
    """The outputs by these steps.

    Raises:
        NoValue: a sequence is shorter than X.
        NotExecutable: the executor does not know an activation or direction.
    """
    (X, W, R), (B, lengths, h, c, P) = required(inputs, 3), optional(inputs, 3, 5)
    layout = application.parameter("layout")
    backwards = directions_of(application.parameter("direction"))
    activations = application.parameter("activations")
    if len(activations) != 3 * len(backwards):
        raise NotExecutable(f"{len(activations)} activations for {len(backwards)} directions, each of which has 3")
    X = X if layout == 0 else np.swapaxes(X, 0, 1)
    h, c = (array if array is None or layout == 0 else np.swapaxes(array, 0, 1) for array in (h, c))
    require_whole_sequences("LSTM.full-sequences", lengths, len(X))
    Y, last = [], []
    for d, back in enumerate(backwards):
        zeros = np.zeros((X.shape[1], R.shape[2]), X.dtype)
        states = tuple(zeros if array is None else array[d] for array in (h, c))
        weights = [None if array is None else array[d] for array in (W, R, B, P)]
        functions, coupled = list(activations[3 * d : 3 * d + 3]), application.parameter("input_forget") == 1
        step = _step(application, weights, functions, steps)
        plain = P is None and not coupled and application.parameter("clip") is None
        usual = plain and functions == ["Sigmoid", "Tanh", "Tanh"]
        if steps.intervals and usual and intervals_decide(X.dtype, X, *states, *weights):
            make = partial(lstm_weights, W[d], R[d], weights[2])
            gates = kept(application, f"LSTM, direction {d}", (W, R, B), make)
            of_direction, last_states = lstm_sequence(application, X, states, gates, step, back)
        else:
            of_direction, last_states = over_time(X, states, step, back)
        Y.append(of_direction)
        last.append(last_states)
    return arranged(layout, Y, last)[: application.outputs]


def zeros_without_steps(application: Application, inputs: Sequence[Array | None]) -> tuple[Array, ...]:
    """The outputs by the other reading of `lstm-without-steps`: 0 where X has no steps, whatever the initial states."""
    outputs, [X] = fast_path(application, inputs), required(inputs, 1)
    steps = X.shape[0 if application.parameter("layout") == 0 else 1]
    return outputs if steps else tuple(np.zeros_like(output) for output in outputs)


def _step(
    application: Application, weights: Sequence[Array | None], activations: Sequence[str], steps: RecurrentSteps[V, J]
) -> StepOf[V]:
    """One step of a direction; the weights are those of the gates i, o, f, g, the peepholes those of i, o, f."""
    (W, R), (B, P) = required(weights, 2), weights[2:]
    biases: list[list[Array]] = (
        [[]] * 4 if B is None else [list(part) for part in np.split(B.reshape(2, -1), 4, axis=1)]
    )
    peepholes = None if P is None else [steps.row(part) for part in np.split(P, 3)]
    coupled, clip = application.parameter("input_forget") == 1, application.parameter("clip")
    first, second, third = activations
    gates = [steps.gate(part, added, clip) for part, added in zip(np.split(np.hstack([W, R]), 4), biases, strict=True)]

    def step(x: V, states: tuple[V, ...]) -> tuple[V, ...]:
        h, c = states
        both = steps.join(x, h)

        def gate(z: int, cell: V | None) -> V:
            return gates[z](both, [] if peepholes is None or cell is None else [(peepholes[z], cell)])

        i = steps.activate(first, gate(INPUT, c))
        g = steps.activate(second, gate(CELL, None))
        f = None if coupled else steps.activate(first, gate(FORGET, c))
        c = steps.rest(i, c, g) if f is None else steps.mix(f, c, i, g)
        o = steps.activate(first, gate(OUTPUT, c))
        return steps.scale(o, steps.activate(third, c if clip is None else steps.within(c, clip))), c

    return step


def fast_path(application: Application, inputs: Sequence[Array | None]) -> tuple[Array, ...]:
    """By the fast steps of `recurrent_cells.py`."""
    [X] = required(inputs, 1)
    return lstm(application, inputs, fast_steps(application, X.dtype))


def bound(context: Context, inputs: Sequence[Value | None]) -> list[Transfer]:
    """The transfer function of ranges and errors, for constant weights: the steps of `lstm` in bounds.

    Raises:
        NotExecutable: the weights vary, or the attributes are not those of the executor.
    """
    (X, W, R), (B, lengths, h, c, P) = required(inputs, 3), optional(inputs, 3, 5)
    application, cell = context.application, RecurrentCell(context, BOUNDS)
    *weights, constant_lengths = constants("LSTM", (W, R, B, P, lengths))
    layout, activations = application.parameter("layout"), application.parameter("activations")
    backwards = directions_of(application.parameter("direction"))
    if len(activations) != 3 * len(backwards):
        raise NotExecutable("LSTM has a bound for 3 activations for each direction only")
    X = X if layout == 0 else cell.swapped(X)
    h, c = (value if value is None or layout == 0 else cell.swapped(value) for value in (h, c))
    require_whole_sequences("LSTM.full-sequences", constant_lengths, X.shape[0])
    outputs, last = list[list[Value]](), list[States]()
    for d, back in enumerate(backwards):
        own = [None if weight is None else weight[d] for weight in weights]
        step = _step(application, own, activations[3 * d : 3 * d + 3], cell)
        of_direction, last_states = cell.over_time(X, initial(cell, (h, c), d, (X.shape[1], R.shape[2])), step, back)
        outputs.append(of_direction)
        last.append(last_states)
    return cell.arranged(outputs, last, lambda Y, states: arranged(layout, Y, states))[: application.outputs]


OPERATOR = Operator(
    name="LSTM",
    continuous=True,
    may_overflow_inside=True,
    independent_outputs=True,
    define=define,
    fast_path=fast_path,
    rounding_points=("gates", "activations", "cell"),
    bound=bound,
    other_readings={"lstm-without-steps": (zeros_without_steps,)},
)
