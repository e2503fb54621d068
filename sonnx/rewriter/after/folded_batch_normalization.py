"""Fold BatchNormalization into the convolution before it.

This changes how values are rounded: W' = W s and B' = (B - mean) s + bias, with s = scale / sqrt(var + epsilon), are
rounded once each, and the product once more.  Made only when asked for.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from sonnx.checker.report import Where
from sonnx.language.evaluator import TensorFacts
from sonnx.model.ir import Graph, Model, Node, Tensor, Value
from sonnx.model.scopes import captured
from sonnx.rewriter import constant_tensors, descriptions, naming
from sonnx.rewriter.rewrite import Rewrite
from sonnx.rewriter.site import World

RULES = ("BatchNormalization.variance-not-negative",)
OPTION = "fold_batch_normalization"
CHANGES = "values are rounded differently from the original's"
EPSILON = 9.999999747378752e-06
"""What absence means (ONNX BatchNormalization)."""


def rewrite(model: Model, world: World, facts: Mapping[str, TensorFacts]) -> tuple[Model, Iterator[Rewrite]]:
    """The model with each pair of Conv and BatchNormalization that nothing else looks into as one Conv."""
    del facts, world
    graph, records = model.graph, list[Rewrite]()
    while (found := next(_pairs(graph), None)) is not None:
        at, first, second = found
        graph, shown = _folded(graph, at, first, second)
        where = Where(f"graph/node[{at[1]}]", "node", second.name, second.operator)
        records.append(Rewrite("folded-batch-normalization", (), where, descriptions.call(second), shown, "", CHANGES))
    return replace(model, graph=graph), iter(records)


def _pairs(graph: Graph) -> Iterator[tuple[tuple[int, int], Node, Node]]:
    makers = {name: index for index, node in enumerate(graph.nodes) for name in node.outputs}
    uses = [name for node in graph.nodes for name in (*node.inputs, *captured(node))]
    uses += [value.name for value in graph.outputs]
    constants = {tensor.name: tensor for tensor in graph.initializers}
    for index, node in enumerate(graph.nodes):
        at = makers.get(node.inputs[0], -1) if node.operator == "BatchNormalization" and not node.domain else -1
        if at < 0 or uses.count(node.inputs[0]) > 1 or not _infers(node):
            continue
        before = graph.nodes[at]
        if before.operator == "Conv" and not before.domain and _numbers(before, node, constants) is not None:
            yield (at, index), before, node


def _infers(node: Node) -> bool:
    values = {each.name: each.value for each in node.attributes}
    plain = not values.get("training_mode") and values.get("spatial", 1) == 1
    return plain and len([name for name in node.outputs if name]) == 1


def _numbers(first: Node, second: Node, constants: Mapping[str, Tensor]) -> tuple[Tensor, Tensor] | None:
    """The kernels and the bias of both together, None where one of their constants is none."""
    names = [*second.inputs[1:5], *filter(None, first.inputs[1:])]
    found = [constants.get(name) for name in names]
    given = [each for each in found if each is not None]
    if len(given) != len(names) or len(second.inputs) != 5 or len({each.element for each in given}) != 1:
        return None
    epsilon = next((each.value for each in second.attributes if each.name == "epsilon"), EPSILON)
    output = second.outputs[0]
    return constant_tensors.normalized(given, float(str(epsilon)), (f"{output}.W", f"{output}.B"))


def _folded(graph: Graph, at: tuple[int, int], first: Node, second: Node) -> tuple[Graph, str]:
    constants = {tensor.name: tensor for tensor in graph.initializers}
    made = _numbers(first, second, constants)
    assert made is not None  # noqa: S101  (the pair was found by it)
    taken = naming.own_names(graph)
    kernels, bias = (replace(each, name=naming.fresh(each.name, taken)) for each in made)
    node = replace(first, inputs=(first.inputs[0], kernels.name, bias.name), outputs=(second.outputs[0],))
    nodes = tuple(node if i == at[1] else each for i, each in enumerate(graph.nodes) if i != at[0])
    info = tuple(Value(each.name, each.type) for each in graph.value_info if each.name != first.outputs[0])
    whole = replace(graph, nodes=nodes, initializers=(*graph.initializers, kernels, bias), value_info=info)
    return whole, f"in {descriptions.call(node)}"
