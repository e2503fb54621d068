"""How large a graph becomes where calls of functions are replaced by their nodes: it can double with every function."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from sonnx.model.ir import Function, Node, subgraphs
from sonnx.model.scopes import canonical_domain

FunctionKey = tuple[str, str, str]
"""Domain, name and overload."""


def callee(node: Node) -> FunctionKey:
    """The function that a node calls, if there is one of this key."""
    return canonical_domain(node.domain), node.operator, node.overload


def calls(nodes: Iterable[Node]) -> Iterator[FunctionKey]:
    """The keys of all nodes, in graphs inside nodes too."""
    for node in nodes:
        yield callee(node)
        for _, inner in subgraphs(node):
            yield from calls(inner.nodes)


def inlined_sizes(functions: Mapping[FunctionKey, Function]) -> Mapping[FunctionKey, int]:
    """What a call becomes, for each function that neither calls itself nor another that does: nodes and replaced calls.

    The calls count: a function may call others that have no nodes.
    """
    callers: dict[FunctionKey, list[FunctionKey]] = {key: [] for key in functions}
    open_calls: dict[FunctionKey, int] = {}
    for key, function in functions.items():
        called = set(calls(function.nodes)) & functions.keys()
        open_calls[key] = len(called)
        for each in called:
            callers[each].append(key)
    sizes: dict[FunctionKey, int] = {}
    waiting = [key for key, number in open_calls.items() if not number]
    while waiting:
        key = waiting.pop()
        sizes[key] = 1 + inlined_size(functions[key].nodes, sizes)
        for caller in callers[key]:
            open_calls[caller] -= 1
            if not open_calls[caller]:
                waiting.append(caller)
    return sizes


def inlined_size(nodes: Iterable[Node], sizes: Mapping[FunctionKey, int]) -> int:
    """The number of nodes after all their calls are replaced, and of these calls."""
    return sum(sizes.get(callee(node), 1) for node in nodes)
