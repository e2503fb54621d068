"""LSTM with a state that is known at run time, GRU and RNN over a known number of steps: the products of all steps with
W at once, then each step by its formula.

Each step rounds where the operator's text has one formula, so that the rewrite keeps ideal values only.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from sonnx.numerics.formats import Array
from sonnx.rewriter import constant_tensors, descriptions
from sonnx.rewriter.node_builders import SHAPE_AS_INPUT, NodeSequence, attribute, with_attributes
from sonnx.rewriter.operator_names import OperatorName
from sonnx.rewriter.rewrite import Replacement, Trigger, rewrite
from sonnx.rewriter.rewrites.sums import FLOATS
from sonnx.rewriter.site import Shape, Site

MAX_STEPS = 128
"""Steps up to which a sequence is written out."""
GATES: Mapping[str, int] = {OperatorName.LSTM: 4, OperatorName.GRU: 3, OperatorName.RNN: 1}
"""The gates of a cell."""
DIRECTIONS: Mapping[str, tuple[bool, ...]] = {"forward": (False,), "reverse": (True,), "bidirectional": (False, True)}
"""Of each direction whether the sequence runs from its end."""
INPUT, OUTPUT, FORGET, CELL = range(4)
"""The order of the gates of LSTM (ONNX LSTM-7)."""


class _Weights(NamedTuple):
    """W, R and B of all directions, without 0 in their shapes."""

    weights: Array
    recurrent: Array
    bias: Array


@rewrite("unrolled-cells", Trigger.RULE_FAILS)
def unrolled_cells(site: Site) -> Replacement | None:
    """The steps of each direction, with the default activations and without lengths."""
    shape, element, gates = site.shape(0), site.element_type(0) or "", GATES.get(site.node.operator)
    if shape is None or len(shape) != 3 or 0 in shape or gates is None or element not in FLOATS:
        return None
    directions = _directions(site, gates)
    weights = None if directions is None else _weights(site, shape, gates, len(directions))
    if directions is None or weights is None or shape[0] > MAX_STEPS or site.operator_set < SHAPE_AS_INPUT:
        return None
    if not _has_all_steps(site, shape) or not _has_no_peepholes(site):
        return None
    states = ([*site.node.inputs, *[""] * 7][5:7] if gates == GATES[OperatorName.LSTM] else
              [*site.node.inputs, *[""] * 6][5:6])  # fmt: skip
    sequence = NodeSequence(next(filter(None, site.node.outputs)), site.operator_set)
    cells = [
        _Cells(sequence, site, shape, element, gates, _Weights(*[array[index] for array in weights]), index)
        for index in range(len(directions))
    ]
    for index, (cell, backwards) in enumerate(zip(cells, directions, strict=True)):
        cell.run([cell.start(state, index, len(directions)) for state in states], backwards=backwards)
    _outputs(sequence, site, cells, len(states))
    return sequence.replacement(descriptions.call(site.node), f"{shape[0]} steps by their formula")


def _constant(site: Site, index: int) -> Array | None:
    constant = site.constant(index)
    return None if constant is None else constant_tensors.decoded(constant)


def _name(site: Site, index: int) -> str:
    return site.node.inputs[index] if index < len(site.node.inputs) else ""


def _weights(site: Site, shape: Shape, gates: int, directions: int) -> _Weights | None:
    """W, R and B; None where one is not a constant of the right shape."""
    weights, recurrent, bias = (_constant(site, index) for index in (1, 2, 3))
    if weights is None or recurrent is None or (_name(site, 3) and bias is None):
        return None
    hidden = recurrent.shape[-1] if recurrent.ndim else 0
    width = gates * hidden
    bias = np.zeros((directions, 2 * width), weights.dtype) if bias is None else bias
    wanted = (directions, width, shape[2]), (directions, width, hidden), (directions, 2 * width)
    fits = hidden > 0 and (weights.shape, recurrent.shape, bias.shape) == wanted
    return _Weights(weights, recurrent, bias) if fits else None


def _has_all_steps(site: Site, shape: Shape) -> bool:
    """Whether no sequence is shorter than the others."""
    lengths = _constant(site, 4)
    return not _name(site, 4) or (lengths is not None and bool((lengths == shape[0]).all()))


def _has_no_peepholes(site: Site) -> bool:
    """Whether the weights of peepholes of LSTM are left out, or zeros."""
    peepholes = _constant(site, 7)
    return not _name(site, 7) or (peepholes is not None and not peepholes.any())


def _directions(site: Site, gates: int) -> tuple[bool, ...] | None:
    """Of each direction whether the sequence runs from its end; None where an attribute asks for other steps."""
    values: Mapping[str, Any] = {name: each.value for name, each in site.attributes.items()}
    if any(each.reference for each in site.attributes.values()) or site.flag("linear_before_reset", 0) is None:
        return None
    directions = DIRECTIONS.get(str(values.get("direction", "forward")))
    meant = {1: [OperatorName.TANH], 3: [OperatorName.SIGMOID, OperatorName.TANH],
             4: [OperatorName.SIGMOID, OperatorName.TANH, OperatorName.TANH]}[gates]  # fmt: skip
    every = [name.lower() for name in meant] * len(directions or ())
    if [str(name).lower() for name in values.get("activations") or every] != every:
        return None
    if values.get("layout", 0) or values.get("input_forget", 0) or values.get("clip", 0.0):
        return None
    return None if any(name in values for name in ("activation_alpha", "activation_beta")) else directions


def _outputs(sequence: NodeSequence, site: Site, cells: list[_Cells], states: int) -> None:
    """Append the outputs: all states, the last one, and the last state of the cell of LSTM."""
    (steps, batch, _), hidden = cells[0].shape, cells[0].hidden
    every, *last = [*site.node.outputs, "", ""][: 1 + states]
    if every:
        apart = [sequence.reshape(cell.found[step], (1, 1, batch, hidden)) for step in range(steps) for cell in cells]
        if len(cells) == 1:
            sequence.add(OperatorName.CONCAT, apart, every, axis=0)
        else:
            joined = [
                sequence.add(OperatorName.CONCAT, apart[step : step + len(cells)], sequence.name("step"), axis=1)
                for step in range(0, len(apart), len(cells))
            ]
            sequence.add(OperatorName.CONCAT, joined, every, axis=0)
    for index, name in enumerate(last):
        if name and len(cells) == 1:
            sequence.reshape(cells[0].last[index], (1, batch, hidden), name)
        elif name:
            apart = [sequence.reshape(cell.last[index], (1, batch, hidden)) for cell in cells]
            sequence.add(OperatorName.CONCAT, apart, name, axis=0)


class _Cells:
    """The nodes of all steps of one direction.

    Attributes:
        found: the state after each step, in the order of the sequence.
        last: the states at the end.
    """

    def __init__(
        self, sequence: NodeSequence, site: Site, shape: Shape, element: str, gates: int, own: _Weights, index: int
    ) -> None:
        self.sequence, self.source, self.shape, self.element = sequence, site.node.inputs[0], shape, element
        self.hidden, self.gates, self.role = own.recurrent.shape[-1], gates, f"back{index}." if index else ""
        self.before_reset = site.flag("linear_before_reset", 0) == 1
        hidden, (steps, batch, size) = self.hidden, shape
        width = gates * hidden
        spans = [slice(gate * hidden, (gate + 1) * hidden) for gate in range(gates)]
        rows, columns = np.broadcast_to(own.bias[:width], (steps * batch, width)), own.bias[width:]
        self.weights = self._add_constant("W", own.weights.T, (size, width))
        self.bias = self._add_constant("Wb", rows, (steps * batch, width))
        self.matrices = [
            self._add_constant(f"R{gate}", own.recurrent[span].T, (hidden, hidden)) for gate, span in enumerate(spans)
        ]
        self.biases = [
            self._add_constant(f"Rb{gate}", np.broadcast_to(columns[span], (batch, hidden)), (batch, hidden))
            for gate, span in enumerate(spans)
        ]
        self.one = self._add_constant("one", 1, (batch, hidden)) if gates == GATES[OperatorName.GRU] else ""
        self.found = [""] * steps
        self.last: list[str] = []

    def _add_constant(self, role: str, numbers: Any, shape: Shape) -> str:
        return self.sequence.constant(f"{self.role}{role}", self.element, numbers, shape)

    def start(self, state: str, index: int, directions: int) -> str:
        """The first state of the direction, zeros where it is left out."""
        _, batch, _ = self.shape
        if not state:
            return self._add_constant("start", 0, (batch, self.hidden))
        if directions > 1:
            state = self.sequence.slice(state, (directions, batch, self.hidden), 0, (index, index + 1))
        return self.sequence.reshape(state, (batch, self.hidden))

    def run(self, states: list[str], *, backwards: bool) -> None:
        """Append the steps."""
        steps, batch, size = self.shape
        rows = self.sequence.reshape(self.source, (steps * batch, size))
        products = self._product(rows, self.weights, self.bias)
        for step in reversed(range(steps)) if backwards else range(steps):
            states = self._step(products, step, states)
            self.found[step] = states[0]
        self.last = states

    def _product(self, rows: str, matrix: str, bias: str) -> str:
        operands = (rows, matrix, bias)
        name = self.sequence.add(OperatorName.GEMM, operands, self.sequence.name("product"), transA=0, transB=0)
        factors = {name: attribute(name, "float", 1.0) for name in ("alpha", "beta")}
        self.sequence.nodes[-1] = with_attributes(self.sequence.nodes[-1], factors)
        return name

    def _part(self, products: str, step: int, gate: int) -> str:
        """The product of one step with the matrix of one gate."""
        steps, batch, _ = self.shape
        width = self.gates * self.hidden
        rows = self.sequence.slice(products, (steps * batch, width), 0, (step * batch, (step + 1) * batch))
        if self.gates == 1:
            return rows
        return self.sequence.slice(rows, (batch, width), 1, (gate * self.hidden, (gate + 1) * self.hidden))

    def _add(self, operator: OperatorName, *operands: str) -> str:
        return self.sequence.add(operator, operands, self.sequence.name(operator.value.lower()))

    def _gate(self, products: str, step: int, gate: int, state: str) -> str:
        """What the activation of a gate is taken of."""
        product = self._product(state, self.matrices[gate], self.biases[gate])
        return self._add(OperatorName.ADD, self._part(products, step, gate), product)

    def _step(self, products: str, step: int, states: list[str]) -> list[str]:
        if self.gates == GATES[OperatorName.LSTM]:
            return self._memory(products, step, *states)
        [state] = states
        if self.gates == 1:
            return [self._add(OperatorName.TANH, self._gate(products, step, 0, state))]
        update = self._add(OperatorName.SIGMOID, self._gate(products, step, 0, state))
        reset = self._add(OperatorName.SIGMOID, self._gate(products, step, 1, state))
        if self.before_reset:
            product = self._product(state, self.matrices[2], self.biases[2])
            inside = self._add(OperatorName.MUL, reset, product)
            new = self._add(OperatorName.ADD, self._part(products, step, 2), inside)
        else:
            new = self._gate(products, step, 2, self._add(OperatorName.MUL, reset, state))
        candidate = self._add(OperatorName.TANH, new)
        rest = self._add(OperatorName.SUB, self.one, update)
        taken, kept = self._add(OperatorName.MUL, rest, candidate), self._add(OperatorName.MUL, update, state)
        return [self._add(OperatorName.ADD, taken, kept)]

    def _memory(self, products: str, step: int, state: str, cell: str) -> list[str]:
        """The state and the cell of LSTM after a step."""
        entering, leaving, keeping = (
            self._add(OperatorName.SIGMOID, self._gate(products, step, gate, state)) for gate in (INPUT, OUTPUT, FORGET)
        )
        candidate = self._add(OperatorName.TANH, self._gate(products, step, CELL, state))
        kept, taken = self._add(OperatorName.MUL, keeping, cell), self._add(OperatorName.MUL, entering, candidate)
        cell = self._add(OperatorName.ADD, kept, taken)
        return [self._add(OperatorName.MUL, leaving, self._add(OperatorName.TANH, cell)), cell]
