"""What stands for a node: other nodes of the same meaning, or a term of its output.

In this order: functions, simpler calls, operators with other layouts, the meanings that modules register
(`meanings.py`), fused operators, formulas, graphs inside nodes, and functions that are written out.  A fused operator
has the meaning that `fused.toml` gives it, which is assumed and said.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from msgspec.structs import replace

from sonnx.checker.graph_rules.nodes import input_count
from sonnx.equivalence.interpretation import simpler_operators, stated_calls
from sonnx.equivalence.interpretation.averages import formula_of, has_formula
from sonnx.equivalence.interpretation.choices import Choices
from sonnx.equivalence.interpretation.domain import TermDomain
from sonnx.equivalence.interpretation.fused import Fused, stated_for
from sonnx.equivalence.interpretation.meanings import (
    STATED,
    STEPS_AT,
    STEPS_SINCE,
    GraphInTerms,
    NodeInTerms,
    PassedOn,
    meanings,
)
from sonnx.equivalence.interpretation.nodes_with_graphs import NodesWithGraphs
from sonnx.equivalence.interpretation.written_out import WrittenOut, written_out
from sonnx.equivalence.normal_forms.layouts import BLOCKS, LayoutOperator, restored, standard_call, stated_layout
from sonnx.equivalence.normal_forms.trivial_calls import TrivialCall, trivial_call
from sonnx.equivalence.terms import movements
from sonnx.equivalence.terms.store import Store, Term
from sonnx.executor.prepared_call import PreparedNode
from sonnx.graph.call import Calls
from sonnx.graph.environment import NOTHING_STATED
from sonnx.graph.interpreter import Place, Visit
from sonnx.model.ir import Model, Node, subgraphs
from sonnx.model.scopes import scopes
from sonnx.operators import is_executable, operator_facts

MEANINGS = (stated_calls, simpler_operators)
"""The modules that register meanings of operators."""

MICROSOFT = "com.microsoft"
LAYOUT = "{} means what sonnx states for it (layouts.toml)"
BLOCK = "the blocks of com.microsoft.nchwc have {} channels, as on the machine that wrote the file"


class Expansion:
    """Replaces a node by nodes of the same meaning, while a model is interpreted in the domain of terms.

    Args:
        model: the model.
        domain: in which it is interpreted.
        choices: recognizes functions that are written out.
        depth: how many graphs are around the main graph of the model, which is one inside a node where there are any.
    """

    def __init__(self, model: Model, domain: TermDomain, choices: Choices, depth: int = 0) -> None:
        self.model, self.domain, self.store, self.depth = model, domain, domain.store, depth
        self.with_graphs = NodesWithGraphs(self)
        self.graph = GraphInTerms(model, domain, choices, self.with_graphs.inlining.imports)
        self.block = domain.store.block

    def inside(self, model: Model, calls: Calls) -> Expansion:
        """The same for a graph inside a node, which is the main graph of this model."""
        return Expansion(model, self.domain, Choices(self.domain, calls, next(scopes(model))), self.depth + 1)

    def before(self, node: Node) -> Node:
        """The node, unchanged."""
        return node

    def after(self, visit: Visit[Term, str], place: Place[Term, str]) -> Sequence[Node] | None:
        """The nodes that stand for this one; None where it stays."""
        for result in self.graph.results:
            if result.node is visit.node:
                self._define(result, visit, place)
                return None
        if visit.call.calls_function:
            return self.with_graphs.inlined(visit, place)
        if any(input_count(visit.call)):
            return None  # an operator with more or fewer inputs than it takes has no meaning
        of = NodeInTerms(visit, place, self.graph)
        trivial = None if of.operator[0] else trivial_call(of.node, of.terms, of.call.operator_set)
        if trivial is not None:
            return _simpler(trivial, of)
        layout = stated_layout(of.operator[0], of.node)
        if layout is not None:
            return self._in_order(layout, of)
        for meaning in meanings(*of.operator):
            nodes = meaning(of)
            if nodes is not None or of.is_defined:
                return nodes
        fused = stated_for(*of.operator, of.node)
        if fused is not None and not (is_executable(of.node) and all(_is_constant(operand) for operand in of.terms)):
            return self._steps(fused, of)
        if of.operator[0] == MICROSOFT:
            return None
        if not of.operator[0] and has_formula(of.node.operator):
            formula = self._formula(of)
            if formula is not None:
                return formula
        if of.node.attributes and next(subgraphs(of.node), None) is not None:
            return self.with_graphs.nodes(visit, place)
        recognized = self.graph.choices.recognized(of.call, of.terms)
        if recognized is not None and of.output:
            of.define(of.output, recognized)
        return None

    def _define(self, result: PassedOn, visit: Visit[Term, str], place: Place[Term, str]) -> None:
        """Give the output of a node the value that other nodes computed for it."""
        [term] = place.values(visit.inputs)
        if term is None:
            return
        if result.ideal:
            term = _ideal(self.store, result.ideal, term, elementwise=result.elementwise)
        if result.shape is not None:
            term = movements.moved(self.store, [term], None, result.shape)
        if result.order is not None:
            term = restored(self.store, result.order, term, self.block)
        place.define(result.node.outputs[0], term)

    def _in_order(self, layout: LayoutOperator, of: NodeInTerms) -> list[Node] | None:
        """The operator on channels in the second axis that an operator with another layout means."""
        order = standard_call(self.store, layout, of.node, of.terms, self.block)
        if order is None:
            return None
        for name, term in order.operands.items():
            of.define(name, term)
        name = f"{layout.domain}.{layout.name}"
        self.store.assume(LAYOUT.format(name))
        if layout.domain == BLOCKS:
            self.store.assume(BLOCK.format(self.block))
        [value] = order.node.outputs
        return [order.node, of.passed_on(value, "" if order.is_exact else name, order=order)]

    def _formula(self, of: NodeInTerms) -> list[Node] | None:
        """The nodes of a formula, and one that gives its result the shape of the output."""
        facts = [None if operand is None else operand.facts for operand in of.terms]
        _, prepared = self.domain.run.call(of.call, facts, [NOTHING_STATED])
        if not isinstance(prepared, PreparedNode) or not prepared.output_specs or not of.output:
            return None
        formula = formula_of(self.store, prepared.application, of.terms, of.output)
        if formula is None:
            return None
        for name, term in formula.terms.items():
            of.define(name, term)
        last = of.passed_on(formula.result, formula.ideal, shape=prepared.output_specs[0][0])
        others = of.node.outputs[1:]
        return [*formula.nodes, last, *([replace(of.node, outputs=("", *others))] if any(others) else [])]

    def _steps(self, fused: Fused, of: NodeInTerms) -> list[Node] | None:
        """The nodes of the steps of a fused operator, and one that passes their result on."""
        label = self.graph.new_name(of.output) if of.node.outputs else ""
        facts, standard = None if of.first is None else of.first.facts, self.graph.operator_set
        older = standard < STEPS_SINCE
        operator_set = STEPS_AT if older and standard >= fused.since else standard
        written = written_out(fused, of.node, facts, operator_set, lambda role: f"{label} ({role})")
        if written is None:
            return None
        elementwise = operator_facts(of.node.operator, of.node.domain).elementwise
        if older:
            if not any(of.node.outputs[1:]):
                self._evaluate(fused, written, of, elementwise=elementwise)
            return None
        for name, array in written.constants.items():
            of.define(name, movements.constant_of(self.store, array))
        if fused.axiom:
            self.store.rest_on(fused.axiom)
        else:
            self.store.assume(STATED.format(fused.name))
        results = {0: written.result, **written.further}
        return [*written.nodes, *_outputs(of, results, fused.name if fused.ideal else "", elementwise=elementwise)]

    def _evaluate(self, fused: Fused, written: WrittenOut, of: NodeInTerms, *, elementwise: bool) -> None:
        """Give the output the value of the steps in a newer operator set: the model's own may lack an operator."""
        values = dict(zip(of.node.inputs, of.terms, strict=True))
        values |= {name: movements.constant_of(self.store, array) for name, array in written.constants.items()}
        if not self.graph.computes(written.nodes, values):
            return
        term = values[written.result]
        if term is None or not of.output:
            return
        self.store.assume(STATED.format(fused.name))
        if fused.ideal:
            term = _ideal(self.store, fused.name, term, elementwise=elementwise)
        of.define(of.output, term)


