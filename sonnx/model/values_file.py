"""Values of a model in a file beside it: which constants stand there, where, and how it is written.

A file of ONNX holds at most two gigabytes, so a model with more values has them in other files (ONNX IR, external
data).  The bytes are those of the constants, mapped and not copied.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import BinaryIO

from msgspec import Struct
from msgspec.structs import replace

from sonnx.model.ir import External, Model, Tensor

SMALLEST = 1024
"""Bytes of the smallest constant that stands in the other file; rules read smaller ones, such as shapes."""
ALIGNMENT = 4096
"""Where each constant begins, so that a runtime can map it."""
BLOCK = 1 << 20
ZEROS = bytes(BLOCK)


class ValuesFile(Struct, frozen=True):
    """The file: its name, and the bytes of each constant by its offset, in ascending order."""

    name: str
    parts: Sequence[tuple[int, memoryview]] = ()

    @property
    def size(self) -> int:
        """The bytes of the whole file."""
        return self.parts[-1][0] + len(self.parts[-1][1]) if self.parts else 0

    def write(self, file: BinaryIO) -> None:
        """Write it; where the values are zeros the file has a hole, if the system has such files."""
        for block, at in self._blocks():
            if bytes(block) != ZEROS[: len(block)]:
                file.seek(at)
                file.write(block)
        file.truncate(self.size)

    def _blocks(self) -> Iterator[tuple[memoryview, int]]:
        for offset, data in self.parts:
            for at in range(0, len(data), BLOCK):
                yield data[at : at + BLOCK], offset + at


def with_values_outside(model: Model, name: str) -> tuple[Model, ValuesFile]:
    """The model with its large initializers in another file of this name, and the file."""
    parts: list[tuple[int, memoryview]] = []
    initializers, end = [], 0
    for tensor in model.graph.initializers:
        data = tensor.data
        if data is None or len(data) < SMALLEST or tensor.segment or tensor.misfit is not None:
            initializers.append(tensor)
            continue
        offset = -(-end // ALIGNMENT) * ALIGNMENT
        parts.append((offset, data))
        end = offset + len(data)
        entries = (("location", name), ("offset", str(offset)), ("length", str(len(data))))
        outside = External(name, offset, len(data), entries)
        initializers.append(replace(tensor, content=None, stored=("external_data",), external=outside))
    return replace(model, graph=replace(model.graph, initializers=tuple(initializers))), ValuesFile(name, tuple(parts))


def with_values_inside(model: Model, file: ValuesFile) -> Model:
    """The model that was read from what was written, with the bytes of the other file."""
    data_at: Mapping[int, memoryview] = dict(file.parts)

    def inside(tensor: Tensor) -> Tensor:
        outside = tensor.external
        if outside is None or outside.location != file.name or outside.offset is None or outside.offset not in data_at:
            return tensor
        return replace(tensor, external=None, content=data_at[outside.offset], stored=("raw_data",))

    return replace(model, graph=replace(model.graph, initializers=tuple(map(inside, model.graph.initializers))))


def with_file_size(model: Model, file: ValuesFile) -> Model:
    """The same model with its values outside, where the file has the size that it will have when it is written."""

    def sized(tensor: Tensor) -> Tensor:
        outside = tensor.external
        return tensor if outside is None else replace(tensor, external=replace(outside, file=file.size))

    return replace(model, graph=replace(model.graph, initializers=tuple(map(sized, model.graph.initializers))))
