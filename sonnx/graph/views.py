"""What rules see of the facts of a call: facts that agree in it are evaluated once."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from operator import attrgetter, itemgetter
from typing import Any

from sonnx.graph.environment import StoredValue
from sonnx.language.evaluator import TensorFacts, Unknown
from sonnx.language.known_numbers import KnownNumbers

Part = tuple[str, tuple[str, ...]]
"""A name, and the fields that are seen of it; () for all of it."""


class Views(dict[Part, Any]):
    """The parts of the facts of one call, each a value that can be compared, made when it is first asked for."""

    __slots__ = ("names",)

    def __init__(self, names: Mapping[str, Any]) -> None:
        self.names = names

    def __missing__(self, part: Part) -> Any:
        seen = self[part] = _part(self.names.get(part[0]), part[1])
        return seen


def key_of_parts(parts: tuple[Part, ...]) -> Callable[[Views], Any]:
    """These parts of the facts of a call, as a value that can be compared."""
    return itemgetter(*parts) if parts else lambda views: ()


def _part(value: Any, fields: tuple[str, ...]) -> Any:
    if type(value) is TensorFacts:
        return _getter(fields)(value)
    if isinstance(value, tuple):
        if fields == ("len",):
            return len(value)
        if type(value) is not KnownNumbers and any(type(each) is TensorFacts for each in value):
            get = _getter(fields)
            return tuple([get(each) for each in value])
    return tuple(value.items()) if isinstance(value, dict) else _comparable(value)


@cache
def _getter(fields: tuple[str, ...]) -> Callable[[TensorFacts], Any]:
    names = [field for field in fields or TensorFacts._fields if field != "len"]
    if "values" in names or "rank" in names:
        return lambda tensor: tuple([_field(tensor, name) for name in names])
    return attrgetter(*names)


def _field(tensor: TensorFacts, name: str) -> Any:
    if name == "rank":
        return tensor.shape if isinstance(tensor.shape, Unknown) else len(tensor.shape)
    content = getattr(tensor, name)
    return _comparable(content) if name == "values" else content


def _comparable(value: Any) -> Any:
    """The value; where equal ones may be shown in different ways (1 and 1.0), an object that equals no other."""
    kind = type(value)
    if kind is bool:
        return bool, value
    if kind in _COMPARED or (kind is KnownNumbers and value.whole):
        return value
    if kind is tuple:
        return tuple([_comparable(item) for item in value])
    return object()


_COMPARED = frozenset({int, str, Unknown, StoredValue, type(None)})
