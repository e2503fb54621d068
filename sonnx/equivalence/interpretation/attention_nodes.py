"""Nodes of operators of transformers, one after another: products of heads, and the movements between them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import sqrt
from typing import Any, Protocol

import numpy as np

from sonnx.equivalence.terms.store import Term
from sonnx.language.evaluator import TensorFacts
from sonnx.model.ir import Attribute, Node
from sonnx.numerics.formats import Array


class CallOperand(Protocol):
    """What is known of an input of a call."""

    @property
    def facts(self) -> TensorFacts:
        """Its type and shape."""

    @property
    def shape(self) -> tuple[int, ...] | None:
        """Its shape, None where a dimension is not known."""

    @property
    def array(self) -> Array | None:
        """Its elements, None where it is not a constant."""


class Constant(Protocol):
    """Gives a constant, or a value that is known, a name by its role."""

    def __call__(self, role: str, array: Array, narrowed: Term | None = None) -> str:
        """The name."""


class AttentionNodes:
    """The nodes of one call while they are written."""

    def __init__(
        self,
        label: Callable[[str], str],
        names: list[str],
        operands: list[CallOperand | None],
        values: Mapping[str, Any],
        kind: Any,
        constant: Constant,
    ) -> None:
        self.label, self.names, self.operands, self.values = label, names, operands, values
        self.kind, self.constant, self.nodes = kind, constant, list[Node]()
        self.further: dict[int, str] = {}
        self.constants = 0

    def name(self, index: int) -> str:
        """The name of an input, "" where it is left out."""
        return self.names[index] if index < len(self.names) else ""

    def term(self, index: int) -> CallOperand | None:
        """An input, None where it is left out."""
        return self.operands[index] if index < len(self.operands) else None

    def has_only(self, inputs: int, *attributes: str, **numbers: object) -> bool:
        """Whether the call has no further inputs than so many, and no other attributes than these, or at these
        numbers.
        """
        if any(self.names[inputs:]):
            return False
        return all(
            name in attributes or (name in numbers and value == numbers[name]) for name, value in self.values.items()
        )

    def add(self, operator: str, *inputs: str, **attributes: Any) -> str:
        """The name of the output of a new node."""
        output = self.label(f"{operator} {len(self.nodes)}")
        listed = [
            Attribute(name, "ints", value, fields=("ints",)) if isinstance(value, tuple)
            else Attribute(name, "int", value, fields=("i",))
            for name, value in attributes.items()
        ]  # fmt: skip
        self.nodes.append(Node("", operator, "", "", inputs, (output,), tuple(listed)))
        return output

    def reshaped(self, name: str, *shape: int) -> str:
        """A value in another shape."""
        return self.add("Reshape", name, self.constant(f"shape {len(self.nodes)}", np.array(shape, np.int64)))

    def number(self, value: float) -> str:
        """A number of the type of the first input."""
        return self.numbers(value)

    def numbers(self, values: object) -> str:
        """Numbers of the type of the first input."""
        self.constants += 1
        return self.constant(f"numbers {self.constants}", np.array(values).astype(self.kind))

    def part(self, name: str, first: int, end: int) -> str:
        """A part along the last axis."""
        listed = [self.constant(f"{role} {len(self.nodes)}", np.array([number], np.int64))
                  for role, number in (("first", first), ("end", end), ("axis", -1))]  # fmt: skip
        return self.add("Slice", name, *listed)

    def heads(self, name: str, batch: int, length: int, count: int, width: int) -> str:
        """A value of [batch, length, count * width] as [batch, count, length, width]."""
        return self.add("Transpose", self.reshaped(name, batch, length, count, width), perm=(0, 2, 1, 3))

    def attended(self, query: str, key: str, value: str, scale: float, bias: str, shape: tuple[int, int, int]) -> None:
        """softmax(scale query key' + bias) value, of heads, joined to [batch, length, width]."""
        self.joined(self.weighted(query, key, value, scale, bias), shape)

    def weighted(self, query: str, key: str, value: str, scale: float, bias: str) -> str:
        """softmax(scale query key' + bias) value, of heads."""
        scores = self.add("MatMul", query, self.add("Transpose", key, perm=(0, 1, 3, 2)))
        scores = self.add("Mul", scores, self.number(scale))
        if bias:
            scores = self.add("Add", scores, bias)
        return self.add("MatMul", self.add("Softmax", scores, axis=-1), value)

    def joined(self, heads: str, shape: tuple[int, int, int]) -> str:
        """Heads as [batch, length, width]."""
        return self.reshaped(self.add("Transpose", heads, perm=(0, 2, 1, 3)), *shape)


def scale_of(values: Mapping[str, Any], width: int) -> float:
    """The factor of the scores; 0 and no attribute stand for the root."""
    return float(values.get("scale") or 0.0) or 1 / sqrt(width)
