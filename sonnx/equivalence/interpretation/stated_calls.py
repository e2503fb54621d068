"""Calls whose meanings other modules state: constants, movements, recurrent cells, attention, estimators, integers.

Those modules write nodes, or compute, for `fix`, too; what is done with the result in a comparison stands here.
"""

from __future__ import annotations

import numpy as np
from msgspec.structs import replace

from sonnx.equivalence.interpretation import (
    attention,
    constant_results,
    dynamic_quantization,
    element_orders,
    estimators,
    rearrangements,
    recurrent,
)
from sonnx.equivalence.interpretation.meanings import STATED, STEPS_SINCE, NodeInTerms, meaning_of
from sonnx.equivalence.terms import movements
from sonnx.equivalence.terms.store import Term
from sonnx.model.ir import Node
from sonnx.model.writer import element_number
from sonnx.numerics.formats import ELEMENTS, Array

REARRANGED = "{} moves elements as sonnx states (rearrangements.py)"
INTEGERS = "DynamicQuantizeLinear and products of its integers mean what sonnx states (dynamic_quantization.py)"
NUMBERS_ONLY = "{} is given no NaN, of whose place in the order ONNX says nothing (element_orders.py)"
WEIGHTED = "{} means what sonnx states for it (attention.py)"


@meaning_of(*constant_results.operators())
def constant_result(of: NodeInTerms) -> None:
    """Gives the output of an operator on constants its value, where it is known."""
    arrays = [None if operand is None else operand.array for operand in of.terms]
    if of.output and not any(array is None for array in arrays):
        found = constant_results.constant_result(of.node, arrays)
        if found is not None:
            of.define(of.output, movements.constant_of(of.store, found))


@meaning_of(*rearrangements.operators())
def rearrangement(of: NodeInTerms) -> None:
    """Gives the output of an operator that moves elements the movement, where its parameters are constants."""
    first, others = of.first, of.terms[1:]
    kind = None if first is None else ELEMENTS.get(str(first.facts.type))
    if first is None or first.shape is None or kind is None or not of.output or any(of.node.outputs[1:]):
        return
    arrays = [None if operand is None else operand.array for operand in others]
    if any(name and array is None for name, array in zip(of.node.inputs[1:], arrays, strict=True)):
        return
    found = rearrangements.rearranged(of.node, first.shape, arrays)
    if found is None:
        return
    of.store.assume(REARRANGED.format(of.node.operator))
    is_zero = found == rearrangements.ZERO
    sources = [first, movements.constant_of(of.store, np.zeros(1, kind))] if is_zero.any() else [first]
    places = np.where(is_zero, movements.size(first), found).reshape(-1)
    of.define(of.output, movements.moved(of.store, sources, places, found.shape))


@meaning_of(*recurrent.GATES)
def cells(of: NodeInTerms) -> list[Node] | None:
    """GRU, RNN or LSTM: the steps by their formulas, over the reals."""
    if not any(of.node.outputs) or not recurrent.has_cells(of.node, of.terms):
        return None
    written = recurrent.cell_nodes(of.node, of.terms, of.constant)
    if written is None:
        return None
    nodes, results = written
    of.store.assume(STATED.format(of.node.operator))
    # Peepholes of zero change nothing over the reals, but 0 times an infinite cell is NaN.
    own = f"{of.node.operator} with peepholes" if any(of.node.inputs[7:]) else of.node.operator
    outputs = zip(of.node.outputs, results, strict=False)
    return [*nodes, *(of.passed_on(result, own, output=name) for name, result in outputs if name)]


@meaning_of(*element_orders.OPERATORS)
def ordered_or_multiplied(of: NodeInTerms) -> list[Node] | None:
    """TopK of a constant number, bit for bit, or ReduceProd, over the reals, and nodes that pass the outputs on."""
    written = element_orders.ordered_or_multiplied(of.node, of.terms, of.graph.operator_set, of.constant)
    if written is None:
        return None
    nodes, results, exact = written
    # How a product rounds may depend on the order of its factors, which its value over the reals does not.
    own = of.node.operator if of.first is None else f"{of.node.operator} of {of.first.number}"
    of.store.assume((NUMBERS_ONLY if of.node.operator == "TopK" else STATED).format(of.node.operator))
    outputs = zip(of.node.outputs, results, strict=False)
    ideal = "" if exact else own
    return [
        *nodes,
        *(of.passed_on(result, ideal, output=name, elementwise=True) for name, result in outputs if name),
    ]


