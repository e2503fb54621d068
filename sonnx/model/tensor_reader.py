"""The reader of constant tensors: values from any data field, in the layout of TensorProto.raw_data.

Messages are read through their attributes only; only `reader.py` and `writer.py` import protobuf.
"""

from __future__ import annotations

import re
import sys
from array import array
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from msgspec import Struct, field

from sonnx.model import wire_format
from sonnx.model.external_data import file_size
from sonnx.model.ir import DATA_FIELD, WIDTH, External, Tensor
from sonnx.model.limits import DEFAULT_LIMITS, Limits, enforce
from sonnx.model.type_reader import decoded_text, element_name
from sonnx.model.wire_format import Message

TYPE_CODE = {
    "int8": "b", "uint8": "B", "bool": "B", "int16": "h", "uint16": "H", "int32": "i", "int64": "q", "uint32": "I",
    "uint64": "Q", "float16": "H", "bfloat16": "H",
}  # fmt: skip
"""The type code of `array` for entries of a typed data field; 8-bit floats and packed types are bytes."""

LARGEST_ENTRY = {"bool": 1, "float6e2m3": 63, "float6e3m2": 63}
"""The largest entry of types that do not use the full width of their type code."""

EXTERNAL = 1
"""TensorProto.DataLocation.EXTERNAL."""

_FIELDS = ("float_data", "int32_data", "string_data", "int64_data", "double_data", "uint64_data", "external_data")


class Reader(Struct, frozen=True):
    """Reads the tensors of one file; `source` are its bytes, `elements` the names of element types by number."""

    source: memoryview
    elements: Mapping[int, str | None]
    limits: Limits = field(default_factory=lambda: DEFAULT_LIMITS)
    folder: Path | None = None
    """The folder of the model, None for bytes."""
    files: dict[str, int | str | None] = {}
    """The locations of external data so far, each with `External.file`."""

    def tensor(self, message: Message) -> Tensor:
        """The tensor a TensorProto describes."""
        enforce(self.limits, "dimensions", len(message.dims))
        element, away = element_name(self.elements, message.data_type), message.data_location == EXTERNAL
        stored = tuple(name for name in _FIELDS if getattr(message, name))
        data, count, misfit, strings = None, None, None, ()
        if message.HasField("raw_data"):
            stored += ("raw_data",)
            data = None if away else wire_format.resolve(message.raw_data, self.source)
        elif element == "string":
            strings = tuple(message.string_data[:])
            count = len(strings) if strings else None
        elif not away and DATA_FIELD.get(element or "") in stored:
            data, count, misfit = typed(message, element or "")
        return Tensor(
            name=decoded_text(message.name),
            element=element,
            dims=tuple(message.dims[:]),
            stored=stored,
            content=data,
            strings=strings,
            count=count,
            external=self._external(message) if away else None,
            segment=message.HasField("segment"),
            misfit=misfit,
            repeated_keys=repeated_keys(message),
        )

    def _external(self, message: Message) -> External:
        entries = tuple((decoded_text(entry.key), decoded_text(entry.value)) for entry in message.external_data)
        last = dict(entries)  # ONNX takes the last of several entries with one key
        location = last.get("location", "")
        if location not in self.files:
            enforce(self.limits, "external", len(self.files) + 1)
            self.files[location] = None if self.folder is None else file_size(self.folder, location)
        numbers = number(last.get("offset")), number(last.get("length"))
        return External(location, *numbers, entries, self.files[location], self.folder)


def repeated_keys(message: Message) -> tuple[str, ...]:
    """The keys that the metadata of a message have more than once."""
    entries = message.metadata_props
    if len(entries) < 2:
        return ()
    return tuple([key for key, many in Counter([decoded_text(entry.key) for entry in entries]).items() if many > 1])


def number(text: str | None) -> int | None:
    """The decimal number in a string; None where it is not a number, or larger than any file."""
    return int(text) if text and re.fullmatch("-?[0-9]{1,20}", text) else None


def typed(message: Message, element: str) -> tuple[memoryview, int, tuple[int, int] | None]:
    """The data, the number of elements and the first misfit (see `Tensor`) of the typed data field."""
    name = DATA_FIELD[element]
    entries = getattr(message, name)
    if name in ("float_data", "double_data"):
        return _packed(message, name), len(entries) // (2 if element.startswith("complex") else 1), None
    data, misfit = integers(entries[:], element)
    return data, len(entries) * {0.5: 2, 0.25: 4}.get(WIDTH[element], 1), misfit


def _packed(message: Message, name: str) -> memoryview:
    """The field as protobuf encodes it, which is the layout of raw_data.

    Python floats would change the bits of signalling NaNs, and take thirty times as long.
    """
    written = memoryview(message.SerializePartialToString())
    return wire_format.find(written, message.DESCRIPTOR.fields_by_name[name].number)


def integers(entries: Sequence[int], element: str) -> tuple[memoryview, tuple[int, int] | None]:
    """Entries in the width of the element type, little-endian, and the first misfit; a misfit keeps its low bits."""
    code = TYPE_CODE.get(element, "B")
    try:
        values, misfit = array(code, entries), None
    except OverflowError:
        values, misfit = _truncated(entries, code)
    if misfit is None and element in LARGEST_ENTRY:
        misfit = next(((index, value) for index, value in enumerate(values) if value > LARGEST_ENTRY[element]), None)
    if sys.byteorder == "big":
        values.byteswap()
    data = values.tobytes()
    return memoryview(_six_bits(data) if element.startswith("float6") else data), misfit


def _six_bits(entries: bytes) -> bytes:
    """The low six bits of each entry, four in three bytes, the first in the lowest bits."""
    padded = bytes(entry & 63 for entry in entries) + bytes(-len(entries) % 4)
    groups = (a | b << 6 | c << 12 | d << 18 for a, b, c, d in zip(*[iter(padded)] * 4, strict=True))
    return b"".join(group.to_bytes(3, "little") for group in groups)[: (len(entries) * 3 + 3) // 4]


def _truncated(entries: Sequence[int], code: str) -> tuple[array[int], tuple[int, int]]:
    bits = 8 * array(code).itemsize
    low = -(1 << bits - 1) if code.islower() else 0
    fitting = array(code, ((value - low) % (1 << bits) + low for value in entries))
    return fitting, next((index, value) for index, value in enumerate(entries) if value != fitting[index])
