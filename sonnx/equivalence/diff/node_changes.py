"""What became of the nodes of two models, and what of each pair differs: attributes, inputs, constants, meaning.

Both graphs are in terms of one store (`node_pairs.py` pairs their nodes), so that nodes with the same terms compute the
same.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from msgspec import Struct

from sonnx.base.escaping import escape, quote
from sonnx.equivalence.diff.changes import ConstantChange, NodeChange, NodePlace, NodeStatus
from sonnx.equivalence.diff.node_pairs import GraphTerms, Pairs
from sonnx.equivalence.result import Answer
from sonnx.equivalence.terms import keys
from sonnx.equivalence.terms.store import Term, first_names
from sonnx.equivalence.walk import Walk
from sonnx.model.ir import Attribute, Graph, Model, Node, Tensor, subgraphs
from sonnx.model.scopes import canonical_domain, function_key, imports_of
from sonnx.numerics.formats import TEXT, Array, patterns

MAX_WRITTEN = 60
"""Characters of an attribute's value that a change shows."""


class _Content(Struct, frozen=True):
    """The differences of a pair of nodes."""

    changes: tuple[str, ...]
    constants: tuple[ConstantChange, ...]


@dataclass(eq=False)
class NodeComparison:
    """The nodes of two models in terms of one store.

    Attributes:
        models: the first and the second model.
        first: the graph of the first model with its terms.
        second: that of the second one.
        pairs: the nodes that correspond.
        walk: the comparison of their terms.
    """

    models: tuple[Model, Model]
    first: GraphTerms
    second: GraphTerms
    pairs: Pairs
    walk: Walk
    _is_upstream_unchanged: dict[int, bool] = field(default_factory=dict)

    def nodes(self) -> Iterator[NodeChange]:
        """All nodes, in the order of the second model; those that are gone at their place in the first one."""
        moved = _out_of_order(self.pairs.forward)
        changes = {
            index: self._pair(index, partner, index in moved) for index, partner in sorted(self.pairs.forward.items())
        }
        gone = [index for index in range(len(self.first.graph.nodes)) if index not in self.pairs.forward]
        names = first_names(self.first.values), first_names(self.second.values)
        for index, limit in enumerate(self._limits(moved)):
            while gone and gone[0] < limit:
                yield self._single(NodeStatus.GONE, self.first, gone.pop(0), names[1])
            before = self.pairs.backward.get(index)
            if before is None:
                yield self._single(NodeStatus.NEW, self.second, index, names[0])
            else:
                yield changes[before]
        for index in gone:
            yield self._single(NodeStatus.GONE, self.first, index, names[1])

    def _limits(self, moved: set[int]) -> list[int]:
        """For each node of the second model the place in the first one of the next node that has not moved."""
        limits, limit = list[int](), len(self.first.graph.nodes)
        for index in reversed(range(len(self.second.graph.nodes))):
            before = self.pairs.backward.get(index)
            limit = limit if before is None or before in moved else before
            limits.append(limit)
        return limits[::-1]

    def _single(self, status: NodeStatus, side: GraphTerms, index: int, names: Mapping[int, str]) -> NodeChange:
        """A node without a partner; `names` are those of the values of the other model."""
        place = _place(side.graph, index)
        terms = [term for term in side.terms(side.graph.nodes[index].outputs) if term is not None]
        same = [names.get(term.number, "") for term in terms]
        value, counterpart = (Answer.IDENTICAL, same[0]) if same and all(same) else (None, "")
        if value is None and status is NodeStatus.GONE:
            counterpart = self._rounded(side.graph.nodes[index])
            value = Answer.ROUNDING if counterpart else None
        first, second = (place, None) if status is NodeStatus.GONE else (None, place)
        return NodeChange(status, first, second, value, counterpart)

    def _rounded(self, node: Node) -> str:
        """The value of the second model that takes the place of the only output of a node, and is equal up to
        rounding; "" where there is none.
        """
        names = [output for output in node.outputs if output]
        term = self.first.values.get(names[0]) if len(names) == 1 else None
        if term is None:
            return ""
        for candidate in dict.fromkeys((*names, *self.pairs.replacements(names[0]))):
            their_term = self.second.values.get(candidate)
            if their_term is not None and self.walk.equal_up_to_rounding(term, their_term):
                return candidate
        return ""

    def _pair(self, index: int, partner: int, moved: bool) -> NodeChange:
        """The change of a node of the first model that has a partner."""
        node, their_node = self.first.graph.nodes[index], self.second.graph.nodes[partner]
        value = self._value(node, their_node)
        content = self._content(node, their_node, value)
        differs = bool(content.changes or content.constants)
        status = NodeStatus.CHANGED if differs else NodeStatus.MOVED if moved else NodeStatus.SAME
        unchanged = not differs and value is Answer.IDENTICAL and self._reads_unchanged_values(node, their_node)
        self._is_upstream_unchanged[index] = unchanged
        return NodeChange(
            status, _place(self.first.graph, index), _place(self.second.graph, partner), value,
            changes=content.changes, constants=content.constants,
            renamed=(node.name, node.outputs) != (their_node.name, their_node.outputs), upstream_unchanged=unchanged,
        )  # fmt: skip

    def _reads_unchanged_values(self, node: Node, their_node: Node) -> bool:
        """Whether what both nodes read is computed by the same nodes; nodes with graphs read more than their inputs."""
        if any(True for _ in subgraphs(node)):
            return False
        for name, their_name in zip(node.inputs, their_node.inputs, strict=True):
            maker = self.first.makers.get(name)
            if maker is None:
                continue
            if self.pairs.partner(name) != their_name or not self._is_upstream_unchanged.get(maker[0], False):
                return False
        return True

    def _value(self, node: Node, their_node: Node) -> Answer:
        """How the outputs of a pair are related."""
        if len(node.outputs) != len(their_node.outputs):
            return Answer.UNDECIDED
        answer, terms = Answer.IDENTICAL, (self.first.terms(node.outputs), self.second.terms(their_node.outputs))
        for term, their_term, name in zip(*terms, node.outputs, strict=True):
            if not name or (term is their_term and term is not None):
                continue
            if term is None or their_term is None or not self.walk.equal_up_to_rounding(term, their_term):
                return Answer.UNDECIDED
            answer = Answer.ROUNDING
        return answer

    def _content(self, node: Node, their_node: Node, value: Answer) -> _Content:
        """The differences of a pair; the value of a Constant counts as a constant, not as an attribute."""
        changes, constants = [*_attribute_changes(node, their_node)], list[ConstantChange]()
        if node.operator == "Constant" and not node.domain and node.outputs and their_node.outputs:
            constant_changes = self._constants(node.outputs[0], their_node.outputs[0])
            if constant_changes is not None:
                changes, constants = [], [*constant_changes]
        for place in range(max(len(node.inputs), len(their_node.inputs))):
            name, their_name = (each.inputs[place] if place < len(each.inputs) else "" for each in (node, their_node))
            constant_changes = self._constants(name, their_name) if name and their_name else None
            if constant_changes is not None:
                constants += constant_changes
            elif not self._corresponds(name, their_name):
                changes.append(f"input {place}: {_read(name)} -> {_read(their_name)}")
        if len(node.outputs) != len(their_node.outputs):
            changes.append(f"outputs: {len(node.outputs)} -> {len(their_node.outputs)}")
        if value is Answer.UNDECIDED:
            changes += _meaning_changes(*self.models, node)
        return _Content(tuple(changes), tuple(constants))

    def _constants(self, name: str, their_name: str) -> list[ConstantChange] | None:
        """The change of two values that are constants; None where one is not."""
        term, their_term = self.first.values.get(name), self.second.values.get(their_name)
        if term is None or their_term is None or not term.is_constant or not their_term.is_constant:
            return None
        return [*_constant_changes(term, their_term, name, their_name)]

    def _corresponds(self, name: str, their_name: str) -> bool:
        """Whether two inputs are both left out, or values that correspond."""
        if not name or not their_name:
            return name == their_name
        term, their_term = self.first.values.get(name), self.second.values.get(their_name)
        if self.pairs.partner(name) == their_name or (term is their_term and term is not None):
            return True
        return term is not None and their_term is not None and self.walk.equal_up_to_rounding(term, their_term)


