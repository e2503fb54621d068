"""Store sparse constants as dense ones.

Initializers of the main graph, and what Constant gives there and in functions; only where the indices are as ONNX
asks and the dense constant is of at most 64 MiB.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from sonnx.base.escaping import escape
from sonnx.checker.report import Where
from sonnx.model.ir import NOT_STATED, Graph, Model, Node, SparseTensor, Tensor
from sonnx.model.scopes import Scope, standard
from sonnx.rewriter import constant_tensors, descriptions
from sonnx.rewriter.rewrite import Rewrite
from sonnx.rewriter.site import World

RULES = ("no-sparse-tensor",)
MOST = 1 << 26
"""Bytes of a dense constant; a larger one is a decision about the size of the file, which a person takes."""
_PLACE = "graph/sparse_initializer[{}]"


def rewrite(model: Model, world: World) -> tuple[Model, Iterator[Rewrite]]:
    """The model with dense constants; one that is declared as sparse, or may be given by the caller, stays."""
    if not world.wants_any(RULES):
        return model, iter(())
    graph = model.graph
    initializers = dict(_initializers(graph))
    left = (each for index, each in enumerate(graph.sparse_initializers) if index not in initializers)
    records = [
        _record(Where(_PLACE.format(index), "tensor", tensor.name), graph.sparse_initializers[index], tensor)
        for index, tensor in initializers.items()
    ]
    nodes, more = _nodes("graph", graph.nodes)
    bodies = [_nodes(f"function[{index}]", each.nodes) for index, each in enumerate(model.functions)]
    records += [*more, *(record for _, found in bodies for record in found)]
    if not records:
        return model, iter(())
    changed = replace(
        graph,
        initializers=(*graph.initializers, *initializers.values()),
        sparse_initializers=tuple(left),
        nodes=nodes,
    )
    functions = [replace(each, nodes=made) for each, (made, _) in zip(model.functions, bodies, strict=True)]
    return replace(model, graph=changed, functions=tuple(functions)), iter(records)


def _nodes(where: str, nodes: tuple[Node, ...]) -> tuple[tuple[Node, ...], list[Rewrite]]:
    """Nodes with dense constants."""
    made, records = list(nodes), []
    for index, node in enumerate(nodes):
        found = _node(node)
        if found is not None:
            made[index], sparse, tensor = found
            records.append(_record(Where(f"{where}/node[{index}]", "node", node.name, node.operator), sparse, tensor))
    return tuple(made), records


def _initializers(graph: Graph) -> Iterator[tuple[int, Tensor]]:
    scope = Scope("graph", graph, {})
    taken = {*scope.graph_inputs, *(each.name for each in graph.initializers)}
    for index, sparse in enumerate(graph.sparse_initializers):
        if sparse.name in taken or scope.declared.get(sparse.name, NOT_STATED).holds_sparse:
            continue
        taken.add(sparse.name)
        tensor = constant_tensors.dense(sparse, sparse.name, MOST)
        if tensor is not None:
            yield index, tensor


def _node(node: Node) -> tuple[Node, SparseTensor, Tensor] | None:
    if node.operator != "Constant" or standard(node.domain) or len(node.attributes) != 1:
        return None
    [written] = node.attributes
    if written.name != "sparse_value" or not isinstance(written.value, SparseTensor):
        return None
    tensor = constant_tensors.dense(written.value, "", MOST)
    if tensor is None:
        return None
    return replace(node, attributes=(constant_tensors.attribute("value", "tensor", tensor),)), written.value, tensor


def _record(where: Where, sparse: SparseTensor, tensor: Tensor) -> Rewrite:
    before = f"sparse {escape(sparse.element or 'no type')} {list(sparse.dims)}"
    return Rewrite("dense-constants", RULES, where, before, f"dense {descriptions.tensor(tensor)}")
