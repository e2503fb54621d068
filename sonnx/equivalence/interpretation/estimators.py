"""Estimators of ai.onnx.ml by operators of ONNX, over the reals: LinearRegressor, LinearClassifier, SVMRegressor,
and Normalizer; and TreeEnsembleRegressor, of one tree bit for bit.

They are written here independently of the rewrites that write such nodes, so that a mistake in either is seen.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sonnx.equivalence.interpretation.trees import Constants, ensemble_nodes
from sonnx.equivalence.terms.store import Term
from sonnx.model.ir import Attribute, Node

DOMAIN = "ai.onnx.ml"
TRANSFORMS = {"LOGISTIC": "Sigmoid", "SOFTMAX": "Softmax"}
"""The operator of a post_transform; NONE gives the scores themselves."""
NOT_NEGATIVE = ("Sigmoid", "Softmax")
"""Operators whose outputs are not negative."""


@dataclass
class WrittenEstimator:
    """The nodes for one call, in order, and the value of each of its outputs by name.

    Where `exact` is set, the values are those of the estimator bit for bit.
    """

    nodes: list[Node] = field(default_factory=list)
    results: dict[str, str] = field(default_factory=dict)
    exact: bool = False


def has_estimator(domain: str, operator: str) -> bool:
    """Whether an operator is one of them."""
    return domain == DOMAIN and operator in _ESTIMATORS


def written_estimator(node: Node, first: Term | None, constant: Constants) -> WrittenEstimator | None:
    """The nodes for one call; None where the meaning is not stated for it."""
    if first is None or first.shape is None or len(first.shape) != 2 or first.facts.type != "float":
        return None
    if any(attribute.reference for attribute in node.attributes):
        return None
    values = {attribute.name: attribute.value for attribute in node.attributes}
    return _ESTIMATORS[node.operator](node, first, values, constant)


def _regressor(node: Node, first: Term, values: Mapping[str, Any], constant: Constants) -> WrittenEstimator | None:
    """Gemm with the coefficients and the intercepts."""
    written = WrittenEstimator()
    scores = _scores(written, node, first, values, values.get("targets", 1), constant)
    if not scores or values.get("post_transform", "NONE") != "NONE":
        return None
    written.results[node.outputs[0]] = scores
    return written


def _classifier(node: Node, first: Term, values: Mapping[str, Any], constant: Constants) -> WrittenEstimator | None:
    """The label of the largest sum, where labels are numbered from 0, and the transformed sums."""
    labels, transform = values.get("classlabels_ints"), values.get("post_transform", "NONE")
    label, probabilities = [*node.outputs, ""][:2]
    if not isinstance(labels, tuple) or len(labels) < 2 or len(node.outputs) > 2:
        return None
    if (label and labels != tuple(range(len(labels)))) or (transform != "NONE" and transform not in TRANSFORMS):
        return None
    written = WrittenEstimator()
    scores = _scores(written, node, first, values, len(labels), constant)
    if not scores:
        return None
    if label:
        written.results[label] = f"{label} (place)"
        axes = _integer("axis", 1), _integer("keepdims", 0)
        written.nodes.append(Node("", "ArgMax", "", "", (scores,), (f"{label} (place)",), axes))
    if probabilities:
        written.results[probabilities] = scores
    if probabilities and transform != "NONE":
        written.results[probabilities] = f"{probabilities} (transformed)"
        operator = TRANSFORMS[transform]
        axis = (_integer("axis", 1),) if operator == "Softmax" else ()
        written.nodes.append(Node("", operator, "", "", (scores,), (f"{probabilities} (transformed)",), axis))
    return written


def _support_vectors(
    node: Node, first: Term, values: Mapping[str, Any], constant: Constants
) -> WrittenEstimator | None:
    """The sum of the products with the support vectors by their coefficients, or with the coefficients themselves."""
    usual = {"kernel_type": "LINEAR", "post_transform": "NONE", "one_class": 0}
    known = {*usual, "coefficients", "kernel_params", "n_supports", "rho", "support_vectors"}
    vectors, weights, rho = (values.get(name) or () for name in ("support_vectors", "coefficients", "rho"))
    if values.keys() - known or first.shape is None or len(rho) != 1:
        return None
    if any(values.get(name, value) != value for name, value in usual.items()):
        return None
    count, width = values.get("n_supports", 0), first.shape[1]
    if type(count) is not int or count < 0 or len(vectors) != count * width or len(weights) != (count or width):
        return None
    output = node.outputs[0]
    written = WrittenEstimator(results={output: f"{output} (sum)"})
    source = node.inputs[0]
    if count:
        matrix = constant("vectors", np.array(vectors, np.float32).reshape(count, width).T)
        written.nodes.append(Node("", "MatMul", "", "", (source, matrix), (f"{output} (kernel)",), ()))
        source = f"{output} (kernel)"
    column = constant("weights", np.array(weights, np.float32).reshape(-1, 1))
    inputs = source, column, constant("rho", np.array(rho, np.float32))
    written.nodes.append(Node("", "Gemm", "", "", inputs, (f"{output} (sum)",), ()))
    return written


def _normalizer(node: Node, first: Term, values: Mapping[str, Any], constant: Constants) -> WrittenEstimator | None:
    """The quotient by the sum of each row, where no number is negative: the text and runtimes agree there only."""
    exact = first.inputs[0] if first.operator == "ideal" else first
    if values.get("norm", "MAX") != "L1" or exact is None or first.shape is None:
        return None
    if exact.operator not in NOT_NEGATIVE or exact.domain:
        return None
    output = node.outputs[0]
    ones = constant("ones", np.ones((first.shape[1], 1), np.float32))
    total, quotient = f"{output} (sum)", f"{output} (quotient)"
    nodes = [
        Node("", "MatMul", "", "", (node.inputs[0], ones), (total,), ()),
        Node("", "Div", "", "", (node.inputs[0], total), (quotient,), ()),
    ]
    return WrittenEstimator(nodes, {output: quotient})


def _ensemble(node: Node, first: Term, values: Mapping[str, Any], constant: Constants) -> WrittenEstimator | None:
    """Less and Where for each branch, and the sum of the trees."""
    if first.shape is None:
        return None
    written = ensemble_nodes(node, first.shape, values, constant)
    if written is None:
        return None
    nodes, exact = written
    return WrittenEstimator(nodes, {node.outputs[0]: nodes[-1].outputs[0]}, exact)


def _scores(
    written: WrittenEstimator, node: Node, first: Term, values: Mapping[str, Any], rows: object, constant: Constants
) -> str:
    """Append the sums of products and the intercepts, one for each row of coefficients; "" where there are others."""
    coefficients = values.get("coefficients")
    if type(rows) is not int or not isinstance(coefficients, tuple) or first.shape is None:
        return ""
    intercepts: Any = values.get("intercepts") or (0.0,) * rows
    if rows < 1 or len(coefficients) != rows * first.shape[1] or len(intercepts) != rows:
        return ""
    matrix = np.array(coefficients, np.float32).reshape(rows, first.shape[1]).T
    names = [constant(role, array) for role, array in (
        ("coefficients", matrix), ("intercepts", np.array(intercepts, np.float32)))]  # fmt: skip
    product = f"{next(filter(None, node.outputs))} (product)"
    written.nodes.append(Node("", "Gemm", "", "", (node.inputs[0], *names), (product,), ()))
    return product


def _integer(name: str, value: int) -> Attribute:
    return Attribute(name, "int", value, fields=("i",))


_ESTIMATORS: Mapping[str, Callable[[Node, Term, Mapping[str, Any], Constants], WrittenEstimator | None]] = {
    "LinearRegressor": _regressor,
    "LinearClassifier": _classifier,
    "Normalizer": _normalizer,
    "SVMRegressor": _support_vectors,
    "TreeEnsembleRegressor": _ensemble,
}
