"""Remove model-local functions that nothing calls any more."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from sonnx.base.escaping import quote
from sonnx.checker.report import Where
from sonnx.language.evaluator import TensorFacts
from sonnx.model.ir import Function, Graph, Model, Node, subgraphs
from sonnx.model.scopes import function_key, standard
from sonnx.rewriter.rewrite import Rewrite
from sonnx.rewriter.site import World

RULES = ("no-model-local-function",)


def rewrite(model: Model, world: World, facts: Mapping[str, TensorFacts]) -> tuple[Model, Iterator[Rewrite]]:
    """The model with the functions that are called from its graph."""
    del facts
    known = {function_key(function): function for function in model.functions}
    called: set[tuple[str, str, str]] = set()
    waiting = [*_calls(model.graph.nodes)]
    while waiting:
        key = waiting.pop()
        if key in known and key not in called:
            called.add(key)
            waiting += _calls(known[key].nodes)
    kept = tuple(function for function in model.functions if function_key(function) in called)
    if len(kept) == len(model.functions) or not world.wants_any(RULES):
        return model, iter(())
    gone = [(index, each) for index, each in enumerate(model.functions) if function_key(each) not in called]
    return replace(model, functions=kept), (_record(*each) for each in gone)


def _calls(nodes: tuple[Node, ...]) -> Iterator[tuple[str, str, str]]:
    for node in nodes:
        yield standard(node.domain), node.operator, node.overload
        for _, inner in subgraphs(node):
            yield from _calls_in(inner)


def _calls_in(graph: Graph) -> Iterator[tuple[str, str, str]]:
    yield from _calls(graph.nodes)


def _record(index: int, function: Function) -> Rewrite:
    where = Where(f"function[{index}]", "function", function.name)
    return Rewrite("uncalled-functions", RULES, where, f"function {quote(function.name)}", "removed")
