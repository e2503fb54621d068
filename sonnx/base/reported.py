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

A text that may be absent is "" in the program and null in JSON: its type is `OptionalText`.  A structure of which JSON
has few fields names them in `json_fields`, and one whose types are loaded late their modules in
`late_types`, "" for a type that no JSON has.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from importlib import import_module
from itertools import chain
from operator import attrgetter
from os import PathLike
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, NamedTuple, TypeVar, Union, get_args, get_origin, get_type_hints

import msgspec
from msgspec import Struct, defstruct, field

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
ADDED = Marker("added")
"""The key was added to a format: a document of an older version lacks it, and is read as if it were null or empty."""


class JsonKey(NamedTuple):
    """A key of the JSON of a structure: its name, its type, the attribute that it shows, and whether "" is null."""

    name: str
    type: Any
    attribute: str
    absent_if_empty: bool

    @classmethod
    def of(cls, name: str, annotation: Any, attribute: str) -> JsonKey:
        """The key of an attribute with an annotation."""
        return cls(name, annotation, attribute, ABSENT_IF_EMPTY in _markers(annotation))


def reported(getter: Getter) -> Getter:
    """Mark the getter of a property, below `@property`, as a key of the JSON."""
    return reported_as(getter.__name__)(getter)


def reported_as(key: str) -> Callable[[Getter], Getter]:
    """As `reported`, with a key that differs from the name of the property."""

    def mark(getter: Getter) -> Getter:
        getter.json_key = key  # type: ignore[attr-defined]
        return getter

    return mark


def reported_of(path: str, kind: Any, text: str) -> Any:
    """A property that is a key of the JSON: the attribute at the end of a path such as `theorem.id`."""

    def getter(self: Any) -> Any:
        return attrgetter(path)(self)

    getter.__name__, getter.__doc__ = path.rpartition(".")[2], text
    getter.__annotations__ = {"return": kind}
    return property(reported(getter))


class Tool(Struct, frozen=True):
    """The program."""

    name: Literal["sonnx"] = "sonnx"
    """The name of the program."""

    @property
    @reported
    def version(self) -> str:
        """The version of the program, 0 in a tree that is not installed."""
        return tool_version()


class Result(Struct, frozen=True, kw_only=True):
    """The result of a command: what each document begins with."""

    format: Literal[1] = 1
    """The version of this format; a change that breaks a reader gets a new number."""
    tool: Tool = field(default_factory=Tool)
    """The program that wrote the document."""


class SecondResult(Result, frozen=True, kw_only=True):
    """The result of a command whose format has changed once: `conditions` are those of the claim."""

    format: Literal[2] = 2  # type: ignore[assignment]
    """The version of this format; a change that breaks a reader gets a new number."""


@cache
def json_keys(kind: type[Struct]) -> tuple[JsonKey, ...]:
    """The keys of a structure's JSON: its fields, those of its bases first, then its reported properties."""
    bases = (base for base in reversed(kind.__mro__) if issubclass(base, Struct) and base is not Struct)
    inherited = (base.__struct_fields__ for base in bases)
    declared = list(dict.fromkeys(chain.from_iterable(inherited)))
    shown = getattr(kind, "json_fields", declared)
    late = {name: _type(name, module) for name, module in getattr(kind, "late_types", {}).items()}
    hints = get_type_hints(kind, localns=late, include_extras=True)
    names = dict(zip(kind.__struct_fields__, kind.__struct_encode_fields__, strict=True))
    keys = [
        JsonKey.of(names[name], hints[name], name)
        for name in declared if name in shown and HIDDEN not in _markers(hints[name])
    ]  # fmt: skip
    for name, getter in _properties(kind).items():
        result = get_type_hints(getter, localns=late, include_extras=True)["return"]
        keys.append(JsonKey.of(getter.json_key, result, name))
    return tuple(keys)


def _type(name: str, module: str) -> Any:
    return getattr(import_module(module), name) if module else object


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
    """A result as JSON has it; a part that occurs several times is one object there, too.

    Raises:
        TypeError: something in it has no JSON, such as an array.
    """
    return _Conversion().data(value)


