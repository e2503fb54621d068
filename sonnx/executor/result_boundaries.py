"""Class inputs for one call: next to where its result overflows, underflows, leaves its domain, or makes a step.

Such places depend on the operator, its attributes and its constants: QuantizeLinear with a scale of 0.5 has its ties at
quarters, Exp its overflow at 88.72.  They are found by bisection: one input of the call goes along the numbers of its
type, the other inputs stay as they are, and the executor says on which side of a boundary the exact result is.  No
formula of any operator is needed.

The *level* of a result is what a boundary separates.  Where the result has as many digits as the input, it is the sort
of number: NaN, infinite, normal, subnormal or zero, with its sign.  Of integers, truths and types of fewer digits it is
the place among the numbers of the type, so that a boundary is a tie of the rounding.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from math import prod
from zlib import crc32

import numpy as np

from sonnx.numerics import small_floats
from sonnx.numerics.draws import ORDINARY, draw, least_normal
from sonnx.numerics.formats import (
    NAMES,
    TEXT,
    Array,
    TensorSpec,
    format_of,
    is_small_float,
    limits_of,
    order_key,
    patterns,
    widened,
)
from sonnx.numerics.value_classes import ClassCase

MAX_OPERANDS = 3
"""Inputs whose boundaries are searched."""
GRID = 48
"""Numbers at which the levels are known before the bisection."""
MAX_BOUNDARIES = 24
"""Boundaries of one input, while the others stay as they are."""
STEPS = 3
"""Ties searched on either side of the result for 0, 1 and -1, and at both ends of all results."""
PROBES = 3
"""Elements of the result whose boundaries are searched where one run has one number in all elements."""
MAX_RUNS = 384
"""Runs of the executor for one call."""
ELEMENTS_OF_ALL_RUNS = 1 << 19
"""Elements of all these runs together."""
MAX_CASES = 12
"""Class cases of one input, while the others stay as they are."""
COMPANIONS = ("ordinary", "3")
"""What the other inputs are."""

OVERFLOW, UNDERFLOW, DOMAIN, STEP = "overflow boundary", "underflow boundary", "domain boundary", "tie of the result"
NAN_LEVEL = -1
OVERFLOWS, OF_DOMAIN = (1, 6), 0
"""Levels at which infinities begin, and below which is NaN only."""

Results = Callable[[Mapping[str, Array]], Array | None]
"""The exact result of a call for its inputs; None where it has none."""


@dataclass(frozen=True, slots=True)
class SearchedCall:
    """A call whose boundaries are searched.

    Attributes:
        specs: the inputs that are drawn.
        results: its first output.
        elements: the elements of one run.
        shape: of the result.
        is_elementwise: each element of the result depends on the elements of the inputs at its index, all in the same
            way, so that one run tells as much as one for each element.
    """

    specs: Mapping[str, TensorSpec]
    results: Results
    elements: int
    shape: Sequence[int]
    is_elementwise: bool

    def lanes(self, name: str) -> int:
        """How many numbers of an input one run tells about."""
        shape = self.specs[name][0]
        return prod(shape) if self.is_elementwise and tuple(shape) == tuple(self.shape) else 1


def boundary_cases(call: SearchedCall, seed: int) -> list[ClassCase]:
    """The class cases of a call, with its boundaries of each input in turn."""
    runs = min(MAX_RUNS, ELEMENTS_OF_ALL_RUNS // max(1, call.elements))
    lists = []
    for name in list(call.specs)[:MAX_OPERANDS]:
        shape, kind = call.specs[name]
        if not prod(shape) or kind == TEXT or kind == np.bool_ or kind.kind == "c":
            continue
        for companion in COMPANIONS if len(call.specs) > 1 else COMPANIONS[:1]:
            others = _others(call, name, companion, seed)
            if others is not None:
                lists.append(_Search(call, name, others, runs).cases(companion))
    return [case for cases in zip(*map(_padded, lists), strict=True) for case in cases if case is not None]


def _padded(cases: Sequence[ClassCase]) -> Iterator[ClassCase | None]:
    return iter([*cases, *[None] * (2 * MAX_CASES)][: 2 * MAX_CASES])


def _others(call: SearchedCall, name: str, companion: str, seed: int) -> dict[str, Array] | None:
    """The other inputs: ordinary, or all 3; in an elementwise call all elements of one are equal."""
    others = {}
    for other, (shape, kind) in call.specs.items():
        if other == name:
            continue
        seeds = (seed, crc32(f"boundary\n{name}\n{other}".encode("utf-8", "surrogatepass")))
        array = draw(kind, shape, ORDINARY, seeds)
        if companion != COMPANIONS[0]:
            if kind == TEXT or kind == np.bool_ or kind.kind == "c":
                return None
            array = np.full(shape, 3).astype(kind)
        elif call.is_elementwise:
            array = np.broadcast_to(array.reshape(-1)[:1], shape).copy() if array.size else array
        others[other] = array
    return others


class _Line:
    """The finite numbers of a type in their order, each with an integer key."""

    def __init__(self, kind: np.dtype[np.generic]) -> None:
        self.kind, self.format = kind, format_of(kind)
        self.small: Array | None = None
        if self.format is not None:
            self.high = self.format.infinity - 1
            self.low = -self.high
        elif is_small_float(kind):
            every = np.array(small_floats.numbers(NAMES[kind]))
            at = np.flatnonzero(np.isfinite(every))
            self.small = at[np.argsort(every[at], kind="stable")].astype(np.uint8)
            self.low, self.high = 0, len(self.small) - 1
        else:
            self.low, self.high = limits_of(kind)

    def numbers(self, keys: Sequence[int]) -> Array:
        """The numbers of these keys."""
        if self.format is not None:
            bits = [key if key >= 0 else self.format.sign - key for key in keys]
            return np.array(bits, self.format.unsigned).view(self.kind)
        if self.small is not None:
            return self.small[np.array(keys, np.int64)].view(self.kind)
        wide = np.uint64 if self.low == 0 else np.int64
        return np.array(keys, wide).astype(self.kind)

    def around(self, number: int) -> int:
        """The key of a small whole number, or of the nearest one."""
        if self.format is not None:
            key = int(patterns(np.array([abs(number)]).astype(self.kind))[0])
            return key if number >= 0 else -key
        if self.small is not None:
            every = np.array(small_floats.numbers(NAMES[self.kind]))[self.small]
            return int(np.argmin(np.abs(every - number)))
        return max(self.low, min(self.high, number))

    def grid(self) -> list[int]:
        """Keys over the whole line, with those of 0, 1 and -1."""
        span = self.high - self.low
        even = [self.low + span * place // (GRID - 4) for place in range(GRID - 3)]
        return sorted({*even, *map(self.around, (-1, 0, 1))})

    def beside(self, low: int, high: int) -> list[int]:
        """The keys of both sides of a boundary, each with its neighbour."""
        return [key for key in (low, high, low - 1, high + 1) if self.low <= key <= self.high]


def levels_of(result: Array, of: np.dtype[np.generic]) -> Array:
    """The levels of results of a call whose input has a type, as integers."""
    number_format = format_of(result.dtype)
    if number_format is None or not _has_sorts(result.dtype, of):
        return _places(result)
    wide = widened(result)
    magnitude = patterns(np.ascontiguousarray(result)) & number_format.unsigned.type(number_format.sign - 1)
    size = (magnitude > 0).astype(np.int64) + (magnitude >= least_normal(number_format)) + np.isinf(wide)
    levels: Array = np.where(np.isnan(wide), NAN_LEVEL, 3 + np.where(np.signbit(wide), -size, size))
    return levels


def _has_sorts(result: np.dtype[np.generic], of: np.dtype[np.generic]) -> bool:
    """Whether a level is the sort of a number: the result has as many digits as the input."""
    return format_of(result) is not None and _digits(result) >= _digits(of)


def _digits(kind: np.dtype[np.generic]) -> int:
    """The binary digits of the numbers of a type."""
    number_format = format_of(kind)
    if number_format is not None:
        return least_normal(number_format).bit_length()
    return 1 if is_small_float(kind) else limits_of(kind)[1].bit_length()


def _places(result: Array) -> Array:
    """The place of each number among those of its type; NaN before all."""
    if is_small_float(result.dtype):
        wide = widened(result).astype(np.float64)
        every = np.array(small_floats.numbers(NAMES[result.dtype]))
        listed = np.unique(every[~np.isnan(every)])
        return np.where(np.isnan(wide), NAN_LEVEL, np.searchsorted(listed, wide))
    number_format = format_of(result.dtype)
    if number_format is None:
        return widened(result).astype(object)
    key, flat = order_key(result.dtype), patterns(np.ascontiguousarray(result)).reshape(-1)
    shift = number_format.infinity + 1
    keys = [key(int(pattern)) for pattern in flat]
    moved = [NAN_LEVEL if place > number_format.infinity else place + shift + (place < 0) for place in keys]
    return np.array(moved, object).reshape(result.shape)


@dataclass(frozen=True, slots=True)
class _Boundary:
    """Two keys, and the level at which the results of one element divide between them."""

    low: int
    high: int
    probe: int
    level: int


class _Search:
    """The boundaries of one input of a call, while the others stay as they are."""

    def __init__(self, call: SearchedCall, name: str, others: Mapping[str, Array], runs: int) -> None:
        self.call, self.name, self.others, self.runs = call, name, others, runs
        self.shape, self.kind = call.specs[name]
        self.line, self.lanes = _Line(self.kind), call.lanes(name)
        self.known: dict[int, tuple[int, ...]] = {}
        self.narrow = False

    def cases(self, companion: str) -> list[ClassCase]:
        """The class cases; none where one run is so large that few are affordable."""
        grid = self.line.grid()
        if self.runs * self.lanes < 2 * len(grid):
            return []
        self._evaluate(grid)
        found: dict[str, list[int]] = {}
        for boundary in self._bisected(self._crossed()):
            keys = self.line.beside(boundary.low, boundary.high)
            found.setdefault(self._name(boundary.level), []).extend(keys)
        detail = f"{self.name}{f', others {companion}' if self.others else ''}"
        return [*self._packed(found, detail)][:MAX_CASES]

    def _name(self, level: int) -> str:
        if self.narrow:
            return STEP
        return OVERFLOW if level in OVERFLOWS else DOMAIN if level == OF_DOMAIN else UNDERFLOW

    def _packed(self, found: Mapping[str, Iterable[int]], detail: str) -> Iterator[ClassCase]:
        """As many numbers in one case as the call has lanes, else one in all elements."""
        kept = {name: partial(_kept, values=array) for name, array in self.others.items()}
        lists = []
        for name, listed in found.items():
            keys = [*dict.fromkeys(listed)]
            values = self.line.numbers(keys)
            turns = [values[start : start + self.lanes] for start in range(0, len(values), self.lanes)]
            lists.append([
                ClassCase(
                    name, f"{detail}, turn {turn}", {self.name: partial(_repeated, values=some), **kept},
                    huge=name == OVERFLOW,
                )
                for turn, some in enumerate(turns)
            ])  # fmt: skip
        for place in range(max(map(len, lists), default=0)):
            yield from (listed[place] for listed in lists if place < len(listed))

    def _evaluate(self, keys: Iterable[int]) -> None:
        """Find the levels at these keys, as many as the runs that are left allow."""
        new = [key for key in dict.fromkeys(keys) if key not in self.known]
        for start in range(0, len(new), self.lanes):
            if not self.runs:
                return
            self.runs -= 1
            some = new[start : start + self.lanes]
            operand = _repeated(np.empty(self.shape, self.kind), self.line.numbers(some))
            result = self.call.results({self.name: operand, **self.others})
            if result is None or not result.size or result.dtype == TEXT or result.dtype.kind == "c":
                continue
            self.narrow = not _has_sorts(result.dtype, self.kind)
            flat = result.reshape(-1)
            if self.lanes > 1:
                levels = levels_of(flat[: len(some)], self.kind)
                self.known.update({key: (int(level),) for key, level in zip(some, levels, strict=True)})
            else:
                at = sorted({flat.size * place // (PROBES - 1) - (place == PROBES - 1) for place in range(PROBES)})
                levels = levels_of(flat[[max(0, place) for place in at]], self.kind)
                self.known[some[0]] = tuple(map(int, levels))

    def _crossed(self) -> list[_Boundary]:
        """Neighbouring keys between which the result crosses a level."""
        keys = sorted(self.known)
        boundaries = []
        for probe in range(min((len(levels) for levels in self.known.values()), default=0)):
            of_probe = [self.known[key][probe] for key in keys]
            wanted = self._wanted(probe)
            for low, high, before, after in zip(keys, keys[1:], of_probe, of_probe[1:], strict=False):
                between = [level for level in wanted if (before < level) != (after < level)]
                boundaries += [_Boundary(low, high, probe, level) for level in between]
        return spread_over(boundaries, MAX_BOUNDARIES)

    def _wanted(self, probe: int) -> list[int]:
        """The levels whose boundaries are searched, of an element of the result."""
        known = {levels[probe] for levels in self.known.values()}
        if not self.narrow:
            return [*range(OF_DOMAIN, OVERFLOWS[1] + 1)]
        least, greatest = min(known), max(known)
        centres = [self.known[key][probe] for key in map(self.line.around, (-1, 0, 1)) if key in self.known]
        near = [level + step for level in centres for step in range(-STEPS, STEPS + 2)]
        ends = [least + 1 + step for step in range(STEPS)] + [greatest - step for step in range(STEPS)]
        return sorted({level for level in [*near, *ends] if least < level <= greatest})

    def _bisected(self, boundaries: Sequence[_Boundary]) -> list[_Boundary]:
        """Boundaries between neighbouring numbers; those that the runs do not suffice for are left out."""
        if self.lanes == 1:
            return [narrow for boundary in boundaries for narrow in self._narrowed([boundary])]
        return self._narrowed(boundaries)

    def _narrowed(self, boundaries: Sequence[_Boundary]) -> list[_Boundary]:
        """The same with neighbouring keys."""
        while any(boundary.high - boundary.low > 1 for boundary in boundaries):
            middles = [(boundary.low + boundary.high) // 2 for boundary in boundaries]
            self._evaluate(middles)
            if any(middle not in self.known for middle in middles):
                return [boundary for boundary in boundaries if boundary.high - boundary.low == 1]
            boundaries = [self._half(boundary, middle) for boundary, middle in zip(boundaries, middles, strict=True)]
        return list(boundaries)

    def _half(self, boundary: _Boundary, middle: int) -> _Boundary:
        probe, level = boundary.probe, boundary.level
        if boundary.high - boundary.low == 1:
            return boundary
        if (self.known[middle][probe] < level) == (self.known[boundary.low][probe] < level):
            return _Boundary(middle, boundary.high, probe, level)
        return _Boundary(boundary.low, middle, probe, level)


def spread_over(boundaries: Sequence[_Boundary], number: int) -> list[_Boundary]:
    """At most so many, evenly from the whole list."""
    if len(boundaries) <= number:
        return list(boundaries)
    return [boundaries[len(boundaries) * place // number] for place in range(number)]


def _kept(ordinary: Array, values: Array) -> Array:
    return values.copy()


def _repeated(ordinary: Array, values: Array) -> Array:
    return values[np.arange(ordinary.size) % len(values)].reshape(ordinary.shape)
