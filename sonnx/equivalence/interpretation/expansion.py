"""What stands for more than one operator: functions, branches that are known, fused operators; and nodes with graphs.

A fused operator has the meaning that `fused.toml` gives it, which is assumed and said.  A node whose graphs stay is an
atom of its inputs, of the values that its graphs use, and of the graphs as they are written.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import prod
from typing import Any, NamedTuple

import numpy as np
from msgspec.structs import replace

from sonnx.equivalence.interpretation.attention import has_attention, written_attention
from sonnx.equivalence.interpretation.averages import formula_of, has_formula
from sonnx.equivalence.interpretation.choices import Choices
from sonnx.equivalence.interpretation.constant_results import constant_result, has_constant_result
from sonnx.equivalence.interpretation.domain import TermDomain
from sonnx.equivalence.interpretation.dynamic_quantization import (
    QUANTIZER,
    converted_product,
    dynamic_product,
    scale_nodes,
)
from sonnx.equivalence.interpretation.element_orders import OPERATORS as ORDERED_OR_MULTIPLIED
from sonnx.equivalence.interpretation.element_orders import ordered_or_multiplied
from sonnx.equivalence.interpretation.estimators import has_estimator, written_estimator
from sonnx.equivalence.interpretation.exponentials import logistic_quotient
from sonnx.equivalence.interpretation.fused import WRITTEN_OUT, Fused, stated_for
from sonnx.equivalence.interpretation.index_sums import product_form
from sonnx.equivalence.interpretation.inner_graphs import InnerGraphs
from sonnx.equivalence.interpretation.loops import Loops
from sonnx.equivalence.interpretation.rearrangements import ZERO, is_rearrangement, rearranged
from sonnx.equivalence.interpretation.recurrent import cell_nodes, has_cells
from sonnx.equivalence.interpretation.written_out import WrittenOut, written_out
from sonnx.equivalence.normal_forms.layouts import (
    BLOCKS,
    CallInOrder,
    LayoutOperator,
    restored,
    standard_call,
    stated_layout,
)
from sonnx.equivalence.normal_forms.trivial_calls import TrivialCall, trivial_call
from sonnx.equivalence.terms import keys, movements
from sonnx.equivalence.terms.bodies import Renaming, are_one_graph
from sonnx.equivalence.terms.store import Term
from sonnx.executor.control_flow import Inlining
from sonnx.executor.prepared_call import PreparedNode
from sonnx.graph.call import Calls
from sonnx.graph.environment import NOTHING_STATED
from sonnx.graph.interpreter import Place, Visit
from sonnx.language.evaluator import TensorFacts
from sonnx.model.ir import NOT_STATED, Attribute, Model, Node, subgraphs
from sonnx.model.scopes import Scope, canonical_domain, function_key, scopes
from sonnx.model.writer import element_number
from sonnx.numerics.formats import ELEMENTS, Array
from sonnx.operators import is_executable, operator_facts

MICROSOFT = "com.microsoft"
STEPS_SINCE, STEPS_AT = 9, 13
"""The operator set that has every operator of the steps with broadcasting, and the one that stands for older ones."""
CHAINS = frozenset({("", "Sum"), ("", "Mean")})
"""Operators of any number of inputs that are a chain of Add."""
QUOTIENTS = frozenset({("", "Div"), ("", "Reciprocal")})
FEATURES = ("ai.onnx.ml", "ArrayFeatureExtractor")
"""Gather along the last axis."""
SIXTH = "HardSigmoid with the alpha nearest to 1/6 has the slope 1/6, as ONNX writes HardSwish"
REARRANGED = "{} moves elements as sonnx states (rearrangements.py)"
CLIPS_BY_INPUTS = 11
"""The operator set from which on Clip has its limits as inputs."""
MEANING = "{} means what sonnx states for it (fused.toml)"
INTEGERS = "DynamicQuantizeLinear and products of its integers mean what sonnx states (dynamic_quantization.py)"
NUMBERS_ONLY = "{} is given no NaN, of whose place in the order ONNX says nothing (element_orders.py)"
LAYOUT = "{} means what sonnx states for it (layouts.toml)"
WEIGHTED = "{} means what sonnx states for it (attention.py)"
BLOCK = "the blocks of com.microsoft.nchwc have {} channels, as on the machine that wrote the file"


class PassedOn(NamedTuple):
    """A node that passes on what other nodes computed in the place of one node.

    Attributes:
        node: the node.
        ideal: what the value is over the reals only; "" where it is the same bit for bit.
        elementwise: what it is over the reals is an operator on elements.
        shape: of the value, None for that of the operand.
        order: the call in channels-first order whose output it is; None where elements keep their places.
    """

    node: Node
    ideal: str = ""
    elementwise: bool = False
    shape: tuple[int, ...] | None = None
    order: CallInOrder | None = None


class Expansion:
    """Replaces a node by nodes of the same meaning, while a model is interpreted in the domain of terms.

    Args:
        model: the model.
        domain: in which it is interpreted.
        choices: recognizes functions that are written out.
        depth: how many graphs are around the main graph of the model, which is one inside a node where there are any.
    """

    def __init__(self, model: Model, domain: TermDomain, choices: Choices, depth: int = 0) -> None:
        self.model, self.domain, self.store, self.choices, self.depth = model, domain, domain.store, choices, depth
        self.inlining = Inlining(model)
        self.functions = {function_key(function) for function in model.functions}
        self.loops = Loops(domain, self.inlining.taken)
        self.constants = 0
        self.newer = Scope("graph", model.graph, {**self.inlining.imports, "": STEPS_AT})
        self.results: list[PassedOn] = []
        self.block = domain.store.block

    def inside(self, model: Model, calls: Calls) -> Expansion:
        """The same for a graph inside a node, which is the main graph of this model."""
        return Expansion(model, self.domain, Choices(self.domain, calls, next(scopes(model))), self.depth + 1)

    def before(self, node: Node) -> Node:
        """The node, unchanged."""
        return node

    def after(self, visit: Visit[Term, str], place: Place[Term, str]) -> Sequence[Node] | None:
        """The nodes that stand for this one; None where it stays."""
        node, operator = visit.node, (canonical_domain(visit.node.domain), visit.node.operator)
        for result in self.results:
            if result.node is node:
                self._define(result, visit, place)
                return None
        if visit.call.calls_function:
            return self._inlined(visit, place)
        trivial = None if operator[0] else trivial_call(node, place.values(visit.inputs), visit.call.operator_set)
        if trivial is not None:
            return self._trivial(trivial, visit)
        layout = stated_layout(operator[0], node)
        if layout is not None:
            return self._in_order(layout, visit, place)
        if operator in WRITTEN_OUT:
            writers = {
                "FusedMatMul": self._matrices,
                "QLinearConcat": self._joined_integers,
                "CastLike": self._cast_like,
            }
            return writers[node.operator](visit, place)
        if not operator[0] and has_constant_result(node.operator) and self._constant_result(visit, place):
            return None
        if operator == ("", "Mul") and self.store.narrowings is not None:
            return self._dynamic_product(visit, place)
        if operator in (("", "Cast"), ("", QUANTIZER)) and self.store.narrowings is None:
            integers = self._integers(visit, place)
            if integers is not None:
                return integers
        if operator in CHAINS and len(node.inputs) != 2 - (node.operator == "Mean"):
            return self._chain(visit, place)
        if operator == FEATURES:
            return self._features(visit, place)
        if operator == ("", "HardSigmoid") and _is_sixth(node):
            self.store.met_sixths = True
            if self.store.takes_sixths:
                return self._sixth(visit, place)
        if has_estimator(*operator):
            return self._estimator(visit, place)
        if not operator[0] and node.operator in ORDERED_OR_MULTIPLIED:
            return self._ordered_or_multiplied(visit, place)
        if operator == ("", "Gemm"):
            return self._scaled_product(visit, place)
        if operator == ("", "Einsum"):
            return self._index_sum(visit, place)
        if not operator[0] and has_cells(node, place.values(visit.inputs)):
            return self._cells(visit, place)
        fused = stated_for(*operator, node)
        if fused is not None and not self._is_computed(visit, place):
            return self._steps(fused, visit, place)
        if has_attention(*operator):
            return self._attention(visit, place)
        if operator[0] == MICROSOFT:
            return None
        if not operator[0] and is_rearrangement(node.operator):
            self._rearrange(visit, place)
            return None
        if not operator[0] and has_formula(node.operator):
            formula = self._formula(visit, place)
            if formula is not None:
                return formula
        if node.attributes and next(subgraphs(node), None) is not None:
            return self._with_graphs(visit, place)
        if operator == ("", "Pow"):
            return self._cube(visit, place)
        if operator in QUOTIENTS and not node.attributes:
            return self._logistic(visit, place)
        recognized = self.choices.recognized(visit.call, place.values(visit.inputs))
        if recognized is not None and node.outputs[0]:
            place.define(node.outputs[0], recognized)
        return None

    def _is_computed(self, visit: Visit[Term, str], place: Place[Term, str]) -> bool:
        """Whether the executor computes the node, because its inputs are constants."""
        inputs = place.values(visit.inputs)
        return is_executable(visit.node) and all(operand is not None and operand.is_constant for operand in inputs)

    def _define(self, result: PassedOn, visit: Visit[Term, str], place: Place[Term, str]) -> None:
        """Give the output of a node the value that other nodes computed for it."""
        [term] = place.values(visit.inputs)
        if term is None:
            return
        if result.ideal:
            term = self._ideal(result, term)
        if result.shape is not None:
            term = movements.moved(self.store, [term], None, result.shape)
        if result.order is not None:
            term = restored(self.store, result.order, term, self.block)
        place.define(result.node.outputs[0], term)

    def _trivial(self, call: TrivialCall, visit: Visit[Term, str]) -> list[Node]:
        """The simpler call of the first input."""
        node = visit.node
        if call.exact:
            self.store.rest_on("trivial-call")
            return [Node(node.name, call.becomes, "", "", node.inputs[:1], node.outputs[:1], ())]
        inner = f"{node.outputs[0]} (simpler)"
        last = Node(node.name, "Identity", "", "", (inner,), node.outputs[:1], ())
        self.results.append(PassedOn(last, node.operator, elementwise=True))
        return [Node("", call.becomes, "", "", node.inputs[:1], (inner,), ()), last]

    def _in_order(self, layout: LayoutOperator, visit: Visit[Term, str], place: Place[Term, str]) -> list[Node] | None:
        """The operator on channels in the second axis that an operator with another layout means."""
        order = standard_call(self.store, layout, visit.node, place.values(visit.inputs), self.block)
        if order is None:
            return None
        for name, term in order.operands.items():
            place.define(name, term)
        name = f"{layout.domain}.{layout.name}"
        self.store.assume(LAYOUT.format(name))
        if layout.domain == BLOCKS:
            self.store.assume(BLOCK.format(self.block))
        last = Node(visit.node.name, "Identity", "", "", order.node.outputs, visit.node.outputs, ())
        self.results.append(PassedOn(last, "" if order.is_exact else name, order=order))
        return [order.node, last]

    def _ideal(self, result: PassedOn, term: Term) -> Term:
        """The term of the value over the reals; an operator on elements is applied below a movement."""
        sources = movements.sources_of(term) if term.operator == "moved" and term.shape is not None else []
        if not result.elementwise or not sources or any(source.is_constant for source in sources):
            return self.store.ideal(result.ideal, term)
        ideals = [self.store.ideal(result.ideal, source) for source in sources]
        return movements.moved(self.store, ideals, term.places, term.shape or ())

    def _inlined(
        self, visit: Visit[Term, str], place: Place[Term, str], *, taken: bool | None = None
    ) -> Sequence[Node] | None:
        """The body of a function, or of a branch that is known; `taken` is the branch where both are equal."""
        if any(graph.sparse_initializers for _, graph in subgraphs(visit.node)):
            return None
        return self.inlining.after(visit, _Facts(place, self, taken))  # type: ignore[arg-type]  # what it reads of them

    def _with_graphs(self, visit: Visit[Term, str], place: Place[Term, str]) -> Sequence[Node] | None:
        """The nodes of a loop or of a branch; None where the node stays."""
        if any(graph.sparse_initializers for _, graph in subgraphs(visit.node)):
            return None
        instead: Sequence[Node] | None = self.loops.written_out(visit, place)
        if instead is None:
            instead = self._inlined(visit, place)
        if instead is None and _has_equal_branches(visit.node):
            self.store.rest_on("equal-branches")
            instead = self._inlined(visit, place, taken=True)
        if instead is None and not InnerGraphs(self).define(visit, place):
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

    def _matrices(self, visit: Visit[Term, str], place: Place[Term, str]) -> list[Node] | None:
        """FusedMatMul: alpha times the product of both inputs, each transposed as the attributes say."""
        node, terms = visit.node, place.values(visit.inputs)
        attributes = {attribute.name: attribute for attribute in node.attributes}
        if len(terms) != 2 or attributes.keys() - {"alpha", "transA", "transB", "transBatchA", "transBatchB"}:
            return None
        nodes, factors, output = [], [], node.outputs[0]
        for letter, term, name in zip("AB", terms, node.inputs, strict=True):
            if term is None or term.rank is None or term.rank < 2:
                return None
            axes = [*range(term.rank)]
            if _is_set(attributes, f"transBatch{letter}"):
                axes = [*axes[1:-1], axes[0], axes[-1]]
            if _is_set(attributes, f"trans{letter}"):
                axes = [*axes[:-2], axes[-1], axes[-2]]
            factors.append(f"{output} ({letter})")
            perm = Attribute("perm", "ints", tuple(axes), fields=("ints",))
            nodes.append(Node("", "Transpose", "", "", (name,), (factors[-1],), (perm,)))
        nodes.append(Node("", "MatMul", "", "", tuple(factors), (f"{output} (product)",), ()))
        alpha = self._number("$alpha|1.0", attributes, terms[0], place)
        if alpha is None:
            return None
        self.store.assume(MEANING.format("com.microsoft.FusedMatMul"))
        return [*nodes, Node(node.name, "Mul", "", "", (f"{output} (product)", alpha), (output,), ())]

    def _joined_integers(self, visit: Visit[Term, str], place: Place[Term, str]) -> list[Node] | None:
        """QLinearConcat: Concat of the numbers that the integers of each input stand for, quantized, over the reals."""
        node, output, axes = (
            visit.node,
            visit.node.outputs[0],
            [each for each in visit.node.attributes if each.name == "axis"],
        )
        if len(node.inputs) < 5 or len(node.inputs) % 3 != 2 or len(axes) != 1 or len(node.attributes) != 1:
            return None
        if not all(node.inputs):
            return None
        nodes = []
        for index in range(2, len(node.inputs), 3):
            numbers = f"{output} (numbers {index // 3})"
            nodes.append(Node("", "DequantizeLinear", "", "", node.inputs[index : index + 3], (numbers,), ()))
        joined, quantized = f"{output} (joined)", f"{output} (quantized)"
        nodes.append(Node("", "Concat", "", "", tuple([each.outputs[0] for each in nodes]), (joined,), tuple(axes)))
        nodes.append(Node("", "QuantizeLinear", "", "", (joined, *node.inputs[:2]), (quantized,), ()))
        self.store.assume(MEANING.format("com.microsoft.QLinearConcat"))
        last = Node(node.name, "Identity", "", "", (quantized,), (output,), ())
        self.results.append(PassedOn(last, "com.microsoft.QLinearConcat"))
        return [*nodes, last]

    def _cast_like(self, visit: Visit[Term, str], place: Place[Term, str]) -> list[Node] | None:
        """CastLike: Cast to the type of the second input, with the attributes of the node."""
        node, terms = visit.node, place.values(visit.inputs)
        element = terms[1].facts.type if len(terms) == 2 and terms[1] is not None else None
        if not isinstance(element, str) or ELEMENTS.get(element) is None or not node.inputs[0]:
            return None
        self.store.rest_on("other-operator")
        to = Attribute("to", "int", element_number(element), fields=("i",))
        return [Node(node.name, "Cast", "", "", node.inputs[:1], node.outputs, (*node.attributes, to))]

    def _constant_result(self, visit: Visit[Term, str], place: Place[Term, str]) -> bool:
        """Give the output of an operator on constants its value; whether it is known."""
        inputs = place.values(visit.inputs)
        if any(operand is None or operand.array is None for operand in inputs) or not visit.node.outputs[0]:
            return False
        found = constant_result(visit.node, [None if operand is None else operand.array for operand in inputs])
        if found is not None:
            place.define(visit.node.outputs[0], movements.constant_of(self.store, found))
        return found is not None

    def _rearrange(self, visit: Visit[Term, str], place: Place[Term, str]) -> None:
        """Give the output of an operator that moves elements the movement, where its parameters are constants."""
        inputs, names = place.values(visit.inputs), visit.node.inputs[1:]
        first, others = inputs[0] if inputs else None, inputs[1:]
        if first is None or first.shape is None or not visit.node.outputs[0] or any(visit.node.outputs[1:]):
            return
        if any(
            name and (operand is None or operand.array is None) for name, operand in zip(names, others, strict=True)
        ):
            return
        parameters = [None if operand is None else operand.array for operand in others]
        found = rearranged(visit.node, first.shape, parameters)
        kind = ELEMENTS.get(str(first.facts.type))
        if found is None or kind is None:
            return
        self.store.assume(REARRANGED.format(visit.node.operator))
        zero = movements.constant_of(self.store, np.zeros(1, kind))
        places = np.where(found == ZERO, movements.size(first), found).reshape(-1)
        term = movements.moved(self.store, [first, zero] if (found == ZERO).any() else [first], places, found.shape)
        place.define(visit.node.outputs[0], term)

    def _chain(self, visit: Visit[Term, str], place: Place[Term, str]) -> list[Node] | None:
        """Sum or Mean of several values: Add for each further one, and Div, over the reals."""
        node, terms = visit.node, place.values(visit.inputs)
        is_mean = node.operator == "Mean"
        if not node.inputs or not all(node.inputs) or any(term is None or not term.is_float for term in terms):
            return None
        if len(node.inputs) == 1:
            return [Node(node.name, "Identity", "", "", node.inputs, node.outputs, ())]
        nodes, value = [], node.inputs[0]
        for index, name in enumerate(node.inputs[1:]):
            result = f"{node.outputs[0]} (sum {index})"
            nodes.append(Node("", "Add", "", "", (value, name), (result,), ()))
            value = result
        if is_mean:
            number = self._number(str(len(node.inputs)), {}, terms[0], place)
            if number is None:
                return None
            nodes.append(Node("", "Div", "", "", (value, number), (f"{node.outputs[0]} (mean)",), ()))
            value = nodes[-1].outputs[0]
        self.store.assume(MEANING.format(node.operator))
        last = Node(node.name, "Identity", "", "", (value,), (node.outputs[0],), ())
        self.results.append(PassedOn(last, node.operator, elementwise=True))
        return [*nodes, last]

    def _sixth(self, visit: Visit[Term, str], place: Place[Term, str]) -> list[Node] | None:
        """HardSigmoid by a sixth: Clip of X + 3 between 0 and 6, over 6."""
        node, terms = visit.node, place.values(visit.inputs)
        names = [self._number(str(number), {}, terms[0], place) for number in (3.0, 0.0, 6.0)]
        if None in names or (visit.call.operator_set or 0) < CLIPS_BY_INPUTS:
            return None
        three, zero, six = [name or "" for name in names]
        output = node.outputs[0]
        shifted, clipped, factor = (f"{output} ({role})" for role in ("shifted", "clipped", "factor"))
        self.store.rest_on("sixth")
        self.store.assume(SIXTH)
        last = Node(node.name, "Identity", "", "", (factor,), (output,), ())
        self.results.append(PassedOn(last, node.operator, elementwise=True))
        return [
            Node("", "Add", "", "", (node.inputs[0], three), (shifted,), ()),
            Node("", "Clip", "", "", (shifted, zero, six), (clipped,), ()),
            Node("", "Div", "", "", (clipped, six), (factor,), ()),
            last,
        ]

    def _cube(self, visit: Visit[Term, str], place: Place[Term, str]) -> list[Node] | None:
        """The power 3 of a float: the product of three equal numbers, over the reals."""
        node, output = visit.node, visit.node.outputs[0]
        base, exponent = (*place.values(visit.inputs), None, None)[:2]
        if node.attributes or base is None or not base.is_float or base.rank is None or exponent is None:
            return None
        array = exponent.array
        if array is None or array.size != 1 or array.ndim > base.rank or not bool((array == 3).all()):
            return None
        self.store.rest_on("cube")
        square, cube = f"{output} (square)", f"{output} (cube)"
        last = Node(node.name, "Identity", "", "", (cube,), (output,), ())
        self.results.append(PassedOn(last, f"Pow by 3 of type {array.dtype}", elementwise=True))
        return [
            Node("", "Mul", "", "", (node.inputs[0], node.inputs[0]), (square,), ()),
            Node("", "Mul", "", "", (square, node.inputs[0]), (cube,), ()),
            last,
        ]

    def _logistic(self, visit: Visit[Term, str], place: Place[Term, str]) -> list[Node] | None:
        """A quotient by 1 + e^u: the dividend times the Sigmoid of -u, over the reals."""
        node, output = visit.node, visit.node.outputs[0]
        found = logistic_quotient(node.operator, place.values(visit.inputs), self.choices.operand_of)
        if found is None:
            return None
        exponent, opposite, gate, product = (
            f"{output} ({role})" for role in ("exponent", "opposite", "gate", "product")
        )
        nodes = []
        if found.opposite is not None:
            place.define(opposite, found.opposite)
        else:
            place.define(exponent, found.exponent)
            nodes.append(Node("", "Neg", "", "", (exponent,), (opposite,), ()))
        nodes.append(Node("", "Sigmoid", "", "", (opposite,), (gate,), ()))
        if found.dividend is not None:
            nodes.append(Node("", "Mul", "", "", (node.inputs[0], gate), (product,), ()))
        self.store.rest_on("logistic")
        last = Node(node.name, "Identity", "", "", nodes[-1].outputs, (output,), ())
        dividend = "" if found.dividend is None else f"{found.dividend.number} "
        self.results.append(
            PassedOn(last, f"{node.operator}: {dividend}over 1 and the exponential of {found.exponent.number}")
        )
        return [*nodes, last]

    def _scaled_product(self, visit: Visit[Term, str], place: Place[Term, str]) -> list[Node] | None:
        """Gemm of varying matrices with factors: products with them over the reals; None without a factor, and where a
        matrix is constant, whose elements take the factor.
        """
        node, terms = visit.node, place.values(visit.inputs)
        values = {attribute.name: attribute.value for attribute in node.attributes}
        scaled = any(values.get(name, 1.0) != 1 for name in ("alpha", "beta"))
        if not scaled or any(values.get(name) for name in ("transA", "transB", "broadcast")):
            return None
        if any(term is None or term.is_constant or not term.is_float for term in terms[:2]):
            return None
        attributes, output = {attribute.name: attribute for attribute in node.attributes}, node.outputs[0]
        factors = [self._number(f"${name}|1.0", attributes, terms[0], place) for name in ("alpha", "beta")]
        nodes = [Node("", "MatMul", "", "", node.inputs[:2], (f"{output} (product)",), ())]
        value = nodes[-1].outputs[0]
        if values.get("alpha", 1.0) != 1:
            nodes.append(Node("", "Mul", "", "", (value, factors[0] or ""), (f"{output} (scaled)",), ()))
            value = nodes[-1].outputs[0]
        if len(node.inputs) > 2 and node.inputs[2]:
            bias = node.inputs[2]
            if values.get("beta", 1.0) != 1:
                nodes.append(Node("", "Mul", "", "", (bias, factors[1] or ""), (f"{output} (bias)",), ()))
                bias = nodes[-1].outputs[0]
            nodes.append(Node("", "Add", "", "", (value, bias), (f"{output} (sum)",), ()))
            value = nodes[-1].outputs[0]
        last = Node(node.name, "Identity", "", "", (value,), (output,), ())
        self.results.append(PassedOn(last, "Gemm"))
        return [*nodes, last]

    def _cells(self, visit: Visit[Term, str], place: Place[Term, str]) -> list[Node] | None:
        """GRU, RNN or LSTM: the steps by their formulas, over the reals."""
        node = visit.node
        if not any(node.outputs):
            return None
        found = cell_nodes(node, place.values(visit.inputs), lambda label, array: self._constant(label, array, place))
        if found is None:
            return None
        nodes, results = found
        self.store.assume(MEANING.format(node.operator))
        # Peepholes of zero change nothing over the reals, but 0 times an infinite cell is NaN.
        own = f"{node.operator} with peepholes" if any(node.inputs[7:]) else node.operator
        for name, result in zip(node.outputs, results, strict=False):
            if name:
                last = Node("", "Identity", "", "", (result,), (name,), ())
                self.results.append(PassedOn(last, own))
                nodes.append(last)
        return nodes

    def _ordered_or_multiplied(self, visit: Visit[Term, str], place: Place[Term, str]) -> list[Node] | None:
        """TopK of a constant number, bit for bit, or ReduceProd, over the reals, and nodes that pass the outputs on."""
        node, operator_set = visit.node, self.inlining.imports.get("") or 0
        found = ordered_or_multiplied(
            node, place.values(visit.inputs), operator_set, lambda label, array: self._constant(label, array, place)
        )
        if found is None:
            return None
        nodes, results, exact = found
        [first, *_] = place.values(visit.inputs)
        # How a product rounds may depend on the order of its factors, which its value over the reals does not.
        own = node.operator if first is None else f"{node.operator} of {first.number}"
        self.store.assume((NUMBERS_ONLY if node.operator == "TopK" else MEANING).format(node.operator))
        for name, result in zip(node.outputs, results, strict=False):
            if name:
                last = Node("", "Identity", "", "", (result,), (name,), ())
                self.results += [] if exact else [PassedOn(last, own, elementwise=True)]
                nodes.append(last)
        return nodes

    def _index_sum(self, visit: Visit[Term, str], place: Place[Term, str]) -> list[Node] | None:
        """Einsum of two operands: Transpose, Reshape and MatMul."""
        node, terms = visit.node, place.values(visit.inputs)
        equation = next((attribute.value for attribute in node.attributes if attribute.name == "equation"), None)
        shapes = [term.shape for term in terms if term is not None and term.shape is not None]
        form = product_form(str(equation), shapes) if len(terms) == 2 and len(shapes) == 2 else None
        if form is None:
            return None
        factors, output = [], node.outputs[0]
        for index, (term, shape, operand) in enumerate(zip(terms, shapes, form.operands, strict=True)):
            assert term is not None  # noqa: S101  its shape is known
            places = np.arange(prod(shape), dtype=np.int32).reshape(shape).transpose(operand.order).reshape(-1)
            factors.append(f"{output} (factor {index})")
            place.define(factors[-1], movements.moved(self.store, [term], places, operand.shape))
        extents = self._constant(f"{output} (shape)", np.array(form.result, np.int64), place)
        perm = Attribute("perm", "ints", form.order, fields=("ints",))
        self.store.assume(MEANING.format("Einsum"))
        product, apart = f"{output} (product)", f"{output} (apart)"
        return [
            Node("", "MatMul", "", "", tuple(factors), (product,), ()),
            Node("", "Reshape", "", "", (product, extents), (apart,), ()),
            Node(node.name, "Transpose", "", "", (apart,), (output,), (perm,)),
        ]

    def _features(self, visit: Visit[Term, str], place: Place[Term, str]) -> list[Node] | None:
        """ArrayFeatureExtractor: Gather of the last axis, by the indices as a list; a list is a matrix of one row."""
        node, shapes = visit.node, [None if term is None else term.shape for term in place.values(visit.inputs)]
        if len(shapes) != 2 or None in shapes or not shapes[0] or not node.outputs[0]:
            return None
        data, indices = shapes
        output = node.outputs[0]
        result = (*(data[:-1] if len(data) > 1 else (1,)), prod(indices))  # type: ignore[arg-type,index]
        listed, gathered = f"{output} (list)", f"{output} (gathered)"
        extents = [self._constant(f"{output} ({role})", np.array(extent, np.int64), place) for role, extent in (
            ("indices", (prod(indices),)), ("shape", result))]  # type: ignore[arg-type]  # fmt: skip
        axis = Attribute("axis", "int", len(data) - 1, fields=("i",))  # type: ignore[arg-type]
        self.store.assume(MEANING.format(".".join(FEATURES)))
        return [
            Node("", "Reshape", "", "", (node.inputs[1], extents[0]), (listed,), ()),
            Node("", "Gather", "", "", (node.inputs[0], listed), (gathered,), (axis,)),
            Node(node.name, "Reshape", "", "", (gathered, extents[1]), (output,), ()),
        ]

    def _attention(self, visit: Visit[Term, str], place: Place[Term, str]) -> list[Node] | None:
        """The nodes of an operator of transformers, over the reals."""
        node = visit.node

        def label(role: str) -> str:
            return f"{node.outputs[0]} ({role})"

        def constant(role: str, array: Array, narrowed: Term | None = None) -> str:
            if narrowed is None:
                return self._constant(label(role), array, place)
            place.define(label(role), narrowed)
            return label(role)

        written = written_attention(self.store, node, place.values(visit.inputs), constant, label)
        if written is None:
            return None
        domain = canonical_domain(node.domain)
        name = f"{domain}.{node.operator}" if domain else node.operator
        self.store.assume(WEIGHTED.format(name))
        last = [
            Node(node.name, "Identity", "", "", (written.results[index],), (output,), ())
            for index, output in enumerate(node.outputs)
            if output and index in written.results
        ]
        self.results.append(PassedOn(last[0], name))
        left = tuple(["" if index in written.results else output for index, output in enumerate(node.outputs)])
        return [*written.nodes, *last, *([replace(node, outputs=left)] if any(left) else [])]

    def _dynamic_product(self, visit: Visit[Term, str], place: Place[Term, str]) -> list[Node] | None:
        """Mul of a sum of products of integers and its scale: the product of the numbers they stand for."""
        terms, output = [term for term in place.values(visit.inputs) if term is not None], visit.node.outputs[0]
        found = dynamic_product(self.store, *terms) if len(terms) == 2 else None
        if found is None:
            return None
        names = tuple([f"{output} (factor {index})" for index in range(2)])
        for name, term in zip(names, found.operands, strict=True):
            place.define(name, term)
        return [Node(visit.node.name, found.operator, "", "", names, (output,), found.attributes)]

    def _integers(self, visit: Visit[Term, str], place: Place[Term, str]) -> list[Node] | None:
        """The scale of DynamicQuantizeLinear; or Cast to float of products of its integers, bit for bit."""
        node, terms, operator_set = visit.node, place.values(visit.inputs), self.inlining.imports.get("") or 0
        first, left = terms[0] if terms else None, list[Node]()

        def constant(label: str, array: Array) -> str:
            return self._constant(label, array, place)

        def name(label: str, term: Term) -> str:
            place.define(label, term)
            return label

        if node.operator == QUANTIZER:
            written, output = scale_nodes(node, first, operator_set, constant), [*node.outputs, ""][1]
            left = [replace(node, outputs=(node.outputs[0], "", *node.outputs[2:]))]
        elif any(each.name == "to" and each.value == element_number("float") for each in node.attributes):
            written, output = converted_product(node, first, operator_set, constant, name), node.outputs[0]
        else:
            return None
        if written is None:
            return None
        self.store.assume(INTEGERS)
        last = Node(node.name, "Identity", "", "", written[-1].outputs, (output,), ())
        return [*written, last, *left]

    def _estimator(self, visit: Visit[Term, str], place: Place[Term, str]) -> list[Node] | None:
        """The nodes of an estimator, most over the reals, and one for each output that passes its value on."""
        node, inputs = visit.node, place.values(visit.inputs)
        label, name = next(filter(None, node.outputs), ""), f"{canonical_domain(node.domain)}.{node.operator}"

        values = dict[str, Term | None](zip(node.inputs, inputs, strict=True))

        def constant(role: str, array: Array) -> str:
            added = self._constant(f"{label} ({role})", array, place)
            values[added] = place.value(added)
            return added

        written = written_estimator(node, inputs[0] if len(inputs) == 1 else None, constant)
        if written is None:
            return None
        self.store.assume(MEANING.format(name))
        if (self.inlining.imports.get("") or 0) < STEPS_SINCE and self._compute(written.nodes, values):
            for output, value in written.results.items():
                term = values[value]
                if term is not None:
                    place.define(output, term if written.exact else self.store.ideal(name, term))
            return None
        last = [Node(node.name, "Identity", "", "", (value,), (out,), ()) for out, value in written.results.items()]
        self.results += [] if written.exact else [PassedOn(each, name) for each in last]
        return [*written.nodes, *last]

    def _formula(self, visit: Visit[Term, str], place: Place[Term, str]) -> list[Node] | None:
        """The nodes of a formula, and one that gives its result the shape of the output."""
        inputs = place.values(visit.inputs)
        facts = [None if operand is None else operand.facts for operand in inputs]
        _, prepared = self.domain.run.call(visit.call, facts, [NOTHING_STATED])
        if not isinstance(prepared, PreparedNode) or not prepared.output_specs:
            return None
        output, *others = visit.node.outputs
        if not output:
            return None
        formula = formula_of(self.store, prepared.application, inputs, output)
        if formula is None:
            return None
        for name, term in formula.terms.items():
            place.define(name, term)
        last = Node(visit.node.name, "Identity", "", "", (formula.result,), (output,), ())
        self.results.append(PassedOn(last, formula.ideal, shape=prepared.output_specs[0][0]))
        rest = [replace(visit.node, outputs=("", *others))] if any(others) else []
        return [*formula.nodes, last, *rest]

    def _steps(self, fused: Fused, visit: Visit[Term, str], place: Place[Term, str]) -> list[Node] | None:
        """The nodes of the steps of a fused operator, and one that passes their result on."""
        node, first = visit.node, place.values(visit.inputs)[0] if visit.inputs else None
        self.constants += 1
        label = f"{node.outputs[0]}@fused{self.constants}" if node.outputs else ""
        facts, standard = None if first is None else first.facts, self.inlining.imports.get("") or 0
        older = standard < STEPS_SINCE
        operator_set = STEPS_AT if older and standard >= fused.since else standard
        written = written_out(fused, node, facts, operator_set, lambda role: f"{label} ({role})")
        if written is None:
            return None
        if older:
            if not any(node.outputs[1:]):
                self._evaluate(fused, written, visit, place)
            return None
        for name, array in written.constants.items():
            place.define(name, movements.constant_of(self.store, array))
        if fused.axiom:
            self.store.rest_on(fused.axiom)
        else:
            self.store.assume(MEANING.format(fused.name))
        elementwise = operator_facts(node.operator, node.domain).elementwise
        return [*written.nodes, *self._outputs(node, {0: written.result, **written.further}, fused, elementwise)]

    def _outputs(self, node: Node, results: Mapping[int, str], fused: Fused, elementwise: bool) -> Iterator[Node]:
        """Nodes that pass results on to outputs, and the node itself for outputs that have none."""
        left = list(node.outputs)
        for index, value in results.items():
            if index < len(left) and left[index] and value:
                last = Node(node.name, "Identity", "", "", (value,), (left[index],), ())
                if fused.ideal:
                    self.results.append(PassedOn(last, fused.name, elementwise))
                left[index] = ""
                yield last
        if any(left):
            yield replace(node, outputs=tuple(left))

    def _evaluate(self, fused: Fused, written: WrittenOut, visit: Visit[Term, str], place: Place[Term, str]) -> None:
        """Give the output the value of the steps in a newer operator set: the model's own may lack an operator."""
        values = dict(zip(visit.node.inputs, place.values(visit.inputs), strict=True))
        values |= {name: movements.constant_of(self.store, array) for name, array in written.constants.items()}
        if not self._compute(written.nodes, values):
            return
        term = values[written.result]
        if term is None or not visit.node.outputs[0]:
            return
        self.store.assume(MEANING.format(fused.name))
        elementwise = operator_facts(visit.node.operator, visit.node.domain).elementwise
        if fused.ideal:
            term = self._ideal(PassedOn(visit.node, fused.name, elementwise), term)
        place.define(visit.node.outputs[0], term)

    def _compute(self, nodes: Sequence[Node], values: dict[str, Term | None]) -> bool:
        """Add the values of nodes in a newer operator set; whether all are known."""
        for node in nodes:
            operands = [values.get(name) for name in node.inputs]
            if any(operand is None for operand, name in zip(operands, node.inputs, strict=True) if name):
                return False
            call = self.choices.calls.of(self.newer, node)
            [values[node.outputs[0]]] = self.domain.call(call, operands, [self.domain.declared(NOT_STATED)]).outputs
        return True

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
        return self._constant(word, np.array(value).astype(kind), place)

    def _constant(self, label: str, array: Array, place: Place[Term, str]) -> str:
        """The name of a new constant."""
        self.constants += 1
        name = f"{label}@fused{self.constants}"
        place.define(name, movements.constant_of(self.store, array))
        return name


