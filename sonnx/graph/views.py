"""What rules see of the facts of a call: facts that agree in it are evaluated once."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from itertools import chain
from operator import attrgetter, itemgetter
from typing import Any

from sonnx.graph.environment import Stored
from sonnx.language.domain import constant_key, given_key, input_key, written_key
from sonnx.language.evaluator import TensorFacts, Unknown
from sonnx.language.known_numbers import KnownNumbers
from sonnx.language.order import LANDMARKS, PLAIN, RECORD, Use, use_of
from sonnx.profile.signature import Signature

Part = tuple[str, tuple[str, ...]]
"""A name, and the fields that are seen of it; () for all of it."""


class Views(dict[Part, Any]):
    """The parts of the facts of one call, each a value that can be compared, made when it is first asked for."""

    __slots__ = ("names",)

    def __init__(self, names: Mapping[str, Any]) -> None:
        self.names = names

    def __missing__(self, part: Part) -> Any:
        found = self[part] = _part(self.names.get(part[0]), part[1])
        return found


def key_of_parts(parts: tuple[Part, ...]) -> Callable[[Views], Any]:
    """These parts of the facts of a call, as a value that can be compared."""
    return itemgetter(*parts) if parts else lambda views: ()


MOST_ORDERED = 64
"""Extents of the largest call whose extents are put in order; reading more of them takes as long as the rules."""


def order(tensors: Sequence[TensorFacts | None]) -> object:
    """The facts with places in the order of all extents for extents, and numbers for symbols; None for many extents."""
    shapes = [each.shape if each is not None and isinstance(each.shape, tuple) else () for each in tensors]
    if len(shapes) + sum(map(len, shapes)) > MOST_ORDERED:
        return None
    extents = set(chain.from_iterable(shapes))
    known = [each for each in extents if type(each) is int]
    places: dict[object, object] = {number: place for place, number in enumerate(sorted({*LANDMARKS, *known}))}
    if len(known) < len(extents):
        symbols = {"": 0}
        for each in chain.from_iterable(shapes):
            if type(each) is Unknown:
                places[each] = each.cause, each.because, symbols.setdefault(each.symbol, len(symbols))
    return tuple([_ordered(each, shape, places) for each, shape in zip(tensors, shapes, strict=True)])


def _ordered(facts: TensorFacts | None, shape: tuple[object, ...], places: Mapping[object, object]) -> object:
    if facts is None:
        return None
    seen = tuple([places[each] for each in shape]) if isinstance(facts.shape, tuple) else facts.shape
    return facts.type, seen, _comparable(facts.values), facts.kind, facts.holds_sparse


def uses(made: Signature) -> Mapping[str, Use]:
    """What the names of the rules of a signature have to do with extents; names without a use need numbers."""
    values = {each.name: each.kind for each in made.values}
    names = [each.name for each in (*made.formals, *made.parameters)]
    found = {key(name): PLAIN for name in names for key in (written_key, given_key, constant_key)}
    found |= {input_key(each.name) if each.name in values else each.name: RECORD for each in made.formals}
    for name, expression in made.absent.items():
        is_plain = expression is None or use_of(expression, found) in (PLAIN, Use("landmark"))
        if is_plain and not values.get(name, "").endswith("s"):  # such a list is as long as the extent of its input
            found[name] = PLAIN
    for name, definition in made.define.items():
        use = use_of(definition, found)
        if use is not None:
            found[name] = use
    return found


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
    names = [each for each in fields or TensorFacts._fields if each != "len"]
    if "values" in names or "rank" in names:
        return lambda tensor: tuple([_field(tensor, name) for name in names])
    return attrgetter(*names)


def _field(tensor: TensorFacts, name: str) -> Any:
    if name == "rank":
        return tensor.shape if isinstance(tensor.shape, Unknown) else len(tensor.shape)
    found = getattr(tensor, name)
    return _comparable(found) if name == "values" else found


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


_COMPARED = frozenset({int, str, Unknown, Stored, type(None)})