def _weighted(of: NodeInTerms) -> list[Node] | None:
    """The nodes of an operator of transformers, over the reals."""

    def constant(role: str, array: Array, narrowed: Term | None = None) -> str:
        return of.constant(of.label(role), array) if narrowed is None else of.define(of.label(role), narrowed)

    written = attention.written_attention(of.store, of.node, of.terms, constant, of.label)
    if written is None:
        return None
    of.store.assume(WEIGHTED.format(of.name))
    outputs = {index: name for index, name in enumerate(of.node.outputs) if name}
    last = [
        of.passed_on(written.results[index], "" if index else of.name, output=name)
        for index, name in outputs.items()
        if index in written.results
    ]
    left = tuple(["" if index in written.results else name for index, name in enumerate(of.node.outputs)])
    return [*written.nodes, *last, *([replace(of.node, outputs=left)] if any(left) else [])]


for domain, operator in attention.operators():
    meaning_of(operator, domain=domain)(_weighted)


@meaning_of("Mul")
def dynamic_product(of: NodeInTerms) -> list[Node] | None:
    """Mul of a sum of products of integers and its scale: the product of the numbers they stand for."""
    first, second = (*of.terms, None, None)[:2]
    if of.store.narrowings is None or first is None or second is None:
        return None
    found = dynamic_quantization.dynamic_product(of.store, first, second)
    if found is None:
        return None
    names = tuple([of.define(of.label(f"factor {index}"), term) for index, term in enumerate(found.operands)])
    return [Node(of.node.name, found.operator, "", "", names, (of.output,), found.attributes)]


@meaning_of(dynamic_quantization.QUANTIZER)
def dynamic_scale(of: NodeInTerms) -> list[Node] | None:
    """The scale of DynamicQuantizeLinear by its formula, bit for bit."""
    if of.store.narrowings is not None:
        return None
    written = dynamic_quantization.scale_nodes(of.node, of.first, of.graph.operator_set, of.constant)
    if written is None:
        return None
    of.store.assume(INTEGERS)
    scale = dynamic_quantization.SCALE_OUTPUT
    left = tuple(["" if index == scale else name for index, name in enumerate(of.node.outputs)])
    last = of.passed_on(written[-1].outputs[0], output=of.node.outputs[scale])
    return [*written, last, replace(of.node, outputs=left)]


@meaning_of("Cast")
def converted_product(of: NodeInTerms) -> list[Node] | None:
    """Cast to float of products of the integers of DynamicQuantizeLinear, bit for bit."""
    if of.store.narrowings is not None or of.values.get("to") != element_number("float"):
        return None
    written = dynamic_quantization.converted_product(of.node, of.first, of.graph.operator_set, of.constant, of.define)
    if written is None:
        return None
    of.store.assume(INTEGERS)
    return [*written, of.passed_on(written[-1].outputs[0])]


@meaning_of(*estimators.operators(), domain=estimators.DOMAIN)
def estimator(of: NodeInTerms) -> list[Node] | None:
    """The nodes of an estimator, most over the reals, and one for each output that passes its value on."""
    label = next(filter(None, of.node.outputs), "")
    values = dict[str, Term | None](zip(of.node.inputs, of.terms, strict=True))

    def constant(role: str, array: Array) -> str:
        term = movements.constant_of(of.store, array)
        name = of.define(of.graph.new_name(f"{label} ({role})"), term)
        values[name] = term
        return name

    written = estimators.written_estimator(of.node, of.terms[0] if len(of.terms) == 1 else None, constant)
    if written is None:
        return None
    of.store.assume(STATED.format(of.name))
    ideal = "" if written.exact else of.name
    if of.graph.operator_set >= STEPS_SINCE or not of.graph.computes(written.nodes, values):
        return [*written.nodes, *(of.passed_on(value, ideal, output=name) for name, value in written.results.items())]
    for name, value in written.results.items():
        term = values[value]
        if term is not None:
            of.define(name, of.store.ideal(ideal, term) if ideal else term)
    return None
