"""JSON of results: the fields of a structure and the properties marked `reported`; schemas are made from the same.

A structure says once what it holds, and `json_data` writes it:

    class Tensor(Struct, frozen=True):
        '''The bounds of a tensor.'''

        name: str
        '''Its name.'''
        ends: Annotated[Array, HIDDEN]

        @property
        @reported
        def low(self) -> float | None:
            '''The least ideal value of an element; null without elements.'''

A text that may be absent is "" in the program and null in JSON: its type is `OptionalText`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import cache
from itertools import chain
from os import PathLike
from typing import Annotated, Any, Literal, NamedTuple, TypeVar, get_args, get_origin, get_type_hints

from msgspec import Struct, field
from msgspec.structs import fields

from sonnx.base.resources import tool_version

Getter = TypeVar("Getter", bound=Callable[[Any], Any])


class Marker(NamedTuple):
    """What the annotation of a field says about its JSON."""

    name: str


HIDDEN = Marker("hidden")
"""The field is not part of the JSON."""
ABSENT_IF_EMPTY = Marker("absent if empty")
"""The text is null in JSON where it is empty."""
OptionalText = Annotated[str, ABSENT_IF_EMPTY]


class Tool(Struct, frozen=True):
    """The program."""

    name: Literal["sonnx"] = "sonnx"
    """The name of the program."""
    version: str = field(default_factory=tool_version)
    """The version of the program, 0 in a tree that is not installed."""


class Result(Struct, frozen=True, kw_only=True):
    """The result of a command: what each document begins with."""

    format: Literal[1] = 1
    """The version of this format; a change that breaks a reader gets a new number."""
    tool: Tool = field(default_factory=Tool)
    """The program that wrote the document."""


class JsonKey(NamedTuple):
    """A key of the JSON of a structure: its name, its type, the attribute that it shows, and whether "" is null."""

    name: str
    type: Any
    attribute: str
    absent_if_empty: bool


def reported(getter: Getter) -> Getter:
    """Mark the getter of a property, below `@property`, as a key of the JSON."""
    return reported_as(getter.__name__)(getter)


def reported_as(key: str) -> Callable[[Getter], Getter]:
    """As `reported`, with a key that differs from the name of the property."""

    def mark(getter: Getter) -> Getter:
        getter.json_key = key  # type: ignore[attr-defined]
        return getter

    return mark


@cache
def json_keys(kind: type[Struct]) -> tuple[JsonKey, ...]:
    """The keys of a structure's JSON: its fields, those of its bases first, then its reported properties."""
    bases = (base for base in reversed(kind.__mro__) if issubclass(base, Struct) and base is not Struct)
    inherited = (base.__struct_fields__ for base in bases)
    declared = list(dict.fromkeys(chain.from_iterable(inherited)))
    keys = [
        JsonKey(one.encode_name, one.type, one.name, ABSENT_IF_EMPTY in _markers(one.type))
        for one in sorted(fields(kind), key=lambda one: declared.index(one.name))
        if HIDDEN not in _markers(one.type)
    ]
    for name, getter in _properties(kind).items():
        result = get_type_hints(getter, include_extras=True)["return"]
        keys.append(JsonKey(getter.json_key, result, name, ABSENT_IF_EMPTY in _markers(result)))
    return tuple(keys)


def _properties(kind: type) -> dict[str, Any]:
    getters: dict[str, Any] = {}
    for base in reversed(kind.__mro__):
        for name, value in vars(base).items():
            if isinstance(value, property) and hasattr(value.fget, "json_key"):
                getters[name] = value.fget
    return getters


def _markers(annotation: Any) -> tuple[Any, ...]:
    return get_args(annotation)[1:] if get_origin(annotation) is Annotated else ()


def json_data(value: object) -> Any:
    """A result as JSON has it.

    Raises:
        TypeError: something in it has no JSON, such as an array.
    """
    if isinstance(value, Struct):
        shown = ((key, getattr(value, key.attribute)) for key in json_keys(type(value)))
        return {key.name: None if part == "" and key.absent_if_empty else json_data(part) for key, part in shown}
    if isinstance(value, str | int | float | None):
        return value
    if isinstance(value, Mapping):
        return {str(name): json_data(part) for name, part in value.items()}
    if isinstance(value, tuple | list):
        return [json_data(part) for part in value]
    if isinstance(value, PathLike):
        return str(value)
    if hasattr(value, "isoformat"):
        return value.isoformat()
    raise TypeError(f"{type(value).__name__} has no JSON")


def json_text(value: object) -> str:
    """A result as one JSON document in ASCII, ending in a line feed.

    Raises:
        ValueError: a number is infinite or a NaN.
    """
    return json.dumps(json_data(value), indent=1, ensure_ascii=True, allow_nan=False) + "\n"
