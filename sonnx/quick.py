"""A faster way to make the frozen objects a model has most of."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, make_dataclass
from typing import Any, TypeVar

Frozen = TypeVar("Frozen")


def maker(kind: type[Frozen]) -> Callable[..., Frozen]:
    """A constructor of a frozen dataclass with slots that takes every field by position.

    A frozen dataclass sets each field through `object.__setattr__`, which is most of the time of reading a node.  This
    fills an object of an ordinary class with the same slots and then gives it its class.
    """
    twin: Any = make_dataclass(kind.__name__, [(one.name, Any) for one in fields(kind)], slots=True)  # type: ignore[arg-type]

    def make(*values: object) -> Frozen:
        made = twin(*values)
        made.__class__ = kind
        return made  # type: ignore[no-any-return]

    return make
