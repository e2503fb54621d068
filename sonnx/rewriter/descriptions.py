"""Short texts for parts of a model: attributes, constants, types and nodes, as the record of a rewrite shows them."""

from __future__ import annotations

from collections.abc import Iterable

from sonnx.base.escaping import escape, quote
from sonnx.graph.environment import whole_numbers
from sonnx.language.evaluator import Unknown
from sonnx.model.ir import Attribute, Node, Tensor

MAX_SHOWN_NUMBERS = 8
"""A constant with more numbers is shown without them."""


def attribute(written: Attribute) -> str:
    """An attribute as `pads=[0, 0, 1, 1]`."""
    return f"{escape(written.name)}={_value(written.value)}"


def attributes(written: Iterable[Attribute]) -> str:
    """Attributes with commas between them; "nothing" where there is none."""
    return ", ".join(map(attribute, written)) or "nothing"


def _value(value: object) -> str:
    if isinstance(value, tuple):
        return f"[{', '.join(map(_value, value))}]"
    if isinstance(value, str):
        return quote(value)
    if isinstance(value, Tensor):
        return tensor(value)
    return str(value) if isinstance(value, int | float) else f"a {type(value).__name__.lower()}"


def tensor(constant: Tensor) -> str:
    """A constant by type and shape, with its numbers where they are few."""
    stated = f"{escape(constant.element or 'no type')} {list(constant.dims)}"
    numbers = whole_numbers(constant)
    if isinstance(numbers, Unknown) or len(numbers) > MAX_SHOWN_NUMBERS:
        return stated
    return f"{stated} = {list(numbers) if constant.dims else numbers[0]}"


def call(node: Node) -> str:
    """A node as `Gather(a, b)`: its inputs, without attributes."""
    return f"{escape(node.operator)}({', '.join(quote(name) if name else '-' for name in node.inputs)})"
