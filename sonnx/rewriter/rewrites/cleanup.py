"""Cleanup: nodes, outputs, graph inputs and constants that nothing needs, and constants stored several times."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from msgspec.structs import replace

from sonnx.base.escaping import quote
from sonnx.checker.verdicts import Where
from sonnx.model import value_names
from sonnx.model.ir import Graph, Node
from sonnx.model.scopes import canonical_domain, captured
from sonnx.profile import catalogue
from sonnx.profile.signature import signature
from sonnx.rewriter import constant_tensors, descriptions
from sonnx.rewriter.context import RewriteContext
from sonnx.rewriter.rewrite import Edit, ModelChange, Trigger, changed_graph, rewrite


@rewrite("dead-nodes", Trigger.RULE_SELECTED)
def dead_nodes(context: RewriteContext) -> ModelChange | None:
    """The model with the nodes that contribute to a graph output."""
    nodes = context.model.graph.nodes
    wanted = {value.name for value in context.model.graph.outputs}
    kept: list[Node] = []
    dead: list[Edit] = []
    for index, node in reversed(list(enumerate(nodes))):
        if wanted.isdisjoint(filter(None, node.outputs)):
            where = Where(f"graph/node[{index}]", "node", node.name, node.operator)
            dead.append(Edit(where, descriptions.call(node), "removed"))
        else:
            kept.append(node)
            wanted.update(node.inputs, captured(node))
    return changed_graph(context, dead[::-1], nodes=tuple(reversed(kept)))


@rewrite("duplicate-constants", Trigger.RULE_SELECTED)
def duplicate_constants(context: RewriteContext) -> ModelChange | None:
    """The model with one of several initializers with the same type, shape and bytes.

    No rule fails at equal constants, so that a dry run leaves them.
    """
    graph = context.model.graph
    if context.is_dry:
        return None
    fixed = {value.name for value in (*graph.inputs, *graph.outputs)}
    first: dict[object, str] = {}
    names: dict[str, str] = {}
    outlines = Counter(map(constant_tensors.outline, graph.initializers))
    for tensor in graph.initializers:
        alone = outlines[constant_tensors.outline(tensor)] == 1
        content = None if alone or tensor.name in fixed else constant_tensors.content(tensor)
        if content is not None:
            kept = first.setdefault(content, tensor.name)
            names |= {tensor.name: kept} if kept != tensor.name else {}
    edits = [
        Edit(
            Where(f"graph/initializer[{index}]", "tensor", tensor.name),
            descriptions.tensor(tensor),
            f"{quote(names[tensor.name])}, which is equal",
        )
        for index, tensor in enumerate(graph.initializers)
        if tensor.name in names
    ]
    nodes = tuple(value_names.renamed(node, names) for node in graph.nodes)
    initializers = tuple(tensor for tensor in graph.initializers if tensor.name not in names)
    return changed_graph(context, edits, nodes=nodes, initializers=initializers)


OUTPUTS_CONNECTED = "outputs-connected"
"""The rule, of some editions, that no optional output is left out."""


@rewrite("omitted-outputs", Trigger.RULE_SELECTED)
def omitted_outputs(context: RewriteContext) -> ModelChange | None:
    """The model without the optional outputs that nothing uses, of nodes with another output that is used."""
    if OUTPUTS_CONNECTED in context.active_rules.slugs:
        return None
    graph = context.model.graph
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
    info = tuple(value for value in graph.value_info if value.name not in gone)
    return changed_graph(context, edits, nodes=tuple(nodes), value_info=info)


def _optional_outputs(node: Node, context: RewriteContext) -> set[str]:
    """The named outputs that the operator allows to leave out."""
    known = None if canonical_domain(node.domain) else catalogue.operator(node.operator)
    version = known.version_at(context.operator_set) if known and context.operator_set is not None else None
    candidate = signature(node.operator, version, context.active_rules.edition.name) if version is not None else None
    formals = candidate.outputs if candidate is not None else ()
    return {name for name, formal in zip(node.outputs, formals, strict=False) if name and formal.optional}


def _used(graph: Graph) -> set[str]:
    """The values that a node of the graph or of its subgraphs reads, and the outputs."""
    used = {value.name for value in graph.outputs}
    for node in graph.nodes:
        used.update(node.inputs, captured(node))
    return used


@rewrite("unused-values", Trigger.RULE_SELECTED)
def unused_values(context: RewriteContext) -> ModelChange | None:
    """The model without graph inputs and initializers that nothing uses, and declarations of values nothing makes."""
    graph = context.model.graph
    used = _used(graph)
    known = {operand.name for operand in graph.inputs} | {initializer.name for initializer in graph.initializers}
    texts = known.union(
        *[node.outputs for node in graph.nodes],
        used,
        [sparse_initializer.name for sparse_initializer in graph.sparse_initializers],
    )
    gone = (known - used) | ({value.name for value in graph.value_info} - texts)
    return changed_graph(
        context,
        list(_removals(graph, used, gone - known)),
        inputs=tuple(value for value in graph.inputs if value.name in used),
        initializers=tuple(tensor for tensor in graph.initializers if tensor.name in used),
        value_info=tuple(value for value in graph.value_info if value.name not in gone),
    )


def _removals(graph: Graph, used: set[str], gone: set[str]) -> Iterator[Edit]:
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
    for index, value in enumerate(graph.value_info):
        if value.name in gone:
            where = Where(f"graph/value_info[{index}]", "value", value.name)
            yield Edit(where, f"declaration {value.type} of a value that nothing makes", "removed")