def _is_sixth(node: Node) -> bool:
    """Whether a HardSigmoid has the slope of HardSwish: the number nearest to a sixth."""
    values = {attribute.name: attribute.value for attribute in node.attributes}
    alpha: Any = values.get("alpha", 0.2)
    return bool(np.float32(alpha) == np.float32(1 / 6)) and values.get("beta", 0.5) == 0.5


def _is_set(attributes: Mapping[str, Attribute], name: str) -> bool:
    return name in attributes and bool(attributes[name].value)


class _Facts:
    """A place as `Inlining` reads it: facts for terms."""

    def __init__(self, place: Place[Term, str], around: Expansion, taken: bool | None) -> None:
        self._place, self._around, self._taken = place, around, taken

    def values(self, numbers: Sequence[int]) -> list[TensorFacts | None]:
        """The facts of numbers; of the condition of an If with equal branches, that it holds."""
        if self._taken is not None:
            return [NOTHING_STATED._replace(values=(self._taken,))]
        return [None if term is None else term.facts for term in self._place.values(numbers)]

    def define(self, name: str, facts: TensorFacts) -> None:
        """Give the name of an initializer of an inlined graph its term."""
        del facts  # those of the last tensor
        self._place.define(name, self._around.domain.constant(self._around.inlining.constants[-1], False))