class _Conversion:
    """The conversion of one result.

    Attributes:
        floats: whether there was a number that is not whole.
    """

    def __init__(self) -> None:
        self.floats = False
        self.known: dict[int, tuple[Any, Any]] = {}
        """The frozen parts so far with their data, by identity: a report names few nodes and rules very often."""

    def data(self, value: Any) -> Any:
        """A value as JSON has it."""
        kind: Any = type(value)
        return _converter(kind)(value, self)

    def once(self, value: Struct | tuple[Any, ...]) -> Any:
        """As `data`, of a part that may occur again."""
        known = self.known.get(id(value))
        if known is None:
            known = self.known[id(value)] = value, self.data(value)  # the value is kept, so that no other has its id
        return known[1]


_Converter = Callable[[Any, _Conversion], Any]


@cache
def _converter(kind: type) -> _Converter:
    """What makes the JSON of the values of a type."""
    if issubclass(kind, Struct):
        return _converter_of_structure(kind)
    if issubclass(kind, float):
        return _float
    if issubclass(kind, str | int | NoneType):
        return _itself
    if issubclass(kind, Mapping):
        return _mapping
    if issubclass(kind, tuple | list):
        return _sequence
    if issubclass(kind, PathLike):
        return lambda value, conversion: str(value)
    if hasattr(kind, "isoformat"):
        return lambda value, conversion: value.isoformat()
    return _refused


def _mapping(value: Mapping[Any, Any], conversion: _Conversion) -> dict[str, Any]:
    return {str(name): conversion.data(part) for name, part in value.items()}


def _sequence(value: Sequence[Any], conversion: _Conversion) -> list[Any]:
    return list(map(conversion.data, value))


def _converter_of_structure(kind: type[Struct]) -> _Converter:
    """As `_converter`: a report has thousands of structures of few types, so the keys are divided once."""
    keys = json_keys(kind)
    names, attributes = [key.name for key in keys], [key.attribute for key in keys]
    if len(keys) < 2:
        return lambda value, conversion: {
            key.name: _part(getattr(value, key.attribute), key.absent_if_empty, conversion) for key in keys
        }
    get = attrgetter(*attributes)
    optional = [key.name for key in keys if key.absent_if_empty and _is_scalar(key.type)]
    flat = [(key.name, container) for key in keys if (container := _container_of_scalars(key.type)) is not None]
    others = [
        (key.name, key.absent_if_empty)
        for key in keys
        if not _is_scalar(key.type) and _container_of_scalars(key.type) is None
    ]

    def convert(value: Any, conversion: _Conversion) -> dict[str, Any]:
        data = dict(zip(names, get(value), strict=True))
        for name in optional:
            if data[name] == "":
                data[name] = None
        for name, container in flat:
            data[name] = container(data[name])
        for name, absent_if_empty in others:
            part = data[name]
            known = conversion.known.get(id(part))
            data[name] = _part(part, absent_if_empty, conversion) if known is None else known[1]
        return data

    return convert


def _part(value: Any, absent_if_empty: bool, conversion: _Conversion) -> Any:
    kind = type(value)
    if issubclass(kind, Struct) or (kind is tuple and value):
        return conversion.once(value)
    return None if absent_if_empty and value == "" else conversion.data(value)


def _is_scalar(annotation: Any) -> bool:
    """Whether a value of an annotated type is a text, a whole number or nothing, which JSON has as it is."""
    origin = get_origin(annotation)
    if origin is Annotated:
        return _is_scalar(annotation.__origin__)
    if origin is Literal:
        return all(isinstance(value, str | int | None) for value in get_args(annotation))
    if origin in (Union, UnionType):
        return all(map(_is_scalar, get_args(annotation)))
    return isinstance(annotation, type) and issubclass(annotation, str | int | NoneType)


def _container_of_scalars(annotation: Any) -> Callable[[Any], Any] | None:
    """What makes the JSON of a list or mapping of values that JSON has as they are; None of any other type."""
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return _container_of_scalars(annotation.__origin__)
    if origin is tuple and len(arguments) == 2 and arguments[1] is ... and _is_scalar(arguments[0]):
        return list
    named = origin in (dict, Mapping) and _is_text(arguments[0])
    return dict if named and _is_scalar(arguments[1]) else None


def _is_text(annotation: Any) -> bool:
    if get_origin(annotation) is Annotated:
        return _is_text(annotation.__origin__)
    return isinstance(annotation, type) and issubclass(annotation, str)


def _itself(value: Any, conversion: _Conversion) -> Any:
    return value


def _float(value: float, conversion: _Conversion) -> float:
    conversion.floats = True
    return value


def _refused(value: Any, conversion: _Conversion) -> Any:
    raise TypeError(f"{type(value).__name__} has no JSON")


