"""How much of an error bound roundings reach: a run in which each node rounds as the worst output element suffers most.

The row over that element says in which direction the error of each value moves it.  In the run each node computes, from
the values before it, the number of its type that is furthest in that direction and not further from the exact value
than the hypotheses allow it for these operands.  So the bound is at most so many times what the hypotheses allow as it
is larger than what this run is off; the bounds of single roundings are taken as reached.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np

from sonnx.bounds import adjoint
from sonnx.bounds.domain import Memory, NodesDomain
from sonnx.numerics.enclosures.hypotheses import Hypotheses
from sonnx.numerics.enclosures.values import Value, nothing
from sonnx.numerics.formats import ELEMENTS, Array

NATIVE = ("float16", "float", "double")
"""The element types whose next number numpy finds."""


class InjectedDomain(NodesDomain):
    """Each node computes from the values of this run, and rounds in stated directions.

    Args:
        hypotheses: about the implementations.
        folder: where the model file stands.
        memory: what runs share.
        directions: for each value, by name, the signs of its roundings; others round to the nearest.
    """

    def __init__(
        self, hypotheses: Hypotheses, folder: Path | None, memory: Memory, directions: Mapping[str, Array]
    ) -> None:
        super().__init__(hypotheses, folder, memory, {})
        self.directions = directions

    def _following(self, value: Value) -> Value:
        """The value as this run computes it, without error."""
        if value.is_point or value.unbounded:
            return value
        exact = 0.5 * value.low + 0.5 * value.high
        array = _rounded(value, exact, self.directions.get(value.name, np.zeros(())))
        zero = nothing(array.shape)
        value = replace(value, low=array, high=array, error=zero, introduced=zero, transfer=None)
        self.nodes[value.name] = value
        return value


def _rounded(value: Value, exact: Array, directions: Array) -> Array:
    """The numbers furthest in these directions that are within the introduced errors; exact where none is."""
    reach = value.introduced * (1 - 2.0**-20)
    wanted = exact + np.sign(directions) * reach
    if value.element not in NATIVE:
        return exact
    number, nearest = (array.astype(ELEMENTS[value.element]) for array in (wanted, exact))
    candidates = [number, np.nextafter(number, nearest), nearest]
    result = exact
    for candidate in map(np.float64, candidates[::-1]):
        result = np.where(np.abs(candidate - exact) <= value.introduced, candidate, result)
    return result


def worst_row(output: Value) -> Array:
    """The row over the element of an output with the largest error."""
    return adjoint.one_hot(output.shape, np.array([int(np.argmax(output.error))]))


def directions(output: Value, row: Array) -> Mapping[str, Array] | None:
    """In which direction a rounding of each value moves a row over the output; None where steps inside a node round."""
    with np.errstate(all="ignore"):
        signs = adjoint.signs(output, row)
    return None if "" in signs else signs
