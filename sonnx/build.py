"""Makes the frozen `Model` from a parsed ModelProto.

Reads messages through their attributes only; `parse.py` alone knows protobuf.  Repeated fields are read as `field[:]`:
iterating over them takes twice the time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from sonnx.model import (
    NOT_STATED,
    Attribute,
    AttributeValue,
    Dimension,
    Function,
    Graph,
    Import,
    Item,
    Model,
    Node,
    SparseTensor,
    Type,
    Unknown,
    Value,
)
from sonnx.tensors import Reader
from sonnx.wire import Message

VALUE_FIELD = {"int": "i", "float": "f", "string": "s", "tensor": "t", "graph": "g", "type_proto": "tp"}
"""The value field of AttributeProto of each kind, where it is not named like the kind."""

NO_DEFAULT = {"tensor", "graph", "sparse_tensor", "type_proto"}
"""Kinds whose value is a message: where the field is absent there is no value."""

_NO_VALUE_FIELDS = {"name", "ref_attr_name", "doc_string", "type"}

_TYPE_KIND = {
    "tensor_type": "tensor",
    "sparse_tensor_type": "sparse tensor",
    "sequence_type": "sequence",
    "optional_type": "optional",
    "map_type": "map",
    "opaque_type": "opaque",
}

_INNER_TYPE = {"sequence_type": "elem_type", "optional_type": "elem_type", "map_type": "value_type"}


def decoded(text: str | bytes) -> str:
    """Text as the file has it; protobuf hands out bytes where a string is not UTF-8."""
    return text if isinstance(text, str) else text.decode("utf-8", "surrogateescape")


@dataclass(slots=True)
class _Tally:
    configurations: int = 0


@dataclass(frozen=True, slots=True)
class Builder:
    """Reads the messages of one file, equal types and attributes once.

    `kinds` names the attribute kinds by number, `reader` reads texts and tensors.
    """

    reader: Reader
    kinds: Mapping[int, str]
    types: dict[bytes, Type] = field(default_factory=lambda: {b"": NOT_STATED})
    same: dict[Type, Type] = field(default_factory=dict)
    attributes: dict[bytes, Attribute] = field(default_factory=dict)
    tally: _Tally = field(default_factory=_Tally)

    def model(self, message: Message, unknown: tuple[Unknown, ...]) -> Model:
        """The whole file."""
        text = self.reader.text
        graph = self.graph(message.graph)
        functions = tuple(map(self.function, message.functions[:]))
        training = tuple(
            (f"training_info[{index}]/{name}", self.graph(getattr(entry, name)))
            for index, entry in enumerate(message.training_info)
            for name in ("initialization", "algorithm")
            if entry.HasField(name)
        )
        return Model(
            ir_version=message.ir_version if message.HasField("ir_version") else None,
            imports=self.imports(message.opset_import),
            graph=graph,
            functions=functions,
            training=training,
            training_count=len(message.training_info),
            unknown=unknown,
            configurations=len(message.configuration) + self.tally.configurations,
            producer=text(message.producer_name),
            metadata=tuple((text(entry.key), text(entry.value)) for entry in message.metadata_props),
        )

    def imports(self, messages: Sequence[Message]) -> tuple[Import, ...]:
        """Operator sets, in the order of the file."""
        text = self.reader.text
        return tuple(Import(text(one.domain), one.version if one.HasField("version") else None) for one in messages)

    def graph(self, message: Message) -> Graph:
        """A graph with all graphs below it."""
        return Graph(
            name=self.reader.text(message.name),
            inputs=self.values(message.input),
            outputs=self.values(message.output),
            value_info=self.values(message.value_info),
            initializers=tuple(map(self.reader.tensor, message.initializer[:])),
            sparse_initializers=tuple(map(self.sparse, message.sparse_initializer[:])),
            nodes=self.nodes(message.node),
            annotations=len(message.quantization_annotation),
        )

    def function(self, message: Message) -> Function:
        """A model-local function."""
        text = self.reader.text
        return Function(
            name=text(message.name),
            domain=text(message.domain),
            overload=text(message.overload),
            inputs=tuple(map(text, message.input[:])),
            outputs=tuple(map(text, message.output[:])),
            attributes=tuple(map(text, message.attribute[:])),
            defaults=tuple(map(self.attribute, message.attribute_proto[:])),
            value_info=self.values(message.value_info),
            nodes=self.nodes(message.node),
            imports=self.imports(message.opset_import),
        )

    def nodes(self, messages: Sequence[Message]) -> tuple[Node, ...]:
        """Nodes in the order of the file."""
        return tuple(map(self.node, messages[:]))

    def node(self, message: Message) -> Node:
        """One application of an operator."""
        text = self.reader.text
        self.tally.configurations += len(message.device_configurations)
        return Node(
            text(message.name),
            text(message.op_type),
            text(message.domain),
            text(message.overload),
            tuple(map(text, message.input[:])),
            tuple(map(text, message.output[:])),
            tuple(map(self.attribute, message.attribute[:])),
        )

    def values(self, messages: Sequence[Message]) -> tuple[Value, ...]:
        """Values with their types, in the order of the file."""
        text, type_of = self.reader.text, self.type
        return tuple(Value(text(message.name), type_of(message.type)) for message in messages[:])

    def type(self, message: Message) -> Type:
        """The type; equal types are mostly one object, so that comparing them is cheap."""
        key = message.SerializeToString()
        found = self.types.get(key)
        if found is None:
            found = self._type(message)
            found = self.types[key] = self.same.setdefault(found, found)
        return found

    def _type(self, message: Message) -> Type:
        which = message.WhichOneof("value")
        if which is None:
            return NOT_STATED
        kind, inner = _TYPE_KIND.get(which, which), getattr(message, which)
        if which in ("tensor_type", "sparse_tensor_type"):
            shape = tuple(map(self.dimension, inner.shape.dim[:])) if inner.HasField("shape") else None
            return Type(kind, self.reader.element(inner.elem_type), shape, which == "sparse_tensor_type")
        within = self.type(getattr(inner, _INNER_TYPE[which])) if which in _INNER_TYPE else NOT_STATED
        return Type(kind, holds_sparse=within.holds_sparse)

    def dimension(self, message: Message) -> Dimension:
        """A number, a symbol, or None; the empty symbol states nothing."""
        which = message.WhichOneof("value")
        if which == "dim_value":
            return int(message.dim_value)
        return self.reader.text(message.dim_param) or None if which else None

    def sparse(self, message: Message) -> SparseTensor:
        """A sparse tensor; its name is that of its values."""
        return SparseTensor(self.reader.text(message.values.name), tuple(message.dims[:]))

    def attribute(self, message: Message) -> Attribute:
        """An attribute; equal ones are one object (a convolutional network repeats the same few)."""
        kind = self.kinds.get(message.type, "undefined")
        if kind.startswith(("graph", "tensor", "sparse")):  # too large to be a key, and seldom equal
            return self._attribute(message, kind)
        key = message.SerializeToString()
        found = self.attributes.get(key)
        if found is None:
            found = self.attributes[key] = self._attribute(message, kind)
        return found

    def _attribute(self, message: Message, kind: str) -> Attribute:
        text = self.reader.text
        present = (descriptor.name for descriptor, _ in message.ListFields())
        fields = tuple(name for name in present if name not in _NO_VALUE_FIELDS)
        reference = text(message.ref_attr_name)
        name = VALUE_FIELD.get(kind, kind)
        absent = name not in fields and (reference or kind in NO_DEFAULT)
        value = None if absent or kind == "undefined" else self.value(kind, getattr(message, name))
        return Attribute(text(message.name), kind, value, reference, fields)

    def value(self, kind: str, stated: Message) -> AttributeValue:
        """The value of an attribute of this kind: one item, or a tuple of them."""
        if kind in ("int", "float"):
            number: int | float = stated
            return number
        if kind in ("ints", "floats"):
            return tuple(stated[:])
        return tuple(self.item(kind[:-1], one) for one in stated) if kind.endswith("s") else self.item(kind, stated)

    def item(self, kind: str, stated: Message) -> Item:
        """One text, tensor, sparse tensor, graph or type."""
        match kind:
            case "string":
                return decoded(stated)
            case "tensor":
                return self.reader.tensor(stated)
            case "sparse_tensor":
                return self.sparse(stated)
            case "graph":
                return self.graph(stated)
            case _:
                return self.type(stated)
