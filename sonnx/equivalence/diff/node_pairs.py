"""Which node of one model became which node of another one.

Nodes with one operator and the same terms are paired first: they compute the same.  The others are paired by their
neighbours, then by names.  A pairing decides nothing about values: it says what a reader compares with what.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from sonnx.equivalence.terms import keys
from sonnx.equivalence.terms.store import Term
from sonnx.model.ir import Graph, Node


@dataclass(frozen=True, eq=False)
class GraphTerms:
    """The main graph of a model with the terms of its values.

    Attributes:
        graph: the graph.
        values: the term of each name.
        makers: by name the index of the node that computes it, and which of its outputs.
        users: by name the nodes that read it, with the place of the input.
    """

    graph: Graph
    values: Mapping[str, Term]
    makers: dict[str, tuple[int, int]] = field(default_factory=dict)
    users: dict[str, list[tuple[int, int]]] = field(default_factory=lambda: defaultdict(list))

    def __post_init__(self) -> None:
        for index, node in enumerate(self.graph.nodes):
            for place, name in enumerate(node.outputs):
                if name:
                    self.makers[name] = index, place
            for place, name in enumerate(node.inputs):
                self.users[name].append((index, place))

    def terms(self, names: Sequence[str]) -> tuple[Term | None, ...]:
        """The terms of values by name, None where one is not known."""
        return tuple([self.values.get(name) for name in names])


class Pairs:
    """The pairs of nodes of two graphs, by their indices.

    Attributes:
        forward: for nodes of the first graph those of the second one.
        backward: the reverse.
    """

    def __init__(self, first: GraphTerms, second: GraphTerms, names: Mapping[str, str]) -> None:
        """Pair the nodes; `names` are those of the second graph for inputs and outputs of the first one."""
        self.first, self.second, self.names = first, second, names
        self.forward: dict[int, int] = {}
        self.backward: dict[int, int] = {}
        self._by_key(lambda side, node: (_written(node), *_numbers(side, node)))
        self._by_key(lambda side, node: (_operator(node), *_numbers(side, node)))
        self._by_neighbours()
        self._by_name()
        self._by_neighbours()

    def _pair(self, index: int, partner: int) -> None:
        self.forward[index], self.backward[partner] = partner, index

    def _fits(self, index: int, candidate: int) -> bool:
        """Whether two nodes of one operator have no partner yet."""
        node, their_node = self.first.graph.nodes[index], self.second.graph.nodes[candidate]
        is_free = index not in self.forward and candidate not in self.backward
        return is_free and _operator(node) == _operator(their_node)

    def _by_key(self, key: Callable[[GraphTerms, Node], Hashable]) -> None:
        """Pair nodes of equal keys, in their order."""
        waiting: dict[Hashable, deque[int]] = defaultdict(deque)
        for index, node in enumerate(self.second.graph.nodes):
            if index not in self.backward:
                waiting[key(self.second, node)].append(index)
        for index, node in enumerate(self.first.graph.nodes):
            listed = waiting.get(key(self.first, node)) if index not in self.forward else None
            if listed:
                self._pair(index, listed.popleft())

    def _by_name(self) -> None:
        """Pair nodes of one operator and the same output names, then of the same node name."""
        for label in ("outputs", "name"):
            known = {getattr(node, label): index for index, node in enumerate(self.second.graph.nodes)}
            for index, node in enumerate(self.first.graph.nodes):
                candidate = known.get(getattr(node, label)) if getattr(node, label) else None
                if candidate is not None and self._fits(index, candidate):
                    self._pair(index, candidate)

    def _by_neighbours(self) -> None:
        """Pair nodes of one operator that pairs read in one place, from the outputs on, then those that read pairs."""
        count = len(self.first.graph.nodes)
        for order, candidates in ((reversed(range(count)), self._read), (range(count), self._readers)):
            for index in order:
                if index not in self.forward:
                    fitting = next((candidate for candidate in candidates(index) if self._fits(index, candidate)), None)
                    if fitting is not None:
                        self._pair(index, fitting)

    def _readers(self, index: int) -> Iterator[int]:
        """The nodes of the second graph that read the partner of a value that a node reads, in the same place."""
        for place, name in enumerate(self.first.graph.nodes[index].inputs):
            partner = self.partner(name)
            if partner:
                yield from (user for user, where in self.second.users[partner] if where == place)

    def _read(self, index: int) -> Iterator[int]:
        """The nodes of the second graph that compute what takes the place of the outputs of a node."""
        for name in self.first.graph.nodes[index].outputs:
            replacements = self.replacements(name)
            yield from (self.second.makers[value][0] for value in replacements if value in self.second.makers)

    def replacements(self, name: str) -> Iterator[str]:
        """The values of the second graph that the partners of a value's readers read in the same place; for a graph
        output also its name in the other model.
        """
        for user, place in self.first.users.get(name, ()):
            if user in self.forward:
                yield from self.second.graph.nodes[self.forward[user]].inputs[place : place + 1]
        if name in self.names:
            yield self.names[name]

    def partner(self, name: str) -> str:
        """The value of the second graph that a pair computes for a value of the first one, "" where there is none."""
        if name not in self.first.makers:
            return self.names.get(name, "")
        index, place = self.first.makers[name]
        paired = self.forward.get(index)
        outputs = () if paired is None else self.second.graph.nodes[paired].outputs
        return outputs[place] if place < len(outputs) else ""


def _operator(node: Node) -> Hashable:
    return node.operator, node.domain, node.overload


def _written(node: Node) -> Hashable:
    return _operator(node), tuple(sorted((keys.frozen(attribute) for attribute in node.attributes), key=repr))


def _numbers(side: GraphTerms, node: Node) -> tuple[Hashable, ...]:
    """The terms of the outputs of a node; nodes without known ones are unlike."""
    terms = side.terms([name for name in node.outputs if name])
    return tuple([id(node) if term is None else term.number for term in terms])
