"""Nodes with graphs, and calls of functions: their bodies in their place, or the outputs as terms of the graphs.

A node whose graphs stay is an atom of its inputs, of the values that its graphs use, and of the graphs as they are
written.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from sonnx.equivalence.interpretation.domain import TermDomain
from sonnx.equivalence.interpretation.inner_graphs import InnerGraphs, Surroundings
from sonnx.equivalence.interpretation.loops import Loops
from sonnx.equivalence.interpretation.nested_nodes import has_equal_branches, may_be_random, nested_nodes
from sonnx.equivalence.terms import keys
from sonnx.equivalence.terms.bodies import Renaming
from sonnx.equivalence.terms.store import Term
from sonnx.executor.control_flow import Inlining
from sonnx.graph.environment import NOTHING_STATED
from sonnx.graph.interpreter import Place, Visit
from sonnx.language.evaluator import TensorFacts
from sonnx.model.ir import Node, subgraphs
from sonnx.model.scopes import canonical_domain, function_key


class NodesWithGraphs:
    """What stands for the nodes with graphs of one graph, and for calls of functions."""

    def __init__(self, around: Surroundings) -> None:
        self.around, self.store = around, around.store
        self.inlining = Inlining(around.model)
        self.functions = {function_key(function) for function in around.model.functions}
        self.loops = Loops(around.domain, self.inlining.taken)

    def inlined(
        self, visit: Visit[Term, str], place: Place[Term, str], *, taken: bool | None = None
    ) -> Sequence[Node] | None:
        """The body of a function, or of a branch that is known; `taken` is the branch where both are equal."""
        if any(graph.sparse_initializers for _, graph in subgraphs(visit.node)):
            return None
        facts = _Facts(place, self.around.domain, self.inlining, taken)
        return self.inlining.after(visit, facts)  # type: ignore[arg-type]  # what it reads of them

    def nodes(self, visit: Visit[Term, str], place: Place[Term, str]) -> Sequence[Node] | None:
        """The nodes of a loop or of a branch; None where the node stays."""
        if any(graph.sparse_initializers for _, graph in subgraphs(visit.node)):
            return None
        instead: Sequence[Node] | None = self.loops.written_out(visit, place)
        if instead is None:
            instead = self.inlined(visit, place)
        if instead is None and has_equal_branches(visit.node):
            self.store.rest_on("equal-branches")
            instead = self.inlined(visit, place, taken=True)
        if instead is None and not InnerGraphs(self.around).define(visit, place):
            self._atom(visit, place)
        return instead

    def _atom(self, visit: Visit[Term, str], place: Place[Term, str]) -> None:
        """The outputs of a node with graphs that stay, where what the graphs use is known; of one whose graphs may be
        random or call a model-local function nothing is known.
        """
        node, nested = visit.node, [*nested_nodes(visit.node)]
        if any(may_be_random(inner_node) or _called(inner_node) in self.functions for inner_node in nested):
            return
        renaming = Renaming()
        body = renaming.node(node)
        outside = [place.value(name) for name in renaming.outside]
        if not renaming.is_complete or None in outside:
            return
        domains = sorted({canonical_domain(inner_node.domain) for inner_node in nested})
        versions = tuple([(domain, self.inlining.imports.get(domain)) for domain in domains])
        inputs = [*place.values(visit.inputs), *outside]
        if any(operand is not None and operand.operator == "declared" for operand in inputs):
            return
        self.store.rest_on("equal-graphs")
        key = (keys.written_key(replace(visit.call, attributes=body.attributes)), versions, len(visit.inputs))
        for index, name in enumerate(node.outputs):
            if name:
                term = self.store.applied(node.operator, key, inputs, index, NOTHING_STATED, domain=node.domain)
                place.define(name, term)


class _Facts:
    """A place as `Inlining` reads it: facts for terms."""

    def __init__(self, place: Place[Term, str], domain: TermDomain, inlining: Inlining, taken: bool | None) -> None:
        self._place, self._domain, self._inlining, self._taken = place, domain, inlining, taken

    def values(self, numbers: Sequence[int]) -> list[TensorFacts | None]:
        """The facts of numbers; of the condition of an If with equal branches, that it holds."""
        if self._taken is not None:
            return [NOTHING_STATED._replace(values=(self._taken,))]
        return [None if term is None else term.facts for term in self._place.values(numbers)]

    def define(self, name: str, facts: TensorFacts) -> None:
        """Give the name of an initializer of an inlined graph its term."""
        del facts  # those of the last tensor
        self._place.define(name, self._domain.constant(self._inlining.constants[-1], False))


def _called(node: Node) -> tuple[str, str, str]:
    return canonical_domain(node.domain), node.operator, node.overload
