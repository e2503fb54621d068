"""A model without the nodes the executor does not know, so that all others can be compared.

What goes into such a node becomes an output, and what comes out of it an input that gets any values.  If the node
stands in both models, and gets the same values in both for any values it gives, it does not matter what it computes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from sonnx.implementations import has_meaning
from sonnx.model import NOT_STATED, Model, Node, Type, Value, subgraphs
from sonnx.scope import Scope, function_key, standard


@dataclass(frozen=True)
class Cut:
    """What is left of a model: `outputs` say under which name each value stands that is to be compared."""

    model: Model
    nodes: tuple[Node, ...]
    outputs: Mapping[str, str]


def types(model: Model) -> dict[str, Type]:
    """The declared types of a model's values."""
    return dict(Scope("graph", model.graph, {}).declared)


def cut(model: Model, declared: Mapping[str, Type]) -> Cut:
    """The model without nodes of operators the executor does not know, their outputs as declared elsewhere."""
    graph, functions = model.graph, {function_key(function) for function in model.functions}
    unknown = tuple(node for node in graph.nodes if _unknown(node, functions))
    outputs = {f"the output {value.name}": value.name for value in graph.outputs}
    for node in unknown:
        name = next(filter(None, node.outputs), node.name)
        outputs |= {f"input {index} of the node of {name}": given for index, given in enumerate(node.inputs) if given}
    made = tuple(Value(name, declared.get(name, NOT_STATED)) for node in unknown for name in node.outputs if name)
    left = replace(
        graph,
        nodes=tuple(node for node in graph.nodes if not _unknown(node, functions)),
        inputs=(*graph.inputs, *made),
        outputs=tuple(Value(name, declared.get(name, NOT_STATED)) for name in dict.fromkeys(outputs.values())),
    )
    return Cut(replace(model, graph=left), unknown, outputs)


def _unknown(node: Node, functions: set[tuple[str, str, str]]) -> bool:
    """Calls of functions and graphs inside nodes are no operators; the executor says of them what there is to say."""
    if (standard(node.domain), node.operator, node.overload) in functions or next(subgraphs(node), None) is not None:
        return False
    return not has_meaning(node)


def same_nodes(one: Cut, other: Cut) -> bool:
    """Whether the same nodes were left out, by what they give, their operators and attributes."""
    return [_shown(node) for node in one.nodes] == [_shown(node) for node in other.nodes]


def _shown(node: Node) -> object:
    return node.operator, node.domain, node.outputs, len(node.inputs), node.attributes
