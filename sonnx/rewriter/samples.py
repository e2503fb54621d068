"""Inputs on which a model and its rewritten form are compared: ordinary numbers, and those at which operators differ.

They are made from the name, type and shape of an input alone, so that every run compares the same.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator

import numpy as np

from sonnx.base.errors import NotExecutable
from sonnx.base.escaping import quote
from sonnx.model.ir import Value
from sonnx.numerics.formats import ELEMENTS, Array, format_of

Maker = Callable[[np.random.Generator, "np.dtype[np.generic]", tuple[int, ...]], Array]


def samples(inputs: Iterable[Value], number: int) -> Iterator[dict[str, Array]]:
    """As many sets of inputs as asked for: ordinary ones, special ones among ordinary ones, zeros and ones; and again.

    Raises:
        NotExecutable: an input has no type or shape from which values could be made.
    """
    declared = {value.name: _declared(value) for value in inputs}
    for index in range(number):
        make = (_ordinary, _special, _zeros)[index % 3]
        yield {name: _made(make, name, index, *each) for name, each in declared.items()}


def _declared(value: Value) -> tuple[np.dtype[np.generic], tuple[int, ...]]:
    kind, shape = ELEMENTS.get(value.type.element or ""), value.type.shape
    if kind is None or shape is None or any(not isinstance(extent, int) or extent < 0 for extent in shape):
        said = "whose type or a number of whose shape is not stated"
        raise NotExecutable(f"no values can be made for {quote(value.name)}, {said}")
    return kind, tuple(extent for extent in shape if isinstance(extent, int))


def _made(make: Maker, name: str, index: int, kind: np.dtype[np.generic], shape: tuple[int, ...]) -> Array:
    seed = hashlib.sha256(f"{index}/{name}".encode("utf-8", "surrogateescape")).digest()
    return make(np.random.Generator(np.random.PCG64(int.from_bytes(seed[:8], "little"))), kind, shape)


def _ordinary(random: np.random.Generator, kind: np.dtype[np.generic], shape: tuple[int, ...]) -> Array:
    if format_of(kind) is not None:
        return random.standard_normal(shape).astype(kind)
    if kind == np.bool_:
        return random.integers(0, 2, shape).astype(kind)
    return random.integers(0, 4, shape).astype(kind)  # an index, a length or a count is small


def _special(random: np.random.Generator, kind: np.dtype[np.generic], shape: tuple[int, ...]) -> Array:
    """One element in sixteen, and at least one, is a special value."""
    values = _ordinary(random, kind, shape).reshape(-1)
    known = _specials(kind)
    if values.size:
        count = max(1, values.size // 16)
        places = random.choice(values.size, count, replace=False)
        values[places] = known[random.integers(0, known.size, count)]
    return values.reshape(shape)


def _zeros(random: np.random.Generator, kind: np.dtype[np.generic], shape: tuple[int, ...]) -> Array:
    """Zeros of both signs, and ones: every sign of an exact zero is seen."""
    listed = [0.0, -0.0, 1.0, -1.0] if format_of(kind) is not None else [0, 1]
    known = np.array(listed).astype(kind)
    return known[random.integers(0, known.size, shape)]


def _specials(kind: np.dtype[np.generic]) -> Array:
    """Zeros, infinities, NaNs of both kinds and signs, the least and the greatest numbers."""
    made = format_of(kind)
    if made is None:
        ends = (0, 1) if kind == np.bool_ else (np.iinfo(kind).min, np.iinfo(kind).max, 0, 1)  # type: ignore[type-var]
        return np.array(ends).astype(kind)
    positive = [0, 1, made.infinity - 1, made.infinity, made.infinity + 1, made.sign - 1]
    return np.array([*positive, *(made.sign + each for each in positive)], made.unsigned).view(kind)
