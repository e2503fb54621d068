"""The writer: a frozen `Model` as the bytes of an ONNX file.  Only this module and `reader.py` import protobuf.

It writes witnesses and converted models; a check does not load it.  A model with content that `Model` does not keep
(types inside sequences, training graphs) is refused.  Content that does not change values is left out, except what
`descriptions.py` takes from the message of an original; device configurations always are.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from types import MappingProxyType

from google.protobuf.message import EncodeError

from sonnx.base.escaping import quote
from sonnx.model.descriptions import describe
from sonnx.model.from_protobuf import VALUE_FIELD
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
    Tensor,
    Type,
    ValueInfo,
)
from sonnx.model.reader import attribute_kinds, element_names, message_classes
from sonnx.model.wire_format import Message


class Unwritable(ValueError):
    """The model has content that `Model` does not keep; the message says what and where."""


def write(model: Model, original: Message | None = None, sources: Mapping[str, int] = MappingProxyType({})) -> bytes:
    """The bytes of a model.

    Args:
        model: the model.
        original: the message of the model that it was made from, whose documentation and metadata are kept; None for
            none.
        sources: see `describe`.

    Raises:
        Unwritable: the model has training information, unknown content, tensors or types that are not kept, or a name
            that is not UTF-8.
    """
    if model.training_count or model.unknown:
        raise Unwritable("the model has training information or unknown content, which cannot be written")
    with _only_utf8():
        message = _message(model)
        if original is not None:
            describe(message, original, sources)
    try:
        written: bytes = message.SerializeToString(deterministic=True)
    except EncodeError:
        raise _unwritten(message) from None
    return written


@contextmanager
def _only_utf8() -> Iterator[None]:
    """Protobuf reads texts that are not UTF-8, which other readers need not, and does not write them."""
    try:
        yield
    except UnicodeEncodeError as reason:
        raise Unwritable(f"the name {quote(reason.object)} is not UTF-8; rename it first") from None


def _message(model: Model) -> Message:
    message = message_classes().ModelProto()
    if model.ir_version is not None:
        message.ir_version = model.ir_version
    message.producer_name = model.producer
    _imports(message.opset_import, model.imports)
    for key, value in model.metadata:
        message.metadata_props.add(key=key, value=value)
    _graph(message.graph, model.graph)
    for function in model.functions:
        _function(message.functions.add(), function)
    return message


def _unwritten(message: Message) -> Exception:
    """The reason why protobuf could not write a message: it is too large, or memory is short."""
    size = sum(len(tensor.raw_data) for tensor in message.graph.initializer)
    return (
        ValueError("more than two gigabytes") if size > LARGEST_WEIGHTS else MemoryError("no memory to write a model")
    )


LARGEST_WEIGHTS = 2**31 - 2**28
"""Bytes of weights beyond which a model does not fit into a message, whose largest size is two gigabytes."""


def _imports(messages: Message, imports: Iterable[Import]) -> None:
    for entry in imports:
        message = messages.add(domain=entry.domain)
        if entry.version is not None:
            message.version = entry.version


def _graph(message: Message, graph: Graph) -> None:
    message.name = graph.name
    for messages, values in (
        (message.input, graph.inputs), (message.output, graph.outputs), (message.value_info, graph.value_info)
    ):  # fmt: skip
        for value in values:
            _value(messages.add(), value)
    for tensor in graph.initializers:
        _tensor(message.initializer.add(), tensor)
    for sparse in graph.sparse_initializers:
        _sparse(message.sparse_initializer.add(), sparse)
    for node in graph.nodes:
        _node(message.node.add(), node)


def _function(message: Message, function: Function) -> None:
    message.name, message.domain, message.overload = function.name, function.domain, function.overload
    message.input.extend(function.inputs)
    message.output.extend(function.outputs)
    message.attribute.extend(function.attributes)
    for attribute in function.defaults:
        _attribute(message.attribute_proto.add(), attribute)
    for value in function.value_info:
        _value(message.value_info.add(), value)
    for node in function.nodes:
        _node(message.node.add(), node)
    _imports(message.opset_import, function.imports)


def _node(message: Message, node: Node) -> None:
    message.op_type = node.operator
    for field, text in (("name", node.name), ("domain", node.domain), ("overload", node.overload)):
        if text:
            setattr(message, field, text)
    message.input.extend(node.inputs)
    message.output.extend(node.outputs)
    for attribute in node.attributes:
        _attribute(message.attribute.add(), attribute)


def _value(message: Message, value: ValueInfo) -> None:
    message.name = value.name
    _type(message.type, value.type, value.name)


def _type(message: Message, type_: Type, name: str) -> None:
    if type_.kind == "not stated":
        return
    if type_.kind not in ("tensor", "sparse tensor"):
        raise Unwritable(f"{quote(name)} is of kind {type_.kind}, whose inner types are not kept")
    inner = message.tensor_type if type_.kind == "tensor" else message.sparse_tensor_type
    inner.elem_type = element_number(type_.element)
    if type_.shape is None:
        return
    inner.shape.SetInParent()
    for extent in type_.shape:
        dimension = inner.shape.dim.add()
        if isinstance(extent, int):
            dimension.dim_value = extent
        elif extent is not None:
            dimension.dim_param = extent


def _attribute(message: Message, attribute: Attribute) -> None:
    message.name = attribute.name
    numbers = {kind: number for number, kind in attribute_kinds().items()}
    message.type = numbers.get(attribute.kind, 0)
    if attribute.reference:
        message.ref_attr_name = attribute.reference
        return
    field = VALUE_FIELD.get(attribute.kind, attribute.kind)
    if field not in attribute.fields:
        return
    _attribute_value(message, field, attribute.value, attribute)


def _attribute_value(message: Message, field: str, value: AttributeValue, attribute: Attribute) -> None:
    if isinstance(value, tuple):
        for item in value:
            _item(message, field, item, attribute)
    elif isinstance(value, int | float):
        setattr(message, field, value)
    elif isinstance(value, str):
        setattr(message, field, _encoded(value))
    elif value is not None:
        _fill(getattr(message, field), value, attribute)


def _item(message: Message, field: str, item: Item, attribute: Attribute) -> None:
    repeated = getattr(message, field)
    if isinstance(item, int | float):
        repeated.append(item)
    elif isinstance(item, str):
        repeated.append(_encoded(item))
    else:
        _fill(repeated.add(), item, attribute)


def _fill(message: Message, item: Item, attribute: Attribute) -> None:
    if isinstance(item, Tensor):
        _tensor(message, item)
    elif isinstance(item, Graph):
        message.SetInParent()
        _graph(message, item)
    elif isinstance(item, Type):
        _type(message, item, attribute.name)
    elif isinstance(item, SparseTensor):
        _sparse(message, item)


def _sparse(message: Message, sparse: SparseTensor) -> None:
    """Values are written as raw_data, so a part that is not complete there is refused."""
    message.dims.extend(sparse.dims)
    for field, part in (("values", sparse.values), ("indices", sparse.indices)):
        if part is None or part.data is None or part.misfit is not None or part.segment or len(part.stored) != 1:
            raise Unwritable(f"the {field} of the sparse tensor {quote(sparse.name)} are not kept in full")
        _tensor(getattr(message, field), part)


def _tensor(message: Message, tensor: Tensor) -> None:
    message.name = tensor.name
    message.data_type = element_number(tensor.element)
    message.dims.extend(tensor.dims)
    if tensor.external is not None:
        message.data_location = 1
        for key, value in tensor.external.entries:
            message.external_data.add(key=key, value=value)
    elif tensor.strings:
        message.string_data.extend(tensor.strings)
    elif tensor.data is not None:
        message.raw_data = bytes(tensor.data)


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def element_number(name: str | None) -> int:
    """The number of an element type in ONNX; 0 where it is not stated."""
    if name is not None and name.startswith("type "):
        return int(name.removeprefix("type "))
    return _numbers().get(name, 0)


@cache
def _numbers() -> MappingProxyType[str | None, int]:
    return MappingProxyType({name: number for number, name in element_names().items()})


def write_tensor(name: str, element: str, dims: Sequence[int], values: bytes | Sequence[bytes]) -> bytes:
    """The bytes of a TensorProto, the format of the test data of the onnx package.

    Args:
        name: the name of the tensor.
        element: the element type.
        dims: the shape.
        values: the layout of raw_data, or the strings in UTF-8.

    Raises:
        Unwritable: protobuf refuses the name or the size.
    """
    data = {"raw_data" if isinstance(values, bytes) else "string_data": values}
    try:
        message = message_classes().TensorProto(name=name, data_type=element_number(element), dims=dims, **data)
        written: bytes = message.SerializeToString()
    except (EncodeError, ValueError) as error:
        raise Unwritable(str(error)) from None
    return written
