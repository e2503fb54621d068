"""The inputs on which undecided models run: ordinary numbers and ties, and numbers at which operators change their
behaviour.  Equal seeds give equal inputs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from math import isfinite, prod
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from sonnx.equivalence.interpretation.expansion import nodes_of
from sonnx.executor.probes import KINDS, probe
from sonnx.model.ir import Model, ValueInfo
from sonnx.model.scopes import stored_tensors
from sonnx.numerics.constant_data import decode
from sonnx.numerics.draws import ORDINARY
from sonnx.numerics.formats import TEXT, Array, format_of, is_small_float, limits_of

Inputs: TypeAlias = Mapping[str, Array]

MAX_STATED = 16
"""Elements of a constant that is read for numbers near which models may differ."""

LARGEST = 2.0**24
"""The largest of these numbers."""

LARGE, VERY_LARGE = 8, 1024
"""Factors of ordinary numbers."""


class Stated(NamedTuple):
    """The finite numbers, and the texts, that attributes and small constants of both models state."""

    numbers: Array
    texts: tuple[str, ...]


class SearchInput(NamedTuple):
    """One generated set of inputs.

    Attributes:
        number: which one.
        kind: the kind of its numbers.
        inputs: the arrays, by name.
        is_generic: its floating-point numbers have no relation to one another and to constants, so that roundings
            hardly decide a comparison.
    """

    number: int
    kind: str
    inputs: Inputs
    is_generic: bool


def search_inputs(models: Sequence[Model], needed: Sequence[ValueInfo], runs: int, seed: int) -> Iterator[SearchInput]:
    """So many sets of inputs, of each kind in turn; of more than there are kinds, each kind again with other numbers.

    Raises:
        BadInput: an input has a symbolic or missing dimension, or an element type the executor does not know.
    """
    stated = _stated(models)
    for number in range(runs):
        inputs = probe(needed, seed, number)
        kind = KINDS[number % len(KINDS)]
        changed = _FURTHER.get(number % (len(_FURTHER) + len(KINDS)))
        if changed is None:
            yield SearchInput(number, kind, inputs, kind == ORDINARY)
            continue
        name, change = changed
        arrays = {each: change(array, stated) for each, array in inputs.items()}
        yield SearchInput(number, f"{kind} ({name})", arrays, kind == ORDINARY and change is not _near_stated)


def _scaled(factor: int) -> Callable[[Array, Stated], Array]:
    def change(array: Array, _: Stated) -> Array:
        wide: Array = array * array.dtype.type(factor) if _is_wide_float(array) else array
        return wide

    return change


def _few(array: Array, _: Stated) -> Array:
    """Minus one, zero and one only, of which many are equal."""
    if array.dtype == TEXT or array.dtype.kind not in "fiu" or is_small_float(array.dtype):
        return array
    least = 0 if array.dtype.kind == "u" else -1
    if array.dtype.kind == "f":
        return np.clip(np.rint(array), -1, 1).astype(array.dtype) + 0  # -0 becomes 0
    return np.clip(array, least, 1).astype(array.dtype)


def _near_stated(array: Array, stated: Stated) -> Array:
    """Numbers that the models state as constants, and numbers about them; texts that they state, and pairs of them."""
    if array.dtype == TEXT and stated.texts:
        words = [*stated.texts, *(f"{one}{other}" for one in stated.texts for other in stated.texts)]
        return np.array([words[place % len(words)] for place in range(array.size)], TEXT).reshape(array.shape)
    if array.dtype == TEXT or array.dtype.kind not in "fiu" or is_small_float(array.dtype) or not stated.numbers.size:
        return array
    places = np.arange(array.size, dtype=np.int64)
    size = stated.numbers.size
    numbers = stated.numbers[places % size] + np.array([0, 1, -1, 0.5])[places // size % 4]
    if array.dtype.kind in "iu":
        least, greatest = limits_of(array.dtype)
        numbers = np.clip(np.rint(numbers), max(least, -(2**53)), min(greatest, 2**53))
    near: Array = numbers.astype(array.dtype).reshape(array.shape)
    return near


_FURTHER: Mapping[int, tuple[str, Callable[[Array, Stated], Array]]] = {
    2: (f"times {LARGE}", _scaled(LARGE)),
    3: ("-1, 0 and 1", _few),
    4: ("near constants", _near_stated),
    6: (f"times {VERY_LARGE}", _scaled(VERY_LARGE)),
}
"""By their numbers, the sets that are changed after they were drawn."""


def _is_wide_float(array: Array) -> bool:
    return array.dtype != TEXT and format_of(array.dtype) is not None and array.dtype.kind == "f"


def _stated(models: Sequence[Model]) -> Stated:
    numbers, texts = dict[float, None](), dict[str, None]()
    for model in models:
        for node in nodes_of(model):
            for attribute in node.attributes:
                numbers.update(dict.fromkeys(_numbers_of(attribute.value)))
                texts.update(dict.fromkeys(_texts_of(attribute.value)))
        for tensor in stored_tensors(model):
            if tensor.external is None and prod(tensor.dims) <= MAX_STATED:
                array = decode(tensor, None)
                if array.dtype != TEXT and array.dtype.kind in "fiu":
                    numbers.update(dict.fromkeys(array.reshape(-1).astype(np.float64).tolist()))
    kept = [number for number in numbers if isfinite(number) and abs(number) < LARGEST]
    return Stated(np.array(kept, np.float64), tuple([*texts][:MAX_STATED]))


def _numbers_of(value: Any) -> Iterator[float]:
    if isinstance(value, int | float) and not isinstance(value, bool):
        yield float(value)
    elif isinstance(value, tuple):
        yield from (float(each) for each in value[:MAX_STATED] if isinstance(each, int | float))


def _texts_of(value: Any) -> Iterator[str]:
    listed = value if isinstance(value, tuple) else (value,)
    yield from (each.decode("utf-8", "replace") if isinstance(each, bytes) else each
                for each in listed[:MAX_STATED] if isinstance(each, str | bytes))  # fmt: skip
