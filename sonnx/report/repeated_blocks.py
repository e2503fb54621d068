"""Repeated blocks of a graph, drawn once: a network of a hundred equal layers has a drawing of a page.

A block is a sequence of boxes, in the order of the file; it repeats where the operators are the same and each box reads
from boxes at the same distances before it.  The first block stays, and one box stands for the others: it has the
findings of all nodes that it stands for.
"""

from __future__ import annotations

from collections.abc import Sequence

from sonnx.checker.graph_outline import INPUT, OUTPUT, Box, Outline

LEAST_REPEATS = 3
LEAST_BOXES = 9
"""Boxes of all repetitions together, from which they are drawn as one."""
LONGEST_BLOCK = 96
SHOWN_OPERATORS = 3
REPEATED = "block above"
Label = tuple[str, tuple[int, ...]]


def blocks_drawn_once(graph: Outline) -> Outline:
    """The outline with each run of equal blocks as its first block and one box for the others."""
    runs = list(_runs(_labels(graph)))
    if not runs:
        return graph
    boxes, number_of = list[Box](), dict[int, int]()
    start_of = {first + period: (first, period, repeats) for first, period, repeats in runs}
    index = 0
    while index < len(graph.boxes):
        if index in start_of:
            first, period, repeats = start_of[index]
            end = first + period * repeats
            number_of |= dict.fromkeys(range(index, end), len(boxes))
            boxes.append(_standing_for(graph.boxes[index:end], period, repeats - 1))
            index = end
        else:
            number_of[index] = len(boxes)
            boxes.append(graph.boxes[index])
            index += 1
    edges = {(number_of[start], number_of[end]): None for start, end in graph.edges}
    kept = tuple(edge for edge in edges if edge[0] != edge[1])
    return Outline(tuple(boxes), kept, graph.backward)


def _labels(graph: Outline) -> list[Label]:
    """What makes two boxes alike: the operator, and how far before it stands what it reads."""
    read: list[list[int]] = [[] for _ in graph.boxes]
    for start, end in graph.edges:
        read[end].append(end - start)
    return [
        # an input or output of the graph is like no other box
        (f"{box.operator} {number}" if box.operator in (INPUT, OUTPUT) else box.operator, tuple(sorted(distances)))
        for number, (box, distances) in enumerate(zip(graph.boxes, read, strict=True))
    ]


def _runs(labels: Sequence[Label]) -> list[tuple[int, int, int]]:
    """The first box, the length of a block and the number of blocks of each run, from the first box on."""
    runs, start = [], 0
    while start < len(labels):
        best = (0, 0, 0)
        for period in range(1, min(LONGEST_BLOCK, (len(labels) - start) // LEAST_REPEATS) + 1):
            end = start + period
            while end < len(labels) and labels[end] == labels[end - period]:
                end += 1
            repeats = (end - start) // period
            if repeats >= LEAST_REPEATS and repeats * period > best[1] * best[2]:
                best = (start, period, repeats)
        if best[1] * best[2] >= LEAST_BOXES:
            runs.append(best)
            start += best[1] * best[2]
        else:
            start += 1
    return runs


def _standing_for(boxes: Sequence[Box], period: int, repeats: int) -> Box:
    first, last = boxes[0], boxes[-1]
    operators = [box.operator for box in boxes[:period]]
    named = ", ".join(operators[:SHOWN_OPERATORS]) + (", …" if period > SHOWN_OPERATORS else "")
    inner = tuple(place for box in boxes for place in (box.place, *box.inner))
    name = f"{named}: {first.place} to {last.place.rpartition('/')[2]}"
    return Box(first.place, name, f"{repeats} × {REPEATED}", inner, any(box.nested for box in boxes))
