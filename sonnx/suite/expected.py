"""What a conforming implementation may give for a call: the exact values, and the ends of what rounding allows.

An output is *exact* if it is of integers, bools or strings, or if the error that the hypotheses allow is 0 for all
inputs of a wide box: moves, comparisons, selections.  Any other has for each element the ends from the bound at the
point; an element without a bound has none, and nothing decides about it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from sonnx.base.errors import Stop
from sonnx.bounds.analysis import Analyser
from sonnx.bounds.box import box_of_arrays
from sonnx.model.ir import Model
from sonnx.numerics.enclosures.hypotheses import Hypotheses
from sonnx.numerics.formats import ELEMENTS, Array, format_of, is_small_float, limits_of, widened

WIDTH = 1024.0
"""The box on which an operator is exact reaches from -1024 to 1024, as far as its types do."""


class Ends(NamedTuple):
    """The ends of the elements of an output, NaN without a bound."""

    lower: Array
    upper: Array


class Tolerances:
    """The ends of the outputs of one model under hypotheses."""

    def __init__(self, model: Model, hypotheses: Hypotheses, edition: str) -> None:
        self.model = model
        self.names = [each.name for each in model.graph.outputs]
        self.analyser = Analyser(model, hypotheses, None, edition)
        self.exact = self._exact()

    def ends(self, inputs: Mapping[str, Array], exact: Mapping[str, Array]) -> list[Ends | None]:
        """For each output its ends, None where it is exact."""
        if all(name in self.exact for name in self.names):
            return [None] * len(self.names)
        try:
            values = self.analyser.run(box_of_arrays(self.model, dict(inputs))).values
        except Stop:
            values = {}
        found: list[Ends | None] = []
        for name in self.names:
            if name in self.exact:
                found.append(None)
                continue
            none = np.full(exact[name].shape, np.nan)
            value = values.get(name)
            if value is None or value.unbounded or value.shape != none.shape:
                found.append(Ends(none, none))
                continue
            with np.errstate(all="ignore"):
                lower = np.nextafter(value.low - value.error, -np.inf)
                upper = np.nextafter(value.high + value.error, np.inf)
            bounded = np.isfinite(widened(exact[name]).astype(np.float64)) & np.isfinite(lower) & np.isfinite(upper)
            found.append(Ends(np.where(bounded, lower, np.nan), np.where(bounded, upper, np.nan)))
        return found

    def _exact(self) -> set[str]:
        """The outputs that are exact."""
        computed = {each.name for each in self.model.graph.outputs if _rounds(each.type.element or "")}
        found = {name for name in self.names if name not in computed}
        try:
            box = {each.name: _wide(each.type.element or "", each.type.shape or ()) for each in self.model.graph.inputs}
            values = self.analyser.run(box_of_arrays(self.model, box)).values
        except (Stop, KeyError):
            return found
        still = {name for name in computed if name in values and values[name].low.size and not values[name].unbounded}
        return found | {name for name in still if not values[name].has_error}


def _rounds(element: str) -> bool:
    kind = ELEMENTS[element]
    return format_of(kind) is not None or is_small_float(kind) or kind.kind == "c"


def _wide(element: str, shape: Sequence[object]) -> tuple[Array, Array]:
    least, most = -WIDTH, WIDTH
    kind = ELEMENTS[element]
    if kind == np.bool_:
        least, most = 0.0, 1.0
    elif kind.kind in "iu" or not _rounds(element):
        ends = limits_of(kind)
        least, most = max(least, ends[0]), min(most, ends[1])
    extents = tuple(each for each in shape if isinstance(each, int))
    return np.full(extents, least), np.full(extents, most)
