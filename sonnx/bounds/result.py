"""The bounds of a model as data: for each tensor its ranges and errors, the conditions, the decisions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated
from urllib.parse import quote

import numpy as np
from msgspec import Struct, convert, field
from msgspec.structs import replace

from sonnx.base.reported import ABSENT_IF_EMPTY, HIDDEN, OptionalText, SecondResult, reported, reported_as
from sonnx.bounds.box import Box, Interval
from sonnx.checker.conditions import MODEL, Conditions
from sonnx.executor.tensor_files import can_be_an_entry, write_npz
from sonnx.numerics.enclosures.hypotheses import Hypotheses
from sonnx.numerics.enclosures.values import Condition
from sonnx.numerics.formats import Array
from sonnx.profile.text_types import EditionName, Number, Sha256

MAX_ELEMENTS = 64
"""Elements of a tensor that are listed one by one."""


class BoundedElement(Struct, frozen=True):
    """One element of a tensor."""

    low: float
    """The least ideal value."""
    high: float
    """The largest ideal value."""
    introduced: float
    """What the roundings of the tensor's own node add to the error."""
    error: float
    """How far a computed value can be from the ideal one."""


class TensorBounds(Struct, frozen=True, eq=False):
    """The bounds of a tensor; the figures are null where it has no bounds or no elements."""

    name: str
    """Its name."""
    node: str
    """The node that makes it, empty for an input."""
    element: str
    """Its element type."""
    low: Annotated[Array, HIDDEN]
    """The least ideal value of each element."""
    high: Annotated[Array, HIDDEN]
    """The largest ideal value of each element."""
    introduced: Annotated[Array, HIDDEN]
    """What the roundings of the tensor's own node add to the error of each element."""
    error: Annotated[Array, HIDDEN]
    """How far the computed value of each element can be from the ideal one within the hypotheses."""
    is_output: bool = field(default=False, name="output")
    """Whether it is a graph output."""
    unbounded: OptionalText = ""
    """Why nothing is known; null where something is."""

    @property
    def propagated(self) -> Array:
        """What is left of the error without the part introduced by the node, at least 0."""
        return np.asarray(np.maximum(self.error - self.introduced, 0.0))

    @property
    def largest_error(self) -> float:
        """The error of the worst element."""
        return float(self.error.max(initial=0.0)) if not self.unbounded else np.inf

    @property
    @reported
    def shape(self) -> tuple[Number, ...]:
        """Its shape."""
        return tuple(self.low.shape)

    @property
    @reported_as("low")
    def least(self) -> float | None:
        """The least ideal value of an element."""
        return float(self.low.min()) if self._is_known else None

    @property
    @reported_as("high")
    def largest(self) -> float | None:
        """The largest ideal value of an element."""
        return self._largest(self.high)

    @property
    @reported_as("introduced")
    def most_introduced(self) -> float | None:
        """The largest introduced error."""
        return self._largest(self.introduced)

    @property
    @reported_as("propagated")
    def most_propagated(self) -> float | None:
        """The largest propagated error."""
        return self._largest(self.propagated)

    @property
    @reported_as("error")
    def most_error(self) -> float | None:
        """The largest error."""
        return self._largest(self.error)

    @property
    @reported
    def vacuous(self) -> Number:
        """How many elements have an error that is larger than each ideal value of the tensor: the bound says nothing
        about them.
        """
        if not self._is_known:
            return 0
        largest = np.maximum(np.abs(self.low), np.abs(self.high)).max()
        return int(np.count_nonzero(self.error > largest))

    @property
    @reported
    def elements(self) -> tuple[BoundedElement, ...] | None:
        """Each element, if there are at most 64."""
        if not self._is_known or self.low.size > MAX_ELEMENTS:
            return None
        rows = (array.reshape(-1).tolist() for array in (self.low, self.high, self.introduced, self.error))
        return tuple(BoundedElement(*row) for row in zip(*rows, strict=True))

    @property
    def _is_known(self) -> bool:
        return not self.unbounded and self.low.size > 0

    def _largest(self, values: Array) -> float | None:
        return float(values.max()) if self._is_known else None


class DecisionBounds(Struct, frozen=True):
    """A difference of two elements of the first output, or its largest element."""

    what: str
    """What is decided."""
    low: Annotated[float, HIDDEN]
    high: Annotated[float, HIDDEN]
    error: Annotated[float, HIDDEN]
    same: bool
    """Whether every implementation decides as real arithmetic does."""

    @property
    @reported_as("low")
    def finite_low(self) -> float | None:
        """The least ideal difference; null if there is no bound."""
        return _finite(self.low)

    @property
    @reported_as("high")
    def finite_high(self) -> float | None:
        """The largest ideal difference; null if there is no bound."""
        return _finite(self.high)

    @property
    @reported_as("error")
    def finite_error(self) -> float | None:
        """The error of the computed difference; null if there is no bound."""
        return _finite(self.error)