def json_text(value: object) -> str:
    """A result as one JSON document in ASCII, ending in a line feed.

    Raises:
        ValueError: a number is infinite or a NaN.
    """
    conversion = _Conversion()
    data = conversion.data(value)
    return indented(data, allow_nan=False) if conversion.floats else indented_without_floats(data)


def indented(data: object, *, allow_nan: bool = True) -> str:
    """JSON data with an indent of 1 in ASCII, ending in a line feed; ten times as fast as json.dumps with an indent."""
    import json  # a check that prints text needs none

    compact = json.dumps(data, ensure_ascii=True, allow_nan=allow_nan)
    try:
        return msgspec.json.format(compact, indent=1) + "\n"
    except msgspec.DecodeError:  # a name that is not UTF-8 has one half of a surrogate pair
        return json.dumps(data, indent=1, ensure_ascii=True, allow_nan=allow_nan) + "\n"


def indented_without_floats(data: object) -> str:
    """As `indented`, three times as fast, for data without floats, whose digits msgspec writes in another way."""
    try:
        text = msgspec.json.format(msgspec.json.encode(data), indent=1).decode("utf-8")
    except (TypeError, UnicodeEncodeError):  # a subclass of str; a name that is not UTF-8
        return indented(data)
    return (text if text.isascii() and "\x7f" not in text else _NOT_PLAIN.sub(_escaped, text)) + "\n"


def holds_float(data: Any) -> bool:
    """Whether there is a float in JSON data."""
    if isinstance(data, dict | list | tuple):
        return any(map(holds_float, data.values() if isinstance(data, dict) else data))
    return isinstance(data, float)


_NOT_PLAIN = re.compile(r"[^\x00-\x7e]")


def _escaped(found: re.Match[str]) -> str:
    """A character as JSON in ASCII has it: one escape, or two for the halves of a surrogate pair."""
    halves = found[0].encode("utf-16-be")
    return "".join(f"\\u{halves[place : place + 2].hex()}" for place in range(0, len(halves), 2))


@cache
def as_written(kind: Any) -> Any:
    """The type of the JSON of a structure, to read what `json_text` wrote: the same keys, with values as JSON has them.

    Keys that are ADDED have a default there; a key that is unknown is refused.
    """
    if get_origin(kind) is Annotated:
        written = as_written(kind.__origin__)
        return written | None if ABSENT_IF_EMPTY in kind.__metadata__ else written
    if get_origin(kind) in (Union, UnionType):
        return Union[tuple(map(as_written, get_args(kind)))]  # noqa: UP007  (the members are known at run time only)
    if get_origin(kind) is tuple:
        return tuple[tuple(part if part is ... else as_written(part) for part in get_args(kind))]  # type: ignore[misc]
    if get_origin(kind) is Mapping:
        return Mapping[tuple(map(as_written, get_args(kind)))]  # type: ignore[misc]
    if not (isinstance(kind, type) and issubclass(kind, Struct)):
        return kind
    keys = ((key.name, as_written(key.type), _default(key.type)) for key in json_keys(kind))
    shown = [(name, written, field(**default)) for name, written, default in keys]
    return defstruct(kind.__name__, shown, frozen=True, kw_only=True, forbid_unknown_fields=True)


def from_written(kind: Any, written: Any) -> Any:
    """The value whose JSON was read with the type `as_written(kind)`; what JSON does not have gets its default."""
    if get_origin(kind) is Annotated:
        return (
            "" if written is None and ABSENT_IF_EMPTY in kind.__metadata__ else from_written(kind.__origin__, written)
        )
    parts = get_args(kind)
    if get_origin(kind) in (Union, UnionType):
        [part] = [part for part in parts if part is not NoneType] if NoneType in parts else [None]
        return written if written is None or part is None else from_written(part, written)
    if get_origin(kind) is tuple and parts[-1:] == (...,):
        return tuple([from_written(parts[0], each) for each in written])
    if not (isinstance(kind, type) and issubclass(kind, Struct)):
        return written
    keys = [key for key in json_keys(kind) if key.attribute in kind.__struct_fields__]
    return kind(**{key.attribute: from_written(key.type, getattr(written, key.name)) for key in keys})


def _default(kind: Any) -> dict[str, Any]:
    """What a key of this type is where an older document lacks it; nothing for a key that all have."""
    if ADDED not in _markers(kind):
        return {}
    return {"default": None if ABSENT_IF_EMPTY in _markers(kind) or NoneType in get_args(kind.__origin__) else ()}
