"""A box of inputs: for each input of a model the range of each element.

    NAME=[LOW,HIGH]   NAME=FILE.npy   NAME=LOW.npy:HIGH.npy   NAME=FILE.npy+-RADIUS

The ends are rounded inward to numbers of the input's element type: an implementation is given such numbers, and they
have no error.  Of a truth value the ends are 0 and 1.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass

import numpy as np

from sonnx.base.errors import BadInput
from sonnx.base.escaping import quote
from sonnx.base.files import sha256
from sonnx.executor.array_sizes import require_arrays
from sonnx.executor.model_inputs import required_inputs
from sonnx.model.ir import Model, ValueInfo
from sonnx.numerics.enclosures.arithmetic import FORMATS
from sonnx.numerics.formats import ELEMENTS, Array, is_integer, limits_of

ReadArray = Callable[[str], Array]
"""Reads the array in a file of that name."""

MAX_WHOLE = 2.0**53
"""The largest end of an interval of integers."""

INTERVAL = re.compile(r"\[([^,\]]+),([^,\]]+)\]")


@dataclass(frozen=True, eq=False)
class Interval:
    """The range of an input: arrays of float64 of its shape, low <= high."""

    low: Array
    high: Array

    @property
    def is_point(self) -> bool:
        """Whether the box has one element."""
        return bool((self.low == self.high).all())

    @property
    def is_same(self) -> bool:
        """Whether each element has the same interval."""
        return all(bool((ends == ends.reshape(-1)[:1]).all()) for ends in (self.low.reshape(-1), self.high.reshape(-1)))

    @property
    def sha256(self) -> str:
        """The hash of the lower ends, then of the upper ends: float64, little endian, in row-major order."""
        return sha256(np.stack([self.low, self.high]).astype("<f8").tobytes())


Box = Mapping[str, Interval]


def box_of_texts(model: Model, texts: Collection[str], read: ReadArray) -> Box:
    """The box of command-line texts.

    Raises:
        BadInput: a text, a file or an interval is not what it should be.
    """
    require_arrays(model)
    known = {value.name: value for value in required_inputs(model)}
    ends: dict[str, tuple[Array, Array]] = {}
    for text in texts:
        name, equals, rest = text.partition("=")
        while name not in known and equals and "=" in rest:
            more, _, rest = rest.partition("=")
            name = f"{name}={more}"
        if not equals:
            raise BadInput(f"--input takes NAME=[LOW,HIGH] or NAME=FILE, not {quote(text)}")
        if name not in known:
            listed = ", ".join(quote(word) for word in known) or "none"
            raise BadInput(f"the model has no input {quote(name)}; it has {listed}")
        if name in ends:
            raise BadInput(f"the input {quote(name)} is given twice")
        ends[name] = _ends(name, rest, known[name], read)
    return box_of_arrays(model, ends)


def _ends(name: str, text: str, value: ValueInfo, read: ReadArray) -> tuple[Array, Array]:
    interval = INTERVAL.fullmatch(text.replace(" ", ""))
    if interval:
        low, high = (_number(name, group) for group in interval.groups())
        shape = value.type.shape
        if shape is None or not all(isinstance(extent, int) and extent >= 0 for extent in shape):
            raise BadInput(f"the input {quote(name)} has no shape of numbers, so an interval does not say its elements")
        return np.full(shape, low), np.full(shape, high)
    if "+-" in text:
        file, _, radius_text = text.rpartition("+-")
        radius, middle = _number(name, radius_text), read(file)
        if not 0 <= radius < np.inf:
            raise BadInput(f"the radius of the input {quote(name)} is {radius_text}, not a finite number of at least 0")
        wide = middle.astype(np.float64)
        return np.nextafter(wide - radius, -np.inf) if radius else wide, np.nextafter(
            wide + radius, np.inf
        ) if radius else wide
    low_file, colon, high_file = text.partition(":")
    if colon:
        return read(low_file).astype(np.float64), read(high_file).astype(np.float64)
    array = read(text)
    return array.astype(np.float64), array.astype(np.float64)


def _number(name: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise BadInput(f"{quote(text)} in the interval of the input {quote(name)} is not a number") from None


def box_of_arrays(model: Model, ends: Mapping[str, Array | tuple[Array, Array]]) -> Box:
    """A box from arrays: one for a point, two for the ends of intervals.

    Raises:
        BadInput: an input is missing, or is empty, reversed, NaN, infinite or of another shape.
    """
    inputs = required_inputs(model)
    known = {value.name for value in inputs}
    missing = [value.name for value in inputs if value.name not in ends]
    extra = [name for name in ends if name not in known]
    if missing or extra:
        problem = (
            f"lacks the input {quote(missing[0])}" if missing else f"names {quote(extra[0])}, not an input of the model"
        )
        raise BadInput(f"the box {problem}")
    symbols: dict[str, int] = {}
    return {value.name: _interval(value, ends[value.name], symbols) for value in inputs}


def _interval(value: ValueInfo, ends: Array | tuple[Array, Array], symbols: dict[str, int]) -> Interval:
    called, element = f"the input {quote(value.name)}", value.type.element or ""
    is_whole = element == "bool" or (element in ELEMENTS and is_integer(ELEMENTS[element]))
    if value.type.kind != "tensor" or not (element in FORMATS or is_whole):
        raise BadInput(f"{called} is declared as {element or value.type.kind}; a box has numbers or truth values")
    low, high = ends if isinstance(ends, tuple) else (ends, ends)
    low, high = np.asarray(low, np.float64), np.asarray(high, np.float64)
    if low.shape != high.shape:
        raise BadInput(f"{called} has a low end of shape {list(low.shape)} and a high end of shape {list(high.shape)}")
    if not _fits(low.shape, value, symbols):
        shape = ", ".join("?" if extent is None else str(extent) for extent in value.type.shape or ())
        raise BadInput(f"{called} has the shape {list(low.shape)}; the model declares [{shape}]")
    if np.isnan(low).any() or np.isnan(high).any():
        raise BadInput(f"{called} has NaN in its box")
    if not (np.isfinite(low).all() and np.isfinite(high).all()):
        raise BadInput(f"{called} has an infinite end in its box")
    if is_whole and low.size and max(np.abs(low).max(), np.abs(high).max()) > MAX_WHOLE:
        raise BadInput(f"{called} has an end beyond 2^53; float64 does not have every integer there")
    reversed_ends = low > high
    if reversed_ends.any():
        place = int(np.flatnonzero(reversed_ends)[0])
        raise BadInput(f"{called} has the reversed interval [{low.reshape(-1)[place]:g}, {high.reshape(-1)[place]:g}]")
    inside = _inward(low, element, 1), _inward(high, element, -1)
    if (inside[0] > inside[1]).any():
        place = int(np.flatnonzero(inside[0] > inside[1])[0])
        pair = f"[{float(low.reshape(-1)[place])!r}, {float(high.reshape(-1)[place])!r}]"
        raise BadInput(f"{called} has the interval {pair}, which contains no number of type {element}")
    return Interval(*inside)


def _inward(values: Array, element: str, direction: int) -> Array:
    """The nearest number of the element type in the direction: 1 up, -1 down."""
    kind = ELEMENTS[element]
    if element not in FORMATS:
        least, most = (0, 1) if element == "bool" else limits_of(kind)
        return np.maximum(np.ceil(values), least) if direction > 0 else np.minimum(np.floor(values), most)
    if kind == np.float64:
        return values
    with np.errstate(all="ignore"):
        near = values.astype(kind)
        wide = near.astype(np.float64)
        off = wide < values if direction > 0 else wide > values
        moved = np.nextafter(near, kind.type(np.inf * direction)).astype(np.float64)
    return np.where(off, moved, wide)


def _fits(shape: tuple[int, ...], value: ValueInfo, symbols: dict[str, int]) -> bool:
    stated = value.type.shape
    if stated is None:
        return True
    if len(stated) != len(shape):
        return False
    for number, extent in zip(shape, stated, strict=True):
        if isinstance(extent, str):
            if symbols.setdefault(extent, number) != number:
                return False
        elif extent is not None and extent != number:
            return False
    return True
