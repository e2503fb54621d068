"""Transpose by Slice, Reshape and Concat: as few parts as an exact form needs.

Two neighbouring axes are exchanged by cutting along one of them and joining the parts behind the other one.  An axis
of a * b elements is cut twice, into a and into b parts, where this needs fewer.  A permutation is the sequence of
exchanges with the fewest parts.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import pairwise
from math import isqrt, prod

from sonnx.rewriter import descriptions
from sonnx.rewriter.node_builders import SHAPE_AS_INPUT, NodeSequence
from sonnx.rewriter.operator_names import OperatorName
from sonnx.rewriter.rewrite import Replacement, Trigger, rewrite
from sonnx.rewriter.site import Shape, Site

MAX_PARTS = 256
"""A permutation stays where it would need more parts."""
MAX_BLOCKS = 6
"""And where it moves more blocks of axes: their orders are all tried."""
PASS = 6
"""What moving all elements once more costs, in parts: its Reshape and Concat, and the time to copy the elements."""

Exchange = tuple[int, int, int]
"""Where two neighbouring runs of blocks begin, meet and end."""


@rewrite("transposed-parts", Trigger.RULE_FAILS)
def transposed_parts(site: Site) -> Replacement | None:
    """Transpose as exchanges of neighbouring axes."""
    node, shape, order = site.node, site.shape(0), site.known("perm")
    if shape is None or order is None or site.operator_set < SHAPE_AS_INPUT or 0 in shape:
        return None
    if sorted(order) != list(range(len(shape))):
        return None
    blocks = _blocks(order, shape)
    extents = dict(blocks)
    if not 1 < len(blocks) <= MAX_BLOCKS:
        return None
    current = sorted(extents)
    exchanges = cheapest_exchanges(tuple(current), tuple(block for block, _ in blocks), tuple(sorted(extents.items())))
    if sum(map(sum, map(cuts, _shorter_runs(exchanges, current, extents)))) > MAX_PARTS:
        return None
    sequence, value = NodeSequence(node.outputs[0], site.operator_set, site.pieces), node.inputs[0]
    for exchange in exchanges:
        value = _exchanged(sequence, value, _extents(exchange, current, extents))
        current = _after(current, exchange)
    sequence.reshape(value, [shape[axis] for axis in order], node.outputs[0])
    return sequence.replacement(descriptions.call(node), f"{len(sequence.nodes)} nodes that move parts")


def _blocks(order: tuple[int, ...], shape: Shape) -> list[tuple[int, int]]:
    """First axis and size of what is moved: axes in their new order, without those of extent 1, neighbours as one."""
    numberses: list[list[int]] = []
    long = [axis for axis in order if shape[axis] != 1]
    follows = dict(pairwise(sorted(long)))
    for axis in long:
        if numberses and follows.get(numberses[-1][-1]) == axis:
            numberses[-1].append(axis)
        else:
            numberses.append([axis])
    return [(axes[0], prod(shape[axis] for axis in axes)) for axes in numberses]


# ------------------------------------------------------------------ the cheapest exchanges


@lru_cache(maxsize=1024)
def cuts(extent: int) -> tuple[int, ...]:
    """Into how many parts an axis is cut, one time after another, so that the parts and the passes cost least."""
    numbers: tuple[int, ...] = (extent,)
    for factor in range(2, isqrt(extent) + 1):
        if extent % factor == 0:
            numbers = min(numbers, (*cuts(factor), *cuts(extent // factor)), key=_cost)
    return numbers


def _cost(parts: Sequence[int]) -> int:
    return sum(parts) + PASS * len(parts)


def cheapest_exchanges(
    start: tuple[int, ...], wanted: tuple[int, ...], extents: tuple[tuple[int, int], ...]
) -> tuple[Exchange, ...]:
    """The exchanges that bring blocks from an order into another one at the least cost."""
    sizes = dict(extents)
    reached: set[tuple[int, ...]] = set()
    heap: list[tuple[int, tuple[int, ...], tuple[Exchange, ...]]] = [(0, start, ())]
    while True:
        cost, order, done = heapq.heappop(heap)
        if order == wanted:
            return done
        if order in reached:
            continue
        reached.add(order)
        for exchange in _all_exchanges(len(order)):
            _, a, b, _ = _extents(exchange, order, sizes)
            more = min(_cost(cuts(a)), _cost(cuts(b)))
            heapq.heappush(heap, (cost + more, tuple(_after(order, exchange)), (*done, exchange)))


def _all_exchanges(number: int) -> Iterator[Exchange]:
    for begin in range(number):
        for middle in range(begin + 1, number):
            for end in range(middle + 1, number + 1):
                yield begin, middle, end


def _after(order: Sequence[int], exchange: Exchange) -> list[int]:
    begin, middle, end = exchange
    return [*order[:begin], *order[middle:end], *order[begin:middle], *order[end:]]


def _extents(exchange: Exchange, order: Sequence[int], sizes: dict[int, int]) -> tuple[int, int, int, int]:
    """The elements before both runs, of each run, and behind them."""
    begin, middle, end = exchange
    spans = (order[:begin], order[begin:middle], order[middle:end], order[end:])
    before, a, b, behind = (prod(sizes[block] for block in span) for span in spans)
    return before, a, b, behind


def _shorter_runs(exchanges: Sequence[Exchange], order: Sequence[int], sizes: dict[int, int]) -> Iterator[int]:
    """The extent that is cut, of each exchange."""
    for exchange in exchanges:
        _, a, b, _ = _extents(exchange, order, sizes)
        yield min(a, b, key=lambda extent: _cost(cuts(extent)))
        order = _after(order, exchange)


def _exchanged(sequence: NodeSequence, value: str, extents: tuple[int, int, int, int]) -> str:
    """Append the nodes that bring a value from [before, a, b, behind] to [before, b, a, behind]; its name.

    The shape of a pass has a place of extent 1 where the parts go, so that no part needs a Reshape.
    """
    before, a, b, behind = extents
    if _cost(cuts(a)) <= _cost(cuts(b)):
        moved, left = 1, a
        for number in reversed(cuts(a)):
            left //= number
            value = _joined(sequence, value, (before * left, number, b, 1, moved * behind), 1, 3)
            moved *= number
        return value
    moved, left = 1, b
    for number in cuts(b):
        left //= number
        value = _joined(sequence, value, (before * moved, 1, a, number, left * behind), 3, 1)
        moved *= number
    return value


def _joined(sequence: NodeSequence, value: str, shape: Shape, cut: int, place: int) -> str:
    """Append the nodes that cut a value of a shape along one axis and join the parts along another one; its name."""
    whole = sequence.reshape(value, shape)
    parts = [sequence.slice(whole, shape, cut, (index, index + 1)) for index in range(shape[cut])]
    return sequence.add(OperatorName.CONCAT, parts, sequence.name("joined"), axis=place)
