"""Runtimes with one planted defect each, as adapters of `sonnx compare --runtime tests.support.faulty_runtimes:NAME`.

All compute by `sonnx.run` and change what it gives.  `operators` are the node whose values are wrong.
"""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from typing import Any

import numpy
import onnx

import sonnx

SLEEP_SECONDS = 600


class Exact:
    """The exact values."""

    title = "exact"

    def load(self, model: bytes | Path, folder: Path | None) -> Any:
        """See `Runtime.load`."""
        data = model if isinstance(model, bytes) else model.read_bytes()
        operators = [node.op_type for node in onnx.ModelProto.FromString(data).graph.node]
        prepared = sonnx.prepare(data, unchecked=True)

        def run(inputs: Any) -> Any:
            found = prepared.run(inputs)
            return {name: self.changed(operators, values, [*inputs.values()]) for name, values in found.items()}

        return run

    def changed(self, operators: list[str], values: Any, inputs: list[Any]) -> Any:
        """What the runtime gives in place of the exact values."""
        return values


class NaNDroppedAtOnePlace(Exact):
    """The maximum does not see a NaN in the third element of the last axis."""

    def changed(self, operators: list[str], values: Any, inputs: list[Any]) -> Any:
        """See `Exact.changed`."""
        if operators != ["ReduceMax"] or inputs[0].shape[-1] < 3:
            return values
        seen = inputs[0].copy()
        seen[..., 2] = numpy.where(numpy.isnan(seen[..., 2]), -numpy.inf, seen[..., 2])
        return seen.max(-1, keepdims=True)


class LastOfATie(Exact):
    """Of equal greatest elements the last one is taken."""

    def changed(self, operators: list[str], values: Any, inputs: list[Any]) -> Any:
        """See `Exact.changed`."""
        x = inputs[0]
        if operators != ["ArgMax"] or numpy.isnan(x).any():
            return values
        return x.shape[-1] - 1 - x[..., ::-1].argmax(-1, keepdims=True)


class ZeroWithoutOrder(Exact):
    """Max(-0, +0) is the second operand."""

    def changed(self, operators: list[str], values: Any, inputs: list[Any]) -> Any:
        """See `Exact.changed`."""
        if operators != ["Max"] or len(inputs) != 2:
            return values
        return numpy.where((inputs[0] == 0) & (inputs[1] == 0), inputs[1], values)


class InfinityLost(Exact):
    """An infinity becomes the largest number."""

    def changed(self, operators: list[str], values: Any, inputs: list[Any]) -> Any:
        """See `Exact.changed`."""
        largest = numpy.finfo(numpy.float32).max
        return numpy.clip(values, -largest, largest) if values.dtype == numpy.float32 else values


class WrongType(Exact):
    """An output has another type."""

    def changed(self, operators: list[str], values: Any, inputs: list[Any]) -> Any:
        """See `Exact.changed`."""
        return values.astype(numpy.float64)


class WrongShape(Exact):
    """An output has another shape."""

    def changed(self, operators: list[str], values: Any, inputs: list[Any]) -> Any:
        """See `Exact.changed`."""
        return values.reshape(-1, 1, 1)


class NoType(Exact):
    """An output has a type that ONNX does not have."""

    def changed(self, operators: list[str], values: Any, inputs: list[Any]) -> Any:
        """See `Exact.changed`."""
        return values.astype("datetime64[s]")


class NotRepeated(Exact):
    """Every second call gives another value."""

    calls = 0

    def changed(self, operators: list[str], values: Any, inputs: list[Any]) -> Any:
        """See `Exact.changed`."""
        self.calls += 1
        return values + values.dtype.type(self.calls % 2)


class Crash(Exact):
    """The process ends at a NaN."""

    def changed(self, operators: list[str], values: Any, inputs: list[Any]) -> Any:
        """See `Exact.changed`."""
        if any(numpy.isnan(each).any() for each in inputs):
            os.kill(os.getpid(), signal.SIGSEGV)
        return values


class Hang(Exact):
    """It does not answer for a NaN."""

    def changed(self, operators: list[str], values: Any, inputs: list[Any]) -> Any:
        """See `Exact.changed`."""
        if any(numpy.isnan(each).any() for each in inputs):
            time.sleep(SLEEP_SECONDS)
        return values


class Rubbish(Exact):
    """It writes to every file that is open."""

    def changed(self, operators: list[str], values: Any, inputs: list[Any]) -> Any:
        """See `Exact.changed`."""
        for stream in range(1, 20):
            try:
                os.write(stream, b"\xff" * 64)
            except OSError:
                continue
        return values


class Prints(Exact):
    """It prints, which is no defect."""

    def changed(self, operators: list[str], values: Any, inputs: list[Any]) -> Any:
        """See `Exact.changed`."""
        print("hello")
        os.write(1, b"\xff" * 64)
        return values


class Raises(Exact):
    """It raises an exception of its own."""

    def changed(self, operators: list[str], values: Any, inputs: list[Any]) -> Any:
        """See `Exact.changed`."""
        raise RuntimeError("not today\nmore")


class Greedy(Exact):
    """It takes more memory than it may."""

    def changed(self, operators: list[str], values: Any, inputs: list[Any]) -> Any:
        """See `Exact.changed`."""
        numpy.ones(1 << 33, numpy.uint8)
        return values


class DiesAtLoad:
    """Its process ends while it is imported by its adapter."""

    title = "dies"

    def __init__(self) -> None:
        os._exit(3)
