"""The rules of graph.toml: one function each, in the module of its subject, named as the rule.

no-dead-node, whose subject is a graph, is `graphs.no_dead_node`.  A function judges its one rule and nothing else;
which rules are in force is decided elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from types import ModuleType

from sonnx.checker.graph_rules import files, functions, graphs, nodes, tensors
from sonnx.checker.graph_rules.defect import Defect
from sonnx.profile.definitions import Rule

SUBJECTS: dict[str, ModuleType] = {
    "model": files,
    "function": functions,
    "graph": graphs,
    "tensor": tensors,
    "node": nodes,
}
"""The module that decides the rules about each subject."""


def decide(rule: Rule) -> Callable[..., Iterable[Defect]]:
    """The function that decides a rule of graph.toml."""
    function: Callable[..., Iterable[Defect]] = getattr(SUBJECTS[rule.subject], rule.slug.replace("-", "_"))
    return function


__all__ = ["SUBJECTS", "Defect", "decide"]
