"""What `sonnx bound --format json` prints; bounds.schema.json beside this file is made from it."""

from __future__ import annotations

import numpy as np
from msgspec import convert

from sonnx.bounds.box import Interval
from sonnx.bounds.result import Bounds, Decision, Tensor
from sonnx.profile.text_types import EditionName, Number, Sha256
from sonnx.report.json_parts import JsonDocument, Part, dumps, part, tool

MAX_ELEMENTS = 64
"""Elements of a tensor that are listed one by one."""


class FunctionPart(Part, frozen=True):
    """The error of a function: absolute + ulp * unit in the last place."""

    ulp: float
    """Units in the last place of the value."""
    absolute: float
    """The absolute part."""


class HypothesesPart(Part, frozen=True):
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
    functions: dict[str, FunctionPart]
    """The error of each function; default for all others."""
    excludes: tuple[str, ...]
    """Implementations that are excluded."""
    measured: dict[str, tuple[str, ...]]
    """The versions of runtimes with which they were measured; empty where they state a requirement."""


class InputPart(Part, frozen=True):
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


class ElementPart(Part, frozen=True):
    """One element of a tensor."""

    low: float
    """The least ideal value."""
    high: float
    """The largest ideal value."""
    introduced: float
    """What the roundings of the tensor's own node add to the error."""
    error: float
    """How far a computed value can be from the ideal one."""


class TensorPart(Part, frozen=True):
    """The bounds of a tensor; the figures are null where it has no bounds or no elements."""

    name: str
    """Its name."""
    node: str
    """The node that makes it, empty for an input."""
    element: str
    """Its element type."""
    shape: tuple[Number, ...]
    """Its shape."""
    output: bool
    """Whether it is a graph output."""
    unbounded: str | None
    """Why nothing is known; null where something is."""
    low: float | None
    """The least ideal value of an element."""
    high: float | None
    """The largest ideal value of an element."""
    introduced: float | None
    """The largest introduced error."""
    propagated: float | None
    """The largest propagated error."""
    error: float | None
    """The largest error."""
    elements: tuple[ElementPart, ...] | None
    """Each element, if there are at most 64."""


class ConditionPart(Part, frozen=True):
    """A condition on values at run time."""

    node: str
    """The node."""
    condition: str
    """What is demanded."""
    holds: bool
    """Whether it is shown for each input of the box."""
    detail: str
    """The figures behind it."""


class DecisionPart(Part, frozen=True):
    """A difference of two elements of the first output, or its largest element."""

    what: str
    """What is decided."""
    low: float | None
    """The least ideal difference; null if there is no bound."""
    high: float | None
    """The largest ideal difference; null if there is no bound."""
    error: float | None
    """The error of the computed difference; null if there is no bound."""
    same: bool
    """Whether every implementation decides as real arithmetic does."""


class SharePart(Part, frozen=True):
    """The share of a node in the error of the worst output element."""

    node: str
    """The node."""
    share: float
    """Its share, from 0 to 1."""


class SplitPart(Part, frozen=True):
    """The bisection of the box."""

    boxes: Number
    """Parts of the box."""
    volume: float
    """The share of the volume on which what is asked is shown."""
    finished: bool
    """Whether it is shown on the whole box, or nothing is asked."""
    text: str
    """The same as a sentence."""


class BoundsDocument(JsonDocument, frozen=True):
    """Ranges and errors of a model on a box: sonnx bound --format json."""

    model: str
    """The base name of the file."""
    edition: EditionName | None
    """The edition the model conforms to; null where it was not checked."""
    hypotheses: HypothesesPart
    """What is assumed of implementations."""
    sha256: Sha256 | None
    """The hash of the model file, null where the model was not read from bytes."""
    files: dict[str, Sha256]
    """The hashes of the other files that were read, by name: those of the box, and constants beside the model."""
    box: dict[str, InputPart]
    """The box of each input that was analysed."""
    tensors: tuple[TensorPart, ...]
    """The outputs, or with --every-node every tensor."""
    conditions: tuple[ConditionPart, ...]
    """The conditions on values at run time."""
    decisions: tuple[DecisionPart, ...]
    """The decisions that were asked about."""
    shares: tuple[SharePart, ...]
    """The shares of the nodes in the error, largest first."""
    coarse: tuple[str, ...]
    """The values that keep their forward errors, because the adjoint pass would follow too many numbers."""
    split: SplitPart | None
    """What a bisection showed; null where there was none."""
    holds: bool
    """Whether every tensor has bounds, and everything asked is shown."""


def render(bounds: Bounds, every_node: bool) -> str:
    """The bounds as one JSON document."""
    return dumps(
        part(
            BoundsDocument, bounds, format=1, tool=tool(), edition=bounds.edition if bounds.checked else None,
            hypotheses=convert(bounds.hypotheses.as_json(), HypothesesPart),
            sha256=bounds.sha256 or None, files=dict(bounds.files),
            box={name: _input(each) for name, each in bounds.box.items()},
            tensors=tuple(map(_tensor, bounds.listed(every_node))),
            conditions=tuple(
                part(ConditionPart, each, condition=each.name, holds=bool(each.holds)) for each in bounds.conditions
            ),
            decisions=tuple(map(_decision, bounds.decisions)),
            shares=tuple(SharePart(node, float(share)) for node, share in bounds.shares),
            split=None if bounds.split is None else convert(bounds.split, SplitPart),
            holds=bool(bounds.holds),
        )
    )  # fmt: skip


def _number(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None


def _input(interval: Interval) -> InputPart:
    low, high = interval.low, interval.high
    least, largest = (float(low.min()), float(high.max())) if low.size else (None, None)
    listed = tuple(zip(low.reshape(-1).tolist(), high.reshape(-1).tolist(), strict=True))
    return InputPart(
        low.shape, least, largest, interval.is_point, interval.is_same, listed if low.size <= MAX_ELEMENTS else None,
        interval.sha256,
    )  # fmt: skip


def _decision(made: Decision) -> DecisionPart:
    return DecisionPart(made.what, _number(made.low), _number(made.high), _number(made.error), bool(made.same))


def _tensor(tensor: Tensor) -> TensorPart:
    known = not tensor.unbounded and tensor.low.size > 0
    largest = {name: getattr(tensor, name) for name in ("high", "introduced", "propagated", "error")}
    elements = (each.reshape(-1).tolist() for each in (tensor.low, tensor.high, tensor.introduced, tensor.error))
    return part(
        TensorPart, tensor, shape=tensor.low.shape, output=tensor.is_output,
        low=float(tensor.low.min()) if known else None,
        **{name: float(values.max()) if known else None for name, values in largest.items()},
        elements=tuple(ElementPart(*each) for each in zip(*elements, strict=True))
        if known and tensor.low.size <= MAX_ELEMENTS else None,
    )  # fmt: skip
