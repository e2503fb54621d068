"""The conversion of a parsed ModelProto into a frozen `Model`.

Messages are read through their attributes only; only `reader.py` and `writer.py` import protobuf.  Repeated fields are
read as `field[:]`: iterating over them takes twice the time.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from operator import attrgetter
from typing import TypeAlias

from msgspec import Struct, field
from msgspec.structs import replace

from sonnx.model.annotations import (
    DeviceConfiguration,
    NodeConfiguration,
    Pairs,
    QuantizationAnnotation,
    ShardedAxis,
    Sharding,
    TrainingBindings,
)
from sonnx.model.ir import (
    Attribute,
    AttributeValue,
    Function,
    Graph,
    Import,
    Item,
    Model,
    Node,
    SparseTensor,
    UnknownField,
)
from sonnx.model.limits import DEFAULT_LIMITS, Limits, enforce, enforce_density
from sonnx.model.tensor_reader import Reader, repeated_keys
from sonnx.model.type_reader import Types, decoded_text, is_text
from sonnx.model.wire_format import Message

VALUE_FIELD = {"int": "i", "float": "f", "string": "s", "tensor": "t", "graph": "g", "type_proto": "tp"}
"""The value field of AttributeProto for each kind whose name differs."""

NO_DEFAULT = {"tensor", "graph", "sparse_tensor", "type_proto"}
"""Kinds whose value is a message: an absent field means an absent value."""

_LARGE = frozenset({"graph", "graphs", "tensors", "sparse_tensor", "sparse_tensors"})
"""Kinds of attributes that are seldom equal, or whose parts are counted."""

PART_BYTES = 3 << 9
"""Bytes of memory that a node or value takes at most while it is read, its attributes excepted."""

MAX_SHARED_BYTES = 1 << 10
"""Bytes of the largest attribute with a tensor that is looked for among the others: long ones are seldom equal."""

_NO_VALUE_FIELDS = {"name", "ref_attr_name", "doc_string", "type"}

SharedAttributes: TypeAlias = dict[bytes, Attribute]
"""Attributes by their bytes."""

_OWN_STRINGS = attrgetter("name", "operator", "domain", "overload")
_INPUTS, _OUTPUTS = attrgetter("inputs"), attrgetter("outputs")


def _decoded_node(node: Node) -> Node:
    return replace(
        node,
        name=decoded_text(node.name),
        operator=decoded_text(node.operator),
        domain=decoded_text(node.domain),
        overload=decoded_text(node.overload),
        inputs=tuple(map(decoded_text, node.inputs)),
        outputs=tuple(map(decoded_text, node.outputs)),
    )


class _Sizes(Struct):
    """The numbers that limits apply to, counted so far."""

    configurations: int = 0
    depth: int = 0
    numbers: Counter[str] = field(default_factory=Counter[str])


class Builder(Struct, frozen=True):
    """Converts the messages of one file, equal types and attributes once.

    `kinds` are the names of attribute kinds by number; `reader` reads tensors; `size` is the number of bytes of the
    structure.
    """

    kinds: Mapping[int, str]
    reader: Reader
    types: Types
    size: int
    limits: Limits = field(default_factory=lambda: DEFAULT_LIMITS)
    attributes: dict[bytes, Attribute] = {}
    """Those with a tensor, by their bytes, which may be a place in this file."""
    shared: SharedAttributes = field(default_factory=dict[bytes, Attribute])
    """Those without a tensor; several files may share them."""
    sizes: _Sizes = field(default_factory=_Sizes)

    def model(self, message: Message, unknown: tuple[UnknownField, ...]) -> Model:
        """The whole file."""
        self._count("entries", message.functions, message.training_info, message.configuration, message.metadata_props)
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
            configurations=len(message.configuration) + self.sizes.configurations,
            device_configurations=tuple(map(_device_configuration, message.configuration[:])),
            training_bindings=tuple(
                TrainingBindings(_pairs(entry.initialization_binding), _pairs(entry.update_binding))
                for entry in message.training_info
            ),
            producer=decoded_text(message.producer_name),
            metadata=_pairs(message.metadata_props),
            limits=self.limits,
        )

    def imports(self, messages: Sequence[Message]) -> tuple[Import, ...]:
        """Operator sets, in the order of the file."""
        self._count("entries", messages)
        return tuple(
            Import(decoded_text(entry.domain), entry.version if entry.HasField("version") else None)
            for entry in messages
        )

    def graph(self, message: Message) -> Graph:
        """A graph with its subgraphs."""
        declared = message.input, message.output, message.value_info
        others = message.initializer, message.sparse_initializer, message.quantization_annotation
        self._count("values", *declared, *others)
        self.sizes.depth += 1
        enforce(self.limits, "depth", self.sizes.depth)
        graph = Graph(
            name=decoded_text(message.name),
            inputs=self.types.values(message.input),
            outputs=self.types.values(message.output),
            value_info=self.types.values(message.value_info),
            initializers=tuple(map(self.reader.tensor, message.initializer[:])),
            sparse_initializers=tuple(map(self.sparse, message.sparse_initializer[:])),
            nodes=self.nodes(message.node),
            annotations=tuple(map(self.annotation, message.quantization_annotation[:])),
            repeated_keys=_repeated_keys(message, ("node", "input", "output", "value_info")),
        )
        self.sizes.depth -= 1
        return graph

    def _count(self, name: str, *parts: Sequence[Message]) -> None:
        """Add to the number of parts of one sort in the file, before they are copied.

        Raises:
            Exceeded: the number is larger than its limit.
            MemoryError: there is no memory for so many.
        """
        number = sum(map(len, parts))
        self.sizes.numbers[name] += number
        enforce(self.limits, name, self.sizes.numbers[name])
        enforce_density(self.limits, self.sizes.numbers, self.size)
        bytes(number * PART_BYTES)  # without this memory protobuf ends the process where Python raises

    def function(self, message: Message) -> Function:
        """A model-local function."""
        self._count("values", message.input, message.output, message.value_info)
        self._count("entries", message.attribute, message.attribute_proto)
        return Function(
            name=decoded_text(message.name),
            domain=decoded_text(message.domain),
            overload=decoded_text(message.overload),
            inputs=tuple(map(decoded_text, message.input[:])),
            outputs=tuple(map(decoded_text, message.output[:])),
            attributes=tuple(map(decoded_text, message.attribute[:])),
            defaults=tuple(map(self.attribute, message.attribute_proto[:])),
            value_info=self.types.values(message.value_info),
            nodes=self.nodes(message.node),
            imports=self.imports(message.opset_import),
            repeated_keys=_repeated_keys(message, ("node", "value_info")),
        )

    def nodes(self, messages: Sequence[Message]) -> tuple[Node, ...]:
        """Nodes in the order of the file."""
        self._count("nodes", messages)
        nodes = tuple(map(self.node, messages[:]))
        parts = chain(map(_OWN_STRINGS, nodes), map(_INPUTS, nodes), map(_OUTPUTS, nodes))
        return nodes if is_text(chain.from_iterable(parts)) else tuple(map(_decoded_node, nodes))

    def node(self, message: Message) -> Node:
        """One node, with strings as protobuf returns them: bytes where they are not UTF-8."""
        self.sizes.configurations += len(message.device_configurations)
        return Node(
            message.name,
            message.op_type,
            message.domain,
            message.overload,
            tuple(message.input[:]),
            tuple(message.output[:]),
            self.attributes_of(message.attribute) if message.attribute else (),
            tuple(map(self.configuration, message.device_configurations[:])) if message.device_configurations else (),
        )

    def configuration(self, message: Message) -> NodeConfiguration:
        """How a node is distributed."""
        self._count("values", message.sharding_spec)
        identifier = decoded_text(message.configuration_id) if message.HasField("configuration_id") else None
        return NodeConfiguration(identifier, tuple(map(self.sharding, message.sharding_spec[:])))

    def sharding(self, message: Message) -> Sharding:
        """How a tensor is distributed."""
        parts = (dim.simple_sharding for dim in message.sharded_dim)
        self._count("values", message.sharded_dim, message.index_to_device_group_map, *parts)
        axes = (
            ShardedAxis(
                dim.axis if dim.HasField("axis") else None,
                tuple(part.num_shards if part.HasField("num_shards") else None for part in dim.simple_sharding),
            )
            for dim in message.sharded_dim
        )
        tensor = decoded_text(message.tensor_name) if message.HasField("tensor_name") else None
        return Sharding(tensor, tuple(axes), tuple(entry.key for entry in message.index_to_device_group_map))

    def annotation(self, message: Message) -> QuantizationAnnotation:
        """The names of the quantization parameters of a tensor."""
        self._count("values", message.quant_parameter_tensor_names)
        return QuantizationAnnotation(decoded_text(message.tensor_name), _pairs(message.quant_parameter_tensor_names))

    def attributes_of(self, messages: Sequence[Message]) -> tuple[Attribute, ...]:
        """The attributes of one node."""
        enforce(self.limits, "attributes", len(messages))
        return tuple(map(self.attribute, messages[:]))

    def sparse(self, message: Message) -> SparseTensor:
        """A sparse tensor; its name is that of its values."""
        enforce(self.limits, "dimensions", len(message.dims))
        values, indices = self.reader.tensor(message.values), self.reader.tensor(message.indices)
        return SparseTensor(values.name, values.element, tuple(message.dims[:]), values, indices)

    def attribute(self, message: Message) -> Attribute:
        """An attribute; equal ones are one object, because most networks repeat a few attributes."""
        kind = self.kinds.get(message.type, "undefined")
        if kind in _LARGE or (kind == "tensor" and message.ByteSize() > MAX_SHARED_BYTES):
            return self._attribute(message, kind)
        known = self.attributes if kind == "tensor" else self.shared
        key = message.SerializeToString()
        attribute = known.get(key)
        if attribute is None:
            attribute = known[key] = self._attribute(message, kind)
        return attribute

    def _attribute(self, message: Message, kind: str) -> Attribute:
        present = [descriptor.name for descriptor, _ in message.ListFields()]
        fields = tuple([name for name in present if name not in _NO_VALUE_FIELDS])
        reference = decoded_text(message.ref_attr_name)
        name = VALUE_FIELD.get(kind, kind)
        absent = name not in fields and (reference or kind in NO_DEFAULT)
        value = None if absent or kind == "undefined" else self.value(kind, getattr(message, name))
        return Attribute(decoded_text(message.name), kind, value, reference, fields)

    def value(self, kind: str, stated: Message) -> AttributeValue:
        """The value of an attribute of this kind: an item, or a tuple of items."""
        if kind in ("int", "float"):
            number: int | float = stated
            return number
        if kind in ("ints", "floats"):
            return tuple(stated[:])
        if kind in ("tensors", "sparse_tensors", "type_protos"):
            self._count("values", stated)
        return tuple(self.item(kind[:-1], item) for item in stated) if kind.endswith("s") else self.item(kind, stated)

    def item(self, kind: str, stated: Message) -> Item:
        """A string, tensor, sparse tensor, graph or type."""
        match kind:
            case "string":
                return decoded_text(stated)
            case "tensor":
                return self.reader.tensor(stated)
            case "sparse_tensor":
                return self.sparse(stated)
            case "graph":
                self.sizes.numbers["graphs"] += 1
                enforce(self.limits, "graphs", self.sizes.numbers["graphs"])
                return self.graph(stated)
            case _:
                return self.types.type(stated)


def _device_configuration(message: Message) -> DeviceConfiguration:
    name = decoded_text(message.name) if message.HasField("name") else None
    number = message.num_devices if message.HasField("num_devices") else None
    return DeviceConfiguration(name, number, tuple(map(decoded_text, message.device[:])))


def _pairs(entries: Iterable[Message]) -> Pairs:
    return tuple((decoded_text(entry.key), decoded_text(entry.value)) for entry in entries)


def _repeated_keys(message: Message, parts: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """The repeated keys of the metadata of a graph or function and of its parts; see `Graph.repeated_keys`."""
    keys = [("", key) for key in repeated_keys(message)]
    for part in parts:
        for index, owner in enumerate(getattr(message, part)):
            if len(owner.metadata_props) > 1:
                keys += [(f"{part}[{index}]", key) for key in repeated_keys(owner)]
    return tuple(keys)
