"""Cleanup: nodes, outputs, graph inputs and constants that nothing needs, and constants stored several times."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping

from msgspec.structs import replace

from sonnx.base.escaping import quote
from sonnx.checker.verdicts import Where
from sonnx.language.evaluator import TensorFacts
from sonnx.model import value_names
from sonnx.model.ir import Graph, Model, Node, Tensor
from sonnx.model.scopes import canonical_domain, captured
from sonnx.profile import catalogue
from sonnx.profile.signature import signature
from sonnx.rewriter import descriptions
from sonnx.rewriter.context import RewriteContext
from sonnx.rewriter.rewrite import Edit, ModelChange, Rewrite, Trigger

# ------------------------------------------------------------------ dead nodes


def _dead_nodes(model: Model, context: RewriteContext, facts: Mapping[str, TensorFacts]) -> ModelChange | None:
    """The model with the nodes that contribute to a graph output."""
    del context, facts
    wanted = {value.name for value in model.graph.outputs}
    kept: list[Node] = []
    dead: list[Edit] = []
    for index, node in reversed(list(enumerate(model.graph.nodes))):
        if wanted.isdisjoint(filter(None, node.outputs)):
            where = Where(f"graph/node[{index}]", "node", node.name, node.operator)
            dead.append(Edit(where, descriptions.call(node), "removed"))
        else:
            kept.append(node)
            wanted.update(node.inputs, captured(node))
    graph = replace(model.graph, nodes=tuple(reversed(kept)))
    return ModelChange(replace(model, graph=graph), tuple(reversed(dead))) if dead else None


DEAD_NODES = Rewrite(
    name="dead-nodes",
    trigger=Trigger.RULE_SELECTED,
    apply=_dead_nodes,
)

# ------------------------------------------------------------------ equal constants


def _duplicate_constants(model: Model, context: RewriteContext, facts: Mapping[str, TensorFacts]) -> ModelChange | None:
    """The model with one of several initializers with the same type, shape and bytes."""
    del context, facts
    graph = model.graph
    fixed = {value.name for value in (*graph.inputs, *graph.outputs)}
    first: dict[object, str] = {}
    names: dict[str, str] = {}
    for tensor in graph.initializers:
        if tensor.data is not None and tensor.name not in fixed:
            kept = first.setdefault(_content(tensor), tensor.name)
            names |= {tensor.name: kept} if kept != tensor.name else {}
    if not names:
        return None
    edits = tuple(
        Edit(
            Where(f"graph/initializer[{index}]", "tensor", tensor.name),
            descriptions.tensor(tensor),
            f"{quote(names[tensor.name])}, which is equal",
        )
        for index, tensor in enumerate(graph.initializers)
        if tensor.name in names
    )
    nodes = tuple(value_names.renamed(node, names) for node in graph.nodes)
    initializers = tuple(tensor for tensor in graph.initializers if tensor.name not in names)
    return ModelChange(replace(model, graph=replace(graph, nodes=nodes, initializers=initializers)), edits)


def _content(tensor: Tensor) -> object:
    return tensor.element, tensor.dims, hashlib.sha256(tensor.data or b"").digest()


DUPLICATE_CONSTANTS = Rewrite(
    name="duplicate-constants",
    trigger=Trigger.RULE_SELECTED,
    apply=_duplicate_constants,
)

# ------------------------------------------------------------------ unused outputs

OUTPUTS_CONNECTED = "outputs-connected"
"""The rule, of some editions, that no optional output is left out."""


def _omitted_outputs(model: Model, context: RewriteContext, facts: Mapping[str, TensorFacts]) -> ModelChange | None:
    """The model without the optional outputs that nothing uses, of nodes with another output that is used."""
    del facts
    if OUTPUTS_CONNECTED in context.active_rules.slugs:
        return None
    graph = model.graph
    used = _used(graph)
    nodes, edits = list(graph.nodes), []
    gone: set[str] = set()
    for index, node in enumerate(graph.nodes):
        unused = set() if used.isdisjoint(node.outputs) else _optional_outputs(node, context) - used
        if unused:
            outputs = ["" if name in unused else name for name in node.outputs]
            while not outputs[-1]:
                outputs.pop()
            nodes[index] = replace(node, outputs=tuple(outputs))
            where = Where(f"graph/node[{index}]", "node", node.name, node.operator, context.operator_set)
            listed = ", ".join(quote(name) for name in node.outputs if name in unused)
            edits.append(Edit(where, f"output {listed}", "left out"))
            gone |= unused
    if not gone:
        return None
    info = tuple(value for value in graph.value_info if value.name not in gone)
    return ModelChange(replace(model, graph=replace(graph, nodes=tuple(nodes), value_info=info)), tuple(edits))


def _optional_outputs(node: Node, context: RewriteContext) -> set[str]:
    """The named outputs that the operator allows to leave out."""
    known = None if canonical_domain(node.domain) else catalogue.operator(node.operator)
    version = known.version_at(context.operator_set) if known and context.operator_set is not None else None
    made = signature(node.operator, version, context.active_rules.edition.name) if version is not None else None
    formals = made.outputs if made is not None else ()
    return {name for name, formal in zip(node.outputs, formals, strict=False) if name and formal.optional}


OMITTED_OUTPUTS = Rewrite(
    name="omitted-outputs",
    trigger=Trigger.RULE_SELECTED,
    apply=_omitted_outputs,
)

# ------------------------------------------------------------------ unused values


def _used(graph: Graph) -> set[str]:
    """The values that a node of the graph or of its subgraphs reads, and the outputs."""
    used = {value.name for value in graph.outputs}
    for node in graph.nodes:
        used.update(node.inputs, captured(node))
    return used


def _unused_values(model: Model, context: RewriteContext, facts: Mapping[str, TensorFacts]) -> ModelChange | None:
    """The model without graph inputs and initializers that nothing uses."""
    del context, facts
    graph = model.graph
    used = _used(graph)
    edits = tuple(_removals(graph, used))
    if not edits:
        return None
    gone = ({each.name for each in graph.inputs} | {each.name for each in graph.initializers}) - used
    kept = replace(
        graph,
        inputs=tuple(value for value in graph.inputs if value.name in used),
        initializers=tuple(tensor for tensor in graph.initializers if tensor.name in used),
        value_info=tuple(value for value in graph.value_info if value.name not in gone),
    )
    return ModelChange(replace(model, graph=kept), edits)


def _removals(graph: Graph, used: set[str]) -> Iterator[Edit]:
    constant = {tensor.name for tensor in graph.initializers}
    for index, value in enumerate(graph.inputs):
        if value.name not in used:
            where = Where(f"graph/input[{index}]", "value", value.name)
            changes = "" if value.name in constant else "callers no longer give it"
            yield Edit(where, f"graph input {value.type}", "removed", changes=changes)
    for index, tensor in enumerate(graph.initializers):
        if tensor.name not in used:
            where = Where(f"graph/initializer[{index}]", "tensor", tensor.name)
            yield Edit(where, f"initializer {descriptions.tensor(tensor)}", "removed")


UNUSED_VALUES = Rewrite(
    name="unused-values",
    trigger=Trigger.RULE_SELECTED,
    apply=_unused_values,
)
