"""Value classes: inputs where implementations of an operator err, each with a permanent name.

A class says what is put where: a special value at a position among ordinary ones, two of them in a given order, ties,
tensors of one value, values next to the boundaries of conversions.  `cases` lists all cases of the inputs of a node or
model in a fixed order, those that find most first, so that a part of the list is a sensible part.  A case is drawn only
when it is used.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from itertools import chain, combinations, permutations, product, zip_longest
from math import prod
from typing import TypeAlias
from zlib import crc32

import numpy as np

from sonnx.numerics.draws import ORDINARY, PATTERNS, draw
from sonnx.numerics.formats import NAMES, TEXT, Array, TensorSpec, is_computed_with, is_integer
from sonnx.numerics.special_values import (
    HUGE,
    MINUS_INFINITY,
    MINUS_ZERO,
    NAN,
    PLUS_INFINITY,
    PLUS_ZERO,
    boundary_values,
    special_values,
)

MAX_POSITIONS = 8
"""Positions along an axis."""
MAX_TURNS = 32
"""Runs in which a NaN goes along an axis."""
SPREAD = 16
"""Special values of the class `spread`, so few that most windows of a convolution have none."""
BLOCK = 8
"""Elements that vector instructions often take at a time."""

Fill: TypeAlias = Callable[[Array], Array]
"""Ordinary elements in, the elements of the class out, of the same type and shape."""


@dataclass(frozen=True, slots=True)
class ClassCase:
    """One case of a class: what becomes of the ordinary elements of some inputs; the others stay ordinary.

    Attributes:
        name: the name of the class.
        detail: which input, and where.
        fills: by input.
        huge: finite numbers occur that are so large that intermediate results may overflow.
        packed: many special values in one tensor.
    """

    name: str
    detail: str
    fills: Mapping[str, Fill]
    huge: bool = False
    packed: bool = False

    def drawn(self, specs: Mapping[str, TensorSpec], seed: int) -> dict[str, Array]:
        """The inputs of the case; equal seeds give equal inputs."""
        inputs = {}
        for name, (shape, kind) in specs.items():
            text = f"{self.name}\n{self.detail}\n{name}"
            ordinary = draw(kind, shape, ORDINARY, (seed, crc32(text.encode("utf-8", "surrogatepass"))))
            inputs[name] = self.fills[name](ordinary) if name in self.fills else ordinary
        return inputs


def axis_positions(extent: int) -> list[int]:
    """All positions of a short axis; of a longer one both ends, the middle, and edges of blocks."""
    if extent <= MAX_POSITIONS:
        return [*range(extent)]
    tail = (extent - 1) // BLOCK * BLOCK
    preferred = [0, extent - 1, 1, extent // 2, tail, extent - 2, BLOCK, BLOCK // 2, BLOCK - 1, *range(MAX_POSITIONS)]
    return sorted([*dict.fromkeys(preferred)][:MAX_POSITIONS])


def positions(shape: Sequence[int]) -> dict[tuple[int, ...], str]:
    """Indices of elements: the positions of each axis, with the middle of the others, and both corners; and names."""
    if not prod(shape):
        return {}
    if prod(shape) == 1:
        return {(0,) * len(shape): "alone"}
    middle = [extent // 2 for extent in shape]
    listed = [(0,) * len(shape), tuple(extent - 1 for extent in shape)]
    for axis, extent in enumerate(shape):
        listed += [(*middle[:axis], at, *middle[axis + 1 :]) for at in axis_positions(extent) if extent > 1]
    longest = max(range(len(shape)), key=lambda axis: shape[axis])
    names = dict.fromkeys(listed, "between")
    for at in names:
        if all(number == 0 for number in at):
            names[at] = "first"
        elif all(number == extent - 1 for number, extent in zip(at, shape, strict=True)):
            names[at] = "last"
    # Indices along the longest axis first: most reductions go along it.
    return dict(sorted(names.items(), key=lambda item: any(
        number != middle[axis] for axis, number in enumerate(item[0]) if axis != longest and shape[axis] > 1
    )))  # fmt: skip


def cases(specs: Mapping[str, TensorSpec]) -> list[ClassCase]:
    """All cases of inputs of these shapes and types, the first ones first.

    First tensors with many special values; then a NaN at each position, both zeros in both orders, and ties; then the
    rest, of each kind some.  Of more than `MAX_POSITIONS` inputs some stand for all.
    """
    names = [*specs]
    chosen = [names[at] for at in axis_positions(len(names)) if prod(specs[names[at]][0])]
    inputs = [_Input(name, *specs[name]) for name in chosen]
    tiers: list[list[Iterator[ClassCase]]] = [
        [operand.packed() for operand in inputs] + [_together(inputs)],
        [operand.single([NAN]) for operand in inputs]
        + [operand.running() for operand in inputs]
        + [operand.pairs(ZEROS) for operand in inputs]
        + [operand.ties() for operand in inputs]
        + [_pairs_of_inputs(inputs, _FIRST_PAIRS)],
        [operand.single([name for name in special_values(operand.kind).names if name != NAN]) for operand in inputs]
        + [operand.pairs(PAIRS) for operand in inputs]
        + [operand.uniform() for operand in inputs]
        + [operand.boundaries() for operand in inputs]
        + [_boundaries_among(operand, inputs) for operand in inputs]
        + [_pairs_of_inputs(inputs, None)],
    ]
    return [*chain.from_iterable(_in_turn(tier) for tier in tiers)]


ZEROS = ((PLUS_ZERO, MINUS_ZERO), (MINUS_ZERO, PLUS_ZERO))
PAIRS = (
    (NAN, PLUS_INFINITY), (PLUS_INFINITY, NAN), (NAN, MINUS_INFINITY), (MINUS_INFINITY, NAN), (NAN, NAN),
    (PLUS_INFINITY, MINUS_INFINITY), (MINUS_INFINITY, PLUS_INFINITY), (PLUS_INFINITY, PLUS_INFINITY),
    ("least", "greatest"), ("greatest", "least"), ("greatest", "greatest"), ("false", "true"), ("true", "false"),
)  # fmt: skip
_FIRST_PAIRS = (
    *ZEROS, (MINUS_ZERO, MINUS_ZERO), (NAN, NAN), (NAN, ""), ("", NAN), (PLUS_INFINITY, MINUS_INFINITY),
    (PLUS_INFINITY, PLUS_INFINITY), (PLUS_ZERO, PLUS_INFINITY), (PLUS_INFINITY, PLUS_ZERO),
    ("least", "greatest"), ("greatest", "least"), ("greatest", "greatest"), ("least", "least"),
)  # fmt: skip
"""Values of all elements of two inputs; "" for ordinary ones."""
MAX_NEUTRAL = 6
"""Cases of an input of one element with neutral other ones."""
_NEUTRAL: Mapping[str, tuple[tuple[str, ...], ...]] = {
    "others 0": (("+0", "0"),), "others 1": (("+1", "1"),),
    "between the ends": (("-largest", "least"), ("+largest", "greatest")),
    "beside the other ends": (("+largest", "greatest"), ("-largest", "least")),
}  # fmt: skip
"""What the other inputs are, in turn: the first of these names that their types have."""


@dataclass(frozen=True, slots=True)
class _Input:
    """One input, and the cases that change it alone."""

    name: str
    shape: tuple[int, ...]
    kind: np.dtype[np.generic]

    @property
    def size(self) -> int:
        return prod(self.shape)

    def case(self, name: str, where: str, fill: Fill, *, huge: bool = False, packed: bool = False) -> ClassCase:
        return ClassCase(name, f"{self.name}{f' at {where}' if where else ''}", {self.name: fill}, huge, packed)

    def packed(self) -> Iterator[ClassCase]:
        """Few special values far apart; one in each line along each axis, at any position; nothing else; any bits."""
        usual = special_values(self.kind).without(HUGE)
        few = usual.values[: max(1, min(SPREAD, self.size))]
        yield self.case("spread", "", partial(_spread, values=few), packed=True)
        for axis, extent in enumerate(self.shape):
            if extent > 1 and self.size > extent:
                yield self.case(f"one in each line of axis {axis}", "", partial(_lines, values=usual.values, axis=axis), packed=True)  # noqa: E501  # fmt: skip
        for turn in range(min(2, -(-len(usual.names) // max(1, self.size)))):
            yield self.case(f"all special, turn {turn}", "", partial(_repeated, values=usual.values, turn=turn), packed=True)  # noqa: E501  # fmt: skip
        if is_computed_with(self.kind):
            bits = draw(self.kind, self.shape, PATTERNS, (self.size,))
            yield self.case("any bit patterns", "", partial(_replaced, by=bits), huge=True, packed=True)

    def running(self) -> Iterator[ClassCase]:
        """A NaN in each line along an axis, in every turn one place further: all places of an axis of few turns."""
        known = special_values(self.kind)
        for axis, extent in enumerate(self.shape) if NAN in known else ():
            lines = self.size // extent
            for turn in range(min(MAX_TURNS, -(-extent // lines)) if extent > 1 else 0):
                fill = partial(_running, value=known[NAN], axis=axis, first=turn * lines)
                yield self.case(f"nan in each line of axis {axis}", f"turn {turn}", fill, packed=lines > 1)

    def single(self, names: Iterable[str]) -> Iterator[ClassCase]:
        """One special value at each position, the other elements ordinary."""
        known, places = special_values(self.kind), positions(self.shape)
        for name in names:
            for at, where in places.items() if name in known else ():
                fill = partial(_set, values={at: known[name]})
                yield self.case(f"{name} {where}", str([*at]), fill, huge=name in HUGE)

    def pairs(self, pairs: Iterable[tuple[str, str]]) -> Iterator[ClassCase]:
        """Two special values, one before the other; zeros among smaller and among larger numbers."""
        known = special_values(self.kind)
        for first, second in pairs:
            if first not in known or second not in known:
                continue
            for here, there in _places_of_two(self.shape):
                values = {here: known[first], there: known[second]}
                for sign, among in (
                    ((-1, " among smaller"), (1, " among larger")) if (first, second) in ZEROS else ((0, ""),)
                ):
                    fill = partial(_set, values=values, sign=sign)
                    yield self.case(f"{first} before {second}{among}", f"{[*here]} and {[*there]}", fill)

    def ties(self) -> Iterator[ClassCase]:
        """The greatest or the least element twice, at every two of few places; all elements equal."""
        if not is_computed_with(self.kind):
            return
        for here, there in _places_of_two(self.shape):
            for name, end in (("greatest", np.max), ("least", np.min)):
                fill = partial(_tied, here=here, there=there, end=end)
                yield self.case(f"{name} twice", f"{[*here]} and {[*there]}", fill)
        if self.size > 1:
            yield self.case("all equal", "", partial(_all, value=np.ones((), self.kind)))

    def uniform(self) -> Iterator[ClassCase]:
        """Every element is the same special value."""
        known = special_values(self.kind)
        for name in known.names if self.size > 1 else ():
            yield self.case(f"all {name}", "", partial(_all, value=known[name]), huge=name in HUGE)

    def boundaries(self) -> Iterator[ClassCase]:
        """Values next to where a conversion rounds or saturates, as many as the tensor has elements."""
        values = boundary_values(self.kind)
        for turn in range(-(-values.size // self.size)):
            yield self.case("conversion boundary", f"turn {turn}", partial(_repeated, values=values, turn=turn), huge=True)  # noqa: E501  # fmt: skip


def _places_of_two(shape: Sequence[int]) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
    """Two places, the first before the second in row-major order and along an axis."""
    places = []
    middle = tuple(extent // 2 for extent in shape)
    for axis, extent in enumerate(shape):
        if extent < 2:
            continue
        ends = dict.fromkeys([(0, extent - 1), (0, 1), (extent - 2, extent - 1), (extent // 2 - 1, extent // 2)])
        for pair in ends:
            first, second = ((*middle[:axis], at, *middle[axis + 1 :]) for at in pair)
            places.append((first, second))
    return places


def _together(inputs: Sequence[_Input]) -> Iterator[ClassCase]:
    """All inputs hold special values, each with another stride, so that many pairs of them meet."""
    if len(inputs) < 2:
        return
    for turn in range(2):
        fills = {}
        for number, operand in enumerate(inputs):
            values = special_values(operand.kind).without(HUGE).values
            step = np.arange(operand.size) // (len(values) ** number if number < 3 else 1)
            fills[operand.name] = partial(
                _replaced, by=values[(step + turn * (number + 1)) % len(values)].reshape(operand.shape)
            )
        yield ClassCase(f"special values in all inputs, turn {turn}", ", ".join(fills), fills, packed=True)


def meetings(specs: Mapping[str, TensorSpec]) -> Iterator[ClassCase]:
    """Every pair of special values of two inputs meets at an element, for inputs that are broadcast together."""
    for larger, smaller in combinations(sorted(specs, key=lambda name: -prod(specs[name][0])), 2):
        (shape, kind), (small, small_kind) = specs[larger], specs[smaller]
        if not prod(small):
            continue
        first, second = (special_values(dtype).without(HUGE).values for dtype in (kind, small_kind))
        same, size = shape == small, prod(shape)
        turns = -(-len(first) * len(second) // size) if same else -(-len(first) // size) * len(second)
        for turn in range(turns):
            start = turn if same else turn // len(second)
            place = np.arange(start * size, (start + 1) * size)
            # Of another shape the second input has one value in all elements.
            values = second[place // len(first) % len(second)] if same else second[[turn % len(second)]]
            fills = {
                larger: partial(_replaced, by=first[place % len(first)].reshape(shape)),
                smaller: partial(_replaced, by=np.resize(values, small)),
            }
            yield ClassCase(f"special values in all inputs, turn {turn}", f"{larger}, {smaller}", fills, packed=True)


def _pairs_of_inputs(inputs: Sequence[_Input], pairs: Sequence[tuple[str, str]] | None) -> Iterator[ClassCase]:
    """One value in all elements of an input, another in all of a second one; None for all pairs of special values."""
    for first, second in permutations(inputs, 2):
        if first.kind != second.kind or first.kind == TEXT:
            continue
        if pairs is None and first.name > second.name:
            continue
        fill_of, detail = _fills_of_all(first.kind), f"{first.name} and {second.name}"
        for a, b in _further_pairs(first.kind) if pairs is None else pairs:
            if (a and a not in fill_of) or (b and b not in fill_of):
                continue
            fills = {operand.name: fill_of[name] for operand, name in ((first, a), (second, b)) if name}
            title = f"all {a or 'ordinary'} and all {b or 'ordinary'}"
            yield ClassCase(title, detail, fills, huge=a in HUGE or b in HUGE)


@cache
def _fills_of_all(kind: np.dtype[np.generic]) -> Mapping[str, Fill]:
    """For each special value of a type, by its name, what puts it into all elements."""
    known = special_values(kind)
    return {name: partial(_all, value=known[name]) for name in known.names}


@cache
def _further_pairs(kind: np.dtype[np.generic]) -> Sequence[tuple[str, str]]:
    """The pairs of special values of a type that are not among the first ones."""
    names = special_values(kind).names
    return [pair for pair in product(names, names) if pair not in _FIRST_PAIRS]


def _boundaries_among(converted: _Input, inputs: Sequence[_Input]) -> Iterator[ClassCase]:
    """Values next to where a conversion rounds, while the other inputs are neutral: zeros, ones, or both ends."""
    values = boundary_values(converted.kind)
    if is_integer(converted.kind):
        values = values[::-1]  # first the whole numbers that a float or double does not have
    neutral = [
        operand for operand in inputs if operand is not converted and len(special_values(operand.kind).names) > 2
    ]
    if not neutral:
        return
    for turn in range(min(MAX_NEUTRAL if converted.size == 1 else 2, -(-values.size // converted.size))):
        for name, ends in _NEUTRAL.items():
            fills: dict[str, Fill] = {converted.name: partial(_repeated, values=values, turn=turn)}
            for number, operand in enumerate(neutral):
                known = special_values(operand.kind)
                chosen = next((end for end in ends[number % len(ends)] if end in known), None)
                if chosen is not None:
                    fills[operand.name] = partial(_all, value=known[chosen])
            yield ClassCase(f"conversion boundary, {name}", f"{converted.name} at turn {turn}", fills, huge=True)


def _in_turn(lists: Iterable[Iterable[ClassCase]]) -> Iterator[ClassCase]:
    """One of each list, again and again."""
    return (case for row in zip_longest(*lists) for case in row if case is not None)


# ------------------------------------------------------------------ fills


def _set(ordinary: Array, values: Mapping[tuple[int, ...], Array], sign: int = 0) -> Array:
    """Some elements replaced; with a sign all others have it."""
    replaced = ordinary.copy() if not sign else np.where(ordinary == 0, 1, np.abs(ordinary)).astype(ordinary.dtype) * ordinary.dtype.type(sign)  # noqa: E501  # fmt: skip
    for at, value in values.items():
        replaced[at] = value[()]  # an array of objects would take the array itself
    return replaced


def _tied(ordinary: Array, here: tuple[int, ...], there: tuple[int, ...], end: Callable[[Array], Array]) -> Array:
    value = end(ordinary)
    rest = ordinary[ordinary != value]
    array = np.where(ordinary == value, rest[0], ordinary) if rest.size else ordinary.copy()
    array[here] = array[there] = value
    return array


def _all(ordinary: Array, value: Array) -> Array:
    array = np.empty_like(ordinary)
    array[...] = value[()]
    return array


def _replaced(ordinary: Array, by: Array) -> Array:
    return by.copy()


def _spread(ordinary: Array, values: Array) -> Array:
    """The values at equal distances, the last one at the end."""
    array = ordinary.reshape(-1).copy()
    array[np.linspace(0, array.size - 1, len(values)).astype(np.int64)] = values
    return array.reshape(ordinary.shape)


def _lines(ordinary: Array, values: Array, axis: int) -> Array:
    """One value in each line along an axis; values and positions run through all pairs."""
    lines = np.moveaxis(ordinary, axis, -1).copy()
    flat = lines.reshape(-1, lines.shape[-1])
    number = np.arange(len(flat))
    places = np.array(axis_positions(flat.shape[1]))
    flat[number, places[(number + number // len(values)) % len(places)]] = values[number % len(values)]
    return np.ascontiguousarray(np.moveaxis(flat.reshape(lines.shape), -1, axis))


def _running(ordinary: Array, value: Array, axis: int, first: int) -> Array:
    """The value in each line along an axis, in the first one at a place, in the others one further each."""
    lines = np.moveaxis(ordinary, axis, -1).copy()
    flat = lines.reshape(-1, lines.shape[-1])
    number = np.arange(len(flat))
    flat[number, (number + first) % flat.shape[1]] = value
    return np.ascontiguousarray(np.moveaxis(flat.reshape(lines.shape), -1, axis))


def _repeated(ordinary: Array, values: Array, turn: int) -> Array:
    """The values one after another; each turn goes on where the last one ended."""
    number = np.arange(ordinary.size) + turn * ordinary.size
    return values[number % len(values)].reshape(ordinary.shape)


def names(specs: Mapping[str, TensorSpec]) -> list[str]:
    """The names of all classes of inputs of these shapes and types."""
    return [*dict.fromkeys(case.name for case in cases(specs))]


def described(specs: Mapping[str, TensorSpec]) -> str:
    """The inputs, in words."""
    return ", ".join(f"{name}: {NAMES[kind]}{[*shape]}" for name, (shape, kind) in specs.items())
