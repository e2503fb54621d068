"""Operators that are one, two or three simpler operators of ONNX, by the ranks, types and numbers of their inputs."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from sonnx.equivalence.interpretation.exponentials import logistic_quotient
from sonnx.equivalence.interpretation.index_sums import product_form
from sonnx.equivalence.interpretation.meanings import STATED, NodeInTerms, meaning_of
from sonnx.equivalence.terms import movements
from sonnx.model.ir import Attribute, Node
from sonnx.model.writer import element_number
from sonnx.numerics.formats import ELEMENTS

SIXTH = "HardSigmoid with the alpha nearest to 1/6 has the slope 1/6, as ONNX writes HardSwish"
CLIPS_BY_INPUTS = 11
"""The operator set from which on Clip has its limits as inputs."""


@meaning_of("FusedMatMul", domain="com.microsoft")
def fused_product(of: NodeInTerms) -> list[Node] | None:
    """FusedMatMul: alpha times the product of both inputs, each transposed as the attributes say."""
    if len(of.terms) != 2 or of.values.keys() - {"alpha", "transA", "transB", "transBatchA", "transBatchB"}:
        return None
    nodes, factors = [], []
    for letter, term, name in zip("AB", of.terms, of.node.inputs, strict=True):
        if term is None or term.rank is None or term.rank < 2:
            return None
        axes = [*range(term.rank)]
        if of.values.get(f"transBatch{letter}"):
            axes = [*axes[1:-1], axes[0], axes[-1]]
        if of.values.get(f"trans{letter}"):
            axes = [*axes[:-2], axes[-1], axes[-2]]
        factors.append(of.label(letter))
        perm = Attribute("perm", "ints", tuple(axes), fields=("ints",))
        nodes.append(Node("", "Transpose", "", "", (name,), (factors[-1],), (perm,)))
    product = of.label("product")
    nodes.append(Node("", "MatMul", "", "", tuple(factors), (product,), ()))
    alpha = of.number(of.values.get("alpha", 1.0))
    if alpha is None:
        return None
    of.store.assume(STATED.format(of.name))
    return [*nodes, Node(of.node.name, "Mul", "", "", (product, alpha), (of.output,), ())]


@meaning_of("QLinearConcat", domain="com.microsoft")
def joined_integers(of: NodeInTerms) -> list[Node] | None:
    """QLinearConcat: Concat of the numbers that the integers of each input stand for, quantized, over the reals."""
    inputs = of.node.inputs
    if len(inputs) < 5 or len(inputs) % 3 != 2 or not all(inputs) or of.attributes.keys() != {"axis"}:
        return None
    nodes = [
        Node("", "DequantizeLinear", "", "", inputs[index : index + 3], (of.label(f"numbers {index // 3}"),), ())
        for index in range(2, len(inputs), 3)
    ]
    joined, quantized = of.label("joined"), of.label("quantized")
    numbers = tuple([each.outputs[0] for each in nodes])
    nodes.append(Node("", "Concat", "", "", numbers, (joined,), of.node.attributes))
    nodes.append(Node("", "QuantizeLinear", "", "", (joined, *inputs[:2]), (quantized,), ()))
    of.store.assume(STATED.format(of.name))
    return [*nodes, of.passed_on(quantized, of.name)]


@meaning_of("CastLike")
def cast_like(of: NodeInTerms) -> list[Node] | None:
    """CastLike: Cast to the type of the second input, with the attributes of the node."""
    element = of.terms[1].facts.type if len(of.terms) == 2 and of.terms[1] is not None else None
    if not isinstance(element, str) or ELEMENTS.get(element) is None or not of.node.inputs[0]:
        return None
    of.store.rest_on("other-operator")
    to = Attribute("to", "int", element_number(element), fields=("i",))
    return [Node(of.node.name, "Cast", "", "", of.node.inputs[:1], of.node.outputs, (*of.node.attributes, to))]


@meaning_of("Sum", "Mean")
def chain(of: NodeInTerms) -> list[Node] | None:
    """Sum or Mean of several values: Add for each further one, and Div, over the reals."""
    inputs, is_mean = of.node.inputs, of.node.operator == "Mean"
    if len(inputs) == 2 - is_mean:  # fused.toml has the sum of two
        return None
    if not inputs or not all(inputs) or any(term is None or not term.is_float for term in of.terms):
        return None
    if len(inputs) == 1:
        return [Node(of.node.name, "Identity", "", "", inputs, of.node.outputs, ())]
    nodes, value = [], inputs[0]
    for index, name in enumerate(inputs[1:]):
        nodes.append(Node("", "Add", "", "", (value, name), (of.label(f"sum {index}"),), ()))
        value = nodes[-1].outputs[0]
    if is_mean:
        number = of.number(len(inputs))
        if number is None:
            return None
        nodes.append(Node("", "Div", "", "", (value, number), (of.label("mean"),), ()))
        value = nodes[-1].outputs[0]
    of.store.assume(STATED.format(of.node.operator))
    return [*nodes, of.passed_on(value, of.node.operator, elementwise=True)]


@meaning_of("HardSigmoid")
def slope_of_a_sixth(of: NodeInTerms) -> list[Node] | None:
    """HardSigmoid by a sixth: Clip of X + 3 between 0 and 6, over 6."""
    alpha: Any = of.values.get("alpha", 0.2)
    if np.float32(alpha) != np.float32(1 / 6) or of.values.get("beta", 0.5) != 0.5:
        return None
    of.store.met_sixths = True
    if not of.store.takes_sixths:
        return None
    names = [of.number(number) for number in (3.0, 0.0, 6.0)]
    if None in names or (of.call.operator_set or 0) < CLIPS_BY_INPUTS:
        return None
    three, zero, six = [name or "" for name in names]
    shifted, clipped, factor = map(of.label, ("shifted", "clipped", "factor"))
    of.store.rest_on("sixth")
    of.store.assume(SIXTH)
    return [
        Node("", "Add", "", "", (of.node.inputs[0], three), (shifted,), ()),
        Node("", "Clip", "", "", (shifted, zero, six), (clipped,), ()),
        Node("", "Div", "", "", (clipped, six), (factor,), ()),
        of.passed_on(factor, of.node.operator, elementwise=True),
    ]


@meaning_of("Pow")
def cube(of: NodeInTerms) -> list[Node] | None:
    """The power 3 of a float: the product of three equal numbers, over the reals."""
    base, exponent = (*of.terms, None, None)[:2]
    if of.attributes or base is None or not base.is_float or base.rank is None or exponent is None:
        return None
    array = exponent.array
    if array is None or array.size != 1 or array.ndim > base.rank or not bool((array == 3).all()):
        return None
    of.store.rest_on("cube")
    number, square, product = of.node.inputs[0], of.label("square"), of.label("cube")
    return [
        Node("", "Mul", "", "", (number, number), (square,), ()),
        Node("", "Mul", "", "", (square, number), (product,), ()),
        of.passed_on(product, f"Pow by 3 of type {array.dtype}", elementwise=True),
    ]


@meaning_of("Div", "Reciprocal")
def logistic(of: NodeInTerms) -> list[Node] | None:
    """A quotient by 1 + e^u: the dividend times the Sigmoid of -u, over the reals."""
    found = None if of.attributes else logistic_quotient(of.node.operator, of.terms, of.graph.choices.operand_of)
    if found is None:
        return None
    exponent, opposite, gate, product = map(of.label, ("exponent", "opposite", "gate", "product"))
    nodes = []
    if found.opposite is not None:
        of.define(opposite, found.opposite)
    else:
        nodes.append(Node("", "Neg", "", "", (of.define(exponent, found.exponent),), (opposite,), ()))
    nodes.append(Node("", "Sigmoid", "", "", (opposite,), (gate,), ()))
    if found.dividend is not None:
        nodes.append(Node("", "Mul", "", "", (of.node.inputs[0], gate), (product,), ()))
    of.store.rest_on("logistic")
    dividend = "" if found.dividend is None else f"{found.dividend.number} "
    ideal = f"{of.node.operator}: {dividend}over 1 and the exponential of {found.exponent.number}"
    return [*nodes, of.passed_on(nodes[-1].outputs[0], ideal)]


@meaning_of("Gemm")
def scaled_product(of: NodeInTerms) -> list[Node] | None:
    """Gemm of varying matrices with factors: products with them over the reals; None without a factor, and where a
    matrix is constant, whose elements take the factor.
    """
    alpha, beta = (of.values.get(name, 1.0) for name in ("alpha", "beta"))
    if (alpha == 1 and beta == 1) or any(of.values.get(name) for name in ("transA", "transB", "broadcast")):
        return None
    if any(term is None or term.is_constant or not term.is_float for term in of.terms[:2]):
        return None
    nodes = [Node("", "MatMul", "", "", of.node.inputs[:2], (of.label("product"),), ())]

    def then(operator: str, first: str, second: str | None, role: str) -> str:
        nodes.append(Node("", operator, "", "", (first, second or ""), (of.label(role),), ()))
        return of.label(role)

    value = of.label("product")
    if alpha != 1:
        value = then("Mul", value, of.number(alpha), "scaled")
    if len(of.node.inputs) > 2 and of.node.inputs[2]:
        bias = of.node.inputs[2] if beta == 1 else then("Mul", of.node.inputs[2], of.number(beta), "bias")
        value = then("Add", value, bias, "sum")
    return [*nodes, of.passed_on(value, "Gemm")]


@meaning_of("Einsum")
def index_sum(of: NodeInTerms) -> list[Node] | None:
    """Einsum of two operands: Transpose, Reshape and MatMul."""
    shapes = [term.shape for term in of.terms if term is not None and term.shape is not None]
    if len(of.terms) != 2 or len(shapes) != 2:
        return None
    form = product_form(str(of.values.get("equation")), shapes)
    if form is None:
        return None
    factors = []
    for index, (term, shape, operand) in enumerate(zip(of.terms, shapes, form.operands, strict=True)):
        assert term is not None  # noqa: S101  its shape is known
        places = np.arange(prod(shape), dtype=np.int32).reshape(shape).transpose(operand.order).reshape(-1)
        factor = movements.moved(of.store, [term], places, operand.shape)
        factors.append(of.define(of.label(f"factor {index}"), factor))
    extents = of.constant(of.label("shape"), np.array(form.result, np.int64))
    perm = Attribute("perm", "ints", form.order, fields=("ints",))
    of.store.assume(STATED.format("Einsum"))
    product, apart = of.label("product"), of.label("apart")
    return [
        Node("", "MatMul", "", "", tuple(factors), (product,), ()),
        Node("", "Reshape", "", "", (product, extents), (apart,), ()),
        Node(of.node.name, "Transpose", "", "", (apart,), (of.output,), (perm,)),
    ]


@meaning_of("ArrayFeatureExtractor", domain="ai.onnx.ml")
def features(of: NodeInTerms) -> list[Node] | None:
    """ArrayFeatureExtractor: Gather of the last axis, by the indices as a list; a list is a matrix of one row."""
    shapes = [term.shape for term in of.terms if term is not None and term.shape is not None]
    if len(of.terms) != 2 or len(shapes) != 2 or not shapes[0] or not of.output:
        return None
    data, indices = shapes
    count = prod(indices)
    listed, gathered = of.label("list"), of.label("gathered")
    as_list = of.constant(of.label("indices"), np.array((count,), np.int64))
    result = of.constant(of.label("shape"), np.array((*(data[:-1] if len(data) > 1 else (1,)), count), np.int64))
    axis = Attribute("axis", "int", len(data) - 1, fields=("i",))
    of.store.assume(STATED.format(of.name))
    return [
        Node("", "Reshape", "", "", (of.node.inputs[1], as_list), (listed,), ()),
        Node("", "Gather", "", "", (of.node.inputs[0], listed), (gathered,), (axis,)),
        Node(of.node.name, "Reshape", "", "", (gathered, result), (of.output,), ()),
    ]
