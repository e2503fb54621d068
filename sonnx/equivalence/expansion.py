"""What stands for more than one operator: functions, branches that are known, fused operators; and nodes with graphs.

A fused operator has the meaning that `fused.toml` gives it, which is assumed and said.  A node whose graphs stay is an
atom of its inputs, of the values that its graphs use, and of the graphs as they are written.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from sonnx.equivalence import keys, movements
from sonnx.equivalence.averages import HAS_FORMULA, formula_of
from sonnx.equivalence.domain import RANDOM, TermDomain
from sonnx.equivalence.loops import Loops
from sonnx.equivalence.stated import STEP, Fused, fused_operators
from sonnx.equivalence.terms import Term
from sonnx.executor.control_flow import Inlining
from sonnx.executor.prepared_call import PreparedNode
from sonnx.graph.environment import NOTHING_STATED
from sonnx.graph.interpreter import Place, Visit
from sonnx.language.evaluator import TensorFacts
from sonnx.model.ir import Attribute, Model, Node, subgraphs
from sonnx.model.scopes import canonical_domain, captured, function_key
from sonnx.numerics.formats import ELEMENTS

MICROSOFT = "com.microsoft"
ACTIVATIONS = frozenset({"Relu", "Sigmoid", "Tanh"})
"""Operators without parameters that fused operators may name."""

AXES_ARE_INPUT = 18
"""The operator set from which on ReduceMean has its axes as an input."""

MEANING = "{} means what sonnx states for it (fused.toml)"


class Expansion:
    """Puts other nodes in the place of a node while a model is interpreted in the domain of terms."""

    def __init__(self, model: Model, domain: TermDomain) -> None:
        self.domain, self.store = domain, domain.store
        self.inlining = Inlining(model)
        self.functions = {function_key(function) for function in model.functions}
        self.loops = Loops(domain, self.inlining.taken)
        self.made = 0
        self.results: list[tuple[Node, str, tuple[int, ...] | None]] = []

    def before(self, node: Node) -> Node:
        """The node itself."""
        return node

    def after(self, visit: Visit[Term, str], place: Place[Term, str]) -> Sequence[Node] | None:
        """The nodes that stand for this one; None where it stays."""
        node = visit.node
        for result, meant, shape in self.results:
            if result is node:
                [term] = place.values(visit.inputs)
                if term is not None:
                    term = self.store.ideal(meant, term) if meant else term
                    place.define(
                        node.outputs[0], term if shape is None else movements.moved(self.store, [term], None, shape)
                    )
                return None
        fused = fused_operators().get((canonical_domain(node.domain), node.operator))
        if not visit.call.calls_function and canonical_domain(node.domain) == MICROSOFT:
            if node.operator == "FusedMatMul":
                return self._matrices(visit, place)
            return None if fused is None else self._steps(fused, visit, place)
        if not visit.call.calls_function and fused is not None:
            return self._steps(fused, visit, place)
        if not visit.call.calls_function and node.operator in HAS_FORMULA and not canonical_domain(node.domain):
            return self._formula(visit, place)
        has_graph = next(subgraphs(node), None) is not None if node.attributes else False
        if not visit.call.calls_function and not has_graph:
            return None
        if has_graph and any(graph.sparse_initializers for _, graph in subgraphs(node)):
            return None
        instead: Sequence[Node] | None = self.loops.written_out(visit, place) if has_graph else None
        if instead is None:
            instead = self.inlining.after(visit, _Facts(place, self))  # type: ignore[arg-type]  # what it reads of them
        if instead is None and has_graph:
            self._atom(visit, place)
        return instead

    def _atom(self, visit: Visit[Term, str], place: Place[Term, str]) -> None:
        """The outputs of a node with graphs that stay, where what the graphs use is known; of one whose graphs may be
        random or call a model-local function nothing is known.
        """
        node, nested = visit.node, [*_nested(visit.node)]
        if any(may_be_random(inner_node) or _called(inner_node) in self.functions for inner_node in nested):
            return
        domains = sorted({canonical_domain(inner_node.domain) for inner_node in nested})
        versions = tuple([(domain, self.inlining.imports.get(domain)) for domain in domains])
        inner = [(name, place.value(name)) for name in sorted(captured(node))]
        around = [(name, value) for name, value in inner if value is not None]
        inputs = [*place.values(visit.inputs), *(value for _, value in around)]
        if any(operand is not None and operand.operator == "declared" for operand in inputs):
            return
        self.store.assume(f"equal graphs inside equal nodes give equal values: {node.operator}")
        key = (keys.written_key(visit.call), versions, tuple([name for name, _ in around]), len(visit.inputs))
        for index, name in enumerate(node.outputs):
            if name:
                term = self.store.applied(node.operator, key, inputs, index, NOTHING_STATED, domain=node.domain)
                place.define(name, term)

    def _matrices(self, visit: Visit[Term, str], place: Place[Term, str]) -> list[Node] | None:
        """FusedMatMul: alpha times the product of both inputs, each transposed as the attributes say."""
        node, terms = visit.node, place.values(visit.inputs)
        attributes = {attribute.name: attribute.value for attribute in node.attributes}
        if len(terms) != 2 or attributes.keys() - {"alpha", "transA", "transB", "transBatchA", "transBatchB"}:
            return None
        made, names, result = [], [], node.outputs[0]
        for letter, term, name in zip("AB", terms, node.inputs, strict=True):
            if term is None or term.rank is None or term.rank < 2:
                return None
            perm = [*range(term.rank)]
            if attributes.get(f"transBatch{letter}", 0):
                perm = [*perm[1:-1], perm[0], perm[-1]]
            if attributes.get(f"trans{letter}", 0):
                perm = [*perm[:-2], perm[-1], perm[-2]]
            names.append(f"{result} ({letter})")
            kept = Attribute("perm", "ints", tuple(perm), fields=("ints",))
            made.append(Node("", "Transpose", "", "", (name,), (names[-1],), (kept,)))
        made.append(Node("", "MatMul", "", "", tuple(names), (f"{result} (product)",), ()))
        alpha = self._number(
            "$alpha|1.0", {attribute.name: attribute for attribute in node.attributes}, terms[0], place
        )
        if alpha is None:
            return None
        self.store.assume(MEANING.format("com.microsoft.FusedMatMul"))
        return [*made, Node(node.name, "Mul", "", "", (f"{result} (product)", alpha), (result,), ())]

    def _formula(self, visit: Visit[Term, str], place: Place[Term, str]) -> list[Node] | None:
        """The nodes of a formula, and one that gives its result the shape of the output."""
        inputs = place.values(visit.inputs)
        facts = [None if operand is None else operand.facts for operand in inputs]
        _, prepared = self.domain.run.call(visit.call, facts, [NOTHING_STATED])
        if not isinstance(prepared, PreparedNode) or not prepared.output_specs:
            return None
        output = visit.node.outputs[0]
        formula = formula_of(self.store, prepared.application, inputs, output)
        if formula is None:
            return None
        for name, term in formula.terms.items():
            place.define(name, term)
        last = Node(visit.node.name, "Identity", "", "", (formula.result,), (output,), ())
        self.results.append((last, formula.ideal, prepared.output_specs[0][0]))
        return [*formula.nodes, last]

    def _steps(self, fused: Fused, visit: Visit[Term, str], place: Place[Term, str]) -> list[Node] | None:
        node = visit.node
        given = dict(zip(fused.inputs, node.inputs, strict=False))
        unused = [
            attribute
            for attribute in node.attributes
            if attribute.name not in fused.attributes and attribute.value not in ((), "")
        ]
        if len(node.inputs) > len(fused.inputs) or not node.outputs or any(node.outputs[1:]) or unused:
            return None
        if fused.optional is not None and any(
            not given.get(name) for name in fused.inputs if name not in fused.optional
        ):
            return None
        first = place.values(visit.inputs)[0]
        attributes = {attribute.name: attribute for attribute in node.attributes}
        names: dict[str, str] = {"": node.outputs[0], **{name: given.get(name, "") for name in fused.inputs}}
        nodes: list[Node] = []
        if any(name in attributes and attributes[name].value != value for name, value in fused.only.items()):
            return None
        if fused.has_axes and not self._axes(attributes, first, names, visit, place):
            return None
        for step in fused.steps:
            one = self._step(step, names, attributes, first, place)
            if one is None:
                return None
            nodes += one
        self.store.assume(MEANING.format(fused.name))
        result = names[STEP.fullmatch(fused.steps[-1])[1]]  # type: ignore[index]  # a test reads every step
        last = Node(node.name, "Identity", "", "", (result,), (node.outputs[0],), ())
        if fused.ideal:
            self.results.append((last, fused.name, None))
        return [*nodes, last]

    def _axes(
        self,
        attributes: dict[str, Attribute],
        first: Term | None,
        names: dict[str, str],
        visit: Visit[Term, str],
        place: Place[Term, str],
    ) -> bool:
        """Give the axes from the attribute `axis` on as an attribute, or from operator set 18 on as an input."""
        written = attributes.get("axis")
        axis = -1 if written is None else written.value
        if first is None or not first.rank or type(axis) is not int or not -first.rank <= axis < first.rank:
            return False
        axes = tuple(range(axis % first.rank, first.rank))
        if (visit.call.operator_set or 0) < AXES_ARE_INPUT:
            attributes["axes"] = Attribute("axes", "ints", axes, fields=("ints",))
            names["axes"] = ""
        else:
            self.made += 1
            names["axes"] = f"axes@fused{self.made}"
            place.define(names["axes"], movements.constant_of(self.store, np.array(axes, np.int64)))
        return True

    def _step(
        self,
        text: str,
        names: dict[str, str],
        attributes: Mapping[str, Attribute],
        first: Term | None,
        place: Place[Term, str],
    ) -> list[Node] | None:
        """The node of one step; none where an input is left out, so that the first one is passed on."""
        match_ = STEP.fullmatch(text)
        if match_ is None:
            raise ValueError(f"the step {text!r} has another form")
        target, operator, inputs, wanted = match_.groups()
        listed = []
        for word in (part.strip() for part in inputs.split(",")):
            if re.fullmatch(r"[A-Za-z_]\w*", word):
                listed.append(names.get(word, ""))
            else:
                constant = self._number(word, attributes, first, place)
                if constant is None:
                    return None
                listed.append(constant)
        if operator.startswith("@"):
            chosen = attributes.get(operator[1:])
            operator = str(chosen.value) if chosen is not None and chosen.value else ""
            if operator and operator not in ACTIVATIONS:
                return None
        if operator == "DequantizeLinear" and not listed[0]:
            names[target] = ""
            return []
        optional = operator in ("Conv", "Gemm", "LayerNormalization", "ReduceMean")
        if not operator or (not optional and not all(listed)):
            names[target] = listed[0]
            return []
        kept = []
        for word in filter(None, (part.strip() for part in (wanted or "").split(","))):
            name, differs, value = word.partition("|")
            if name in attributes:
                kept.append(attributes[name])
            elif differs and value.isdecimal():
                kept.append(Attribute(name, "int", int(value), fields=("i",)))
            elif differs:
                kept.append(Attribute(name, "float", float(np.float32(value)), fields=("f",)))
        while listed and not listed[-1]:
            listed.pop()
        names[target] = f"{names['']} ({target})"
        return [Node("", operator, "", "", tuple(listed), (names[target],), tuple(kept))]

    def _number(
        self, word: str, attributes: Mapping[str, Attribute], first: Term | None, place: Place[Term, str]
    ) -> str | None:
        """The name of a constant of the type of the first input: a number, or the number of an attribute."""
        kind = ELEMENTS.get(str(first.facts.type)) if first is not None else None
        if kind is None:
            return None
        if word.startswith("$"):
            name, _, absent = word[1:].partition("|")
            value: Any = attributes[name].value if name in attributes else float(absent)
        else:
            value = float(word)
        self.made += 1
        name = f"{word}@fused{self.made}"
        place.define(name, movements.constant_of(self.store, np.array(value).astype(kind)))
        return name


class _Facts:
    """A place as `Inlining` reads it: facts for terms."""

    def __init__(self, place: Place[Term, str], around: Expansion) -> None:
        self._place, self._around = place, around

    def values(self, numbers: Sequence[int]) -> list[TensorFacts | None]:
        """The facts of numbers."""
        return [None if term is None else term.facts for term in self._place.values(numbers)]

    def define(self, name: str, facts: TensorFacts) -> None:
        """Give the name of an initializer of an inlined graph its term."""
        del facts  # those of the last tensor
        self._place.define(name, self._around.domain.constant(self._around.inlining.constants[-1], False))


def _nested(node: Node) -> Iterator[Node]:
    """The nodes of the graphs inside a node, at any depth."""
    for _, graph in subgraphs(node):
        for inner in graph.nodes:
            yield inner
            yield from _nested(inner)


def _called(node: Node) -> tuple[str, str, str]:
    return canonical_domain(node.domain), node.operator, node.overload


def may_be_random(node: Node) -> bool:
    """Whether the output of a node may not be a function of its inputs; a Dropout may train."""
    return node.operator in RANDOM or node.operator == "Dropout"