def _has_equal_branches(node: Node) -> bool:
    """Whether a node is an If whose branches are one graph, which draws nothing and has the outputs of the node."""
    graphs = [graph for _, graph in subgraphs(node)]
    if (
        node.operator != "If"
        or canonical_domain(node.domain)
        or len(graphs) != 2
        or any(map(may_be_random, nested_nodes(node)))
    ):
        return False
    return len(graphs[0].outputs) == len(node.outputs) and not graphs[0].inputs and are_one_graph(*graphs)


def nested_nodes(node: Node) -> Iterator[Node]:
    """The nodes of the graphs inside a node, at any depth."""
    for _, graph in subgraphs(node):
        for inner in graph.nodes:
            yield inner
            yield from nested_nodes(inner)


def nodes_of(*models: Model) -> Iterator[Node]:
    """The nodes of the main graphs of models, and those inside of them."""
    for model in models:
        for node in model.graph.nodes:
            yield node
            yield from nested_nodes(node)


def _called(node: Node) -> tuple[str, str, str]:
    return canonical_domain(node.domain), node.operator, node.overload


def may_be_random(node: Node) -> bool:
    """Whether the output of a node may not be a function of its inputs; a Dropout may train."""
    return operator_facts(node.operator, node.domain).random or node.operator == "Dropout"
