"""A model in double precision: each type of floating-point numbers of 16 and 32 bits becomes double, with the same
numbers.  What an operator demands in a narrower type, as Resize its scales, stays, and so do constants in other files.
A model whose operators have no double does not run.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from msgspec.structs import replace

from sonnx.model.ir import NOT_STATED, Attribute, Graph, Model, Node, Tensor, Type, ValueInfo
from sonnx.model.reader import element_names
from sonnx.model.scopes import canonical_domain
from sonnx.model.writer import element_number
from sonnx.numerics.constant_data import decode
from sonnx.numerics.formats import Array
from sonnx.profile import catalogue
from sonnx.profile.definitions import covers

NARROWER = frozenset({"float", "float16", "bfloat16"})
DOUBLE = "double"


def in_double(model: Model) -> Model:
    """The model in double precision; its outputs are those of the model, then all values of its nodes."""
    version = next((each.version for each in model.imports if not canonical_domain(each.domain)), None)
    graph = _graph(model.graph, frozenset(_narrow(model.graph, version or 1)))
    outputs = {output.name for output in graph.outputs}
    names = [name for node in graph.nodes for name in node.outputs if name and name not in outputs]
    watched = tuple([ValueInfo(name, NOT_STATED) for name in dict.fromkeys(names)])
    return replace(model, graph=replace(graph, outputs=(*graph.outputs, *watched)))


def array_in_double(array: Array) -> Array:
    """An input of the model as one of the model in double precision."""
    narrower = array.dtype.kind == "f" or array.dtype.name == "bfloat16"
    return array.astype(np.float64) if narrower and array.dtype.itemsize > 1 else array


def _narrow(graph: Graph, version: int) -> Iterator[str]:
    """The values that an operator demands in one of the narrower types."""
    for node in graph.nodes:
        definition = None if canonical_domain(node.domain) else catalogue.operator(node.operator)
        formals = [] if definition is None else [each for each in definition.inputs if covers(each, version)]
        yield from (name for name, formal in zip(node.inputs, formals, strict=False) if formal.type in NARROWER)


def _graph(graph: Graph, kept: frozenset[str]) -> Graph:
    return replace(
        graph,
        inputs=tuple(map(_declared, graph.inputs)),
        outputs=tuple(map(_declared, graph.outputs)),
        value_info=(),
        initializers=tuple([each if each.name in kept else _tensor(each) for each in graph.initializers]),
        nodes=tuple([node if kept & {*node.outputs} else _node(node, kept) for node in graph.nodes]),
    )


def _declared(value: ValueInfo) -> ValueInfo:
    return replace(value, type=_type(value.type))


def _type(stated: Type) -> Type:
    inner = None if stated.inner is None else _type(stated.inner)
    return replace(stated, element=DOUBLE if stated.element in NARROWER else stated.element, inner=inner)


def _tensor(tensor: Tensor) -> Tensor:
    if tensor.element not in NARROWER or tensor.external is not None:
        return tensor
    data = decode(tensor, None).astype("<f8").tobytes()
    return Tensor(tensor.name, DOUBLE, tensor.dims, ("raw_data",), memoryview(data))


def _node(node: Node, kept: frozenset[str]) -> Node:
    return replace(node, attributes=tuple([_attribute(node, attribute, kept) for attribute in node.attributes]))


def _attribute(node: Node, attribute: Attribute, kept: frozenset[str]) -> Attribute:
    value: Any = attribute.value
    if isinstance(value, Graph):
        return replace(attribute, value=_graph(value, kept))
    if isinstance(value, Tensor):
        return replace(attribute, value=_tensor(value))
    if node.operator == "Constant" and attribute.kind in ("float", "floats"):
        numbers = np.asarray(value, np.float32).astype("<f8")
        tensor = Tensor("", DOUBLE, numbers.shape, ("raw_data",), memoryview(numbers.tobytes()))
        return Attribute("value", "tensor", tensor, fields=("t",))
    if node.operator == "Cast" and attribute.name == "to" and element_names().get(value) in NARROWER:
        return replace(attribute, value=element_number(DOUBLE))
    return attribute
