"""What a file says of its model beside what it computes: documentation, metadata, versions, denotations, annotations.

`Model` does not keep them.  The writer takes them from the message of the original, for everything that is still there;
a node that takes the place of another one names it, by the key `SOURCE_NODE` of its metadata.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from sonnx.model.wire_format import Message

SOURCE_NODE = "sonnx.source_node"
"""The metadata key of a node that was made from another one: the name of that node in the original, or its place."""

OF_MODEL = ("producer_version", "domain", "model_version", "doc_string")
"""The fields of a model that `Model` does not keep."""


def describe(written: Message, original: Message, sources: Mapping[str, int]) -> None:
    """Copy the descriptions of the original model into a written one.

    Args:
        written: the ModelProto to complete.
        original: the ModelProto that it was made from.
        sources: for the first output of nodes of the main graph, the index of the node in the original from which each
            was made.
    """
    for field in OF_MODEL:
        if original.HasField(field):
            setattr(written, field, getattr(original, field))
    _describe_graph(written.graph, original.graph)
    _name_sources(written.graph.node, original.graph.node, sources)
    functions = {(each.domain, each.name, each.overload): each for each in original.functions}
    for function in written.functions:
        known = functions.get((function.domain, function.name, function.overload))
        if known is not None:
            _describe_one(function, known)
            _describe_named(function.value_info, known.value_info)
            _describe_nodes(function.node, known.node)


def _describe_one(written: Message, original: Message) -> None:
    if original.HasField("doc_string"):
        written.doc_string = original.doc_string
    written.metadata_props.extend(original.metadata_props)


def _describe_graph(written: Message, original: Message) -> None:
    _describe_one(written, original)
    for field in ("input", "output", "value_info"):
        _describe_named(getattr(written, field), getattr(original, field))
    _describe_named(written.initializer, original.initializer)
    _describe_nodes(written.node, original.node)
    names = {value.name for field in (written.input, written.output, written.initializer) for value in field}
    names.update(name for node in written.node for name in node.output)
    for annotation in original.quantization_annotation:
        if {annotation.tensor_name, *(entry.value for entry in annotation.quant_parameter_tensor_names)} <= names:
            written.quantization_annotation.append(annotation)


def _describe_named(written: Iterable[Message], original: Iterable[Message]) -> None:
    """Values and constants: those of one name, in order where several have it."""
    known: dict[str, list[Message]] = {}
    for each in original:
        known.setdefault(each.name, []).append(each)
    for each in written:
        matches = known.get(each.name)
        if matches:
            match = matches.pop(0) if len(matches) > 1 else matches[0]
            _describe_one(each, match)
            if hasattr(each, "type"):
                _denote(each.type, match.type)


def _denote(written: Message, original: Message) -> None:
    """Copy the denotations of a type and of its dimensions."""
    if original.denotation:
        written.denotation = original.denotation
    kind = written.WhichOneof("value")
    if kind in ("tensor_type", "sparse_tensor_type") and original.WhichOneof("value") == kind:
        new, old = getattr(written, kind).shape.dim, getattr(original, kind).shape.dim
        if len(new) == len(old):
            for dimension, match in zip(new, old, strict=True):
                if match.denotation:
                    dimension.denotation = match.denotation


def _describe_nodes(written: Iterable[Message], original: Iterable[Message]) -> None:
    """Nodes that still give the first output of a node of the original, with the graphs inside them."""
    known = {key: node for node in original if (key := _key(node))}
    for node in written:
        match = known.get(_key(node))
        if match is None:
            continue
        _describe_one(node, match)
        attributes = {attribute.name: attribute for attribute in match.attribute}
        for attribute in node.attribute:
            given = attributes.get(attribute.name)
            if given is None:
                continue
            if given.HasField("doc_string"):
                attribute.doc_string = given.doc_string
            if attribute.HasField("g") and given.HasField("g"):
                _describe_graph(attribute.g, given.g)


def _key(node: Message) -> str:
    """The first output that a node names."""
    return next(filter(None, node.output), "")


def _name_sources(written: Iterable[Message], original: Iterable[Message], sources: Mapping[str, int]) -> None:
    """Name in each node that the original does not have the one it was made from."""
    listed = list(original)
    known = {_key(node): node for node in listed}
    for node in written:
        key = _key(node)
        match, index = known.get(key), sources.get(key)
        if index is None or (match is not None and match.op_type == node.op_type and match.domain == node.domain):
            continue
        if all(entry.key != SOURCE_NODE for entry in node.metadata_props):
            node.metadata_props.add(key=SOURCE_NODE, value=listed[index].name or f"graph/node[{index}]")
