"""What a comparison of a runtime with the exact values of a model found: a row for each value and way.

The values of nodes are compared in three ways.  *On equal inputs* the runtime runs a node alone on its exact inputs, so
that errors do not add up and a difference is the node's own.  *On class inputs* it runs a node alone on the inputs of
value classes (`class_runs.py`), whether or not the model reaches them.  *Accumulated* the runtime runs the whole model,
and every value on the way is compared.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from sonnx.checker.verdicts import Where
from sonnx.executor.class_runs import ClassRuns
from sonnx.executor.distance import INTEGER, ZERO, Distance

OUTPUT, EQUAL, ACCUMULATED = "output", "on equal inputs", "accumulated"
CLASS_OUTPUT, CLASS_NODE = "output on class inputs", "on class inputs"
WAYS = (OUTPUT, CLASS_OUTPUT, EQUAL, CLASS_NODE, ACCUMULATED)
"""The ways to compare, in the order of the report."""


@dataclass(frozen=True, slots=True)
class Row:
    """One compared value: its name, the way, and its distance; `failures` are the runs without it, with the reason."""

    way: str
    value: str
    operator: str = ""
    place: str = ""
    type: str = ""
    distance: Distance | None = None
    ordinary: Distance | None = None
    """The distance in the runs with ordinary inputs."""
    failures: tuple[str, ...] = ()
    where: Where | None = None
    """The place of the value, or of its node."""
    exceeded: str = ""
    """How it is outside the tolerance, "" where it is within or there is none."""
    faults: tuple[str, ...] = ()
    """What the runtime did instead of giving a value, or two values for the same inputs; each with the first run.

    Its process ended or hung, or it gave rubbish, no such value, another type or another shape.
    """
    classes: ClassRuns | None = None
    """What was done on class inputs, None in the other ways."""
    same_as: str = ""
    """The place of an equal node whose runs these are, "" for runs of its own."""

    @property
    def differs(self) -> bool:
        """Whether a bit differs, all NaNs being one value."""
        return self.distance is not None and self.distance.identical < self.distance.elements


class Optimization(NamedTuple):
    """What the optimizer of the runtime made of the model at a level, as `sonnx equivalent` answers.

    `first` and `second` name a pair of values that does not match, the first one in the order of the optimized graph;
    `operators` are those that make them.  A missing `answer` has the reason.
    """

    level: str
    answer: str
    nodes: int = 0
    first: str = ""
    second: str = ""
    operators: tuple[str, str] = ("", "")
    reason: str = ""


class BoundViolation(NamedTuple):
    """A bound that does not hold, as a sentence, and the value it does not hold for; None for the whole comparison."""

    sentence: str
    row: Row | None = None


@dataclass(frozen=True, slots=True)
class Comparison:
    """All rows of one model, in the order of its outputs and of its nodes."""

    model: str
    runtime: str
    edition: str
    unchecked: bool
    inputs: str
    runs: int
    rows: tuple[Row, ...]
    skipped: tuple[str, ...] = ()
    """Runs without exact values, each with the reason."""
    sha256: str = ""
    """The hash of the bytes of the model, "" if it was not requested."""
    ordinary_runs: int = 0
    """The runs with ordinary inputs that were compared."""
    hypotheses: str = ""
    """The hypotheses of the bounds that every value was compared with, "" for none."""
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
    """Whether the sign of a zero counts, and differences that an erratum or a possible overflow explains."""


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
        for each in sorted(row.classes.deviations, key=lambda each: each.packed):
            if (limits.zero_signs or not each.explained) and _counts(each.kind, row.distance, limits):
                inputs = "; ".join(each.inputs)
                yield (
                    f"{named} differs in {each.kind} at {list(each.at)}, class {each.name!r}: "
                    f"{each.found}, exact {each.exact}, for {inputs}"
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
