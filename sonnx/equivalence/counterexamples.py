"""The search for an input on which two models differ beyond rounding.

Both models run exactly on generated inputs.  Where values differ, both are enclosed at this point by `bound`: disjoint
enclosures of the ideal values show that the functions differ over the reals.  Where one model was folded, the ideal
values must be further apart than what the roundings of all operators of both models may change.  Where one model has
no enclosure (an infinity, NaN), its exact value must be out of the reach of any implementation of the other one.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from math import isfinite, nan, prod
from pathlib import Path

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from sonnx.base.errors import Stop
from sonnx.bounds.analysis import Analyser
from sonnx.bounds.box import box_of_arrays
from sonnx.equivalence.result import DifferingInput
from sonnx.equivalence.shrinking import RevealingInput, non_zero, program, shrunk
from sonnx.executor.distance import first_difference
from sonnx.executor.executor import ModelRunner
from sonnx.executor.model_inputs import required_inputs
from sonnx.executor.probes import KINDS, probe
from sonnx.model.ir import Model, Node
from sonnx.model.scopes import canonical_domain, stored_tensors
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

    `folded`: the models have other operators, so that constants may have been rounded in one of them.  `files`: what
    the result calls the models.
    """

    first: Model
    second: Model
    folders: tuple[Path | None, Path | None]
    edition: str | None
    inputs: Mapping[str, str]
    outputs: Mapping[str, str]
    hypotheses: str
    folded: bool
    files: tuple[str, str]

    def found(self, runs: int, seed: int) -> Searched:
        """Run both models on so many generated sets of inputs, until one shows a difference."""
        bits, done = "", 0
        needed = required_inputs(self.first)
        try:
            runners = [
                ModelRunner(model, folder / "model" if folder else None, self.edition, unchecked=True)
                for model, folder in zip((self.first, self.second), self.folders, strict=True)
            ]
            for number in range(runs):
                inputs = probe(needed, seed, number)
                first = _values(runners[0], inputs)
                second = _values(runners[1], {self.inputs[name]: array for name, array in inputs.items()})
                if first is None or second is None:
                    if (first is None) != (second is None):
                        which = "first" if first is None else "second"
                        bits = bits or f"the {which} model {NO_VALUE} {number}"
                    continue
                done += 1
                differing = dict(self._differing(first, second))
                if differing:
                    bits = bits or next(iter(differing.values()))
                    witness = self._witness(inputs, first, second, [*differing], number, seed)
                    if witness is not None:
                        shown = self._simplest(RevealingInput(inputs, witness), runners)
                        return Searched(shown.witness, done, bits, shown.inputs)
        except (Stop, NoValue, MemoryError, ValueError, TypeError, LookupError, ArithmeticError) as error:
            return Searched(None, done, bits or f"not run: {error}")
        return Searched(None, done, bits)

    def _simplest(self, shown: RevealingInput, runners: Sequence[ModelRunner]) -> RevealingInput:
        """The simplest input found that shows a difference, with a program that shows it."""
        origin = shown.witness

        def judge(inputs: Mapping[str, Array]) -> DifferingInput | None:
            first = _values(runners[0], inputs)
            second = _values(runners[1], {self.inputs[name]: array for name, array in inputs.items()})
            if first is None or second is None:
                return None
            names = [name for name, _ in self._differing(first, second)]
            return self._witness(inputs, first, second, names, origin.number, origin.seed) if names else None

        constants = sum(prod(tensor.dims) for model in (self.first, self.second) for tensor in stored_tensors(model))
        size = constants + sum(array.size for array in shown.inputs.values())
        inputs, witness = shrunk(shown, judge, size)
        lines = program(self.files, inputs, self.inputs, (witness.output, self.outputs[witness.output]), witness.at)
        return RevealingInput(inputs, replace(witness, non_zero=non_zero(inputs), program=lines))

    def _differing(self, first: Mapping[str, Array], second: Mapping[str, Array]) -> Iterator[tuple[str, str]]:
        """The outputs of the first model that differ from those of the second one in type, shape or bits, and how."""
        for name, partner in self.outputs.items():
            value, their_value = first[name], second[partner]
            if value.shape != their_value.shape:
                yield name, f"{name} has the shape {list(value.shape)} and {list(their_value.shape)}"
                continue
            if value.dtype != their_value.dtype:
                yield name, f"{name} has the type {NAMES[value.dtype]} and {NAMES[their_value.dtype]}"
                continue
            difference = first_difference(their_value, value)
            if difference is not None:
                yield name, f"{name} {difference.place}: {difference.wanted} and {difference.found}"

    def _witness(
        self,
        inputs: Mapping[str, Array],
        first: Mapping[str, Array],
        second: Mapping[str, Array],
        names: list[str],
        number: int,
        seed: int,
    ) -> DifferingInput | None:
        """The element that shows at these inputs that the models differ beyond rounding; None where none does.

        Args:
            inputs: by the names of the first model.
            first: the outputs of the first model.
            second: those of the second one.
            names: the outputs that differ.
            number: of the set of inputs.
            seed: of the sets of inputs.
        """
        kind = KINDS[number % len(KINDS)]
        if not all(
            np.isfinite(array.astype(np.float64)).all() for array in inputs.values() if array.dtype.kind in "fV"
        ):
            return None
        ideals = self._ideal(self.first, self.folders[0], inputs)
        their_inputs = {self.inputs[name]: array for name, array in inputs.items()}
        their_ideals = self._ideal(self.second, self.folders[1], their_inputs)
        for name in names:
            value, their_value = first[name], second[self.outputs[name]]
            ideal, their_ideal = ideals.get(name), their_ideals.get(self.outputs[name])
            if value.shape != their_value.shape:
                if ideal is not None and their_ideal is not None and ideal.low.shape != their_ideal.low.shape:
                    return _differing(number, kind, seed, name, (), (nan, nan), 0.0)
                continue
            if value.dtype == TEXT:
                continue
            at, apart = self._apart(ideal, their_ideal, value, their_value)
            if at is not None:
                exact = float(value[at]), float(their_value[at])
                return _differing(number, kind, seed, name, at, exact, min(apart, sys.float_info.max))
        return None

    def _apart(
        self, ideal: Value | None, their_ideal: Value | None, value: Array, their_value: Array
    ) -> tuple[tuple[int, ...] | None, float]:
        """The element whose exact values differ and whose ideal values are furthest apart, beyond what roundings
        explain; None where there is none.
        """
        differs = ~((value == their_value) | ((value != value) & (their_value != their_value)))
        with np.errstate(all="ignore"):
            if ideal is None or ideal.unbounded:
                if their_ideal is None or their_ideal.unbounded:
                    return None, 0.0
                return _outside(their_ideal, value, differs), 0.0
            if their_ideal is None or their_ideal.unbounded:
                return _outside(ideal, their_value, differs), 0.0
            gap = np.maximum(ideal.low - their_ideal.high, their_ideal.low - ideal.high)
            needed = np.abs(ideal.high - ideal.low) + np.abs(their_ideal.high - their_ideal.low)
            needed = needed + 2.0**-48 * (np.abs(ideal.low) + np.abs(their_ideal.low))
            if self.folded:
                needed = needed + ideal.error + their_ideal.error
            over = np.where(differs, gap - needed, -1.0)
            if not (over > 0).any():
                return None, 0.0
            at = np.unravel_index(int(np.argmax(np.where(over > 0, gap, -np.inf))), gap.shape)
            return tuple(map(int, at)), float(gap[at])

    def _ideal(self, model: Model, folder: Path | None, inputs: Mapping[str, Array]) -> Mapping[str, Value]:
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
            return analyser.run(box_of_arrays(model, inputs)).values
        except (Stop, NoValue, ValueError, TypeError, LookupError, ArithmeticError):
            return {}


