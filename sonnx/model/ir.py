"""The content of a model file as frozen data.

`reader.py` makes these objects from bytes, without checking them; this module does not import protobuf.  Bytes of a
name that are not UTF-8 are lone surrogates (PEP 383).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, fields, make_dataclass
from itertools import count
from typing import Any, TypeAlias, TypeVar

from sonnx.base.escaping import escape
from sonnx.model.limits import DEFAULT_LIMITS, Limits

Dimension = int | str | None
"""A number, a symbol, or None where nothing is stated."""

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
    """The number of bytes of a constant in raw_data, None where it is larger than any file.

    Elements of fewer than eight bits are packed; the last byte is padded.
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
"""The typed data field for the values of each element type that are not in raw_data (onnx.proto, TensorProto)."""


@dataclass(frozen=True, slots=True)
class Type:
    """The type of a value: kind, element type, shape.

    `kind` is one of: tensor, sparse tensor, sequence, optional, map, opaque, not stated.
    `element` is the ONNX name of the element type in lower case, None where it is undefined or not stated, "type 99"
    where ONNX has no type with this number.
    `shape` is None where the shape field is absent; () is rank 0.
    `holds_sparse` is true for a sparse tensor type, and for a type that contains one at any depth.
    `denotations` are those of the dimensions, "" where one has none; () where none has one.
    """

    kind: str = "not stated"
    element: str | None = None
    shape: Shape | None = None
    holds_sparse: bool = False
    denotations: tuple[str, ...] = ()

    def __str__(self) -> str:
        """The type as `float [1, N]`, `?` for a dimension that is not stated."""
        if self == NOT_STATED:
            return "not declared"
        if self.shape is None:
            return f"{escape(self.element or self.kind)} without shape"
        dimensions = ", ".join("?" if each is None else escape(str(each)) for each in self.shape)
        return f"{escape(self.element or self.kind)} [{dimensions}]"


NOT_STATED = Type()


@dataclass(frozen=True, slots=True)
class Value:
    """A graph input, a graph output, or an entry of value_info."""

    name: str
    type: Type


@dataclass(frozen=True, slots=True)
class External:
    """The description of external data; numbers as written, None where absent or not a number."""

    location: str
    offset: int | None
    length: int | None
    entries: tuple[tuple[str, str], ...]
    file: int | str | None = field(default=None, compare=False)
    """The bytes of the file at the location, or half a sentence on why it cannot be used; None where the file system
    was not asked, because the model was read from bytes."""


@dataclass(frozen=True, slots=True)
class Tensor:
    """A constant tensor: an initializer or the value of an attribute.

    `stored` are the data fields that are present in the file.  `data` has the little-endian row-major layout of
    TensorProto.raw_data for every data field, and is read from the file only on access; it is None for strings, for
    external data, and where the field of the element type (`DATA_FIELD`) is absent.
    `external` is set where data_location is EXTERNAL; entries without it appear in `stored` only.
    """

    name: str
    element: str | None
    dims: tuple[int, ...]
    stored: tuple[str, ...] = ()
    data: memoryview | None = field(default=None, compare=False, repr=False)
    strings: tuple[bytes, ...] = field(default=(), repr=False)
    count: int | None = None
    """The number of elements in the typed data field (complex: two entries each; 4-bit: two per entry; 2-bit: four),
    None where raw_data or external data are used or the field is absent."""
    external: External | None = None
    segment: bool = False
    misfit: tuple[int, int] | None = None
    """Index and value of the first entry of the typed data field that the element type cannot represent."""


@dataclass(frozen=True, slots=True)
class SparseTensor:
    """A sparse tensor; the profile only requires that there are none.

    `values` has the shape [n]; `indices`, of shape [n] or [n, rank], are their positions; other elements are zero.
    """

    name: str
    element: str | None
    dims: tuple[int, ...]
    values: Tensor | None = field(default=None, compare=False, repr=False)
    indices: Tensor | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Attribute:
    """An attribute of a node; `kind` is the declared one in lower case (int, ints, tensor, graph, …, undefined).

    `reference` is the name of the function's attribute that gives the value; `fields` are the value fields present.
    `value` is the content of the field of the declared kind; where it is absent, protobuf's default 0, "" or (), and
    None for a kind without a default, for a reference, and for the kind "undefined".
    """

    name: str
    kind: str
    value: AttributeValue
    reference: str = ""
    fields: tuple[str, ...] = ()
    identity: int = field(init=False, compare=False, repr=False, default_factory=count().__next__)
    """A number no other attribute has: equal attributes that the reader made one object share it.  The bytes of a
    tensor are not compared, so equality does not tell which attributes mean the same."""


Item: TypeAlias = "int | float | str | Tensor | SparseTensor | Type | Graph"
AttributeValue: TypeAlias = "Item | tuple[Item, ...] | None"


@dataclass(frozen=True, slots=True)
class Node:
    """A node; an empty input or output name is an omitted optional one."""

    name: str
    operator: str
    domain: str
    overload: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: tuple[Attribute, ...]


@dataclass(frozen=True, slots=True)
class Graph:
    """The main graph, or a subgraph in an attribute (a branch, a body)."""

    name: str
    inputs: tuple[Value, ...]
    outputs: tuple[Value, ...]
    value_info: tuple[Value, ...]
    initializers: tuple[Tensor, ...]
    sparse_initializers: tuple[SparseTensor, ...]
    nodes: tuple[Node, ...]
    annotations: int = 0
    """The number of entries of quantization_annotation."""


@dataclass(frozen=True, slots=True)
class Function:
    """A model-local function; its inputs and outputs have names, but no types."""

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
    """An operator set that a model or function imports; the version is None where it is missing."""

    domain: str
    version: int | None


@dataclass(frozen=True, slots=True)
class UnknownField:
    """A protobuf field that the ONNX format of the installed onnx package does not define."""

    place: str
    """The message with the field, as `graph/node[4]`; `model` is the whole file."""
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
    """The number of entries of training_info."""
    unknown: tuple[UnknownField, ...] = ()
    configurations: int = 0
    """The number of device configurations of the model and of its nodes."""
    producer: str = ""
    metadata: tuple[tuple[str, str], ...] = ()
    limits: Limits = field(default_factory=lambda: DEFAULT_LIMITS, compare=False, repr=False)
    """The limits with which the file was read; some bound its evaluation and its report."""


def subgraphs(node: Node) -> Iterator[tuple[str, Graph]]:
    """The subgraphs in a node's attributes, each with its place below the node."""
    for attribute in node.attributes:
        if attribute.kind not in ("graph", "graphs"):  # a list of numbers may be long
            continue
        values = attribute.value if isinstance(attribute.value, tuple) else (attribute.value,)
        for index, value in enumerate(values):
            if isinstance(value, Graph):
                suffix = f"[{index}]" if isinstance(attribute.value, tuple) else ""
                yield f"{attribute.name}{suffix}", value


Frozen = TypeVar("Frozen")


def fast_constructor(kind: type[Frozen]) -> Callable[..., Frozen]:
    """A fast constructor of a frozen dataclass with slots; it takes every field by position.

    The constructor of a frozen dataclass calls `object.__setattr__` for each field, which takes most of the time of
    reading a node.  This one makes an object of an ordinary class with the same slots, and then changes its class.
    """
    twin: Any = make_dataclass(kind.__name__, [(one.name, Any) for one in fields(kind)], slots=True)  # type: ignore[arg-type]

    def make(*values: object) -> Frozen:
        instance = twin(*values)
        instance.__class__ = kind
        return instance  # type: ignore[no-any-return]

    return make
