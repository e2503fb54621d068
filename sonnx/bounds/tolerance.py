"""The tolerance of a comparison: what implementations within hypotheses may compute, instead of a guessed number."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from sonnx.base.errors import BadInput
from sonnx.bounds import adjoint
from sonnx.bounds.analysis import MAX_TIGHTENED, Analyser, Run, tightened
from sonnx.bounds.box import box_of_arrays
from sonnx.executor.comparison import EQUAL, OUTPUT
from sonnx.model.ir import Model
from sonnx.numerics.enclosures.hypotheses import Hypotheses
from sonnx.numerics.enclosures.values import Value
from sonnx.numerics.formats import Array

SIGMAS = 6
"""Standard deviations of random rounding beyond which a value is unusual."""


class BoundTolerance:
    """See `sonnx.executor.comparison.Tolerance`: nodes on equal inputs by their own bounds, others by the model's.

    Args:
        model: the model.
        hypotheses: about the implementation.
        folder: where the model file stands.
        edition: whose texts define the operators.
        every_node: bound the nodes by themselves too.
    """

    def __init__(
        self, model: Model, hypotheses: Hypotheses, folder: Path | None, edition: str | None, *, every_node: bool
    ) -> None:
        self.analyser = Analyser(model, hypotheses, folder, edition)
        self.every_node = every_node
        self.whole: dict[str, Value] = {}
        self.alone: Mapping[str, Value] = {}
        self.runs = 0
        self.without_bounds: list[str] = []
        """The runs that are not compared, each with the reason."""
        self.deviations: dict[str, Array] = {}
        self.unusual: list[str] = []
        """Values of outputs within their bound that random rounding rarely makes."""

    def start(self, inputs: Mapping[str, Array], exact: Mapping[str, Array]) -> None:
        """Bound one run; inputs that are infinite or NaN have no bounds.

        Raises:
            NotBounded: a node has no transfer function.
        """
        self.runs += 1
        self.whole, self.alone, self.deviations = {}, {}, {}
        try:
            point = box_of_arrays(self.analyser.model, dict(inputs))
        except BadInput as reason:
            self.without_bounds.append(f"run {self.runs}: {reason}")
            return
        run = self.analyser.run(point, around=True)
        outputs = [value.name for value in self.analyser.model.graph.outputs if value.name in run.values]
        self.whole = {**run.values, **{name: tightened(run, name) for name in outputs}}
        self.deviations = {name: _deviations(run, self.whole[name]) for name in outputs}
        self.alone = self.analyser.nodes(point, exact) if self.every_node else {}
        stopped = next((value.unbounded for value in run.values.values() if value.unbounded), "")
        if stopped:
            self.without_bounds.append(f"run {self.runs}: {stopped}")

    def exceeded(self, way: str, name: str, computed: Array) -> str | None:
        """How a computed value is outside its bound; None where it is within, or where it has no bound."""
        value = (self.alone if way == EQUAL else self.whole).get(name)
        if value is None or value.unbounded or computed.shape != value.shape:
            return None
        wide = computed.astype(np.float64)
        with np.errstate(all="ignore"):
            outside = np.maximum(np.maximum(value.low - wide, wide - value.high), 0.0)
            wrong = ~(outside <= value.error)
        if not wrong.any():
            if way == OUTPUT:
                self._note(name, outside)
            return None
        place = int(np.argmax(np.where(wrong, np.where(np.isnan(outside), np.inf, outside) - value.error, -np.inf)))
        at = [int(coordinate) for coordinate in np.unravel_index(place, value.shape)]
        reach, bound = float(outside.reshape(-1)[place]), float(value.error.reshape(-1)[place])
        return f"is {reach:.3g} outside the ideal range at {at}, where the bound is {bound:.3g}"

    def _note(self, name: str, outside: Array) -> None:
        """Record a value that is further away than random rounding usually brings it."""
        excess = np.asarray(outside - SIGMAS * self.deviations[name])
        if (excess > 0).any():
            at = np.unravel_index(int(np.argmax(excess)), excess.shape)
            far, usual = float(outside[at]), SIGMAS * float(self.deviations[name][at])
            place = [int(coordinate) for coordinate in at]
            text = (
                f"{name} is {far:.3g} outside the ideal range at {place}; {SIGMAS} standard deviations are {usual:.3g}"
            )
            self.unusual.append(f"run {self.runs}: {text}")


def _deviations(run: Run, value: Value) -> Array:
    """The standard deviation of each element under random rounding, infinite where it is not estimated."""
    run.domain.work = 0
    if value.unbounded or value.transfer is None or value.low.size > min(MAX_TIGHTENED, run.domain.room(value)):
        return np.full(value.shape, np.inf)
    with np.errstate(all="ignore"):
        rows = adjoint.one_hot(value.shape, np.arange(value.low.size))
        return adjoint.deviations(value, rows).reshape(value.shape)
