"""A difference that runs show, where `bound` has no enclosure of the ideal values of an operator.

Both models run in their own types and in double precision.  What counts as a difference is far above what roundings
explain: the values of both models are further apart than `CLEAR`, relative to the largest one, and each of them is the
same in both precisions up to a part of that distance, which is not small beside any value in between; or the value of
one model is finite, and that of the other one is not, in both precisions.  This is
evidence from runs and weaker than disjoint enclosures, so a result names it.

The executor runs the models.  Where it lacks an operator, the evaluator of the onnx package does, in a process of its
own; it must give equal bits twice.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from sonnx.base.budget import RuntimeLimits
from sonnx.base.errors import Stop, UsageError
from sonnx.equivalence.search.double_precision import array_in_double, in_double
from sonnx.executor.distance import first_difference
from sonnx.executor.executor import ModelRunner
from sonnx.executor.isolation import IsolatedRuntime
from sonnx.executor.runtimes import Failure
from sonnx.model.ir import Model
from sonnx.model.writer import Unwritable, write
from sonnx.numerics.application import NoValue
from sonnx.numerics.formats import TEXT, Array, is_small_float

CLEAR = 0.01
"""The least distance of two values, relative to the largest one of the output in either model."""

AGREEING = 1 / 16
"""The largest distance of the values of one model in both precisions, relative to the distance of both models."""

SMALLEST = 2.0**-30
"""The least distance relative to the largest finite value of either model in between: roundings of double precision are
2^-53 of a value."""

REFERENCE_LIMITS = RuntimeLimits(seconds=20, megabytes=4096)
"""Of the process of the evaluator, for each request."""

Outputs: TypeAlias = Mapping[str, Array]
RUN_ERRORS = (Stop, NoValue, MemoryError, ValueError, TypeError, LookupError, ArithmeticError)


class ClearDifference(NamedTuple):
    """Where the values of both models are clearly apart: the output of the first model, the element, and its values;
    () and no numbers for a shape.
    """

    output: str
    at: tuple[int, ...]
    values: tuple[Any, Any]


class Runs:
    """Both models as functions, each in its own types and in double precision."""

    def __init__(self, functions: Sequence[Callable[[Outputs], Outputs | None]], inputs: Mapping[str, str]) -> None:
        self.functions, self.inputs = functions, inputs

    def values(self, inputs: Outputs) -> tuple[Outputs | None, Outputs | None]:
        """The outputs of both models; None of one without values.  `inputs` are named as in the first model."""
        return self.functions[0](inputs), self.functions[1](self._theirs(inputs))

    def wide_values(self, inputs: Outputs) -> tuple[Outputs | None, Outputs | None]:
        """The outputs of both models, and all values in between, in double precision."""
        wide = {name: array_in_double(array) for name, array in inputs.items()}
        return self.functions[2](wide), self.functions[3](self._theirs(wide))

    def _theirs(self, inputs: Outputs) -> Outputs:
        return {self.inputs[name]: array for name, array in inputs.items()}


def exact_runs(runners: Sequence[ModelRunner], folders: Sequence[Path | None], inputs: Mapping[str, str]) -> Runs:
    """Runs of the executor."""
    places = [folder / "model" if folder else None for folder in folders]
    wide = [
        ModelRunner(in_double(runner.model), place, unchecked=True)
        for runner, place in zip(runners, places, strict=True)
    ]

    def function(runner: ModelRunner) -> Callable[[Outputs], Outputs | None]:
        def run(inputs: Outputs) -> Outputs | None:
            try:
                return runner.run(inputs).values
            except RUN_ERRORS:
                return None

        return run

    return Runs([function(runner) for runner in (*runners, *wide)], inputs)


class ReferenceRuns:
    """Runs of the evaluator of the onnx package, while its process is open.

    Raises:
        UsageError: its process does not start.
    """

    def __init__(
        self, models: Sequence[Model], folders: Sequence[Path | None], outputs: Sequence[Sequence[str]],
        inputs: Mapping[str, str],
    ) -> None:  # fmt: skip
        self._runtime = IsolatedRuntime("reference", REFERENCE_LIMITS)
        self.title = self._runtime.title
        functions = [self._function(*each) for each in zip(models, folders, outputs, strict=True)]
        functions += [
            self._function(in_double(model), folder, ()) for model, folder in zip(models, folders, strict=True)
        ]
        self.runs = Runs(functions, inputs)

    def __enter__(self) -> ReferenceRuns:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        self._runtime.close()

    def _function(
        self, model: Model, folder: Path | None, outputs: Sequence[str]
    ) -> Callable[[Outputs], Outputs | None]:
        """A model as a function, which is loaded when it runs first; it must give equal bits of `outputs` twice."""
        loaded: list[Callable[[Outputs], Outputs]] = []

        def run(inputs: Outputs) -> Outputs | None:
            try:
                if not loaded:
                    loaded.append(self._runtime.load(write(model), folder))
                values = loaded[0](inputs)
                again = loaded[0](inputs) if outputs else values
            except (Failure, Unwritable, UsageError, *RUN_ERRORS):
                return None
            if not all(_is_same(values.get(name), again.get(name)) for name in outputs):
                return None
            return values

        return run


def clear_difference(
    runs: Runs, inputs: Outputs, values: tuple[Outputs, Outputs], outputs: Mapping[str, str]
) -> ClearDifference | None:
    """The first output whose values are clearly apart; None where there is none.

    Args:
        runs: of both models.
        inputs: by the names of the first model.
        values: the outputs of both models for these inputs.
        outputs: the outputs that are compared, each with its name in the second model.
    """
    wide, their_wide = runs.wide_values(inputs)
    if wide is None or their_wide is None:
        return None
    largest = max(_largest(wide), _largest(their_wide))
    for name, partner in outputs.items():
        pair = [values[0].get(name), values[1].get(partner), wide.get(name), their_wide.get(partner)]
        if any(array is None for array in pair):
            continue
        at = _clearly_apart([np.asarray(array) for array in pair], largest)
        if at is not None:
            first, second = (values[0][name], values[1][partner]) if at else (None, None)
            return ClearDifference(name, at, (_number(first, at), _number(second, at)))
    return None


def _clearly_apart(arrays: Sequence[Array], largest: float) -> tuple[int, ...] | None:
    """The element at which the first two arrays are clearly apart, which the last two are in double precision; () where
    their shapes differ.
    """
    first, second, wide, their_wide = arrays
    if first.shape != wide.shape or second.shape != their_wide.shape:
        return None
    if first.shape != second.shape:
        return ()
    if _is_text(first) or _is_text(second):
        differs = first.astype(str) != second.astype(str)
        return _place(differs) if bool((first.astype(str) == wide.astype(str)).all()) else None
    if any(array.dtype.kind not in "fiubV" for array in arrays) or any(map(_is_unknown, arrays)):
        return None
    numbers = [array.astype(np.float64) for array in arrays]
    with np.errstate(all="ignore"):
        finite = np.logical_and.reduce([np.isfinite(array) for array in numbers])
        apart = np.where(finite, np.abs(numbers[0] - numbers[1]), 0.0)
        unsure = np.maximum(np.abs(numbers[0] - numbers[2]), np.abs(numbers[1] - numbers[3]))
        size = max(float(np.abs(array[finite]).max(initial=0.0)) for array in numbers[:2])
        clear = (apart > CLEAR * size) & (apart > SMALLEST * largest) & (unsure <= AGREEING * apart)
        is_finite = [np.isfinite(array) for array in numbers]
    beyond = (is_finite[0] != is_finite[1]) & (is_finite[0] == is_finite[2]) & (is_finite[1] == is_finite[3])
    return _place(clear, apart) or _place(beyond)


def _place(chosen: Array, size: Array | None = None) -> tuple[int, ...] | None:
    if not chosen.any():
        return None
    ranked = chosen if size is None else np.where(chosen, size, -1.0)
    return tuple(map(int, np.unravel_index(int(np.argmax(ranked)), chosen.shape)))


def _largest(values: Outputs) -> float:
    """The largest finite magnitude of all floating-point values."""
    return max(_magnitudes(values), default=0.0)


def _magnitudes(values: Outputs) -> Iterator[float]:
    for array in values.values():
        if not _is_text(array) and array.dtype.kind == "f" and array.size:
            finite = array[np.isfinite(array)]
            yield float(np.abs(finite).max(initial=0.0))


def _is_text(array: Array) -> bool:
    return array.dtype == TEXT or array.dtype.kind in "OUST"


def _is_unknown(array: Array) -> bool:
    """Whether the elements are of a type that numpy cannot compute with."""
    return array.dtype.kind == "V" and array.dtype.name != "bfloat16" and not is_small_float(array.dtype)


def _number(array: Array | None, at: tuple[int, ...]) -> Any:
    return None if array is None else array[at]


def _is_same(one: Array | None, other: Array | None) -> bool:
    if one is None or other is None:
        return one is other
    if _is_text(one):
        return one.shape == other.shape and bool((one == other).all())
    return one.shape == other.shape and one.dtype == other.dtype and first_difference(other, one) is None
