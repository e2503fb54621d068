"""Convolutions: grouped ones as one convolution per group, and BatchNormalization folded into them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from msgspec.structs import replace

from sonnx.checker.verdicts import Where
from sonnx.model import value_names
from sonnx.model.ir import Graph, Node, Tensor
from sonnx.model.scopes import captured
from sonnx.rewriter import constant_tensors, descriptions
from sonnx.rewriter.context import RewriteContext
from sonnx.rewriter.node_builders import NodeSequence, attribute, with_attributes
from sonnx.rewriter.operator_names import OperatorName
from sonnx.rewriter.rewrite import Edit, ModelChange, Replacement, Trigger, rewrite
from sonnx.rewriter.site import Site


@rewrite("grouped-convolution", Trigger.RULE_FAILS)
def grouped_convolution(site: Site) -> Replacement | None:
    """Slices of X, a convolution with the constant kernels of each group, and Concat.

    Every element of the output is the same sum of the same products.
    """
    group, shape = site.known("group"), site.shape(0)
    kernels, bias = site.constant(1), site.constant(2)
    if group is None or shape is None or kernels is None:
        return None
    has_bias = len(site.node.inputs) > 2 and bool(site.node.inputs[2])
    if shape[1] % group or kernels.dims[0] % group or (has_bias and bias is None):
        return None
    sequence, outputs = NodeSequence(site.node.outputs[0], site.operator_set), list[str]()
    channels = shape[1] // group
    for index in range(group):
        output = f"{sequence.output}.group{index}"
        weights = [
            constant_tensors.part_of_first_axis(tensor, f"{output}.{formal}", index, group)
            for tensor, formal in ((kernels, "W"), (bias, "B"))
            if tensor
        ]
        known = [weight for weight in weights if weight is not None]
        if len(known) != 1 + has_bias:
            return None
        span = (index * channels, (index + 1) * channels)
        part = sequence.slice(site.node.inputs[0], shape, 1, span, f"{output}.X")
        inputs = (part, *(tensor.name for tensor in known))
        convolution = replace(site.node, inputs=inputs, outputs=(output,))
        sequence.nodes.append(with_attributes(convolution, {"group": attribute("group", "int", 1)}))
        sequence.constants += known
        outputs.append(output)
    sequence.add(OperatorName.CONCAT, outputs, sequence.output, axis=1)
    return sequence.replacement(f"{descriptions.call(site.node)}, group={group}", f"{group} convolutions")


DEFAULT_EPSILON = 9.999999747378752e-06
"""The float32 number that an absent epsilon means (ONNX BatchNormalization)."""


@rewrite("folded-batch-normalization", Trigger.ALWAYS)
def folded_batch_normalization(context: RewriteContext) -> ModelChange | None:
    """The model with each pair of Conv and BatchNormalization as one Conv, if nothing else reads the value between.

    W' = W s and B' = (B - mean) s + bias, with s = scale / sqrt(variance + epsilon), are rounded once each, and the
    product once more: values change, so the rewrite has an option.
    """
    graph, edits = context.model.graph, list[Edit]()
    while (pair := next(_pairs(graph), None)) is not None:
        at, conv, normalization = pair
        graph, shown = _folded(graph, at, conv, normalization)
        where = Where(f"graph/node[{at[1]}]", "node", normalization.name, normalization.operator)
        edits.append(Edit(where, descriptions.call(normalization), shown, ()))
    return ModelChange(replace(context.model, graph=graph), edits) if edits else None


def _pairs(graph: Graph) -> Iterator[tuple[tuple[int, int], Node, Node]]:
    makers = {name: index for index, node in enumerate(graph.nodes) for name in node.outputs}
    uses = [name for node in graph.nodes for name in (*node.inputs, *captured(node))]
    uses += [value.name for value in graph.outputs]
    constants = {tensor.name: tensor for tensor in graph.initializers}
    for index, node in enumerate(graph.nodes):
        if node.operator != OperatorName.BATCH_NORMALIZATION or node.domain:
            continue
        at = makers.get(node.inputs[0], -1)
        if at < 0 or uses.count(node.inputs[0]) > 1 or not _infers(node):
            continue
        before = graph.nodes[at]
        if before.operator != OperatorName.CONV or before.domain:
            continue
        if _folded_weights(before, node, constants) is not None:
            yield (at, index), before, node


def _infers(node: Node) -> bool:
    """Whether BatchNormalization uses the given mean and variance, for each channel."""
    values = {node_attribute.name: node_attribute.value for node_attribute in node.attributes}
    per_channel = not values.get("training_mode") and values.get("spatial", 1) == 1
    return per_channel and len([name for name in node.outputs if name]) == 1


def _folded_weights(conv: Node, normalization: Node, constants: Mapping[str, Tensor]) -> tuple[Tensor, Tensor] | None:
    """The kernels and the bias of both together, None where one of their inputs is not a constant."""
    names = [*normalization.inputs[1:5], *filter(None, conv.inputs[1:])]
    known = [tensor for name in names if (tensor := constants.get(name)) is not None]
    if len(known) != len(names) or len(normalization.inputs) != 5 or len({operand.element for operand in known}) != 1:
        return None
    epsilon = next(
        (
            normalization_attribute.value
            for normalization_attribute in normalization.attributes
            if normalization_attribute.name == "epsilon"
        ),
        DEFAULT_EPSILON,
    )
    output = normalization.outputs[0]
    return _normalized(known, float(str(epsilon)), (f"{output}.W", f"{output}.B"))


def _normalized(given: Sequence[Tensor], epsilon: float, names: tuple[str, str]) -> tuple[Tensor, Tensor] | None:
    """The kernels and bias of a convolution with what normalizes its output: scale, bias, mean, variance, W, maybe B.

    They are computed in float64 and rounded to the type of the constants; None where their shapes do not fit or a
    result is not finite.
    """
    arrays = [constant_tensors.decoded(tensor) for tensor in given]
    numbers = [array for array in arrays if array is not None and array.dtype.kind == "f"]
    if len(numbers) != len(given) or any(
        number.shape != numbers[4].shape[:1] for number in (*numbers[:4], *numbers[5:])
    ):
        return None
    dtype = numbers[4].dtype
    scale, bias, mean, variance, kernels, *before = (number.astype(np.float64) for number in numbers)
    with np.errstate(all="ignore"):
        factor = scale / np.sqrt(variance + epsilon)
        shift = ((before[0] if before else 0.0) - mean) * factor + bias
        folded = (kernels * factor.reshape(-1, *[1] * (kernels.ndim - 1))).astype(dtype), shift.astype(dtype)
    if not all(np.isfinite(array).all() for array in folded):
        return None
    return constant_tensors.from_array(names[0], folded[0]), constant_tensors.from_array(names[1], folded[1])


def _folded(graph: Graph, at: tuple[int, int], conv: Node, normalization: Node) -> tuple[Graph, str]:
    """The graph with one pair folded, and the convolution that stands for it as text."""
    weights = _folded_weights(conv, normalization, {tensor.name: tensor for tensor in graph.initializers})
    assert weights is not None  # noqa: S101  (the pair was found by it)
    taken = value_names.taken_names(graph)
    kernels, bias = (replace(weight, name=value_names.unused(weight.name, taken)) for weight in weights)
    node = replace(conv, inputs=(conv.inputs[0], kernels.name, bias.name), outputs=(normalization.outputs[0],))
    nodes = tuple(node if i == at[1] else graph_node for i, graph_node in enumerate(graph.nodes) if i != at[0])
    info = tuple(value for value in graph.value_info if value.name != conv.outputs[0])
    folded = replace(graph, nodes=nodes, initializers=(*graph.initializers, kernels, bias), value_info=info)
    return folded, f"in {descriptions.call(node)}"
