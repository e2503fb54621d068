"""The walk over blocks visits each element of the output once, with the elements that broadcasting gives it.

Exhaustive over small shapes, with three axes in a deep run only: what larger ones add are more axes, longer ones and
more blocks of the same kinds.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import numpy as np

from sonnx.numerics.blocks import block_pieces, merged
from sonnx.numerics.formats import Array
from tests.support.cases import each_case, spread


def operands(shape: tuple[int, ...], stands: tuple[bool, ...], turned: bool) -> Array:
    """An operand that stands still along some axes, each element another number; its axes reversed in memory or not."""
    own = [1 if still else extent for extent, still in zip(shape, stands, strict=True)]
    numbers = np.arange(np.prod(own, dtype=int), dtype=np.int64)
    return numbers.reshape(own[::-1]).T if turned else numbers.reshape(own)


def pairs(shape: tuple[int, ...]) -> Iterator[list[Array]]:
    """Two operands in every way to broadcast them to the shape."""
    ways = list(product((False, True), repeat=len(shape)))
    for one, other, turned in product(ways, ways, (False, True)):
        yield [operands(shape, one, turned), operands(shape, other, False)]


@each_case("rank", [1, 2, 3])
def test_each_element_is_visited_once_with_its_operands(rank: int) -> None:
    """Every element counts its visits, and gets a number from which both operands can be read."""
    for shape in product(range(1, 4), repeat=rank):
        size = int(np.prod(shape))
        for X in spread(pairs(shape), 128 if rank < 3 else 20):
            fewer, Z = merged(X, shape)
            wanted = 100 * np.broadcast_to(X[0], shape) + np.broadcast_to(X[1], shape)
            for count in (1, 2, 5, size) if rank == 3 else range(1, size + 2):
                out, visits = np.zeros(fewer, np.int64), np.zeros(fewer, np.int64)
                for (one, other), target in block_pieces(Z, out, count):
                    assert len(target) == len(one) == len(other)
                    target[...] = 100 * one + other
                for _, target in block_pieces(Z, visits, count):
                    target += 1
                assert (visits == 1).all(), (shape, count)
                assert np.array_equal(out.reshape(shape), wanted), (shape, count)