def _finite(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None


class FunctionError(Struct, frozen=True):
    """The error of a function: absolute + ulp * unit in the last place."""

    ulp: float
    """Units in the last place of the value."""
    absolute: float
    """The absolute part."""


class StatedHypotheses(Struct, frozen=True):
    """What is assumed of implementations."""

    name: str
    """The name of the hypotheses."""
    statement: str
    """What they say, as a sentence."""
    order: str
    """The order of sums: any, pairwise, lanes with their number, or once."""
    fused: bool
    """Whether a product and a sum may be rounded once."""
    flush: bool
    """Whether subnormal numbers may become zero."""
    running: bool
    """Whether a sum over neighbouring channels may be carried from one channel to the next."""
    accumulator: dict[str, str]
    """The format of sums by element type, where it is another one."""
    functions: dict[str, FunctionError]
    """The error of each function; default for all others."""
    excludes: tuple[str, ...]
    """Implementations that are excluded."""
    measured: dict[str, tuple[str, ...]]
    """The versions of runtimes with which they were measured; empty where they state a requirement."""


class InputBox(Struct, frozen=True):
    """The box of an input."""

    shape: tuple[Number, ...]
    """Its shape."""
    low: float | None
    """The least lower end of an element; null without elements."""
    high: float | None
    """The largest upper end of an element; null without elements."""
    point: bool
    """Whether each interval is a point."""
    same: bool
    """Whether each element has the interval from low to high."""
    intervals: tuple[tuple[float, float], ...] | None
    """The lower and the upper end of each element, row by row, if there are at most 64."""
    sha256: Sha256
    """The hash of all lower ends, then all upper ends, row by row, as float64 in little endian."""

    @classmethod
    def of(cls, interval: Interval) -> InputBox:
        """The figures of the range of an input."""
        low, high = interval.low, interval.high
        least, largest = (float(low.min()), float(high.max())) if low.size else (None, None)
        pairs = tuple(zip(low.reshape(-1).tolist(), high.reshape(-1).tolist(), strict=True))
        listed = pairs if low.size <= MAX_ELEMENTS else None
        return cls(low.shape, least, largest, interval.is_point, interval.is_same, listed, interval.sha256)


class RunTimeCondition(Struct, frozen=True):
    """A condition on values at run time."""

    node: str
    """The node."""
    condition: str
    """What is demanded."""
    holds: bool
    """Whether it is shown for each input of the box."""
    detail: str
    """The figures behind it."""


class ErrorShare(Struct, frozen=True):
    """The share of a node in the error of the worst output element."""

    node: str
    """The node."""
    share: float
    """Its share, from 0 to 1."""


class SplitResult(Struct, frozen=True):
    """The bisection of the box."""

    boxes: Number
    """Parts of the box."""
    volume: float
    """The share of the volume on which what is asked is shown."""
    finished: bool
    """Whether it is shown on the whole box, or nothing is asked."""
    text: str
    """The same as a sentence."""


class Bounds(SecondResult, frozen=True, eq=False):
    """Ranges and errors of a model on a box: sonnx bound --format json."""

    model: str
    """The base name of the file."""
    conditions: Conditions
    """What the bounds hold for."""
    hypotheses: Annotated[Hypotheses, HIDDEN]
    tensors: Annotated[tuple[TensorBounds, ...], HIDDEN]
    met: Annotated[tuple[Condition, ...], HIDDEN]
    """The conditions on values at run time that were looked at."""
    decisions: tuple[DecisionBounds, ...]
    """The decisions that were asked about."""
    box: Annotated[Box, HIDDEN]
    shares: Annotated[tuple[tuple[str, float], ...], HIDDEN]
    """The share of each node in the error of the worst output element, largest first."""
    split: SplitResult | None = None
    """What a bisection showed; null where there was none."""
    max_error: Annotated[float | None, HIDDEN] = None
    """What the error of the first output must not exceed."""
    attained: float | None = None
    """The share of the largest error of the first output that roundings reach in a run at the centre of the box, each
    as large as the hypotheses allow and in the direction that moves the output most; null where there is no such run.
    """
    not_run: tuple[str, ...] = ()
    """The nodes whose form of the operator was not run in the runtime that the hypotheses are about: that it reads them
    as they are defined is assumed.
    """
    coarse: tuple[str, ...] = ()
    """The values that keep their forward errors, because the adjoint pass would follow too many numbers."""
    files: Mapping[str, Sha256] = {}
    """The hashes of the other files that were read, by name: those of the box, and constants beside the model."""
    every_node: Annotated[bool, HIDDEN] = True
    """Whether the JSON has every tensor, not only the outputs."""

    @property
    @reported_as("edition")
    def checked_edition(self) -> EditionName | None:
        """The edition the model conforms to; null where it was not checked."""
        return self.conditions.edition if self.conditions.checked else None

    @property
    @reported
    def sha256(self) -> Annotated[Sha256, ABSENT_IF_EMPTY]:
        """The hash of the model file, null where the model was not read from bytes."""
        return self.conditions.digests.get(MODEL, "")

    @property
    @reported_as("hypotheses")
    def stated_hypotheses(self) -> StatedHypotheses:
        """What is assumed of implementations."""
        return convert(self.hypotheses.as_json(), StatedHypotheses)

    @property
    @reported_as("box")
    def input_boxes(self) -> dict[str, InputBox]:
        """The box of each input that was analysed."""
        return {name: InputBox.of(interval) for name, interval in self.box.items()}

    @property
    @reported_as("tensors")
    def listed_tensors(self) -> tuple[TensorBounds, ...]:
        """The outputs, or with --every-node every tensor."""
        return tuple(self.listed(self.every_node))

    @property
    @reported
    def run_time_conditions(self) -> tuple[RunTimeCondition, ...]:
        """The conditions on values at run time."""
        return tuple(RunTimeCondition(one.node, one.name, bool(one.holds), one.detail) for one in self.met)

    @property
    @reported_as("shares")
    def error_shares(self) -> tuple[ErrorShare, ...]:
        """The shares of the nodes in the error, largest first."""
        return tuple(ErrorShare(node, float(share)) for node, share in self.shares)

    @property
    @reported
    def holds(self) -> bool:
        """Whether every tensor has bounds, and everything asked is shown."""
        split = self.split is None or self.split.finished
        bounded = not any(tensor.unbounded for tensor in self.tensors)
        return bounded and all(decision.same for decision in self.decisions) and split

    def exit_code(self, *, every_node: bool = False) -> int:
        """0 if every listed tensor has bounds and everything asked is shown, else 3."""
        if self.max_error is not None and any(output.largest_error > self.max_error for output in self.outputs[:1]):
            return 3
        return 0 if replace(self, tensors=tuple(self.listed(every_node))).holds else 3

    def __getitem__(self, name: str) -> TensorBounds:
        """The tensor of a name."""
        return next(tensor for tensor in self.tensors if tensor.name == name)

    @property
    def attained_in_words(self) -> str:
        """How good the largest error of the first output is; "" where that is not known."""
        if not self.attained:
            return ""
        times = f"{1 / self.attained:.3g}" if self.attained > 2.0**-10 else "more than 1000"
        return (
            f"within {times} times what the hypotheses allow: roundings in the worst directions reach "
            f"{self.attained:.1%} of the largest error of the first output"
        )

    def vacuous(self, every_node: bool = False) -> tuple[TensorBounds, ...]:
        """The listed tensors with elements about which their bounds say nothing."""
        return tuple(tensor for tensor in self.listed(every_node) if tensor.vacuous)

    @property
    def outputs(self) -> tuple[TensorBounds, ...]:
        """The tensors of the graph outputs."""
        return tuple(tensor for tensor in self.tensors if tensor.is_output)

    def listed(self, every_node: bool) -> Iterator[TensorBounds]:
        """The outputs, or every tensor."""
        return iter(self.tensors if every_node else self.outputs)

    def arrays(self) -> dict[str, Array]:
        """All bounds by name, for an .npz file: NAME.low, NAME.high, NAME.introduced, NAME.error.

        A name that would be unpacked in another folder has `/` and other characters as %2F.
        """
        return {
            f"{_entry_name(tensor.name)}.{part}": np.ascontiguousarray(getattr(tensor, part))
            for tensor in self.tensors if not tensor.unbounded
            for part in ("low", "high", "introduced", "error")
        }  # fmt: skip

    def write_arrays(self, path: Path) -> None:
        """Write all bounds to an .npz file.

        Raises:
            OSError: the file cannot be written.
        """
        write_npz(path, self.arrays())


def _entry_name(name: str) -> str:
    return name if can_be_an_entry(name) else quote(name, safe="", errors="surrogateescape")
