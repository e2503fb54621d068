"""GRU and RNN with constant matrices over a known number of steps, as nodes: what ONNX states of each step.

ONNX GRU-7 to GRU-22: z and r are sigmoids of sums of both products with their biases, the candidate is a tanh, with r
before or behind the product of the state as `linear_before_reset` says, and the state (1 - z) candidate + z state.
ONNX RNN-7 to RNN-22: the state is the tanh of the sum of both products.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from sonnx.equivalence.terms import Term
from sonnx.model.ir import Attribute, Node
from sonnx.numerics.formats import ELEMENTS, Array

MAX_STEPS = 128
GATES: Mapping[str, int] = {"GRU": 3, "RNN": 1}

Constant = Callable[[str, Array], str]
"""The name of a constant, from what it is."""


def cell_nodes(node: Node, terms: Sequence[Term | None], constant: Constant) -> tuple[list[Node], list[str]] | None:
    """The nodes of all steps, and the names of what the outputs of the node are; None for another form."""
    values: dict[str, Any] = {attribute.name: attribute.value for attribute in node.attributes}
    gates = GATES[node.operator]
    x, weights, recurrent, bias, lengths, state = [*terms, *[None] * 6][:6]
    activations = [str(name).lower() for name in values.get("activations") or ()]
    if activations not in ([], ["sigmoid", "tanh"][2 - min(gates, 2) :]) or lengths is not None or len(node.inputs) > 6:
        return None
    further = values.keys() - {"activations", "direction", "hidden_size", "linear_before_reset", "layout"}
    if further or values.get("layout", 0) or values.get("linear_before_reset", 0) not in (0, 1):
        return None
    if values.get("direction", "forward") not in ("forward", "reverse"):
        return None
    if x is None or x.shape is None or len(x.shape) != 3 or 0 in x.shape or x.shape[0] > MAX_STEPS:
        return None
    if weights is None or recurrent is None or weights.array is None or recurrent.array is None:
        return None
    if bias is not None and bias.array is None:
        return None
    kind, hidden = ELEMENTS[str(x.facts.type)], recurrent.array.shape[-1]
    steps, batch, size = x.shape
    width = gates * hidden
    if weights.array.shape != (1, width, size) or recurrent.array.shape != (1, width, hidden):
        return None
    both = np.zeros(2 * width, kind) if bias is None or bias.array is None else bias.array.reshape(-1)
    if both.shape != (2 * width,):
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

    def gate(index: int, step: int, current: str) -> str:
        rows = part(products, (step * batch, index * hidden), ((step + 1) * batch, (index + 1) * hidden))
        return add("Add", rows, product(index, current))

    def product(index: int, current: str) -> str:
        span = slice(index * hidden, (index + 1) * hidden)
        matrix = numbers("R", recurrent.array[0][span].T if recurrent.array is not None else ())
        return add("Gemm", current, matrix, numbers("Rb", np.broadcast_to(both[width:][span], (batch, hidden))))

    all_rows = np.broadcast_to(both[:width], (steps * batch, width))
    matrix = numbers("W", weights.array[0].T)
    products = add("Gemm", shaped(node.inputs[0], steps * batch, size), matrix, numbers("Wb", all_rows))
    start = np.zeros((batch, hidden))
    current = numbers("start", start) if state is None else shaped(node.inputs[5], batch, hidden)
    one, order = numbers("one", np.ones((batch, hidden))), range(steps)
    found = [""] * steps
    for step in reversed(order) if values.get("direction") == "reverse" else order:
        if gates == 1:
            current = add("Tanh", gate(0, step, current))
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
    apart = [shaped(name, 1, 1, batch, hidden) for name in found]
    nodes.append(
        Node("", "Concat", "", "", tuple(apart), (f"{output} (all)",), (Attribute("axis", "int", 0, fields=("i",)),))
    )
    return nodes, [f"{output} (all)", shaped(current, 1, batch, hidden)]
