"""Nodes that stand for one call, written one after another."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from sonnx.model.ir import Attribute, Node
from sonnx.numerics.formats import Array

Constant = Callable[[str, Array], str]
"""The name of a constant, from what it is."""
AXES_AS_INPUT = 18
"""The operator set from which ReduceMax has its axes as an input (ONNX ReduceMax-18)."""


class NodeWriter:
    """The nodes of one call while they are written; intermediate values are named after a value of the call."""

    def __init__(self, label: str, operator_set: int, constant: Constant) -> None:
        self.label, self.operator_set, self.constant, self.nodes = label, operator_set, constant, list[Node]()

    def add(self, operator: str, *inputs: str, **attributes: Any) -> str:
        """The name of the output of a new node with attributes that are integers or lists of them."""
        output = f"{self.label} ({operator} {len(self.nodes)})"
        listed = tuple([
            Attribute(name, "ints", value, fields=("ints",)) if isinstance(value, tuple)
            else Attribute(name, "int", value, fields=("i",))
            for name, value in attributes.items()
        ])  # fmt: skip
        self.nodes.append(Node("", operator, "", "", inputs, (output,), listed))
        return output

    def numbers(self, values: Any, kind: Any = np.float32) -> str:
        """A new constant."""
        return self.constant(f"{self.label} (numbers)", np.array(values).astype(kind))

    def reshaped(self, name: str, *shape: int) -> str:
        """A value in another shape."""
        return self.add("Reshape", name, self.numbers(shape, np.int64))

    def largest(self, name: str, axis: int) -> str:
        """The largest element along an axis, which is left out."""
        if self.operator_set >= AXES_AS_INPUT:
            return self.add("ReduceMax", name, self.numbers([axis], np.int64), keepdims=0)
        return self.add("ReduceMax", name, axes=(axis,), keepdims=0)
