"""What rewrites show of a model: attributes, constants and types as short text."""

from __future__ import annotations

from collections.abc import Iterable

from sonnx.base.escaping import escape, quote
from sonnx.graph.environment import whole_numbers
from sonnx.language.evaluator import TensorFacts, Unknown
from sonnx.model.ir import NOT_STATED, Attribute, Node, Tensor, Type

FEW = 8
"""Numbers of a constant that are shown."""


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
    kind = f"{escape(constant.element or 'no type')} {list(constant.dims)}"
    found = whole_numbers(constant)
    if isinstance(found, Unknown) or len(found) > FEW:
        return kind
    return f"{kind} = {list(found) if constant.dims else found[0]}"


def type_(stated: Type) -> str:
    """A declaration."""
    if stated == NOT_STATED:
        return "not declared"
    shape = "without shape" if stated.shape is None else _dims(stated.shape)
    return f"{escape(stated.element or stated.kind)} {shape}"


def _dims(shape: Iterable[int | str | None]) -> str:
    return f"[{', '.join('?' if each is None else escape(str(each)) for each in shape)}]"


def facts(known: TensorFacts) -> str:
    """What is known of a value."""
    element = known.type if isinstance(known.type, str) else "unknown type"
    if isinstance(known.shape, Unknown):
        return f"{element} of unknown shape"
    return f"{element} [{', '.join('?' if isinstance(each, Unknown) else str(each) for each in known.shape)}]"


def call(node: Node) -> str:
    """A node as `Gather(a, b)`; what it takes, without attributes."""
    return f"{escape(node.operator)}({', '.join(quote(name) if name else '-' for name in node.inputs)})"
