"""The search for an input on which two models differ beyond rounding.

Both models run exactly on generated inputs.  Where values differ, both are enclosed at this point by `bound`: disjoint
enclosures of the ideal values show that the functions differ over the reals.  Where one model was folded, the ideal
values must be further apart than what the roundings of all operators of both models may change.  Where one model has
no enclosure (an infinity, NaN), its exact value must be out of the reach of any implementation of the other one.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from math import isfinite, nan
from pathlib import Path

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from sonnx.base.errors import Stop
from sonnx.bounds.analysis import Analyser
from sonnx.bounds.box import box_of_arrays
from sonnx.equivalence.result import DifferingInput
from sonnx.executor.distance import first_difference
from sonnx.executor.executor import ModelRunner
from sonnx.executor.model_inputs import required_inputs
from sonnx.executor.probes import KINDS, probe
from sonnx.model.ir import Model, Node
from sonnx.model.scopes import canonical_domain
from sonnx.numerics.application import NoValue
from sonnx.numerics.enclosures.hypotheses import hypotheses_named
from sonnx.numerics.enclosures.values import Value
from sonnx.numerics.formats import NAMES, TEXT, Array

MARGIN = 2.0**-20
"""Relative distance of two enclosures below which they are not called apart: the trust in float64 functions."""


NO_VALUE = "has no value for the generated input"
"""What `bits` says of the one model that has no value where the other one has."""

BOUNDS = ("input", "min", "max")
"""The inputs of Clip."""


class Searched(Struct, frozen=True):
    """What the search gave: a witness, how many inputs both models ran on, the first difference in bits, and the input
    of the witness, by the names of the first model.
    """

    witness: DifferingInput | None
    runs: int
    bits: str
    inputs: Mapping[str, Array] = {}


class Search(Struct, frozen=True):
    """Two models on inputs of numeric shapes; `inputs` and `outputs` name those of the second by those of the first.

    `folded`: the models have other operators, so that constants may have been rounded in one of them.
    """

    first: Model
    second: Model
    folders: tuple[Path | None, Path | None]
    edition: str | None
    inputs: Mapping[str, str]
    outputs: Mapping[str, str]
    hypotheses: str
    folded: bool

    def found(self, runs: int, seed: int) -> Searched:
        """Run both models on so many generated sets of inputs, until one shows a difference."""
        bits, done = "", 0
        wanted = required_inputs(self.first)
        try:
            runners = [
                ModelRunner(model, folder / "model" if folder else None, self.edition, unchecked=True)
                for model, folder in zip((self.first, self.second), self.folders, strict=True)
            ]
            for number in range(runs):
                given = probe(wanted, seed, number)
                first = _values(runners[0], given)
                second = _values(runners[1], {self.inputs[name]: array for name, array in given.items()})
                if first is None or second is None:
                    if (first is None) != (second is None):
                        which = "first" if first is None else "second"
                        bits = bits or f"the {which} model {NO_VALUE} {number}"
                    continue
                done += 1
                differing = [*self._differing(first, second)]
                if differing and not bits:
                    bits = differing[0][2]
                if differing:
                    witness = self._witness(given, first, second, [name for name, *_ in differing], number, seed)
                    if witness is not None:
                        return Searched(witness, done, bits, given)
        except (Stop, NoValue, MemoryError, ValueError, TypeError, LookupError, ArithmeticError) as error:
            return Searched(None, done, bits or f"not run: {error}")
        return Searched(None, done, bits)

    def _differing(self, first: Mapping[str, Array], second: Mapping[str, Array]) -> Iterator[tuple[str, str, str]]:
        for name, other in self.outputs.items():
            one, its = first[name], second[other]
            if one.shape != its.shape:
                yield name, other, f"{name} has the shape {list(one.shape)} and {list(its.shape)}"
                continue
            if one.dtype != its.dtype:
                yield name, other, f"{name} has the type {NAMES[one.dtype]} and {NAMES[its.dtype]}"
                continue
            difference = first_difference(its, one)
            if difference is not None:
                yield name, other, f"{name} {difference.place}: {difference.wanted} and {difference.found}"

    def _witness(
        self,
        given: Mapping[str, Array],
        first: Mapping[str, Array],
        second: Mapping[str, Array],
        names: list[str],
        number: int,
        seed: int,
    ) -> DifferingInput | None:
        kind = KINDS[number % len(KINDS)]
        if not all(np.isfinite(array.astype(np.float64)).all() for array in given.values() if array.dtype.kind in "fV"):
            return None
        ideals = self._ideal(self.first, self.folders[0], given)
        others = self._ideal(self.second, self.folders[1], {self.inputs[n]: a for n, a in given.items()})
        for name in names:
            one, its = first[name], second[self.outputs[name]]
            mine, theirs = ideals.get(name), others.get(self.outputs[name])
            if one.shape != its.shape:
                if mine is not None and theirs is not None and mine.low.shape != theirs.low.shape:
                    return _differing(number, kind, seed, name, (), (nan, nan), 0.0)
                continue
            if one.dtype == TEXT:
                continue
            at, apart = self._apart(mine, theirs, one, its)
            if at is not None:
                return _differing(
                    number, kind, seed, name, at, (float(one[at]), float(its[at])), min(apart, sys.float_info.max)
                )
        return None

    def _apart(
        self, mine: Value | None, theirs: Value | None, one: Array, its: Array
    ) -> tuple[tuple[int, ...] | None, float]:
        """The element whose exact values differ and whose ideal values are furthest apart, beyond what roundings
        explain; None where there is none.
        """
        differs = ~((one == its) | ((one != one) & (its != its)))
        with np.errstate(all="ignore"):
            if mine is None or mine.unbounded:
                return (None, 0.0) if theirs is None or theirs.unbounded else (_outside(theirs, one, differs), 0.0)
            if theirs is None or theirs.unbounded:
                return _outside(mine, its, differs), 0.0
            gap = np.maximum(mine.low - theirs.high, theirs.low - mine.high)
            needed = np.abs(mine.high - mine.low) + np.abs(theirs.high - theirs.low)
            needed = needed + 2.0**-48 * (np.abs(mine.low) + np.abs(theirs.low))
            if self.folded:
                needed = needed + mine.error + theirs.error
            over = np.where(differs, gap - needed, -1.0)
            if not (over > 0).any():
                return None, 0.0
            at = np.unravel_index(int(np.argmax(np.where(over > 0, gap, -np.inf))), gap.shape)
            return tuple(map(int, at)), float(gap[at])

    def _ideal(self, model: Model, folder: Path | None, given: Mapping[str, Array]) -> Mapping[str, Value]:
        """The enclosures of the outputs at a point; none where the model has no bounds."""
        try:
            analyser = Analyser(
                _with_extrema(model),
                hypotheses_named(self.hypotheses),
                folder,
                self.edition,
                tighten=False,
                relax=False,
            )
            return analyser.run(box_of_arrays(model, given)).values
        except (Stop, NoValue, ValueError, TypeError, LookupError, ArithmeticError):
            return {}


def _differing(
    number: int, kind: str, seed: int, output: str, at: tuple[int, ...], exact: tuple[float, float], apart: float
) -> DifferingInput:
    first, second = (value if isfinite(value) else None for value in exact)
    return DifferingInput(number, kind, seed, output, at, first, second, exact, apart)


def _with_extrema(model: Model) -> Model:
    """The model with Clip by two inputs as Max and Min, which it is by definition: these have bounds also where the
    minimum is above the maximum.
    """
    nodes: list[Node] = []
    for node in model.graph.nodes:
        clips = node.operator == "Clip" and not canonical_domain(node.domain) and not node.attributes
        if not clips or len(node.inputs) != len(BOUNDS) or not all(node.inputs):
            nodes.append(node)
            continue
        given, low, high = node.inputs
        between = f"{node.outputs[0]} above the minimum"
        nodes.append(Node(node.name, "Max", "", "", (given, low), (between,), ()))
        nodes.append(Node(node.name, "Min", "", "", (between, high), node.outputs, ()))
    return (
        model if len(nodes) == len(model.graph.nodes) else replace(model, graph=replace(model.graph, nodes=(*nodes,)))
    )


def _outside(enclosed: Value, other: Array, differs: Array) -> tuple[int, ...] | None:
    """The first differing element of a model that is out of the reach of any implementation of the enclosed one."""
    exact = other.astype(np.float64)
    reach = enclosed.error + MARGIN * (np.abs(enclosed.low) + np.abs(enclosed.high))
    outside = differs & ~((exact >= enclosed.low - reach) & (exact <= enclosed.high + reach))
    return tuple(map(int, np.unravel_index(int(np.argmax(outside)), exact.shape))) if outside.any() else None


def _values(runner: ModelRunner, given: Mapping[str, Array]) -> Mapping[str, Array] | None:
    """The exact outputs, None where these inputs have none."""
    try:
        return runner.run(given).values
    except (Stop, NoValue, ValueError, TypeError, LookupError, ArithmeticError):
        return None