def _is_constant(operand: Term | None) -> bool:
    return operand is not None and operand.is_constant


def _simpler(call: TrivialCall, of: NodeInTerms) -> list[Node]:
    """The simpler call of the first input."""
    if call.exact:
        of.store.rest_on("trivial-call")
        return [Node(of.node.name, call.becomes, "", "", of.node.inputs[:1], of.node.outputs[:1], ())]
    inner = of.label("simpler")
    simpler = Node("", call.becomes, "", "", of.node.inputs[:1], (inner,), ())
    return [simpler, of.passed_on(inner, of.node.operator, elementwise=True)]


def _ideal(store: Store, name: str, term: Term, *, elementwise: bool) -> Term:
    """The term of the value over the reals; an operator on elements is applied below a movement."""
    sources = movements.sources_of(term) if term.operator == "moved" and term.shape is not None else []
    if not elementwise or not sources or any(source.is_constant for source in sources):
        return store.ideal(name, term)
    return movements.moved(store, [store.ideal(name, source) for source in sources], term.places, term.shape or ())


def _outputs(of: NodeInTerms, results: Mapping[int, str], ideal: str, *, elementwise: bool) -> Iterator[Node]:
    """Nodes that pass results on to outputs, and the node itself for outputs that have none."""
    left = list(of.node.outputs)
    for index, value in results.items():
        if index < len(left) and left[index] and value:
            yield of.passed_on(value, ideal, output=left[index], elementwise=elementwise)
            left[index] = ""
    if any(left):
        yield replace(of.node, outputs=tuple(left))
