"""What a model file states, as frozen data.

`parse.py` makes these from bytes; nothing here knows protobuf.  Names are text as the file has it
(bytes that are no UTF-8 stand as lone surrogates, see PEP 383); nothing is judged here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, fields, make_dataclass
from typing import Any, TypeAlias, TypeVar

Dimension = int | str | None
"""A number, a symbol, or nothing stated."""

Shape = tuple[Dimension, ...]

WIDTH = {
    "float": 4, "uint8": 1, "int8": 1, "uint16": 2, "int16": 2, "int32": 4, "int64": 8, "bool": 1,
    "float16": 2, "double": 8, "uint32": 4, "uint64": 8, "complex64": 8, "complex128": 16, "bfloat16": 2,
    "float8e4m3fn": 1, "float8e4m3fnuz": 1, "float8e5m2": 1, "float8e5m2fnuz": 1, "float8e8m0": 1,
    "uint4": 0.5, "int4": 0.5, "float4e2m1": 0.5, "uint2": 0.25, "int2": 0.25,
    "float6e2m3": 0.75, "float6e3m2": 0.75,
}  # fmt: skip
"""Bytes per element of each element type of fixed width (ONNX IR, TensorProto.raw_data)."""


def byte_size(element: str, dims: tuple[int, ...]) -> int | None:
    """The bytes of a constant in raw_data, None where they are more than any file holds.

    Elements of fewer than eight bits are packed; the last byte is filled up.
    """
    if 0 in dims:
        return 0
    bits = int(WIDTH[element] * 8)
    for extent in dims:
        bits *= extent
        if bits > 1 << 80:
            return None
    return (bits + 7) // 8


DATA_FIELD = {
    "float": "float_data", "complex64": "float_data", "double": "double_data", "complex128": "double_data",
    "int64": "int64_data", "uint32": "uint64_data", "uint64": "uint64_data", "string": "string_data",
}  # fmt: skip
DATA_FIELD |= dict.fromkeys(WIDTH.keys() - DATA_FIELD.keys(), "int32_data")
"""The typed data field the values of each element type stand in, if not in raw_data (onnx.proto, TensorProto)."""


@dataclass(frozen=True, slots=True)
class Type:
    """The type of a value: kind, element type, shape.

    `kind` is one of: tensor, sparse tensor, sequence, optional, map, opaque, not stated.
    `element` is the ONNX name of the element type in lower case, None where it is undefined or not stated, "type 99"
    where ONNX names no type of that number.
    `shape` is None where the shape field is absent; () is rank 0.
    `holds_sparse` is true where a sparse tensor type stands anywhere inside.
    `denotations` are those of the dimensions, "" where one has none; () where none has one.
    """

    kind: str = "not stated"
    element: str | None = None
    shape: Shape | None = None
    holds_sparse: bool = False
    denotations: tuple[str, ...] = ()


NOT_STATED = Type()


@dataclass(frozen=True, slots=True)
class Value:
    """A graph input, a graph output, or an entry of value_info."""

    name: str
    type: Type


@dataclass(frozen=True, slots=True)
class External:
    """The description of values that stand in another file; numbers as written, None where absent or no number."""

    location: str
    offset: int | None
    length: int | None
    entries: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Tensor:
    """A constant tensor: an initializer or the value of an attribute.

    `data` is the little-endian row-major layout of TensorProto.raw_data, whichever field the file uses, and is
    read only when a rule needs the values; `stored` names the data fields that are present in the file.  It is None
    for strings, for external data, and where the field of the element type (`DATA_FIELD`) is absent.
    `external` is set where data_location says so; entries without that show in `stored` only.
    """

    name: str
    element: str | None
    dims: tuple[int, ...]
    stored: tuple[str, ...] = ()
    data: memoryview | None = field(default=None, compare=False, repr=False)
    strings: tuple[bytes, ...] = field(default=(), repr=False)
    count: int | None = None
    """Elements the entries of the typed data field make (complex: two entries each; 4-bit: two per entry; 2-bit: four),
    None where raw_data or external data are used or the field is absent."""
    external: External | None = None
    segment: bool = False
    misfit: tuple[int, int] | None = None
    """Index and value of the first entry of the typed data field that the element type cannot hold."""


@dataclass(frozen=True, slots=True)
class SparseTensor:
    """A sparse tensor; only that it is there matters to the profile.

    `values` has shape [number], `indices` their places in shape [number] or [number, rank]; all else is zero.
    """

    name: str
    element: str | None
    dims: tuple[int, ...]
    values: Tensor | None = field(default=None, compare=False, repr=False)
    indices: Tensor | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Attribute:
    """An attribute of a node; `kind` is the declared one in lower case (int, ints, tensor, graph, …, undefined).

    `reference` is the name of a function's attribute it takes its value from; `fields` are the value fields present.
    `value` is what the field of the declared kind says; where that is absent: 0, "" or () as protobuf has it, None for
    a kind without such a default, for a reference, and for kind "undefined".
    """

    name: str
    kind: str
    value: AttributeValue
    reference: str = ""
    fields: tuple[str, ...] = ()


Item: TypeAlias = "int | float | str | Tensor | SparseTensor | Type | Graph"
AttributeValue: TypeAlias = "Item | tuple[Item, ...] | None"


@dataclass(frozen=True, slots=True)
class Node:
    """An application of an operator; an empty input or output name is an omitted optional."""

    name: str
    operator: str
    domain: str
    overload: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: tuple[Attribute, ...]


@dataclass(frozen=True, slots=True)
class Graph:
    """A main graph or the graph of an attribute (a branch, a body)."""

    name: str
    inputs: tuple[Value, ...]
    outputs: tuple[Value, ...]
    value_info: tuple[Value, ...]
    initializers: tuple[Tensor, ...]
    sparse_initializers: tuple[SparseTensor, ...]
    nodes: tuple[Node, ...]
    annotations: int = 0
    """Entries of quantization_annotation."""


@dataclass(frozen=True, slots=True)
class Function:
    """A model-local function; inputs and outputs have names only."""

    name: str
    domain: str
    overload: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: tuple[str, ...]
    defaults: tuple[Attribute, ...]
    value_info: tuple[Value, ...]
    nodes: tuple[Node, ...]
    imports: tuple[Import, ...]


@dataclass(frozen=True, slots=True)
class Import:
    """An operator set a model or function imports; None where no version is written."""

    domain: str
    version: int | None


@dataclass(frozen=True, slots=True)
class UnknownFields:
    """Content the ONNX format of the installed onnx package does not define."""

    place: str
    """The message it stands in, as `graph/node[4]`; `model` is the whole."""
    number: int
    """The protobuf field number."""


@dataclass(frozen=True, slots=True)
class Model:
    """One model file."""

    ir_version: int | None
    imports: tuple[Import, ...]
    graph: Graph
    functions: tuple[Function, ...] = ()
    training: tuple[tuple[str, Graph], ...] = ()
    """The graphs of training_info with their places."""
    training_count: int = 0
    """Entries of training_info."""
    unknown: tuple[UnknownFields, ...] = ()
    configurations: int = 0
    """Device configurations of the model and of its nodes."""
    producer: str = ""
    metadata: tuple[tuple[str, str], ...] = ()


def subgraphs(node: Node) -> Iterator[tuple[str, Graph]]:
    """The graphs among a node's attributes, each with the place below the node."""
    for attribute in node.attributes:
        values = attribute.value if isinstance(attribute.value, tuple) else (attribute.value,)
        for index, value in enumerate(values):
            if isinstance(value, Graph):
                suffix = f"[{index}]" if isinstance(attribute.value, tuple) else ""
                yield f"{attribute.name}{suffix}", value


# ------------------------------------------------------------------
# A faster way to make the frozen objects a model has most of.


Frozen = TypeVar("Frozen")


def maker(kind: type[Frozen]) -> Callable[..., Frozen]:
    """A constructor of a frozen dataclass with slots that takes every field by position.

    A frozen dataclass sets each field through `object.__setattr__`, which is most of the time of reading a node.  This
    fills an object of an ordinary class with the same slots and then gives it its class.
    """
    twin: Any = make_dataclass(kind.__name__, [(one.name, Any) for one in fields(kind)], slots=True)  # type: ignore[arg-type]

    def make(*values: object) -> Frozen:
        made = twin(*values)
        made.__class__ = kind
        return made  # type: ignore[no-any-return]

    return make
