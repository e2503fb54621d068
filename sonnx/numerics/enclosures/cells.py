"""Transfer functions of recurrent cells: LSTM and GRU as the products, sums and functions of their steps.

Each step is a value of its own, which the adjoint pass follows through all steps.  The sum that goes into an activation
function is one sum of all its products and biases, in any order: W x + R h, the biases added before or after.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from math import prod

import numpy as np

from sonnx.base.errors import NotExecutable
from sonnx.numerics.enclosures import sums
from sonnx.numerics.enclosures.elementwise import SIGMOID, TANH, transfer
from sonnx.numerics.enclosures.layout import taken
from sonnx.numerics.enclosures.products import matmul, multiply
from sonnx.numerics.enclosures.rectifiers import between, relu
from sonnx.numerics.enclosures.values import Context, Transfer, TransferFunction, Value, constant
from sonnx.numerics.formats import ELEMENTS, Array

FUNCTIONS: Mapping[str, TransferFunction] = {"Sigmoid": transfer(SIGMOID), "Tanh": transfer(TANH), "Relu": relu}
"""The activation functions."""

States = tuple[Value, ...]

Arrange = Callable[[list[Array], list[tuple[Array, ...]]], tuple[Array, ...]]
"""The outputs of an operator from those of all directions, (steps, batch, hidden), and the last states."""


class RecurrentCell:
    """The steps of a cell in bounds; `context` is that of the operator."""

    def __init__(self, context: Context) -> None:
        context.require_floats()
        self.context, self.inner = context, context.inner()

    def part(self, X: Value, index: Array) -> Value:
        """The elements of X with these numbers."""
        return self.context.step(taken(index, [X]))

    def swapped(self, X: Value) -> Value:
        """X with the first two axes exchanged."""
        numbers = np.arange(prod(X.shape)).reshape(X.shape)
        return self.part(X, np.ascontiguousarray(np.swapaxes(numbers, 0, 1)))

    def row(self, array: Array) -> Value:
        """A constant of the element type."""
        return constant("", np.ascontiguousarray(array.astype(ELEMENTS[self.context.element])))

    def join(self, *parts: Value) -> tuple[Value, ...]:
        """Values of shape (batch, any) side by side."""
        return parts

    def gate(
        self, weights: Array, biases: Sequence[Array], clip: float | None
    ) -> Callable[[Sequence[Value], Sequence[tuple[Value, Value]]], Value]:
        """A function: weights times the parts side by side, plus biases, plus products of values, within the clip."""
        matrix = self.row(np.hstack([weights, *[bias[:, None] for bias in biases]]).T)

        def of(parts: Sequence[Value], pairs: Sequence[tuple[Value, Value]]) -> Value:
            columns = [*parts, *[self.row(np.ones((parts[0].shape[0], 1)))] * len(biases)]
            joined = self.context.step(taken(np.hstack(_numbered(columns)), columns))
            if not pairs:
                value = self.context.step(matmul(self.context, [joined, matrix])[0], readers=1)
            else:
                terms = [matmul(self.inner, [joined, matrix]), *[multiply(self.inner, pair) for pair in pairs]]
                steps = [self.inner.step(term[0], readers=1) for term in terms]
                value = self.context.step(sums.add(self.context, steps)[0])
            return value if clip is None else self.within(value, clip)

        return of

    def within(self, X: Value, clip: float) -> Value:
        """X within the bound of the attribute clip."""
        return self.context.step(between(self.context, X, -clip, clip))

    def activate(self, name: str, X: Value) -> Value:
        """An activation function."""
        if name not in FUNCTIONS:
            raise NotExecutable(f"the activation {name!r} has no bounds")
        return self.context.step(FUNCTIONS[name](self.context, [X])[0])

    def scale(self, X: Value, Y: Value) -> Value:
        """The product."""
        return self.context.step(multiply(self.context, [X, Y])[0])

    def mix(self, f: Value, c: Value, i: Value, g: Value) -> Value:
        """F c + i g."""
        return self.context.step(self._mixed(f, c, i, g))

    def rest(self, z: Value, h: Value, g: Value) -> Value:
        """(1 - z) h + z g; where z is between 0 and 1, a number between h and g."""
        one = self.row(np.ones(z.shape))
        left = self.inner.step(sums.subtract(self.inner, [one, z])[0])
        mixed = self._mixed(left, h, z, g)
        if (z.low >= 0).all() and (z.high <= 1).all():
            low, high = np.minimum(h.low, g.low), np.maximum(h.high, g.high)
            mixed = replace(mixed, low=np.maximum(mixed.low, low), high=np.minimum(mixed.high, high))
        return self.context.step(mixed)

    def _mixed(self, f: Value, c: Value, i: Value, g: Value) -> Transfer:
        terms = [self.inner.step(multiply(self.inner, values)[0], readers=1) for values in ([f, c], [i, g])]
        return sums.add(self.context, terms)[0]

    def over_time(
        self, X: Value, states: States, step: Callable[[Value, States], States], backwards: bool
    ) -> tuple[list[Value], States]:
        """The outputs of all steps, in the order of X of shape (steps, batch, inputs), and the last states."""
        numbers = np.arange(prod(X.shape)).reshape(X.shape)
        order = list(range(X.shape[0]))
        outputs: dict[int, Value] = {}
        for t in reversed(order) if backwards else order:
            states = step(self.part(X, numbers[t]), states)
            outputs[t] = states[0]
        return [outputs[t] for t in order], states

    def arranged(self, outputs: list[list[Value]], last: list[States], arrange: Arrange) -> list[Transfer]:
        """The outputs of the operator: the elements of the steps' outputs and last states."""
        values = [
            *[value for outputs_of_direction in outputs for value in outputs_of_direction],
            *[value for states_of_direction in last for value in states_of_direction],
        ]
        numbers = iter(_numbered(values))
        Y = [
            np.array([next(numbers) for _ in output], np.intp).reshape(len(output), *states[0].shape)
            for output, states in zip(outputs, last, strict=True)
        ]
        states = [tuple(next(numbers) for _ in states_of_direction) for states_of_direction in last]
        return [taken(np.ascontiguousarray(array), values) for array in arrange(Y, states)]


def _numbered(values: Sequence[Value]) -> list[Array]:
    """The numbers of the elements of values, counted through, in the shape of each."""
    starts = np.cumsum([0, *[prod(value.shape) for value in values]])
    return [s + np.arange(prod(value.shape)).reshape(value.shape) for s, value in zip(starts, values, strict=False)]
