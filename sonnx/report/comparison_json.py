"""What `sonnx compare --format json` prints; comparison.schema.json beside this file is made from it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

from sonnx.executor.comparison import Comparison, Row
from sonnx.executor.distance import Distance
from sonnx.profile.definitions import DeviationKind
from sonnx.profile.text_types import Limit, Number, Sha256
from sonnx.report.json_parts import JsonDocument, Part, dumps, part, tool


class SpecialPart(Part, frozen=True):
    """Elements that differ in kind: in being NaN or infinite, in the sign of a zero, or as integer, bool or string."""

    kind: DeviationKind
    """What differs."""
    number: Annotated[int, Limit(ge=1)]
    """How many."""
    at: tuple[Number, ...]
    """The index of the first."""
    exact: str
    """The exact element there, with its bits."""
    found: str
    """The runtime's element there, with its bits."""


class UlpPart(Part, frozen=True):
    """Distances in steps between representable values, over the measured elements."""

    largest: Number
    """The largest distance."""
    mean: float
    """The mean distance."""


class AbsolutePart(Part, frozen=True):
    """Distances of the numbers, in float64; the string "infinity" where JSON has no such number."""

    largest: float | Literal["infinity"]
    """The largest distance."""
    mean: float | Literal["infinity"]
    """The mean over the measured elements."""


class DistancePart(Part, frozen=True):
    """How far the values are from the exact ones."""

    elements: Number
    """Elements of all runs."""
    identical: Number
    """Elements that are the same bit for bit, all NaNs being one value."""
    measured: Number
    """Elements that are finite on both sides."""
    ulp: UlpPart | None
    """Distances in ulp; null for integers, bool and strings."""
    absolute: AbsolutePart
    """Distances of the numbers."""
    at: tuple[Number, ...] | None
    """The index of the largest distance; null where there is none."""
    exact: str | None
    """The exact element there, with its bits."""
    found: str | None
    """The runtime's element there, with its bits."""
    specials: tuple[SpecialPart, ...]
    """Elements whose kind differs."""


class DeviationPart(Part, frozen=True):
    """A value class in which elements differ in kind, with the first run."""

    name: str
    """The name of the class."""
    detail: str
    """Which input, and where."""
    kind: DeviationKind
    """What differs."""
    runs: Annotated[int, Limit(ge=1)]
    """The runs of the class in which it differs."""
    at: tuple[Number, ...]
    """The index of the first element."""
    exact: str
    """The exact element there, with its bits."""
    found: str
    """The runtime's element there, with its bits."""
    inputs: tuple[str, ...]
    """The inputs of the first run: all elements of a small one, of a larger one those that are not ordinary."""
    errata: tuple[str, ...]
    """The errata of the operator from which runtimes deviate in this kind."""
    explained: str | None
    """Why it is no fault of the runtime; null where it may be one."""


class ClassRunsPart(Part, frozen=True):
    """What was done on class inputs for one value."""

    runs: Number
    """The runs that were compared."""
    left_out: Number
    """The cases that the budget left out."""
    without_value: Number
    """The cases in which the inputs have no exact value."""
    deviations: tuple[DeviationPart, ...]
    """The classes in which elements differ in kind."""


class RowPart(Part, frozen=True):
    """One value, compared in one way."""

    way: Literal["output", "output on class inputs", "on equal inputs", "on class inputs", "accumulated"]
    """The whole model's outputs, also on class inputs; a node alone on exact inputs or on class inputs; or every value
    of the whole model."""
    value: str
    """The name of the value."""
    operator: str | None
    """The operator of the node that makes it; null for outputs."""
    place: str | None
    """The place of that node; null for outputs."""
    type: str
    """The element type."""
    distance: DistancePart | None
    """How far it is from the exact values; null where nothing was compared."""
    failures: tuple[str, ...]
    """Runs in which it was not compared, with the reason; on class inputs the first with each reason."""
    faults: tuple[str, ...]
    """What the runtime did instead of giving a value, or two different values; each with the first run."""
    classes: ClassRunsPart | None
    """The runs on class inputs; null in the other ways."""
    same_as: str | None
    """The place of an equal node whose runs these are; null for runs of its own."""


class OptimizationPart(Part, frozen=True):
    """With --optimizations: the graph that the optimizer of the runtime makes, against the model."""

    level: Literal["basic", "extended"]
    """The level of the optimizer."""
    answer: Literal["identical", "equal up to rounding", "different", "not decided"] | None
    """The answer of sonnx equivalent; null where the graph was not compared."""
    nodes: Number
    """The nodes of the optimized graph."""
    first: str | None
    """The value of the model in the first pair that does not match; null where all match."""
    second: str | None
    """The value of the optimized graph in that pair."""
    operators: tuple[str, str]
    """The operators that make them, in the model and in the optimized graph; empty where they are not known."""
    reason: str | None
    """Why they do not match, or why the graph was not compared."""


class ComparisonDocument(JsonDocument, frozen=True):
    """A runtime against the exact values: sonnx compare --format json."""

    model: str
    """The base name of the file."""
    sha256: Sha256 | None
    """The SHA-256 of the bytes of the model file; null where it was not requested."""
    runtime: str
    """The runtime, its version and how it was used."""
    edition: str | None
    """The edition; null where the model was not checked."""
    unchecked: bool
    """Whether a model was compared without a check of its conformance."""
    inputs: str
    """Where the inputs come from."""
    runs: Number
    """Runs with exact values."""
    ordinary_runs: Number
    """Those of them with ordinary inputs."""
    skipped: tuple[str, ...]
    """Runs without exact values, with the reason."""
    without_classes: tuple[str, ...]
    """What did not run on class inputs, with the reason."""
    optimizations: tuple[OptimizationPart, ...]
    """With --optimizations: the optimized graphs of the runtime."""
    rows: tuple[RowPart, ...]
    """Every value compared, each in its way."""
    first_diverging: str | None
    """The first node that differs on equal inputs."""
    broken: tuple[str, ...]
    """The bounds that do not hold."""
    without_bounds: tuple[str, ...]
    """With --bound: runs with values that have no bound, with the reason."""
    unusual: tuple[str, ...]
    """With --bound: values within their bound that random rounding rarely makes; an estimate."""


def render(found: Comparison, broken: Sequence[str]) -> str:
    """The comparison as one JSON document."""
    first = found.first_diverging
    return dumps(
        part(
            ComparisonDocument, found, format=1, tool=tool(), rows=tuple(map(_row, found.rows)), broken=tuple(broken),
            optimizations=tuple([part(OptimizationPart, each) for each in found.optimizations]),
            first_diverging=first.place if first else None,
        )
    )  # fmt: skip


def _row(row: Row) -> RowPart:
    classes = None
    if row.classes is not None:
        deviations = tuple(
            part(DeviationPart, each, explained=each.explained or None) for each in row.classes.deviations
        )
        classes = part(ClassRunsPart, row.classes, deviations=deviations)
    return part(RowPart, row, distance=None if row.distance is None else _distance(row.distance), classes=classes)


def _distance(each: Distance) -> DistancePart:
    return part(
        DistancePart,
        each,
        ulp=None if each.ulp is None else UlpPart(each.ulp, each.ulp_mean),
        absolute=AbsolutePart(_number(each.absolute), _number(each.absolute_mean)),
        at=each.at if each.exact else None,
        specials=tuple(part(SpecialPart, special) for special in each.specials),
    )


def _number(value: float) -> float | Literal["infinity"]:
    """JSON has no infinity."""
    return value if value - value == 0 else "infinity"
