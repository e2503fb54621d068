"""Declare the type and shape of every value.

They are computed by the shape expressions of the operators' data files, from those of the inputs; a dimension that is
not known keeps what was declared.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from sonnx.checker.report import Where
from sonnx.language.evaluator import TensorFacts, Unknown
from sonnx.model.ir import NOT_STATED, Dimension, Graph, Model, Type, Value
from sonnx.model.scopes import Scope
from sonnx.rewriter import descriptions
from sonnx.rewriter.rewrite import Rewrite
from sonnx.rewriter.site import World

RULES = ("explicit-shape", "explicit-type")


def rewrite(model: Model, world: World, facts: Mapping[str, TensorFacts]) -> tuple[Model, Iterator[Rewrite]]:
    """The model with a declaration for every value that is known."""
    graph, wanted = model.graph, tuple(filter(world.wants, RULES))
    if not wanted:
        return model, iter(())
    stated = Counter(each.name for each in (*graph.inputs, *graph.outputs, *graph.value_info))
    several = frozenset(name for name, number in stated.items() if number > 1)
    made = _Declarations(Scope("graph", graph, {}).declared, facts, wanted, several)
    outputs = tuple(each if each.name in several else Value(each.name, made.type(each.name)) for each in graph.outputs)
    fixed = {each.name for each in (*graph.inputs, *graph.outputs)} | several
    there = {*fixed, *(each.name for each in graph.initializers)}
    inner = [name for node in graph.nodes for name in node.outputs if name and name not in fixed]
    info = tuple(each for each in graph.value_info if each.name in there)
    info += tuple(Value(name, made.type(name)) for name in inner if made.type(name) != NOT_STATED)
    records = made.records(graph, [each.name for each in outputs], inner)
    return replace(model, graph=replace(graph, outputs=outputs, value_info=info)), records


@dataclass(frozen=True)
class _Declarations:
    declared: Mapping[str, Type]
    facts: Mapping[str, TensorFacts]
    wanted: tuple[str, ...]
    several: frozenset[str]
    """The values with several declarations, which stay as they are."""

    def type(self, name: str) -> Type:
        """What is to be declared: what was, each part that states nothing replaced by what is known."""
        stated, known = self.declared.get(name, NOT_STATED), self.facts.get(name)
        if known is None or stated.kind not in ("tensor", "not stated"):
            return stated
        element = stated.element
        if element is None and "explicit-type" in self.wanted and isinstance(known.type, str):
            element = known.type
        shape = _filled(stated.shape, known.shape) if "explicit-shape" in self.wanted else stated.shape
        made = Type("tensor", element, shape)
        return NOT_STATED if (element, shape) == (None, None) and stated == NOT_STATED else made

    def records(self, graph: Graph, outputs: list[str], inner: list[str]) -> Iterator[Rewrite]:
        places = {name: f"graph/output[{index}]" for index, name in enumerate(outputs)}
        at = {name: f"graph/node[{index}]" for index, node in enumerate(graph.nodes) for name in node.outputs}
        for name in (*inner, *outputs):
            before, after = self.declared.get(name, NOT_STATED), self.type(name)
            if before != after and name not in self.several:
                where = Where(places.get(name) or at[name], "value", name)
                served = tuple(rule for rule in self.wanted if _serves(rule, before, after))
                yield Rewrite(
                    "explicit-declarations", served, where, descriptions.type_(before), descriptions.type_(after)
                )


def _serves(rule: str, before: Type, after: Type) -> bool:
    return before.element != after.element if rule == "explicit-type" else before.shape != after.shape


def _filled(stated: tuple[Dimension, ...] | None, known: object) -> tuple[Dimension, ...] | None:
    """A declared shape with a number for each dimension that has none; a number that is declared stays."""
    if not isinstance(known, tuple):
        return stated
    if stated is None:
        return tuple(None if isinstance(each, Unknown) else each for each in known)
    if len(stated) != len(known):
        return stated
    pairs = zip(stated, known, strict=True)
    return tuple(b if not isinstance(a, int) and not isinstance(b, Unknown) else a for a, b in pairs)
