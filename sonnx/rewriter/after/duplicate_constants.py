"""Keep one of several initializers with the same type, shape and bytes.

The others are then used by nothing.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import replace

from sonnx.base.escaping import quote
from sonnx.checker.report import Where
from sonnx.language.evaluator import TensorFacts
from sonnx.model.ir import Model, Tensor
from sonnx.rewriter import descriptions, naming
from sonnx.rewriter.rewrite import Rewrite
from sonnx.rewriter.site import World

RULES = ("no-unused-value",)


def rewrite(model: Model, world: World, facts: Mapping[str, TensorFacts]) -> tuple[Model, Iterator[Rewrite]]:
    """The model in which equal constants are one."""
    del facts
    graph = model.graph
    fixed = {value.name for value in (*graph.inputs, *graph.outputs)}
    first: dict[object, str] = {}
    names: dict[str, str] = {}
    for tensor in graph.initializers:
        if tensor.data is not None and tensor.name not in fixed:
            kept = first.setdefault(_content(tensor), tensor.name)
            names |= {tensor.name: kept} if kept != tensor.name else {}
    if not names or not world.wants_any(RULES):
        return model, iter(())
    records = [_record(index, each, names) for index, each in enumerate(graph.initializers) if each.name in names]
    nodes = tuple(naming.renamed(node, names) for node in graph.nodes)
    initializers = tuple(tensor for tensor in graph.initializers if tensor.name not in names)
    return replace(model, graph=replace(graph, nodes=nodes, initializers=initializers)), iter(records)


def _content(tensor: Tensor) -> object:
    return tensor.element, tensor.dims, hashlib.sha256(tensor.data or b"").digest()


def _record(index: int, tensor: Tensor, names: Mapping[str, str]) -> Rewrite:
    where = Where(f"graph/initializer[{index}]", "tensor", tensor.name)
    return Rewrite(
        "duplicate-constants", RULES, where, descriptions.tensor(tensor), f"{quote(names[tensor.name])}, which is equal"
    )
