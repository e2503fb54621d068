"""The plain binary form of cases for the harness in C, and the outputs that it writes.

`c/harness.c` describes the records.  The harness, the example of kernels and the cases of each operator stand in the
folder `c` of a suite.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator, Mapping
from math import prod
from pathlib import Path
from zlib import crc32

from msgspec import Struct

from sonnx.base.decoding import decoding
from sonnx.base.errors import NotExecutable
from sonnx.base.escaping import quote, shortened
from sonnx.base.files import whole_bytes
from sonnx.executor.runtimes import Failure, Fault
from sonnx.model.ir import WIDTH, Attribute, Model, Node, Tensor, ValueInfo, byte_size
from sonnx.model.reader import element_names, read
from sonnx.model.writer import element_number
from sonnx.numerics.constant_data import decode
from sonnx.numerics.formats import Array
from sonnx.suite.archive import StoredCase

FOLDER, SOURCES = "c", ("harness.h", "harness.c", "kernels.c")
CASES, OUTPUTS = ".cases", ".outputs"
FORMAT = 1
"""The version of both files; the harness reads and writes no other."""
HEADER, CASE, SET, BEGUN, GIVEN, REFUSED, END = range(1, 8)
"""The kinds of records."""
NOT_STATED = 0xFFFFFFFF
"""The rank of a value whose shape the model does not state, and the place of a value that is absent."""
MAX_OUTPUTS = 1 << 31
"""Bytes of a file of outputs that is read."""
MAX_SAID = 1000
"""Characters of a title or refusal that are kept."""
ATTRIBUTE_ELEMENTS = {"float": "float", "floats": "float", "int": "int64", "ints": "int64", "string": "string",
                      "strings": "string"}  # fmt: skip
HALVED = ("complex64", "complex128")
"""Types whose elements are two numbers."""


def harness_sources() -> dict[str, bytes]:
    """The sources of the harness, and the example of kernels, by their paths in a suite."""
    folder = Path(__file__).with_name(FOLDER)
    sources = {f"{FOLDER}/{name}": (folder / name).read_bytes() for name in SOURCES}
    return {**sources, f"{FOLDER}/types.h": _types().encode()}


def _types() -> str:
    """The table of element types for the compiler: the name, the number of ONNX, bits, bytes of a number in memory."""
    rows = [
        f"    TYPE({name.upper()}, {number}, {int(8 * WIDTH[name])}, {_unit(name)}) \\"
        for number, name in sorted(element_names().items())
        if name in WIDTH
    ]
    head = "/* Element types: name, number in ONNX, bits, bytes of a number whose order depends on the machine. */\n"
    return f"{head}#define SONNX_FORMAT {FORMAT}u\n#define SONNX_TYPES(TYPE) \\\n" + "\n".join([*rows, "", ""])


def _unit(element: str) -> int:
    """The bytes of a number in memory."""
    return max(1, int(WIDTH[element]) // (2 if element in HALVED else 1))


# ------------------------------------------------------------------ cases


def cases_file(operator: str, archive: str, stored_cases: Iterable[StoredCase]) -> bytes:
    """The conforming cases of an operator in the form that the harness reads.

    Args:
        operator: its name, which becomes that of the file of outputs.
        archive: the SHA-256 of the archive with the expected outputs.
        stored_cases: all cases of the operator; those that break a rule are left out.
    """
    records = [_record(HEADER, _text(archive) + _text(operator) + _number(FORMAT))]
    for stored in stored_cases:
        if not stored.case.sets:
            continue
        model = read(stored.model)
        records.append(_case(stored.case.id, model))
        for number in range(len(stored.case.sets)):
            inputs = stored.input_tensors(number)
            parts = _Parts(_number(SET) + _number(number))
            for operand in model.graph.inputs:
                parts.add_tensor(inputs[operand.name])
            records.append(parts.record())
    records.append(_record(END, b""))
    return b"".join(records)


class _Parts:
    """The bytes of a record, which begins with its kind."""

    def __init__(self, start: bytes) -> None:
        self.content = bytearray(start)

    def add(self, *numbers: int) -> None:
        for number in numbers:
            self.content += _number(number)

    def add_text(self, text: str) -> None:
        self.content += _text(text)

    def add_value(self, value: ValueInfo) -> None:
        """A value whose elements come later."""
        shape = value.type.shape
        extents = [extent for extent in shape or () if isinstance(extent, int)]
        stated = shape is not None and len(extents) == len(shape)
        self.add(element_number(value.type.element), len(extents) if stated else NOT_STATED)
        for extent in extents if stated else ():
            self.content += struct.pack("<q", extent)
        self.add(0)

    def add_tensor(self, tensor: Tensor) -> None:
        self.add(element_number(tensor.element), len(tensor.dims))
        for extent in tensor.dims:
            self.content += struct.pack("<q", extent)
        self.add(1)
        if tensor.element == "string":
            for string in tensor.strings:
                self.content += _padded_text(string)
        else:
            self.content += bytes(-len(self.content) % 8) + bytes(tensor.data or b"")
            self.content += bytes(-len(self.content) % 4)

    def record(self) -> bytes:
        content = bytes(self.content) + bytes(-len(self.content) % 8)
        return _number(len(content)) + _number(crc32(content)) + content


def _case(name: str, model: Model) -> bytes:
    """A model: its values by number, those that are inputs and outputs, and its nodes."""
    parts, graph = _Parts(_number(CASE) + _text(name)), model.graph
    declared = (*graph.inputs, *graph.value_info, *graph.outputs)
    values: dict[str, Tensor | ValueInfo] = {value.name: value for value in declared}
    values |= {initializer.name: initializer for initializer in graph.initializers}
    places = {value: place for place, value in enumerate(values)}
    parts.add(len(values))
    for value in values.values():
        parts.add_tensor(value) if isinstance(value, Tensor) else parts.add_value(value)
    for listed in (graph.inputs, graph.outputs):
        parts.add(len(listed), *(places[value.name] for value in listed))
    parts.add(len(graph.nodes))
    versions = {imported.domain: imported.version or 0 for imported in model.imports}
    for node in graph.nodes:
        _add_node(parts, node, versions[node.domain], places)
    return parts.record()


def _add_node(parts: _Parts, node: Node, version: int, places: Mapping[str, int]) -> None:
    parts.add_text(node.operator)
    parts.add(version, len(node.attributes))
    for attribute in node.attributes:
        parts.add_text(attribute.name)
        parts.add_tensor(_as_tensor(attribute))
    for names in (node.inputs, node.outputs):
        parts.add(len(names), *(places.get(name, NOT_STATED) for name in names))


def _as_tensor(attribute: Attribute) -> Tensor:
    """An attribute as a tensor: of rank 1 for a list, of rank 0 for a number or text.

    Raises:
        NotExecutable: it is of another kind, as no operator of the profile has it.
    """
    if isinstance(attribute.value, Tensor):
        return attribute.value
    element = ATTRIBUTE_ELEMENTS.get(attribute.kind)
    if element is None:
        raise NotExecutable(f"the attribute {quote(attribute.name)} is of kind {attribute.kind}")
    items = attribute.items
    dims = (len(items),) if attribute.kind.endswith("s") else ()
    if element == "string":
        strings = tuple(str(item).encode("utf-8", "surrogateescape") for item in items)
        return Tensor(attribute.name, element, dims, ("string_data",), strings=strings)
    data = struct.pack(f"<{len(items)}{'f' if element == 'float' else 'q'}", *items)
    return Tensor(attribute.name, element, dims, ("raw_data",), memoryview(data))


def _number(value: int) -> bytes:
    return struct.pack("<I", value)


def _text(text: str) -> bytes:
    return _padded_text(text.encode("utf-8", "surrogateescape"))


def _padded_text(text: bytes) -> bytes:
    """The length, the bytes, and from one to four zeros."""
    return _number(len(text)) + text + bytes(4 - len(text) % 4)


def _record(kind: int, content: bytes) -> bytes:
    return _Parts(_number(kind) + content).record()


# ------------------------------------------------------------------ outputs


class HarnessOutputs(Struct, frozen=True):
    """What a harness gave for the cases of an operator."""

    implementation: str
    """The name that it gives the implementation."""
    archive: str
    """The SHA-256 of the archive whose cases it ran."""
    is_whole: bool
    """It came to the end of the cases."""
    answers: Mapping[tuple[str, int], dict[int, Array] | Failure]
    """By case and data set the outputs, or why there are none."""


def read_outputs(path: Path) -> HarnessOutputs:
    """What a harness wrote.

    Raises:
        BadInput: the file is damaged before its end; an end that is missing is no error, as the process may have ended.
        OSError: it cannot be read.
    """
    answers: dict[tuple[str, int], dict[int, Array] | Failure] = {}
    implementation = archive = ""
    is_whole = False
    content = whole_bytes(path, MAX_OUTPUTS)
    with decoding(path, "a file of outputs of the harness"):
        for place, record in enumerate(_records(content)):
            kind, name = record.number(), record.text()
            if (kind == HEADER) != (place == 0):
                raise ValueError("its first record, and no other, is a header")
            if kind == HEADER:
                archive, implementation = name, shortened(record.text(), MAX_SAID)
            elif kind == END:
                is_whole = True
                break
            else:
                key = name, record.number()
                answers[key] = _answer(kind, record)
        if not archive:
            raise ValueError("it has no header")
    return HarnessOutputs(implementation, archive, is_whole, answers)


def _answer(kind: int, record: _Record) -> dict[int, Array] | Failure:
    if kind == BEGUN:
        return Fault("its process ended")
    if kind == REFUSED:
        return Failure(shortened(record.text(), MAX_SAID))
    if kind != GIVEN:
        raise ValueError(f"it has a record of kind {kind}")
    outputs = {}
    for place in range(record.number()):
        tensor = record.tensor()
        if tensor is not None:
            outputs[place] = decode(tensor, None)
    return outputs


class _Record:
    """The content of a record, read from its begin.

    Raises:
        ValueError: in every method: the record ends early.
    """

    def __init__(self, content: memoryview) -> None:
        self.content, self.at = content, 0

    def part(self, size: int) -> memoryview:
        if not 0 <= size <= len(self.content) - self.at:
            raise ValueError("a record ends early")
        self.at += size
        return self.content[self.at - size : self.at]

    def number(self) -> int:
        return int.from_bytes(self.part(4), "little")

    def string(self) -> bytes:
        length = self.number()
        string = bytes(self.part(length))
        self.part(4 - length % 4)
        return string

    def text(self) -> str:
        return self.string().decode("utf-8", "replace")

    def tensor(self) -> Tensor | None:
        """A tensor; None where the output is missing."""
        element, rank = element_names().get(self.number()), self.number()
        dims = tuple(int.from_bytes(self.part(8), "little", signed=True) for _ in range(rank))
        if not self.number() or element is None:
            return None
        if min(dims, default=0) < 0:
            raise ValueError("an output has a negative extent")
        if element == "string":
            strings = tuple(self.string() for _ in range(prod(dims)))
            return Tensor("", element, dims, ("string_data",), strings=strings)
        size = byte_size(element, dims)
        if size is None:
            raise ValueError("a record ends early")
        self.part(-self.at % 8)
        data = self.part(size)
        self.part(-self.at % 4)
        return Tensor("", element, dims, ("raw_data",), data)


def _records(content: bytes) -> Iterator[_Record]:
    """The whole records of a file, in their order.

    Raises:
        ValueError: one of them was damaged.
    """
    at, place, view = 0, 0, memoryview(content)
    while len(content) - at >= 8:
        size, crc = struct.unpack_from("<II", content, at)
        record = view[at + 8 : at + 8 + size]
        if len(record) < size:
            return
        if crc32(record) != crc:
            raise ValueError(f"record {place} is damaged")
        yield _Record(record)
        at, place = at + 8 + size, place + 1
