"""Generated inputs, where errors are likely: zeros of both signs, subnormals, infinities, NaN, extremes and ties.

The same seed gives the same inputs on every machine and with every version of numpy: only the raw stream of its PCG64
generator is used, whose numbers numpy promises to keep (NEP 19).
"""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from zlib import crc32

import numpy as np

from sonnx.base.errors import BadInput, UsageError
from sonnx.base.escaping import quote
from sonnx.executor.array_sizes import require_arrays
from sonnx.executor.executor import required_inputs
from sonnx.executor.input_files import inputs_from_files
from sonnx.model.ir import Model, Value
from sonnx.numerics import small_floats
from sonnx.numerics.formats import (
    ELEMENTS,
    NAMES,
    TEXT,
    Array,
    Format,
    bits_of,
    format_of,
    is_small_float,
    limits_of,
)

DEFAULT_RUNS = 4
"""Generated runs of a comparison."""
KINDS = ("ordinary", "special", "ties", "patterns")
"""The sets of inputs, in turn: numbers of [-1, 1); these with one special value in eight; small multiples of one half;
and bit patterns at random, which are numbers of every magnitude, NaN and infinities."""

ORDINARY = ("ordinary", "ties")
"""The kinds of sets that have ordinary numbers only."""


def ordinary_runs(runs: int) -> list[int]:
    """The numbers of the generated sets that have ordinary numbers only."""
    return [number for number in range(runs) if KINDS[number % len(KINDS)] in ORDINARY]


def probe(inputs: Sequence[Value], seed: int, number: int) -> dict[str, Array]:
    """The inputs of one run.

    Args:
        inputs: the graph inputs, of numeric shapes.
        seed: any whole number.
        number: which set; its kind is `KINDS[number % 4]`.

    Raises:
        BadInput: an input has a symbolic or missing dimension, or an element type the executor does not know.
    """
    return {value.name: _values(value, seed, number) for value in inputs}


def _values(value: Value, seed: int, number: int) -> Array:
    kind = ELEMENTS.get(value.type.element or "")
    if kind is None:
        raise BadInput(f"no values can be made for the input {quote(value.name)} of type {value.type.element}")
    shape = value.type.shape
    if shape is None:
        raise BadInput(f"the input {quote(value.name)} has no shape; give its values with --input")
    dims = [each for each in shape if isinstance(each, int) and each >= 0]
    if len(dims) < len(shape):
        symbols = ", ".join(str(each) for each in shape if not isinstance(each, int) or each < 0)
        raise BadInput(f"the input {quote(value.name)} has the dimension {symbols}: give it a number with --bind")
    stream = np.random.PCG64([seed & 0xFFFFFFFFFFFFFFFF, number, crc32(value.name.encode("utf-8", "surrogatepass"))])
    count = int(np.prod(dims, dtype=object)) if dims else 1
    raw = np.asarray(stream.random_raw(count), np.uint64).reshape(-1)
    return _of_kind(raw, stream, kind, KINDS[number % len(KINDS)]).reshape(dims)


def _of_kind(raw: Array, stream: np.random.PCG64, kind: np.dtype[np.generic], which: str) -> Array:
    made = format_of(kind)
    if kind == TEXT:
        return _strings(raw, which)
    if kind.kind == "c":
        part = np.dtype(f"f{kind.itemsize // 2}")
        parts = (_of_kind(each, stream, part, which) for each in (raw, raw[::-1]))
        return np.stack([*parts], -1).view(kind).reshape(raw.shape)
    if is_small_float(kind):
        return _small_floats(raw, stream, kind, which)
    if made is None:
        return _integers(raw, stream, kind, which)
    if which == "patterns":
        return raw.astype(made.unsigned).view(kind)
    if which == "ties":
        return (((raw % np.uint64(17)).astype(np.int64) - 8) / 2).astype(kind)
    plain = ((raw >> np.uint64(11)).astype(np.float64) * 2.0**-52 - 1.0).astype(kind)
    return plain if which == "ordinary" else _sprinkled(plain, _special(kind, made), stream)


