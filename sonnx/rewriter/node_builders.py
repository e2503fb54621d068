"""Builders of nodes, with all attributes written, and of attributes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from sonnx.model.from_protobuf import VALUE_FIELD
from sonnx.model.ir import Attribute, AttributeValue, Node, Tensor
from sonnx.rewriter import constant_tensors
from sonnx.rewriter.operator_names import OperatorName
from sonnx.rewriter.pieces import NO_PIECES, Pieces, part_of
from sonnx.rewriter.rewrite import NoReplacement, Replacement

SHAPE_AS_INPUT = 5
"""The operator set from which Reshape takes its shape as an input (ONNX Reshape-5)."""
BOUNDS_AS_INPUTS = 10
"""The operator set and version from which Slice takes its bounds as inputs (ONNX Slice-10)."""
ALLOWZERO = 14
"""The operator set from which Reshape has the attribute allowzero (ONNX Reshape-14)."""


def attribute(name: str, kind: str, value: AttributeValue) -> Attribute:
    """A written attribute."""
    field = VALUE_FIELD.get(kind, kind)
    return Attribute(name, kind, value, "", () if value == () else (field,))


def with_attributes(node: Node, changed: Mapping[str, Attribute | None]) -> Node:
    """The node with attributes replaced, or added at the end, or removed where None is given."""
    kept = [changed.get(attribute.name, attribute) for attribute in node.attributes]
    present = {attribute.name for attribute in node.attributes}
    added = [attribute for name, attribute in changed.items() if name not in present]
    return replace(node, attributes=tuple(attribute for attribute in (*kept, *added) if attribute is not None))


def node(
    operator: OperatorName,
    inputs: Sequence[str],
    output: str,
    attributes: Mapping[str, int] | None = None,
    name: str = "",
) -> Node:
    """A node with one output and integer attributes."""
    written = tuple(attribute(key, "int", value) for key, value in (attributes or {}).items())
    return Node(name, operator.value, "", "", tuple(inputs), (output,), written)


class NodeSequence:
    """Nodes that together replace one node, with the constants they need.

    Intermediate values are named after the output of the replaced node, what they are, and how many nodes there are
    already.
    """

    def __init__(self, output: str, operator_set: int, pieces: Mapping[str, Pieces] = NO_PIECES) -> None:
        self.output, self.operator_set, self.pieces = output, operator_set, pieces
        self.nodes: list[Node] = []
        self.constants: list[Tensor] = []

    def name(self, role: str) -> str:
        """The name of the next intermediate value."""
        return f"{self.output}.{role}{len(self.nodes)}"

    def add(self, operator: OperatorName, inputs: Sequence[str], output: str, **attributes: int) -> str:
        """Append a node; its output."""
        self.nodes.append(node(operator, inputs, output, attributes))
        return output

    def reshape(self, source: str, shape: Sequence[int], output: str = "") -> str:
        """Append a Reshape, from operator set 5 on; its output."""
        output, known = output or self.name("shaped"), self.pieces.get(source, ())
        source = known[0].name if len(known) == 1 else source
        wanted = self._integers(f"{output}.shape", shape)
        written = {"allowzero": 0} if self.operator_set >= ALLOWZERO else {}
        return self.add(OperatorName.RESHAPE, (source, wanted), output, **written)

    def slice(self, source: str, shape: Sequence[int], axis: int, span: tuple[int, int], output: str = "") -> str:
        """Append a Slice of a value of a shape, from one index of an axis to before another; its output."""
        output = output or self.name("part")
        parts = part_of(self.pieces.get(source, ()), shape, axis, span)
        if len(parts) == 1 and self.operator_set >= SHAPE_AS_INPUT:
            return self.reshape(parts[0].name, [*shape[:axis], span[1] - span[0], *shape[axis + 1 :]], output)
        rank = len(shape)
        starts = [span[0] if index == axis else 0 for index in range(rank)]
        ends = [span[1] if index == axis else extent for index, extent in enumerate(shape)]
        bounds = {"starts": starts, "ends": ends, "axes": list(range(rank))}
        if self.operator_set < BOUNDS_AS_INPUTS:
            written = tuple(attribute(name, "ints", tuple(values)) for name, values in bounds.items())
            self.nodes.append(Node("", OperatorName.SLICE.value, "", "", (source,), (output,), written))
            return output
        bounds["steps"] = [1] * rank
        inputs = [self._integers(f"{output}.{name}", values) for name, values in bounds.items()]
        return self.add(OperatorName.SLICE, (source, *inputs), output)

    def constant(self, role: str, element: str, numbers: Any, dims: Sequence[int] = ()) -> str:
        """Add a constant of an element type that the executor knows; its name.

        Raises:
            NoReplacement: it has more bytes than a file can hold.
        """
        constant = constant_tensors.from_numbers(f"{self.output}.{role}", element, numbers, tuple(dims))
        if constant is None:
            raise NoReplacement(role)
        self.constants.append(constant)
        return constant.name

    def convolution(
        self,
        source: str,
        kernels: str,
        kernel_shape: Sequence[int],
        *,
        group: int = 1,
        strides: Sequence[int] = (1, 1),
        dilations: Sequence[int] = (1, 1),
        pads: Sequence[int] = (0, 0, 0, 0),
        bias: str = "",
        output: str = "",
    ) -> str:
        """Append a Conv with all attributes written; its output."""
        lists = {"dilations": dilations, "kernel_shape": kernel_shape, "pads": pads, "strides": strides}
        written = [attribute(name, "ints", tuple(values)) for name, values in lists.items()]
        written += [attribute("auto_pad", "string", "NOTSET"), attribute("group", "int", group)]
        inputs, output = (source, kernels, *filter(None, [bias])), output or self.name("convolved")
        self.nodes.append(Node("", OperatorName.CONV.value, "", "", inputs, (output,), tuple(written)))
        return output

    def replacement(self, before: str, after: str) -> Replacement:
        """All of them in place of the node."""
        return Replacement(tuple(self.nodes), before, after, tuple(self.constants))

    def _integers(self, name: str, values: Sequence[int]) -> str:
        """Add a constant list of integers; its name."""
        constant = constant_tensors.from_numbers(name, "int64", tuple(values), (len(values),))
        assert constant is not None  # noqa: S101  (the executor knows int64)
        self.constants.append(constant)
        return name