def _read(name: str) -> str:
    return quote(name) if name else "left out"


def _place(graph: Graph, index: int) -> NodePlace:
    node = graph.nodes[index]
    domain = canonical_domain(node.domain)
    operator = f"{domain}.{node.operator}" if domain else node.operator
    return NodePlace(index, node.name, operator, next(filter(None, node.outputs), ""))


def _out_of_order(forward: Mapping[int, int]) -> set[int]:
    """The nodes of the first graph outside one longest row of pairs that both graphs have in one order."""
    pairs = sorted(forward.items())
    ends, rows, before = list[int](), list[int](), dict[int, int]()
    for number, (_, partner) in enumerate(pairs):
        at = bisect_left(ends, partner)
        before[number] = rows[at - 1] if at else -1
        ends[at : at + 1], rows[at : at + 1] = [partner], [number]
    in_order, number = set[int](), rows[-1] if rows else -1
    while number >= 0:
        in_order.add(pairs[number][0])
        number = before[number]
    return forward.keys() - in_order


def _attribute_changes(node: Node, their_node: Node) -> Iterator[str]:
    first, second = ({attribute.name: attribute for attribute in each.attributes} for each in (node, their_node))
    for name in sorted(first.keys() | second.keys()):
        if keys.frozen(first.get(name)) != keys.frozen(second.get(name)):
            yield f"{escape(name)}: {_written(first.get(name))} -> {_written(second.get(name))}"


