"""Binding of symbolic dimensions to numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from sonnx.base.errors import UsageError
from sonnx.model.ir import Attribute, Graph, Model, Node, Type, Value


class UnknownSymbol(UsageError):
    """A bound symbol is not a dimension of the model."""


def parse_bindings(values: Sequence[str]) -> dict[str, int]:
    """The numbers of symbols in arguments of `--bind`, such as `N=1,H=224`.

    Raises:
        UsageError: an argument has another form, or a symbol gets two numbers.
    """
    found: dict[str, int] = {}
    for item in filter(None, (item for value in values for item in value.split(","))):
        symbol, equals, number = item.rpartition("=")
        if not equals or not symbol or not number.isascii() or not number.isdecimal():
            raise UsageError(f"--bind takes SYMBOL=NUMBER, not {item!r}")
        if symbol in found and found[symbol] != int(number):
            raise UsageError(f"--bind gives {symbol} two values, {found[symbol]} and {number}")
        found[symbol] = int(number)
    return found


def bind_symbols(model: Model, numbers: Mapping[str, int]) -> Model:
    """The model with each bound symbol replaced by its number in all graphs and functions.

    Raises:
        UnknownSymbol: a symbol is not in the model; the message lists those that are.
    """
    found: set[str] = set()
    graph = _graph(model.graph, numbers, found)
    functions = tuple(
        replace(
            function,
            value_info=_values(function.value_info, numbers, found),
            nodes=_nodes(function.nodes, numbers, found),
        )
        for function in model.functions
    )
    missing = sorted(numbers.keys() - found)
    if missing:
        has = f"it has {', '.join(sorted(found))}" if found else "it has none"
        raise UnknownSymbol(f"no dimension of the model is the symbol {', '.join(missing)}; {has}")
    return replace(model, graph=graph, functions=functions)


def _graph(graph: Graph, numbers: Mapping[str, int], found: set[str]) -> Graph:
    return replace(
        graph,
        inputs=_values(graph.inputs, numbers, found),
        outputs=_values(graph.outputs, numbers, found),
        value_info=_values(graph.value_info, numbers, found),
        nodes=_nodes(graph.nodes, numbers, found),
    )


def _values(values: tuple[Value, ...], numbers: Mapping[str, int], found: set[str]) -> tuple[Value, ...]:
    return tuple(Value(value.name, _type(value.type, numbers, found)) for value in values)


def _type(type_: Type, numbers: Mapping[str, int], found: set[str]) -> Type:
    symbols = {dimension for dimension in type_.shape or () if isinstance(dimension, str)}
    if not symbols:
        return type_
    found |= symbols
    bound = tuple(numbers.get(d, d) if isinstance(d, str) else d for d in type_.shape or ())
    return replace(type_, shape=bound)


def _nodes(nodes: tuple[Node, ...], numbers: Mapping[str, int], found: set[str]) -> tuple[Node, ...]:
    return tuple(
        replace(node, attributes=tuple(_attribute(each, numbers, found) for each in node.attributes))
        if any(each.kind in ("graph", "graphs") for each in node.attributes)
        else node
        for node in nodes
    )


def _attribute(attribute: Attribute, numbers: Mapping[str, int], found: set[str]) -> Attribute:
    value = attribute.value
    if isinstance(value, Graph):
        return replace(attribute, value=_graph(value, numbers, found))
    if isinstance(value, tuple):
        return replace(attribute, value=tuple(_graph(g, numbers, found) if isinstance(g, Graph) else g for g in value))
    return attribute
