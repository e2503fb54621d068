"""The content of a model file as frozen data.

`reader.py` makes these objects from bytes, without checking them; this module does not import protobuf.  Bytes of a
name that are not UTF-8 are lone surrogates (PEP 383).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import count
from pathlib import Path
from typing import TypeAlias

from msgspec import Struct, field
from msgspec.structs import astuple, force_setattr

from sonnx.base.escaping import escape
from sonnx.base.frozen import ComparedInPart
from sonnx.model.annotations import DeviceConfiguration, NodeConfiguration, QuantizationAnnotation, TrainingBindings
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


class Type(Struct, frozen=True):
    """The type of a value: kind, element type, shape.

    `kind` is one of: tensor, sparse tensor, sequence, optional, map, opaque, not stated.
    `element` is the ONNX name of the element type in lower case, None where it is undefined or not stated, "type 99"
    where ONNX has no type with this number.
    `shape` is None where the shape field is absent; () is rank 0.
    `holds_sparse` is true for a sparse tensor type, and for a type that contains one at any depth.
    `denotations` are those of the dimensions, "" where one has none; () where none has one.
    `inner` is the type of the elements of a sequence, of what an optional holds, and of the values of a map.
    `key` is the element type of the keys of a map, named as `element`; None for other types.
    """

    kind: str = "not stated"
    element: str | None = None
    shape: Shape | None = None
    holds_sparse: bool = False
    denotations: tuple[str, ...] = ()
    inner: Type | None = None
    key: str | None = None

    def __str__(self) -> str:
        """The type as `float [1, N]`, `?` for a dimension that is not stated."""
        if self == NOT_STATED:
            return "not declared"
        if self.inner is not None:
            return f"{escape(self.kind)} of {self.inner}"
        if self.shape is None:
            return f"{escape(self.element or self.kind)} without shape"
        dimensions = ", ".join("?" if extent is None else escape(str(extent)) for extent in self.shape)
        return f"{escape(self.element or self.kind)} [{dimensions}]"


NOT_STATED = Type()


def joined_type(types: Sequence[Type]) -> Type:
    """What several declarations of one value state together, whatever their order.

    A number counts before a symbol, and that before nothing.  Where they contradict each other, which the rule
    consistent-declarations reports, the least one counts.
    """
    stated = [each for each in types if each.kind != "not stated"]
    if not stated:
        return NOT_STATED
    kind = min(each.kind for each in stated)
    same = [each for each in stated if each.kind == kind]
    shapes = [each.shape for each in same if each.shape is not None]
    rank = min(map(len, shapes), default=0)
    denoted = [each.denotations for each in same if len(each.denotations) == rank]
    return Type(
        kind,
        min((each.element for each in same if each.element is not None), default=None),
        tuple([min(at, key=_precision) for at in zip(*[s for s in shapes if len(s) == rank], strict=True)])
        if shapes
        else None,
        any(each.holds_sparse for each in same),
        tuple([min(at, key=lambda text: (not text, text)) for at in zip(*denoted, strict=True)]),
        min((each.inner for each in same if each.inner is not None), key=str, default=None),
        min((each.key for each in same if each.key is not None), default=None),
    )


def _precision(dimension: Dimension) -> tuple[int, int, str]:
    if isinstance(dimension, int):
        return (0, dimension, "") if dimension >= 0 else (2, dimension, "")
    return (3, 0, "") if dimension is None else (1, 0, dimension)


class ValueInfo(Struct, frozen=True):
    """A graph input, a graph output, or an entry of value_info."""

    name: str
    type: Type


class External(ComparedInPart, frozen=True):
    """The description of external data; numbers as written, None where absent or not a number."""

    location: str
    offset: int | None
    length: int | None
    entries: tuple[tuple[str, str], ...]
    file: int | str | None = None
    """The bytes of the file at the location, or half a sentence on why it cannot be used; None where the file system
    was not asked, because the model was read from bytes."""
    folder: Path | None = None
    """The folder of the model, None for bytes."""

    def compared(self) -> tuple[object, ...]:
        """See `ComparedInPart`."""
        return self.location, self.offset, self.length, self.entries


class DeferredBytes:
    """Bytes of a known number that are computed when they are read first."""

    __slots__ = ("_compute", "_content", "size")

    def __init__(self, size: int, compute: Callable[[], bytes]) -> None:
        self.size, self._compute = size, compute
        self._content: memoryview | None = None

    def read(self) -> memoryview:
        """The bytes; the same object each time."""
        if self._content is None:
            content = self._compute()
            if len(content) != self.size:
                raise AssertionError(f"{len(content)} bytes were computed, not {self.size}")
            self._content, self._compute = memoryview(content), bytes
        return self._content


class Tensor(ComparedInPart, frozen=True):
    """A constant tensor: an initializer or the value of an attribute.

    `stored` are the data fields that are present in the file.  `content` has the little-endian row-major layout of
    TensorProto.raw_data for every data field, and is read from the file, or computed, only on access; it is None for
    strings, for external data, and where the field of the element type (`DATA_FIELD`) is absent.
    `external` is set where data_location is EXTERNAL; entries without it appear in `stored` only.
    """

    name: str
    element: str | None
    dims: tuple[int, ...]
    stored: tuple[str, ...] = ()
    content: memoryview | DeferredBytes | None = None
    strings: tuple[bytes, ...] = ()
    count: int | None = None
    """The number of elements in the typed data field (complex: two entries each; 4-bit: two per entry; 2-bit: four),
    None where raw_data or external data are used or the field is absent."""
    external: External | None = None
    segment: bool = False
    misfit: tuple[int, int] | None = None
    """Index and value of the first entry of the typed data field that the element type cannot represent."""
    repeated_keys: tuple[str, ...] = ()
    """The keys that metadata_props has more than once."""

    @property
    def data(self) -> memoryview | None:
        """The bytes of `content`, which are computed where they are not yet."""
        return self.content.read() if isinstance(self.content, DeferredBytes) else self.content

    @property
    def data_size(self) -> int:
        """The number of bytes of `content`, 0 where there are none."""
        if isinstance(self.content, DeferredBytes):
            return self.content.size
        return 0 if self.content is None else len(self.content)

    def compared(self) -> tuple[object, ...]:
        """All but the bytes."""
        meta = self.name, self.element, self.dims, self.stored, self.strings, self.count
        return (*meta, self.external, self.segment, self.misfit, self.repeated_keys)


class SparseTensor(ComparedInPart, frozen=True):
    """A sparse tensor; the profile only requires that there are none.

    `values` has the shape [n]; `indices`, of shape [n] or [n, rank], are their positions; other elements are zero.
    """

    name: str
    element: str | None
    dims: tuple[int, ...]
    values: Tensor | None = None
    indices: Tensor | None = None

    def compared(self) -> tuple[object, ...]:
        """See `ComparedInPart`."""
        return self.name, self.element, self.dims


class Attribute(ComparedInPart, frozen=True):
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
    identity: int = -1
    """A number no other attribute has: equal attributes that the reader made one object share it.  The bytes of a
    tensor are not compared, so equality does not tell which attributes mean the same.  It is set when the object is
    made, also by `replace`."""

    def __post_init__(self) -> None:
        force_setattr(self, "identity", next(_IDENTITIES))

    @property
    def items(self) -> tuple[Item | None, ...]:
        """The items of a list, or the only value."""
        return self.value if isinstance(self.value, tuple) else (self.value,)

    def compared(self) -> tuple[object, ...]:
        """See `ComparedInPart`."""
        return self.name, self.kind, self.value, self.reference, self.fields


_IDENTITIES = count()
Item: TypeAlias = "int | float | str | Tensor | SparseTensor | Type | Graph"
AttributeValue: TypeAlias = "Item | tuple[Item, ...] | None"


class Node(Struct, frozen=True):
    """A node; an empty input or output name is an omitted optional one."""

    name: str
    operator: str
    domain: str
    overload: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: tuple[Attribute, ...]
    configurations: tuple[NodeConfiguration, ...] = ()


class Graph(Struct, frozen=True):
    """The main graph, or a subgraph in an attribute (a branch, a body)."""

    name: str
    inputs: tuple[ValueInfo, ...]
    outputs: tuple[ValueInfo, ...]
    value_info: tuple[ValueInfo, ...]
    initializers: tuple[Tensor, ...]
    sparse_initializers: tuple[SparseTensor, ...]
    nodes: tuple[Node, ...]
    annotations: tuple[QuantizationAnnotation, ...] = ()
    repeated_keys: tuple[tuple[str, str], ...] = ()
    """The keys that a metadata_props of the graph, of a node or of a declaration has more than once, each with the
    place in the graph, as `node[4]`."""


class Function(Struct, frozen=True):
    """A model-local function; its inputs and outputs have names, but no types."""

    name: str
    domain: str
    overload: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: tuple[str, ...]
    defaults: tuple[Attribute, ...]
    value_info: tuple[ValueInfo, ...]
    nodes: tuple[Node, ...]
    imports: tuple[Import, ...]
    repeated_keys: tuple[tuple[str, str], ...] = ()
    """See `Graph.repeated_keys`."""


class Import(Struct, frozen=True):
    """An operator set that a model or function imports; the version is None where it is missing."""

    domain: str
    version: int | None


class UnknownField(Struct, frozen=True):
    """A protobuf field that the ONNX format of the installed onnx package does not define."""

    place: str
    """The message with the field, as `graph/node[4]`; `model` is the whole file."""
    number: int
    """The protobuf field number."""
    field: str = ""
    """The name of the field where the format defines it, so that only its value is unknown: an enumeration value."""


class Model(ComparedInPart, frozen=True):
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
    device_configurations: tuple[DeviceConfiguration, ...] = ()
    """Those of the model."""
    training_bindings: tuple[TrainingBindings, ...] = ()
    """Those of each entry of training_info."""
    without_shape: frozenset[str] = frozenset()
    """The graph inputs for which the file declares no shape although `graph` has one: a caller chose it."""
    producer: str = ""
    metadata: tuple[tuple[str, str], ...] = ()
    limits: Limits = field(default_factory=lambda: DEFAULT_LIMITS)
    """The limits with which the file was read; some bound its evaluation and its report."""

    def compared(self) -> tuple[object, ...]:
        """All but the limits."""
        return astuple(self)[:-1]


GRAPH_KINDS = frozenset({"graph", "graphs"})
"""The kinds of attributes that hold graphs."""


def subgraphs(node: Node) -> Iterator[tuple[str, Graph]]:
    """The subgraphs in a node's attributes, each with its place below the node."""
    for attribute in node.attributes:
        if attribute.kind not in GRAPH_KINDS:  # a list of numbers may be long
            continue
        for index, value in enumerate(attribute.items):
            if isinstance(value, Graph):
                suffix = f"[{index}]" if isinstance(attribute.value, tuple) else ""
                yield f"{attribute.name}{suffix}", value
