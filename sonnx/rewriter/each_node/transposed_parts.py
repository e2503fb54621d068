"""Exchange axes by Slice, Reshape and Concat.  About Transpose.

Two neighbouring axes are exchanged by cutting along the shorter one, giving each part its shape, and joining the parts
behind each other.  A permutation is a few such exchanges; one that would take too many parts stays.
"""

from __future__ import annotations

from itertools import pairwise
from math import prod

from sonnx.model.ir import Node, Tensor
from sonnx.rewriter import descriptions, new_nodes
from sonnx.rewriter.rewrite import Change
from sonnx.rewriter.site import Site

RULES = ("operator-in-profile",)

MOST = 64
"""Parts of one exchange."""


def rewrite(site: Site) -> Change | None:
    """The parts, joined."""
    node, shape, order = site.node, site.shape(0), site.known("perm")
    if node.operator != "Transpose" or site.call.domain or not site.fails(RULES) or shape is None or order is None:
        return None
    version = site.world.operator_set or 0
    if version < 5 or 0 in shape or sorted(order) != list(range(len(shape))):
        return None
    blocks = _blocks(order, shape)
    steps = _exchanges([block for block, _ in blocks])
    extents = dict(blocks)
    if not steps or any(min(extents[a], extents[b]) > MOST for a, b in steps):
        return None
    made = _Parts(node.inputs[0], node.outputs[0], version)
    current = sorted(extents)
    for a, b in steps:
        at = current.index(a)
        sizes = [extents[each] for each in current]
        made.exchange(prod(sizes[:at]), extents[a], extents[b], prod(sizes[at + 2 :]))
        current[at], current[at + 1] = b, a
    made.finish([shape[axis] for axis in order])
    after = f"{len(made.nodes)} nodes that move parts"
    return Change(tuple(made.nodes), descriptions.call(node), after, tuple(made.constants))


def _blocks(order: tuple[int, ...], shape: tuple[int, ...]) -> list[tuple[int, int]]:
    """First axis and size of what is moved: axes in their new order, without those of extent 1, neighbours as one."""
    found: list[list[int]] = []
    long = [axis for axis in order if shape[axis] != 1]
    follows = dict(pairwise(sorted(long)))
    for axis in long:
        if found and follows.get(found[-1][-1]) == axis:
            found[-1].append(axis)
        else:
            found.append([axis])
    return [(axes[0], prod(shape[axis] for axis in axes)) for axes in found]


def _exchanges(wanted: list[int]) -> list[tuple[int, int]]:
    """The pairs of neighbours to exchange, one after another, that bring sorted blocks into an order."""
    place = {block: index for index, block in enumerate(wanted)}
    current, steps = sorted(wanted), list[tuple[int, int]]()
    moved = True
    while moved:
        moved = False
        for at in range(len(current) - 1):
            a, b = current[at], current[at + 1]
            if place[a] > place[b]:
                current[at], current[at + 1] = b, a
                steps.append((a, b))
                moved = True
    return steps


class _Parts:
    """Nodes that move parts, as they are made."""

    def __init__(self, source: str, output: str, version: int) -> None:
        self.value, self.output, self.version = source, output, version
        self.nodes: list[Node] = []
        self.constants: list[Tensor] = []

    def exchange(self, before: int, a: int, b: int, behind: int) -> None:
        """From [before, a, b, behind] to [before, b, a, behind]."""
        shape = (before, a, b, behind)
        whole = self._reshape(self.value, shape)
        axis, number = (1, a) if a <= b else (2, b)
        parts = []
        for index in range(number):
            name = self._name("part")
            made, constants = new_nodes.part(whole, name, shape, axis, (index, index + 1), self.version)
            self.nodes.append(made)
            self.constants += constants
            parts.append(self._reshape(name, (before, b, 1, behind) if axis == 1 else (before, 1, a, behind)))
        self.value = self._name("joined")
        self.nodes.append(new_nodes.node("Concat", parts, self.value, axis=3 - axis))

    def finish(self, shape: list[int]) -> None:
        """The result under its shape and name."""
        made, constant = new_nodes.reshape(self.value, self.output, shape, self.version)
        self.nodes.append(made)
        self.constants.append(constant)

    def _reshape(self, source: str, shape: tuple[int, ...]) -> str:
        name = self._name("shaped")
        made, constant = new_nodes.reshape(source, name, shape, self.version)
        self.nodes.append(made)
        self.constants.append(constant)
        return name

    def _name(self, kind: str) -> str:
        return f"{self.output}.{kind}{len(self.nodes)}"