def _differing(
    number: int, kind: str, seed: int, output: str, at: tuple[int, ...], exact: tuple[float, float], apart: float
) -> DifferingInput:
    first, second = (value if isfinite(value) else None for value in exact)
    return DifferingInput(number, kind, seed, output, at, first, second, exact=exact, apart=apart)


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
        source, low, high = node.inputs
        between = f"{node.outputs[0]} above the minimum"
        nodes.append(Node(node.name, "Max", "", "", (source, low), (between,), ()))
        nodes.append(Node(node.name, "Min", "", "", (between, high), node.outputs, ()))
    return (
        model if len(nodes) == len(model.graph.nodes) else replace(model, graph=replace(model.graph, nodes=(*nodes,)))
    )


def _outside(enclosed: Value, exact_values: Array, differs: Array) -> tuple[int, ...] | None:
    """The first differing element of a model that is out of the reach of any implementation of the enclosed one."""
    exact = exact_values.astype(np.float64)
    reach = enclosed.error + MARGIN * (np.abs(enclosed.low) + np.abs(enclosed.high))
    outside = differs & ~((exact >= enclosed.low - reach) & (exact <= enclosed.high + reach))
    return tuple(map(int, np.unravel_index(int(np.argmax(outside)), exact.shape))) if outside.any() else None


def _values(runner: ModelRunner, inputs: Mapping[str, Array]) -> Mapping[str, Array] | None:
    """The exact outputs, None where these inputs have none."""
    try:
        return runner.run(inputs).values
    except (Stop, NoValue, ValueError, TypeError, LookupError, ArithmeticError):
        return None
