"""Store sparse constants as dense ones.

Initializers of the main graph, and what Constant gives there; only where the indices are as ONNX asks and the dense
constant is of at most 64 MiB.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from sonnx.fix import elements, showing
from sonnx.fix.record import Rewrite
from sonnx.fix.site import World
from sonnx.model import NOT_STATED, Graph, Model, Node, SparseTensor, Tensor
from sonnx.quoting import escape
from sonnx.scope import Scope, standard
from sonnx.verdict import Where

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
    nodes = {index: made for index, node in enumerate(graph.nodes) if (made := _node(node)) is not None}
    if not initializers and not nodes:
        return model, iter(())
    left = (each for index, each in enumerate(graph.sparse_initializers) if index not in initializers)
    changed = replace(
        graph,
        initializers=(*graph.initializers, *initializers.values()),
        sparse_initializers=tuple(left),
        nodes=tuple(nodes[index][0] if index in nodes else node for index, node in enumerate(graph.nodes)),
    )
    records = [
        _record(Where(_PLACE.format(index), "tensor", tensor.name), graph.sparse_initializers[index], tensor)
        for index, tensor in initializers.items()
    ]
    records += [
        _record(Where(f"graph/node[{index}]", "node", node.name, node.operator), sparse, tensor)
        for index, (node, sparse, tensor) in nodes.items()
    ]
    return replace(model, graph=changed), iter(records)


def _initializers(graph: Graph) -> Iterator[tuple[int, Tensor]]:
    scope = Scope("graph", graph, {})
    taken = {*scope.graph_inputs, *(each.name for each in graph.initializers)}
    for index, sparse in enumerate(graph.sparse_initializers):
        if sparse.name in taken or scope.declared.get(sparse.name, NOT_STATED).holds_sparse:
            continue
        taken.add(sparse.name)
        tensor = elements.dense(sparse, sparse.name, MOST)
        if tensor is not None:
            yield index, tensor


def _node(node: Node) -> tuple[Node, SparseTensor, Tensor] | None:
    if node.operator != "Constant" or standard(node.domain) or len(node.attributes) != 1:
        return None
    [written] = node.attributes
    if written.name != "sparse_value" or not isinstance(written.value, SparseTensor):
        return None
    tensor = elements.dense(written.value, "", MOST)
    if tensor is None:
        return None
    return replace(node, attributes=(elements.attribute("value", "tensor", tensor),)), written.value, tensor


def _record(where: Where, sparse: SparseTensor, tensor: Tensor) -> Rewrite:
    before = f"sparse {escape(sparse.element or 'no type')} {list(sparse.dims)}"
    return Rewrite("dense-constants", RULES, where, before, f"dense {showing.tensor(tensor)}")
