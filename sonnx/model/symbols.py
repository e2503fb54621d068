"""Numbers for dimensions: of symbols, and of graph inputs whatever they state."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from msgspec.structs import replace

from sonnx.base.errors import UsageError
from sonnx.model.ir import Attribute, Graph, Model, Node, Type, ValueInfo
from sonnx.model.scopes import holds_graph

MAX_DIMENSION = (1 << 63) - 1
"""The largest dimension that a file can state (TensorShapeProto.Dimension.dim_value is an int64)."""

MAX_DIGITS = 640
"""Python reads numbers of so many digits whatever its settings."""


class UnknownSymbol(UsageError):
    """A bound symbol is not a dimension of the model."""


def parse_bindings(values: Sequence[str]) -> dict[str, int]:
    """The numbers of symbols in arguments of `--bind`, such as `N=1,H=224`.

    Raises:
        UsageError: an argument has another form, or a symbol gets two numbers.
    """
    bindings: dict[str, int] = {}
    for item in filter(None, (item for value in values for item in value.split(","))):
        symbol, equals, text = item.rpartition("=")
        number = _size(text)
        if not equals or not symbol or number is None:
            raise UsageError(f"--bind takes SYMBOL=NUMBER, not {_shown(item)}")
        if bindings.setdefault(symbol, number) != number:
            raise UsageError(f"--bind gives {symbol} two values, {bindings[symbol]} and {number}")
    return bindings


def parse_input_shapes(values: Sequence[str]) -> dict[str, tuple[int, ...]]:
    """The shapes in arguments of `--input-shape`, such as `x=1,3,48,192`; `x=` is a scalar.

    Raises:
        UsageError: an argument has another form, or an input gets two shapes.
    """
    input_shapes: dict[str, tuple[int, ...]] = {}
    for value in values:
        name, equals, text = value.rpartition("=")
        sizes = [_size(item) for item in text.split(",")] if text else []
        shape = tuple(size for size in sizes if size is not None)
        if not equals or not name or len(shape) < len(sizes):
            raise UsageError(f"--input-shape takes INPUT=NUMBER,NUMBER,..., not {_shown(value)}")
        if input_shapes.setdefault(name, shape) != shape:
            raise UsageError(f"--input-shape gives {name} two shapes")
    return input_shapes


def _size(text: str) -> int | None:
    """The number in decimal digits, None for another text and for one that Python refuses to read."""
    return int(text) if text.isascii() and text.isdecimal() and len(text) <= MAX_DIGITS else None


def _shown(item: str) -> str:
    return repr(item if len(item) <= MAX_DIGITS else f"{item[:40]}…")


def require_sizes(numbers: Mapping[str, int]) -> None:
    """Refuse a negative dimension, and one that no file can state.

    Raises:
        UsageError: names the symbols.
    """
    negative = [symbol for symbol, number in numbers.items() if number < 0]
    if negative:
        raise UsageError(f"a dimension cannot be negative: {', '.join(negative)}")
    large = [symbol for symbol, number in numbers.items() if number > MAX_DIMENSION]
    if large:
        raise UsageError(f"a dimension is at most {MAX_DIMENSION}, the largest int64: {', '.join(large)}")


def bind_symbols(
    model: Model, numbers: Mapping[str, int], shapes: Mapping[str, Sequence[int]] = MappingProxyType({})
) -> Model:
    """The model with each bound symbol replaced by its number in all graphs and functions.

    Args:
        model: the model.
        numbers: by symbol.
        shapes: by graph input; a symbol in the input's declaration gets the number everywhere, but for a placeholder
            (`placeholders_of`), which says nothing about other values.

    Raises:
        UnknownSymbol: a symbol is not in the model; the message lists those that are.
        UsageError: a negative number, or a shape that contradicts the model or another number.
    """
    if not numbers and not shapes:
        return model
    require_sizes(numbers)
    symbols: set[str] = set()
    sizes: dict[str, int | None] = dict(numbers)
    if shapes:
        _values(model.graph.inputs, {}, symbols)
        sizes |= _numbers_of_symbols(model, numbers, shapes)
        sizes |= dict.fromkeys(placeholders_of(model, numbers, shapes))
        inputs = tuple(_with_shape(value, shapes.get(value.name)) for value in model.graph.inputs)
        bare = {value.name for value in model.graph.inputs if value.name in shapes and value.type.shape is None}
        model = replace(model, graph=replace(model.graph, inputs=inputs), without_shape=model.without_shape | bare)
    graph = _graph(model.graph, sizes, symbols)
    functions = tuple(
        replace(
            function,
            value_info=_values(function.value_info, sizes, symbols),
            nodes=_nodes(function.nodes, sizes, symbols),
        )
        for function in model.functions
    )
    missing = sorted(sizes.keys() - symbols)
    if missing:
        has = f"it has {', '.join(sorted(symbols))}" if symbols else "it has none"
        raise UnknownSymbol(f"no dimension of the model is the symbol {', '.join(missing)}; {has}")
    return replace(model, graph=graph, functions=functions)


def symbols_of(model: Model) -> frozenset[str]:
    """The symbols that dimensions of the model are, in all graphs and functions."""
    symbols: set[str] = set()
    _graph(model.graph, {}, symbols)
    for function in model.functions:
        _values(function.value_info, {}, symbols)
        _nodes(function.nodes, {}, symbols)
    return frozenset(symbols)


def placeholders_of(model: Model, numbers: Mapping[str, int], shapes: Mapping[str, Sequence[int]]) -> tuple[str, ...]:
    """The names of dimensions, in inputs with these shapes, that stand for any size, each time for another one.

    Exporters write `?` or `None` where they know no size.  A name that `numbers` binds is taken for a symbol.
    """
    stated = (value.type.shape or () for value in model.graph.inputs if value.name in shapes)
    names = dict.fromkeys(extent for shape in stated for extent in shape if isinstance(extent, str))
    return tuple(name for name in names if _is_placeholder(name) and name not in numbers)


def _is_placeholder(name: str) -> bool:
    return name == str(None) or (name.isascii() and not any(map(str.isalpha, name)))


def _numbers_of_symbols(
    model: Model, numbers: Mapping[str, int], shapes: Mapping[str, Sequence[int]]
) -> dict[str, int]:
    """The numbers of the symbols in the declarations of inputs with these shapes, without placeholders.

    Raises:
        UsageError: a shape that contradicts the model or another number.
    """
    types, sizes = {value.name: value.type for value in model.graph.inputs}, dict(numbers)
    placeholders = placeholders_of(model, numbers, shapes)
    for name, shape in shapes.items():
        if name not in types:
            raise UsageError(f"the model has no input {name!r}; it has {', '.join(map(repr, types)) or 'none'}")
        stated = types[name].shape
        if stated is not None and len(stated) != len(shape):
            raise UsageError(f"the input {name!r} has rank {len(stated)}; --input-shape gives it rank {len(shape)}")
        for index, (number, dimension) in enumerate(zip(shape, stated or (), strict=False)):
            require_sizes({f"dimension {index} of {name!r}": number})
            if isinstance(dimension, str):
                if dimension not in placeholders and sizes.setdefault(dimension, number) != number:
                    raise UsageError(f"the dimension {dimension} is given as {sizes[dimension]} and as {number}")
            elif dimension is not None and dimension >= 0 and dimension != number:
                raise UsageError(f"dimension {index} of the input {name!r} is {dimension}, not {number}")
    return sizes


def _with_shape(value: ValueInfo, shape: Sequence[int] | None) -> ValueInfo:
    return value if shape is None else ValueInfo(value.name, replace(value.type, shape=tuple(shape)))


def _graph(graph: Graph, numbers: Mapping[str, int | None], symbols: set[str]) -> Graph:
    return replace(
        graph,
        inputs=_values(graph.inputs, numbers, symbols),
        outputs=_values(graph.outputs, numbers, symbols),
        value_info=_values(graph.value_info, numbers, symbols),
        nodes=_nodes(graph.nodes, numbers, symbols),
    )


def _values(
    values: tuple[ValueInfo, ...], numbers: Mapping[str, int | None], symbols: set[str]
) -> tuple[ValueInfo, ...]:
    return tuple(ValueInfo(value.name, _type(value.type, numbers, symbols)) for value in values)


def _type(type_: Type, numbers: Mapping[str, int | None], symbols: set[str]) -> Type:
    own = {dimension for dimension in type_.shape or () if isinstance(dimension, str)}
    if not own:
        return type_
    symbols |= own
    bound = tuple(numbers.get(d, d) if isinstance(d, str) else d for d in type_.shape or ())
    return replace(type_, shape=bound)


def _nodes(nodes: tuple[Node, ...], numbers: Mapping[str, int | None], symbols: set[str]) -> tuple[Node, ...]:
    return tuple(
        replace(node, attributes=tuple(_attribute(attribute, numbers, symbols) for attribute in node.attributes))
        if holds_graph(node)
        else node
        for node in nodes
    )


def _attribute(attribute: Attribute, numbers: Mapping[str, int | None], symbols: set[str]) -> Attribute:
    value = attribute.value
    if isinstance(value, Graph):
        return replace(attribute, value=_graph(value, numbers, symbols))
    if isinstance(value, tuple):
        return replace(
            attribute, value=tuple(_graph(g, numbers, symbols) if isinstance(g, Graph) else g for g in value)
        )
    return attribute