def _written(attribute: Attribute | None) -> str:
    if attribute is None:
        return "not written"
    value: Any = attribute.value
    if isinstance(value, Tensor | Graph):
        return "a tensor" if isinstance(value, Tensor) else "a graph"
    text = escape(str(list(value) if isinstance(value, tuple) else value))
    return text if len(text) <= MAX_WRITTEN else f"{text[:MAX_WRITTEN]}..."


def _meaning_changes(first: Model, second: Model, node: Node) -> Iterator[str]:
    """What decides the meaning of a node beside its attributes: the function it calls, or its operator set."""
    bodies = []
    for model in (first, second):
        functions = {function_key(function): function for function in model.functions}
        function = functions.get((canonical_domain(node.domain), node.operator, node.overload))
        bodies.append(None if function is None else keys.frozen(function.nodes))
    if bodies[0] != bodies[1]:
        yield "the function that it calls"
    versions = [imports_of(model.imports).get(canonical_domain(node.domain)) for model in (first, second)]
    if versions[0] != versions[1] and bodies == [None, None]:
        yield f"operator set: {versions[0]} -> {versions[1]}"


# ------------------------------------------------------------------ constants


def _constant_changes(term: Term, their_term: Term, name: str, their_name: str) -> Iterator[ConstantChange]:
    """The change of a constant; none where both are equal."""
    first, second = term.array, their_term.array
    if term is their_term or first is None or second is None:
        return
    types = [f"{each.facts.type} {list(array.shape)}" for each, array in ((term, first), (their_term, second))]
    if types[0] != types[1]:
        yield ConstantChange(name, their_name, types[0], types[1], first.size, first.size, None, None)
        return
    differs = first != second if first.dtype == TEXT else patterns(first) != patterns(second)
    largest, relative = _distance(first, second)
    yield ConstantChange(name, their_name, types[0], "", first.size, int(np.count_nonzero(differs)), largest, relative)


def _distance(first: Array, second: Array) -> tuple[float | None, float | None]:
    """The largest difference of two elements, and relative to the largest element of the first array."""
    if first.dtype == TEXT or first.dtype.kind == "c":
        return None, None
    wide = first.astype(np.float64), second.astype(np.float64)
    finite = np.isfinite(wide[0]) & np.isfinite(wide[1])
    with np.errstate(all="ignore"):
        largest = float(np.max(np.abs(wide[0] - wide[1])[finite], initial=0.0))
        size = float(np.max(np.abs(wide[0])[finite], initial=0.0))
    if not (finite | (wide[0] == wide[1]) | ((wide[0] != wide[0]) & (wide[1] != wide[1]))).all():
        return None, None
    return (largest if np.isfinite(largest) else None), (largest / size if size and np.isfinite(largest) else None)
