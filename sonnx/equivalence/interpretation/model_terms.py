"""A model in terms: the terms of its outputs, by name."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from msgspec.structs import replace

from sonnx.base.errors import BadInput, NotExecutable
from sonnx.equivalence.interpretation.choices import Choices
from sonnx.equivalence.interpretation.domain import TermDomain
from sonnx.equivalence.interpretation.expansion import Expansion
from sonnx.equivalence.terms.store import Store, Term
from sonnx.executor.model_inputs import required_inputs
from sonnx.graph.call import Calls
from sonnx.graph.environment import declared_facts
from sonnx.graph.interpreter import interpret
from sonnx.model.ir import Graph, Model, Node
from sonnx.model.scopes import captured, imports_of, scopes
from sonnx.profile import catalogue

SORTED = "a node that the file lists before the node of its operand is computed after it"
NEWER = "operator set {}, which is newer than the known ones, changes no operator"


def terms_of(
    model: Model,
    store: Store,
    folder: Path | None,
    names: Mapping[str, str],
) -> tuple[dict[str, Term], dict[str, Term]]:
    """The terms of the outputs and of all values of a model.

    Args:
        model: the model, with the numbers of its bound symbols.
        store: shared with the other model.
        folder: where the model file stands.
        names: the common name of each input.

    Raises:
        BadInput: a constant has no values.
    """
    try:
        return _terms(model, store, folder, names)
    except NotExecutable as stop:
        raise BadInput(str(stop)) from None


def _terms(
    model: Model, store: Store, folder: Path | None, names: Mapping[str, str]
) -> tuple[dict[str, Term], dict[str, Term]]:
    domain = TermDomain(store, folder)
    in_order = with_sorted_nodes(model)
    if in_order is not model:
        store.assume(SORTED)
    model = in_order
    version = imports_of(model.imports).get("")
    if version is not None and version > catalogue.editions().operator_set:
        store.assume(NEWER.format(version))
    inputs = {
        value.name: store.input(names[value.name], domain.facts_of(declared_facts(value.type)))
        for value in required_inputs(model)
    }
    calls = Calls(model, domain.rules.edition, beyond_edition=True)
    expansion = Expansion(model, domain, Choices(domain, calls, next(scopes(model))))
    interpretation = interpret(model, domain, calls, given=inputs, transformer=expansion, main_only=True)
    values: dict[str, Term] = {}
    for name in interpretation.scopes[0].values:
        value = interpretation.value(name)
        if value is not None:
            values[name] = value
    outputs = {value.name: values[value.name] for value in model.graph.outputs if value.name in values}
    return outputs, values


def with_sorted_nodes(model: Model) -> Model:
    """The model with each node of the main graph behind those that give its operands; one that is in this order, or in
    which nodes depend on themselves, as it is.
    """
    order = sorted_nodes(model.graph)
    if order is None or all(node is stated for node, stated in zip(order, model.graph.nodes, strict=True)):
        return model
    return replace(model, graph=replace(model.graph, nodes=tuple(order)))


def sorted_nodes(graph: Graph) -> list[Node] | None:
    """The nodes, each behind those whose outputs it reads, else in the order of the file; None where there is no such
    order.
    """
    makers = {name: index for index, node in enumerate(graph.nodes) for name in node.outputs if name}
    reads = [
        {makers[name] for name in (*node.inputs, *(captured(node) if node.attributes else ())) if name in makers}
        for node in graph.nodes
    ]
    if all(maker < index for index, read in enumerate(reads) for maker in read):
        return list(graph.nodes)
    order, placed, entered = list[Node](), set[int](), set[int]()
    waiting = list(reversed(range(len(graph.nodes))))
    while waiting:
        index = waiting[-1]
        missing = sorted(reads[index] - placed, reverse=True)
        if index in placed or not missing:
            waiting.pop()
            if index not in placed:
                placed.add(index)
                order.append(graph.nodes[index])
        elif index in entered:
            return None
        else:
            entered.add(index)
            waiting += missing
    return order
