"""The parts of a box, and their form as JSON, which `--resume` keeps and processes exchange."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from math import prod
from typing import Any

import numpy as np
from msgspec import Struct, convert, to_builtins

from sonnx.bounds.box import Box, Interval
from sonnx.bounds.result import DecisionBounds, TensorBounds
from sonnx.numerics.formats import Array


@dataclass(frozen=True, eq=False)
class SubBox:
    """A part of the box with what is known of the first output there."""

    box: Box
    volume: float
    output: TensorBounds
    decisions: tuple[DecisionBounds, ...]
    sensitivity: Mapping[str, Array]
    path: str = ""
    """How it comes from the whole box: a "0" or "1" for each time that the lower or upper half was taken."""


def is_whole(parts: Iterable[SubBox]) -> bool:
    """Whether parts are the leaves of one tree of halves, so that together they are the whole box."""
    paths = sorted(part.path for part in parts)
    depth = max(map(len, paths), default=0)
    apart = all(not after.startswith(before) for before, after in pairwise(paths))
    return apart and sum(1 << depth - len(path) for path in paths) == 1 << depth


class _Numbers(Struct, frozen=True, array_like=True):
    """An array of float64; its bytes are in the order of this machine's numbers, little-endian."""

    shape: tuple[int, ...]
    data: bytes


class _Decision(Struct, frozen=True, array_like=True):
    what: str
    low: str
    high: str
    error: str
    same: bool


class _Part(Struct, frozen=True, array_like=True):
    path: str
    volume: str
    box: dict[str, tuple[_Numbers, _Numbers]]
    output: dict[str, _Numbers]
    texts: tuple[str, str, str, str]
    """Of the output: its name, node, element type, and why it is unbounded."""
    decisions: tuple[_Decision, ...]
    sensitivity: dict[str, _Numbers]


OUTPUT = ("low", "high", "introduced", "error")
"""The arrays of the output of a part."""


def encoded_part(part: SubBox) -> Any:
    """A part as JSON; numbers of decisions are exact, as hexadecimal text."""
    output = part.output
    return to_builtins(_Part(
        part.path,
        part.volume.hex(),
        {name: (_numbers(interval.low), _numbers(interval.high)) for name, interval in part.box.items()},
        {name: _numbers(getattr(output, name)) for name in OUTPUT},
        (output.name, output.node, output.element, output.unbounded),
        tuple(map(_decision, part.decisions)),
        {name: _numbers(array) for name, array in part.sensitivity.items()},
    ))  # fmt: skip


def decoded_part(data: Any) -> SubBox:
    """The part from which `encoded_part` made the data.

    Raises:
        ValueError: they are not of a part.
    """
    part = convert(data, _Part)
    if set(part.output) != set(OUTPUT) or set(part.path) - {"0", "1"}:
        raise ValueError("not a part of a box")
    name, node, element, unbounded = part.texts
    ends = {kind: _array(numbers) for kind, numbers in part.output.items()}
    output = TensorBounds(name, node, element, **ends, is_output=True, unbounded=unbounded)
    decisions = tuple(map(_decision_bounds, part.decisions))
    box = {key: Interval(_array(low), _array(high)) for key, (low, high) in part.box.items()}
    weights = {key: _array(numbers) for key, numbers in part.sensitivity.items()}
    return SubBox(box, float.fromhex(part.volume), output, decisions, weights, part.path)


def _decision(decision: DecisionBounds) -> _Decision:
    low, high, error = (float(number).hex() for number in (decision.low, decision.high, decision.error))
    return _Decision(decision.what, low, high, error, decision.same)


def _decision_bounds(decision: _Decision) -> DecisionBounds:
    low, high, error = map(float.fromhex, (decision.low, decision.high, decision.error))
    return DecisionBounds(decision.what, low, high, error, decision.same)


def _numbers(array: Array) -> _Numbers:
    return _Numbers(array.shape, np.ascontiguousarray(array, "<f8").tobytes())


def _array(numbers: _Numbers) -> Array:
    if min(numbers.shape, default=0) < 0 or prod(numbers.shape) * 8 != len(numbers.data):
        raise ValueError("another number of elements than the shape has")
    return np.frombuffer(bytearray(numbers.data), "<f8").reshape(numbers.shape)
