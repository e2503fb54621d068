"""Graphs inside nodes as terms: by induction, loops on equal states whose steps are equal are equal.

The graph of a Loop or Scan becomes the terms of its outputs on terms that stand for its state, its counter and its
slices.  Such a term is named by the depth of its graph, so that a graph in a graph has terms of its own.  Where the
initial states of two nodes are equal and the outputs of their graphs are, as functions of equal states, every state
is, and so is the number of iterations.  The graphs of an If become the terms of its branches.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np
from msgspec.structs import replace

from sonnx.equivalence.interpretation.domain import TermDomain
from sonnx.equivalence.terms import keys
from sonnx.equivalence.terms.store import Store, Term
from sonnx.graph.call import Calls
from sonnx.graph.environment import NOTHING_STATED
from sonnx.graph.interpreter import Place, Transformer, Visit, interpret
from sonnx.language.evaluator import TensorFacts
from sonnx.model.ir import Graph, Model, Node
from sonnx.model.scopes import canonical_domain, free_names

UNKNOWN = frozenset({"declared", "unknown", "sparse"})
"""What terms are of which nothing is known."""


class Surroundings(Protocol):
    """What puts nodes in the place of others in the graph around, and the same for a graph inside a node."""

    model: Model
    domain: TermDomain
    store: Store
    depth: int

    def inside(self, model: Model, calls: Calls) -> Transformer[Term, str]:
        """What does so in a graph inside a node, which is the main graph of this model."""


class InnerGraphs:
    """The outputs of nodes with graphs, as terms of what their graphs compute."""

    def __init__(self, around: Surroundings) -> None:
        self.around, self.store = around, around.store

    def define(self, visit: Visit[Term, str], place: Place[Term, str]) -> bool:
        """Give the outputs of a node their terms; whether everything that its graphs compute is known."""
        node = visit.node
        graphs = {each.name: each.value for each in node.attributes if isinstance(each.value, Graph)}
        if canonical_domain(node.domain) or any(graph.sparse_initializers for graph in graphs.values()):
            return False
        inputs = place.values(visit.inputs)
        if any(operand is None for operand, name in zip(inputs, node.inputs, strict=True) if name):
            return False
        if node.operator == "If":
            return self._branches(graphs, visit, place)
        if node.operator == "Loop":
            return self._loop(graphs["body"], visit, place)
        return node.operator == "Scan" and self._scan(graphs["body"], visit, place)

    def _branches(self, graphs: Mapping[str, Graph], visit: Visit[Term, str], place: Place[Term, str]) -> bool:
        """An If: its condition, and both values of each output; equal ones are the output."""
        listed = [self._outputs(graphs[name], visit.node, {}, place) for name in ("then_branch", "else_branch")]
        if listed[0] is None or listed[1] is None or len(listed[0]) != len(listed[1]):
            return False
        condition = place.values(visit.inputs)
        key = keys.written_key(replace(visit.call, attributes=()))
        for index, name in enumerate(visit.node.outputs):
            first, second = listed[0][index], listed[1][index]
            if first is second:
                self.store.rest_on("equal-branches")
                place.define(name, first)
            elif name:
                facts = first.facts if first.facts == second.facts else _of_type(first.facts)
                operands = [*condition, first, second]
                place.define(name, self.store.applied("If", key, operands, 0, facts))
        return True

    def _loop(self, body: Graph, visit: Visit[Term, str], place: Place[Term, str]) -> bool:
        """A Loop: its limit, its condition, its states, and the outputs of its graph."""
        operands = place.values(visit.inputs)
        states = [operand for operand in operands[2:] if operand is not None]
        if len(body.inputs) != len(states) + 2 or len(states) != len(operands) - 2:
            return False
        counter = _facts("int64", ()), _facts("bool", ())
        return self._repeated(body, [*counter], states, (), visit, place, first=1)

    def _scan(self, body: Graph, visit: Visit[Term, str], place: Place[Term, str]) -> bool:
        """A Scan: its states and sequences, and the outputs of its graph."""
        values: dict[str, Any] = {each.name: each.value for each in visit.node.attributes}
        operands, scanned = place.values(visit.inputs), values.get("num_scan_inputs")
        if type(scanned) is not int or (visit.call.operator_set or 0) < 9 or None in operands:
            return False
        known = [operand for operand in operands if operand is not None]
        count, axes = len(known) - scanned, values.get("scan_input_axes") or (0,) * scanned
        if count < 0 or len(body.inputs) != len(known) or len(axes) != scanned:
            return False
        slices = []
        for sequence, axis in zip(known[count:], axes, strict=True):
            shape = sequence.facts.shape
            is_known = isinstance(shape, tuple) and -len(shape) <= axis < len(shape)
            left = tuple(np.delete(np.array(shape, object), axis).tolist()) if is_known else NOTHING_STATED.shape
            slices.append(sequence.facts._replace(shape=left, values=NOTHING_STATED.values))
        return self._repeated(body, [], known[:count], slices, visit, place, first=0)

    def _repeated(
        self, body: Graph, counters: Sequence[TensorFacts], states: Sequence[Term], slices: Sequence[TensorFacts],
        visit: Visit[Term, str], place: Place[Term, str], *, first: int,
    ) -> bool:  # fmt: skip
        """The outputs of a node whose graph has the inputs counters, states and slices, in this order.

        A state has the shape of the initial one, where the graph keeps it; `first` is the place of the first state
        among the outputs of the graph.
        """
        shaped = [state.facts._replace(values=NOTHING_STATED.values) for state in states]
        for facts in (shaped, [_of_type(each) for each in shaped]):
            outputs = self._outputs(body, visit.node, self._bound(body, [*counters, *facts, *slices], visit), place)
            if outputs is None or len(outputs) < first + len(states):
                return False
            after = [term.facts for term in outputs[first : first + len(states)]]
            if all(each.type == stated.type for each, stated in zip(after, facts, strict=True)) and (
                facts is not shaped
                or all(each.shape == stated.shape for each, stated in zip(after, facts, strict=True))
            ):
                break
        else:
            return False
        kept = tuple(attribute for attribute in visit.call.attributes if not isinstance(attribute.value, Graph))
        key = (keys.written_key(replace(visit.call, attributes=kept)), len(visit.inputs), len(outputs))
        operands = [*place.values(visit.inputs), *outputs]
        self.store.rest_on("equal-steps")
        for index, name in enumerate(visit.node.outputs):
            if name:
                is_state = index < len(states)
                known = facts[index] if is_state else _of_type(outputs[first + index].facts)
                place.define(name, self.store.applied(visit.node.operator, key, operands, index, known))
        return True

    def _bound(self, body: Graph, facts: Sequence[TensorFacts], visit: Visit[Term, str]) -> dict[str, Term]:
        """The terms that stand for the inputs of a graph: by the depth, the operator, the place and the facts."""
        label = f"{visit.node.operator} at depth {self.around.depth}"
        names = [f"{label}, input {place}: {each!r}" for place, each in enumerate(facts)]
        return {
            value.name: self.store.input(name, each)
            for value, name, each in zip(body.inputs, names, facts, strict=True)
        }

    def _outputs(
        self, graph: Graph, node: Node, bound: Mapping[str, Term], place: Place[Term, str]
    ) -> list[Term] | None:
        """The terms of the outputs of a graph; None where one is not known."""
        given = {name: place.value(name) for name in free_names(node)}
        if None in given.values() or given.keys() & bound.keys():
            return None
        outside = {name: term for name, term in given.items() if term is not None}
        whole = replace(graph, inputs=(), value_info=())
        model = replace(self.around.model, graph=whole)
        calls = Calls(model, self.around.domain.rules.edition, beyond_edition=True)
        inner = self.around.inside(model, calls)
        interpretation = interpret(
            model, self.around.domain, calls, given={**outside, **bound}, transformer=inner, main_only=True
        )
        terms = [interpretation.value(value.name) for value in graph.outputs]
        if any(term is None or not _is_known(term) for term in terms):
            return None
        return [term for term in terms if term is not None]


def _facts(element: str, shape: tuple[int, ...]) -> TensorFacts:
    return NOTHING_STATED._replace(type=element, shape=shape)


def _of_type(facts: TensorFacts) -> TensorFacts:
    return NOTHING_STATED._replace(type=facts.type)


def _is_known(term: Term) -> bool:
    """Whether no value that a term is computed from is one of which nothing is known."""
    seen, waiting = set[int](), [term]
    while waiting:
        below = waiting.pop()
        if below.number in seen:
            continue
        seen.add(below.number)
        if below.operator in UNKNOWN:
            return False
        waiting += [operand for operand in below.inputs if operand is not None]
    return True
