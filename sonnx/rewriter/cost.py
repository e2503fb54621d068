"""An estimate of what a run of a model costs: multiplications and additions, and bytes of values that are written.

Products count twice their multiplications, every other operator one operation for each element of its outputs, and
movements of elements none.  It says how a rewriting changes the cost, not how long a run takes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import prod

from msgspec import Struct

from sonnx.language.evaluator import TensorFacts, first_unknown
from sonnx.model.ir import Model, Node, Tensor
from sonnx.numerics.formats import ELEMENTS
from sonnx.operators import operator_facts
from sonnx.rewriter.operator_names import OperatorName

Facts = Mapping[str, TensorFacts]


class Cost(Struct, frozen=True):
    """The operations and bytes of the nodes of the main graph whose shapes are known, and how many others there are."""

    operations: int
    bytes_written: int
    unknown: int


OPERATION, BYTE, CALL = 1e-10, 2e-10, 1e-6
"""Seconds of an operation, of a byte that is written, and of starting a node, of one core of a common processor."""


def cost_of(model: Model, facts: Facts) -> Cost:
    """The cost of a model whose values have these facts."""
    costs = [*_costs(model, facts)]
    known = [cost for cost in costs if cost is not None]
    operations, written = sum(cost[0] for cost in known), sum(cost[1] for cost in known)
    return Cost(operations, written, len(costs) - len(known))


def node_seconds(model: Model, facts: Facts) -> dict[int, float | None]:
    """The estimated seconds of a run of each node of the main graph, by its index; None where a shape is not known."""
    return {
        index: None if cost is None else CALL + OPERATION * cost[0] + BYTE * cost[1]
        for index, cost in enumerate(_costs(model, facts))
    }


def _costs(model: Model, facts: Facts) -> Iterator[tuple[int, int] | None]:
    """The operations and the bytes of each node."""
    constants = {tensor.name: tensor for tensor in model.graph.initializers}
    for node in model.graph.nodes:
        sizes = [_size(name, facts) for name in node.outputs if name]
        terms = _terms_of_a_sum(node, facts, constants)
        if None in sizes or terms is None:
            yield None
            continue
        elements = sum(elements for elements, _ in filter(None, sizes))
        yield elements * terms, sum(elements * width for elements, width in filter(None, sizes))


def _shape(name: str, facts: Facts, constants: Mapping[str, Tensor]) -> tuple[int, ...] | None:
    if name in constants:
        return tuple(constants[name].dims)
    known = facts.get(name)
    if known is None or not isinstance(known.shape, tuple) or first_unknown(known.shape) is not None:
        return None
    return tuple([int(extent) for extent in known.shape])  # type: ignore[arg-type]  # each is a number


def _size(name: str, facts: Facts) -> tuple[int, int] | None:
    """The elements of a value, and the bytes of one."""
    shape, known = _shape(name, facts, {}), facts.get(name)
    kind = ELEMENTS.get(str(known.type)) if known is not None else None
    return None if shape is None or kind is None else (prod(shape), kind.itemsize)


def _terms_of_a_sum(node: Node, facts: Facts, constants: Mapping[str, Tensor]) -> int | None:
    """The operations for each element of the output; None where a shape is not known."""
    stated = operator_facts(node.operator, node.domain)
    if stated.moves or stated.states_elements or stated.reads_shapes_only:
        return 0
    shapes = [_shape(name, facts, constants) for name in node.inputs if name]
    if None in shapes or not shapes:
        return None if shapes else 1
    first, *others = [shape for shape in shapes if shape is not None]
    if stated.elementwise:
        return 1
    if not others:  # a reduction, or a maximum of windows
        return max(1, prod(first) // max(1, prod(_shape(next(iter(node.outputs), ""), facts, {}) or (1,))))
    match node.operator:
        case OperatorName.CONV:
            return 2 * prod(others[0][1:])
        case OperatorName.GEMM | OperatorName.MATMUL:
            return 2 * first[-1] if first else 1
    return 1
