"""GRU and RNN over a known number of steps: the products of all steps with W at once, then each step by its formula.

Each step rounds where the operator's text has one formula, so that the rewrite keeps ideal values only.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

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
GATES: Mapping[str, int] = {OperatorName.GRU: 3, OperatorName.RNN: 1}
"""The gates of a cell."""


@rewrite("unrolled-cells", Trigger.RULE_FAILS)
def unrolled_cells(site: Site) -> Replacement | None:
    """The steps of one direction, forwards or backwards, with the default activations and without lengths."""
    shape, element, gates = site.shape(0), site.element_type(0) or "", GATES.get(site.node.operator)
    constants = [_constant(site, index) for index in (1, 2, 3)]
    if shape is None or len(shape) != 3 or 0 in shape or gates is None or element not in FLOATS:
        return None
    backwards = _backwards(site, gates)
    inputs = [*site.node.inputs, *[""] * 6][:6]
    if backwards is None or inputs[4] or constants[0] is None or constants[1] is None or shape[0] > MAX_STEPS:
        return None
    if (inputs[3] and constants[2] is None) or site.operator_set < SHAPE_AS_INPUT:
        return None
    hidden = constants[1].shape[-1]
    if constants[0].shape != (1, gates * hidden, shape[2]) or constants[1].shape != (1, gates * hidden, hidden):
        return None
    bias = np.zeros((1, 2 * gates * hidden), constants[0].dtype) if constants[2] is None else constants[2]
    if bias.shape != (1, 2 * gates * hidden):
        return None
    cells = _Cells(site, shape, element, hidden, gates, constants[0][0], constants[1][0], bias[0])
    cells.run(inputs[5], backwards=backwards)
    return cells.sequence.replacement(descriptions.call(site.node), f"{shape[0]} steps by their formula")


def _constant(site: Site, index: int) -> Array | None:
    constant = site.constant(index)
    return None if constant is None else constant_tensors.decoded(constant)


def _backwards(site: Site, gates: int) -> bool | None:
    """Whether the sequence runs from its end; None where an attribute asks for other steps."""
    values: Mapping[str, Any] = {name: each.value for name, each in site.attributes.items()}
    if any(each.reference for each in site.attributes.values()):
        return None
    meant = [OperatorName.SIGMOID, OperatorName.TANH] if gates > 1 else [OperatorName.TANH]
    written = [str(name).lower() for name in values.get("activations") or meant]
    if written != [name.lower() for name in meant]:
        return None
    if values.get("layout", 0) or any(name in values for name in ("clip", "activation_alpha", "activation_beta")):
        return None
    return {"forward": False, "reverse": True}.get(str(values.get("direction", "forward")))


class _Cells:
    """The nodes of all steps; `weights`, `recurrent` and `bias` are those of the only direction."""

    def __init__(
        self, site: Site, shape: Shape, element: str, hidden: int, gates: int, weights: Array, recurrent: Array,
        bias: Array,
    ) -> None:  # fmt: skip
        self.site, self.shape, self.element, self.hidden, self.gates = site, shape, element, hidden, gates
        self.sequence = NodeSequence(next(filter(None, site.node.outputs)), site.operator_set)
        written = site.attributes.get("linear_before_reset")
        self.before_reset = written is not None and written.value == 1
        width = gates * hidden
        steps, batch, size = shape
        add = self.sequence.constant
        self.weights = add("W", element, weights.T, (size, width))
        self.bias = add("Wb", element, np.broadcast_to(bias[:width], (steps * batch, width)), (steps * batch, width))
        spans = [slice(gate * hidden, (gate + 1) * hidden) for gate in range(gates)]
        self.matrices = [
            add(f"R{gate}", element, recurrent[span].T, (hidden, hidden)) for gate, span in enumerate(spans)
        ]
        self.biases = [
            add(f"Rb{gate}", element, np.broadcast_to(bias[width:][span], (batch, hidden)), (batch, hidden))
            for gate, span in enumerate(spans)
        ]
        self.one = add("one", element, 1, (batch, hidden))

    def run(self, state: str, *, backwards: bool) -> None:
        """Append the steps and the outputs."""
        sequence, (steps, batch, size) = self.sequence, self.shape
        rows = sequence.reshape(self.site.node.inputs[0], (steps * batch, size))
        products = self._product(rows, self.weights, self.bias)
        start = (batch, self.hidden)
        current = sequence.reshape(state, start) if state else sequence.constant("start", self.element, 0, start)
        found: list[str] = [""] * steps
        for step in reversed(range(steps)) if backwards else range(steps):
            current = self._step(products, step, current)
            found[step] = current
        every, final = [*self.site.node.outputs, "", ""][:2]
        if every:
            apart = [sequence.reshape(name, (1, 1, batch, self.hidden)) for name in found]
            sequence.add(OperatorName.CONCAT, apart, every, axis=0)
        if final:
            sequence.reshape(current, (1, batch, self.hidden), final)

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

    def _step(self, products: str, step: int, state: str) -> str:
        if self.gates == 1:
            return self._add(OperatorName.TANH, self._gate(products, step, 0, state))
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
        return self._add(OperatorName.ADD, taken, kept)
