"""The search for an input on which two models differ beyond rounding.

Both models run exactly on generated inputs (`search_inputs.py`).  Where values differ, both are enclosed at this point
by `bound`: disjoint enclosures of the ideal values show that the functions differ over the reals.  Where one model was
folded, the ideal values must be further apart than what the roundings of all operators of both models may change.
Where one model has no enclosure (an infinity, NaN), its exact value must be out of the reach of any implementation of
the other one.  An operator without enclosures, or without a definition in the executor, leaves the evidence of runs
(`differing_runs.py`).
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from math import isfinite, nan, prod
from pathlib import Path
from typing import NamedTuple, TypeAlias

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from sonnx.base.errors import Stop, UsageError
from sonnx.bounds.analysis import Analyser
from sonnx.bounds.box import box_of_arrays
from sonnx.equivalence.interpretation.expansion import nodes_of
from sonnx.equivalence.result import DifferingInput, Evidence
from sonnx.equivalence.search.differing_runs import (
    RUN_ERRORS,
    ReferenceRuns,
    Runs,
    clear_difference,
    exact_runs,
)
from sonnx.equivalence.search.search_inputs import Inputs, SearchInput, search_inputs
from sonnx.equivalence.search.shrinking import RevealingInput, non_zero, program, shrunk
from sonnx.executor.distance import first_difference
from sonnx.executor.executor import ModelRunner
from sonnx.executor.model_inputs import required_inputs
from sonnx.executor.runtimes import Failure
from sonnx.model.ir import Model, Node
from sonnx.model.scopes import canonical_domain, stored_tensors
from sonnx.numerics.application import NoValue
from sonnx.numerics.enclosures.hypotheses import hypotheses_named
from sonnx.numerics.enclosures.values import Value
from sonnx.numerics.formats import NAMES, TEXT, Array
from sonnx.operators import is_executable

MARGIN = 2.0**-20
"""Relative distance of two enclosures below which they are not called apart: the trust in float64 functions."""


NO_VALUE = "has no value for the generated input"
"""What `bits` says of the one model that has no value where the other one has."""

MAX_REFERENCE = 1 << 18
"""Elements of inputs and constants up to which the evaluator of the onnx package runs models."""

Shape: TypeAlias = tuple[int, ...] | None

BOUNDS = ("input", "min", "max")
"""The inputs of Clip."""


class Searched(Struct, frozen=True):
    """What the search gave: a witness, how many inputs both models ran on, the first difference in bits, and the input
    of the witness, by the names of the first model.
    """

    witness: DifferingInput | None
    runs: int
    bits: str
    inputs: Inputs = {}


class Origin(NamedTuple):
    """Which generated set of inputs a witness comes from."""

    number: int
    kind: str
    seed: int

    def differing(
        self, output: str, at: tuple[int, ...], exact: tuple[float, float], apart: float,
        evidence: Evidence = Evidence.ENCLOSURES, title: str = "",
    ) -> DifferingInput:  # fmt: skip
        """The witness for an element of an output."""
        first, second = (value if isfinite(value) else None for value in exact)
        return DifferingInput(
            *self, output, at, first, second, exact=exact, apart=apart, evidence=evidence, implementation=title
        )


class Search(Struct, frozen=True):
    """Two models on inputs of numeric shapes; `inputs` and `outputs` name those of the second by those of the first.

    Attributes:
        first: the first model.
        second: the second model.
        folders: where the files of both stand.
        edition: whose texts define the operators.
        inputs: the inputs of the second model, by those of the first one.
        outputs: its outputs, likewise.
        hypotheses: of the enclosures.
        folded: the models have other operators, so that constants may have been rounded in one of them.
        files: what the result calls the models.
        shapes: the shapes of the outputs of both models that follow from the shapes of the inputs alone, by the names
            of the first one; None where they do not.
        rounds: a value that is computed in floating point is an operand of a node, so that a decision may depend on its
            rounding.
        is_random: a node may be random.
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
    shapes: Mapping[str, tuple[Shape, Shape]]
    rounds: bool
    is_random: bool

    def has_other_shapes(self, output: str) -> bool:
        """Whether the shapes of an output differ for all values of the inputs."""
        first, second = self.shapes.get(output, (None, None))
        return first is not None and second is not None and first != second

    def found(self, runs: int, seed: int) -> Searched:
        """Run both models on so many generated sets of inputs, until one shows a difference."""
        needed = required_inputs(self.first)
        try:
            runners = [
                ModelRunner(model, folder / "model" if folder else None, self.edition, unchecked=True)
                for model, folder in zip((self.first, self.second), self.folders, strict=True)
            ]
            every = [*search_inputs((self.first, self.second), needed, runs, seed)]
            searched, open_sets = self._by_enclosures(runners, every, seed)
        except RUN_ERRORS as error:
            return Searched(None, 0, f"not run: {error}")
        if searched.witness is not None:
            return searched
        if not searched.runs and not all(map(is_executable, nodes_of(self.first, self.second))):
            return self._by_reference(every, seed) or searched
        try:
            return (self._by_exact_runs(runners, open_sets, seed) if open_sets else None) or searched
        except RUN_ERRORS:
            return searched

    def _by_enclosures(
        self, runners: Sequence[ModelRunner], every: Sequence[SearchInput], seed: int
    ) -> tuple[Searched, Sequence[SearchInput]]:
        """What exact runs and enclosures of the ideal values show, and the sets of inputs on which exact values differ
        that have no enclosure.
        """
        bits, done, unenclosed = "", 0, list[SearchInput]()
        for drawn in every:
            inputs = drawn.inputs
            first = _values(runners[0], inputs)
            second = _values(runners[1], {self.inputs[name]: array for name, array in inputs.items()})
            if first is None or second is None:
                if (first is None) != (second is None):
                    which = "first" if first is None else "second"
                    bits = bits or f"the {which} model {NO_VALUE} {drawn.number}"
                continue
            done += 1
            differing = dict(self._differing(first, second))
            if not differing:
                continue
            bits = bits or next(iter(differing.values()))
            origin = Origin(drawn.number, drawn.kind, seed)
            witness, is_enclosed = self._witness(inputs, first, second, [*differing], origin)
            if witness is not None:
                shown = self._simplest(RevealingInput(inputs, witness), runners)
                return Searched(shown.witness, done, bits, shown.inputs), ()
            if not is_enclosed or not self.rounds:
                unenclosed.append(drawn)
        return Searched(None, done, bits), unenclosed

    def _by_exact_runs(
        self, runners: Sequence[ModelRunner], open_sets: Sequence[SearchInput], seed: int
    ) -> Searched | None:
        """What exact values and those in double precision show where there is no enclosure."""
        runs = exact_runs(runners, self.folders, self.inputs)
        return self._by_runs(runs, open_sets, seed, Evidence.EXACT, "")

    def _by_reference(self, every: Sequence[SearchInput], seed: int) -> Searched | None:
        """What runs of the evaluator of the onnx package show where the executor lacks an operator."""
        if self._size(every[0].inputs) > MAX_REFERENCE or self.is_random:
            return None
        models, outputs = (self.first, self.second), ([*self.outputs], [*self.outputs.values()])
        try:
            with ReferenceRuns(models, self.folders, outputs, self.inputs) as reference:
                return self._by_runs(reference.runs, every, seed, Evidence.REFERENCE, reference.title)
        except (UsageError, Failure):
            return None

    def _by_runs(
        self, runs: Runs, every: Sequence[SearchInput], seed: int, evidence: Evidence, title: str
    ) -> Searched | None:
        """A difference that runs show clearly.  Where a value may jump after it was rounded, only inputs without ties
        count, and the input is not made simpler.
        """
        done = 0

        def judge(inputs: Inputs, origin: Origin) -> DifferingInput | None:
            nonlocal done
            values = runs.values(inputs)
            if values[0] is None or values[1] is None or not _are_finite(inputs):
                return None
            done += 1
            clear = clear_difference(runs, inputs, (values[0], values[1]), self.outputs)
            if clear is None:
                return None
            numbers = tuple([nan if isinstance(value, str | None) else float(value) for value in clear.values])
            return origin.differing(clear.output, clear.at, (numbers[0], numbers[1]), 0.0, evidence, title)

        for drawn in every:
            origin = Origin(drawn.number, drawn.kind, seed)
            witness = judge(drawn.inputs, origin) if drawn.is_generic or not self.rounds else None
            if witness is not None:
                shown, ran = RevealingInput(drawn.inputs, witness), done
                if not self.rounds:
                    shown = shrunk(shown, partial(judge, origin=origin), self._size(drawn.inputs))
                shown = self._with_program(shown)
                return Searched(shown.witness, ran, f"{witness.output} differs", shown.inputs)
        return None

    def _size(self, inputs: Inputs) -> int:
        """The elements of inputs and constants that a run of both models reads."""
        constants = sum(prod(tensor.dims) for model in (self.first, self.second) for tensor in stored_tensors(model))
        return constants + sum(array.size for array in inputs.values())

    def _with_program(self, shown: RevealingInput) -> RevealingInput:
        inputs, witness = shown
        outputs = witness.output, self.outputs[witness.output]
        is_exact = witness.evidence is not Evidence.REFERENCE
        lines = program(self.files, inputs, self.inputs, outputs, witness.at, is_exact=is_exact)
        return RevealingInput(inputs, replace(witness, non_zero=non_zero(inputs), program=lines))

    def _simplest(self, shown: RevealingInput, runners: Sequence[ModelRunner]) -> RevealingInput:
        """The simplest input found that shows a difference, with a program that shows it."""
        witness = shown.witness
        origin = Origin(witness.number, witness.kind, witness.seed)

        def judge(inputs: Inputs) -> DifferingInput | None:
            first = _values(runners[0], inputs)
            second = _values(runners[1], {self.inputs[name]: array for name, array in inputs.items()})
            if first is None or second is None:
                return None
            names = [name for name, _ in self._differing(first, second)]
            return self._witness(inputs, first, second, names, origin)[0] if names else None

        return self._with_program(shrunk(shown, judge, self._size(shown.inputs)))

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
        self, inputs: Inputs, first: Inputs, second: Inputs, names: Sequence[str], origin: Origin
    ) -> tuple[DifferingInput | None, bool]:
        """The element that shows at these inputs that the models differ beyond rounding, None where none does; and
        whether all outputs that differ have enclosures.

        Args:
            inputs: by the names of the first model.
            first: the outputs of the first model.
            second: those of the second one.
            names: the outputs that differ.
            origin: the set of inputs.
        """
        if not _are_finite(inputs):
            return None, True
        for name in names:
            if self.has_other_shapes(name) and first[name].shape != second[self.outputs[name]].shape:
                return origin.differing(name, (), (nan, nan), 0.0, Evidence.SHAPES), True
        ideals = self._ideal(self.first, self.folders[0], inputs)
        their_inputs = {self.inputs[name]: array for name, array in inputs.items()}
        their_ideals = self._ideal(self.second, self.folders[1], their_inputs)
        is_enclosed = True
        for name in names:
            value, their_value = first[name], second[self.outputs[name]]
            ideal, their_ideal = ideals.get(name), their_ideals.get(self.outputs[name])
            is_enclosed &= all(each is not None and not each.unbounded for each in (ideal, their_ideal))
            if value.shape != their_value.shape:
                if ideal is not None and their_ideal is not None and ideal.low.shape != their_ideal.low.shape:
                    return origin.differing(name, (), (nan, nan), 0.0), True
                continue
            if value.dtype == TEXT:
                continue
            at, apart = self._apart(ideal, their_ideal, value, their_value)
            if at is not None:
                exact = float(value[at]), float(their_value[at])
                return origin.differing(name, at, exact, min(apart, sys.float_info.max)), True
        return None, is_enclosed

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


def _are_finite(inputs: Inputs) -> bool:
    """Whether all floating-point numbers are finite."""
    return all(np.isfinite(array.astype(np.float64)).all() for array in inputs.values() if array.dtype.kind in "fV")


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
