"""Values of any result type in which every field has a value of its own, told apart by a number."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from enum import Enum
from itertools import count
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

from msgspec import Struct, structs

from sonnx.base.reported import HIDDEN, Result
from sonnx.profile.text_types import Sha256, Slug


def filled(kind: Any, number: int) -> Any:
    """A value of a type: texts, numbers and members differ from those of other numbers, and optional parts alternate.

    Args:
        kind: a structure, an enumeration, a container, or a plain type.
        number: which of the values; of an optional part, 0 has it and 1 has not.
    """
    return _value(kind, number, count(10 * number + 1))


def _value(kind: Any, number: int, fresh: Any) -> Any:
    origin, arguments = get_origin(kind), get_args(kind)
    if kind == Sha256:
        return f"{next(fresh):064x}"
    if kind == Slug:
        return f"Max.rule-{next(fresh)}"
    if origin is Annotated:
        return _value(arguments[0], number, fresh)
    if origin in (Union, UnionType):
        return None if number % 2 else _value(next(each for each in arguments if each is not NoneType), number, fresh)
    if kind is Any:
        return f"any {next(fresh)}"
    if origin is Literal:
        return arguments[number % len(arguments)]
    if origin is tuple:
        kinds = arguments[:1] * 2 if arguments[-1] is Ellipsis else arguments
        return tuple(_value(each, number + place, fresh) for place, each in enumerate(kinds))
    if (origin is not None and issubclass(origin, dict)) or getattr(origin, "__name__", "") == "Mapping":
        return {f"key {next(fresh)}": _value(arguments[1], number + place, fresh) for place in range(2)}
    if isinstance(kind, type) and issubclass(kind, Enum):
        return list(kind)[number % len(kind)]
    if isinstance(kind, type) and issubclass(kind, Struct):
        return _structure(kind, number, fresh)
    if isinstance(kind, type) and is_dataclass(kind):
        hints = get_type_hints(kind)
        return kind(**{each.name: _value(hints[each.name], number, fresh) for each in fields(kind) if each.init})
    return {str: f"text {next(fresh)}", int: next(fresh), float: next(fresh) / 4, bool: number % 2 == 0}[kind]


def _structure(kind: type[Struct], number: int, fresh: Any) -> Any:
    hints = get_type_hints(kind, include_extras=True)
    given = {}
    for field in structs.fields(kind):
        hint = hints[field.name]
        hidden = get_origin(hint) is Annotated and HIDDEN in get_args(hint)
        if not field.required and (field.name in Result.__struct_fields__ or hidden):
            continue  # the same in every document, or in none
        given[field.name] = _value(hint, number, fresh)
    return kind(**given)