def _strings(raw: Array, which: str) -> Array:
    """Short words; of special ones the empty string, spaces, quotes and characters outside ASCII too."""
    special = ("", " ", "\n", "'", '"', "\0", "é", "\U0001f600")
    words = [f"w{number % 17 if which == 'ties' else number:x}" for number in raw.tolist()]
    chosen = [special[n // 8 % 8] if n % 8 == 0 else w for n, w in zip(raw.tolist(), words, strict=True)]
    return np.array(chosen if which in ("special", "patterns") else words, TEXT)


def _small_floats(raw: Array, stream: np.random.PCG64, kind: np.dtype[np.generic], which: str) -> Array:
    """Patterns of the type: all of them, or those of numbers of at most 1, or 8 for ties."""
    numbers = np.array(small_floats.numbers(NAMES[kind]))
    every = np.arange(numbers.size, dtype=np.uint8)
    chosen = every if which == "patterns" else every[np.abs(numbers) <= (8 if which == "ties" else 1)]
    plain = chosen[raw % np.uint64(chosen.size)]
    return (plain if which != "special" else _sprinkled(plain, every, stream)).view(kind)


def _integers(raw: Array, stream: np.random.PCG64, kind: np.dtype[np.generic], which: str) -> Array:
    if kind == np.bool_:
        return (raw & np.uint64(1)).astype(np.bool_)
    least, greatest = limits_of(kind)
    if which == "patterns":
        return (raw & np.uint64((1 << bits_of(kind)) - 1)).astype(f"u{kind.itemsize}").view(kind)
    small = (raw % np.uint64(17)).astype(np.int64) - (0 if least == 0 else 8)
    if bits_of(kind) < 8:
        small %= greatest + 1
    ends = np.array([least, greatest, 0, 1, greatest - 1, least + 1], kind)
    return small.astype(kind) if which != "special" else _sprinkled(small.astype(kind), ends, stream)


def _special(kind: np.dtype[np.generic], made: Format) -> Array:
    """Zeros, least and largest subnormal and normal numbers, infinities, ones, and a NaN, of both signs."""
    least_normal = made.infinity & -made.infinity  # the lowest bit of the exponent
    one = int(np.ones(1, kind).view(made.unsigned)[0])
    positive = [0, 1, least_normal - 1, least_normal, made.infinity - 1, made.infinity, one, one - 1, one + 1]
    quiet = made.infinity | least_normal >> 1
    return np.array([*positive, *(made.sign | each for each in positive), quiet], made.unsigned).view(kind)


def _sprinkled(plain: Array, special: Array, stream: np.random.PCG64) -> Array:
    """One element in eight replaced by a special one."""
    raw = np.asarray(stream.random_raw(max(1, plain.size)), np.uint64)[: plain.size]
    chosen: Array = np.where(raw & np.uint64(7) == 0, special[(raw >> np.uint64(3)) % np.uint64(len(special))], plain)
    return chosen


def comparison_inputs(
    model: Model,
    files: Collection[str],
    test_data: str | os.PathLike[str] | None,
    recorded: bool,
    runs: int | None,
    seed: int,
) -> tuple[list[Mapping[str, Array]], str, list[int] | None]:
    """The inputs of each run of a comparison, where they come from, and which have ordinary numbers (None: all).

    Raises:
        UsageError: options that exclude one another.
        BadInput: a file cannot be used.
    """
    require_arrays(model)
    given, wanted = inputs_from_files(model, files, test_data), required_inputs(model)
    if given and runs is not None:
        raise UsageError("--random generates inputs; it does not go with --input or --test-data")
    if given or not wanted:
        return [given], "from files" if given else "none needed", None
    if recorded:
        raise UsageError("--outputs needs the inputs they were computed from: --input or --test-data")
    number = runs or DEFAULT_RUNS
    kinds = ", ".join(KINDS[: min(number, len(KINDS))])
    made: list[Mapping[str, Array]] = [probe(wanted, seed, each) for each in range(number)]
    return made, f"generated from seed {seed} ({kinds})", ordinary_runs(number)
