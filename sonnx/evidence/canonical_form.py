"""The canonical form of a model: one JSON text for its content, independent of how the file stores it.

The section "The canonical form of a model" of docs/audit.md defines it, so that other tools can compute its SHA-256.
"""

from __future__ import annotations

import hashlib
import json
import struct
from collections.abc import Callable, Iterable
from typing import Any

from sonnx.model.ir import Attribute, Function, Graph, Import, Item, Model, Node, SparseTensor, Tensor, Type, ValueInfo

FORMAT = 1
ReadExternal = Callable[[Tensor], memoryview | None]
"""Reads the values of a constant from another file; None if they cannot be read."""


def canonical(model: Model, external: ReadExternal = lambda _: None) -> bytes:
    """The canonical form in ASCII: keys sorted, no blanks, no line feed."""
    return json.dumps(_model(model, external), sort_keys=True, separators=(",", ":"), ensure_ascii=True).encode("ascii")


def _model(model: Model, external: ReadExternal) -> dict[str, Any]:
    return {
        "format": FORMAT,
        "ir_version": model.ir_version,
        "imports": _imports(model.imports),
        "producer": model.producer,
        "metadata": sorted(map(list, model.metadata)),
        "graph": _graph(model.graph, external),
        "functions": [_function(function, external) for function in model.functions],
        "training": [_graph(graph, external) for _, graph in model.training],
        "training_entries": model.training_count,
        "unknown": sorted([each.place, each.number] for each in model.unknown),
        "configurations": model.configurations,
    }


def _imports(imports: Iterable[Import]) -> list[list[Any]]:
    return sorted(([import_.domain, import_.version] for import_ in imports), key=lambda pair: (pair[0], pair[1] or 0))


def _graph(graph: Graph, external: ReadExternal) -> dict[str, Any]:
    return {
        "name": graph.name,
        "inputs": list(map(_value, graph.inputs)),
        "outputs": list(map(_value, graph.outputs)),
        "value_info": sorted(map(_value, graph.value_info), key=_order),
        "initializers": sorted((_tensor(initializer, external) for initializer in graph.initializers), key=_order),
        "sparse_initializers": sorted(map(_sparse, graph.sparse_initializers), key=_order),
        "nodes": [_node(node, external) for node in graph.nodes],
        "annotations": len(graph.annotations),
    }


def _order(entry: dict[str, Any]) -> tuple[str, str]:
    """Sort key: the name, then the whole entry."""
    return entry["name"], json.dumps(entry, sort_keys=True)


def _function(function: Function, external: ReadExternal) -> dict[str, Any]:
    return {
        "name": function.name,
        "domain": function.domain,
        "overload": function.overload,
        "inputs": list(function.inputs),
        "outputs": list(function.outputs),
        "attributes": list(function.attributes),
        "defaults": _attributes(function.defaults, external),
        "value_info": sorted(map(_value, function.value_info), key=_order),
        "nodes": [_node(node, external) for node in function.nodes],
        "imports": _imports(function.imports),
    }


def _node(node: Node, external: ReadExternal) -> dict[str, Any]:
    return {
        "name": node.name,
        "operator": node.operator,
        "domain": node.domain,
        "overload": node.overload,
        "inputs": list(node.inputs),
        "outputs": list(node.outputs),
        "attributes": _attributes(node.attributes, external),
    }


def _attributes(attributes: Iterable[Attribute], external: ReadExternal) -> list[dict[str, Any]]:
    entries = [
        {
            "name": attribute.name,
            "kind": attribute.kind,
            "reference": attribute.reference,
            "fields": sorted(attribute.fields),
            "value": [_item(item, external) for item in attribute.value]
            if isinstance(attribute.value, tuple)
            else None
            if attribute.value is None
            else _item(attribute.value, external),
        }
        for attribute in attributes
    ]
    return sorted(entries, key=_order)


def _item(item: Item, external: ReadExternal) -> Any:
    """An integer or string as it is, a float as its bits, everything else as an object."""
    if isinstance(item, float):
        return {"float": struct.pack(">f", item).hex()}
    if isinstance(item, Tensor):
        return _tensor(item, external)
    if isinstance(item, SparseTensor):
        return _sparse(item)
    if isinstance(item, Graph):
        return _graph(item, external)
    return _type(item) if isinstance(item, Type) else item


def _value(value: ValueInfo) -> dict[str, Any]:
    return {"name": value.name, "type": _type(value.type)}


def _type(type_: Type) -> dict[str, Any]:
    return {
        "kind": type_.kind,
        "element": type_.element,
        "shape": None if type_.shape is None else list(type_.shape),
        "holds_sparse": type_.holds_sparse,
    }


def _sparse(tensor: SparseTensor) -> dict[str, Any]:
    return {"name": tensor.name, "element": tensor.element, "dims": list(tensor.dims), "sparse": True}


def _tensor(tensor: Tensor, external: ReadExternal) -> dict[str, Any]:
    """Type, dimensions and the SHA-256 of the values, wherever they are stored; null if there are none."""
    data = tensor.data if tensor.external is None else external(tensor)
    digest: str | None = None if data is None else hashlib.sha256(data).hexdigest()
    if tensor.strings:
        lengths = (struct.pack("<Q", len(string)) + string for string in tensor.strings)
        digest = hashlib.sha256(b"".join(lengths)).hexdigest()
    if data is None and not tensor.strings and tensor.external is None and 0 in tensor.dims:
        digest = hashlib.sha256(b"").hexdigest()
    missing = tensor.external.location if tensor.external is not None and data is None else None
    return {
        "name": tensor.name,
        "element": tensor.element,
        "dims": list(tensor.dims),
        "values": digest,
        "not_read": missing,
    }
