"""Sample inputs on which a model and its rewritten form are compared: ordinary numbers and special values.

They follow from the name, type and shape of an input, so that every run compares the same values.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator
from math import inf, nan

import numpy as np

from sonnx.base.errors import NotExecutable
from sonnx.base.escaping import quote
from sonnx.model.ir import ValueInfo
from sonnx.numerics import small_floats
from sonnx.numerics.formats import ELEMENTS, NAMES, TEXT, Array, format_of, is_small_float, limits_of

Generator = Callable[[np.random.Generator, "np.dtype[np.generic]", tuple[int, ...]], Array]


def sample_inputs(inputs: Iterable[ValueInfo], number: int) -> Iterator[dict[str, Array]]:
    """A number of sets of inputs: in turn ordinary numbers, these with special values among them, zeros and ones.

    Raises:
        NotExecutable: an input has no type or not a complete shape.
    """
    declared = {value.name: _declared(value) for value in inputs}
    for index in range(number):
        generate = (_ordinary, _special, _zeros)[index % 3]
        yield {name: _generated(generate, name, index, *each) for name, each in declared.items()}


def _declared(value: ValueInfo) -> tuple[np.dtype[np.generic], tuple[int, ...]]:
    dtype, shape = ELEMENTS.get(value.type.element or ""), value.type.shape
    if dtype is None or shape is None or any(not isinstance(extent, int) or extent < 0 for extent in shape):
        raise NotExecutable(
            f"no values can be generated for {quote(value.name)}: its type or shape is not fully declared"
        )
    return dtype, tuple(extent for extent in shape if isinstance(extent, int))


def _generated(
    generate: Generator, name: str, index: int, dtype: np.dtype[np.generic], shape: tuple[int, ...]
) -> Array:
    seed = hashlib.sha256(f"{index}/{name}".encode("utf-8", "surrogateescape")).digest()
    return generate(np.random.Generator(np.random.PCG64(int.from_bytes(seed[:8], "little"))), dtype, shape)


def _ordinary(random: np.random.Generator, dtype: np.dtype[np.generic], shape: tuple[int, ...]) -> Array:
    if dtype == TEXT:
        return np.array([f"w{n}" for n in random.integers(0, 4, shape).ravel()], TEXT).reshape(shape)
    if dtype.kind == "c":
        return (random.standard_normal(shape) + 1j * random.standard_normal(shape)).astype(dtype)
    if format_of(dtype) is not None:
        return random.standard_normal(shape).astype(dtype)
    if is_small_float(dtype):
        return _specials(dtype)[random.integers(0, len(small_floats.numbers(NAMES[dtype])), shape)]
    if dtype == np.bool_:
        return random.integers(0, 2, shape).astype(dtype)
    return random.integers(0, 4, shape).astype(dtype)  # an index, a length or a count is small


def _special(random: np.random.Generator, dtype: np.dtype[np.generic], shape: tuple[int, ...]) -> Array:
    """One element in sixteen, and at least one, is a special value."""
    values = _ordinary(random, dtype, shape).reshape(-1)
    known = _specials(dtype)
    if values.size:
        count = max(1, values.size // 16)
        places = random.choice(values.size, count, replace=False)
        values[places] = known[random.integers(0, known.size, count)]
    return values.reshape(shape)


def _zeros(random: np.random.Generator, dtype: np.dtype[np.generic], shape: tuple[int, ...]) -> Array:
    """Zeros of both signs, and ones: every sign of an exact zero is seen."""
    listed = [0.0, -0.0, 1.0, -1.0] if format_of(dtype) is not None or dtype.kind == "c" else [0, 1]
    known = np.array(["", "0"], TEXT) if dtype == TEXT else np.array(listed).astype(dtype)
    return known[random.integers(0, known.size, shape)]


def _specials(dtype: np.dtype[np.generic]) -> Array:
    """Zeros, infinities, NaNs of both dtypes and signs, the least and the greatest numbers."""
    number_format = format_of(dtype)
    if dtype == TEXT:
        return np.array(["", " ", "é", "w"], TEXT)
    if dtype.kind == "c":
        return np.array([complex(one, other) for one in (0.0, -0.0, inf, nan) for other in (1.0, -inf)], dtype)
    if is_small_float(dtype):
        return np.arange(len(small_floats.numbers(NAMES[dtype])), dtype=np.uint8).view(dtype)
    if number_format is None:
        ends = (0, 1) if dtype == np.bool_ else (*limits_of(dtype), 0, 1)
        return np.array(ends, dtype)  # without the type, 2^64 - 1 would become a double
    positive = [
        0,
        1,
        number_format.infinity - 1,
        number_format.infinity,
        number_format.infinity + 1,
        number_format.sign - 1,
    ]
    return np.array([*positive, *(number_format.sign + number for number in positive)], number_format.unsigned).view(
        dtype
    )
