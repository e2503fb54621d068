"""What a comparison of a runtime with the exact values of a model found: a row for each value and way.

The values of nodes are compared in three ways.  *On equal inputs* the runtime runs a node alone on its exact inputs, so
that errors do not add up and a difference is the node's own.  *On class inputs* it runs a node alone on the inputs of
value classes (`class_runs.py`), whether or not the model reaches them.  *Accumulated* the runtime runs the whole model,
and every value on the way is compared.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Final, Literal, NamedTuple

from msgspec import Struct

from sonnx.base.reported import HIDDEN, OptionalText
from sonnx.checker.conditions import MODEL, Conditions
from sonnx.checker.verdicts import Where
from sonnx.executor.class_runs import ClassRuns
from sonnx.executor.distance import FLUSHED, INTEGER, SUBNORMAL, ZERO, Distance
from sonnx.executor.reach import Reach
from sonnx.executor.runtimes import OptimizationLevel
from sonnx.profile.text_types import Number

Way = Literal["output", "output on class inputs", "on equal inputs", "on class inputs", "accumulated"]
"""How a value is compared."""
OUTPUT: Final = "output"
EQUAL: Final = "on equal inputs"
ACCUMULATED: Final = "accumulated"
CLASS_OUTPUT: Final = "output on class inputs"
CLASS_NODE: Final = "on class inputs"
WAYS = (OUTPUT, CLASS_OUTPUT, EQUAL, CLASS_NODE, ACCUMULATED)
"""The ways to compare, in the order of the report."""


class Row(Struct, frozen=True):
    """One value, compared in one way."""

    way: Way
    """The whole model's outputs, also on class inputs; a node alone on exact inputs or on class inputs; or every value
    of the whole model."""
    value: str
    """The name of the value."""
    operator: OptionalText = ""
    """The operator of the node that makes it; null for outputs."""
    place: OptionalText = ""
    """The place of that node; null for outputs."""
    type: str = ""
    """The element type."""
    distance: Distance | None = None
    """How far it is from the exact values; null where nothing was compared."""
    ordinary: Annotated[Distance | None, HIDDEN] = None
    """The distance in the runs with ordinary inputs."""
    failures: tuple[str, ...] = ()
    """Runs in which it was not compared, with the reason; on class inputs the first with each reason."""
    where: Annotated[Where | None, HIDDEN] = None
    """The place of the value, or of its node."""
    exceeded: Annotated[str, HIDDEN] = ""
    """How it is outside the tolerance, "" where it is within or there is none."""
    faults: tuple[str, ...] = ()
    """What the runtime did instead of giving a value, or two different values; each with the first run."""
    classes: ClassRuns | None = None
    """The runs on class inputs; null in the other ways."""
    same_as: OptionalText = ""
    """The place of an equal node whose runs these are; null for runs of its own."""

    @property
    def differs(self) -> bool:
        """Whether a bit differs, all NaNs being one value."""
        return self.distance is not None and self.distance.identical < self.distance.elements


class Optimization(Struct, frozen=True):
    """With --optimizations: the graph that the optimizer of the runtime makes, against the model."""

    level: OptimizationLevel
    """The level of the optimizer."""
    answer: (
        Literal[
            "identical",
            "equal up to rounding",
            "different",
            "not decided",
            "identical for these sizes",
            "equal up to rounding for these sizes",
            "equal but for narrowings",
            "equal but for narrowings for these sizes",
        ]
        | None
    )
    """The answer of sonnx equivalent; null where the graph was not compared."""
    nodes: Number = 0
    """The nodes of the optimized graph."""
    first: OptionalText = ""
    """The value of the model in the first pair that does not match; null where all match."""
    second: OptionalText = ""
    """The value of the optimized graph in that pair."""
    operators: tuple[str, str] = ("", "")
    """The operators that make them, in the model and in the optimized graph; empty where they are not known."""
    reason: OptionalText = ""
    """Why they do not match, or why the graph was not compared."""


class BoundViolation(NamedTuple):
    """A bound that does not hold, as a sentence, and the value it does not hold for; None for the whole comparison."""

    sentence: str
    row: Row | None = None


@dataclass(frozen=True, slots=True)
class Comparison:
    """All rows of one model, in the order of its outputs and of its nodes."""

    model: str
    runtime: str
    conditions: Conditions
    inputs: str
    runs: int
    rows: tuple[Row, ...]
    skipped: tuple[str, ...] = ()
    """Runs without exact values, each with the reason."""
    ordinary_runs: int = 0
    """The runs with ordinary inputs that were compared."""
    not_measured: str = ""
    """That they were not measured with this runtime and version, as a sentence; "" where they were or need not be."""
    stopped: bool = False
    """Whether the time was over before the last run."""
    without_bounds: tuple[str, ...] = ()
    """Runs with values that have no bound, each with the reason."""
    unusual: tuple[str, ...] = ()
    """Values within their bound that random rounding rarely makes, as sentences: an estimate."""
    without_classes: tuple[str, ...] = ()
    """What did not run on class inputs, each with the reason."""
    optimizations: tuple[Optimization, ...] = ()
    """The optimized graphs of the runtime, where they were asked for."""
    reach: Reach | None = None
    """With --every-node: which value classes nodes meet when the whole model runs; None where it was not searched."""

    @property
    def edition(self) -> str:
        """The edition; "" where the model was not checked."""
        return (self.conditions.edition or "") if self.conditions.checked else ""

    @property
    def unchecked(self) -> bool:
        """Whether a model was compared without a check of its conformance."""
        return not self.conditions.checked

    @property
    def sha256(self) -> str:
        """The hash of the bytes of the model, "" if it was not requested."""
        return self.conditions.digests.get(MODEL, "")

    @property
    def hypotheses(self) -> str:
        """The hypotheses of the bounds that every value was compared with, "" for none."""
        return self.conditions.hypotheses or ""

    @property
    def first_diverging(self) -> Row | None:
        """The first node that differs on equal inputs."""
        return next((row for row in self.rows if row.way == EQUAL and row.differs), None)

    def violations(self, limits: ComparisonLimits) -> Iterator[BoundViolation]:
        """The bounds that do not hold."""
        for row in self.rows:
            yield from (BoundViolation(sentence, row) for sentence in _violations(row, limits))


@dataclass(frozen=True, slots=True)
class ComparisonLimits:
    """How far values may be from the exact ones.

    A difference in being NaN or infinite, another bool or string, and a fault of the runtime are never allowed.
    """

    max_ulp: int | None = None
    """Steps that floating-point values may be away, and whether values must be compared in every run; None for any."""
    max_integer_distance: int = 0
    """What integers may be away."""
    zero_signs: bool = False
    """Whether the sign of a zero counts, and differences that an erratum or an intermediate result explains."""
    flush: bool = False
    """Whether a runtime may take subnormal numbers for 0, in its inputs and its results."""


def _violations(row: Row, limits: ComparisonLimits) -> Iterator[str]:
    named = f"{row.value} ({row.way})"
    yield from (f"{named}: {fault}" for fault in row.faults)
    if row.failures and not row.faults and (limits.max_ulp is not None or limits.zero_signs):
        yield f"{named} was not compared in every run: {row.failures[0]}"
    if row.exceeded:
        yield f"{named} {row.exceeded}"
    if row.distance is None:
        return
    if row.classes is not None:
        for deviation in sorted(row.classes.deviations, key=lambda classes_deviation: classes_deviation.packed):
            if deviation.kind in FLUSHED and limits.flush and (deviation.kind == SUBNORMAL or deviation.subnormal):
                continue
            if (limits.zero_signs or not deviation.explained) and _counts(deviation.kind, row.distance, limits):
                inputs = "; ".join(deviation.inputs)
                yield (
                    f"{named} differs in {deviation.kind} at {list(deviation.at)}, class {deviation.name!r}: "
                    f"{deviation.found}, exact {deviation.exact}, for {inputs}"
                )
        return
    if limits.max_ulp is not None and (row.distance.ulp or 0) > limits.max_ulp:
        yield f"{named} is up to {row.distance.ulp} ulp away, more than {limits.max_ulp}"
    for special in row.distance.specials:
        if _counts(special.kind, row.distance, limits):
            yield f"{named} differs in {special.kind} at {list(special.at)}: {special.found}, exact {special.exact}"


def _counts(kind: str, far: Distance, limits: ComparisonLimits) -> bool:
    """Whether a difference of a kind breaks the limits."""
    if kind == INTEGER:
        return far.absolute > limits.max_integer_distance
    return kind != ZERO or limits.zero_signs
