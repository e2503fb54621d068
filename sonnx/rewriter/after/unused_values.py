"""Remove graph inputs and initializers that nothing uses."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from sonnx.checker.report import Where
from sonnx.language.evaluator import TensorFacts
from sonnx.model.ir import Graph, Model
from sonnx.model.scopes import captured
from sonnx.rewriter import descriptions
from sonnx.rewriter.rewrite import Rewrite
from sonnx.rewriter.site import World

RULES = ("no-unused-value",)
INTERFACE = "callers no longer give it"


def rewrite(model: Model, world: World, facts: Mapping[str, TensorFacts]) -> tuple[Model, Iterator[Rewrite]]:
    """The model with what is used."""
    del facts
    graph = model.graph
    used = {value.name for value in graph.outputs}
    for node in graph.nodes:
        used.update(node.inputs, captured(node))
    inputs = tuple(value for value in graph.inputs if value.name in used)
    initializers = tuple(tensor for tensor in graph.initializers if tensor.name in used)
    if not world.wants_any(RULES) or len(inputs) + len(initializers) == len(graph.inputs) + len(graph.initializers):
        return model, iter(())
    gone = ({each.name for each in graph.inputs} | {each.name for each in graph.initializers}) - used
    info = tuple(value for value in graph.value_info if value.name not in gone)
    kept = replace(graph, inputs=inputs, initializers=initializers, value_info=info)
    return replace(model, graph=kept), _records(graph, used)


def _records(graph: Graph, used: set[str]) -> Iterator[Rewrite]:
    constant = {tensor.name for tensor in graph.initializers}
    for index, value in enumerate(graph.inputs):
        if value.name not in used:
            where = Where(f"graph/input[{index}]", "value", value.name)
            said = "" if value.name in constant else INTERFACE
            yield Rewrite(
                "unused-values", RULES, where, f"graph input {descriptions.type_(value.type)}", "removed", "", said
            )
    for index, tensor in enumerate(graph.initializers):
        if tensor.name not in used:
            where = Where(f"graph/initializer[{index}]", "tensor", tensor.name)
            yield Rewrite("unused-values", RULES, where, f"initializer {descriptions.tensor(tensor)}", "removed")
