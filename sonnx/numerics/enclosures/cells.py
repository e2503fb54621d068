"""Transfer functions of recurrent cells: LSTM and GRU as the products, sums and functions of their steps.

Each step is a value of its own, which the adjoint pass follows through all steps.  The sum that goes into an activation
function is one sum of all its products and biases, in any order: W x + R h, the biases added before or after.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from math import prod
from operator import is_

import numpy as np

from sonnx.base.errors import NotExecutable
from sonnx.numerics.enclosures import sums
from sonnx.numerics.enclosures.arithmetic import above, below, ends_of_product, grown, magnitude
from sonnx.numerics.enclosures.layout import taken
from sonnx.numerics.enclosures.products import matmul, multiply
from sonnx.numerics.enclosures.rectifiers import between
from sonnx.numerics.enclosures.values import Context, Transfer, TransferFunction, Value, constant
from sonnx.numerics.formats import ELEMENTS, Array

States = tuple[Value, ...]
Ends = tuple[Array, Array]
"""The least and the largest value an implementation may have, by element."""

Arrange = Callable[[list[Array], list[tuple[Array, ...]]], tuple[Array, ...]]
"""The outputs of an operator from those of all directions, (steps, batch, hidden), and the last states."""


class RecurrentCell:
    """The steps of a cell in bounds.

    Args:
        context: that of the operator.
        activations: the transfer functions of the activation functions by name.
    """

    def __init__(self, context: Context, activations: Mapping[str, TransferFunction]) -> None:
        context.require_floats()
        self.context, self.inner, self.activations = context, context.inner(), activations
        self._latest: tuple[Sequence[Value], int, Transfer] | None = None
        """The parts that the latest gate read, the columns of ones, and these side by side."""

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
            joined = self.context.step(self._side_by_side(parts, len(biases)))
            if not pairs:
                value = self.context.step(matmul(self.context, [joined, matrix])[0], readers=1)
            else:
                terms = [matmul(self.inner, [joined, matrix]), *[multiply(self.inner, pair) for pair in pairs]]
                steps = [self.inner.step(term[0], readers=1) for term in terms]
                value = self.context.step(sums.add(self.context, steps)[0])
            return value if clip is None else self.within(value, clip)

        return of

    def _side_by_side(self, parts: Sequence[Value], ones: int) -> Transfer:
        """The elements of parts of shape (batch, any), and columns of ones; all gates of a step have the same."""
        if self._latest is not None:
            same, count, transfer = self._latest
            if count == ones and len(same) == len(parts) and all(map(is_, same, parts)):
                return transfer
        columns = [*parts, *[self.row(np.ones((parts[0].shape[0], 1)))] * ones]
        transfer = taken(np.hstack(_numbered(columns)), columns)
        self._latest = parts, ones, transfer
        return transfer

    def within(self, X: Value, clip: float) -> Value:
        """X within the bound of the attribute clip."""
        return self.context.step(between(self.context, X, -clip, clip))

    def activate(self, name: str, X: Value) -> Value:
        """An activation function."""
        if name not in self.activations:
            raise NotExecutable(f"the activation {name!r} has no bounds")
        return self.context.step(self.activations[name](self.context, [X])[0])

    def scale(self, X: Value, Y: Value) -> Value:
        """The product."""
        product = multiply(self.context, [X, Y])[0]
        return self.context.step(replace(product, returned=ends_of_product(self._ends(X), self._ends(Y))))

    def mix(self, f: Value, c: Value, i: Value, g: Value) -> Value:
        """F c + i g."""
        products = ends_of_product(self._ends(f), self._ends(c)), ends_of_product(self._ends(i), self._ends(g))
        least, largest = (one + other for one, other in zip(*products, strict=True))
        return self.context.step(self._mixed((f, c), (i, g), (below(least), above(largest))))

    def rest(self, z: Value, h: Value, g: Value) -> Value:
        """(1 - z) h + z g; where z is between 0 and 1, a number between h and g."""
        one = self.row(np.ones(z.shape))
        left = self.inner.step(sums.subtract(self.inner, [one, z])[0])
        mixed = self._mixed((left, h), (z, g), self._between(z, h, g, left))
        if (z.low >= 0).all() and (z.high <= 1).all():
            low, high = np.minimum(h.low, g.low), np.maximum(h.high, g.high)
            mixed = replace(mixed, low=np.maximum(mixed.low, low), high=np.minimum(mixed.high, high))
        return self.context.step(mixed)

    def _between(self, z: Value, h: Value, g: Value, left: Value) -> Ends:
        """The ends of (1 - z) h + z g, products exact, of computed values: as far outside those of h and g as z is
        outside 0 and 1.

        The computed 1 - z is off by its own rounding, and by what an implementation takes for zero.
        """
        ends = z_ends, h_ends, g_ends = self._ends(z), self._ends(h), self._ends(g)
        sizes = [magnitude(*each) for each in ends[1:]]
        outside = np.maximum(np.maximum(-z_ends[0], z_ends[1] - 1), 0.0)
        off = grown((outside + left.introduced + self.context.flushed) * (sizes[0] + sizes[1]), 4)
        low, high = np.minimum(h_ends[0], g_ends[0]), np.maximum(h_ends[1], g_ends[1])
        return below(low - off), above(high + off)

    def _ends(self, X: Value) -> Ends:
        """The ends of what an implementation reads as X: a subnormal number may be taken for zero."""
        least, largest = X.computed_ends
        return below(least - self.context.flushed), above(largest + self.context.flushed)

    def _mixed(self, one: tuple[Value, Value], other: tuple[Value, Value], ends: Ends) -> Transfer:
        """The sum of two products; `ends` are those of the exact sum of exact products of computed values."""
        terms = [self.inner.step(multiply(self.inner, pair)[0], readers=1) for pair in (one, other)]
        rounded = grown(terms[0].introduced + terms[1].introduced, 1)
        returned = below(ends[0] - rounded), above(ends[1] + rounded)
        return replace(sums.add(self.context, terms)[0], returned=returned)

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
