"""GRU, RNN, and LSTM with a state that varies, with constant matrices over a known number of steps, as nodes: what ONNX
states of each step.

ONNX GRU-7 to GRU-22: z and r are sigmoids of sums of both products with their biases, the candidate is a tanh, with r
before or behind the product of the state as `linear_before_reset` says, and the state (1 - z) candidate + z state.
ONNX RNN-7 to RNN-22: the state is the tanh of the sum of both products.
ONNX LSTM-7 to LSTM-22, without peepholes: i, o and f are sigmoids, c is a tanh, the cell f cell + i c, the state
o tanh(cell).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from sonnx.equivalence.terms.store import Term
from sonnx.model.ir import Attribute, Node
from sonnx.numerics.formats import ELEMENTS, Array

MAX_STEPS = 128
GATES: Mapping[str, int] = {"GRU": 3, "LSTM": 4, "RNN": 1}
ACTIVATIONS: Mapping[int, list[str]] = {1: ["tanh"], 3: ["sigmoid", "tanh"], 4: ["sigmoid", "tanh", "tanh"]}
ATTRIBUTES = frozenset({"activations", "direction", "hidden_size", "input_forget", "layout", "linear_before_reset"})
ORDERS = {"forward": (1,), "reverse": (-1,), "bidirectional": (1, -1)}

Constant = Callable[[str, Array], str]
"""The name of a constant, from what it is."""


def has_cells(node: Node, terms: Sequence[Term | None]) -> bool:
    """Whether an operator is written as steps: LSTM, which has a definition, only where a state varies."""
    if node.operator != "LSTM":
        return node.operator in GATES
    return any(state is not None and not state.is_constant for state in terms[5:7])


def cell_nodes(node: Node, terms: Sequence[Term | None], constant: Constant) -> tuple[list[Node], list[str]] | None:
    """The nodes of all steps, and the names of what the outputs of the node are; None for another form."""
    values: dict[str, Any] = {attribute.name: attribute.value for attribute in node.attributes}
    gates = GATES[node.operator]
    x, weights, recurrent, bias, lengths, *others = [*terms, *[None] * 8][:8]
    orders = ORDERS.get(values.get("direction", "forward"), ())
    activations = [str(name).lower() for name in values.get("activations") or ()]
    if activations not in ([], ACTIVATIONS[gates] * len(orders)) or not orders or values.keys() - ATTRIBUTES:
        return None
    if values.get("layout", 0) or values.get("input_forget", 0) or values.get("linear_before_reset", 0) not in (0, 1):
        return None
    if x is None or x.shape is None or len(x.shape) != 3 or 0 in x.shape or x.shape[0] > MAX_STEPS:
        return None
    peepholes = others[2]
    if lengths is not None and (lengths.array is None or (lengths.array != x.shape[0]).any()):
        return None
    if peepholes is not None and (peepholes.array is None or peepholes.array.any()):
        return None
    if weights is None or recurrent is None or weights.array is None or recurrent.array is None:
        return None
    if bias is not None and bias.array is None:
        return None
    kind, hidden, (steps, batch, size) = ELEMENTS[str(x.facts.type)], recurrent.array.shape[-1], x.shape
    width, count = gates * hidden, len(orders)
    if weights.array.shape != (count, width, size) or recurrent.array.shape != (count, width, hidden):
        return None
    both = np.zeros((count, 2 * width), kind) if bias is None or bias.array is None else bias.array
    if both.shape != (count, 2 * width):
        return None
    nodes: list[Node] = []
    output = next(filter(None, node.outputs))

    def add(operator: str, *inputs: str, **attributes: int) -> str:
        result = f"{output} (cell {len(nodes)})"
        written = tuple(Attribute(name, "int", each, fields=("i",)) for name, each in attributes.items())
        nodes.append(Node("", operator, "", "", inputs, (result,), written))
        return result

    def numbers(role: str, array: Any, element: Any = kind) -> str:
        return constant(f"{output} ({role})", np.ascontiguousarray(np.array(array).astype(element)))

    def shaped(name: str, *shape: int) -> str:
        return add("Reshape", name, numbers("shape", shape, np.int64))

    def part(name: str, begin: tuple[int, int], end: tuple[int, int]) -> str:
        for axis in (0, 1):  # Slice takes its bounds as inputs in newer operator sets only
            name = add("Gather", name, numbers("places", range(begin[axis], end[axis]), np.int64), axis=axis)
        return name

    def first(state: Term | None, index: int, way: int) -> str:
        if state is None:
            return numbers("start", np.zeros((batch, hidden)))
        own = add("Gather", node.inputs[index], numbers("way", [way], np.int64), axis=0)
        return shaped(own, batch, hidden)

    def one_way(way: int, order: int) -> tuple[list[str], list[str]]:
        own, columns = (
            recurrent.array[way] if recurrent is not None and recurrent.array is not None else both,
            both[way],
        )

        def gate(index: int, step: int, current: str) -> str:
            rows = part(products, (step * batch, index * hidden), ((step + 1) * batch, (index + 1) * hidden))
            return add("Add", rows, product(index, current))

        def product(index: int, current: str) -> str:
            span = slice(index * hidden, (index + 1) * hidden)
            added = np.broadcast_to(columns[width:][span], (batch, hidden))
            return add("Gemm", current, numbers("R", own[span].T), numbers("Rb", added))

        all_rows = np.broadcast_to(columns[:width], (steps * batch, width))
        matrix = numbers("W", weights.array[way].T if weights is not None and weights.array is not None else ())
        products = add("Gemm", shaped(node.inputs[0], steps * batch, size), matrix, numbers("Wb", all_rows))
        current, cell = first(others[0], 5, way), first(others[1], 6, way) if gates == 4 else ""
        one, found = numbers("one", np.ones((batch, hidden))), [""] * steps
        for step in range(steps)[::order]:
            if gates == 1:
                current = add("Tanh", gate(0, step, current))
            elif gates == 4:
                entering, leaving, keeping = (add("Sigmoid", gate(index, step, current)) for index in range(3))
                candidate = add("Tanh", gate(3, step, current))
                cell = add("Add", add("Mul", keeping, cell), add("Mul", entering, candidate))
                current = add("Mul", leaving, add("Tanh", cell))
            else:
                update, reset = (add("Sigmoid", gate(index, step, current)) for index in (0, 1))
                if values.get("linear_before_reset", 0) == 1:
                    rows = part(products, (step * batch, 2 * hidden), ((step + 1) * batch, 3 * hidden))
                    inside = add("Add", rows, add("Mul", reset, product(2, current)))
                else:
                    inside = gate(2, step, add("Mul", reset, current))
                taken = add("Mul", add("Sub", one, update), add("Tanh", inside))
                current = add("Add", taken, add("Mul", update, current))
            found[step] = current
        return found, [current, *([cell] if cell else [])]

    ways = [one_way(way, order) for way, order in enumerate(orders)]
    apart = [
        add("Concat", *[shaped(found[step], 1, 1, batch, hidden) for found, _ in ways], axis=1) for step in range(steps)
    ]
    results = [add("Concat", *apart, axis=0)]
    for states in zip(*(last for _, last in ways), strict=True):
        results.append(add("Concat", *[shaped(state, 1, batch, hidden) for state in states], axis=0))
    return nodes, results
