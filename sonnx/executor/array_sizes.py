"""Whether the values of a model can be arrays, asked before any array is made.

A file of a hundred bytes can declare a value of 2^62 elements; it may conform to the profile, and it has no array here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from math import prod

from sonnx.base.errors import Unfinished
from sonnx.base.escaping import quote
from sonnx.checker.checker import StatedFacts
from sonnx.model.ir import Graph, Model, subgraphs
from sonnx.model.limits import Limits, exceeded

MAX_RANK = 32
"""Numpy broadcasts no arrays of a higher rank."""
MAX_EMPTY = 2**58
"""The largest product of the other extents of an empty array, so that bytes are counted in 63 bits."""


def require_arrays(model: Model) -> None:
    """Refuse a model that declares a value, or has a constant, that is too large for an array.

    Raises:
        Unfinished: names the value and the option that raises the limit.
    """
    for name, shape in _declared_shapes(model.graph):
        require_array(f"the value {quote(name)}", shape, model.limits)


def require_known_arrays(facts: StatedFacts, limits: Limits) -> None:
    """Refuse a model of which a value of the main graph, by what its check found, is too large for an array.

    Raises:
        Unfinished: names the value and the option that raises the limit.
    """
    for name, number in facts.scopes[0].values.items():
        value = facts.values[number]
        if value is not None and isinstance(value.shape, tuple):
            require_array(f"the value {quote(name)}", value.shape, limits)


def is_possible(shape: Sequence[int]) -> bool:
    """Whether an array can have a shape, if its elements need no memory."""
    return len(shape) <= MAX_RANK and prod(max(1, extent) for extent in shape) <= MAX_EMPTY


def require_array(what: str, shape: Iterable[object], limits: Limits) -> None:
    """Refuse a shape that is too large for an array; dimensions that are not numbers are not counted.

    Raises:
        Unfinished: says of `what` how large it is, and names the option that raises the limit.
    """
    extents = [extent for extent in shape if isinstance(extent, int)]
    if len(extents) > MAX_RANK:
        raise Unfinished(f"{what} has rank {len(extents)}, and an array has at most {MAX_RANK} dimensions here")
    elements = prod(extent for extent in extents if extent > 0)
    if 0 in extents:  # numpy multiplies the others, too
        if elements > MAX_EMPTY:
            raise Unfinished(f"{what} is empty, but its other extents are too large for an array")
    elif elements > limits["elements"]:
        raise Unfinished(f"{what} {exceeded(limits, 'elements', elements)}")


def _declared_shapes(graph: Graph) -> Iterator[tuple[str, Sequence[object]]]:
    for value in (*graph.inputs, *graph.outputs, *graph.value_info):
        yield value.name, value.type.shape or ()
    for tensor in graph.initializers:
        yield tensor.name, tensor.dims
    for node in graph.nodes:
        for _, inner in subgraphs(node):
            yield from _declared_shapes(inner)
