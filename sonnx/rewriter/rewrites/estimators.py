"""Estimators of ai.onnx.ml: LinearRegressor, LinearClassifier, SVMRegressor with the linear kernel, and Normalizer of
numbers that are not negative.

Their texts state formulas and no rounding, so that the rewrites keep ideal values.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from sonnx.numerics.formats import ELEMENTS, Array
from sonnx.rewriter import descriptions
from sonnx.rewriter.node_builders import NodeSequence, attribute, with_attributes
from sonnx.rewriter.operator_names import OperatorName
from sonnx.rewriter.rewrite import Replacement, Trigger, rewrite
from sonnx.rewriter.site import Shape, Site

ELEMENT = "float"
"""The element type of every output, and the only one of inputs for which the formulas are written."""


@rewrite("linear-estimator", Trigger.RULE_FAILS)
def linear_estimator(site: Site) -> Replacement | None:
    """LinearRegressor: Gemm with the coefficients, as a sum that is rounded once."""
    values, shape = written_values(site), float_matrix(site)
    if shape is None or values is None or values.get("post_transform", "NONE") != "NONE":
        return None
    targets = values.get("targets", 1)
    sequence = NodeSequence(site.node.outputs[0], site.operator_set)
    product = _product(sequence, site.node.inputs[0], shape, values, targets, sequence.output)
    return sequence.replacement(descriptions.call(site.node), "Gemm with the coefficients") if product else None


SVM = frozenset({"coefficients", "kernel_params", "kernel_type", "n_supports", "one_class", "post_transform", "rho",
                 "support_vectors"})  # fmt: skip
"""The attributes of SVMRegressor; the linear kernel uses no parameter."""


@rewrite("linear-kernel", Trigger.RULE_FAILS)
def linear_kernel(site: Site) -> Replacement | None:
    """SVMRegressor with the linear kernel: the products with the support vectors, then Gemm with the coefficients.

    The vectors are not multiplied by the coefficients beforehand, which would round their sum.
    """
    values, shape = written_values(site), float_matrix(site)
    plain = {"kernel_type": "LINEAR", "post_transform": "NONE", "one_class": 0}
    if shape is None or values is None or values.keys() - SVM or len(values.get("rho") or ()) != 1:
        return None
    count, vectors = values.get("n_supports", 0), values.get("support_vectors") or ()
    if any(values.get(name, value) != value for name, value in plain.items()) or type(count) is not int:
        return None
    sequence, source = NodeSequence(site.node.outputs[0], site.operator_set), site.node.inputs[0]
    if count < 0 or len(vectors) != count * shape[1]:
        return None
    if count:
        matrix = _array(vectors).reshape(count, shape[1]).T
        constant = sequence.constant("vectors", ELEMENT, matrix, matrix.shape)
        source, shape = (
            sequence.add(OperatorName.MATMUL, (source, constant), sequence.name("kernel")),
            (shape[0], count),
        )
    sums = {"coefficients": values.get("coefficients"), "intercepts": values["rho"]}
    product = _product(sequence, source, shape, sums, 1, sequence.output)
    after = f"Gemm of the products with {count} support vectors" if count else "Gemm with the coefficients"
    return sequence.replacement(descriptions.call(site.node), after) if product else None


TRANSFORMS = {"NONE": None, "LOGISTIC": OperatorName.SIGMOID, "SOFTMAX": OperatorName.SOFTMAX}
"""The operator of each post_transform that is written out."""
FIRST_WITH_ARGMAX = 13
"""The operator set from which Softmax is along one axis (ONNX Softmax-13)."""


@rewrite("linear-classifier", Trigger.RULE_FAILS)
def linear_classifier(site: Site) -> Replacement | None:
    """LinearClassifier with a row of coefficients for each class: Gemm, ArgMax, the label there, and the transform."""
    values, shape = written_values(site), float_matrix(site)
    if shape is None or values is None or site.operator_set < FIRST_WITH_ARGMAX:
        return None
    labels, transform = values.get("classlabels_ints"), values.get("post_transform", "NONE")
    if not isinstance(labels, tuple) or len(labels) < 2 or transform not in TRANSFORMS:
        return None
    label, scores = [*site.node.outputs, ""][:2]
    sequence, operator = NodeSequence(label or scores, site.operator_set), TRANSFORMS[transform]
    sums = scores if operator is None and scores else sequence.name("scores")
    if not _product(sequence, site.node.inputs[0], shape, values, len(labels), sums):
        return None
    if operator is not None and scores:
        sequence.add(operator, (sums,), scores, **({"axis": 1} if operator is OperatorName.SOFTMAX else {}))
    if label:
        _labels(sequence, sums, (shape[0], len(labels)), labels, label)
    return sequence.replacement(descriptions.call(site.node), f"Gemm and ArgMax, for {len(labels)} classes")


def _labels(sequence: NodeSequence, scores: str, shape: Shape, labels: Sequence[int], output: str) -> None:
    """Append what gives the label of the largest score of each row, the first one of several."""
    numbered = tuple(labels) == tuple(range(len(labels)))
    place = sequence.add(
        OperatorName.ARG_MAX, (scores,), output if numbered else sequence.name("place"), axis=1, keepdims=0
    )
    if numbered:
        return
    value = sequence.constant(f"label{len(labels) - 1}", "int64", labels[-1], shape[:1])
    for index in reversed(range(len(labels) - 1)):
        after = sequence.constant(f"after{index}", "int64", index + 1, shape[:1])
        own = sequence.constant(f"label{index}", "int64", labels[index], shape[:1])
        below = sequence.add(OperatorName.LESS, (place, after), sequence.name("below"))
        value = sequence.add(OperatorName.WHERE, (below, own, value), sequence.name("label") if index else output)


@rewrite("normalized-sum", Trigger.RULE_FAILS)
def normalized_sum(site: Site) -> Replacement | None:
    """Normalizer with the norm L1: Div by the sum of each row.

    The text divides by the sum, runtimes by the sum of the magnitudes: the operand must not be negative.
    """
    values, shape, producer = written_values(site), float_matrix(site), site.producer(0)
    if shape is None or values is None or values.get("norm", "MAX") != "L1" or producer is None:
        return None
    if not producer.in_standard_domain or producer.node.operator not in (OperatorName.SIGMOID, OperatorName.SOFTMAX):
        return None
    sequence = NodeSequence(site.node.outputs[0], site.operator_set)
    ones = sequence.constant("ones", ELEMENT, 1, (shape[1], 1))
    total = sequence.add(OperatorName.MATMUL, (site.node.inputs[0], ones), sequence.name("sum"))
    sequence.add(OperatorName.DIV, (site.node.inputs[0], total), sequence.output)
    return sequence.replacement(descriptions.call(site.node), "Div by the sum of each row")


def written_values(site: Site) -> Mapping[str, Any] | None:
    """The attributes by name; None where one is a reference."""
    written = site.attributes
    return None if any(each.reference for each in written.values()) else {n: each.value for n, each in written.items()}


def float_matrix(site: Site) -> Shape | None:
    """The shape of X; None where it is not a matrix of float with elements."""
    shape = site.shape(0)
    is_matrix = shape is not None and len(shape) == 2 and 0 not in shape and site.element_type(0) == ELEMENT
    return shape if is_matrix else None


def _product(
    sequence: NodeSequence, source: str, shape: Shape, values: Mapping[str, Any], targets: object, output: str
) -> str:
    """Append the sums of products with the rows of coefficients and the intercepts; "" where there are others."""
    coefficients = values.get("coefficients")
    if type(targets) is not int or targets < 1 or not isinstance(coefficients, tuple):
        return ""
    intercepts = values.get("intercepts") or (0.0,) * targets
    if len(coefficients) != targets * shape[1] or not isinstance(intercepts, tuple) or len(intercepts) != targets:
        return ""
    result = shape[0], targets
    matrix = _array(coefficients).reshape(targets, shape[1]).T
    weights = sequence.constant("coefficients", ELEMENT, matrix, matrix.shape)
    bias = sequence.constant("intercepts", ELEMENT, _array(intercepts), result)
    sequence.add(OperatorName.GEMM, (source, weights, bias), output, transA=0, transB=0)
    factors = {name: attribute(name, "float", 1.0) for name in ("alpha", "beta")}
    sequence.nodes[-1] = with_attributes(sequence.nodes[-1], factors)
    return output


def _array(numbers: Sequence[Any]) -> Array:
    return np.array(numbers).astype(ELEMENTS[ELEMENT])
