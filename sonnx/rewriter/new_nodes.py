"""Nodes that rewrites make, with all attributes written."""

from __future__ import annotations

from collections.abc import Sequence

from sonnx.model.ir import Node, Tensor
from sonnx.rewriter import constant_tensors


def node(operator: str, inputs: Sequence[str], output: str, name: str = "", **attributes: int) -> Node:
    """A node of the standard domain with one output; attributes are whole numbers."""
    made = tuple(constant_tensors.attribute(key, "int", value) for key, value in attributes.items())
    return Node(name, operator, "", "", tuple(inputs), (output,), made)


def numbers(name: str, values: Sequence[int]) -> Tensor:
    """A list of whole numbers, as shapes and bounds are given."""
    made = constant_tensors.of_numbers(name, "int64", tuple(values), (len(values),))
    assert made is not None  # noqa: S101  (the executor knows int64)
    return made


def reshape(source: str, output: str, shape: Sequence[int], operator_set: int) -> tuple[Node, Tensor]:
    """The elements of a value under another shape of the same size; from operator set 5 on, where it is an input."""
    constant = numbers(f"{output}.shape", shape)
    inputs = (source, constant.name)
    if operator_set < 14:
        return node("Reshape", inputs, output), constant
    return node("Reshape", inputs, output, allowzero=0), constant


def part(
    source: str, output: str, shape: Sequence[int], axis: int, span: tuple[int, int], operator_set: int
) -> tuple[Node, list[Tensor]]:
    """The elements from one index of an axis to before another; bounds are inputs from operator set 10 on."""
    rank = len(shape)
    starts = [span[0] if k == axis else 0 for k in range(rank)]
    ends = [span[1] if k == axis else extent for k, extent in enumerate(shape)]
    listed = {"starts": starts, "ends": ends, "axes": list(range(rank))}
    if operator_set < 10:
        written = tuple(constant_tensors.attribute(name, "ints", tuple(values)) for name, values in listed.items())
        return Node("", "Slice", "", "", (source,), (output,), written), []
    constants = [numbers(f"{output}.{name}", values) for name, values in (listed | {"steps": [1] * rank}).items()]
    return node("Slice", (source, *(each.name for each in constants)), output), constants
